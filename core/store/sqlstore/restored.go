package sqlstore

import "fmt"

// Settle has exec settle what was under way when a backup was made that a store
// comes from. What was about to be sent then has probably been sent since: it
// becomes what a crash would make of it, a part that may have arrived. Leases are
// over: nobody who held one works on this store. has reports whether there is a table.
func Settle(has func(table string) bool, exec func(query string) error) error {
	for _, query := range []string{`UPDATE turns SET lease_until = 1 WHERE state = 'running' AND lease_until > 0`,
		`UPDATE deliveries SET lease_until = 1 WHERE ` + underWay + ` AND lease_until > 0`, `UPDATE jobs SET lease_until = 0 WHERE state = 'running'`,
		`UPDATE leases SET until = 0`} {
		if err := exec(query); err != nil {
			return fmt.Errorf("end the leases of the backup: %w", err)
		}
	}
	if err := exec(maybeSent); err != nil {
		return fmt.Errorf("settle what was being sent: %w", err)
	}
	if !has(roomKeys) {
		return nil
	}
	// Encrypted rooms are written to under new keys: with the old ones the same
	// places in their sequence would be used twice.
	if err := exec(`DELETE FROM ` + roomKeys); err != nil {
		return fmt.Errorf("forget keys of encrypted rooms: %w", err)
	}
	return nil
}

// roomKeys is the table of the keys that encrypted rooms are written to with.
const roomKeys = "crypto_megolm_outbound_session"

// maybeSent marks the first part of each delivery that is left to send.
const maybeSent = `UPDATE delivery_parts SET state = 'sending' WHERE state = 'pending'
	AND (user_id, delivery_id) IN (SELECT user_id, id FROM deliveries WHERE state IN ('pending', 'sending'))
	AND NOT EXISTS (SELECT 1 FROM delivery_parts p WHERE p.user_id = delivery_parts.user_id AND p.delivery_id = delivery_parts.delivery_id
		AND p.n < delivery_parts.n AND p.state IN ('pending', 'sending'))`

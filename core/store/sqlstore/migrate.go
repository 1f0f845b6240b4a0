package sqlstore

import (
	"context"
	"fmt"

	"github.com/pressly/goose/v3"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// SchemaOf reads the schema's version.
func SchemaOf(ctx context.Context, p *goose.Provider) (store.Schema, error) {
	current, target, err := p.GetVersions(ctx)
	if err != nil {
		return store.Schema{}, fmt.Errorf("read schema version: %w", err)
	}
	return store.Schema{Current: current, Target: target}, nil
}

// Migrate brings the schema up to date. If it is newer, Migrate changes nothing and fails with core.ErrNewerSchema.
func Migrate(ctx context.Context, p *goose.Provider) error {
	s, err := SchemaOf(ctx, p)
	if err != nil {
		return err
	}
	if s.Current > s.Target {
		return fmt.Errorf("schema %d, this program knows %d: %w", s.Current, s.Target, core.ErrNewerSchema)
	}
	if s.Current == s.Target {
		return nil
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// Settle settles, through exec, the work in progress of a restored backup. A part that was about to be sent has
// probably been sent since, so it becomes one that may have arrived, as after a crash. All leases end, as no holder
// works on this store. has reports whether a table exists.
func Settle(has func(table string) bool, exec func(query string) error) error {
	for _, query := range []string{`UPDATE jobs SET lease_until = 0 WHERE state = 'running'`, `UPDATE leases SET until = 0`} {
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
	// Encrypted rooms need new keys: the old ones would use the same places in their sequence twice.
	if err := exec(`DELETE FROM ` + roomKeys); err != nil {
		return fmt.Errorf("forget keys of encrypted rooms: %w", err)
	}
	return nil
}

// roomKeys is the table of the outbound keys of encrypted rooms.
const roomKeys = "crypto_megolm_outbound_session"

// maybeSent marks the first unsent part of each delivery as sending.
const maybeSent = `UPDATE delivery_parts SET state = 'sending' WHERE state = 'pending'
	AND (user_id, delivery_id) IN (SELECT user_id, id FROM deliveries WHERE state IN ('pending', 'sending'))
	AND NOT EXISTS (SELECT 1 FROM delivery_parts p WHERE p.user_id = delivery_parts.user_id AND p.delivery_id = delivery_parts.delivery_id
		AND p.n < delivery_parts.n AND p.state IN ('pending', 'sending'))`

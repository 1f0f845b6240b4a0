//go:build e2e && bench

package e2etest

import (
	"fmt"
	"strconv"
	"testing"
	"time"
)

// Answers measures the times of consecutive answers.
func (w *Town) Answers(t *testing.T, within time.Duration, done chan struct{}) []time.Duration {
	t.Helper()
	var out []time.Duration
	for end := time.Now().Add(within); time.Now().Before(end); {
		select {
		case <-done:
			return out
		default:
		}
		n := len(w.Telegram.Sent(Ada))
		begin := time.Now()
		w.Telegram.Say(Ada, fmt.Sprintf("question %d", n))
		w.Sent(Ada, n+1)
		out = append(out, time.Since(begin))
	}
	return out
}

// FillGigabyte fills the database with messages of a user with an unused id.
func (w *Town) FillGigabyte(l *Ledger, user int) {
	w.T.Helper()
	number := strconv.Itoa(user)
	series, noise := `WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k WHERE i < 1000000)`,
		`hex(randomblob(400))`
	if w.Database != "" {
		series, noise = `WITH k(i) AS (SELECT generate_series(1, 1000000))`,
			`repeat(md5(i::text), 4) || md5((i * 7)::text) || repeat(md5((i * 11)::text || 'x'), 3) || repeat(md5(random()::text), 17)`
	}
	for _, q := range []string{
		`INSERT INTO users (id, name, role, last_message, indexed, created_at) VALUES (` + number + `, 'filler', 'member', 1000000, 1000000, 0)`,
		series +
			` INSERT INTO messages (user_id, id, thread_id, segment_id, turn_id, identity_id, channel, role, kind, body, tokens, extra, position, shown, sent_at, platform_at, covered)
			SELECT ` + number + `, i, 1, 1, i, 1, 'web', 'user', 'chat', ` + noise + `, 100, '{}', i, i, i, 0, 1 FROM k`,
	} {
		_, err := l.DB.Exec(q)
		Must(w.T, err)
	}
	if w.Database != "" { // the server's delayed work must not count as the backup's
		for _, q := range []string{`VACUUM ANALYZE`, `CHECKPOINT`} {
			_, err := l.DB.Exec(q)
			Must(w.T, err)
		}
	}
}

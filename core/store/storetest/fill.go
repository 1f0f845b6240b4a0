package storetest

import (
	"database/sql"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/internal/fulltest"
)

// many returns how many messages a large database holds: a million if EVERTHREAD_TEST_MILLION is
// set, a fifth of that if all tests are enabled, and fewer under the race detector, which finds no
// races in loading rows.
func many() int {
	if raced {
		return 20_000
	}
	if os.Getenv("EVERTHREAD_TEST_MILLION") != "" {
		return 1_000_000
	}
	return fulltest.Size(20_000, 200_000)
}

// Ids of the rows that fill creates, far apart.
const (
	fillIdentity = 2
	fillSegments = 10_000_000
	fillTurns    = 20_000_000
	fillSent     = 30_000_000
	fillLast     = 50_000_000
	fillDay      = 1440 // one message a minute
	fillSaid     = 50   // messages for each member of a group
)

// fill gives each user from first to last n messages, questions and answers in turn, up to the time
// until, with all rows that belong to them; every day is final and covered.
func fill(t testing.TB, db *sql.DB, first, last, n int, until time.Time) {
	t.Helper()
	from := until.Add(-time.Duration(n)*time.Minute - 24*time.Hour).UnixMilli()
	days := (n + fillDay - 1) / fillDay
	for _, q := range []string{
		`INSERT INTO users (id, name, role, last_message, last_id, created_at) ` + fillRange(first, last, 1) +
			` SELECT u.i, 'filler', 'member', {n}, {last}, 0 FROM u`,
		`INSERT INTO threads (user_id, id, mode, title, last_position, created_at) ` + fillRange(first, last, 1) +
			` SELECT u.i, 1, 'continuous', '', ({from} + {n} * 60000) * 1000, 0 FROM u`,
		`INSERT INTO identities (user_id, id, channel, account, external, name, last_used) ` + fillRange(first, last, 1) +
			` SELECT u.i, {identity}, 'filler', '1', 'f' || u.i, 'filler', 0 FROM u`,
		`INSERT INTO addresses (channel, account, external, user_id, identity_id) ` + fillRange(first, last, 1) +
			` SELECT 'filler', '1', 'f' || u.i, u.i, {identity} FROM u`,
		`INSERT INTO segments (user_id, id, thread_id, label, zone, starts_at, ends_at, finalize_at, post_at, state, first_message, last_message, messages, version, post) ` + fillRange(first, last, days) +
			` SELECT u.i, {segments} + k.i, 1, CAST(100000000 + k.i AS text), 'UTC', {from}, {from} + k.i, {from} + k.i, {from} + k.i, 'final', 1, 1, {day}, 1, 'done' FROM u CROSS JOIN k`,
		`INSERT INTO summaries (user_id, segment_id, version, label, body, tokens, covers, model, usage, ungrounded, final, created_at) ` + fillRange(first, last, days) +
			` SELECT u.i, {segments} + k.i, 1, CAST(100000000 + k.i AS text), 'A day.', 3, '[]', 'm', '{}', 0, 1, 0 FROM u CROSS JOIN k`,
		`INSERT INTO messages (user_id, id, thread_id, segment_id, turn_id, identity_id, channel, role, kind, body, tokens, extra, position, shown, sent_at, platform_at, covered) ` + fillRange(first, last, n) +
			` SELECT u.i, k.i, 1, {segments} + 1 + (k.i - 1) / {day}, {turns} + (k.i + 1) / 2, {identity}, 'filler', CASE WHEN k.i % 2 = 1 THEN 'user' ELSE 'assistant' END, 'chat',
			'This is message number ' || k.i || ' of a long conversation, and it says something.', 15, '{}', ({from} + k.i * 60000) * 1000, ({from} + k.i * 60000) * 1000, {from} + k.i * 60000, 0, 1 FROM u CROSS JOIN k`,
		`INSERT INTO turns (user_id, id, thread_id, identity_id, segment_id, state, inputs, started_at, ended_at, delivery_id) ` +
			fillRange(first, last, n/2) +
			` SELECT u.i, {turns} + k.i, 1, {identity}, {segments} + 1 + (2 * k.i - 2) / {day}, 'done', '[]', {from} + k.i * 120000, 0, ({sent} + k.i) * (k.i % 2) FROM u CROSS JOIN k`,
		`INSERT INTO deliveries (user_id, id, message_id, identity_id, channel, account, external, kind, state, why, created_at, expires_at, direct) ` + fillRange(first, last, n/2) +
			` SELECT u.i, {sent} + k.i, 2 * k.i, {identity}, 'filler', '1', 'f' || u.i, 'reply', 'sent', '', {from} + k.i * 120000, 0, k.i % 2 FROM u CROSS JOIN k`,
		`INSERT INTO delivery_parts (user_id, delivery_id, n, body, state) ` + fillRange(first, last, n/2) +
			` SELECT u.i, {sent} + k.i, 0, '{}', 'sent' FROM u CROSS JOIN k`,
		`INSERT INTO speakers (user_id, id, key, name, last_message) ` + fillRange(first, last, (n+fillSaid-1)/fillSaid) +
			` SELECT u.i, k.i, 'k' || k.i, 'Member ' || k.i, k.i FROM u CROSS JOIN k`,
		`INSERT INTO refs (user_id, identity_id, native_id, message_id) ` + fillRange(first, last, n) +
			` SELECT u.i, {identity}, 'r' || k.i, k.i FROM u CROSS JOIN k`,
		`INSERT INTO event_ids (channel, account, event_id, user_id) ` + fillRange(first, last, n/2) +
			` SELECT 'filler', '1', u.i || '-' || k.i, u.i FROM u CROSS JOIN k`,
		`INSERT INTO events (channel, account, event_id, user_id, external, state, message_id, received_at) ` +
			fillRange(first, last, n/2) +
			` SELECT 'filler', '1', u.i || '-' || k.i, u.i, 'f' || u.i, 'done', 2 * k.i - 1, {from} + k.i * 120000 FROM u CROSS JOIN k`,
	} {
		q = strings.NewReplacer("{n}", fmt.Sprintf("CAST(%d AS bigint)", n), "{from}", fmt.Sprint(from), "{last}",
			fmt.Sprint(fillLast), "{identity}", fmt.Sprint(fillIdentity), "{segments}", fmt.Sprint(fillSegments), "{turns}",
			fmt.Sprint(fillTurns), "{sent}", fmt.Sprint(fillSent), "{day}", fmt.Sprint(fillDay)).Replace(q)
		if _, err := db.Exec(q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	if _, err := db.Exec(`SELECT sqlite_version()`); err == nil {
		return // statistics would make SQLite prepare statements repeatedly, so they are not collected
	}
	if _, err := db.Exec(`ANALYZE`); err != nil {
		t.Fatal(err)
	}
}

// fillRange returns a WITH clause of rows u.i from first to last and k.i from 1 to n.
func fillRange(first, last, n int) string {
	return fmt.Sprintf(`WITH RECURSIVE u(i) AS (SELECT CAST(%d AS bigint) UNION ALL SELECT i + 1 FROM u WHERE i < %d),
		k(i) AS (SELECT CAST(1 AS bigint) UNION ALL SELECT i + 1 FROM k WHERE i < %d)`, first, last, n)
}

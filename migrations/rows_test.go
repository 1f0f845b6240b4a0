package migrations_test

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everthread/everthread/core"
)

// known is what a first release may have stored of addresses, tokens and events, by
// its columns then. Users 0 and 7 are there.
var known = []struct {
	table, columns string
	rows           []string
}{
	{"identities", "user_id, id, channel, account, external, name, thread_id, blocked, last_used, " +
		"window_until, teased, aliases, detached", []string{
		`7, 1, 'telegram', 'bot', '4711', 'Ada', 0, 0, 12, 0, 0, '[]', 0`,
		`7, 2, 'whatsapp', '49', '+49170', 'Ada', 1, 1, 13, 99, 1, '["4917"]', 0`,
		`7, 3, 'whatsapp', '49', '+49171', 'Ada', 0, 0, 14, 0, 0, '[]', 1`,
		`8, 4, 'whatsapp', '49', '+49171', 'Bob', 0, 0, 15, 0, 0, '[]', 0`,
	}},
	{"sessions", "user_id, id, hash, browser, created_at, used_at, expires_at", []string{
		`7, 1, 'aa', 'Firefox', 1, 2, 4000000000000`, `8, 2, 'ab', 'Safari', 1, 2, 3`,
	}},
	{"api_keys", "user_id, id, name, hash, hint, scopes, created_at, used_at", []string{
		`7, 3, 'robot', 'aa', 'et_…x', '["chat"]', 5, 6`,
	}},
	{"codes", "kind, hash, hint, user_id, channel, account, external, name, created_at, expires_at", []string{
		`'pair', 'cc', 'ABCDEF', 0, 'telegram', 'bot', '815', 'Eve', 1, 4000000000000`,
		`'web', 'cc', '', 7, 'telegram', 'bot', '4711', '', 1, 4000000000000`,
		`'linked', 'cd', 'x', 7, 'matrix', 'm', '@ada', 'Ada', 1, 2`,
	}},
	{"events", "channel, account, event_id, user_id, external, state, message_id, received_at", []string{
		`'telegram', 'bot', '1', 7, '4711', 'done', 1, 10`, `'telegram', 'bot', '2', 7, '4711', 'done', 1, 11`,
		`'telegram', 'bot', '3', 7, '4711', 'done', 0, 12`, `'whatsapp', '49', '1', 8, '+49171', 'done', 1, 13`,
		`'telegram', 'bot', '4', 0, '815', 'held', 0, 14`, `'telegram', 'bot', '5', 0, '815', 'done', 0, 15`,
	}},
}

// remember stores what is known in a first schema, and returns what reads it.
func remember(t *testing.T, db *sql.DB) (read func() map[string][]string) {
	t.Helper()
	for _, k := range known {
		for _, values := range k.rows {
			if _, err := db.Exec(`INSERT INTO ` + k.table + ` (` + k.columns + `) VALUES (` + values + `)`); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := db.Exec(`INSERT INTO users (id, name, role, created_at) VALUES (8, 'Bob', 'member', 0)`); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`UPDATE users SET last_id = 10`); err != nil {
		t.Fatal(err)
	}
	held := `{"Text":"hello","EventID":"4","Address":{"Channel":"telegram","Account":"bot","External":"815"}}`
	if _, err := db.Exec(`UPDATE events SET payload = $1 WHERE state = 'held'`, []byte(held)); err != nil {
		t.Fatal(err)
	}
	return func() map[string][]string {
		all := map[string][]string{}
		for _, k := range known {
			columns := k.columns
			if k.table == "events" {
				columns += ", payload"
			}
			all[k.table] = texts(t, db, `SELECT `+columns+` FROM `+k.table+` ORDER BY `+k.columns)
		}
		return all
	}
}

// texts are the rows of a query, each as text.
func texts(t *testing.T, db *sql.DB, query string) (out []string) {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		values, into := make([]sql.RawBytes, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%q", values))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// found checks that what an old store knew is found in the new one, and that nothing
// comes twice.
func found(t *testing.T, s core.Store) {
	t.Helper()
	ctx, now := t.Context(), time.UnixMilli(1000)
	got := map[string]any{}
	for _, a := range []core.Address{
		{Channel: "telegram", Account: "bot", External: "4711"},
		{Channel: "whatsapp", Account: "49", External: "+49171"},
	} {
		i, u, err := s.Identify(ctx, a)
		got[a.External] = fmt.Sprint(u.ID, i.ID, err)
	}
	n, u, err := s.Session(ctx, "aa", now)
	got["session"] = fmt.Sprint(u.ID, n.ID, err)
	k, u, err := s.APIKey(ctx, "aa")
	got["key"] = fmt.Sprint(u.ID, k.ID, err)
	u, _, err = s.SignsIn(ctx, "cc", now)
	got["code"] = fmt.Sprint(u.ID, err)
	held, err := s.Approved(ctx, 10)
	got["held for somebody"] = fmt.Sprint(len(held), err)
	for _, id := range []string{"1", "4", "5", "6"} {
		e := core.Inbound{EventID: id, Address: core.Address{Channel: "telegram", Account: "bot", External: "815"}}
		duplicate, err := s.Hold(ctx, core.Hold{Event: e, Keep: true, Now: now})
		got["event "+id] = fmt.Sprint(duplicate, err)
	}
	noted, err := s.Note(ctx, core.Note{User: 7, Now: now,
		Effects: []core.Effect{core.Approve{CodeHash: "cc", User: 7, At: now}}})
	got["released"] = fmt.Sprint(len(noted.Released), err)
	want := map[string]any{"4711": "7 1 <nil>", "+49171": "8 4 <nil>",
		"session": "7 1 <nil>", "key": "7 3 <nil>", "code": "7 <nil>", "held for somebody": "0 <nil>",
		"event 1": "true <nil>", "event 4": "true <nil>", "event 5": "true <nil>", "event 6": "false <nil>",
		"released": "2 <nil>"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("what is found (-want +got):\n%s", d)
	}
}

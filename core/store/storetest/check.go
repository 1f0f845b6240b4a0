package storetest

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/store/sqlstore"
)

// counts is the condition for messages that a segment counts.
const counts = `m.kind = 'chat' AND (m.role = 'user' OR m.role = 'assistant' AND (m.body <> '' OR m.redacted = 1))`

// input returns the condition for messages that are inputs of their turn.
func input(m string) string {
	return strings.ReplaceAll(`EXISTS (SELECT 1 FROM turns ti WHERE ti.user_id = @.user_id AND ti.id = @.turn_id
		AND ',' || SUBSTR(ti.inputs, 2, LENGTH(ti.inputs) - 2) || ',' LIKE '%,' || @.id || ',%')`, "@", m)
}

// opened selects the user and row behind every token.
const opened = `SELECT 'session' AS kind, hash, user_id, id FROM sessions UNION ALL SELECT 'key', hash, user_id, id FROM api_keys
	UNION ALL SELECT kind, hash, user_id, 0 FROM codes`

// pageInvariants returns the invariants of the pages of long prompts.
func pageInvariants() map[string]string {
	return map[string]string{
		"pages do not overlap": `SELECT a.user_id, a.id FROM pages a JOIN pages b ON b.user_id = a.user_id AND b.thread_id = a.thread_id AND b.id <> a.id AND b.first <= a.last AND b.last >= a.first`,
		"a page is stale or has its forms": fmt.Sprintf(
			`SELECT user_id, id FROM pages p WHERE (SELECT COUNT(*) FROM page_forms f WHERE f.user_id = p.user_id AND f.page_id = p.id) <> (1 - stale) * %d`, store.MaxTier),
	}
}

// invariants returns queries that select nothing in a sound database.
func invariants() map[string]string {
	all := workInvariants()
	maps.Copy(all, threadInvariants())
	maps.Copy(all, userInvariants())
	return all
}

// threadInvariants returns the invariants of conversations, their days and their messages.
func threadInvariants() map[string]string {
	return map[string]string{
		"every user has one continuous thread": `SELECT id FROM users u WHERE id > 0
			AND (SELECT COUNT(*) FROM threads h WHERE h.user_id = u.id AND h.mode = 'continuous') <> 1`,
		"positions are unique":             `SELECT user_id, thread_id, position FROM messages WHERE position > 0 GROUP BY user_id, thread_id, position HAVING COUNT(*) > 1`,
		"replies stand after their inputs": `SELECT a.user_id, a.id FROM messages a JOIN messages u ON u.user_id = a.user_id AND u.turn_id = a.turn_id AND u.turn_id > 0 WHERE a.position > 0 AND a.position <= u.position AND ` + input("u") + ` AND NOT ` + input("a"),
		"nothing stands within a turn": `SELECT x.user_id, x.id
			FROM (SELECT u.user_id, u.thread_id, u.turn_id, MIN(u.position) AS since FROM messages u WHERE u.turn_id > 0 AND u.position > 0 AND ` + input("u") + ` GROUP BY u.user_id, u.thread_id, u.turn_id) i
			JOIN (SELECT a.user_id, a.turn_id, MAX(a.position) AS until FROM messages a WHERE a.turn_id > 0 AND NOT ` +
			input("a") + ` GROUP BY a.user_id, a.turn_id) r ON r.user_id = i.user_id AND r.turn_id = i.turn_id
			JOIN messages x ON x.user_id = i.user_id AND x.thread_id = i.thread_id AND x.position > i.since AND x.position < r.until WHERE x.turn_id <> i.turn_id`,
		"only conversation has a position": `SELECT user_id, id FROM messages WHERE position > 0 AND kind <> 'chat'`,
		"a user knows their last message":  `SELECT u.id FROM users u JOIN messages m ON m.user_id = u.id WHERE m.id > u.last_message`,
		"news are told after they happened": `SELECT h.user_id, h.id FROM threads h JOIN users u ON u.id = h.user_id WHERE h.news > u.news
			UNION ALL SELECT l.user_id, l.id FROM loops l JOIN users u ON u.id = l.user_id WHERE l.changed > u.news
			UNION ALL SELECT h.user_id, h.changed FROM themes h JOIN users u ON u.id = h.user_id WHERE h.changed > u.news`,
		"a segment lies in a continuous thread": `SELECT g.user_id, g.id FROM segments g WHERE NOT EXISTS (SELECT 1 FROM threads h
			WHERE h.user_id = g.user_id AND h.id = g.thread_id AND h.mode = 'continuous')`,
		"messages lie in segments of their thread": `SELECT m.user_id, m.id FROM messages m WHERE m.segment_id > 0 AND NOT EXISTS (SELECT 1 FROM segments g
			WHERE g.user_id = m.user_id AND g.id = m.segment_id AND g.thread_id = m.thread_id)`,
		"segments count their messages": `SELECT g.user_id, g.id, g.messages FROM segments g WHERE g.messages <> (SELECT COUNT(*) FROM messages m
			WHERE m.user_id = g.user_id AND m.segment_id = g.id AND ` + counts + `)`,
		"what is unsummarized is part of a segment": `SELECT user_id, id FROM segments WHERE since_summary > messages`,
		"what turns answer is not their own":        `SELECT user_id, id FROM messages m WHERE role = 'assistant' AND turn_id > 0 AND ` + input("m"),
		"what is said is answered in a turn":        `SELECT user_id, id FROM messages m WHERE role = 'user' AND kind = 'chat' AND turn_id > 0 AND NOT ` + input("m"),
		"a version has its summary":                 `SELECT user_id, id FROM segments g WHERE version > 0 AND hidden = 0 AND stale = 0 AND NOT EXISTS (SELECT 1 FROM summaries s WHERE s.user_id = g.user_id AND s.segment_id = g.id AND s.version = g.version)`,
	}
}

// workInvariants returns the invariants of jobs, turns and deliveries.
func workInvariants() map[string]string {
	return map[string]string{
		"a key has at most one head":     `SELECT user_id, key FROM jobs WHERE state IN ('ready', 'running') GROUP BY user_id, key HAVING COUNT(*) > 1`,
		"who waits has a head before it": `SELECT user_id, id, key FROM jobs w WHERE state = 'waiting' AND NOT EXISTS (SELECT 1 FROM jobs h WHERE h.user_id = w.user_id AND h.key = w.key AND h.state IN ('ready', 'running') AND h.id < w.id)`,
		"a thread has one turn waiting":  `SELECT user_id, key FROM jobs WHERE state = 'waiting' AND queue = 'turn' GROUP BY user_id, key HAVING COUNT(*) > 1`,
		"parts are sent in order": `SELECT a.user_id, a.delivery_id, a.n FROM delivery_parts a JOIN delivery_parts b ON b.user_id = a.user_id AND b.delivery_id = a.delivery_id AND b.n > a.n
			WHERE a.state IN ('pending', 'sending') AND b.state <> 'pending'`,
		"a delivery under way has a job": `SELECT user_id, id, state FROM deliveries d WHERE state IN ('pending', 'sending')
			AND (SELECT COUNT(*) FROM jobs j WHERE j.user_id = d.user_id AND j.ref = d.id AND j.queue = 'deliver:' || d.channel AND j.state <> 'dead') <> 1`,
		"a delivery that ended has none": `SELECT j.user_id, j.id, j.ref FROM jobs j JOIN deliveries d ON d.user_id = j.user_id AND d.id = j.ref
			WHERE j.queue LIKE 'deliver:%' AND d.state NOT IN ('pending', 'sending')`,
		"a running turn has the head of its thread": `SELECT user_id, id FROM turns t WHERE state = 'running' AND NOT EXISTS (SELECT 1 FROM jobs j
			WHERE j.user_id = t.user_id AND j.queue = 'turn' AND j.ref = t.id AND j.key = 'thread:' || t.thread_id AND j.state IN ('ready', 'running'))`,
		"a turn that ended has no job": `SELECT j.user_id, j.id FROM jobs j WHERE j.queue = 'turn' AND j.ref > 0 AND NOT EXISTS (SELECT 1 FROM turns t
			WHERE t.user_id = j.user_id AND t.id = j.ref AND t.state = 'running')`,
		"a journal belongs to a live turn": `SELECT user_id, turn_id FROM journal j WHERE message_id = 0 AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.user_id = j.user_id AND t.id = j.turn_id AND t.state = 'running')`,
		"the parts of a day's usage add up to it": `SELECT u.user_id, u.day, u.prompt FROM usage u WHERE u.prompt + u.cached + u.completion <> (
			SELECT COALESCE(SUM(p.prompt + p.cached + p.completion), 0) FROM usage_parts p WHERE p.user_id = u.user_id AND p.day = u.day)`,
		"no budget is kept by an idle user": `SELECT user_id, day, reserved FROM usage u WHERE reserved > 0 AND NOT EXISTS (SELECT 1 FROM turns t
			WHERE t.user_id = u.user_id AND t.day = u.day AND t.state = 'running') AND NOT EXISTS (SELECT 1 FROM jobs j
			WHERE j.user_id = u.user_id AND j.day = u.day AND j.reserved > 0)`,
	}
}

// userInvariants returns the invariants of users and of their credentials.
func userInvariants() map[string]string {
	return map[string]string{
		"rows belong to users": everyUser(),
		"only people sign in": `SELECT x.user_id FROM (SELECT user_id FROM sessions UNION ALL SELECT user_id FROM api_keys UNION ALL SELECT user_id FROM codes WHERE kind = 'web') x
			WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.id = x.user_id AND u.id > 0 AND u.role <> 'none')`,
		"an address leads to its identity": `SELECT i.user_id, i.id FROM identities i WHERE i.detached = 0 AND NOT EXISTS (SELECT 1 FROM addresses a
			WHERE a.channel = i.channel AND a.account = i.account AND a.external = i.external AND a.user_id = i.user_id AND a.identity_id = i.id)
			UNION ALL SELECT a.user_id, a.identity_id FROM addresses a WHERE NOT EXISTS (SELECT 1 FROM identities i
			WHERE i.user_id = a.user_id AND i.id = a.identity_id AND i.channel = a.channel AND i.account = a.account AND i.external = a.external AND i.detached = 0)`,
		"a token leads to what it opens": `SELECT * FROM (` + opened + ` EXCEPT SELECT kind, hash, user_id, id FROM tokens) x
			UNION ALL SELECT * FROM (SELECT kind, hash, user_id, id FROM tokens EXCEPT SELECT * FROM (` + opened + `) o) y`,
		"an event is known to be its user's": `SELECT * FROM (SELECT channel, account, event_id, user_id FROM events EXCEPT SELECT channel, account, event_id, user_id FROM event_ids) x
			UNION ALL SELECT * FROM (SELECT channel, account, event_id, user_id FROM event_ids EXCEPT SELECT channel, account, event_id, user_id FROM events) y`,
		"a raw payload is removed in time": `SELECT user_id, message_id FROM events e WHERE payload IS NOT NULL AND with_day = 1
			AND NOT EXISTS (SELECT 1 FROM messages m JOIN segments g ON g.user_id = m.user_id AND g.id = m.segment_id AND g.raw = 1
				WHERE m.user_id = e.user_id AND m.id = e.message_id)`,
		"a direct delivery is its turn's": `SELECT user_id, id FROM deliveries d WHERE direct = 1 AND NOT EXISTS (SELECT 1 FROM messages m
			JOIN turns t ON t.user_id = m.user_id AND t.id = m.turn_id AND t.delivery_id = d.id WHERE m.user_id = d.user_id AND m.id = d.message_id)`,
		"sessions are known by their ids": `SELECT id FROM sessions GROUP BY id HAVING COUNT(*) > 1`,
		"API keys are known by their ids": `SELECT id FROM api_keys GROUP BY id HAVING COUNT(*) > 1`,
	}
}

// orphans returns the query for rows that refer to a missing row of another table.
func orphans(table, column, of string) string {
	return fmt.Sprintf(
		`SELECT c.user_id, c.%[2]s FROM %[1]s c WHERE c.%[2]s > 0 AND NOT EXISTS (SELECT 1 FROM %[3]s p WHERE p.user_id = c.user_id AND p.id = c.%[2]s)`,
		table, column, of)
}

func everyUser() string {
	var all []string
	for _, table := range sqlstore.Tables() {
		if table.Owner != "" {
			all = append(all,
				fmt.Sprintf(`SELECT '%[1]s', %[2]s FROM %[1]s x WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.id = x.%[2]s)`,
					table.Name, table.Owner))
		}
	}
	return strings.Join(all, " UNION ALL ")
}

// Check fails the test for every violated invariant. It evaluates all of them in one query, and
// reads rows only for those that are violated.
func Check(t testing.TB, db *sql.DB) {
	t.Helper()
	all := rules()
	for _, name := range broken(t, db, all) {
		rows, err := db.Query(all[name])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		t.Errorf("invariant violated: %s: %s", name, strings.Join(lines(t, rows), "; "))
	}
}

// rules returns all invariants, including those of the registry of tables.
func rules() map[string]string {
	all := invariants()
	maps.Copy(all, pageInvariants())
	for _, table := range sqlstore.Tables() {
		for column, of := range table.Refs {
			all[table.Name+"."+column+" names one of "+of] = orphans(table.Name, column, of)
		}
		var words []string
		for _, column := range table.Plain {
			if !slices.Contains([]string{"digest", "hash", "key", "config", "cron", "index_version"},
				column) { // tests write them freely
				words = append(words, `CAST(`+column+` AS text) LIKE '% %'`)
			}
		}
		if len(words) > 0 {
			all["there are no words in plain columns of "+table.Name] = `SELECT ` + strings.Join(table.Plain, ", ") + ` FROM ` +
				table.Name + ` WHERE ` + strings.Join(words, " OR ")
		}
	}
	return all
}

// broken returns the names of the queries that select rows.
func broken(t testing.TB, db *sql.DB, queries map[string]string) []string {
	t.Helper()
	var all []string
	for _, name := range slices.Sorted(maps.Keys(queries)) { // in a stable order, so that the statement is planned once
		all = append(all, `SELECT '`+strings.ReplaceAll(name, "'", "''")+`' AS name WHERE EXISTS (`+queries[name]+`)`)
	}
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	defer gathered(t, conn)()
	rows, err := conn.QueryContext(t.Context(), strings.Join(all, " UNION ALL "))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, line := range lines(t, rows) {
		names = append(names, strings.TrimPrefix(line, "name="))
	}
	return names
}

// gathered makes a connection read local copies of tables that are distributed over servers, until
// back is called: queries that compare the rows of all users cannot run there.
func gathered(t testing.TB, conn *sql.Conn) (back func()) {
	t.Helper()
	var spread bool
	err := conn.QueryRowContext(t.Context(),
		`SELECT EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = to_regclass('users'))`).Scan(&spread)
	if err != nil || !spread {
		return func() {} // without the extension there is no pg_dist_partition
	}
	var copies, drops []string
	for _, table := range sqlstore.Tables() {
		copies = append(copies, `CREATE TEMP TABLE `+table.Name+` AS SELECT * FROM `+table.Name)
		drops = append(drops, `DROP TABLE pg_temp.`+table.Name)
	}
	if _, err := conn.ExecContext(t.Context(), strings.Join(copies, "; ")); err != nil {
		t.Fatal(err)
	}
	return func() {
		if _, err := conn.ExecContext(t.Context(), strings.Join(drops, "; ")); err != nil {
			t.Error(err)
		}
	}
}

// Dump returns every row of every table as text.
func Dump(t testing.TB, db *sql.DB) string {
	t.Helper()
	var b strings.Builder
	for _, table := range sqlstore.Tables() {
		rows, err := db.Query(`SELECT * FROM ` + table.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines(t, rows) {
			b.WriteString(table.Name + ": " + line + "\n")
		}
	}
	return b.String()
}

// lines reads rows as text.
func lines(t testing.TB, rows *sql.Rows) []string {
	t.Helper()
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for rows.Next() {
		values := make([]sql.RawBytes, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		var line []string
		for i, v := range values {
			line = append(line, columns[i]+"="+string(v))
		}
		out = append(out, strings.Join(line, " "))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// unchanged fails the test for every row that is not in a Dump taken before, or missing since. It
// reports whether there is none.
func (b *bench) unchanged(before string) bool {
	b.t.Helper()
	was, same := map[string]bool{}, true
	for line := range strings.Lines(before) {
		was[line] = true
	}
	for line := range strings.Lines(Dump(b.t, b.DB())) {
		if !was[line] {
			b.t.Errorf("new or changed: %s", line)
			same = false
		}
		delete(was, line)
	}
	for line := range was {
		b.t.Errorf("gone or changed: %s", line)
		same = false
	}
	return same
}

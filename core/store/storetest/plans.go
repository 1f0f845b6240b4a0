package storetest

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/everthread/everthread/core/store/sqlstore"
)

// statements holds the distinct statements of a suite, each with arguments.
type statements struct {
	mu  sync.Mutex
	all map[string][]any
}

// note records a statement.
func (s *statements) note(query string, args []any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.all[query]; !ok {
		s.all[query] = append([]any{}, args...)
	}
}

// rare lists parts of statements that may read all rows of a user, or of tables that stay small.
func rare() []string {
	return []string{
		`id > $2 AND role = 'assistant' AND body <> ''`,                       // up to the first since a question that is open
		`GROUP BY queue, state`,                                               // statistics over the queue, which is short
		`user_id = 0 AND (channel, account, external) IN`,                     // deletes a user's traces as a stranger
		`FROM codes WHERE `,                                                   // few
		`lease_until = 0 WHERE state = 'running' AND worker`,                  // as many as are running
		`DELETE FROM rates`,                                                   // swept
		`FROM users WHERE id > 0`,                                             // the owner's list of users
		`FROM users WHERE role = 'group'`,                                     // an index of the few groups
		`FROM users WHERE role = 'owner'`,                                     // the first start
		`FROM agent_keys ORDER BY`,                                            // one or two of a few users
		`ORDER BY id DESC LIMIT $3) newest`,                                   // as many as a minute allows
		`extra LIKE '%"path":%'`,                                              // deletes a user
		`AND position > 0 AND shown = position AND redacted`,                  // deletes a thread
		`WHERE user_id = $1 AND id > $2 AND extra <> '{}'`,                    // quotes of a redacted message
		`user_id = $1 AND id > $2 AND kind IN ('notice', 'day_summary_post')`, // notices since a redacted message
		`FROM epochs WHERE user_id = $1 AND thread_id = $2`,                   // a redaction looks at every prompt
		`turn_id = $4 AND extra <> '{}'`,
		`FROM turns t
		WHERE t.user_id = $1 ORDER BY t.started_at DESC, t.id DESC LIMIT`, // likewise
		`FROM deliveries WHERE user_id = $2 ORDER BY id DESC LIMIT`,                    // as many as requested, in order
		`state = 'held' AND payload IS NOT NULL`,                                       // held events are few and swept
		`INSERT INTO embeddings (user_id, kind, id, config, state, updated_at) SELECT`, // all vectors are made again
		`AND s.version = g.version WHERE g.user_id = $1 AND g.hidden = 0`,              // and so is the index
		`SELECT id, content FROM items WHERE user_id = $1`,
		`SELECT id, segment_id, tokens, channel, role FROM messages`,                                           // new entries of the directory
		`COUNT(*) FROM embeddings WHERE user_id`,                                                               // doctor and the settings page
		`FROM windows WHERE user_id = $1) + (SELECT COUNT(*)`,                                                  // a count of the same rows
		`WHERE embedding MATCH $1 AND k = $2`,                                                                  // k vectors are sorted
		`SELECT MAX(id) FROM speakers WHERE user_id = $1`,                                                      // the end of the index
		`FROM themes WHERE user_id = $1 `,                                                                      // few
		`FROM loops WHERE user_id = $1 AND state = 'closed'`,                                                   // a summary opens loops
		`extra LIKE '%"news":%'`,                                                                               // news of something redacted
		`(SELECT COALESCE(SUM(a.messages), 0)`,                                                                 // a row a day, when an epoch begins
		`SELECT id FROM embeddings WHERE user_id = $1 AND kind`,                                                // deletes a user
		`extra <> '{}' AND role = 'tool'`,                                                                      // tools' results of a redacted message
		`user_id = $1 AND id > $2 AND kind = 'reminder'`,                                                       // reminders since a redacted message
		`AND position > 0 ORDER BY position`,                                                                   // the order of a merged thread
		`FROM segments WHERE user_id = $1 ORDER BY id`, `FROM approvals WHERE user_id = $1 AND state = 'open'`, // of a merged user
		`FROM mcp_grants WHERE user_id = $1 ORDER BY`, // one for each service
		` merges SET `, `FROM merges WHERE `, `UPDATE codes SET `, `DELETE FROM tries`, // few
		`DISTINCT queue FROM jobs`, `created_at FROM agent_keys WHERE`, // few of a user
		`DISTINCT thread_id FROM messages`,                                                                    // tool calls without a result
		`t.state = 'running' ORDER BY t.id`, `SET state = 'stopped' WHERE user_id = $1 AND state = 'running'`, // few run
		`j.run_at <= $2)`,                // deliveries in progress
		`_vectors v ON v.id = ($1 << 28`, // each by its rowid, which SQLite calls a scan
	}
}

// deletion matches statements that delete a user, table by table.
var deletion = regexp.MustCompile(
	`^DELETE FROM \w+ WHERE (\([\w, ]+\) IN \(SELECT [\w, ]+ FROM \w+ WHERE )?user_id = \$1\)?$`)

// testPlans explains every statement over a large database.
func testPlans(t *testing.T, open Open, s *statements) {
	db := open(t)().DB()
	heavy := many() / 2
	fill(t, db, 1, 1, heavy, start())
	fill(t, db, 2, 1001, (many()-heavy)/1000, start())
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	explain, check := `EXPLAIN QUERY PLAN `, checkSQLite
	if _, err := conn.ExecContext(t.Context(),
		`SET enable_seqscan = off`); err == nil { // a scan that remains is one for which no index exists
		explain, check = `EXPLAIN `, checkPostgres
	}
	for query, args := range s.all {
		if excused(query) {
			continue
		}
		plan, err := planOf(t.Context(), conn, explain+query, args)
		if err != nil {
			t.Errorf("%s: %v", query, err)
		} else if wrong := check(plan); wrong != "" {
			t.Errorf("%s\n%s\n%s", wrong, query, strings.Join(plan, "\n"))
		}
	}
}

// proof matches statements that check whether any of a user's rows still hold a text.
var proof = regexp.MustCompile(`^SELECT (\w+, \w+ FROM \w+ WHERE user_id = \$1$|COUNT\(\*\) AS remains )`)

// paged matches statements that read a page of a user's rows, up to an id that was read before: no
// planner can know how many rows that is.
var paged = regexp.MustCompile(`id > \$\d AND (\w+\.)?(\w+_)?id <= \$\d`)

// merging matches statements that copy, move or read all of a user's rows of a table in a merge.
var merging = regexp.MustCompile(`^INSERT INTO \w+ \([\w, ]+\)\s+SELECT CAST\(\$2 AS bigint\)|` +
	`^UPDATE event_ids SET user_id|user_id = \$1 AND id > \$2.* ORDER BY id LIMIT \$3$`)

// gathering matches statements that make an index take in many documents in one batch.
var gathering = regexp.MustCompile(`^SET LOCAL gin_pending|^SELECT gin_clean_pending`)

func excused(query string) bool {
	if paged.MatchString(query) || merging.MatchString(query) || deletion.MatchString(query) || proof.MatchString(query) ||
		strings.HasPrefix(query, `SELECT pg_notify`) || gathering.MatchString(query) {
		return true
	}
	for _, part := range rare() {
		if strings.Contains(query, part) {
			return true
		}
	}
	return false
}

// planOf reads a plan, one line per step, from the last column.
func planOf(ctx context.Context, db *sql.Conn, query string, args []any) ([]string, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var plan []string
	for rows.Next() {
		var line string
		into := make([]any, len(columns))
		for i := range into {
			into[i] = new(any)
		}
		into[len(into)-1] = &line
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		plan = append(plan, line)
	}
	return plan, rows.Err()
}

var (
	sqliteScan = regexp.MustCompile(`^SCAN (\w+)`)
	sqliteUser = regexp.MustCompile(`^SEARCH (\w+) USING .*\(user_id=\?\)$`)
	pgSeqScan  = regexp.MustCompile(`Seq Scan on (` + growing() + `)\b`)
	pgRows     = regexp.MustCompile(`(Sort|Index Scan|Index Only Scan|Bitmap Heap Scan).* rows=(\d+)`)
)

// growing lists the tables that grow with use: those of users, and the indexes.
func growing() string {
	out := `users|\w+_terms`
	for _, t := range sqlstore.Tables() {
		if t.Owner != "" {
			out += "|" + t.Name
		}
	}
	return out
}

// virtual matches a search of the full-text index or of vectors by a condition.
var virtual = regexp.MustCompile(`^SCAN (\w+_terms|\w+_vectors) VIRTUAL TABLE INDEX \d+:.`)

// few matches partial indexes and limited reads, which hold or read few rows of a user.
var few = regexp.MustCompile(
	`_continuous|_due|_trouble|_under_way|_unwindowed|_pending|embeddings_error|plans_open|embeddings USING PRIMARY KEY \(user_id=\? AND kind`)

// perUser lists tables with few rows per user.
const perUser = ` i identities plans k loops threads h once jobs themes sessions api_keys addresses tokens standing `

// limited lists derived tables that have few rows.
var limited = []string{"CONSTANT", "counted", "given", "page"}

// checkSQLite returns what is wrong with a plan, or "".
func checkSQLite(plan []string) string {
	for _, line := range plan {
		if virtual.MatchString(line) {
			continue
		}
		if m := sqliteScan.FindStringSubmatch(line); m != nil && !slices.Contains(limited, m[1]) &&
			!strings.HasSuffix(line, "CONSTANT ROWS") && !strings.HasSuffix(line, "VALUES CLAUSE") &&
			!strings.HasPrefix(line, "SCAN e VIRTUAL TABLE") && !strings.Contains(line, "_due") &&
			!strings.Contains(line, "_dead") && !strings.Contains(line, "_post") && !strings.Contains(line, "_trouble") {
			return "a scan: " + line
		}
		if strings.HasPrefix(line, "USE TEMP B-TREE") && !strings.Contains(strings.Join(plan, " "), "identities") &&
			!strings.Contains(strings.Join(plan, " "), " i USING") && !slices.Contains(plan, "SCAN page") {
			return "a sort: " + line
		}
		if m := sqliteUser.FindStringSubmatch(line); m != nil && !strings.Contains(perUser, " "+m[1]+" ") &&
			!few.MatchString(line) {
			return "all of a user's rows: " + line
		}
	}
	return ""
}

// tooMany is the number of rows above which a planned step is an error.
const tooMany = 3000

// checkPostgres returns what is wrong with a plan, or "". A step below a limit is not read to its
// end.
func checkPostgres(plan []string) string {
	limited := false
	for _, line := range plan {
		limited = limited || strings.Contains(line, "Limit ")
		if pgSeqScan.MatchString(line) {
			return "a scan: " + strings.TrimSpace(line)
		}
		m := pgRows.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		n, err := strconv.Atoi(m[2])
		if err == nil && n > tooMany && (!limited || m[1] == "Sort") {
			return fmt.Sprintf("%d rows: %s", n, strings.TrimSpace(line))
		}
	}
	return ""
}

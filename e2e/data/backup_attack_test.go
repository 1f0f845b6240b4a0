//go:build e2e

package data

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// TestAttack_databaseThatActs restores database files with active contents, such as
// triggers.
func TestAttack_databaseThatActs(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	g := w.Start()
	w.Telegram.Say(e2etest.Ada, "hello")
	w.Sent(e2etest.Ada, 1)
	w.Ledger().Quiet(e2etest.Patience, g.Log)
	g.Stop()
	_, err := w.Ledger().DB.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
	e2etest.Must(t, err)
	image, err := os.ReadFile(filepath.Join(w.Dir, "everthread.db"))
	e2etest.Must(t, err)
	for query, want := range map[string]string{
		`CREATE TRIGGER evil AFTER INSERT ON messages BEGIN UPDATE users SET role = 'owner'; END`: `a trigger "evil"`,
		`CREATE TEMP TABLE x (a)`:         "", // is in no file
		`CREATE VIEW evil AS SELECT 1`:    `a view "evil"`,
		`CREATE TABLE evil (a)`:           `a table "evil"`,
		`CREATE INDEX evil ON users (id)`: `a index "evil"`,
		`ALTER TABLE users ADD COLUMN evil integer GENERATED ALWAYS AS (id + 1)`:                                                 `the table "users" is not made as everthread makes it`,
		`CREATE VIRTUAL TABLE evil USING fts5(a)`:                                                                                `"evil`,
		`DROP TABLE codes; CREATE VIEW codes AS SELECT 1 AS user_id`:                                                             `a view "codes"`,
		`PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = replace(sql, 'user_id', 'user_id ') WHERE name = 'messages'`: `the table "messages" is not made`,
	} {
		evil := w.Elsewhere("")
		e2etest.Must(t, os.WriteFile(filepath.Join(evil.Dir, "everthread.db"), image, 0o600))
		l := evil.Ledger()
		l.DB.SetMaxOpenConns(1)
		_, err := l.DB.Exec(query)
		e2etest.Must(t, err)
		e2etest.Must(t, l.DB.Close())
		file := evil.BackUp(t.TempDir())
		there := w.Elsewhere("")
		out, err := there.Run("restore", file)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s %v", query, out, err)
		}
		left, _ := filepath.Glob(filepath.Join(there.Dir, "everthread.db*"))
		if want != "" && len(left) > 0 {
			t.Errorf("%s: %v is there", query, left)
		}
	}
}

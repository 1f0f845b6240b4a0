//go:build e2e

package data

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/everthread/everthread/e2e/e2etest"
)

// forged returns a backup with a changed manifest.
func forged(t *testing.T, file string, change func(manifest map[string]any)) string {
	t.Helper()
	whole, err := os.ReadFile(file)
	e2etest.Must(t, err)
	from, err := zstd.NewReader(bytes.NewReader(whole))
	e2etest.Must(t, err)
	defer from.Close()
	out := filepath.Join(t.TempDir(), "forged.everthread")
	f, err := os.Create(out)
	e2etest.Must(t, err)
	z, err := zstd.NewWriter(f)
	e2etest.Must(t, err)
	w, r := tar.NewWriter(z), tar.NewReader(from)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		e2etest.Must(t, err)
		body, err := io.ReadAll(r)
		e2etest.Must(t, err)
		if h.Name == "manifest.json" {
			var m map[string]any
			e2etest.Must(t, json.Unmarshal(body, &m))
			change(m)
			body, err = json.Marshal(m)
			e2etest.Must(t, err)
		}
		h.Size = int64(len(body))
		e2etest.Must(t, w.WriteHeader(h))
		_, err = w.Write(body)
		e2etest.Must(t, err)
	}
	e2etest.Must(t, errors.Join(w.Close(), z.Close(), f.Close()))
	return out
}

// TestAttackAManifestRunsNothing puts SQL wherever a manifest contains names, or once
// contained SQL.
func TestAttackAManifestRunsNothing(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, e2etest.NewStore(t))
	g := w.Start()
	w.Telegram.Say(e2etest.Ada, "hello")
	w.Sent(e2etest.Ada, 1)
	l := w.Ledger()
	l.Quiet(e2etest.Patience, g.Log)
	file := w.BackUp(t.TempDir())
	g.Stop()
	const pwn = `CREATE TABLE pwned ()`
	tableOf := func(m map[string]any, name string) map[string]any {
		for _, one := range m["tables"].([]any) {
			if t := one.(map[string]any); t["name"] == name {
				return t
			}
		}
		t.Fatalf("no table %s", name)
		return nil
	}
	another := func(m map[string]any, table map[string]any) { m["tables"] = append(m["tables"].([]any), table) }
	for name, c := range map[string]struct {
		change func(m map[string]any)
		fails  string // empty: it is restored
	}{
		"indexes": {func(m map[string]any) { tableOf(m, "messages")["indexes"] = []string{pwn} }, ""},
		"rules": {func(m map[string]any) {
			tableOf(m, "messages")["rules"] = []map[string]any{{"name": "x", "definition": "CHECK (true); " + pwn}}
		}, ""},
		"another table": {func(m map[string]any) {
			another(m, map[string]any{"name": "extra", "columns": []map[string]any{{"name": "a", "type": "int); " + pwn + "; --",
				"default": "pg_sleep(60)"}},
				"indexes": []string{pwn}, "rules": []map[string]any{{"name": "x", "definition": pwn}}})
		}, ""},
		"a type": {func(m map[string]any) {
			tableOf(m, "messages")["columns"].([]any)[0].(map[string]any)["type"] = "int); " + pwn + "; --"
		}, ""},
		"a column": {func(m map[string]any) {
			tableOf(m, "messages")["columns"].([]any)[0].(map[string]any)["name"] = `id") FROM STDIN; ` + pwn + `; --`
		}, "which the schema that it names does not have"},
		"a name":      {func(m map[string]any) { tableOf(m, "messages")["name"] = `messages"; ` + pwn + `; --` }, ""},
		"the version": {func(m map[string]any) { m["schema"] = 10_000 }, "this one knows schema"},
		"what says how far it is": {func(m map[string]any) {
			tableOf(m, "messages")["name"] = "goose_db_version"
		}, ""},
	} {
		there := w.Empty()
		out, err := there.Run("restore", forged(t, file, c.change))
		if (err != nil) != (c.fails != "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s: %s %v", name, out, err)
		}
		if n := there.Ledger().Count(
			`SELECT COUNT(*) FROM pg_class WHERE relname IN ('pwned', 'extra') AND relnamespace = current_schema()::regnamespace`); n != 0 {
			t.Errorf("%s: SQL of the manifest was run", name)
		}
	}
}

// TestAttackADatabaseThatActs restores database files with active contents, such as
// triggers.
func TestAttackADatabaseThatActs(t *testing.T) {
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

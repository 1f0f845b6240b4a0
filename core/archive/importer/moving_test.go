package importer_test

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/archive/importer"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/store/storetest"
	"github.com/everthread/everthread/internal/fulltest"
)

// TestImport_movingIn checks that exports of other assistants are imported once, with their memory.
func TestImport_movingIn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		format, dir  string
		fresh, items int
		files        int
		name, fact   string
	}{
		{"openwebui", "chats", 4, 1, 2, "Open WebUI", "Ada keeps bees behind the house."},
		{"librechat", "flat", 3, 1, 0, "LibreChat", "boat: owns the Marisol, a ketch"},
		{"hermes", "lines", 6, 3, 1, "Hermes Agent", "She wants short answers,\nwith numbers."},
		{"openclaw", "folder", 3, 3, 1, "OpenClaw", "The boat is called Marisol."},
		{"letta", "agent", 3, 3, 1, "Letta", "Family: Her dog is Otto."},
		{"claude", "modern", 2, 3, 0, "Claude", "Personal context: She sails on Fridays."},
	} {
		w := newWorld(t)
		dir := filepath.Join("testdata", c.format, c.dir)
		if out := w.bring(c.format, dir, ""); out.Fresh != c.fresh || out.Items != c.items || out.Files != c.files {
			t.Errorf("%s: got %+v", c.format, out)
		}
		storetest.Check(t, w.st.DB())
		items, err := w.st.Items(t.Context(), store.ItemQuery{User: w.u.ID, Theme: c.format, Limit: 10})
		found := ""
		for _, i := range items {
			if i.Content == c.fact && i.Tainted && i.Type == core.ItemFact && len(i.Tags) == 1 {
				found = i.Content
			}
		}
		if err != nil || len(items) != c.items || found == "" {
			t.Errorf("%s: items %+v, %v", c.format, items, err)
			continue
		}
		themes, err := w.st.Themes(t.Context(), w.u.ID, 10)
		if err != nil || len(themes) != 1 || themes[0].Name != c.name {
			t.Errorf("%s: themes %+v, %v", c.format, themes, err)
		}
		if _, err := w.st.Note(t.Context(), store.Note{User: w.u.ID, Now: now,
			Effects: []core.Effect{effect.ArchiveItem{Item: items[0].ID, At: now}}}); err != nil {
			t.Fatal(err)
		}
		if out := w.bring(c.format, dir, ""); out.Fresh != 0 || out.Items != 0 || out.Known != c.fresh {
			t.Errorf("%s again: %+v", c.format, out)
		}
	}
}

// TestImport_newerExportAddsWhatIsNew checks that a newer export adds only its new messages, even if an
// answer was regenerated.
func TestImport_newerExportAddsWhatIsNew(t *testing.T) {
	t.Parallel()
	for format, more := range map[string]struct{ file, was, is string }{
		"openwebui": {"chats/chat-export-1764000000000.json", `"currentId": "m4", "messages": {`,
			`"currentId": "m9", "messages": {"m9": {"id": "m9", "parentId": "m4", "role": "user", "content": "Thanks.", "timestamp": 1735725700},`},
		"librechat": {"tree/tree.json", `"children": []}]}]}`,
			`"children": [{"messageId": "n", "parentMessageId": "c", "isCreatedByUser": true, "text": "Why?", "createdAt": "2025-03-02T10:01:00.000Z"}]}]}]}`},
		"hermes": {"lines/backup.jsonl", `"content": "It shows 3 m.", "timestamp": 1772359310.0, "active": 1}`,
			`"content": "It shows 3 m.", "timestamp": 1772359310.0, "active": 1}, {"role": "user", "content": "Rising?", "timestamp": 1772359320.0}`},
		"letta": {"first/first.af", `"tool_calls": []}]}`,
			`"tool_calls": []}, {"role": "user", "content": "And you?", "created_at": "2025-04-01T03:48:00"}]}`},
	} {
		file := filepath.Join("testdata", format, more.file)
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		after := strings.Replace(string(before), more.was, more.is, 1)
		w := newWorld(t)
		first := w.bring(format, spread(t, map[string]string{filepath.Base(file): string(before)}), "")
		if out := w.bring(format, spread(t, map[string]string{filepath.Base(file): after}), ""); out.Fresh != 1 ||
			out.Known != first.Fresh || out.Items != 0 {
			t.Errorf("%s: %+v, then %+v", format, first, out)
		}
	}
}

// TestImport_conversationsOfSeveralPeople checks that from an archive of several people only the chosen
// one's conversations are imported.
func TestImport_conversationsOfSeveralPeople(t *testing.T) {
	t.Parallel()
	chat := func(id, user, text string) string {
		return fmt.Sprintf(`{"id": %q, "user_id": %q, "chat": {"history": {"currentId": "m", "messages":
			{"m": {"id": "m", "role": "user", "content": %q, "timestamp": 1735725600}}}}}`, id, user, text)
	}
	session := func(id, user, text string) string {
		return fmt.Sprintf(`{"id": %q, "source": "telegram", "user_id": %q, "messages": [{"role": "user", "content": %q, "timestamp": 1735725600.5}]}`+"\n", id, user, text)
	}
	say := func(id, text string) string {
		return fmt.Sprintf(`{"type": "message", "id": %q, "timestamp": "2026-04-01T09:00:00Z", "message": {"role": "user", "content": %q}}`+"\n", id, text)
	}
	for format, c := range map[string]struct {
		files map[string]string
		me    string
	}{
		"openwebui": {map[string]string{"all-chats-export.json": "[" + chat("1", "u-ada", "of Ada") + "," +
			chat("2", "u-bob", "of Bob") +
			`,{"user_id": "u-bob", "content": "Bob drinks tea."},{"content": "nobody's"}]`}, "u-ada"},
		"hermes": {map[string]string{"a.jsonl": session("1", "42", "of Ada") + session("2", "43", "of Bob")},
			"telegram:42"},
		"openclaw": {map[string]string{"s/s1.jsonl": say("a", "of Ada"), "s/s2.jsonl": say("b", "of Bob"),
			"s/sessions.json": `{"agent:main:telegram:direct:42": {"sessionId": "s1"},
				"agent:main:telegram:direct:43": {"sessionId": "s2"}}`}, "telegram:42"},
	} {
		w := newWorld(t)
		dir := spread(t, c.files)
		o := paris(t)
		for _, me := range []string{"", "carla"} {
			o.Me = me
			_, err := importer.NewSurvey(open(t, dir), format, o, me, "Ada", w.label)
			if !errors.Is(err, importer.ErrMe) || !strings.Contains(err.Error(), c.me) {
				t.Errorf("%s, me %q: %v", format, me, err)
			}
		}
		if out := w.bring(format, dir, c.me); out.Fresh != 1 || out.Items != 0 {
			t.Errorf("%s: got %+v", format, out)
		}
		if got := w.said(0); got != "user chat: of Ada" {
			t.Errorf("%s: %s", format, got)
		}
	}
}

// hermesTables creates the tables of Hermes Agent 0.21's sessions, with the columns that are read.
const hermesTables = `
CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, user_id TEXT, chat_type TEXT, model_config TEXT,
	system_prompt TEXT, system_prompt_hash TEXT, parent_session_id TEXT, started_at REAL NOT NULL, title TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL, content TEXT,
	tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL, reasoning TEXT, _compressed_summary INTEGER NOT NULL DEFAULT 0,
	active INTEGER NOT NULL DEFAULT 1, compacted INTEGER NOT NULL DEFAULT 0, display_kind TEXT);
INSERT INTO sessions VALUES ('s1', 'cli', NULL, NULL, '{}', NULL, 'abc', NULL, 1772356523.1, 'tides'),
	('s2', 'cli', NULL, NULL, '{"_delegate_from": "s1"}', NULL, NULL, 's1', 1772356600, NULL);
INSERT INTO messages (session_id, role, content, tool_calls, timestamp, reasoning, active, compacted) VALUES
	('s1', 'user', 'When is high tide?', NULL, 1772356523.25, NULL, 0, 1),
	('s1', 'assistant', NULL, '[{"id": "t"}]', 1772356524.5, 'Look.', 1, 0),
	('s1', 'tool', '14:10', NULL, 1772356525.0, NULL, 1, 0),
	('s1', 'assistant', 'At 14:10.', NULL, 1772356526.0, NULL, 1, 0),
	('s1', 'user', char(0) || 'json:[{"type": "text", "text": "And this?"}]', NULL, 1772356527.0, NULL, 1, 0),
	('s1', 'user', 'When is high tide?', NULL, 1772356523.25, NULL, 1, 0),
	('s1', 'user', 'taken back', NULL, 1772356528.0, NULL, 0, 0),
	('s2', 'user', 'for another agent', NULL, 1772356601.0, NULL, 1, 0);`

func makeDatabase(t testing.TB, file, statements string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(statements)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestHermes_database(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "state.db")
	makeDatabase(t, file, hermesTables)
	w := newWorld(t)
	out := w.bring("hermes", dir, "")
	if out.Fresh != 3 {
		t.Errorf("got %+v", out)
	}
	want := "user chat: When is high tide?\nassistant chat: At 14:10.\nuser chat: And this?"
	if got := w.said(0); got != want {
		t.Errorf("got %s", got)
	}
	beside, err := os.ReadDir(dir)
	if err != nil || len(beside) != 1 {
		t.Errorf("the import wrote into the folder: %v, %v", beside, err)
	}
	packed := pack(t, map[string]string{".hermes/state.db": read(t, file)})
	if again := w.bring("hermes", packed, ""); again.Fresh != 0 || again.Known != 3 {
		t.Errorf("packed: %+v", again)
	}
	for _, hostile := range []string{`CREATE TABLE real (x); CREATE VIEW messages AS SELECT 1`,
		`CREATE VIRTUAL TABLE messages USING fts5(session_id, role, content)`, `CREATE TABLE messages (session_id)`} {
		odd := t.TempDir()
		makeDatabase(t, filepath.Join(odd, "state.db"), hostile)
		if err := importer.Read(open(t, odd), "hermes", paris(t), nothing()); err == nil {
			t.Errorf("%s: no error", hostile)
		}
	}
}

// TestHermes_databaseExecutesNothing imports databases whose schema holds an expression that fails whenever it is
// evaluated, in each place where a schema has one. They are read as if it were not there.
func TestHermes_databaseExecutesNothing(t *testing.T) {
	t.Parallel()
	const fails = `abs(-9223372036854775807 - 1)`
	for name, c := range map[string][2]string{
		"a constraint of a column":  {"content TEXT,", "content TEXT CHECK (" + fails + "),"},
		"a constraint of the table": {"display_kind TEXT)", "display_kind TEXT, CHECK (" + fails + "))"},
		"a generated column":        {"display_kind TEXT)", "display_kind TEXT, x AS (" + fails + "))"},
		"one that must not be null": {"display_kind TEXT)", "display_kind TEXT, x NOT NULL AS (" + fails + "))"},
		"one of a needed name":      {"content TEXT,", "content TEXT, reasoning_2 AS (" + fails + ") VIRTUAL,"},
		"a default":                 {"display_kind TEXT)", "display_kind TEXT DEFAULT (" + fails + "))"},
		"an index":                  {"CREATE INDEX one ON messages (timestamp)", "CREATE INDEX one ON messages (" + fails + ")"},
		"the condition of an index": {"CREATE INDEX one ON messages (timestamp)",
			"CREATE INDEX one ON messages (timestamp) WHERE " + fails},
	} {
		dir := t.TempDir()
		makeDatabase(t, filepath.Join(dir, "state.db"), hermesTables+`CREATE INDEX one ON messages (timestamp);
			PRAGMA writable_schema = 1;
			UPDATE sqlite_master SET sql = replace(sql, '`+c[0]+`', '`+c[1]+`');
			SELECT CASE WHEN changes() = 0 THEN abs(-9223372036854775807 - 1) END;`)
		var got []string
		take := nothing()
		take.Line = func(l importer.Line) error { got = append(got, l.Text); return nil }
		err := importer.Read(open(t, dir), "hermes", paris(t), take)
		if want := "When is high tide?,At 14:10.,And this?"; err != nil || strings.Join(got, ",") != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func read(t testing.TB, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestArchive_cutAnywhere checks that a truncated archive yields an error or whole messages, never part of
// one.
func TestArchive_cutAnywhere(t *testing.T) {
	t.Parallel()
	hermes := filepath.Join(t.TempDir(), "state.db")
	makeDatabase(t, hermes, hermesTables)
	for format, file := range map[string]string{"openwebui": "testdata/openwebui/chats/chat-export-1764000000000.json",
		"librechat": "testdata/librechat/tree/tree.json", "hermes": "testdata/hermes/lines/backup.jsonl",
		"openclaw": "testdata/openclaw/folder/agents/main/sessions/s1.jsonl", "letta": "testdata/letta/agent/bee.af",
		"claude": "testdata/claude/modern/conversations.json", "chatgpt": "testdata/chatgpt/modern/conversations-000.json",
		"hermes database": hermes, "openclaw database": "testdata/openclaw/database/openclaw-agent.sqlite"} {
		format, database := strings.CutSuffix(format, " database")
		whole := read(t, file)
		texts := func(content string) (out map[string]bool, err error) {
			out = map[string]bool{}
			part := filepath.Join(t.TempDir(), filepath.Base(file))
			if err := os.WriteFile(part, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			take := nothing()
			take.Line = func(l importer.Line) error { out[l.Text] = true; return nil }
			take.Fact = func(f importer.Fact) { out[f.Text] = true }
			return out, importer.Read(open(t, part), format, paris(t), take)
		}
		all, err := texts(whole)
		if err != nil || len(all) == 0 {
			t.Fatalf("%s: %v, %v", file, all, err)
		}
		for _, line := range strings.Split(whole, "\n") { // a session of Hermes before an undo
			if lone, err := texts(line); err == nil && filepath.Ext(file) == ".jsonl" {
				maps.Copy(all, lone)
			}
		}
		for at := 0; at < len(whole); at += max(len(whole)/fulltest.Size(7, 97), 1) {
			got, err := texts(whole[:at])
			if err == nil && len(got) == 0 || database && err == nil && len(got) < len(all) {
				t.Errorf("%s cut at %d: %v without an error", file, at, got)
			}
			for text := range got {
				if !all[text] {
					t.Errorf("%s cut at %d: %q", file, at, text)
				}
			}
		}
	}
}

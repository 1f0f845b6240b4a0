//go:build e2e && unix

package data

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// refused checks that an error contains a text.
func refused(t *testing.T, err error, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// listed returns the names in a folder.
func listed(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	e2etest.Must(t, err)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// albumChat writes a Telegram export with incompressible files of 400 KiB.
func albumChat(t *testing.T, files int) string {
	t.Helper()
	dir := t.TempDir()
	e2etest.Must(t, os.Mkdir(filepath.Join(dir, "files"), 0o700))
	var b strings.Builder
	random := rand.NewChaCha8([32]byte{7})
	for n := range files {
		noise := make([]byte, 400<<10)
		_, _ = random.Read(noise)
		e2etest.Must(t, os.WriteFile(filepath.Join(dir, "files", fmt.Sprint(n)), noise, 0o600))
		fmt.Fprintf(&b,
			`,{"id":%d,"type":"message","date_unixtime":"%d","from":"x","from_id":"user5","file":"files/%d","file_name":"%d.bin","text":"the parrot Hugo, no. %d"}`, n+1, 1_700_000_000+n, n, n, n)
	}
	e2etest.Must(t, os.WriteFile(filepath.Join(dir, "result.json"),
		[]byte(`{"name":"Bot","type":"bot_chat","id":7,"messages":[`+b.String()[1:]+"]}"), 0o600))
	return dir
}

// Without disk space, no command leaves half a file; each says what it needs, and works
// when there is space. The gateway answers meanwhile.
func TestFullDisk_commandsSayWhatTheyNeed(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		const most = 200
		w := e2etest.NewTown(t, database(t))
		g := w.Start()
		w.Telegram.Say(e2etest.Ada, "hello")
		w.Sent(e2etest.Ada, 1)
		user := w.Member()
		says := func(n int, text string) {
			t.Helper()
			w.Telegram.Say(e2etest.Ada, text)
			if got := w.Sent(e2etest.Ada, n)[n-1].Text; got != "echo: "+text {
				t.Errorf("got %q\n%s", got, g.Log)
			}
		}

		album := albumChat(t, 3)
		_, err := w.Limited(most, "import", "telegram", album, "--user", user)
		refused(t, err, "copy 0.bin: there is no room in "+filepath.Join(w.Dir, "media"), "up to 1200 KiB are needed",
			"0 messages are in, and the same command goes on from there")
		if got := w.Kept(); len(got) != 0 {
			t.Errorf("%d files are left of it", len(got))
		}
		says(2, "are you there?")
		if out := w.MustRun("import", "telegram", album, "--user", user); !strings.Contains(out, "3 files were imported, too") {
			t.Errorf("got %s", out)
		}
		if w.Database == "" { // a server has a disk of its own
			old := oldChat(t)
			_, err = w.Limited(most, "import", "telegram", old, "--user", user)
			refused(t, err, "there is no room in "+w.Dir, "and the same command goes on from there")
			says(3, "and now?")
			var out importJSON
			e2etest.Must(t, json.Unmarshal([]byte(w.MustRun("import", "telegram", old, "--user", user, "--json")), &out))
			if out.Result.Imported+out.Result.Known != importMessages {
				t.Errorf("with room again: %+v", out)
			}
		}

		dir := t.TempDir()
		file := filepath.Join(dir, "all.zip")
		_, err = w.Limited(most, "export", "--user", user, "--out", file)
		refused(t, err, "write the export: there is no room in "+dir, "KiB were written until then", "try again")
		if got := listed(t, dir); len(got) != 0 {
			t.Errorf("the export left %v", got)
		}
		w.MustRun("export", "--user", user, "--out", file)
		z, err := zip.OpenReader(file)
		e2etest.Must(t, err)
		e2etest.Must(t, z.Close())

		backups := t.TempDir()
		_, err = w.Limited(most, "backup", "--to", backups)
		refused(t, err, "write the backup: there is no room in "+backups, "try again")
		if got := listed(t, backups); len(got) != 0 {
			t.Errorf("the backup left %v", got)
		}
		backup := w.BackUp(backups)
		g.Stop()

		there := w.Empty()
		_, err = there.Limited(most, "restore", backup)
		refused(t, err, "there is no room in "+there.Dir, " are needed: ", "try again")
		if got := listed(t, there.Dir); slices.Contains(got, "restore.unfinished") || len(there.Kept()) != 0 {
			t.Errorf("the restore left %v", got)
		}
		there.MustRun("restore", backup)
		there.Start()
		there.Telegram.Say(e2etest.Ada, "here again?")
		l := there.Ledger()
		l.Until(`SELECT COUNT(*) FROM messages WHERE role = 'assistant' AND body = 'echo: here again?'`, 1, g)
		if len(there.Kept()) != 3 {
			t.Errorf("%d files were restored, want 3", len(there.Kept()))
		}
	})
}

// A server with a full disk refuses an import in the middle; the gateway continues, and the
// import can be continued later.
func TestFullDisk_importIsContinued(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, e2etest.NewStore(t))
	g := w.Start()
	w.Telegram.Say(e2etest.Ada, "hello")
	w.Sent(e2etest.Ada, 1)
	user, file := w.Member(), oldChat(t)
	l := w.Ledger()
	exec := func(statement string) {
		t.Helper()
		_, err := l.DB.Exec(statement)
		e2etest.Must(t, err)
	}
	exec(`CREATE SEQUENCE room`)
	exec(`CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF NEW.body LIKE 'old message%' AND nextval('room') > 5500 THEN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END IF;
		RETURN NEW; END $$`)
	exec(`CREATE TRIGGER no_room BEFORE INSERT ON messages FOR EACH ROW EXECUTE FUNCTION no_room()`)
	_, err := w.Run("import", "telegram", file, "--user", user)
	refused(t, err, "the disk of the database server is full; make room there, and try again",
		"5000 messages are in, and the same command goes on from there")
	w.Telegram.Say(e2etest.Ada, "are you there?")
	if got := w.Sent(e2etest.Ada, 2)[1].Text; got != "echo: are you there?" {
		t.Errorf("got %q\n%s", got, g.Log)
	}
	exec(`DROP TRIGGER no_room ON messages`)
	var out importJSON
	e2etest.Must(t, json.Unmarshal([]byte(w.MustRun("import", "telegram", file, "--user", user, "--json")), &out))
	if out.Result.Imported != importMessages-5000 || out.Result.Known != 5000 {
		t.Errorf("with room again: %+v", out)
	}
}

// A restore into a server with a full disk changes nothing, and can be repeated.
func TestFullDisk_restoreChangesNothing(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, e2etest.NewStore(t))
	g := w.Start()
	said := w.ALife(g)
	file := w.BackUp(t.TempDir())
	g.Stop()
	there := w.Empty()
	disk := there.Ledger()
	crowd(t, disk)
	_, err := there.Run("restore", file)
	refused(t, err, "the disk of the database server is full; make room there, and try again")
	if got := listed(t, there.Dir); slices.Contains(got, "restore.unfinished") || len(there.Kept()) != 0 {
		t.Errorf("it left %v", got)
	}
	there.Fails("restore was not finished", "serve")
	_, err = disk.DB.Exec(`CREATE OR REPLACE FUNCTION room(n bigint) RETURNS boolean LANGUAGE sql AS 'SELECT true'`)
	e2etest.Must(t, err)
	there.MustRun("restore", file)
	there.GoesOn(t, w, said, 0)
}

// crowd makes the server of a schema run out of space at its second message.
func crowd(t *testing.T, disk *e2etest.Ledger) {
	t.Helper()
	schema := disk.Lines(`SELECT current_schema()`)[0]
	_, err := disk.DB.Exec(`CREATE FUNCTION room(n bigint) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
		IF n > 1 THEN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END IF;
		RETURN true; END $$`)
	e2etest.Must(t, err)
	_, err = disk.DB.Exec(fmt.Sprintf(`CREATE FUNCTION crowded() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
		IF EXISTS (SELECT 1 FROM pg_event_trigger_ddl_commands() WHERE object_identity = '%[1]s.messages') THEN
			ALTER TABLE %[1]s.messages ADD CONSTRAINT crowded CHECK (%[1]s.room(id));
		END IF; END $$`, schema))
	e2etest.Must(t, err)
	_, err = disk.DB.Exec(
		fmt.Sprintf(
			`CREATE EVENT TRIGGER crowded_%[1]s ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION %[1]s.crowded()`, schema))
	e2etest.Must(t, err)
	t.Cleanup(func() {
		_, err := disk.DB.Exec(`DROP EVENT TRIGGER IF EXISTS crowded_` + schema)
		e2etest.Must(t, err)
	})
}

// A killed export leaves no file, and the next one cleans up.
func TestExport_killedLeavesNoFile(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		g := w.Start()
		w.ALife(g)
		user, dir := w.Member(), t.TempDir()
		file := filepath.Join(dir, "all.zip")
		for range 2 {
			w.Crashes("export written", "export", "--user", user, "--out", file)
			if got := listed(t, dir); len(got) != 1 || !strings.HasSuffix(got[0], ".partial") {
				t.Errorf("it left %v", got)
			}
		}
		w.MustRun("export", "--user", user, "--out", file)
		if got := listed(t, dir); !slices.Equal(got, []string{"all.zip"}) {
			t.Errorf("got files %v", got)
		}
		said, _ := exported(t, file)
		w.Fails("is there already", "export", "--user", user, "--out", file)
		if again, _ := exported(t, file); len(said) < 4 || !slices.Equal(said, again) {
			t.Errorf("the export has %d lines, then %d", len(said), len(again))
		}
	})
}

// Text that databases do not accept is imported as far as it is valid.
func TestImport_oddTexts(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		w.Start().Stop()
		dir := t.TempDir()
		e2etest.Must(t, os.Mkdir(filepath.Join(dir, "threads"), 0o700))
		for name, text := range map[string]string{
			"profile.json":    `{}`,
			"threads/2 x.md":  "# a \xff title \x00\n",
			"messages.jsonl":  `{"thread":1,"id":1,"role":"user","text":"a\u0000b","sent_at":"2024-01-01T10:00:00Z","from":"x\u0000","forwarded_from":"\u0000","quote":{"text":"q\u0000"},"attachments":[{"kind":"photo","name":"n\u0000.jpg","path":"1/\u0000"}],"revisions":[{"text":"old\u0000","replaced_at":"2024-01-01T10:00:01Z"}]}` + "\n" + `{"thread":1,"id":2,"role":"assistant","text":"half \ud83d here ` + "\xff" + `","sent_at":"2024-01-01T10:00:02Z"}` + "\n" + `{"thread":2,"id":3,"role":"user","text":"in a thread\u0000","sent_at":"2024-01-01T10:00:03Z"}` + "\n",
			"summaries.jsonl": `{"day":"2024-01-01","markdown":"## Summary\n\u0000 [#1]","covers":[],"final":true}` + "\n",
			"memory.jsonl":    `{"theme":"t\u0000","type":"fact","content":"likes \u0000","tags":["\u0000"]}` + "\n",
			"themes.jsonl":    `{"slug":"t\u0000","name":"T\u0000"}` + "\n",
			"loops.jsonl":     `{"text":"open\u0000","state":"open","opened_at":"2024-01-01T10:00:00Z"}` + "\n",
			"reminders.jsonl": `{"text":"tea\u0000","due_at":"2124-01-01T10:00:00Z","zone":"\u0000","state":"active"}` + "\n",
		} {
			e2etest.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		for _, want := range []string{"Imported 3 messages", "Imported 0 messages"} {
			if out := w.MustRun("import", "jsonl", dir); !strings.Contains(out, want) {
				t.Errorf("got %s, want %q", out, want)
			}
		}
		file := filepath.Join(t.TempDir(), "all.zip")
		w.MustRun("export", "--out", file)
		said, lines := exported(t, file)
		if !slices.Contains(said, "2024-01-01 user chat a\ufffdb") ||
			!slices.Contains(said, "2024-01-01 assistant chat half \ufffd here \ufffd") || lines["memory.jsonl"] != 1 ||
			lines["loops.jsonl"] != 1 {
			t.Errorf("got %q, %v", said, lines)
		}
	})
}

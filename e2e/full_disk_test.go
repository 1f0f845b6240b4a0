//go:build e2e && unix

package e2e

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// limited runs a command that may make no file larger than so many KiB.
func (w *town) limited(kib int, args ...string) (string, error) {
	cmd := exec.Command("/bin/sh", append([]string{"-c", fmt.Sprintf(`ulimit -f %d; exec "$0" "$@"`, 2*kib), w.program}, args...)...)
	cmd.Dir = w.dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir}, w.env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("everthread %s: %w\n%s", strings.Join(args, " "), err, errs.String())
	}
	return out.String(), err
}

// refused checks an error for what it has to say.
func refused(t *testing.T, err error, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// listed are the names of what is in a folder.
func listed(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// albumChat writes a Telegram export with files of 400 KiB that nothing makes smaller.
func albumChat(t *testing.T, files int) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "files"), 0o700))
	var b strings.Builder
	random := rand.NewChaCha8([32]byte{7})
	for n := range files {
		noise := make([]byte, 400<<10)
		_, _ = random.Read(noise)
		must(t, os.WriteFile(filepath.Join(dir, "files", fmt.Sprint(n)), noise, 0o600))
		fmt.Fprintf(&b, `,{"id":%d,"type":"message","date_unixtime":"%d","from":"x","from_id":"user5","file":"files/%d","file_name":"%d.bin","text":"the parrot Hugo, no. %d"}`,
			n+1, 1_700_000_000+n, n, n, n)
	}
	must(t, os.WriteFile(filepath.Join(dir, "result.json"), []byte(`{"name":"Bot","type":"bot_chat","id":7,"messages":[`+b.String()[1:]+"]}"), 0o600))
	return dir
}

// No command that writes leaves half a file when there is no room, each says what
// is needed, and goes on when there is. The gateway answers meanwhile.
func TestCommandsWithoutRoom(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		const most = 200
		w := newTown(t, database(t))
		g := w.start()
		w.telegram.Say(ada, "hello")
		w.sent(ada, 1)
		user := w.member()
		says := func(n int, text string) {
			t.Helper()
			w.telegram.Say(ada, text)
			if got := w.sent(ada, n)[n-1].Text; got != "echo: "+text {
				t.Errorf("got %q\n%s", got, g.log)
			}
		}

		album := albumChat(t, 3)
		_, err := w.limited(most, "import", "telegram", album, "--user", user)
		refused(t, err, "copy 0.bin: there is no room in "+filepath.Join(w.dir, "media"), "up to 1200 KiB are needed", "0 messages are in, and the same command goes on from there")
		if got := w.kept(); len(got) != 0 {
			t.Errorf("%d files are left of it", len(got))
		}
		says(2, "are you there?")
		if out := w.mustRun("import", "telegram", album, "--user", user); !strings.Contains(out, "3 files came along") {
			t.Errorf("got %s", out)
		}
		if w.database == "" { // a server has a disk of its own
			old := oldChat(t)
			_, err = w.limited(most, "import", "telegram", old, "--user", user)
			refused(t, err, "there is no room in "+w.dir, "and the same command goes on from there")
			says(3, "and now?")
			var out importJSON
			must(t, json.Unmarshal([]byte(w.mustRun("import", "telegram", old, "--user", user, "--json")), &out))
			if out.Result.Imported+out.Result.Known != importMessages {
				t.Errorf("with room again: %+v", out)
			}
		}

		dir := t.TempDir()
		file := filepath.Join(dir, "all.zip")
		_, err = w.limited(most, "export", "--user", user, "--out", file)
		refused(t, err, "write the export: there is no room in "+dir, "KiB were written until then", "try again")
		if got := listed(t, dir); len(got) != 0 {
			t.Errorf("the export left %v", got)
		}
		w.mustRun("export", "--user", user, "--out", file)
		z, err := zip.OpenReader(file)
		must(t, err)
		must(t, z.Close())

		backups := t.TempDir()
		_, err = w.limited(most, "backup", "--to", backups)
		refused(t, err, "write the backup: there is no room in "+backups, "try again")
		if got := listed(t, backups); len(got) != 0 {
			t.Errorf("the backup left %v", got)
		}
		backup := w.backUp(backups)
		g.stop()

		there := w.elsewhere(database(t))
		_, err = there.limited(most, "restore", backup)
		refused(t, err, "there is no room in "+there.dir, " are needed: ", "try again")
		if got := listed(t, there.dir); slices.Contains(got, "restore.unfinished") || len(there.kept()) != 0 {
			t.Errorf("the restore left %v", got)
		}
		there.mustRun("restore", backup)
		there.start()
		there.telegram.Say(ada, "here again?")
		l := there.ledger()
		l.until(`SELECT COUNT(*) FROM messages WHERE role = 'assistant' AND body = 'echo: here again?'`, 1, g)
		if len(there.kept()) != 3 {
			t.Errorf("%d files came back, want 3", len(there.kept()))
		}
	})
}

// A server whose disk is full refuses an import in the middle; the gateway goes on,
// and so does the import, later.
func TestAnImportWhileTheServerIsFull(t *testing.T) {
	t.Parallel()
	w := newTown(t, newSchema(t))
	g := w.start()
	w.telegram.Say(ada, "hello")
	w.sent(ada, 1)
	user, file := w.member(), oldChat(t)
	l := w.ledger()
	exec := func(statement string) {
		t.Helper()
		_, err := l.db.Exec(statement)
		must(t, err)
	}
	exec(`CREATE SEQUENCE room`)
	exec(`CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF NEW.body LIKE 'old message%' AND nextval('room') > 5500 THEN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END IF;
		RETURN NEW; END $$`)
	exec(`CREATE TRIGGER no_room BEFORE INSERT ON messages FOR EACH ROW EXECUTE FUNCTION no_room()`)
	_, err := w.run("import", "telegram", file, "--user", user)
	refused(t, err, "the disk of the database server is full; make room there, and try again", "5000 messages are in, and the same command goes on from there")
	w.telegram.Say(ada, "are you there?")
	if got := w.sent(ada, 2)[1].Text; got != "echo: are you there?" {
		t.Errorf("got %q\n%s", got, g.log)
	}
	exec(`DROP TRIGGER no_room ON messages`)
	var out importJSON
	must(t, json.Unmarshal([]byte(w.mustRun("import", "telegram", file, "--user", user, "--json")), &out))
	if out.Result.Imported != importMessages-5000 || out.Result.Known != 5000 {
		t.Errorf("with room again: %+v", out)
	}
}

// A restore into a server whose disk is full changes nothing, and is begun again.
func TestARestoreWhileTheServerIsFull(t *testing.T) {
	t.Parallel()
	w := newTown(t, newSchema(t))
	g := w.start()
	said := w.aLife(g)
	file := w.backUp(t.TempDir())
	g.stop()
	there := w.elsewhere(newSchema(t))
	disk := there.ledger()
	crowd(t, disk)
	_, err := there.run("restore", file)
	refused(t, err, "the disk of the database server is full; make room there, and try again")
	if got := listed(t, there.dir); slices.Contains(got, "restore.unfinished") || len(there.kept()) != 0 {
		t.Errorf("it left %v", got)
	}
	there.fails("restore was not finished", "serve")
	_, err = disk.db.Exec(`CREATE OR REPLACE FUNCTION room(n bigint) RETURNS boolean LANGUAGE sql AS 'SELECT true'`)
	must(t, err)
	there.mustRun("restore", file)
	there.goesOn(t, w, said, 0)
}

// crowd has the server of a schema run out of room at its second message.
func crowd(t *testing.T, disk *ledger) {
	t.Helper()
	schema := disk.lines(`SELECT current_schema()`)[0]
	_, err := disk.db.Exec(`CREATE FUNCTION room(n bigint) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
		IF n > 1 THEN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END IF;
		RETURN true; END $$`)
	must(t, err)
	_, err = disk.db.Exec(fmt.Sprintf(`CREATE FUNCTION crowded() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
		IF EXISTS (SELECT 1 FROM pg_event_trigger_ddl_commands() WHERE object_identity = '%[1]s.messages') THEN
			ALTER TABLE %[1]s.messages ADD CONSTRAINT crowded CHECK (%[1]s.room(id));
		END IF; END $$`, schema))
	must(t, err)
	_, err = disk.db.Exec(fmt.Sprintf(`CREATE EVENT TRIGGER crowded_%[1]s ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION %[1]s.crowded()`, schema))
	must(t, err)
	t.Cleanup(func() {
		_, err := disk.db.Exec(`DROP EVENT TRIGGER IF EXISTS crowded_` + schema)
		must(t, err)
	})
}

// An export that is killed has no file, and the next one clears it away.
func TestAnExportThatIsKilled(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newTown(t, database(t))
		g := w.start()
		w.aLife(g)
		user, dir := w.member(), t.TempDir()
		file := filepath.Join(dir, "all.zip")
		for range 2 {
			w.crashes("export written", "export", "--user", user, "--out", file)
			if got := listed(t, dir); len(got) != 1 || !strings.HasSuffix(got[0], ".partial") {
				t.Errorf("it left %v", got)
			}
		}
		w.mustRun("export", "--user", user, "--out", file)
		if got := listed(t, dir); !slices.Equal(got, []string{"all.zip"}) {
			t.Errorf("there are %v", got)
		}
		said, _ := exported(t, file)
		w.fails("is there already", "export", "--user", user, "--out", file)
		if again, _ := exported(t, file); len(said) < 4 || !slices.Equal(said, again) {
			t.Errorf("the export has %d lines, then %d", len(said), len(again))
		}
	})
}

// What no database takes for text comes in as far as it is text.
func TestOddTextsAreImported(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newTown(t, database(t))
		w.start().stop()
		dir := t.TempDir()
		must(t, os.Mkdir(filepath.Join(dir, "threads"), 0o700))
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
			must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		for _, want := range []string{"3 messages became", "0 messages became"} {
			if out := w.mustRun("import", "jsonl", dir); !strings.Contains(out, want) {
				t.Errorf("got %s, want %q", out, want)
			}
		}
		file := filepath.Join(t.TempDir(), "all.zip")
		w.mustRun("export", "--out", file)
		said, lines := exported(t, file)
		if !slices.Contains(said, "2024-01-01 user chat a\ufffdb") || !slices.Contains(said, "2024-01-01 assistant chat half \ufffd here \ufffd") || lines["memory.jsonl"] != 1 || lines["loops.jsonl"] != 1 {
			t.Errorf("got %q, %v", said, lines)
		}
	})
}

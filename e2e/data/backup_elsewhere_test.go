//go:build e2e

package data

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/everthread/everthread/core/archive/backup/place/placetest"
	"github.com/everthread/everthread/e2e/e2etest"
)

// storedBackup is a backup as `everthread backup list` shows it.
type storedBackup struct {
	Place, Name string
	Size        int64
	Encrypted   bool
}

// storedIn returns the backups in a place.
func storedIn(t *testing.T, w *e2etest.Town, place string) (out []storedBackup) {
	t.Helper()
	e2etest.Must(t, json.Unmarshal([]byte(w.MustRun("backup", "list", "--json")), &out))
	return slices.DeleteFunc(out, func(s storedBackup) bool { return s.Place != place })
}

// A backup goes to another place encrypted, is tried there, and brings everything back on a new machine that has nothing
// but the configuration. A process that is killed while it sends leaves nothing that is taken for a backup.
func TestBackup_elsewhereAndBack(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		for _, kind := range []string{"folder", "bucket", "webdav"} {
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				var address string
				switch kind {
				case "folder":
					address = placetest.Folder(t)
				case "bucket":
					address = placetest.Bucket(t).Address
				default:
					address = placetest.WebDAV(t, t.TempDir()).Address
				}
				w := e2etest.NewTown(t, database(t))
				w.Env = append(w.Env, "EVERTHREAD_BACKUP_TO="+address, "EVERTHREAD_BACKUP_USER="+placetest.User,
					"EVERTHREAD_BACKUP_PASSWORD="+placetest.Password, "EVERTHREAD_BACKUP_PASSPHRASE=correct horse battery",
					"EVERTHREAD_BACKUP_KEEP=1")
				g := w.Start()
				said := w.ALife(g)
				g.Stop()
				w.MustRun("backup")
				old := storedIn(t, w, address)
				for _, step := range []string{"backup sending", "backup sending"} { // the second clears away what the first left
					w.Crashes(step, "backup")
				}
				if got := storedIn(t, w, address); len(got) != 1 || !slices.Equal(got, old) {
					t.Errorf("after a kill it has %v, before %v", got, old)
				}
				if out := w.MustRun("backup"); !strings.Contains(out, "It is in "+address+", too, encrypted, as ") {
					t.Errorf("it says %s", out)
				}
				got := storedIn(t, w, address)
				if len(got) != 1 || got[0].Name == old[0].Name || !got[0].Encrypted {
					t.Fatalf("it has %v", got)
				}
				if out := w.MustRun("backup", "drill"); !strings.Contains(out, got[0].Name) ||
					!strings.Contains(out, "as many as when the backup was made (4 messages, 1 attachment)") {
					t.Errorf("the drill says %s", out)
				}
				if left, _ := filepath.Glob(filepath.Join(w.Dir, "backups", ".everthread-backup-drill*")); len(left) > 0 {
					t.Errorf("the drill leaves %v", left)
				}
				there := w.Empty()
				there.Env = append(there.Env, "EVERTHREAD_BACKUP_PASSPHRASE=correct horse staple!")
				there.Fails("encrypted for another key", "restore")
				there.Env = append(there.Env, "EVERTHREAD_BACKUP_PASSPHRASE=correct horse battery")
				none, foreign := "there is no everthread-20200101-000000.tar.zst", "this is not the address in backup.to"
				if kind == "folder" {
					none, foreign = "no such file", "no such file"
				}
				there.Fails(none, "restore", address+"/everthread-20200101-000000.tar.zst")
				there.Fails(foreign, "restore", address+"2")
				there.MustRun("restore", address)
				there.Env = append(there.Env, "EVERTHREAD_BACKUP_TO=", "EVERTHREAD_BACKUP_USER=", "EVERTHREAD_BACKUP_PASSWORD=",
					"EVERTHREAD_BACKUP_PASSPHRASE=")
				there.GoesOn(t, w, said, 0)
			})
		}
	})
}

// The gateway puts its backups elsewhere by itself. If it cannot, its owner hears of it once, and the doctor says why.
func TestBackup_elsewhereByItself(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	nas := filepath.Join(t.TempDir(), "nas")
	w.Env = append(w.Env, "EVERTHREAD_BACKUP_CRON=15 3 * * *", "EVERTHREAD_BACKUP_TO="+nas)
	g := w.Start()
	w.ALife(g)
	l := w.Ledger()
	l.Until(`SELECT COUNT(*) FROM messages m JOIN users u ON u.id = m.user_id WHERE u.role = 'owner' AND m.kind = 'notice'
		AND m.body LIKE '%can''t be put elsewhere%connect its disk%'`, 1, g)
	w.WantDoctor("backups elsewhere", "PROBLEM list the backups in "+nas+": there is no folder "+nas+": connect its disk, or make it")
	g.Stop()
	e2etest.Must(t, os.Mkdir(nas, 0o700))
	g = w.Start()
	g.Logged(`WARN.*backup put elsewhere.*"encrypted": false`)
	w.WantDoctor("backups elsewhere", "ok the newest in "+nas+" is from ")
	w.WantDoctor("backups elsewhere", "unencrypted: anyone who can read that folder can read everything")
	if there := backups(t, nas); len(there) != 1 || !slices.Equal(there, backups(t, filepath.Join(w.Dir, "backups"))) {
		t.Errorf("it has %v", there)
	}
	l.Until(`SELECT COUNT(*) FROM messages WHERE kind = 'notice' AND body LIKE '%can''t be put elsewhere%'`, 1, g)
}

// A backup by schedule, encrypted for a key that the machine does not have, brings the conversation back on another one.
func TestBackup_onScheduleAndBack(t *testing.T) {
	t.Parallel()
	key, err := age.GenerateX25519Identity()
	e2etest.Must(t, err)
	file := filepath.Join(t.TempDir(), "everthread.key")
	e2etest.Must(t, os.WriteFile(file, []byte(key.String()+"\n"), 0o600))
	for kind, address := range map[string]string{"folder": placetest.Folder(t), "bucket": placetest.Bucket(t).Address,
		"webdav": placetest.WebDAV(t, t.TempDir()).Address} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := e2etest.NewClock(t, "")
			w.Set(time.Now()) // a bucket refuses a clock that is a quarter of an hour off
			due := w.Now().UTC().Add(5 * time.Minute).Truncate(time.Minute)
			w.Env = append(w.Env, "EVERTHREAD_BACKUP_CRON="+due.Format("4 15 * * *"), "EVERTHREAD_BACKUP_TO="+address,
				"EVERTHREAD_BACKUP_USER="+placetest.User, "EVERTHREAD_BACKUP_PASSWORD="+placetest.Password,
				"EVERTHREAD_BACKUP_ENCRYPT_TO="+key.Recipient().String())
			g := w.Start()
			g.Logged(`backup put elsewhere`) // the first is made at once
			said := w.ALife(g)
			first := storedIn(t, w.Town, address)
			w.Set(due.Add(time.Second))
			var all []storedBackup
			for deadline := time.Now().Add(e2etest.Patience); len(all) < 2; time.Sleep(100 * time.Millisecond) {
				if all = storedIn(t, w.Town, address); time.Now().After(deadline) {
					t.Fatalf("it has %v\n%s", all, g.Log)
				}
			}
			g.Stop()
			if newest := slices.MaxFunc(all, func(a, b storedBackup) int { return strings.Compare(a.Name, b.Name) }); len(first) != 1 ||
				newest.Name < due.Format("everthread-20060102-150405") || !newest.Encrypted {
				t.Errorf("it has %v, first %v", all, first)
			}
			there := w.Empty()
			there.Fails("give the file of its secret key with --identity", "restore")
			there.MustRun("restore", "--identity", file)
			there.GoesOn(t, w.Town, said, 0)
		})
	}
}

//go:build e2e

package road

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// readable lists the files below a folder that others than their owner may read.
func readable(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	e2etest.Must(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			out = append(out, info.Mode().String()+" "+strings.TrimPrefix(name, dir+"/"))
		}
		return err
	}))
	return out
}

// TestAttack_nobodyElseReadsTheData checks that others can read nothing that the gateway writes,
// even in a world-readable folder and with the most permissive umask.
func TestAttack_nobodyElseReadsTheData(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	e2etest.Must(t, os.Chmod(w.Dir, 0o755))
	generous := filepath.Join(t.TempDir(), "everthread")
	e2etest.Must(t, os.WriteFile(generous, []byte("#!/bin/sh\numask 000\nexec "+w.Program+" \"$@\"\n"), 0o755))
	w.Program = generous
	g := w.Start()
	w.Telegram.Say(e2etest.Ada, "my secret")
	w.Sent(e2etest.Ada, 1)
	w.Telegram.AddFile("boat", "photos/boat", e2etest.Picture)
	w.Telegram.Write(e2etest.Ada, map[string]any{"photo": e2etest.Photo("boat")})
	w.Sent(e2etest.Ada, 2)
	w.MustRun("backup")
	w.MustRun("search", "secret")
	if bad := readable(t, w.Dir); bad != nil {
		t.Errorf("others can read %q", bad)
	}
	g.Kill() // with its write-ahead log
	for _, name := range []string{"everthread.db", "everthread.db-wal"} {
		e2etest.Must(t, os.Chmod(filepath.Join(w.Dir, name), 0o644)) // as an earlier version left it
	}
	w.Start()
	if bad := readable(t, w.Dir); bad != nil {
		t.Errorf("others can still read %q", bad)
	}
	there := w.Elsewhere("")
	e2etest.Must(t, os.Chmod(there.Dir, 0o755))
	files, err := filepath.Glob(filepath.Join(w.Dir, "backups", "*"))
	e2etest.Must(t, err)
	there.MustRun("restore", files[0])
	there.MustRun("days", "list")
	if bad := readable(t, there.Dir); bad != nil {
		t.Errorf("after a restore others can read %q", bad)
	}
	chat := exec.Command(generous, "chat")
	chat.Dir, chat.Env, chat.Stdin = there.Dir, append(os.Environ(), there.Env...), strings.NewReader("hi\n")
	if out, err := chat.CombinedOutput(); err != nil {
		t.Errorf("chat: %v\n%s", err, out)
	}
	if bad := readable(t, there.Dir); bad != nil {
		t.Errorf("after chatting others can read %q", bad)
	}
}

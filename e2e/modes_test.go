//go:build e2e

package e2e

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// readable lists the files below a folder that others than their owner may read.
func readable(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	must(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
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

// TestAttackNobodyElseReadsTheData: in a folder that everybody may look into, under the most
// generous umask, nothing that the gateway writes can be read by others.
func TestAttackNobodyElseReadsTheData(t *testing.T) {
	t.Parallel()
	w := newTown(t, "")
	must(t, os.Chmod(w.dir, 0o755))
	generous := filepath.Join(t.TempDir(), "everthread")
	must(t, os.WriteFile(generous, []byte("#!/bin/sh\numask 000\nexec "+w.program+" \"$@\"\n"), 0o755))
	w.program = generous
	g := w.start()
	w.telegram.Say(ada, "my secret")
	w.sent(ada, 1)
	w.telegram.AddFile("boat", "photos/boat", picture)
	w.telegram.Write(ada, map[string]any{"photo": photo("boat")})
	w.sent(ada, 2)
	w.mustRun("backup")
	w.mustRun("search", "secret")
	if bad := readable(t, w.dir); bad != nil {
		t.Errorf("others can read %q", bad)
	}
	g.kill() // with its write-ahead log
	for _, name := range []string{"everthread.db", "everthread.db-wal"} {
		must(t, os.Chmod(filepath.Join(w.dir, name), 0o644)) // as an earlier version left it
	}
	w.start()
	if bad := readable(t, w.dir); bad != nil {
		t.Errorf("others can still read %q", bad)
	}
	there := w.elsewhere("")
	must(t, os.Chmod(there.dir, 0o755))
	files, err := filepath.Glob(filepath.Join(w.dir, "backups", "*"))
	must(t, err)
	there.mustRun("restore", files[0])
	there.mustRun("days", "list")
	if bad := readable(t, there.dir); bad != nil {
		t.Errorf("after a restore others can read %q", bad)
	}
	chat := exec.Command(generous, "chat")
	chat.Dir, chat.Env, chat.Stdin = there.dir, append(os.Environ(), there.env...), strings.NewReader("hi\n")
	if out, err := chat.CombinedOutput(); err != nil {
		t.Errorf("chat: %v\n%s", err, out)
	}
	if bad := readable(t, there.dir); bad != nil {
		t.Errorf("after chatting others can read %q", bad)
	}
}

//go:build e2e

package e2etest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// Member returns the id of the newest user.
func (w *Town) Member() string {
	w.T.Helper()
	var users []struct {
		ID   int64  `json:"id"`
		Role string `json:"role"`
	}
	Must(w.T, json.Unmarshal([]byte(w.MustRun("users", "list", "--json")), &users))
	for _, u := range users {
		if u.Role != "owner" {
			return fmt.Sprint(u.ID)
		}
	}
	w.T.Fatalf("nobody was let in: %v", users)
	return ""
}

// KillImport starts an import and kills it when part of it is stored.
func (w *Town) KillImport(l *Ledger, file, user string) {
	w.T.Helper()
	const old = `SELECT COUNT(*) FROM messages WHERE body LIKE 'old message%'`
	before := l.Count(old)
	cmd := exec.Command(Program, "import", "telegram", file, "--user", user)
	cmd.Dir = w.Dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.Dir}, w.Env...)
	Must(w.T, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			var exit *exec.ExitError
			if err != nil && (!errors.As(err, &exit) || exit.ExitCode() > 0) {
				w.T.Fatalf("import: %v", err)
			}
			return
		case <-time.After(20 * time.Millisecond):
			if l.Count(old) > before {
				_ = cmd.Process.Kill()
			}
		}
	}
}

// Summarized waits until an imported day has its summary.
func (w *Town) Summarized(user, label string) {
	w.T.Helper()
	var d DayJSON
	for deadline := time.Now().Add(100 * time.Second); time.Now().Before(deadline); time.Sleep(500 * time.Millisecond) {
		Must(w.T, json.Unmarshal([]byte(w.MustRun("days", "show", label, "--user", user, "--json")), &d))
		if d.Version > 0 {
			return
		}
	}
	w.T.Errorf("day %s has no summary: %+v", label, d)
}

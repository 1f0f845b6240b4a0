//go:build e2e

package e2etest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// stored is a stored attachment.
type stored struct {
	Kind, Name, MIME, Path, Error, Transcript string
	Size                                      int64
}

// StoredOf returns the attachments of a user's messages with a role, in order.
func (l *Ledger) StoredOf(external, role string) []stored {
	l.t.Helper()
	var out []stored
	for _, extra := range l.Lines(`SELECT extra FROM messages WHERE user_id`+OfChat+` AND role = $2 ORDER BY id`, external,
		role) {
		var e struct{ Files []stored }
		Must(l.t, json.Unmarshal([]byte(extra), &e))
		out = append(out, e.Files...)
	}
	return out
}

// UserOf returns the user of an address.
func (l *Ledger) UserOf(external string) string {
	l.t.Helper()
	return fmt.Sprint(l.Count(`SELECT user_id FROM identities WHERE external = $1`, external))
}

// Journal returns the model's requests so far.
func (w *Town) Journal() string {
	w.T.Helper()
	resp, err := http.Get(w.Model + "/__aimock/journal")
	Must(w.T, err)
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	Must(w.T, err)
	return string(out)
}

// Drawn are the names of the files of the tool draw.
const Drawn = "plan.txt"

// Chat sends lines of the owner in the terminal until an answer matches, and returns the
// output. The tools of a server appear a moment after the start.
func (w *Town) Chat(line, answer string) string {
	w.T.Helper()
	cmd := exec.Command(Program, "chat")
	cmd.Dir, cmd.Env = w.Dir, append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.Dir}, w.Env...)
	var out logBuffer
	cmd.Stdout, cmd.Stderr = &out, &out
	in, err := cmd.StdinPipe()
	Must(w.T, err)
	Must(w.T, cmd.Start())
	deadline := time.Now().Add(20 * time.Second)
	for n := 1; !strings.Contains(out.String(), answer); n++ {
		_, err := io.WriteString(in, line+"\n")
		Must(w.T, err)
		for strings.Count(out.String(), "tool said") < n {
			if time.Now().After(deadline) {
				_ = cmd.Process.Kill()
				w.T.Fatalf("the terminal does not show %q\n%s", answer, &out)
			}
			time.Sleep(20 * time.Millisecond) // a process has no event to wait for
		}
	}
	Must(w.T, errors.Join(in.Close(), cmd.Wait()))
	return out.String()
}

// ArrivedOnce checks that Ada received a text, a picture and a file, each at most once
// except for marked repeats.
func (w *Week) ArrivedOnce(t *testing.T, g *Gateway) {
	t.Helper()
	var got []string
	for _, m := range w.Town.Sent(Ada, 3) {
		kind := "text"
		if m.File != nil {
			kind = m.File.Kind
		}
		if kind == "photo" && string(m.File.Data) != string(Picture) || kind == "document" &&
			string(m.File.Data) != "plan of tables" {
			t.Errorf("got %+v", m.File)
		}
		if !strings.HasSuffix(m.Text, strings.TrimSpace(RepeatMark)) {
			got = append(got, kind)
		} else if len(got) == 0 || got[len(got)-1] != kind {
			got = append(got, kind) // the only one that arrived
		}
	}
	if !slices.Equal(got, []string{"text", "photo", "document"}) {
		t.Errorf("got %v\n%s", got, g.Log)
	}
}

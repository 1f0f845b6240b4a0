//go:build e2e

package e2etest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
)

// Scene is a part of the written conversation: its start, and its messages and answers.
type Scene struct {
	at    time.Time
	Pairs [][2]string
}

// ReadScenes reads testdata/three-days.txt, in the zone of the person.
func ReadScenes(t *testing.T, zone *time.Location) []Scene {
	t.Helper()
	f, err := os.Open("../e2etest/testdata/three-days.txt")
	Must(t, err)
	defer f.Close()
	var out []Scene
	for lines := bufio.NewScanner(f); lines.Scan(); {
		kind, text, _ := strings.Cut(lines.Text(), " ")
		switch kind {
		case "@":
			at, err := time.ParseInLocation("2006-01-02 15:04", text, zone)
			Must(t, err)
			out = append(out, Scene{at: at})
		case ">":
			last := &out[len(out)-1]
			last.Pairs = append(last.Pairs, [2]string{text})
		case "<":
			last := &out[len(out)-1]
			last.Pairs[len(last.Pairs)-1][1] = text
		}
	}
	return out
}

// Week is a town whose clock the test moves.
type Week struct {
	*Town
	Clock string
	Zone  *time.Location
	begin time.Time // real time at which it was set
	At    time.Time
	Sent  int // parts that Ada received
	Next  int64
}

// Set moves the clock.
func (w *Week) Set(at time.Time) {
	w.begin, w.At = time.Now(), at
	offset := at.Sub(w.begin).Milliseconds()
	tmp := w.Clock + ".new"
	Must(w.T, os.WriteFile(tmp, []byte(fmt.Sprint(offset)), 0o600))
	Must(w.T, os.Rename(tmp, w.Clock))
}

func (w *Week) Now() time.Time { return w.At.Add(time.Since(w.begin)) }

// Ask sends a text of Ada and returns the answer.
func (w *Week) Ask(text string) telegramtest.Message {
	w.T.Helper()
	w.Next++
	w.Telegram.Offer(map[string]any{"message": map[string]any{
		"message_id": w.Next, "date": w.Now().Unix(), "text": text, "chat": map[string]any{"id": Ada, "type": "private"},
		"from": map[string]any{"id": Ada, "is_bot": false, "first_name": "Ada", "language_code": "en"},
	}})
	return w.Receive()
}

// Receive waits for the next message to Ada.
func (w *Week) Receive() telegramtest.Message {
	w.T.Helper()
	w.Sent++
	return w.Town.Sent(Ada, w.Sent)[w.Sent-1]
}

// Until waits until a day's segment has the expected state.
func (w *Week) Until(label string, ok func(day DayJSON) bool) DayJSON {
	w.T.Helper()
	var d DayJSON
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if out, err := w.Run("days", "show", label, "--user", "Ada", "--json"); err == nil {
			Must(w.T, json.Unmarshal([]byte(out), &d))
			if ok(d) {
				return d
			}
		}
	}
	w.T.Fatalf("day %s is %+v", label, d)
	return d
}

type DayJSON struct {
	State    string `json:"state"`
	Messages int    `json:"messages"`
	Version  int    `json:"summary_version"`
	Post     string `json:"post"`
	Summary  string `json:"summary"`
}

func NewWeek(t *testing.T, database string, zone *time.Location, scenes []Scene) *Week {
	t.Helper()
	script := map[string]string{}
	for _, s := range scenes {
		for _, p := range s.Pairs {
			script[p[0]] = p[1]
		}
	}
	b, err := json.Marshal(script)
	Must(t, err)
	path := filepath.Join(t.TempDir(), "script.json")
	Must(t, os.WriteFile(path, b, 0o600))
	w := &Week{Town: NewTown(t, database), Zone: zone, Next: 1000}
	w.UseModel(StartModel(t, 0, "EVERTHREAD_TEST_SCRIPT="+path))
	w.Clock = filepath.Join(t.TempDir(), "clock")
	w.Env = append(w.Env, "EVERTHREAD_TEST_CLOCK="+w.Clock)
	w.Set(scenes[0].at.Add(-time.Minute))
	return w
}

// Talk sends the scenes of a local day, each with its written answer.
func (w *Week) Talk(scenes []Scene, label string) {
	w.T.Helper()
	for _, s := range scenes {
		if s.at.Format(time.DateOnly) != label {
			continue
		}
		w.Set(s.at)
		for _, p := range s.Pairs {
			if got := w.Ask(p[0]).Text; got != p[1] {
				w.T.Fatalf("%q was answered %q, want %q", p[0], got, p[1])
			}
		}
	}
}

// Morning moves the clock past eight and receives the post.
func (w *Week) Morning(t *testing.T, day int) {
	t.Helper()
	w.Set(time.Date(2026, 10, day, 8, 0, 30, 0, w.Zone))
	post := w.Receive()
	if !post.Quiet || !strings.HasPrefix(post.Text, "Summary: ") || strings.Contains(post.Text, "[#") {
		t.Errorf("the post of the %dth: %+v", day, post)
	}
	folded := false
	for _, e := range post.Entities {
		folded = folded || e.Type == "expandable_blockquote"
	}
	if !folded {
		t.Errorf("the post is not folded: %+v", post.Entities)
	}
	w.Keep(t, fmt.Sprintf("post-%d.txt", day), post.Text)
}

// Days compares the three days with the written ones.
func (w *Week) Days(t *testing.T, days ...DayJSON) {
	t.Helper()
	for i, d := range days {
		label := fmt.Sprintf("2026-10-%d", 24+i)
		written := 0
		for _, s := range ReadScenes(t, w.Zone) {
			if s.at.Format(time.DateOnly) == label {
				written += 2 * len(s.Pairs)
			}
		}
		if d.Messages != written || d.Version == 0 || !strings.HasPrefix(d.Summary, "## Summary\n") ||
			!strings.Contains(d.Summary, "[#") {
			t.Errorf("%s: %d messages written, got %+v", label, written, d)
		}
		w.Keep(t, "summary-"+label+".md", d.Summary)
	}
}

// KeepPrompt stores the exact prompt of the last turn, and checks it against the cap.
func (w *Week) KeepPrompt(t *testing.T) {
	t.Helper()
	var turns []struct {
		ID int64 `json:"turn_id"`
	}
	Must(t, json.Unmarshal([]byte(w.MustRun("turns", "list", "--user", "Ada", "--json")), &turns))
	id := fmt.Sprint(turns[0].ID)
	var shown struct {
		Context struct {
			Total, Cap int
			TotalT     int  `json:"total_tokens"`
			CapT       int  `json:"cap_tokens"`
			Dropped    int  `json:"messages_dropped_uncovered"`
			Last       bool `json:"last_conversation_present"`
		} `json:"context"`
	}
	Must(t, json.Unmarshal([]byte(w.MustRun("turns", "show", id, "--user", "Ada", "--json")), &shown))
	if c := shown.Context; c.TotalT == 0 || c.TotalT > c.CapT || c.Dropped != 0 || !c.Last {
		t.Errorf("the last turn's context: %+v", c)
	}
	w.Keep(t, "prompt.txt", w.MustRun("turns", "show", id, "--user", "Ada", "--prompt"))
}

// Keep stores an artefact of the run for inspection.
func (w *Week) Keep(t *testing.T, name, text string) {
	t.Helper()
	dir := filepath.Join("artefacts", filepath.Base(t.Name()))
	Must(t, os.MkdirAll(dir, 0o755))
	Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
}

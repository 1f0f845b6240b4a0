//go:build e2e

package e2e

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

// scene is one stretch of the written conversation: when it begins, and what is
// said and answered.
type scene struct {
	at    time.Time
	pairs [][2]string
}

// readScenes reads testdata/three-days.txt, in the zone of the person.
func readScenes(t *testing.T, zone *time.Location) []scene {
	t.Helper()
	f, err := os.Open("testdata/three-days.txt")
	must(t, err)
	defer f.Close()
	var out []scene
	for lines := bufio.NewScanner(f); lines.Scan(); {
		kind, text, _ := strings.Cut(lines.Text(), " ")
		switch kind {
		case "@":
			at, err := time.ParseInLocation("2006-01-02 15:04", text, zone)
			must(t, err)
			out = append(out, scene{at: at})
		case ">":
			last := &out[len(out)-1]
			last.pairs = append(last.pairs, [2]string{text})
		case "<":
			last := &out[len(out)-1]
			last.pairs[len(last.pairs)-1][1] = text
		}
	}
	return out
}

// week is a town whose clock the test moves.
type week struct {
	*town
	clock string
	zone  *time.Location
	begin time.Time // of the real clock, when it was set
	at    time.Time
	sent  int // parts that Ada has got
	next  int64
}

// set moves the clock.
func (w *week) set(at time.Time) {
	w.begin, w.at = time.Now(), at
	offset := at.Sub(w.begin).Milliseconds()
	tmp := w.clock + ".new"
	must(w.t, os.WriteFile(tmp, []byte(fmt.Sprint(offset)), 0o600))
	must(w.t, os.Rename(tmp, w.clock))
}

func (w *week) now() time.Time { return w.at.Add(time.Since(w.begin)) }

// ask has Ada write a text and returns the answer.
func (w *week) ask(text string) telegramtest.Message {
	w.t.Helper()
	w.next++
	w.telegram.Offer(map[string]any{"message": map[string]any{
		"message_id": w.next, "date": w.now().Unix(), "text": text, "chat": map[string]any{"id": ada, "type": "private"},
		"from": map[string]any{"id": ada, "is_bot": false, "first_name": "Ada", "language_code": "en"},
	}})
	return w.receive()
}

// receive waits for the next message to Ada.
func (w *week) receive() telegramtest.Message {
	w.t.Helper()
	w.sent++
	return w.town.sent(ada, w.sent)[w.sent-1]
}

// until waits until a day's segment is what it should be.
func (w *week) until(label string, ok func(day dayJSON) bool) dayJSON {
	w.t.Helper()
	var d dayJSON
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if out, err := w.run("days", "show", label, "--user", "Ada", "--json"); err == nil {
			must(w.t, json.Unmarshal([]byte(out), &d))
			if ok(d) {
				return d
			}
		}
	}
	w.t.Fatalf("day %s is %+v", label, d)
	return d
}

type dayJSON struct {
	State    string `json:"state"`
	Messages int    `json:"messages"`
	Version  int    `json:"summary_version"`
	Post     string `json:"post"`
	Summary  string `json:"summary"`
}

// The main job, whole: three days in two languages, two midnights, the end of
// daylight saving time and a restart, on both stores.
func TestAConversationOfThreeDays(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		zone, err := time.LoadLocation("Europe/Paris")
		must(t, err)
		scenes := readScenes(t, zone)
		w := newWeek(t, database(t), zone, scenes)
		g := w.start()
		if got := w.ask("/timezone Europe/Paris").Text; !strings.Contains(got, "Paris") {
			t.Fatalf("got %q", got)
		}
		w.talk(scenes, "2026-10-24")
		w.set(time.Date(2026, 10, 25, 3, 5, 0, 0, zone))
		first := w.until("2026-10-24", func(d dayJSON) bool { return d.State == "final" })
		w.morning(t, 25)
		w.talk(scenes[:8], "2026-10-25")
		g.stop()
		w.start()
		w.talk(scenes[8:], "2026-10-25")
		w.set(time.Date(2026, 10, 26, 3, 5, 0, 0, zone))
		second := w.until("2026-10-25", func(d dayJSON) bool { return d.State == "final" })
		w.morning(t, 26)
		w.talk(scenes, "2026-10-26")
		w.keepPrompt(t)
		w.set(time.Date(2026, 10, 27, 3, 5, 0, 0, zone))
		third := w.until("2026-10-26", func(d dayJSON) bool { return d.State == "final" })
		w.morning(t, 27)
		w.days(t, first, second, third)
	})
}

func newWeek(t *testing.T, database string, zone *time.Location, scenes []scene) *week {
	t.Helper()
	script := map[string]string{}
	for _, s := range scenes {
		for _, p := range s.pairs {
			script[p[0]] = p[1]
		}
	}
	b, err := json.Marshal(script)
	must(t, err)
	path := filepath.Join(t.TempDir(), "script.json")
	must(t, os.WriteFile(path, b, 0o600))
	w := &week{town: newTown(t, database), zone: zone, next: 1000}
	w.useModel(startModel(t, 0, "EVERTHREAD_TEST_SCRIPT="+path))
	w.clock = filepath.Join(t.TempDir(), "clock")
	w.env = append(w.env, "EVERTHREAD_TEST_CLOCK="+w.clock)
	w.set(scenes[0].at.Add(-time.Minute))
	return w
}

// talk has the scenes of a local day said, each answer as written.
func (w *week) talk(scenes []scene, label string) {
	w.t.Helper()
	for _, s := range scenes {
		if s.at.Format(time.DateOnly) != label {
			continue
		}
		w.set(s.at)
		for _, p := range s.pairs {
			if got := w.ask(p[0]).Text; got != p[1] {
				w.t.Fatalf("%q was answered %q, want %q", p[0], got, p[1])
			}
		}
	}
}

// morning moves the clock past eight and takes the post.
func (w *week) morning(t *testing.T, day int) {
	t.Helper()
	w.set(time.Date(2026, 10, day, 8, 0, 30, 0, w.zone))
	post := w.receive()
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
	w.keep(t, fmt.Sprintf("post-%d.txt", day), post.Text)
}

// days holds the three days against what was written.
func (w *week) days(t *testing.T, days ...dayJSON) {
	t.Helper()
	for i, d := range days {
		label := fmt.Sprintf("2026-10-%d", 24+i)
		written := 0
		for _, s := range readScenes(t, w.zone) {
			if s.at.Format(time.DateOnly) == label {
				written += 2 * len(s.pairs)
			}
		}
		if d.Messages != written || d.Version == 0 || !strings.HasPrefix(d.Summary, "## Summary\n") || !strings.Contains(d.Summary, "[#") {
			t.Errorf("%s: %d messages written, got %+v", label, written, d)
		}
		w.keep(t, "summary-"+label+".md", d.Summary)
	}
}

// keepPrompt keeps the exact prompt of the last turn, and holds it against the cap.
func (w *week) keepPrompt(t *testing.T) {
	t.Helper()
	var turns []struct {
		ID int64 `json:"turn_id"`
	}
	must(t, json.Unmarshal([]byte(w.mustRun("turns", "list", "--user", "Ada", "--json")), &turns))
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
	must(t, json.Unmarshal([]byte(w.mustRun("turns", "show", id, "--user", "Ada", "--json")), &shown))
	if c := shown.Context; c.TotalT == 0 || c.TotalT > c.CapT || c.Dropped != 0 || !c.Last {
		t.Errorf("the last turn's context: %+v", c)
	}
	w.keep(t, "prompt.txt", w.mustRun("turns", "show", id, "--user", "Ada", "--prompt"))
}

// keep keeps an artefact of the run for people to look at.
func (w *week) keep(t *testing.T, name, text string) {
	t.Helper()
	dir := filepath.Join("artefacts", filepath.Base(t.Name()))
	must(t, os.MkdirAll(dir, 0o755))
	must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
}

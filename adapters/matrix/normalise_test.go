package matrix

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/everthread/everthread/core"
)

var update = flag.Bool("update", false, "write the golden files again")

// recording is a recorded room: its earlier state and its events.
type recording struct {
	Self   string            `json:"self"`
	State  []json.RawMessage `json:"state"`
	Events []json.RawMessage `json:"events"`
}

func (rec recording) household() household {
	_, server, _ := strings.Cut(rec.Self, ":")
	b := Bridge{Network: "signal", Bot: "@signalbot:" + server, Prefix: "!signal", Ghosts: "signal_"}
	return household{self: rec.Self, bridges: []Bridge{b}}
}

// replay normalises the events of a recording in order.
func (rec recording) replay(now time.Time) []core.Inbound {
	h := rec.household()
	r := room{id: "!room:hs.test", members: map[string]member{}, portals: map[string]portal{}}
	for _, e := range readEvents(rec.State) {
		r = r.apply(h, e)
	}
	known := map[string]seen{}
	out := []core.Inbound{}
	for _, e := range readEvents(rec.Events) {
		s := scene{home: h, room: r, now: now, known: func(id string) (seen, bool) { k, ok := known[id]; return k, ok }}
		if in, ok := gone(s, e); ok {
			out = append(out, in)
		}
		if e.StateKey != nil {
			r = r.apply(h, e)
			s.room = r
		}
		if k, ok := seenOf(h, e); ok {
			known[e.ID] = k
		}
		if in, ok := normalise(s, e); ok {
			out = append(out, in)
		}
	}
	return out
}

func TestNormalise_golden(t *testing.T) {
	t.Parallel()
	inputs, err := filepath.Glob("testdata/*.in.json")
	must(t, err)
	if len(inputs) == 0 {
		t.Fatalf("empty")
	}
	for _, path := range inputs {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(path)
			must(t, err)
			var rec recording
			must(t, json.Unmarshal(raw, &rec))
			got := rec.replay(time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC))
			for i := range got {
				if len(got[i].Raw) == 0 {
					t.Fatalf("empty")
				}
				got[i].Raw = nil
			}
			out, err := json.MarshalIndent(got, "", " ")
			must(t, err)
			golden := strings.Replace(path, ".in.json", ".out.json", 1)
			if *update {
				must(t, os.WriteFile(golden, append(out, '\n'), 0o644))
			}
			want, err := os.ReadFile(golden)
			must(t, err)
			if diff := cmp.Diff(strings.TrimSpace(string(want)), string(out)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestNormalise_capturedTraffic processes whole sync responses of a real homeserver and bridge: only
// people may speak, each under the address of their chat.
func TestNormalise_capturedTraffic(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob("../../../shared/captures/*-sync.json")
	if len(files) == 0 {
		t.Skip("there is no ../shared/captures")
	}
	for _, path := range files {
		raw, err := os.ReadFile(path)
		must(t, err)
		var resp syncResponse
		must(t, json.Unmarshal(raw, &resp))
		for id, j := range resp.Rooms.Join {
			rec := recording{Self: "@gatewaybot:hs.test", State: j.State.Events, Events: j.Timeline.Events}
			for _, in := range rec.replay(time.Now()) {
				if in.Group != nil {
					continue // it is of nobody's direct chat
				}
				same(t, in.Address.Channel, "signal", "%s %s", path, id)
				if got := in.Address.External; len(got) != 36 {
					t.Fatalf("a person's id: %d, want %d: %v", len(got), 36, got)
				}
				if strings.Contains(in.Text, "portal room") {
					t.Fatalf("the bot's words are nobody's: %s", in.Text)
				}
			}
		}
	}
}

func FuzzNormalise(f *testing.F) {
	inputs, _ := filepath.Glob("testdata/*.in.json")
	for _, path := range inputs {
		raw, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		var rec recording
		if err := json.Unmarshal(raw, &rec); err != nil {
			f.Fatal(err)
		}
		state, _ := json.Marshal(rec.State)
		for _, e := range rec.Events {
			f.Add(state, []byte(e))
		}
	}
	f.Fuzz(func(t *testing.T, state, raw []byte) {
		rec := recording{Self: "@gatewaybot:hs.test", Events: []json.RawMessage{raw, raw}}
		_ = json.Unmarshal(state, &rec.State)
		for _, in := range rec.replay(time.Unix(0, 0)) {
			if in.EventID == "" || in.Address.Channel == "" || in.Kind == "" {
				t.Fatalf("incomplete: %+v", in)
			}
			if !utf8.ValidString(in.Text) || strings.ContainsRune(in.Text, 0) || strings.ContainsRune(in.Name, 0) {
				t.Fatalf("not to be stored: %q", in.Text)
			}
		}
	})
}

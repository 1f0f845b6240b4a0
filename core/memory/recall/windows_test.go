package recall

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// dayOf returns messages of one day with the given numbers of tokens, and even ids from 10.
func dayOf(tokens ...int) []core.Message {
	var out []core.Message
	for i, n := range tokens {
		out = append(out, core.Message{User: 1, ID: core.MessageID(10 + 2*i), Segment: 3, Tokens: n, Role: core.RoleUser,
			Text: fmt.Sprint("message ", i)})
	}
	return out
}

func TestWindows_cut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		tokens  []int
		in      core.MessageID
		closed  bool
		want    string
		through core.MessageID
	}{
		{"nothing", nil, 0, true, "", 0},
		{"not full yet", []int{100, 100}, 0, false, "", 0},
		{"not full, but closed", []int{100, 100}, 0, true, "10-12", 12},
		{"full", []int{100, 200, 100}, 0, false, "10-14", 14},
		{"one of overlap", []int{200, 200, 200, 100}, 0, true, "10-12 12-14 14-16", 16},
		{"the rest waits", []int{200, 200, 100, 50}, 0, false, "10-12", 12},
		{"a long one alone", []int{100, 900, 100}, 0, true, "10-10 12-12 14-14", 14},
		{"a long overlap is not a window of its own again", []int{100, 500, 250}, 0, true, "10-12 12-14", 14},
		{"a long first one waits for company", []int{500}, 0, false, "", 0},
		{"a long first one with company", []int{500, 100}, 0, false, "10-12", 12},
		{"one too long does not wait", []int{900}, 0, false, "10-10", 10},
		{"too large for an overlap", []int{700, 700}, 0, true, "10-10 12-12", 12},
		{"a long first one in a window already", []int{900, 100}, 10, false, "", 0},
		{"one in a window that does not fit beside the next", []int{700, 300}, 10, true, "12-12", 12},
		{"one in a window that fits", []int{300, 300}, 10, false, "10-12", 12},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			windows, through := Windows{}.Cut(dayOf(c.tokens...), c.in, c.closed)
			if got := spans(windows); got != c.want || through != c.through {
				t.Errorf("got %q through %d, want %q through %d", got, through, c.want, c.through)
			}
		})
	}
}

func spans(windows []store.TextWindow) string {
	var out []string
	for _, w := range windows {
		out = append(out, fmt.Sprintf("%d-%d", w.First, w.Last))
	}
	return strings.Join(out, " ")
}

// TestWindows_loseNothing checks that once the day is closed each message is in a window, whatever the
// sizes.
func TestWindows_loseNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		messages := dayOf(rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 150), rapid.IntRange(0, 1200)), 0,
			60).Draw(t, "tokens")...)
		tokens := map[core.MessageID]int{}
		for _, m := range messages {
			tokens[m.ID] = m.Tokens
		}
		windows, through := Windows{}.Cut(messages, 0, true)
		if len(messages) == 0 {
			return
		}
		last := messages[len(messages)-1].ID
		if len(windows) == 0 || windows[0].First != messages[0].ID || windows[len(windows)-1].Last != last ||
			through != last {
			t.Fatalf("windows %s do not cover %d to %d", spans(windows), messages[0].ID, last)
		}
		for i, w := range windows {
			checkSize(t, w, tokens, i == len(windows)-1)
			if i > 0 && w.First != windows[i-1].Last && (w.First != windows[i-1].Last+2 ||
				tokens[w.First]+tokens[windows[i-1].Last] <= windowMax) {
				t.Fatalf("%s: window %d overlaps by other than one message", spans(windows), i)
			}
			if i > 0 && w.Last <= windows[i-1].Last {
				t.Fatalf("%s: window %d adds no message", spans(windows), i)
			}
		}
		open, _ := Windows{}.Cut(messages, 0, false)
		if len(open) > len(windows) || spans(open) != spans(windows[:len(open)]) {
			t.Fatalf("windows of an open day %s, of the closed day %s", spans(open), spans(windows))
		}
	})
}

func checkSize(t *rapid.T, w store.TextWindow, tokens map[core.MessageID]int, last bool) {
	sum := 0
	for id := w.First; id <= w.Last; id += 2 {
		sum += tokens[id]
	}
	if w.User != 1 || w.Segment != 3 || w.Tokens != sum {
		t.Fatalf("window %+v, want %d tokens of day 3", w, sum)
	}
	if sum > windowMax && w.First != w.Last {
		t.Fatalf("window %+v is too large", w)
	}
	if sum < windowMin && !last && sum+tokens[w.Last+2] <= windowMax {
		t.Fatalf("window %+v is too small", w)
	}
}

func TestWindows_text(t *testing.T) {
	t.Parallel()
	got := Windows{}.Text([]core.Message{
		{Role: core.RoleUser, Text: "Where is it?"},
		{Role: core.RoleTool, Text: "{}"},
		{Role: core.RoleUser, Text: "secret", Redacted: true},
		{Role: core.RoleAssistant, Text: "There."},
		{Role: core.RoleUser},
	})
	if want := "user: Where is it?\nassistant: There."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestCut_longMessageIsCutOnce cuts a day that goes on after a message too long for company. It was cut again and again.
func TestCut_longMessageIsCutOnce(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) sqlStore{"sqlite": onSQLite, "postgres": onPostgres} {
		if name == "postgres" && postgresDSN() == "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.message(w.say("2026-11-20", core.RoleUser, "a long letter")).Tokens = 900
			w.message(w.say("2026-11-20", core.RoleAssistant, "thanks")).Tokens = 5
			st := open(t)
			w.into(st)
			if _, err := st.DB().Exec(`UPDATE segments SET state = 'open', unwindowed = 1, windowed = 0`); err != nil {
				t.Fatal(err)
			}
			var all []string
			for range 3 { // once to cut, once to see that nothing is left
				day, err := st.Unwindowed(t.Context(), me, 100)
				if errors.Is(err, core.ErrNotFound) {
					break
				}
				windows, through := Windows{}.Cut(day.Messages, day.Through, day.Closed)
				if err == nil {
					err = st.PutWindows(t.Context(), store.PutWindows{User: me, Segment: day.Segment, Windows: windows,
						Through: through, Read: day.Messages, Closed: day.Closed, Config: "test", Now: saturday})
				}
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, spans(windows))
			}
			if got := strings.Join(all, "|"); got != "1-1|" {
				t.Errorf("got windows %q in turn, want 1-1 and then none", got)
			}
		})
	}
}

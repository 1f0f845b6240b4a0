package recall

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/everthread/everthread/core"
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

func TestCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		tokens  []int
		closed  bool
		want    string
		through core.MessageID
	}{
		{"nothing", nil, true, "", 0},
		{"not full yet", []int{100, 100}, false, "", 0},
		{"not full, but closed", []int{100, 100}, true, "10-12", 12},
		{"full", []int{100, 200, 100}, false, "10-14", 14},
		{"one of overlap", []int{200, 200, 200, 100}, true, "10-12 12-14 14-16", 16},
		{"the rest waits", []int{200, 200, 100, 50}, false, "10-12", 12},
		{"a long one alone", []int{100, 900, 100}, true, "10-10 12-12 14-14", 14},
		{"a long overlap is not a window of its own again", []int{100, 500, 250}, true, "10-12 12-14", 14},
		{"a long first one waits for company", []int{500}, false, "", 0},
		{"a long first one with company", []int{500, 100}, false, "10-12", 12},
		{"one too long does not wait", []int{900}, false, "10-10", 10},
		{"too large for an overlap", []int{700, 700}, true, "10-10 12-12", 12},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			windows, through := Windows{}.Cut(dayOf(c.tokens...), c.closed)
			if got := spans(windows); got != c.want || through != c.through {
				t.Errorf("got %q through %d, want %q through %d", got, through, c.want, c.through)
			}
		})
	}
}

func spans(windows []core.TextWindow) string {
	var out []string
	for _, w := range windows {
		out = append(out, fmt.Sprintf("%d-%d", w.First, w.Last))
	}
	return strings.Join(out, " ")
}

// TestCutLosesNothing checks that once the day is closed each message is in a window, whatever the
// sizes.
func TestCutLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		messages := dayOf(rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 150), rapid.IntRange(0, 1200)), 0,
			60).Draw(t, "tokens")...)
		tokens := map[core.MessageID]int{}
		for _, m := range messages {
			tokens[m.ID] = m.Tokens
		}
		windows, through := Windows{}.Cut(messages, true)
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
		open, _ := Windows{}.Cut(messages, false)
		if len(open) > len(windows) || spans(open) != spans(windows[:len(open)]) {
			t.Fatalf("windows of an open day %s, of the closed day %s", spans(open), spans(windows))
		}
	})
}

func checkSize(t *rapid.T, w core.TextWindow, tokens map[core.MessageID]int, last bool) {
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

func TestWindowText(t *testing.T) {
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

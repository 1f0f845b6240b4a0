package terminal

import (
	"crypto/rand"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/adaptertest"
	"github.com/everthread/everthread/core"
)

// desk is a user at a terminal. A line counts as acknowledged when the next one is
// requested.
type desk struct {
	mu      sync.Mutex
	changed *sync.Cond
	lines   []string
	read    int // number of lines handed out
	acked   int
	closed  bool
	paper   paper
}

func newDesk() *desk {
	d := &desk{}
	d.changed = sync.NewCond(&d.mu)
	return d
}

// ReadLine returns the next typed line.
func (d *desk) ReadLine() (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.acked = d.read
	for d.read == len(d.lines) && !d.closed {
		d.changed.Wait()
	}
	if d.closed {
		return "", io.EOF
	}
	d.read++
	return d.lines[d.read-1], nil
}

func (d *desk) say(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, text)
	d.changed.Broadcast()
}

func (d *desk) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.changed.Broadcast()
}

func (d *desk) unacknowledged() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.lines) - d.acked
}

func (d *desk) sent() []string {
	return slices.DeleteFunc(strings.Split(d.paper.String(), "\n"),
		func(s string) bool { return s == "" || strings.HasPrefix(s, "(not stored yet") })
}

// TestConformance runs the cases that apply to a terminal: it repeats nothing, as a line
// typed again is a new message, and its output cannot fail.
func TestConformance(t *testing.T) {
	adaptertest.Test(t, func(t *testing.T) adaptertest.Harness {
		d := newDesk()
		return adaptertest.Harness{
			New: func(t *testing.T) core.Channel {
				c, err := New(Options{Lines: d, Out: &d.paper, Person: "ada", Name: "Ada", Rand: rand.Reader, Now: time.Now})
				if err != nil {
					t.Fatal(err)
				}
				return c
			},
			To:             core.Address{Channel: Name, Account: Account, External: "ada"},
			Say:            d.say,
			Unacknowledged: d.unacknowledged,
			Sent:           d.sent,
			Fail:           func(adaptertest.Fault) bool { return false },
			Close:          d.close,
		}
	})
}

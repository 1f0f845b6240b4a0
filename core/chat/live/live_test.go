package live_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/live"
)

// wire is a bus shared by processes.
type wire struct {
	mu     sync.Mutex
	wakes  []chan string
	topics []string
}

// port is one process's connection to the wire.
type port struct {
	*wire
	changes chan core.UserID
}

func (w *wire) port() *port { return &port{w, make(chan core.UserID, 100)} }

func (p *port) Changed(ctx context.Context) <-chan core.UserID {
	context.AfterFunc(ctx, func() { close(p.changes) })
	return p.changes
}

func (p *port) Wakes(ctx context.Context) <-chan string {
	p.mu.Lock()
	defer p.mu.Unlock()
	ch := make(chan string, 100)
	p.wakes = append(p.wakes, ch)
	context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		close(ch)
		p.wakes = nil
	})
	return ch
}

func (p *port) Publish(ctx context.Context, topic string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.topics = append(p.topics, topic)
	for _, ch := range p.wakes {
		ch <- topic
	}
	return nil
}

func (w *wire) passed() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.topics)
}

func process(t *testing.T, bus live.Bus, name string) *live.Hub {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	hub := live.New(bus, name, time.Now, zap.NewNop())
	go func() {
		defer close(ended)
		_ = hub.Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return hub
}

// processes runs two hubs on one wire.
func processes(t *testing.T) (w *wire, ports [2]*port, hubs [2]*live.Hub) {
	w = &wire{}
	for n, name := range []string{"a", "b"} {
		ports[n] = w.port()
		hubs[n] = process(t, ports[n], name)
	}
	synctest.Wait()
	return w, ports, hubs
}

func next(t *testing.T, f *live.Feed) live.News {
	t.Helper()
	n, err := f.Next(t.Context(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestFollow_beforeTheHubListens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hub := live.New((&wire{}).port(), "a", time.Now, zap.NewNop())
		f := hub.Follow(1)
		defer f.Close()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); _ = hub.Run(ctx) }()
		if n := next(t, f); !n.Changed {
			t.Errorf("got %+v", n)
		}
		cancel()
		<-ended
	})
}

func TestNews_onlyToFollowersOfTheUser(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, ports, hubs := processes(t)
		mine, others := hubs[0].Follow(1), hubs[0].Follow(2)
		defer mine.Close()
		defer others.Close()
		ports[0].changes <- 1
		if n := next(t, mine); !n.Changed || len(n.Previews) > 0 {
			t.Errorf("got %+v", n)
		}
		synctest.Wait()
		before := time.Now()
		if n := next(t, others); n.Changed || time.Since(before) < time.Hour {
			t.Errorf("another user got %+v", n)
		}
	})
}

func TestPreview_newestTextForALateFollower(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, _, hubs := processes(t)
		f := hubs[0].Follow(1)
		defer f.Close()
		turn := &core.Turn{User: 1, ID: 7, Thread: 1}
		for _, text := range []string{"a", "a b", "a b c"} {
			hubs[0].Preview(turn, text)
		}
		hubs[0].Preview(&core.Turn{User: 1, ID: 8, Thread: 2}, "x")
		n := next(t, f)
		if len(n.Previews) != 2 || n.Previews[0].Text != "a b c" || n.Previews[1].Text != "x" {
			t.Errorf("got %+v", n)
		}
	})
}

func TestHub_tellsOnlyOfFollowedUsers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, ports, hubs := processes(t)
		time.Sleep(3 * time.Second) // fake time: until they know who is followed where
		begun := w.passed()
		ports[0].changes <- 1
		hubs[0].Preview(&core.Turn{User: 1, ID: 7}, "nobody looks")
		synctest.Wait()
		if n := w.passed() - begun; n != 0 {
			t.Fatalf("%d topics about a user without followers", n)
		}
		f := hubs[1].Follow(1)
		synctest.Wait()
		ports[0].changes <- 1
		if n := next(t, f); !n.Changed {
			t.Errorf("got %+v", n)
		}
		hubs[0].Preview(&core.Turn{User: 1, ID: 7, Thread: 3}, "so far")
		hubs[0].Preview(&core.Turn{User: 1, ID: 7, Thread: 3}, "so far so good") // too soon
		n := next(t, f)
		if len(n.Previews) != 1 || n.Previews[0] != (live.Preview{Turn: 7, Thread: 3, Text: "so far"}) {
			t.Errorf("got %+v", n)
		}
		time.Sleep(time.Minute) // fake time: the subscription is renewed
		synctest.Wait()
		ports[0].changes <- 1
		if n := next(t, f); !n.Changed {
			t.Errorf("after a minute: %+v", n)
		}
		f.Close()
		time.Sleep(2 * time.Minute) // fake time: the subscription ends
		passed := w.passed()
		ports[0].changes <- 1
		synctest.Wait()
		if w.passed() != passed {
			t.Error("a topic was published about a user who is no longer followed")
		}
	})
}

func TestHub_lateProcessLearnsWhoIsFollowed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, _, hubs := processes(t)
		f := hubs[0].Follow(1)
		defer f.Close()
		synctest.Wait()
		late := w.port()
		process(t, late, "late")
		synctest.Wait()
		before := time.Now()
		late.changes <- 1
		if n := next(t, f); !n.Changed || time.Since(before) > 0 {
			t.Errorf("after %s got %+v", time.Since(before), n)
		}
	})
}

// short is the port of a process that ends before it receives anything from the others.
type short struct{ *port }

func (short) Wakes(context.Context) <-chan string {
	closed := make(chan string)
	close(closed)
	return closed
}

func TestHub_shortProcessIsHeard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, _, hubs := processes(t)
		f := hubs[0].Follow(1)
		defer f.Close()
		short := short{w.port()}
		hub := live.New(short, "short", time.Now, zap.NewNop())
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		short.changes <- 1
		before := time.Now()
		if err := hub.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if n := next(t, f); !n.Changed || time.Since(before) > 0 {
			t.Errorf("after %s got %+v", time.Since(before), n)
		}
	})
}

func TestPreview_passesOnTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, _, hubs := processes(t)
		f := hubs[1].Follow(1)
		defer f.Close()
		synctest.Wait()
		text := strings.Repeat("é", 10_000) + "fin"
		hubs[0].Preview(&core.Turn{User: 1, ID: 7}, text)
		n := next(t, f)
		if len(n.Previews) != 1 || n.Previews[0].Missing == 0 || !strings.HasSuffix(n.Previews[0].Text, "éfin") {
			t.Errorf("got %.60v", n)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, topic := range w.topics {
			if len(topic) > 7000 {
				t.Errorf("a topic of %d bytes", len(topic))
			}
		}
	})
}

// deaf is a port that receives what its own process publishes, and what the others publish only
// after hears.
type deaf struct {
	*port
	own   chan string
	ended bool
}

func (d *deaf) Wakes(ctx context.Context) <-chan string {
	context.AfterFunc(ctx, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		close(d.own)
		d.wakes, d.ended = nil, true
	})
	return d.own
}

func (d *deaf) Publish(ctx context.Context, topic string) error {
	d.mu.Lock()
	if !d.ended {
		d.own <- topic
	}
	d.mu.Unlock()
	return d.port.Publish(ctx, topic)
}

func (d *deaf) hears() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wakes = append(d.wakes, d.own)
	d.own <- core.TopicListening
}

func TestHub_hearingLateAsksThen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, _, hubs := processes(t)
		f := hubs[0].Follow(1)
		defer f.Close()
		late := &deaf{port: w.port(), own: make(chan string, 100)}
		process(t, late, "late")
		synctest.Wait()
		late.hears()
		synctest.Wait()
		before := time.Now()
		late.changes <- 1
		if n := next(t, f); !n.Changed || time.Since(before) > 0 {
			t.Errorf("after %s got %+v", time.Since(before), n)
		}
	})
}

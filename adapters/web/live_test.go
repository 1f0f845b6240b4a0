package web

import (
	"bufio"
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
)

// event is one of the live updates.
type event struct{ id, name, data string }

// watching is an open page.
type watching struct {
	t      *testing.T
	events chan event
	status int
	header http.Header
	last   string
	close  func()
	ended  chan struct{}
}

// watch opens the live updates of a page.
func (p *person) watch(path, last string) *watching {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.ctx)
	r := p.request(http.MethodGet, path, nil).WithContext(ctx)
	r.Header.Set("Accept", "text/event-stream")
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	res, err := p.client.Do(r)
	p.must(err)
	w := &watching{t: p.t, events: make(chan event, 1000), status: res.StatusCode, header: res.Header, last: last,
		ended: make(chan struct{})}
	w.close = func() { cancel(); <-w.ended }
	p.t.Cleanup(w.close)
	go func() {
		defer close(w.ended)
		defer close(w.events)
		defer res.Body.Close()
		in := bufio.NewScanner(res.Body)
		in.Buffer(nil, 1<<20)
		var e event
		for in.Scan() {
			field, value, _ := strings.Cut(in.Text(), ": ")
			switch field {
			case "id":
				e.id = value
			case "event":
				e.name = value
			case "data":
				e.data = value
			case "":
				if e.name != "" {
					w.events <- e
				}
				e = event{}
			}
		}
	}()
	return w
}

// next is the next event of a name; others before it are passed over.
func (w *watching) next(name string) event {
	w.t.Helper()
	for late := time.After(5 * time.Second); ; {
		select {
		case e, ok := <-w.events:
			if !ok {
				w.t.Fatalf("the updates ended before %s came", name)
			}
			if e.id != "" {
				w.last = e.id
			}
			if e.name == name {
				return e
			}
		case <-late:
			w.t.Fatalf("no %s came", name)
		}
	}
}

// quiet checks that no event of a name comes until another one does.
func (w *watching) until(name, never string) {
	w.t.Helper()
	for late := time.After(5 * time.Second); ; {
		select {
		case e := <-w.events:
			if e.name == never {
				w.t.Errorf("%s came: %s", never, e.data)
			}
			if e.name == name {
				return
			}
		case <-late:
			w.t.Fatalf("no %s came", name)
		}
	}
}

// follows runs the hub until the test ends.
func (w *world) follows() {
	ctx, cancel := context.WithCancel(w.ctx)
	done := make(chan struct{})
	go func() { defer close(done); _ = w.hub.Run(ctx) }()
	w.t.Cleanup(func() { cancel(); <-done })
}

// lastIn is what a page says that it knows.
func lastIn(t *testing.T, body string) string {
	t.Helper()
	_, rest, ok := strings.Cut(body, `data-last="`)
	if !ok {
		t.Fatal("the page does not follow")
	}
	last, _, _ := strings.Cut(rest, `"`)
	return last
}

func TestAPageFollows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.follows()
	p := w.ana.signedIn()
	p.talks("before", "before")
	page := p.get("/")
	s := p.watch("/live?day=2026-01-31&last="+url.QueryEscape(lastIn(t, page.body)), "")
	if s.status != 200 || s.header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("got %d %v", s.status, s.header)
	}
	s.until("state", "entry") // what the page shows is not sent again
	p.says("a new question")
	e := s.next("entry")
	if !strings.Contains(e.data, "a new question") || !strings.Contains(e.data, `"id":"m3","after":"m2"`) {
		t.Errorf("got %s", e.data)
	}
	turn := p.turn()
	if e := s.next("turns"); !strings.Contains(e.data, writingID(turn)) {
		t.Errorf("got %s", e.data)
	}
	if e := s.next("state"); !strings.Contains(e.data, `"running":true`) || !strings.Contains(e.data, "Stop") {
		t.Errorf("got %s", e.data)
	}
	w.hub.Preview(turn, "It **is")
	w.hub.Preview(turn, "It **is** <b>so</b>")
	for {
		e := s.next("preview")
		if strings.Contains(e.data, `u003cstrong\u003eis`) {
			if strings.Contains(e.data, `\u003cb\u003e`) {
				t.Errorf("got %s", e.data)
			}
			break
		}
	}
	p.replies(turn, "It is so, done.")
	if e := s.next("entry"); !strings.Contains(e.data, "It is so, done.") || !strings.Contains(e.data, writingID(turn)) {
		t.Errorf("got %s", e.data)
	}
	if e := s.next("turns"); e.data != "[]" {
		t.Errorf("got %s", e.data)
	}
	p.sums("## Summary\nA new summary.", false, 1, 2, 3, 4)
	if e := s.next("entry"); !strings.Contains(e.data, `"id":"v1"`) {
		t.Errorf("got %s", e.data)
	}
	if e := s.next("summary"); !strings.Contains(e.data, "A new summary.") {
		t.Errorf("got %s", e.data)
	}
	p.deliver(core.DeliveryRead, "")
	for !strings.Contains(s.next("entry").data, "state read") {
		continue // it is being sent
	}
}

func TestNothingIsMissedInBetween(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.follows()
	p := w.ana.signedIn()
	p.talks("one", "1")
	s := p.watch("/live?day=2026-01-31&last="+url.QueryEscape(lastIn(t, p.get("/").body)), "")
	s.next("state")
	p.says("two")
	s.next("entry")
	s.close()
	p.answers("2")
	p.post("/m/1/forget", nil)
	s = p.watch("/live?day=2026-01-31&last=old", s.last)
	got := map[string]bool{}
	for range 4 {
		got[strings.SplitN(s.next("entry").data, `"`, 5)[3]] = true
	}
	for _, id := range []string{"m1", "m2", "m3", "m4"} {
		if !got[id] {
			t.Errorf("%s did not come", id)
		}
	}
	s.close()
	s = p.watch("/live?day=2026-01-31", s.last)
	s.until("state", "entry")
}

func TestTheFirstWordComesAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.follows()
	p := w.ana.signedIn()
	p.says("hello")
	turn := p.turn()
	s := p.watch("/live?day=2026-01-31", "")
	s.next("summary")
	time.Sleep(2 * breath) // the page is up to date, and at rest
	begin := time.Now()
	w.hub.Preview(turn, "First")
	s.next("preview")
	if took := time.Since(begin); took > 200*time.Millisecond { // 30 ms on a machine that does nothing else
		t.Errorf("it took %s", took)
	} else {
		t.Logf("it took %s", took)
	}
}

func TestPreviewsStayInTheirPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.follows()
	p := w.ana.signedIn()
	p.at(30, 10, 0)
	p.talks("yesterday", "yes")
	p.at(31, 10, 0)
	p.says("hello")
	turn := p.turn()
	yesterday := p.watch("/live?day=2026-01-30", "")
	yesterday.next("summary")
	today := p.watch("/live?day=2026-01-31", "")
	today.next("summary")
	bob := w.bob.signedIn().watch("/live", "")
	bob.next("summary")
	w.hub.Preview(turn, "secret")
	today.next("preview")
	p.replies(turn, "secret")
	today.next("entry")
	w.bob.says("bob's own")
	for {
		e := bob.next("entry")
		if strings.Contains(e.data, "secret") {
			t.Error("Bob sees it")
		}
		if strings.Contains(e.data, "own") {
			break
		}
	}
	select {
	case e := <-yesterday.events:
		if strings.Contains(e.data, "secret") {
			t.Errorf("yesterday has %v", e)
		}
	default:
	}
}

func TestUpdatesEndWithTheSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.follows()
	p := w.ana.signedIn()
	s := p.watch("/live", "")
	s.next("summary")
	w.must(w.store.EndSession(w.ctx, p.user.ID, 0))
	p.says("hello") // any news makes it look again
	s.next("end")
	<-s.ended
}

func TestUpdatesEndWithTheProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.follows()
	p := w.ana.signedIn()
	ctx, cancel := context.WithCancel(w.ctx)
	done := make(chan error)
	go func() { done <- w.page.Run(ctx) }()
	s := p.watch("/live", "")
	s.next("summary")
	cancel()
	w.must(<-done)
	<-s.ended
	if got := p.watch("/live", ""); got.status != http.StatusTooManyRequests {
		t.Errorf("another one got %d", got.status)
	}
}

func TestOpenPagesAreCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *Options) { o.Limits.LivePages = 2 })
	p := w.ana.signedIn()
	first := p.watch("/live", "")
	p.watch("/live", "")
	if got := p.watch("/live", ""); got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") == "" {
		t.Errorf("the third got %d", got.status)
	}
	if got := w.bob.signedIn().watch("/live", ""); got.status != 200 {
		t.Errorf("another person got %d", got.status)
	}
	first.close()
	for late := time.Now().Add(5 * time.Second); ; {
		if p.watch("/live", "").status == 200 {
			break
		}
		if time.Now().After(late) {
			t.Fatal("a closed page is still counted")
		}
	}
}

func TestUpdatesNeedASession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if got := w.ana.watch("/live", ""); got.status != http.StatusUnauthorized {
		t.Errorf("got %d", got.status)
	}
	p := w.ana.signedIn()
	for _, path := range []string{"/live?thread=1", "/live?thread=x", "/live?day=2026-02-30", "/live?thread=999"} {
		if got := p.watch(path, ""); got.status != http.StatusNotFound {
			t.Errorf("%s got %d", path, got.status)
		}
	}
}

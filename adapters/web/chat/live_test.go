package chat

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/web/webtest"
	"github.com/everthread/everthread/core"
)

func TestLive_pageFollows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Follows()
	p := w.Ana.SignedIn()
	p.Talks("before", "before")
	page := p.Get("/")
	s := p.Watch("/live?day=2026-01-31&last="+url.QueryEscape(webtest.LastIn(t, page.Body)), "")
	if s.Status != 200 || s.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("got %d %v", s.Status, s.Header)
	}
	s.Until("state", "entry") // what the page shows is not sent again
	p.Says("a new question")
	if e := s.Next("entry"); !strings.Contains(e.Data, `"id":"m1"`) || strings.Contains(e.Data, "/m/1/edit") {
		t.Errorf("what was the newest can still be edited: %s", e.Data)
	}
	if e := s.Next("entry"); !strings.Contains(e.Data, `"id":"m2"`) || strings.Contains(e.Data, "/again") {
		t.Errorf("what was the newest can still be answered again: %s", e.Data)
	}
	e := s.Next("entry")
	if !strings.Contains(e.Data, "a new question") || !strings.Contains(e.Data, `"id":"m3","after":"m2"`) {
		t.Errorf("got %s", e.Data)
	}
	turn := p.Turn()
	if e := s.Next("turns"); !strings.Contains(e.Data, writingID(turn)) {
		t.Errorf("got %s", e.Data)
	}
	if e := s.Next("state"); !strings.Contains(e.Data, `"running":true`) || !strings.Contains(e.Data, "Stop") {
		t.Errorf("got %s", e.Data)
	}
	w.Hub.Preview(turn, "It **is")
	w.Hub.Preview(turn, "It **is** <b>so</b>")
	for {
		e := s.Next("preview")
		if strings.Contains(e.Data, `u003cstrong\u003eis`) {
			if strings.Contains(e.Data, `\u003cb\u003e`) {
				t.Errorf("got %s", e.Data)
			}
			break
		}
	}
	p.Replies(turn, "It is so, done.")
	if e := s.Next("entry"); !strings.Contains(e.Data, "/m/3/edit") {
		t.Errorf("the newest message cannot be edited: %s", e.Data)
	}
	if e := s.Next("entry"); !strings.Contains(e.Data, "It is so, done.") || !strings.Contains(e.Data, writingID(turn)) {
		t.Errorf("got %s", e.Data)
	}
	if e := s.Next("turns"); e.Data != "[]" {
		t.Errorf("got %s", e.Data)
	}
	p.Sums("## Summary\nA new summary.", false, 1, 2, 3, 4)
	if e := s.Next("entry"); !strings.Contains(e.Data, `"id":"v1"`) {
		t.Errorf("got %s", e.Data)
	}
	if e := s.Next("summary"); !strings.Contains(e.Data, "A new summary.") {
		t.Errorf("got %s", e.Data)
	}
	p.Deliver(core.DeliveryRead, "")
	for !strings.Contains(s.Next("entry").Data, " · read") {
		continue // being sent
	}
}

func TestLive_missesNothingInBetween(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Follows()
	p := w.Ana.SignedIn()
	p.Talks("one", "1")
	s := p.Watch("/live?day=2026-01-31&last="+url.QueryEscape(webtest.LastIn(t, p.Get("/").Body)), "")
	s.Next("state")
	p.Says("two")
	s.Next("entry") // not all of them: the page may not claim to show the others
	s.Close()
	p.Answers("2")
	p.Post("/m/1/forget", nil)
	s = p.Watch("/live?day=2026-01-31&last=old", s.Last)
	got := map[string]bool{}
	for range 4 {
		got[strings.SplitN(s.Next("entry").Data, `"`, 5)[3]] = true
	}
	for _, id := range []string{"m1", "m2", "m3", "m4"} {
		if !got[id] {
			t.Errorf("%s did not come", id)
		}
	}
	s.Next("state")
	s.Close()
	s = p.Watch("/live?day=2026-01-31", s.Last)
	s.Until("state", "entry")
}

func TestLive_firstWordAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Follows()
	p := w.Ana.SignedIn()
	p.Says("hello")
	turn := p.Turn()
	s := p.Watch("/live?day=2026-01-31", "")
	s.Next("summary")
	time.Sleep(2 * breath) // the page is up to date and idle
	begin := time.Now()
	w.Hub.Preview(turn, "First")
	s.Next("preview")
	if took := time.Since(begin); took > 200*time.Millisecond { // 30 ms on an idle machine
		t.Errorf("it took %s", took)
	} else {
		t.Logf("it took %s", took)
	}
}

func TestLive_previewsStayInTheirPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Follows()
	p := w.Ana.SignedIn()
	p.At(30, 10, 0)
	p.Talks("yesterday", "yes")
	p.At(31, 10, 0)
	p.Says("hello")
	turn := p.Turn()
	yesterday := p.Watch("/live?day=2026-01-30", "")
	yesterday.Next("summary")
	today := p.Watch("/live?day=2026-01-31", "")
	today.Next("summary")
	bob := w.Bob.SignedIn().Watch("/live", "")
	bob.Next("summary")
	w.Hub.Preview(turn, "secret")
	today.Next("preview")
	p.Replies(turn, "secret")
	today.Next("entry")
	w.Bob.Says("bob's own")
	for {
		e := bob.Next("entry")
		if strings.Contains(e.Data, "secret") {
			t.Error("Bob sees it")
		}
		if strings.Contains(e.Data, "own") {
			break
		}
	}
	select {
	case e := <-yesterday.Events:
		if strings.Contains(e.Data, "secret") {
			t.Errorf("yesterday has %v", e)
		}
	default:
	}
}

func TestLive_endsWithTheSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Follows()
	p := w.Ana.SignedIn()
	s := p.Watch("/live", "")
	s.Next("summary")
	w.Must(w.Store.EndSession(w.Context, p.User.ID, 0))
	p.Says("hello") // any news makes it read the store again
	s.Next("end")
	<-s.Ended
}

func TestLive_endsWithTheProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Follows()
	p := w.Ana.SignedIn()
	ctx, cancel := context.WithCancel(w.Context)
	done := make(chan error)
	go func() { done <- w.Page.Run(ctx) }()
	s := p.Watch("/live", "")
	s.Next("summary")
	cancel()
	w.Must(<-done)
	<-s.Ended
	if got := p.Watch("/live", ""); got.Status != http.StatusTooManyRequests {
		t.Errorf("a stream after the end: got status %d", got.Status)
	}
}

func TestLive_countsOpenPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *Options) { o.LivePages = 2 })
	p := w.Ana.SignedIn()
	first := p.Watch("/live", "")
	p.Watch("/live", "")
	if got := p.Watch("/live", ""); got.Status != http.StatusTooManyRequests || got.Header.Get("Retry-After") == "" {
		t.Errorf("the third got %d", got.Status)
	}
	if got := w.Bob.SignedIn().Watch("/live", ""); got.Status != 200 {
		t.Errorf("another person got %d", got.Status)
	}
	first.Close()
	for late := time.Now().Add(5 * time.Second); ; {
		if p.Watch("/live", "").Status == 200 {
			break
		}
		if time.Now().After(late) {
			t.Fatal("a closed page is still counted")
		}
	}
}

func TestLive_needsASession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if got := w.Ana.Watch("/live", ""); got.Status != http.StatusUnauthorized {
		t.Errorf("got %d", got.Status)
	}
	p := w.Ana.SignedIn()
	for _, path := range []string{"/live?thread=1", "/live?thread=x", "/live?day=2026-02-30", "/live?thread=999"} {
		if got := p.Watch(path, ""); got.Status != http.StatusNotFound {
			t.Errorf("%s got %d", path, got.Status)
		}
	}
}

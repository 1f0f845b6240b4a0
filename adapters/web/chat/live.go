package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/chat/live"
)

// How open pages are kept up to date.
const (
	keepAlive  = 15 * time.Second      // between two keep-alive lines
	lookAgain  = 4                     // keep-alive lines after which the store is read anyway
	breath     = 30 * time.Millisecond // pause after a round of events, to batch the next ones
	writeLimit = 20 * time.Second      // for one event
)

// follower keeps one open page up to date and tracks what the page shows.
type follower struct {
	r    *Room
	v    *web.Visit
	p    place
	feed *live.Feed
	rc   *http.ResponseController

	last   string               // digest of what the page shows
	known  map[string]string    // versions of entries, by id
	order  []string             // ids of entries in order
	turns  map[core.TurnID]bool // running turns that the page shows
	state  string
	beside map[string]string // HTML beside the day, by event name
	fresh  bool              // the store has been read once
}

// live keeps a page up to date until it is closed, its session ends or the process
// stops. The page sends a digest of what it shows, so that it misses nothing in between.
func (r *Room) live(v *web.Visit) error {
	q := v.R.URL.Query()
	p, err := r.named(v, q.Get("thread"), q.Get("day"))
	if err != nil {
		return err
	}
	ctx, leave, ok := v.Stay(v.Context(), r.LivePages)
	if !ok {
		return &web.Fault{Status: http.StatusTooManyRequests, Text: say(v.Lang).ErrMany, After: keepAlive}
	}
	defer leave()
	f := &follower{r: r, v: v, p: p, rc: http.NewResponseController(v.W), turns: map[core.TurnID]bool{},
		beside: map[string]string{}, last: cmp.Or(v.R.Header.Get("Last-Event-ID"), q.Get("last"))}
	f.feed = r.Hub.FollowPage(v.User.ID, v.Session.ID)
	defer f.feed.Close()
	v.W.Header().Set("Content-Type", "text/event-stream")
	v.W.Header().Set("X-Accel-Buffering", "no")
	_ = f.rc.SetReadDeadline(time.Time{}) // a connection without deadlines needs no change
	if f.write("retry: 2000\n\n") == nil {
		_ = f.run(ctx) // the page is gone, or catches up when it reconnects
	}
	return nil
}

// run sends updates until the first error, and returns it.
func (f *follower) run(ctx context.Context) error {
	checked := f.r.Now()
	for quiet := 0; ; {
		if quiet%lookAgain == 0 {
			if err := f.look(ctx); err != nil {
				return err
			}
		}
		news, err := f.feed.Next(ctx, keepAlive)
		if err != nil {
			return err
		}
		quiet++
		if news.Changed {
			quiet = 0
		} else if len(news.Previews) == 0 {
			err = f.write(": \n\n")
		}
		for _, p := range news.Previews {
			if err == nil {
				err = f.preview(ctx, p)
			}
		}
		if now := f.r.Now(); err == nil && (now.Sub(checked) >= keepAlive || news.Changed) {
			checked, err = now, f.check(ctx)
		}
		if err != nil {
			return err
		}
		_ = channel.Pause(ctx, breath) // so that the next updates are batched
	}
}

// check returns an error if the session has ended, after telling the page so.
func (f *follower) check(ctx context.Context) error {
	lives, err := f.v.Lives(ctx)
	if err == nil && !lives {
		if err := f.send("end", map[string]string{"text": f.v.Words.SignInAgain}); err != nil {
			return err
		}
		return errors.New("the session ended")
	}
	return err
}

// look reads the newest part of the place and sends what the page does not show yet.
func (f *follower) look(ctx context.Context) error {
	v := f.v.Again(ctx)
	if err := f.renew(v); err != nil {
		return err
	}
	s, err := f.r.stretch(v, f.p, want{}, liveSize)
	if err != nil {
		return err
	}
	all, err := f.r.entries(v, s)
	if err != nil {
		return err
	}
	last := lastOf(s, all)
	same := !f.fresh && last == f.last
	f.last, f.fresh = last, true
	if err := f.entries(v, all, same); err != nil {
		return err
	}
	if !same { // a page that loses the connection before misses nothing when it comes again
		if err := f.write("id: " + last + "\n\n"); err != nil {
			return err
		}
	}
	if err := f.writing(v); err != nil {
		return err
	}
	return f.around(v)
}

// renew reads the place again, as its day may have begun since.
func (f *follower) renew(v *web.Visit) (err error) {
	if !f.p.plain() {
		f.p, err = f.r.dayPlace(v, f.p.day.Label)
	}
	return err
}

type update struct {
	ID    string        `json:"id"`
	After string        `json:"after,omitempty"` // id of the preceding entry
	HTML  template.HTML `json:"html"`
}

// entries sends the entries that the page does not show yet. With same, it shows them all.
func (f *follower) entries(v *web.Visit, all []*entry, same bool) error {
	known, before := map[string]string{}, ""
	for _, e := range all {
		if f.known[e.ID] != e.Version && !same {
			html, err := v.Part("entry", e)
			if err != nil {
				return err
			}
			if err := f.send("entry", update{e.ID, before, html}); err != nil {
				return err
			}
		}
		known[e.ID], before = e.Version, e.ID
	}
	for id := range f.known {
		if _, ok := known[id]; !ok && strings.HasPrefix(id, "v") {
			if err := f.send("gone", map[string]string{"id": id}); err != nil {
				return err
			}
		}
	}
	f.known = known
	return f.arrange(all, same)
}

// arrange sends the order of entries if one that the page shows has moved or is gone: a
// message gets its position when it is read, and one answer may replace another.
func (f *follower) arrange(all []*entry, same bool) error {
	order := make([]string, 0, len(all))
	for _, e := range all {
		order = append(order, e.ID)
	}
	before := f.order
	f.order = order
	if same || before != nil && slices.Equal(common(before, order), common(order, before)) && !left(before, order) {
		return nil
	}
	return f.send("order", order)
}

// left reports whether an entry disappeared from among the remaining ones. The oldest
// entries do not count: they go as new ones arrive.
func left(before, after []string) bool {
	n := slices.IndexFunc(before, func(id string) bool { return slices.Contains(after, id) })
	return slices.ContainsFunc(before[max(n, 0):], func(id string) bool { return !slices.Contains(after, id) })
}

func common(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return !slices.Contains(b, s) })
}

func (f *follower) writing(v *web.Visit) error {
	all, err := f.r.writing(v, f.p)
	if err != nil {
		return err
	}
	turns, out := map[core.TurnID]bool{}, []update{}
	for _, w := range all {
		html, err := v.Part("writing", w)
		if err != nil {
			return err
		}
		turns[w.Turn] = true
		out = append(out, update{ID: w.ID, HTML: html})
	}
	if len(f.turns) == 0 && len(turns) == 0 && f.state != "" {
		return nil
	}
	f.turns = turns
	return f.send("turns", out)
}

func (f *follower) around(v *web.Visit) error {
	c, err := f.r.compose(v, f.p)
	if err != nil {
		return err
	}
	c.Nonce = ""
	html, err := v.Part("status", c)
	if err != nil {
		return err
	}
	if state := fmt.Sprint(c.Running, html); state != f.state {
		f.state = state
		if err := f.send("state", map[string]any{"running": c.Running, "html": html}); err != nil {
			return err
		}
	}
	counts, err := v.Counts()
	if err != nil {
		return err
	}
	for path, html := range counts {
		if f.beside[path] != string(html) {
			f.beside[path] = string(html)
			if err := f.send("tab", map[string]any{"path": path, "html": html}); err != nil {
				return err
			}
		}
	}
	if f.p.plain() {
		return nil
	}
	card, err := f.r.summaryCard(v, f.p)
	if err != nil {
		return err
	}
	if err := f.part(v, "summary", card); err != nil {
		return err
	}
	all, err := f.r.promises(v, f.p)
	if err != nil {
		return err
	}
	return f.part(v, "promises", all)
}

// part sends a part beside the day as an event named like its template, if it changed.
func (f *follower) part(v *web.Visit, name string, data any) error {
	html, err := v.Part(name, data)
	if err != nil || string(html) == f.beside[name] {
		return err
	}
	f.beside[name] = string(html)
	return f.send(name, map[string]any{"html": html})
}

// preview sends the text of an unfinished answer, if the page shows it.
func (f *follower) preview(ctx context.Context, p live.Preview) error {
	if p.Thread != f.p.thread.ID {
		return nil
	}
	if !f.turns[p.Turn] {
		v := f.v.Again(ctx)
		if err := f.renew(v); err != nil {
			return err
		}
		if err := f.writing(v); err != nil {
			return err
		}
		if !f.turns[p.Turn] {
			return nil
		}
	}
	text := p.Text
	if p.Missing > 0 {
		text = "… " + text
	}
	return f.send("preview", map[string]any{"id": fmt.Sprintf("t%d", p.Turn), "html": f.r.markdown.message(text)})
}

func (f *follower) send(event string, data any) error {
	b, err := json.Marshal(data)
	if err != nil {
		return err
	}
	return f.write("event: " + event + "\ndata: " + string(b) + "\n\n")
}

func (f *follower) write(s string) error {
	_ = f.rc.SetWriteDeadline(time.Now().Add(writeLimit)) // a connection without deadlines does without
	if _, err := f.v.W.Write([]byte(s)); err != nil {
		return err
	}
	return f.rc.Flush()
}

// lastOf returns a digest of the newest entries of a place.
func lastOf(s stretch, all []*entry) string {
	by := map[string]string{}
	var seen []string
	for _, e := range all {
		by[e.ID] = e.Version
		if e.Kind == "version" {
			seen = append(seen, e.ID, e.Version)
		}
	}
	var last core.MessageID
	for _, m := range s.messages[max(0, len(s.messages)-liveSize):] {
		last = max(last, m.ID)
		seen = append(seen, by[fmt.Sprintf("m%d", m.ID)])
	}
	return fmt.Sprintf("%d.%s", last, hashed(seen))
}

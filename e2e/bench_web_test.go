//go:build e2e && bench

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// What the page costs: not tests, but measurements, run alone by
// `go test -tags 'goolm e2e crashpoints bench' -run TestBenchPage -v ./e2e/`.

const (
	yearDays = 365
	yearSays = 100_000 // messages in them
)

// fillYear gives the owner a year of messages, as if they had been said: days
// with summaries, deliveries of the answers.
func (w *town) fillYear(l *ledger) {
	w.t.Helper()
	ctx := context.Background()
	db, err := l.db.BeginTx(ctx, nil)
	must(w.t, err)
	exec := func(rows int, into string, args ...any) {
		each := len(args) / rows
		var b strings.Builder
		b.WriteString(into)
		for i := range args {
			switch {
			case i == 0:
				b.WriteString("(")
			case i%each == 0:
				b.WriteString("), (")
			default:
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "$%d", i+1)
		}
		_, err := db.ExecContext(ctx, b.String()+")", args...)
		must(w.t, err)
	}
	var lastMessage, lastID, thread, turn, identity int64
	must(w.t, db.QueryRowContext(ctx, `SELECT last_message, last_id FROM users WHERE id = 1`).Scan(&lastMessage, &lastID))
	must(w.t, db.QueryRowContext(ctx, `SELECT MAX(thread_id), MAX(turn_id), MAX(identity_id) FROM messages WHERE user_id = 1 AND segment_id > 0`).Scan(&thread, &turn, &identity))
	said := newSayings()
	today := time.Now().UTC().Truncate(24 * time.Hour)
	const perDay = yearSays / yearDays
	for d := 1; d < yearDays; d++ {
		day := today.AddDate(0, 0, d-yearDays)
		at := func(d time.Duration) int64 { return day.Add(d).UnixMilli() }
		lastID++
		segment, first := lastID, lastMessage+1
		var rows, sent []any
		for n := range perDay {
			lastMessage++
			role, from, answers := "user", identity, int64(0)
			shown := day.Add(8*time.Hour + time.Duration(n)*2*time.Minute).UnixMicro()
			if n%2 == 1 {
				role, answers = "assistant", turn
				lastID++
				sent = append(sent, 1, lastID, lastMessage, identity, "web", "local", "1", "reply", "sent", "", shown/1000, 0)
			}
			text := said()
			rows = append(rows, 1, lastMessage, thread, segment, max(answers, turn), from, "web", role, "chat", text, len(text)/4, "{}", shown, shown, shown/1000, 0, 1, 0)
			if len(rows) >= 50*18 || n == perDay-1 {
				exec(len(rows)/18, `INSERT INTO messages (user_id, id, thread_id, segment_id, turn_id, identity_id, channel, role, kind, body, tokens, extra, position, shown, sent_at, platform_at, covered, solo) VALUES `, rows...)
				rows = nil
			}
		}
		exec(len(sent)/12, `INSERT INTO deliveries (user_id, id, message_id, identity_id, channel, account, external, kind, state, why, created_at, expires_at) VALUES `, sent...)
		label := day.Format(time.DateOnly)
		exec(1, `INSERT INTO segments (user_id, id, thread_id, label, zone, starts_at, ends_at, finalize_at, post_at, state, first_message, last_message, messages, version) VALUES `,
			1, segment, thread, label, "UTC", at(0), at(24*time.Hour), at(27*time.Hour), at(32*time.Hour), "final", first, lastMessage, perDay, 1)
		exec(1, `INSERT INTO summaries (user_id, segment_id, version, label, body, tokens, covers, model, usage, ungrounded, final, created_at) VALUES `,
			1, segment, 1, label, fmt.Sprintf("## Summary\n%s\n\n## Decisions\n- %s [#%d]", said(), said(), first), 60, fmt.Sprintf("[[%d,%d]]", first, lastMessage), "emulated", "{}", 0, 1, at(27*time.Hour))
	}
	_, err = db.ExecContext(ctx, `UPDATE users SET last_message = $1, last_id = $2 WHERE id = 1`, lastMessage, lastID)
	must(w.t, err)
	must(w.t, db.Commit())
}

// newSayings returns sentences that have names, numbers and dates in them.
func newSayings() func() string {
	talk, n := newChatter(1), 0
	some := make([]string, 2000)
	for i := range some {
		some[i] = talk.next()
	}
	return func() string {
		n++
		return fmt.Sprintf("%s, and %d of them. %s.", some[n%len(some)], n, some[(n*7+n/2000)%len(some)])
	}
}

// Each page for somebody with a year behind them, as a program gets it on this
// machine.
func TestBenchPageTimes(t *testing.T) {
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			database := ""
			if engine == "postgres" {
				database = newSchema(t)
			}
			w := newTown(t, database)
			g := w.start()
			v := g.newGuest(g.webCode())
			v.post("/messages", url.Values{"text": {"hello"}, "nonce": {nonceFor("hello")}})
			l := w.ledger()
			l.quiet(patience, g.log)
			g.stop()
			begin := time.Now()
			w.fillYear(l)
			t.Logf("%d messages were put there in %s", yearSays, time.Since(begin).Round(time.Second))
			begin = time.Now()
			g = w.start()
			v.g = g
			v = g.newGuest(newLink(w, g))
			for deadline := begin.Add(15 * time.Minute); l.count(`SELECT COUNT(*) FROM users WHERE id = 1 AND indexed < last_message`) > 0; time.Sleep(500 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("it is not indexed")
				}
			}
			t.Logf("they were indexed after %s", time.Since(begin).Round(time.Second))
			for n := range 40 {
				v.post("/messages", url.Values{"text": {fmt.Sprint("today ", n)}, "nonce": {nonceFor(fmt.Sprint(n))}})
				v.post("/threads", url.Values{"title": {fmt.Sprint("thread ", n)}})
				v.post("/memory", url.Values{"text": {fmt.Sprint("They said a thing numbered ", n)}, "theme": {"general"}, "type": {"fact"}})
			}
			l.quiet(60*time.Second, g.log)
			v.times(t, l)
		})
	}
}

// times measures the pages.
func (v *guest) times(t *testing.T, l *ledger) {
	t.Helper()
	id := l.lines(`SELECT MAX(id) FROM messages WHERE user_id = 1 AND role = 'assistant' AND kind = 'chat'`)[0]
	middle := time.Now().UTC().AddDate(0, 0, -180).Format(time.DateOnly)
	old := l.lines(`SELECT MIN(m.id) + 100 FROM messages m JOIN segments s ON s.user_id = m.user_id AND s.id = m.segment_id WHERE s.label = $1`, middle)[0]
	var table strings.Builder
	for _, path := range []string{"/", "/day/" + middle, "/day/" + middle + "?before=" + old, "/day/" + middle + "/history", "/m/" + old, "/days", "/search?q=plumber+harbour&scope=all", "/search?q=what+did+we+say+about+the+boat+in+May%3F&scope=all",
		"/search?q=harbour&scope=day&day=" + middle, "/threads", "/m/" + id + "/why", "/m/" + id + "/remember", "/memory", "/memory?q=thing", "/settings", "/admin", "/signin?code=ABCDEFGHJKLMNPQRSTUVWXYZ"} {
		var took []time.Duration
		size := 0
		for n := range 110 {
			begin := time.Now()
			r, body := v.get(path)
			if n >= 10 {
				took = append(took, time.Since(begin))
			}
			if size = len(body); r.StatusCode >= 400 {
				t.Fatalf("%s: %s", path, r.Status)
			}
		}
		slices.Sort(took)
		fmt.Fprintf(&table, "%-72s p50 %6.1f ms  p95 %6.1f ms  %4d KB\n", path, ms(took[50]), ms(took[95]), size>>10)
	}
	t.Logf("pages:\n%s", table.String())
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// The first page in a browser that has nothing of it yet.
func TestBenchPageCold(t *testing.T) {
	w := newTown(t, "")
	w.useModel(startModel(t, 0))
	g := w.start()
	v := g.newGuest(g.webCode())
	for n := range 60 {
		v.post("/messages", url.Values{"text": {fmt.Sprint("say ", n+10, " words")}, "nonce": {nonceFor(fmt.Sprint(n))}})
	}
	w.ledger().quiet(60*time.Second, g.log)
	const read = `new Promise((done) => setTimeout(() => {
		const n = performance.getEntriesByType('navigation')[0], all = [n, ...performance.getEntriesByType('resource').filter((x) => !x.name.includes('/live'))];
		let shift = 0;
		new PerformanceObserver((l) => { for (const e of l.getEntries()) shift += e.value; }).observe({type: 'layout-shift', buffered: true});
		let paint = 0;
		new PerformanceObserver((l) => { for (const e of l.getEntries()) paint = e.startTime; }).observe({type: 'largest-contentful-paint', buffered: true});
		setTimeout(() => done({Bytes: all.reduce((s, x) => s + x.transferSize, 0), Whole: all.reduce((s, x) => s + x.decodedBodySize, 0), Requests: all.length, Answer: n.responseEnd - n.startTime, Usable: n.domContentLoadedEventEnd, Loaded: n.loadEventEnd, Paint: paint, Shift: shift}), 200);
	}, 800))`
	for range 5 {
		p := g.newTab(t)
		p.look(1280, "light", "en")
		p.signIn(newLink(w, g))
		p.do(command(network.ClearBrowserCache, cdp.Empty{}))
		p.open("/")
		m := js[map[string]float64](p, read)
		t.Logf("%.0f bytes (%.0f unpacked) in %.0f requests; answer %.0f ms, usable %.0f ms, loaded %.0f ms, largest paint %.0f ms, layout shift %.4f",
			m["Bytes"], m["Whole"], m["Requests"], m["Answer"], m["Usable"], m["Loaded"], m["Paint"], m["Shift"])
	}
}

// firstToken is a model that says when it said its first word.
func firstToken(t *testing.T) (base string, said func() time.Time) {
	t.Helper()
	var at atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		chunk := func(text, finish string) {
			fmt.Fprintf(w, `data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":%q},"finish_reason":%s}]}`+"\n\n", text, finish)
			w.(http.Flusher).Flush()
		}
		w.(http.Flusher).Flush()
		time.Sleep(150 * time.Millisecond) // models think first
		at.Store(time.Now().UnixMicro())
		chunk("Firstword ", "null")
		for range 20 {
			time.Sleep(20 * time.Millisecond) // as a model speaks
			chunk("more ", "null")
		}
		chunk("", `"stop"`)
		fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	return s.URL, func() time.Time { return time.UnixMicro(at.Load()) }
}

// How long after the model's first word it is seen on the page.
func TestBenchPageFirstWord(t *testing.T) {
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			database := ""
			if engine == "postgres" {
				database = newSchema(t)
			}
			w := newTown(t, database)
			base, said := firstToken(t)
			w.useModel(base)
			g := w.start("EVERTHREAD_SUMMARIES_AFTER_MESSAGES=100000")
			p := g.newTab(t)
			p.signIn(g.webCode())
			l := w.ledger()
			var took []time.Duration
			for n := range 22 {
				js[chromedp.Void](p, `window.first = 0; window.watch?.disconnect(); window.watch = new MutationObserver(() => {
					if (!first && document.querySelector('.writing .prose')?.innerText.includes('Firstword')) first = performance.timeOrigin + performance.now();
				}); watch.observe(document.querySelector('#entries'), {subtree: true, childList: true, characterData: true})`)
				p.send(fmt.Sprint("question ", n))
				p.comes("first > 0")
				seen := time.UnixMicro(int64(js[float64](p, "first") * 1000))
				if n >= 2 {
					took = append(took, seen.Sub(said()))
				}
				p.comes("!document.querySelector('.writing')")
				l.quiet(patience, g.log)
			}
			slices.Sort(took)
			t.Logf("the first word is seen after the model said it: p50 %.1f ms, p95 %.1f ms, most %.1f ms", ms(took[len(took)/2]), ms(took[len(took)*95/100]), ms(took[len(took)-1]))
		})
	}
}

// follower is an open page, without the browser.
type follower struct {
	v    *guest
	last string
	mu   sync.Mutex
	seen map[string]bool
	open chan struct{}
}

// load gets the page, as it is before there are news.
func (f *follower) load() {
	_, body := f.v.get("/")
	f.last = html.UnescapeString(regexp.MustCompile(`data-last="([^"]*)"`).FindStringSubmatch(body)[1])
	for _, m := range regexp.MustCompile(`<article [^>]*id="(m\d+)"`).FindAllStringSubmatch(body, -1) {
		f.seen[m[1]] = true
	}
}

// follow reads the news of a page until ctx ends.
func (f *follower) follow(ctx context.Context, day string) {
	r := f.v.request(http.MethodGet, "/live?day="+day+"&last="+url.QueryEscape(f.last), nil).WithContext(ctx)
	client := *f.v.Client
	client.Timeout = 0
	resp, err := client.Do(r)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	select {
	case f.open <- struct{}{}:
	default:
	}
	event := ""
	for lines := bufio.NewReader(resp.Body); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch name {
		case "id":
			f.mu.Lock()
			f.last = value
			f.mu.Unlock()
		case "event":
			event = value
		case "data":
			var d struct{ ID string }
			if event == "entry" && json.Unmarshal([]byte(value), &d) == nil {
				f.mu.Lock()
				f.seen[d.ID] = true
				f.mu.Unlock()
			}
		}
	}
}

// 200 open pages of 20 people, who are all answered, while each page loses its
// connection now and then.
func TestBenchPageFollowers(t *testing.T) {
	const people, pages, rounds = 20, 10, 10
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			database := ""
			if engine == "postgres" {
				database = newSchema(t)
			}
			w := newTown(t, database)
			w.useModel(startModel(t, 10*time.Millisecond))
			for n := range people - 1 {
				w.addUser(fmt.Sprint("P", n+2))
			}
			g := w.start("EVERTHREAD_SUMMARIES_AFTER_MESSAGES=100000", "EVERTHREAD_CHANNELS_WEB_SIGN_INS_PER_MINUTE=1000")
			day := time.Now().UTC().Format(time.DateOnly)
			link := func(user int) string {
				return w.signInCode(fmt.Sprint(user))
			}
			var all []*follower
			var guests []*guest
			for n := range people {
				v := g.newGuest(link(n + 1))
				v.post("/messages", url.Values{"text": {"hello"}, "nonce": {nonceFor(fmt.Sprint("hello", n))}})
				guests = append(guests, v)
				for range pages {
					all = append(all, &follower{v: v, seen: map[string]bool{}, open: make(chan struct{}, 1)})
				}
			}
			l := w.ledger()
			l.quiet(60*time.Second, g.log)
			say := func(n int) {
				for i, v := range guests {
					v.post("/messages", url.Values{"text": {fmt.Sprintf("say %d words", 20+n)}, "nonce": {nonceFor(fmt.Sprint(n, i))}})
				}
			}
			before := 0
			for n := range rounds { // what it takes without open pages
				say(100 + n)
				l.quiet(60*time.Second, g.log)
				before = max(before, g.memory())
			}
			for _, f := range all {
				f.load()
			}
			ctx, cancel := context.WithCancel(t.Context())
			var work sync.WaitGroup
			cuts := make([]atomic.Pointer[context.CancelFunc], len(all))
			for i, f := range all {
				work.Go(func() {
					for ctx.Err() == nil {
						one, cut := context.WithCancel(ctx)
						cuts[i].Store(&cut)
						f.follow(one, day)
						cut()
					}
				})
			}
			for _, f := range all {
				<-f.open
			}
			time.Sleep(time.Second) // at rest
			idle := g.memory()
			most := idle
			for n := range rounds {
				say(n)
				for i := range all {
					if i%3 == n%3 {
						(*cuts[i].Load())()
					}
				}
				l.quiet(60*time.Second, g.log)
				most = max(most, g.memory())
			}
			time.Sleep(2 * time.Second) // the work goes on for a while
			cancel()
			work.Wait()
			missed := 0
			for i, f := range all {
				for _, id := range l.lines(`SELECT id FROM messages WHERE user_id = $1 AND kind = 'chat'`, i/pages+1) {
					if !f.seen["m"+id] {
						missed++
					}
				}
			}
			t.Logf("%d pages: without them at most %.1f MB, with them idle %.1f MB, at most %.1f MB; messages missed over %d reconnects: %d", len(all), mb(before), mb(idle), mb(most), rounds*len(all)/3, missed)
			if missed > 0 {
				t.Errorf("%d messages were missed", missed)
			}
		})
	}
}

func mb(bytes int) float64 { return float64(bytes) / (1 << 20) }

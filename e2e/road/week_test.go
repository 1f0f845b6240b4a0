//go:build e2e

package road

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

// TestWeek_ofThingsOfToday: in a week a person asks about things of today, has a calendar and a mailbox, chooses another
// model twice and allows one tool for good. The test logs what they saw, the bill, and what left the machine to whom.
func TestWeek_ofThingsOfToday(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		l := e2etest.NewLookup(t, 0)
		local := e2etest.NewMoody(t, e2etest.MoodyAnswer{To: "tell ann that I am late", Text: "Done: %s", Tool: "shop_mail",
			Args: `{"to":"ann"}`}, e2etest.MoodyAnswer{To: "who are you?", Text: "I am the local one."})
		w := e2etest.NewClock(t, database(t))
		w.UseModel(l.Model)
		path := w.Shops(t)
		calendar := calendars(t)
		port, trusted := mailbox(t)
		w.Env = append(w.Env, "SSL_CERT_FILE="+trusted, "EVERTHREAD_WEB_SEARXNG_URL="+l.Engine, "EVERTHREAD_ALLOW_PRIVATE_URLS=true",
			fmt.Sprintf("EVERTHREAD_DAY_AHEAD_CALENDARS=[{name: Work, url: %q, user: 2}]", calendar.URL+"/s3cr3t/good.ics"),
			fmt.Sprintf("EVERTHREAD_DAY_AHEAD_MAIL=[{name: Post, host: 127.0.0.1, port: %d, username: ada, password: s3cr3t, user: 2}]", port),
			"EVERTHREAD_SUMMARY_LLM_PROVIDER=openai", "EVERTHREAD_SUMMARY_LLM_MODEL=writer",
			"EVERTHREAD_SUMMARY_LLM_BASE_URL="+e2etest.StartModel(t, 0)+"/v1", "EVERTHREAD_SUMMARY_LLM_API_KEY=none",
			"EVERTHREAD_LLM_PRICES_PROMPT=10", "EVERTHREAD_LLM_PRICES_COMPLETION=40",
			fmt.Sprintf("EVERTHREAD_LLM_CHOICES={local: {provider: openai, base_url: %q, model: tiny, prices: {prompt: 1, completion: 4}}}", local.URL))
		g := w.Start()
		g.Up()
		says := func(to, want string) string {
			t.Helper()
			got := w.Ask(to).Text
			if t.Logf("> %s\n%s", to, got); !strings.Contains(got, want) {
				t.Errorf("to %q it said %q, want %q", to, got, want)
			}
			return got
		}
		first := time.Date(2026, 10, 24, 9, 0, 0, 0, w.Zone)
		for n := range 7 {
			w.Set(first.AddDate(0, 0, n))
			switch n {
			case 0:
				w.Set(first.Add(-90 * time.Minute)) // before the time of posts: a new user is not told of a day that has begun
			case 1, 4:
				says("/model local", "From now on I answer you with tiny")
				says("who are you?", "I am the local one.")
			case 2, 5:
				says("/model default", "From now on I answer you with")
			}
			if n == 4 {
				says("tell ann that I am late", "May I?")
				says("/yes "+w.Ledger().Lines(`SELECT code FROM approvals WHERE state = 'open'`)[0]+" always", "Noted.")
				says("tell ann that I am late", "sent to ann")
			} else if n%3 != 1 {
				says("what is the weather tomorrow?", "It rains tomorrow, says "+l.Site+"/lyon")
			}
			says("/today", "Dentist")
			w.Set(first.AddDate(0, 0, n+1).Add(-6*time.Hour + 5*time.Minute))
			w.Until(first.AddDate(0, 0, n).Format(time.DateOnly), func(d e2etest.DayJSON) bool { return d.State == "final" })
			w.Set(first.AddDate(0, 0, n+1).Add(-time.Hour + time.Second))
			post := w.Receive()
			if t.Logf("< %s", post.Text); !strings.Contains(post.Text, "Dentist") || !strings.Contains(post.Text, "Café?") {
				t.Errorf("the post of day %d: %q", n, post.Text)
			}
		}
		bill := says("/usage", "USD")
		for _, want := range []string{"• tiny (local): 7,600", "tiny (local): 0.0", "writer: "} {
			if !strings.Contains(bill, want) {
				t.Errorf("the bill lacks %q", want)
			}
		}
		queries, read := l.Searched()
		t.Logf("to the search engine: %q; pages read: %q; mails: %q; models: the default and tiny", queries, read, e2etest.Calls(t, path))
		for _, q := range queries {
			if q != "weather lyon" {
				t.Errorf("searched for %q", q)
			}
		}
		mails := 0
		for _, call := range e2etest.Calls(t, path) {
			if strings.HasPrefix(call, "mail") {
				mails++
			}
		}
		if len(queries) != 5 || mails != 2 || len(read) > len(queries) {
			t.Errorf("%d queries, %d pages, %d mails", len(queries), len(read), mails)
		}
		g.Stop()
	})
}

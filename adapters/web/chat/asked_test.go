package chat

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/everthread/everthread/adapters/web/webtest"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

// rebuilder returns the same prompt for every snapshot.
type rebuilder func() ([]core.ModelMessage, error)

func (r rebuilder) Rebuild(context.Context, core.UserID, *store.Snapshot) ([]core.ModelMessage, error) {
	return r()
}

func TestWhy_showsThePrompt(t *testing.T) {
	t.Parallel()
	broken := false
	w := newWorld(t, func(o *Options) {
		o.Rebuilder = rebuilder(func() ([]core.ModelMessage, error) {
			if broken {
				return nil, errors.New("gone")
			}
			return []core.ModelMessage{{Role: core.RoleSystem, Content: "Be <kind>."},
				{Role: core.RoleAssistant, ToolCalls: []core.ToolCall{{Name: "time_now", Arguments: "{}"}}}}, nil
		})
	})
	p := w.Ana.SignedIn()
	q, a := p.Talks("hello", "hello")
	got := p.Get("/m/" + strings.TrimPrefix(webtest.Name(a), "m") + "/why")
	got.Wants(t, 200, "Why did it say that?", "<dd>today, the last", "it is the first in the conversation", "included 9",
		"shortened 1", "Instructions", "310", "1,186", "of at most 6,150", "2,431 tokens read (1,800 of them", "64 written",
		"410\u00a0ms", "1.9\u00a0s", "another 1,240 tokens", "Today", "1 message", "Be &lt;kind&gt;.", "time_now")
	p.Get("/m/"+strings.TrimPrefix(webtest.Name(q), "m")+"/why").Wants(t, 200, "the model did not write it")
	broken = true
	p.Get("/m/2/why").Wants(t, 200, "not available")
	r := p.Request(http.MethodGet, "/m/2/why", nil)
	r.Header.Set("X-Part", "1")
	part := p.Do(r)
	part.Wants(t, 200, "Parts of the prompt")
	part.Lacks(t, "<html", "<nav")
}

func TestRemember_fromAMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	p.Says("I am allergic to nuts.")
	p.Get("/m/1/remember").Wants(t, 200, "I am allergic to nuts.", `value="general" selected`,
		`value="fact" selected`, "Preference")
	a := p.Post("/m/1/remember", url.Values{"text": {"Allergic to nuts"}, "theme": {"general"}, "new": {"Health"},
		"type": {"preference"}})
	a.Wants(t, http.StatusSeeOther)
	p.Get(a.Header.Get("Location")).Wants(t, 200, "Remembered.")
	items, err := w.Store.Items(w.Context, store.ItemQuery{User: p.User.ID, Limit: 10})
	w.Must(err)
	if len(items) != 1 || items[0].Theme != "health" || items[0].Type != core.ItemPreference ||
		items[0].SourceMessage != 1 || items[0].Content != "Allergic to nuts" {
		t.Fatalf("got %+v", items)
	}
	a = p.Post("/m/1/remember", url.Values{"text": {"Allergic to nuts"}, "theme": {"general"}, "type": {"fact"}})
	p.Get(a.Header.Get("Location")).Wants(t, 200, "This is already known", "under health")
	p.Post("/m/1/remember", url.Values{"text": {"?!"}, "type": {"fact"}}).Wants(t, http.StatusUnprocessableEntity,
		"cannot be remembered")
	p.Post("/m/1/remember", url.Values{"text": {"x"}, "type": {"nonsense"}}).Wants(t, http.StatusUnprocessableEntity)
}

func TestForget_asksFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	p.Says("a secret")
	p.Get("/m/1/forget").Wants(t, 200, "a secret", "removed everywhere and for good", "Cancel")
	if len(w.Gate.Acted) > 0 {
		t.Fatal("a look removed it")
	}
	p.Post("/m/1/forget", nil).Wants(t, http.StatusSeeOther)
	if !slices.ContainsFunc(w.Gate.Acted, func(e core.Effect) bool {
		r, ok := e.(effect.Redact)
		return ok &&
			r.Message == 1
	}) {
		t.Errorf("got %v", w.Gate.Acted)
	}
}

// TestSearch_onlyThisDay searches from the page of a day: a chip limits the search to it, and is taken away again.
func TestSearch_onlyThisDay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	p.At(29, 10, 0)
	p.Talks("what about tomatoes", "tomatoes need sun")
	p.At(31, 10, 0)
	p.Talks("tomatoes again", "again?")
	p.Get("/day/2026-01-29").Wants(t, 200, `href="/search?day=2026-01-29"`, `name="day" value="2026-01-29"`)
	all := p.Get("/search?q=tomatoes&day=2026-01-29")
	all.Wants(t, 200, "need sun", "</mark> again", "Only this day: Thursday 29 January")
	only := html.UnescapeString(all.Between(t, `class="chip" href="`, `"`))
	limited := p.Get(only)
	limited.Wants(t, 200, "need sun", `name="scope" value="day"`, `aria-label="Take away: Only this day: Thursday 29 January"`)
	limited.Lacks(t, "</mark> again")
	p.Get(html.UnescapeString(limited.Between(t, `class="chip" href="`, `"`))).Wants(t, 200, "need sun", "</mark> again")
	p.Get("/search?q=tomatoes&day=2026-01-29&scope=day&from=2026-01-30").Wants(t, 200, "</mark> again")
	p.Get("/search?q=tomatoes&day=2026-01-30&scope=day").Wants(t, 200, "Nothing that matches your filters")
	p.Get("/search?q=tomatoes").Lacks(t, `class="chip"`)
}

func TestSearch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	p.At(29, 10, 0)
	q, a := p.Talks("what about tomatoes", "tomatoes need sun")
	p.Sums("## Summary\nWe spoke of tomatoes.", false, q, a)
	p.At(31, 10, 0)
	p.Talks("tomatoes again", "again?")
	all := p.Get("/search?q=tomatoes")
	all.Wants(t, 200, "4 results", "Summary · Thursday 29 January", "Telegram · <time", "Thursday 29 January, 10:00",
		"score: <b>0.78</b>", "covered by a summary: <b>yes</b>", "covered by a summary: <b>no</b>", "Why was this found?",
		"<mark>tomatoes</mark>", `href="/m/1"`, `href="/day/2026-01-29#summary"`, "Open", "by words", "beside it",
		`value="tomatoes"`)
	all.Lacks(t, "In threads", "## Summary", "filters\" open")
	for path, c := range map[string]struct{ wants, lacks string }{
		"&scope=day&day=2026-01-31":        {"again", "need sun"},
		"&from=2026-01-30":                 {"again", "need sun"},
		"&from=2026-01-30&to=2026-01-29":   {"need sun", "Nothing found"},
		"&to=2026-01-29":                   {"need sun", "</mark> again"},
		"&who=assistant":                   {"need sun", "what about"},
		"&who=me":                          {"what about", "need sun"},
		"&kind=summary":                    {"We spoke of", "what about"},
		"&kind=message":                    {"what about", "We spoke of"},
		"&channel=signal":                  {"Nothing that matches your filters", "what about"},
		"&who=x&kind=y&from=z&to=30-01-01": {"4 results", "Nothing found"},
	} {
		a := p.Get("/search?q=tomatoes" + path)
		a.Wants(t, 200, c.wants)
		a.Lacks(t, c.lacks)
	}
	p.Get("/search?q=tomatoes&channel=telegram&who=me&from=2026-01-02").Wants(t, 200, `filters" open`,
		`<option value="telegram" selected>Telegram`, `<option value="me" selected>`, `value="2026-01-02"`,
		`href="/search?q=tomatoes"`, "Search everything")
	p.Get("/search?q=zebra").Wants(t, 200, "Nothing found", "fewer or other words")
	p.Get("/search").Wants(t, 200, "Try the words that were used")
}

func TestSearch_findsThreads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	_, err := w.Gate.Act(w.Context, p.User.ID, effect.OpenThread{Identity: p.Door.ID, Title: "Garden & co",
		At: w.Clock.Now()})
	w.Must(err)
	threads, err := w.Store.Threads(w.Context, p.User.ID, 1)
	w.Must(err)
	id := p.Says("when do *tomatoes* ripen?", func(s *webtest.Said) { s.Thread = threads[0].ID })
	found := p.Get("/search?q=tomato")
	found.Wants(t, 200, "In threads", "“<bdi>Garden &amp; co</bdi>”", "when do <mark>tomato</mark>es ripen?",
		fmt.Sprintf(`href="/m/%d"`, id))
	found.Lacks(t, "Nothing found", "newest messages of your threads", "results")
	if to := p.Get(fmt.Sprintf("/m/%d", id)).Header.Get("Location"); !strings.HasPrefix(to, "/threads/") {
		t.Errorf("it opens %s", to)
	}
	w.Bob.SignedIn().Get("/search?q=tomato").Wants(t, 200, "Nothing found")
	p.Get("/search?q=tomato&kind=summary").Wants(t, 200, "Nothing that matches your filters")
}

func TestSearch_snippetReadsAsShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	p.Talks("**tomatoes** and <script>\nneed [sun](https://sun.example)", "## Good\n- `tomatoes`")
	found := p.Get("/search?q=tomatoes")
	found.Wants(t, 200, "<mark>tomatoes</mark> and &lt;script&gt; need sun", "Good")
	found.Lacks(t, "**", "`", "<script>\n", "## Good")
}

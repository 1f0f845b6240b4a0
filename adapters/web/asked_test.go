package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/everthread/everthread/core"
)

func TestWhyDidItSayThat(t *testing.T) {
	t.Parallel()
	broken := false
	w := newWorld(t, func(o *Options) {
		o.Prompt = func(_ context.Context, user core.UserID, s *core.Snapshot) ([]core.ModelMessage, error) {
			if broken {
				return nil, errors.New("gone")
			}
			return []core.ModelMessage{{Role: core.RoleSystem, Content: "Be <kind>."},
				{Role: core.RoleAssistant, ToolCalls: []core.ToolCall{{Name: "time_now", Arguments: "{}"}}}}, nil
		}
	})
	p := w.ana.signedIn()
	q, a := p.talks("hello", "hello")
	got := p.get("/m/" + strings.TrimPrefix(name(a), "m") + "/why")
	got.wants(t, 200, "Why did it say that?", "continuous: today", "it is the first of the conversation", "included 9",
		"shortened 1", "Instructions", "310", "1,186", "of at most 6,150", "2,431 tokens read (1,800 of them", "64 written",
		"410\u00a0ms", "1.9\u00a0s", "1,240 tokens besides", "Today", "#1", "Be &lt;kind&gt;.", "time_now")
	p.get("/m/"+strings.TrimPrefix(name(q), "m")+"/why").wants(t, 200, "it is no answer of the model")
	broken = true
	p.get("/m/2/why").wants(t, 200, "not available")
	r := p.request(http.MethodGet, "/m/2/why", nil)
	r.Header.Set("X-Part", "1")
	part := p.do(r)
	part.wants(t, 200, "Parts of the prompt")
	part.lacks(t, "<html", "<nav")
}

func TestRememberThis(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.ana.signedIn()
	p.says("I am allergic to nuts.")
	p.get("/m/1/remember").wants(t, 200, "I am allergic to nuts.", `value="general" selected`,
		`value="fact" selected`, "Preference")
	a := p.post("/m/1/remember", url.Values{"text": {"Allergic to nuts"}, "theme": {"general"}, "new": {"Health"},
		"type": {"preference"}})
	a.wants(t, http.StatusSeeOther)
	p.get(a.header.Get("Location")).wants(t, 200, "Remembered.")
	items, err := w.store.Items(w.ctx, core.ItemQuery{User: p.user.ID, Limit: 10})
	w.must(err)
	if len(items) != 1 || items[0].Theme != "health" || items[0].Type != core.ItemPreference ||
		items[0].SourceMessage != 1 || items[0].Content != "Allergic to nuts" {
		t.Fatalf("got %+v", items)
	}
	a = p.post("/m/1/remember", url.Values{"text": {"Allergic to nuts"}, "theme": {"general"}, "type": {"fact"}})
	p.get(a.header.Get("Location")).wants(t, 200, "This is known already", "under health")
	p.post("/m/1/remember", url.Values{"text": {"?!"}, "type": {"fact"}}).wants(t, http.StatusUnprocessableEntity,
		"cannot be remembered")
	p.post("/m/1/remember", url.Values{"text": {"x"}, "type": {"nonsense"}}).wants(t, http.StatusUnprocessableEntity)
}

func TestForgettingIsAskedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.ana.signedIn()
	p.says("a secret")
	p.get("/m/1/forget").wants(t, 200, "a secret", "removed everywhere and for good", "Cancel")
	if len(w.gate.acted) > 0 {
		t.Fatal("a look removed it")
	}
	p.post("/m/1/forget", nil).wants(t, http.StatusSeeOther)
	if !slices.ContainsFunc(w.gate.acted, func(e core.Effect) bool {
		r, ok := e.(core.Redact)
		return ok &&
			r.Message == 1
	}) {
		t.Errorf("got %v", w.gate.acted)
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.ana.signedIn()
	p.at(29, 10, 0)
	q, a := p.talks("what about tomatoes", "tomatoes need sun")
	p.sums("## Summary\nWe spoke of tomatoes.", false, q, a)
	p.at(31, 10, 0)
	p.talks("tomatoes again", "again?")
	all := p.get("/search?q=tomatoes&scope=all&day=2026-01-31")
	all.wants(t, 200, "Results", "kind: <b>summary</b>", "kind: <b>message</b>", "<b>2026-01-29</b>", "score: <b>0.78</b>",
		"covered by summary: <b>yes</b>", "covered by summary: <b>no</b>", "<mark>tomatoes</mark>", `href="/m/1"`,
		`href="/day/2026-01-29#summary"`, "Open", "by words")
	day := p.get("/search?q=tomatoes&scope=day&day=2026-01-31")
	day.wants(t, 200, "again")
	day.lacks(t, "2026-01-29</b>")
	p.get("/search?q=zebra").wants(t, 200, "Nothing found")
	p.get("/search").wants(t, 200, "Try the words that were used")
	p.get("/search?q=x&day=nonsense&scope=day").wants(t, 200, "Nothing found")
	off := newWorld(t, func(o *Options) { o.Search = nil })
	off.ana.signedIn().get("/search?q=x").wants(t, http.StatusServiceUnavailable, "not available")
}

func TestSnippetsAreMarked(t *testing.T) {
	t.Parallel()
	cases := []struct{ snippet, query, want string }{
		{"the tomatoes need sun", "tomatoes", "the [tomatoes] need sun"},
		{"Tomatoes, tomatoes!", "TOMATOES?", "[Tomatoes], [tomatoes]!"},
		{"automate tomato", "tomato", "automate [tomato]"},
		{"été en été", "été", "[été] en [été]"},
		{"nothing here", "zebra", "nothing here"},
		{"", "x", ""},
		{"İstanbul", "istanbul", "İstanbul"},
		{"<script> alert", "<script>", "[<script>] alert"},
	}
	for _, c := range cases {
		var b strings.Builder
		for _, p := range marked(c.snippet, c.query) {
			if p.Mark {
				b.WriteString("[" + p.Text + "]")
			} else {
				b.WriteString(p.Text)
			}
		}
		if b.String() != c.want {
			t.Errorf("%q in %q: got %q, want %q", c.query, c.snippet, b.String(), c.want)
		}
	}
}

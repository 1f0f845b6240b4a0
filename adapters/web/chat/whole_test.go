package chat

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/web/webtest"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

// cut stores a message, and an answer that lacks its end, from a server that does not take everything.
func cut(p *webtest.Person, asked string, why core.Finish, more ...func(*webtest.Said)) {
	p.Says(asked, more...)
	p.Clock.Pass(time.Second)
	t, now := p.Turn(), p.Clock.Now()
	_, err := p.Store.Commit(p.Context, store.Reply{Turn: t, State: core.TurnDone, Now: now,
		Day:      webtest.DayOf(p.User.Settings, now).Label,
		Snapshot: &store.Snapshot{Model: "thinker", Reduced: []core.Reduction{core.ReducedTools}},
		Messages: []core.NewMessage{{Role: core.RoleAssistant, Kind: core.KindChat, Text: "Once upo", SentAt: now,
			Unfinished: why}}}, nil)
	p.Must(err)
}

// TestUnfinished_saysWhyAndGoesOn shows why an answer lacks its end, and a button below the newest only, which sends
// the command as a message of the same conversation.
func TestUnfinished_saysWhyAndGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	const button = `<button class="button">Continue</button>`
	cut(p, "a tale", core.FinishStopped)
	cut(p, "a story", core.FinishLength)
	page := p.Get("/")
	page.Wants(t, 200, `<p class="unfinished">… The answer got too long and was cut off here.</p>`,
		`<p class="unfinished">Stopped.</p>`, button)
	if n := strings.Count(page.Body, button); n != 1 {
		t.Errorf("%d buttons", n)
	}
	form := regexp.MustCompile(`class="answer"><input type="hidden" name="account" value="\d+"><input type="hidden" name="text" value="(.*?)"><input type="hidden" name="nonce" value="(.*?)">`)
	found := form.FindStringSubmatch(page.Body)
	if found == nil || found[1] != "/continue" {
		t.Fatalf("got %q", found)
	}
	p.Post("/messages", url.Values{"text": {found[1]}, "nonce": {found[2]}}).Wants(t, http.StatusSeeOther)
	if in := w.Gate.Received; len(in) != 1 || in[0].Text != "/continue" || in[0].Thread != 0 {
		t.Errorf("received %+v", in)
	}
	p.Answers("n a time.") // to the command
	p.Get("/").Lacks(t, button)
}

// TestUnfinished_inAThread goes on in the thread.
func TestUnfinished_inAThread(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	thread, err := w.Store.ThreadNamed(w.Context, p.User.ID, "Recipes", w.Clock.Now())
	w.Must(err)
	cut(p, "a cake", core.FinishCut, func(s *webtest.Said) { s.Thread = thread.ID })
	p.Get(place{thread: thread}.path()).Wants(t, 200, "The connection to the model broke off here.",
		fmt.Sprintf(`<input type="hidden" name="thread" value="%d"><button class="button">Continue`, thread.ID))
}

func TestWhy_namesWhatTheServerDoesNotTake(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	cut(p, "a tale", core.FinishLength)
	p.Get("/m/2/why").Wants(t, 200, "thinker", "The model&#39;s server", "it does not use tools")
}

func TestModel_isNamedByTheComposer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *Options) {
		o.Models = func(core.UserID) []core.ModelChoice { return []core.ModelChoice{{Model: "gpt-<x>"}} }
	})
	w.Ana.SignedIn().Get("/").Wants(t, 200, `<p class="model">Model: gpt-&lt;x&gt;</p>`)
}

func TestModel_othersAreInTheSettings(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *Options) {
		o.Models = func(core.UserID) []core.ModelChoice {
			return []core.ModelChoice{{Model: "large"}, {Name: "home", Model: "qwen"}}
		}
	})
	p := w.Ana.SignedIn()
	p.Get("/").Wants(t, 200, `<p class="model">Model: large · <a href="/settings/assistant">Change</a></p>`)
	if _, err := w.Gate.Act(w.Context, p.User.ID, effect.SetSettings{Settings: core.Settings{Model: "home"}}); err != nil {
		t.Fatal(err)
	}
	p.Get("/").Wants(t, 200, "Model: qwen")
}

func TestStop_saysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	p.Says("a tale")
	a := p.Post("/stop", url.Values{})
	a.Wants(t, http.StatusSeeOther)
	p.Get(a.Header.Get("Location")).Wants(t, 200, "Stopped.")
}

package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/adapters/telegram"
	"github.com/everthread/everthread/adapters/whatsapp"
	"github.com/everthread/everthread/adapters/whatsapp/agent"
	"github.com/everthread/everthread/adapters/whatsapp/agent/agenttest"
	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/configs/section"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/people"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/store/sqlite/sqlitetest"
)

// newPage returns an app over an embedded store, with its owner.
func newPage(t *testing.T, change func(*configs.Config)) (*app, core.User) {
	t.Helper()
	c := configs.Default(sections()...)
	c.DataDir, c.SecretKey = t.TempDir(), "secret"
	change(&c)
	st := sqlitetest.Open(t, c.DataDir)
	a, shut, err := newApp(t.Context(), newProcess(c, zap.NewNop(), st, time.Now), (&console{}).newSettings(st, c, nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(shut)
	owner, _, err := a.People.EnsureOwner(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return a, owner
}

// sectionOf returns the section of a type.
func sectionOf[T section.Section](c *configs.Config) (out T) {
	for _, s := range c.Channels.Sections {
		if one, ok := s.(T); ok {
			out = one
		}
	}
	return out
}

func TestOffice_appsHaveLinks(t *testing.T) {
	t.Parallel()
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		switch {
		case strings.HasSuffix(r.URL.Path, "/getMe"):
			_, _ = w.Write([]byte(`{"ok": true, "result": {"username": "thread_bot"}}`))
		case r.Header.Get("Authorization") == "Bearer token":
			_, _ = w.Write([]byte(`{"display_phone_number": "+1 555-000-1234"}`))
		}
	}))
	t.Cleanup(s.Close)
	a, _ := newPage(t, func(c *configs.Config) {
		b := sectionOf[*telegram.Config](c)
		b.Token, b.APIURL = "1:a", s.URL
		w := sectionOf[*whatsapp.Config](c)
		w.PhoneNumberID, w.AccessToken, w.AppSecret, w.VerifyToken, w.APIURL = "77", "token", "s", "v", s.URL
	})
	links := func() []string {
		var out []string
		for _, app := range a.Apps(t.Context()) {
			out = append(out, app.Name+" "+app.Link("/link AB CD"))
		}
		return out
	}
	got := strings.Join(links(), "\n")
	if got != "@thread_bot https://t.me/thread_bot?text=%2Flink%20AB%20CD\n+15550001234 https://wa.me/15550001234?text=%2Flink%20AB%20CD" {
		t.Errorf("got %s", got)
	}
	before := asked
	a.Apps(t.Context())
	a.Apps(t.Context())
	if before != 2 || asked != before {
		t.Errorf("what is known is asked again: %d", asked-before)
	}
	s.Close()
	away, _ := newPage(t, func(c *configs.Config) {
		b := sectionOf[*telegram.Config](c)
		b.Token, b.APIURL = "1:a", s.URL
	})
	if apps := away.Apps(t.Context()); len(apps) > 0 {
		t.Errorf("got %+v of services that do not answer", apps)
	}
}

func TestOffice_triesKeysOfAgents(t *testing.T) {
	t.Parallel()
	s := agenttest.New()
	t.Cleanup(s.Close)
	s.Add("good", "15550001")
	a, owner := newPage(t, func(c *configs.Config) { sectionOf[*agent.Config](c).APIURL = s.URL() })
	p := engine.Agents{Engine: a.Engine}
	if err := p.Check(t.Context(), "good"); err != nil {
		t.Error(err)
	}
	err := p.Check(t.Context(), "bad")
	if err == nil || strings.Contains(err.Error(), "user 1") || strings.Contains(err.Error(), "bad") {
		t.Errorf("got %v", err)
	}
	if err := p.Add(t.Context(), owner.ID, "Mine", "good", time.Now()); err != nil {
		t.Fatal(err)
	}
	keys, err := a.store.AgentKeys(t.Context())
	if err != nil || len(keys) != 1 || strings.Contains(keys[0].Sealed, "good") {
		t.Fatalf("got %+v, %v", keys, err)
	}
	var host channel.Host
	h := &engine.Hosting{Process: newProcess(a.Config, zap.NewNop(), a.store, time.Now)}
	if _, err := h.Open(t.Context(), hostedConfig{sectionOf[*agent.Config](&a.Config), &host}); err != nil {
		t.Fatal(err)
	}
	if opened, err := host.Store.Keys(t.Context()); err != nil || len(opened) != 1 || opened[0].Secret != "good" {
		t.Errorf("got %+v, %v", opened, err)
	}
	if all, err := p.List(t.Context(), owner.ID+1); err != nil || len(all) > 0 {
		t.Errorf("another sees %+v, %v", all, err)
	}
	if err := p.Remove(t.Context(), owner.ID, keys[0].ID); err != nil {
		t.Error(err)
	}
}

// hostedConfig records the host of its channel.
type hostedConfig struct {
	channel.Config
	host *channel.Host
}

func (c hostedConfig) Open(_ context.Context, h channel.Host) (core.Channel, error) {
	*c.host = h
	return nil, nil
}

func TestOffice_optionsOfThePages(t *testing.T) {
	t.Parallel()
	a, owner := newPage(t, func(c *configs.Config) { c.LLM.Prices.Prompt = 2.5 })
	if got := a.officeOptions().Prices[0].Prices; got != (core.Prices{Prompt: 2.5, Currency: "USD"}) {
		t.Errorf("got %+v", got)
	}
	var b bytes.Buffer
	if err := a.Export(t.Context(), &b, owner.ID); err != nil || !bytes.HasPrefix(b.Bytes(), []byte("PK")) {
		t.Errorf("the export is %q, %v", b.Bytes()[:min(b.Len(), 9)], err)
	}
	u, err := a.store.AddUser(t.Context(), core.User{Name: "Bob", Role: core.RoleMember, CreatedAt: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	if left, err := a.Delete(t.Context(), u.ID, func(people.Deletion) {}); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if _, err := a.store.User(t.Context(), u.ID); err == nil {
		t.Error("a deleted user is there")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	found := inspector{a}.Check(ctx, "en")
	if len(found) < 5 || !found[0].OK {
		t.Errorf("got %+v", found)
	}
	if _, on := a.Running("web"); !on {
		t.Error("the page is not there")
	}
	if _, on := a.Running("signal"); on {
		t.Error("signal is there")
	}
}

// TestTraces_searchFileOnlyWhenAlone: the file of the embedded store holds the messages of
// everybody, so it is searched only for a user who is alone on it.
func TestTraces_searchFileOnlyWhenAlone(t *testing.T) {
	t.Parallel()
	a, owner := newPage(t, func(*configs.Config) {})
	look := func(user core.UserID) (n int, files bool) {
		t.Helper()
		found, files, err := a.Traces(t.Context(), user, "ostrich")
		if err != nil {
			t.Fatal(err)
		}
		return len(found), files
	}
	if n, files := look(owner.ID); n > 0 || !files {
		t.Errorf("alone: %d, files %v", n, files)
	}
	bob, err := a.store.AddUser(t.Context(), core.User{Name: "ostrich", Role: core.RoleMember, CreatedAt: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	for user, want := range map[core.UserID]int{owner.ID: 0, bob.ID: 1} { // their own name is theirs
		if n, files := look(user); n != want || files {
			t.Errorf("user %d: %d places, want %d, files %v", user, n, want, files)
		}
	}
}

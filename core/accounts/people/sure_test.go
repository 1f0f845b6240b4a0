package people_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/people"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

// sure asks in a browser whether the owner confirms a change.
func (h *house) sure(s store.Session, c effect.AccountSubject) (core.Identity, bool) {
	h.t.Helper()
	u, err := h.Store.User(h.t.Context(), h.owner.ID)
	must(h.t, err)
	at, ok, err := h.Sure(h.t.Context(), u, s, c)
	must(h.t, err)
	return at, ok
}

// yes approves the newest question.
func (h *house) yes() effect.Approval {
	h.t.Helper()
	all, err := h.Store.Approvals(h.t.Context(), h.owner.ID, 0, 1)
	must(h.t, err)
	_, err = h.Store.Note(h.t.Context(), store.Note{User: h.owner.ID, Now: h.now,
		Effects: []core.Effect{effect.Decide{Approval: all[0].ID, Identity: all[0].Identity, Yes: true, At: h.now}}})
	must(h.t, err)
	return all[0]
}

func TestSure_asksWhereSomebodyElseIs(t *testing.T) {
	t.Parallel()
	h := newHouse(t, people.Pairing)
	ctx := t.Context()
	add := func(channel, external string) core.Identity {
		h.now = h.now.Add(time.Second)
		i, err := h.Store.AddIdentity(ctx, core.Identity{User: h.owner.ID,
			Address: core.Address{Channel: channel, External: external}, LastUsed: h.now})
		must(t, err)
		return i
	}
	here, _, err := h.Store.Identify(ctx, h.home)
	must(t, err)
	n := 0
	asked := func(through core.IdentityID) core.Identity {
		n++
		at, ok := h.sure(store.Session{ID: 1, Identity: through}, effect.AccountSubject{Change: effect.ChangeAdminKey,
			Name: fmt.Sprint("key ", n)})
		if ok {
			t.Error("a change counts as confirmed without a yes")
		}
		return at
	}
	if got := asked(here.ID); got.ID != here.ID {
		t.Errorf("with one app: asked at %+v", got)
	}
	phone, door := add("whatsapp", "1555"), add("web", "door")
	if got := asked(here.ID); got.ID != phone.ID {
		t.Errorf("through Telegram: asked at %+v", got)
	}
	if got := asked(phone.ID); got.ID != here.ID {
		t.Errorf("through WhatsApp: asked at %+v", got)
	}
	must(t, h.Store.SetBlocked(ctx, h.owner.ID, phone.ID, true, h.now))
	if got := asked(here.ID); got.ID != here.ID {
		t.Errorf("the other app is blocked: asked at %+v", got)
	}
	waits := effect.AccountSubject{Change: effect.ChangeExport}
	if at, _ := h.sure(store.Session{ID: 1}, waits); at.ID != here.ID {
		t.Errorf("an export: asked at %+v", at)
	}
	for _, i := range []core.Identity{here, phone} {
		_, err := h.Store.Note(ctx, store.Note{User: h.owner.ID, Now: h.now,
			Effects: []core.Effect{effect.Unlink{Identity: i.ID, At: h.now}}})
		must(t, err)
	}
	if got := asked(0); got.ID != door.ID {
		t.Errorf("with the page alone: asked at %+v", got)
	}
	if at, ok := h.sure(store.Session{ID: 1}, waits); ok || at.ID != door.ID {
		t.Errorf("the asked app was unlinked: asked again at %+v", at)
	}
}

func TestSure_yesIsForOneChange(t *testing.T) {
	t.Parallel()
	h := newHouse(t, people.Pairing)
	browser, change := store.Session{ID: 7, Browser: "Evil`browser\n"}, effect.AccountSubject{Change: effect.ChangeAdminKey,
		Name: "rob`ot\nyes", Scopes: []string{"admin"}}
	at, ok := h.sure(browser, change)
	if again, twice := h.sure(browser, change); ok || twice || again.ID != at.ID {
		t.Errorf("asked at %+v, then %+v", at, again)
	}
	q := h.yes()
	ms, err := h.Store.History(t.Context(), h.owner.ID, 0, 0, 10)
	must(t, err)
	if len(ms) != 1 || !strings.Contains(ms[0].Text, "`rob'ot yes`") || !strings.Contains(ms[0].Text, "(`Evil'browser`)") {
		t.Errorf("asked %+v", ms)
	}
	for what, x := range map[string]struct {
		s store.Session
		c effect.AccountSubject
	}{
		"another browser": {store.Session{ID: 8}, change},
		"another name": {browser, effect.AccountSubject{Change: effect.ChangeAdminKey, Name: "other",
			Scopes: []string{"admin"}}},
		"other scopes": {browser, effect.AccountSubject{Change: effect.ChangeAdminKey, Name: change.Name,
			Scopes: []string{"admin", "read"}}},
		"another change": {browser, effect.AccountSubject{Change: effect.ChangeExport}},
	} {
		if _, ok := h.sure(x.s, x.c); ok {
			t.Errorf("%s: approval %s counted", what, q.Code)
		}
	}
	if _, ok := h.sure(browser, change); !ok {
		t.Error("the approval did not count")
	}
	if _, ok := h.sure(browser, change); ok {
		t.Error("the approval counted twice")
	}
	h.yes()
	h.now = h.now.Add(core.AccountLife)
	if _, ok := h.sure(browser, change); ok {
		t.Error("the approval counted after it expired")
	}
}

// told lists the texts that are sent to a user on a channel.
func (h *house) told(user core.UserID, channel string) (out []string) {
	h.t.Helper()
	all, err := h.Store.Deliveries(h.t.Context(), store.DeliveryQuery{User: user, Limit: 100})
	must(h.t, err)
	for _, d := range all {
		if d.To.Channel == channel {
			out = append(out, written(d.Parts[0].Part))
		}
	}
	return out
}

func TestSure_yesIsToldToBoth(t *testing.T) {
	t.Parallel()
	h := newHouse(t, people.Pairing)
	ctx := t.Context()
	for _, channel := range []string{"whatsapp", "web"} {
		_, err := h.Store.AddIdentity(ctx, core.Identity{User: h.owner.ID,
			Address: core.Address{Channel: channel, External: "1"}, LastUsed: h.now})
		must(t, err)
	}
	bob, err := h.Store.AddUserAt(ctx, core.User{Name: "Bob", Role: core.RoleMember,
		Settings: core.Settings{Language: "fr"}, CreatedAt: h.now},
		core.Identity{Address: core.Address{Channel: "telegram", External: "222"}, LastUsed: h.now})
	must(t, err)
	change := effect.AccountSubject{Change: effect.ChangeSignIn, Name: "Bob", User: bob.ID}
	h.sure(store.Session{ID: 1}, change)
	h.yes()
	link := effect.NewWebLink{Code: effect.Code{Hash: "link", Created: h.now, Expires: h.now.Add(time.Minute)}}
	if _, ok, err := h.Sure(ctx, h.owner, store.Session{ID: 1}, change, link); err != nil || !ok {
		t.Fatalf("got %v, %v", ok, err)
	}
	if u, _, err := h.Store.SignsIn(ctx, "link", h.now); err != nil || u.ID != bob.ID {
		t.Errorf("the link signs in as %+v, %v", u, err)
	}
	for _, x := range []struct {
		user    core.UserID
		channel string
		n       int
		want    string
	}{{h.owner.ID, "telegram", 2, "signs in as `Bob`"}, {h.owner.ID, "whatsapp", 1, "signs in as `Bob`"},
		{h.owner.ID, "web", 0, ""}, {bob.ID, "telegram", 1, "connecte en tant que `Bob`"}} {
		if got := h.told(x.user, x.channel); len(got) != x.n || x.n > 0 &&
			!strings.Contains(strings.Join(got, "\n"), x.want) {
			t.Errorf("user %d on %s: got %q", x.user, x.channel, got)
		}
	}
}

func TestSure_deletionIsToldBefore(t *testing.T) {
	t.Parallel()
	h := newHouse(t, people.Pairing)
	s := store.Session{ID: 1, Browser: "Firefox`"}
	h.sure(s, effect.AccountSubject{Change: effect.ChangeDelete})
	if got := h.told(h.owner.ID, "telegram"); len(got) != 1 || !strings.Contains(got[0], "Is this you?") {
		t.Errorf("with one app: got %q", got)
	}
	for _, channel := range []string{"whatsapp", "matrix", "web"} {
		_, err := h.Store.AddIdentity(t.Context(), core.Identity{User: h.owner.ID,
			Address: core.Address{Channel: channel, External: "1"}, LastUsed: h.now})
		must(t, err)
	}
	s.ID = 2
	at, _ := h.sure(s, effect.AccountSubject{Change: effect.ChangeDelete})
	h.sure(s, effect.AccountSubject{Change: effect.ChangeDelete}) // again; it was asked already
	told := 0
	for _, channel := range []string{"telegram", "whatsapp", "matrix", "web"} {
		for _, text := range h.told(h.owner.ID, channel) {
			if strings.Contains(text, "I've asked on "+at.Address.Channel) && strings.Contains(text, "(`Firefox'`)") &&
				channel != at.Address.Channel && channel != "web" {
				told++
			} else if !strings.Contains(text, "Is this you?") {
				t.Errorf("on %s: got %q", channel, text)
			}
		}
	}
	if told != 2 {
		t.Errorf("got %d warnings, want 2", told)
	}
}

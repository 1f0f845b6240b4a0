package people_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/people"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/trust"
)

func TestDoor_madeOnceProvesNoOwner(t *testing.T) {
	t.Parallel()
	h := newHouse(t, people.Pairing)
	bob, err := h.Store.AddUser(t.Context(), core.User{Name: "Bob", Role: core.RoleMember, CreatedAt: h.now})
	must(t, err)
	var first core.Identity
	for n := range 3 {
		i, err := h.Door(t.Context(), bob.ID, "web")
		must(t, err)
		if n > 0 && i.ID != first.ID || i.User != bob.ID || i.Address.Channel != "web" || i.Address.External == "" {
			t.Errorf("got %+v after %+v", i, first)
		}
		first = i
	}
	if other, err := h.Door(t.Context(), bob.ID, "openai"); err != nil || other.ID == first.ID {
		t.Errorf("got %+v, %v", other, err)
	}
	mine, err := h.Door(t.Context(), h.owner.ID, "web")
	if err != nil || mine.Address.External == first.Address.External {
		t.Errorf("got %+v, %v", mine, err)
	}
	if !people.Own("web") || people.Own("telegram") {
		t.Error("built-in channels are not recognised")
	}
}

func TestNewWebCode_worksOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t, people.Pairing)
	code, stored, err := h.NewWebCode(h.owner.ID, 10*time.Minute)
	must(t, err)
	must(t, h.Store.PutCode(t.Context(), stored))
	s := store.Session{Hash: "token", CreatedAt: h.now, UsedAt: h.now, Expires: h.now.Add(time.Hour)}
	got, err := h.SignIn(t.Context(), trust.CodeHash(code), s, h.now.Add(9*time.Minute))
	if err != nil || got.User != h.owner.ID {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := h.SignIn(t.Context(), trust.CodeHash(code), s, h.now); err == nil {
		t.Error("the link worked twice")
	}
}

// TestOwner_hasTheNameOfTheApp: an owner without a name is called as in the app that they write from first.
func TestOwner_hasTheNameOfTheApp(t *testing.T) {
	t.Parallel()
	h := newHouse(t, people.Pairing)
	_, err := h.Store.Note(t.Context(), store.Note{User: h.owner.ID, Now: h.now,
		Effects: []core.Effect{effect.SetName{Name: "Owner"}}})
	must(t, err)
	for n, c := range []struct{ name, want string }{{"", "Owner"}, {"Ann", "Ann"}, {"Annie", "Ann"}} {
		must(t, h.Store.PutCode(t.Context(), effect.Code{Kind: effect.CodeOwner, Hash: trust.CodeHash("CODE"), User: h.owner.ID,
			Created: h.now}))
		known, err := h.Stranger(t.Context(), core.Inbound{Address: core.Address{Channel: "telegram", Account: "1",
			External: fmt.Sprint(n)}, Name: c.name, EventID: fmt.Sprint(n), Text: "/start CODE", SentAt: h.now})
		must(t, err)
		owner, err := h.Owner(t.Context())
		if must(t, err); !known || owner.Name != c.want {
			t.Errorf("%s: known %v, the owner is %s", c.name, known, owner.Name)
		}
	}
}

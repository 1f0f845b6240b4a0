package people_test

import (
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/people"
	"github.com/everthread/everthread/core/trust"
)

func TestADoorIsMadeOnceAndIsNoProofOfTheOwner(t *testing.T) {
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

func TestALinkToThePageWorksOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t, people.Pairing)
	code, stored, err := h.NewWebCode(h.owner.ID, 10*time.Minute)
	must(t, err)
	must(t, h.Store.PutCode(t.Context(), stored))
	s := core.Session{Hash: "token", CreatedAt: h.now, UsedAt: h.now, Expires: h.now.Add(time.Hour)}
	got, err := h.SignIn(t.Context(), trust.CodeHash(code), s, h.now.Add(9*time.Minute))
	if err != nil || got.User != h.owner.ID {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := h.SignIn(t.Context(), trust.CodeHash(code), s, h.now); err == nil {
		t.Error("the link worked twice")
	}
}

package people_test

import (
	"errors"
	"fmt"
	"strings"
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

func TestClaim_letsTheOwnerInUntilTheyHaveAnAddress(t *testing.T) {
	t.Parallel()
	h := newHouse(t, people.Pairing)
	h.Settings.SetupCode = "installers-code"
	refused := func(code string) {
		t.Helper()
		if web, err := h.Claim(t.Context(), code); !errors.Is(err, core.ErrRefused) || web != "" {
			t.Errorf("%q: %q, %v", code, web, err)
		}
	}
	refused("installers-code") // the owner is on Telegram
	ids, err := h.Store.Identities(t.Context(), h.owner.ID)
	must(t, err)
	_, err = h.Store.Note(t.Context(), store.Note{User: h.owner.ID, Now: h.now,
		Effects: []core.Effect{effect.Unlink{Identity: ids[0].ID, At: h.now}}})
	must(t, err)
	_, code, err := h.EnsureOwner(t.Context())
	must(t, err)
	for _, wrong := range []string{"", " ", "installers", "installers-code2", code[1:]} {
		refused(wrong)
	}
	for _, right := range []string{code, " " + strings.ToLower(code) + "\n", "installers-code"} {
		web, err := h.Claim(t.Context(), right)
		must(t, err)
		s := store.Session{Hash: web, CreatedAt: h.now, UsedAt: h.now, Expires: h.now.Add(time.Hour)}
		if got, err := h.SignIn(t.Context(), trust.CodeHash(web), s, h.now); err != nil || got.User != h.owner.ID {
			t.Errorf("%q signs in %+v, %v", right, got, err)
		}
	}
	_, err = h.Door(t.Context(), h.owner.ID, "web")
	must(t, err)
	refused("installers-code") // the owner has been on the page
}

package engine

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/service"
	"github.com/everthread/everthread/core/chat/push"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/store/sqlite/sqlitetest"
	"github.com/everthread/everthread/core/trust/secret"
)

// TestResealed_grants: what people granted, and where they are notified, is still read after a change of the secret key.
func TestResealed_grants(t *testing.T) {
	t.Parallel()
	st := sqlitetest.Open(t, t.TempDir())
	sealer := func(keys ...string) *secret.Sealer {
		s, err := secret.New(rand.Reader, keys...)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	u, err := st.AddUser(t.Context(), core.User{Name: "Ada", Role: core.RoleOwner, CreatedAt: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := sealer("old").Seal(service.SealedAs("tracker"), "the tokens")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.PutServiceGrant(t.Context(), store.ServiceGrant{User: u.ID, Service: "tracker", Sealed: sealed}); err != nil {
		t.Fatal(err)
	}
	code := effect.Code{Kind: effect.CodeWeb, Hash: "code", User: u.ID, Created: time.Now(), Expires: time.Now().Add(time.Hour)}
	if err := st.PutCode(t.Context(), code); err != nil {
		t.Fatal(err)
	}
	signed, err := st.SignIn(t.Context(), "code", store.Session{Hash: "session", Expires: time.Now().Add(time.Hour)}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	address, err := sealer("old").Seal(push.SealedAs(signed.ID), "the address")
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Subscribe(t.Context(), u.ID, signed.ID, "", store.Subscription{Sealed: address}); err != nil {
		t.Fatal(err)
	}
	if n, err := st.Reseal(t.Context(), Resealed(sealer("new", "old"))); n != 2 || err != nil {
		t.Errorf("%d values were encrypted again, %v", n, err)
	}
	g, err := st.ServiceGrant(t.Context(), u.ID, "tracker")
	if err != nil {
		t.Fatal(err)
	}
	signed, _, err = st.Session(t.Context(), "session", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := sealer("new").Open(push.SealedAs(signed.ID), signed.Push.Sealed); got != "the address" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := sealer("new").Open(service.SealedAs("tracker"), g.Sealed); got != "the tokens" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

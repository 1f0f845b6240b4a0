package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

func serviceCases() []testCase {
	return []testCase{
		{"a grant is its user's, and the user knows their services", testServiceGrants},
		{"a version of a grant is renewed by one", testRenewGrant},
		{"a grant ends with its user, and moves with a merge unless the target has one", testGrantMoves},
		{"codes that connect are used once, and need a user", testConnectCodes},
	}
}

// granted stores a grant of a user.
func (b *bench) granted(user core.UserID, service, sealed string) store.ServiceGrant {
	b.t.Helper()
	g, err := b.PutServiceGrant(b.ctx, store.ServiceGrant{User: user, Service: service, Sealed: sealed, Expires: b.now.Add(time.Hour),
		CreatedAt: b.now})
	b.must(err)
	return g
}

// services fails the test unless a user has these services.
func (b *bench) services(user core.UserID, want ...string) {
	b.t.Helper()
	equal(b, "services", fmt.Sprint(must2(b.User(b.ctx, user)).Services), fmt.Sprint(want))
}

func testServiceGrants(b *bench) {
	bob, _ := b.person("Bob", core.RoleMember, "222")
	mine, theirs := b.granted(b.user.ID, "notes", "mine"), b.granted(bob.ID, "notes", "theirs")
	b.granted(b.user.ID, "mail", "post")
	got, err := b.ServiceGrant(b.ctx, b.user.ID, "notes")
	b.must(err)
	equal(b, "grant", got, mine)
	got, err = b.ServiceGrant(b.ctx, bob.ID, "notes")
	b.must(err)
	equal(b, "grant of another user", got, theirs)
	list, err := b.ServiceGrants(b.ctx, b.user.ID)
	b.must(err)
	equal(b, "grants", fmt.Sprintln(len(list), list[0].Service, list[1].Service), "2 mail notes\n")
	b.services(b.user.ID, "mail", "notes")
	b.services(bob.ID, "notes")
	_, at, err := b.Identify(b.ctx, b.at.Address)
	b.must(err)
	equal(b, "services at an address", fmt.Sprint(at.Services), "[mail notes]")
	_, err = b.ServiceGrant(b.ctx, bob.ID, "mail")
	b.notFound("grant for another service", err)
	again := b.granted(b.user.ID, "notes", "again")
	equal(b, "another id", again.ID != mine.ID, true)
	b.notFound("renewal of a replaced grant", b.RenewServiceGrant(b.ctx, mine))
	stolen := again
	stolen.User = bob.ID
	for what, g := range map[string]store.ServiceGrant{"replaced": mine, "of another user": stolen} {
		dropped, err := b.DropServiceGrant(b.ctx, g)
		b.must(err)
		equal(b, "dropped, "+what, dropped, false)
	}
	dropped, err := b.DropServiceGrant(b.ctx, again)
	b.must(err)
	equal(b, "dropped", dropped, true)
	b.services(b.user.ID, "mail")
	b.services(bob.ID, "notes")
	_, err = b.PutServiceGrant(b.ctx, store.ServiceGrant{User: 99999, Service: "notes"})
	b.notFound("grant of nobody", err)
}

func testRenewGrant(b *bench) {
	g := b.granted(b.user.ID, "notes", "first")
	second := b.open()
	var took atomic.Int64
	var wg sync.WaitGroup
	for n := range 6 {
		on := []Store{b.Store, second}[n%2]
		wg.Go(func() {
			ok, err := on.TakeServiceGrant(b.ctx, g, b.now, b.now.Add(time.Minute))
			if err != nil {
				b.t.Error(err)
			} else if ok {
				took.Add(1)
			}
		})
	}
	wg.Wait()
	equal(b, "taken", took.Load(), 1)
	take := func(g store.ServiceGrant, at time.Time) bool {
		b.t.Helper()
		ok, err := b.TakeServiceGrant(b.ctx, g, at, at.Add(time.Minute))
		b.must(err)
		return ok
	}
	equal(b, "taken after its time", take(g, b.now.Add(time.Minute)), true)
	b.must(b.FreeServiceGrant(b.ctx, g))
	equal(b, "taken once free", take(g, b.now), true)
	g.Sealed, g.Expires = "second", b.now.Add(2*time.Hour)
	b.must(b.RenewServiceGrant(b.ctx, g))
	equal(b, "an old version is taken", take(g, b.now.Add(time.Hour)), false)
	b.notFound("an old version is renewed", b.RenewServiceGrant(b.ctx, g))
	dropped, err := b.DropServiceGrant(b.ctx, g)
	b.must(err)
	equal(b, "an old version is dropped", dropped, false)
	got, err := b.ServiceGrant(b.ctx, b.user.ID, "notes")
	b.must(err)
	g.Version++
	equal(b, "renewed", got, g)
	equal(b, "the next version is taken", take(got, b.now), true)
}

func testGrantMoves(b *bench) {
	bob, at := b.person("Bob", core.RoleMember, "222")
	b.granted(b.user.ID, "notes", "mine")
	b.granted(bob.ID, "notes", "theirs")
	b.granted(bob.ID, "mail", "post")
	b.carryMerge(b.as(bob, at).merge(b.user.ID))
	b.services(b.user.ID, "mail", "notes")
	got, err := b.ServiceGrant(b.ctx, b.user.ID, "notes")
	b.must(err)
	equal(b, "the target's", got.Sealed, "mine")
	eve, _ := b.person("Eve", core.RoleMember, "333")
	b.granted(eve.ID, "notes", "hers")
	_, err = b.DeleteUser(b.ctx, eve.ID)
	b.must(err)
	_, err = b.ServiceGrant(b.ctx, eve.ID, "notes")
	b.notFound("grant of a deleted user", err)
}

func testConnectCodes(b *bench) {
	code := effect.Code{Kind: effect.CodeConnect, Hash: "A", User: b.user.ID, Name: "notes", Created: b.now,
		Expires: b.now.Add(time.Minute)}
	b.must(b.PutCode(b.ctx, code))
	got, err := b.Code(b.ctx, effect.CodeConnect, "A", b.now)
	b.must(err)
	equal(b, "code", got, code)
	_, err = b.Code(b.ctx, effect.CodeConsent, "A", b.now)
	b.notFound("of another kind", err)
	_, err = b.Code(b.ctx, effect.CodeConnect, "A", code.Expires)
	b.notFound("expired", err)
	got, err = b.UseCode(b.ctx, effect.CodeConnect, "A", b.now)
	b.must(err)
	equal(b, "used", got, code)
	_, err = b.UseCode(b.ctx, effect.CodeConnect, "A", b.now)
	equal(b, "used twice", errors.Is(err, core.ErrRefused), true)
	code.Kind, code.User = effect.CodeConsent, 99999
	b.notFound("code of nobody", b.PutCode(b.ctx, code))
}

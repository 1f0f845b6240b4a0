package storetest

import (
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
)

// testUnlinkSessions checks that unlinking an identity ends the sessions that were signed in
// through it.
func testUnlinkSessions(b *bench) {
	phone := b.identity(b.user.ID, "Ada", "112")
	through := func(a core.Address, hash string) {
		b.effects(effect.NewWebLink{Code: effect.Code{Hash: hash, Address: a, Created: b.now,
			Expires: b.now.Add(15 * time.Minute)}})
		u, until, err := b.SignsIn(b.ctx, hash, b.now)
		b.must(err)
		equal(b, "until when", until.Equal(b.now.Add(15*time.Minute)), true)
		equal(b, "user of the code", u.ID, b.user.ID)
		_, err = b.SignIn(b.ctx, hash, b.session(hash), b.now)
		b.must(err)
	}
	through(b.at.Address, "home")
	through(phone.Address, "phone")
	through(core.Address{}, "unknown")
	_, _, err := b.SignsIn(b.ctx, "home", b.now)
	b.notFound("a code that was used", err)
	b.effects(effect.Unlink{Identity: phone.ID, At: b.now})
	s, _, err := b.Session(b.ctx, "home", b.now)
	b.must(err)
	equal(b, "through", s.Identity, b.at.ID)
	for _, hash := range []string{"phone", "unknown"} {
		_, _, err := b.Session(b.ctx, hash, b.now)
		b.notFound("session through "+hash, err)
	}
}

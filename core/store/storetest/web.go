package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

func webCases() []testCase {
	return []testCase{
		{"a link signs its user in, once and in time", testSignIn},
		{"one of two concurrent uses of a link signs in", testSignInTogether},
		{"signing in and using a code do not wait for strangers", testSignInFree},
		{"a session is found until it ends", testSession},
		{"sessions are listed by their last use, and ended", testSessions},
		{"a deleted user can no longer sign in", testSignInGone},
		{"expired sessions are swept", testSweepSessions},
		{"a key is found by its hash until it is revoked", testAPIKeys},
		{"a key needs a user", testAPIKeyOfNobody},
		{"sessions, keys and codes end with a merge", testMergeWeb},
		{"a merge keeps both threads of one name", testMergeNamed},
		{"merged usage is counted once", testMergeUsage},
		{"a message that rings notifies each subscribed browser once", testRings},
		{"a subscription is replaced only as it was read, and ends with its session", testSubscribe},
		{"a merge ends notifications with the sessions", testMergeRings},
		{"messages of a group keep who wrote them", testGroups},
		{"names of members of a group tell them apart", testGroupNames},
		{"an edit makes a group's message ask while its day lasts", testGroupEdits},
		{"a group gets nothing that belongs to persons", testGroupWall},
	}
}

// link stores a link to the web page.
func (b *bench) link(hash string) {
	b.t.Helper()
	b.effects(effect.NewWebLink{Code: effect.Code{Hash: hash, Created: b.now, Expires: b.now.Add(15 * time.Minute)}})
}

// session returns a new session of a browser.
func (b *bench) session(hash string) store.Session {
	return store.Session{Hash: hash, Browser: "secret browser", CreatedAt: b.now, UsedAt: b.now,
		Expires: b.now.Add(30 * 24 * time.Hour)}
}

// signIn signs the bench's user in with a new link.
func (b *bench) signIn(hash string) store.Session {
	b.t.Helper()
	b.link("link " + hash)
	s, err := b.SignIn(b.ctx, "link "+hash, b.session(hash), b.now)
	b.must(err)
	return s
}

// refused fails the test unless a link is refused.
func (b *bench) refused(link string) {
	b.t.Helper()
	if s, err := b.SignIn(b.ctx, link, b.session("refused "+link), b.now); !errors.Is(err, core.ErrRefused) ||
		s != (store.Session{}) {
		b.t.Errorf("link %s: got %+v, %v", link, s, err)
	}
}

// notFound fails the test unless err is core.ErrNotFound.
func (b *bench) notFound(what string, err error) {
	b.t.Helper()
	if !errors.Is(err, core.ErrNotFound) {
		b.t.Errorf("%s: got %v, want ErrNotFound", what, err)
	}
}

func testSignIn(b *bench) {
	b.link("A")
	b.link("B")
	b.must(b.PutCode(b.ctx, effect.Code{Kind: effect.CodeWeb, Hash: "C", User: b.user.ID, Created: b.now,
		Expires: b.now.Add(time.Minute)}))
	b.linkCode("D")
	links, err := b.Codes(b.ctx, effect.CodeWeb, b.now)
	b.must(err)
	equal(b, "links", len(links), 3)
	want := b.session("a")
	got, err := b.SignIn(b.ctx, "A", want, b.now)
	b.must(err)
	want.User, want.ID = b.user.ID, got.ID
	equal(b, "session", got, want)
	b.refused("A")
	b.refused("D") // it links an address
	b.refused("E")
	second, err := b.SignIn(b.ctx, "C", b.session("c"), b.now)
	b.must(err)
	equal(b, "another session", second.ID != got.ID, true)
	b.now = b.now.Add(15 * time.Minute)
	b.refused("B")
}

// testSignInFree checks that pairing codes and sessions do not lock the strangers' row.
func testSignInFree(b *bench) {
	var mine, strangers atomic.Int64
	s := b.open()
	s.Trace(func(query string, args []any) {
		switch {
		case !strings.HasPrefix(query, "SELECT last_message"):
		case fmt.Sprint(args[0]) == "0":
			strangers.Add(1)
		default:
			mine.Add(1)
		}
	})
	on := *b
	on.Store = s
	on.signIn("a")
	code := effect.Code{Kind: effect.CodePair, Hash: "H1", Address: b.stranger("").Address, Created: b.now,
		Expires: b.now.Add(time.Hour)}
	on.must(s.PutCode(b.ctx, code))
	var used atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			_, err := s.UseCode(b.ctx, code.Kind, code.Hash, b.now)
			if err == nil {
				used.Add(1)
			} else if !errors.Is(err, core.ErrRefused) {
				b.t.Error(err)
			}
		})
	}
	wg.Wait()
	equal(b, "times that the code was used", used.Load(), 1)
	equal(b, "locks of the user's row are seen", mine.Load() > 0, true)
	equal(b, "locks of the strangers' row", strangers.Load(), 0)
	second := on.signIn("b")
	first := one(b, func(ctx context.Context, hash string) (store.Session, error) {
		n, _, err := s.Session(ctx, hash, b.now)
		return n, err
	}, "a")
	equal(b, "one id for two sessions", first.ID == second.ID, false)
}

func testSignInTogether(b *bench) {
	b.link("A")
	second := b.open()
	var in atomic.Int64
	var wg sync.WaitGroup
	for n := range 6 {
		store := []Store{b.Store, second}[n%2]
		wg.Go(func() {
			_, err := store.SignIn(b.ctx, "A", b.session(itoa(n)), b.now)
			if err == nil {
				in.Add(1)
			} else if !errors.Is(err, core.ErrRefused) {
				b.t.Error(err)
			}
		})
	}
	wg.Wait()
	equal(b, "signed in", in.Load(), 1)
}

func testSession(b *bench) {
	b.effects(effect.SetSettings{Settings: core.Settings{Zone: "Europe/Paris"}})
	want := b.signIn("a")
	got, u, err := b.Session(b.ctx, "a", b.now)
	b.must(err)
	equal(b, "session", got, want)
	equal(b, "user", fmt.Sprintf("%+v", u), fmt.Sprintf("%+v", must2(b.User(b.ctx, b.user.ID))))
	_, _, err = b.Session(b.ctx, "b", b.now)
	b.notFound("another token", err)
	used, end := b.now.Add(time.Hour), b.now.Add(time.Hour*24*60)
	b.must(b.UseSession(b.ctx, b.user.ID, want.ID, used, end))
	b.must(b.UseSession(b.ctx, b.user.ID, want.ID, used.Add(-time.Minute), end))
	got, _, err = b.Session(b.ctx, "a", end.Add(-time.Millisecond))
	b.must(err)
	equal(b, "used", got.UsedAt, used)
	equal(b, "end", got.Expires, end)
	_, _, err = b.Session(b.ctx, "a", end)
	b.notFound("expired", err)
}

func testSessions(b *bench) {
	u, i := b.person("Bob", core.RoleMember, "222")
	other := b.as(u, i).signIn("other")
	var ids []int64
	for _, hash := range []string{"a", "b", "c"} {
		ids = append(ids, b.signIn(hash).ID)
		b.now = b.now.Add(time.Second)
	}
	b.must(b.UseSession(b.ctx, b.user.ID, ids[0], b.now, b.now.Add(time.Hour)))
	listed := func(want ...int64) {
		b.t.Helper()
		list, err := b.Sessions(b.ctx, b.user.ID, b.now)
		b.must(err)
		var got []int64
		for _, s := range list {
			got = append(got, s.ID)
		}
		if !slices.Equal(got, want) {
			b.t.Errorf("got %v, want %v", got, want)
		}
	}
	listed(ids[0], ids[2], ids[1])
	b.must(b.EndSession(b.ctx, b.user.ID, ids[2]))
	b.must(b.EndSession(b.ctx, b.user.ID, ids[2]))
	b.must(b.EndSession(b.ctx, b.user.ID, other.ID))
	listed(ids[0], ids[1])
	_, _, err := b.Session(b.ctx, "c", b.now)
	b.notFound("ended", err)
	b.now = b.now.Add(time.Hour)
	listed(ids[1])
	b.must(b.EndSession(b.ctx, b.user.ID, 0))
	listed()
	_, _, err = b.Session(b.ctx, "other", b.now)
	b.must(err)
}

func testSignInGone(b *bench) {
	u, i := b.person("Bob", core.RoleMember, "222")
	bob := b.as(u, i)
	bob.signIn("a")
	bob.link("B")
	one(b, b.AddAPIKey, core.APIKey{User: u.ID, Hash: "k", CreatedAt: b.now})
	_, err := b.DeleteUser(b.ctx, u.ID)
	b.must(err)
	_, _, err = b.Session(b.ctx, "a", b.now)
	b.notFound("session", err)
	_, _, err = b.APIKey(b.ctx, "k")
	b.notFound("key", err)
	b.refused("B")
	for _, nobody := range []core.UserID{u.ID, 0} {
		b.notFound("link", b.PutCode(b.ctx, effect.Code{Kind: effect.CodeWeb, Hash: "C", User: nobody, Created: b.now,
			Expires: b.now.Add(time.Hour)}))
	}
}

func testSweepSessions(b *bench) {
	b.signIn("a")
	b.now = b.now.Add(24 * time.Hour)
	kept := b.signIn("b")
	b.now = b.now.Add(29 * 24 * time.Hour)
	b.sweep()
	var left int64
	b.must(b.DB().QueryRow(`SELECT MAX(id) + COUNT(*) - 1 FROM sessions`).Scan(&left))
	equal(b, "left", left, kept.ID)
}

func testAPIKeys(b *bench) {
	u, _ := b.person("Bob", core.RoleMember, "222")
	want := core.APIKey{User: b.user.ID, Name: "home", Hash: "h1", Hint: "et_1",
		Scopes: []core.Capability{core.CanTalk, core.CanRead}, CreatedAt: b.now}
	want.ID = one(b, b.AddAPIKey, want).ID
	second := one(b, b.AddAPIKey, core.APIKey{User: b.user.ID, Name: "work", Hash: "h2", CreatedAt: b.now})
	theirs := one(b, b.AddAPIKey, core.APIKey{User: u.ID, Name: "Bob's", Hash: "h3", CreatedAt: b.now})
	equal(b, "ids", second.ID != want.ID && theirs.ID != want.ID && theirs.ID != second.ID, true)
	got, who, err := b.APIKey(b.ctx, "h1")
	b.must(err)
	equal(b, "key", fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want))
	equal(b, "user", fmt.Sprintf("%+v", who), fmt.Sprintf("%+v", must2(b.User(b.ctx, b.user.ID))))
	b.must(b.UseAPIKey(b.ctx, b.user.ID, want.ID, b.now.Add(time.Hour)))
	b.must(b.UseAPIKey(b.ctx, b.user.ID, want.ID, b.now))
	list, err := b.APIKeys(b.ctx, b.user.ID)
	b.must(err)
	equal(b, "keys", len(list), 2)
	equal(b, "newest first", list[0].ID, second.ID)
	equal(b, "used", list[1].UsedAt, b.now.Add(time.Hour))
	equal(b, "never used", list[0].UsedAt.IsZero(), true)
	b.notFound("another's", b.RevokeAPIKey(b.ctx, b.user.ID, theirs.ID))
	b.must(b.RevokeAPIKey(b.ctx, b.user.ID, want.ID))
	b.notFound("again", b.RevokeAPIKey(b.ctx, b.user.ID, want.ID))
	_, _, err = b.APIKey(b.ctx, "h1")
	b.notFound("revoked", err)
	_, who, err = b.APIKey(b.ctx, "h3")
	b.must(err)
	equal(b, "Bob", who.ID, u.ID)
}

func testAPIKeyOfNobody(b *bench) {
	for _, nobody := range []core.UserID{0, 99999} {
		_, err := b.AddAPIKey(b.ctx, core.APIKey{User: nobody, Hash: "k", CreatedAt: b.now})
		b.notFound("nobody", err)
	}
	one(b, b.AddAPIKey, core.APIKey{User: b.user.ID, Hash: "k", CreatedAt: b.now})
	_, err := b.AddAPIKey(b.ctx, core.APIKey{User: b.user.ID, Hash: "k", CreatedAt: b.now})
	equal(b, "the same hash", err != nil, true)
}

func testMergeWeb(b *bench) {
	v := b.second("Vera", "222")
	v.exchange("hers", "ok")
	b.signIn("mine")
	before := v.signIn("before")
	v.link("later")
	v.link("meanwhile")
	key := one(b, b.AddAPIKey, core.APIKey{User: v.user.ID, Hash: "k", CreatedAt: b.now})
	v.turn("running")
	id := v.merge(b.user.ID)
	b.pauseMerge(id)
	s, err := b.SignIn(b.ctx, "meanwhile", b.session("meanwhile"), b.now)
	b.must(err)
	equal(b, "still hers", s.User, v.user.ID)
	b.must(b.UseSession(b.ctx, v.user.ID, before.ID, b.now, before.Expires))
	b.must(b.UseAPIKey(b.ctx, v.user.ID, key.ID, b.now))
	b.carryMerge(id)
	_, u, err := b.Session(b.ctx, "mine", b.now)
	b.must(err)
	equal(b, "whose is mine", u.ID, b.user.ID)
	for _, hash := range []string{"before", "meanwhile"} {
		_, _, err := b.Session(b.ctx, hash, b.now)
		b.notFound("session "+hash, err)
	}
	_, _, err = b.APIKey(b.ctx, "k")
	b.notFound("the key", err)
	_, err = b.SignIn(b.ctx, "later", b.session("later"), b.now)
	equal(b, "the link is refused", errors.Is(err, core.ErrRefused), true)
	list, err := b.Sessions(b.ctx, b.user.ID, b.now)
	b.must(err)
	equal(b, "sessions", len(list), 1)
	b.gone(v.user.ID)
}

// named returns a client's thread.
func (b *bench) named(name string) core.Thread {
	b.t.Helper()
	h, err := b.ThreadNamed(b.ctx, b.user.ID, name, b.now)
	b.must(err)
	return h
}

func testMergeNamed(b *bench) {
	v := b.second("Vera", "222")
	mine, hers, other := b.named("client"), v.named("client"), v.named("other")
	v.sayIn(hers.ID, "in hers")
	v.sayIn(other.ID, "in the other")
	shift := core.ThreadID(b.lastID(b.user.ID))
	b.carryMerge(v.merge(b.user.ID))
	equal(b, "mine keeps its name", b.named("client").ID, mine.ID)
	equal(b, "the other comes with its own", b.named("other").ID, other.ID+shift)
	kept, err := b.Thread(b.ctx, b.user.ID, hers.ID+shift)
	b.must(err)
	equal(b, "hers is kept", kept.Title, "client")
	b.wantIn(hers.ID+shift, "in hers")
	b.wantIn(other.ID+shift, "in the other")
}

func testMergeUsage(b *bench) {
	v := b.second("Vera", "222")
	day := dayOf(b.now).Label
	b.must(b.Spend(b.ctx, b.user.ID, day, took(core.Usage{Prompt: 1})))
	b.must(b.Spend(b.ctx, v.user.ID, day, took(core.Usage{Prompt: 2})))
	out := store.Egress{Calls: 1, Bytes: 10}
	for _, u := range []core.UserID{b.user.ID, v.user.ID} {
		_, err := b.TakeEgress(b.ctx, u, day, out, out)
		b.must(err)
	}
	b.carryMerge(v.merge(b.user.ID), store.MergeTold)
	left, err := b.TakeEgress(b.ctx, b.user.ID, day, store.Egress{Calls: 9, Bytes: 90}, store.Egress{Calls: 3, Bytes: 30})
	b.must(err)
	equal(b, "parts left to send", left, out)
	got, err := b.UsageDays(b.ctx, 0, day, day)
	b.must(err)
	if want := []store.UsageDay{{User: b.user.ID, Day: day, Usage: core.Usage{Prompt: 3}}}; !slices.Equal(got, want) {
		b.t.Errorf("got %+v, want %+v", got, want)
	}
	both := core.Spent{Model: "m", Purpose: core.ForAnswer, Calls: 2, Usage: core.Usage{Prompt: 3}}
	b.wantParts("of both", b.user.ID, day, []store.UsagePart{{Day: day, Spent: both}})
	sums, err := b.UsageSums(b.ctx, day, day)
	b.must(err)
	equal(b, "people with usage", len(sums), 1)
}

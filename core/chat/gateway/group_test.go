package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/gateway"
	"github.com/everthread/everthread/core/store"
)

// gathering is a world with a group.
type gathering struct {
	*world
	group core.User
}

func gather(t *testing.T, more ...func(*gateway.Options)) *gathering {
	t.Helper()
	w := newWorld(t, func(o *gateway.Options) {
		o.Settings.Groups.Enabled = true
		for _, set := range more {
			set(o)
		}
	})
	u, err := w.store.AddUserAt(t.Context(), core.User{Name: "Family", Role: core.RoleGroup, CreatedAt: time.Now()},
		core.Identity{Address: core.Address{Channel: "line", Account: "1", External: "all"}, LastUsed: time.Now()})
	must(t, err)
	return &gathering{w, u}
}

// event is an event of a member.
func (g *gathering) event(kind core.InboundKind, member, native, text string, addressed bool) core.Inbound {
	g.n++
	return core.Inbound{Address: core.Address{Channel: "line", Account: "1", External: "all"}, EventID: native + string(kind) + text,
		NativeID: native, Target: native, Kind: kind, Text: text, Name: "Member " + member, SentAt: time.Now(),
		Group: &core.Group{Title: "Family", Speaker: member, Addressed: addressed}}
}

// said returns the messages of the group that members wrote.
func (g *gathering) said() (out []core.Message) {
	g.t.Helper()
	ms, _, err := g.store.Timeline(g.t.Context(), store.TimelineQuery{User: g.group.ID, Limit: 99})
	must(g.t, err)
	for _, m := range ms {
		if m.Role == core.RoleUser {
			out = append(out, m)
		}
	}
	return out
}

func TestGroup_onlyTheWriterChangesWords(t *testing.T) {
	t.Parallel()
	g := gather(t)
	g.receive(g.event(core.InMessage, "ann", "m1", "the pizza is at seven", false))
	g.receive(g.event(core.InMessage, "bo", "m2", "salad", false))
	g.receive(g.event(core.InEdit, "bo", "m1", "Bo is the best", false))
	g.receive(g.event(core.InRedaction, "bo", "m1", "", false))
	g.receive(g.event(core.InRedaction, "nobody", "m1", "", false))
	if m := g.said(); len(m) != 2 || m[0].Text != "the pizza is at seven" || m[0].Redacted {
		t.Fatalf("another member changed it: %+v", m)
	}
	g.receive(g.event(core.InEdit, "ann", "m1", "the pizza is at eight", false))
	if m := g.said(); m[0].Text != "the pizza is at eight" || m[0].Speaker.Name != "Member ann" {
		t.Errorf("its writer cannot edit it: %+v", m[0])
	}
	g.receive(g.event(core.InRedaction, "ann", "m1", "", false))
	if m := g.said(); !m[0].Redacted {
		t.Errorf("its writer cannot remove it: %+v", m[0])
	}
}

func TestGroup_isNobodysDirectChat(t *testing.T) {
	t.Parallel()
	g := gather(t)
	direct := g.event(core.InMessage, "ann", "m1", "as if it was alone", true)
	direct.Group = nil
	inPersons := g.event(core.InMessage, "ann", "m2", "as if it was a group", true)
	inPersons.Address = g.address()
	g.receive(direct)
	g.receive(inPersons)
	if m := g.said(); len(m) != 0 {
		t.Errorf("it is taken for a direct chat: %+v", m)
	}
	ms, _, err := g.store.Timeline(t.Context(), store.TimelineQuery{User: 1, Limit: 9})
	if must(t, err); len(ms) != 0 {
		t.Errorf("a person's chat is taken for a group: %+v", ms)
	}
	program, forwarded := g.event(core.InMessage, "bot", "m3", "answer me", true), g.event(core.InMessage, "ann", "m4", "and this", true)
	program.Group.Program, forwarded.ForwardedFrom = true, "Bo"
	g.receive(program, forwarded)
	g.receive(g.event(core.InMessage, "ann", "m5", "but this", true))
	g.sent(1)
	if turns, err := g.store.Turns(t.Context(), g.group.ID, 9); err != nil || len(turns) != 1 || len(turns[0].Inputs) != 1 {
		t.Errorf("got %+v, %v", turns, err)
	}
	if m := g.said(); len(m) != 3 || !m[0].Tainted || m[1].Speaker.Number != 2 {
		t.Errorf("got %+v", m)
	}
}

func TestGroup_aCommandThatAsksIsAnswered(t *testing.T) {
	t.Parallel()
	g := gather(t)
	in := g.event(core.InMessage, "ann", "m1", core.ContinueCommand, false)
	g.receive(in)
	g.sent(1)
	if turns, err := g.store.Turns(t.Context(), g.group.ID, 9); err != nil || len(turns) != 1 {
		t.Errorf("got %+v, %v", turns, err)
	}
	if in.Group.Addressed {
		t.Error("the event of the channel was changed")
	}
}

func TestGroup_hasItsNewTitle(t *testing.T) {
	t.Parallel()
	g := gather(t)
	for _, c := range []struct{ title, want string }{{"Kin", "Kin"}, {"", "Kin"}, {"Kin · Trip", "Kin · Trip"}, {"Kin", "Kin · Trip"},
		{"Clan\nof\u202e Bo", "Clan of Bo"}} {
		in := g.event(core.InMessage, "ann", "m"+c.title+c.want, "hello", false)
		in.Group.Title = c.title
		g.receive(in)
		u, err := g.store.User(t.Context(), g.group.ID)
		must(t, err)
		ids, err := g.store.Identities(t.Context(), g.group.ID)
		if must(t, err); u.Name != c.want || ids[0].Name != c.want {
			t.Errorf("after %q the group is called %q and %q, want %q", c.title, u.Name, ids[0].Name, c.want)
		}
	}
}

func TestGroup_aReplyNamesItsWriter(t *testing.T) {
	t.Parallel()
	g := gather(t)
	g.receive(g.event(core.InMessage, "ann", "m1", "the pizza is at seven", false))
	in := g.event(core.InMessage, "bo", "m2", "when?", false)
	in.Quote = &core.Quote{NativeID: "m1", From: "as the service calls her"}
	g.receive(in)
	if q := g.said()[1].Quote; q == nil || q.From != "Member ann" || q.Text != "the pizza is at seven" {
		t.Errorf("the reply quotes %+v", q)
	}
}

func TestGroup_anEditThatMentionsIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	g := gather(t)
	g.receive(g.event(core.InMessage, "ann", "m1", "what is for dinner?", false))
	g.receive(g.event(core.InMessage, "bo", "m2", "no idea", false))
	g.receive(g.event(core.InEdit, "bo", "m2", "no idea at all", false))
	mentions := g.event(core.InEdit, "ann", "m1", "what is for dinner?", true) // the mention is no part of the text
	g.receive(mentions)
	g.sent(1)
	again := mentions
	again.EventID, again.Text = "again", "what is for dinner, please?"
	g.receive(again)
	g.receive(g.event(core.InMessage, "bo", "m3", "thanks", true))
	g.sent(2)
	turns, err := g.store.Turns(t.Context(), g.group.ID, 9)
	if must(t, err); len(turns) != 2 || len(turns[1].Inputs) != 1 || turns[1].Inputs[0] != 1 {
		t.Errorf("got %+v", turns)
	}
	if m := g.said(); len(m) != 3 || m[0].Turn != 0 || m[1].Text != "what is for dinner, please?" { // it stands before its answer
		t.Errorf("got %+v", m)
	}
}

func TestGroup_aNameHoldsNothingThatNobodySees(t *testing.T) {
	t.Parallel()
	g := gather(t)
	for n, c := range []struct{ name, want string }{
		{"B\u200bo", "Bo"}, {"B\u200d\u00ado", "Bo"}, {"👨\u200d👩", "👨\u200d👩"}, {"می\u200cخواهم", "می\u200cخواهم"}, {"\u202eoB", "oB"}, {"\u200b", "?"},
	} {
		e := g.event(core.InMessage, c.name, fmt.Sprint("m", n), "hello", false)
		e.Name = c.name
		g.receive(e)
		if got := g.said()[n].Speaker; strings.TrimSuffix(got.Name, fmt.Sprintf(" (%d)", got.Number)) != c.want {
			t.Errorf("%q is shown as %q, want %q", c.name, got.Name, c.want)
		}
	}
}

// slowStore blocks the first append until it is released, and counts all.
type slowStore struct {
	gateway.Store
	appends atomic.Int64
	begun   chan struct{}
	release chan struct{}
}

func (s *slowStore) Append(ctx context.Context, a store.Append) (store.Appended, error) {
	if s.appends.Add(1) == 1 {
		close(s.begun)
		<-s.release
	}
	return s.Store.Append(ctx, a)
}

func TestGroup_whatArrivesMeanwhileIsStoredTogether(t *testing.T) {
	t.Parallel()
	slow := &slowStore{begun: make(chan struct{}), release: make(chan struct{})}
	g := gather(t, func(o *gateway.Options) { slow.Store, o.Store = o.Store, slow })
	const others = 40
	var all sync.WaitGroup
	receive := func(n int) {
		e := g.event(core.InMessage, fmt.Sprint(n%7), fmt.Sprint("m", n), fmt.Sprint("text ", n), false)
		all.Go(func() {
			if err := g.gw.Receive(context.WithoutCancel(t.Context()), e); err != nil {
				t.Error(err)
			}
		})
	}
	receive(0)
	<-slow.begun
	for n := range others {
		receive(n + 1)
	}
	time.Sleep(100 * time.Millisecond) // until all wait
	close(slow.release)
	all.Wait()
	if m, n := g.said(), slow.appends.Load(); len(m) != others+1 || n > 5 {
		t.Errorf("%d messages are stored by %d appends", len(m), n)
	}
}

package matrix

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/matrix/matrixtest"
	"github.com/everthread/everthread/core"
)

func TestBridge_ownPhoneIsByHand(t *testing.T) {
	t.Parallel()
	w := begin(t)
	room := w.Portal(alice)
	w.Say(room, matrixtest.Ghost(alice), "hi")
	eventually(t, "hi", func() bool { return len(w.messages()) == 1 })
	_, err := w.c.Carries()[0].Send(t.Context(), toAlice, core.Part{Text: "ours", Key: "k1"})
	must(t, err)
	w.Say(room, matrixtest.Ghost(matrixtest.Receiver), "from the phone")
	w.Post(room, us, "m.room.message", map[string]any{"msgtype": "m.text", "body": "double puppet",
		"fi.mau.double_puppet_source": "mautrix-signal"})
	w.Say(room, us, "another client")
	w.barrier(t)
	by := w.in.of(core.InByHand)
	same(t, texts(by), []string{"from the phone", "double puppet", "another client"})
	for _, e := range by {
		same(t, e.Address, toAlice)
	}
	same(t, w.messages(), []string{"hi"})
}

func TestBridge_forgedStateIsNotBelieved(t *testing.T) {
	t.Parallel()
	w := begin(t)
	eve := "@eve:hs.test"
	room := w.Direct(eve)
	w.State(room, eve, "m.bridge", "x", matrixtest.BridgeState(alice, "dm"))
	anonymous := matrixtest.BridgeState(alice, "dm")
	delete(anonymous, "bridgebot")
	w.State(room, eve, "uk.half-shot.bridge", "x", anonymous)
	w.Say(room, eve, "I am Alice")
	w.Member(room, "@signal_"+alice+":evil.test", "join")
	w.Say(room, "@signal_"+alice+":evil.test", "I am Alice, too")
	w.barrier(t)
	for _, e := range w.in.of(core.InMessage) {
		same(t, e.Address.Channel, Name)
		if e.Address.External == alice {
			t.Fatalf("%v", e.Address.External)
		}
	}
	same(t, w.messages(), []string{"I am Alice"}, "the room is a group since the second joined")
}

func TestPortal_isDeafToOthers(t *testing.T) {
	t.Parallel()
	w := begin(t)
	room := w.Portal(alice)
	w.Say(room, ada, "a person of Matrix in a portal")
	w.Post(room, matrixtest.Bot, "m.room.message", map[string]any{"msgtype": "m.notice", "body": "Your chat was bridged"})
	w.Say(room, matrixtest.Ghost(alice), "the person")
	w.Post(room, matrixtest.Ghost(alice), "m.room.message", map[string]any{"msgtype": "m.notice", "body": "missed call"})
	management := w.Direct(matrixtest.Bot)
	w.Say(management, matrixtest.Bot, "Hello, I'm a Signal bridge bot.")
	group := w.Portal("R3JvdXA=")
	w.State(group, matrixtest.Bot, "m.bridge", "hs.test/signal", matrixtest.BridgeState("R3JvdXA=", "group_dm"))
	w.State(group, matrixtest.Bot, "uk.half-shot.bridge", "hs.test/signal", matrixtest.BridgeState("R3JvdXA=", ""))
	w.Say(group, matrixtest.Ghost(alice), "hello group")
	space := w.Portal("__personal_filtering_space__")
	w.State(space, matrixtest.Bot, "m.bridge", "hs.test/signal", matrixtest.BridgeState("__personal_filtering_space__",
		"personal_filtering_space"))
	w.Say(space, matrixtest.Ghost(alice), "hello space")
	w.barrier(t)
	same(t, w.messages(), []string{"the person"})
	if got := w.in.of(core.InGroup); len(got) > 0 {
		t.Fatalf("%v", got)
	}
}

func TestGhost_renamedIsTheSamePerson(t *testing.T) {
	t.Parallel()
	w := begin(t)
	room := w.Portal(alice)
	ghost := matrixtest.Ghost(alice)
	w.State(room, ghost, "m.room.member", ghost, map[string]string{"membership": "join", "displayname": "Alice"})
	w.Say(room, ghost, "one")
	w.State(room, ghost, "m.room.member", ghost, map[string]string{"membership": "join", "displayname": "The owner"})
	w.Say(room, ghost, "two")
	w.barrier(t)
	var who []core.Inbound
	for _, e := range w.in.of(core.InMessage) {
		if e.Address == toAlice {
			who = append(who, e)
		}
	}
	same(t, texts(who), []string{"one", "two"})
	same(t, who[1].Name, "The owner")
}

func TestBridge_stateMayComeLate(t *testing.T) {
	t.Parallel()
	w := begin(t)
	ghost := matrixtest.Ghost(alice)
	room := w.Direct(matrixtest.Bot)
	w.Member(room, ghost, "join")
	w.Say(room, ghost, "early")
	w.Say(room, ghost, "early too")
	w.barrier(t)
	if got := w.messages(); len(got) > 0 {
		t.Fatalf("%v", got)
	}
	w.stop()
	w = start(t, w.Server, w.k, nil)
	w.State(room, matrixtest.Bot, "m.bridge", "hs.test/signal", matrixtest.BridgeState(alice, "dm"))
	w.Say(room, ghost, "now")
	eventually(t, "all", func() bool { return slices.Equal(w.messages(), []string{"early", "early too", "now"}) })
}

func TestPortal_remadeRepeatsNothing(t *testing.T) {
	t.Parallel()
	w := begin(t)
	at := time.Now()
	ghost := matrixtest.Ghost(alice)
	room := w.Portal(alice)
	w.PostAt(room, ghost, "m.room.message", message0("hi"), at)
	w.barrier(t)
	w.Member(room, us, "leave", matrixtest.Bot)
	again := w.Portal(alice)
	w.PostAt(again, ghost, "m.room.message", message0("hi"), at) // back-filled
	w.Say(again, ghost, "new")
	w.barrier(t)
	same(t, w.messages(), []string{"hi", "new"})
	_, err := w.c.Carries()[0].Send(t.Context(), toAlice, core.Part{Text: "there you are", Key: "k"})
	must(t, err)
	if got := w.Sent(again); len(got) != 1 {
		t.Fatalf("%d, want %d: %v", len(got), 1, got)
	}
	if got := w.in.of(core.InBlocked); len(got) > 0 {
		t.Fatalf("%v", got)
	}
}

func TestRender_noCommandOfTheBridge(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"!signal logout", "  !SIGNAL logout", "fine\n!signal logout", "!signal"} {
		c := Render(core.Part{Text: text, Spans: []core.Span{{Kind: core.SpanBold, Start: 0, End: len(text)}}},
			&Bridge{Network: "signal", Prefix: "!signal"})
		for _, field := range []string{"body", "formatted_body"} {
			for line := range strings.SplitSeq(c[field].(string), "\n") {
				if strings.HasPrefix(strings.ToLower(strings.TrimSpace(line)), "!signal") {
					t.Fatalf("%q of %q: true", line, text)
				}
			}
		}
	}
	c := Render(core.Part{Text: "see !signal help", Quiet: true, Fold: true},
		&Bridge{Network: "signal", Prefix: "!signal"})
	same(t, c["body"], "see !signal help")
	same(t, c["msgtype"], "m.text", "notices are not bridged")
}

func TestBridge_receipts(t *testing.T) {
	t.Parallel()
	w := begin(t)
	room := w.Portal(alice)
	w.Say(room, matrixtest.Ghost(alice), "hi")
	w.barrier(t)
	got, err := w.c.Carries()[0].Send(t.Context(), toAlice, core.Part{Text: "a", Key: "everthread-1-1-0"})
	must(t, err)
	warn := map[string]any{"msgtype": "m.notice", "body": "⚠️ Your message was not bridged: no",
		"m.relates_to": map[string]any{"m.in_reply_to": map[string]any{"event_id": got.NativeID}}}
	w.Post(room, matrixtest.Bot, "m.room.message", warn)
	w.barrier(t)
	mss := func(state string) {
		w.Post(room, matrixtest.Bot, typeStatus, map[string]any{
			"m.relates_to": map[string]any{"rel_type": "m.reference", "event_id": got.NativeID}, "status": state,
			"relates_to_txn_id": "everthread-1-1-0", "reason": "m.foreign_network_error",
		})
	}
	for _, state := range []string{"PENDING", "FAIL_RETRIABLE", "FAIL_PERMANENT", "SUCCESS"} {
		mss(state)
	}
	w.Post(room, matrixtest.Bot, "m.room.message", warn) // status events have reported it already
	w.Post(room, matrixtest.Ghost(alice), typeStatus,
		map[string]any{"m.relates_to": map[string]any{"event_id": got.NativeID}, "status": "FAIL_PERMANENT"})
	w.Receipt(room, got.NativeID, matrixtest.Bot)
	w.Receipt(room, got.NativeID, matrixtest.Ghost(alice))
	w.Receipt(room, got.NativeID, matrixtest.Ghost(matrixtest.Receiver))
	w.barrier(t)
	var states []core.DeliveryState
	for _, e := range w.in.of(core.InReceipt) {
		same(t, e.Target, got.NativeID)
		same(t, e.Address, toAlice)
		states = append(states, e.Status.State)
	}
	slices.Sort(states)
	same(t, states, []core.DeliveryState{"delivered", "delivered", "failed", "failed", "pending", "read"})
	same(t, w.in.of(core.InReceipt)[1].Status.Key, "everthread-1-1-0")
}

func TestReadMark_laterMessageCountsForOurs(t *testing.T) {
	t.Parallel()
	w := begin(t)
	room := w.Direct(ada)
	w.Say(room, ada, "hi")
	w.barrier(t)
	got, err := w.c.Send(t.Context(), toAda, core.Part{Text: "answer", Key: "k"})
	must(t, err)
	later := w.Say(room, ada, "thanks")
	w.barrier(t)
	w.Receipt(room, later, ada)
	w.Receipt(room, later, us)
	eventually(t, "the receipt", func() bool { return len(w.in.of(core.InReceipt)) == 1 })
	r := w.in.of(core.InReceipt)[0]
	same(t, r.Target, got.NativeID)
	same(t, r.Status, &core.Status{State: core.DeliveryRead, Through: true})
}

func TestBridge_loginIsWatched(t *testing.T) {
	t.Parallel()
	w := begin(t)
	management := w.Direct(matrixtest.Bot)
	signal := w.c.Carries()[0].(core.Checker)
	say := func(state string) {
		w.Post(management, matrixtest.Bot, "m.room.message", map[string]any{"msgtype": "m.text", "body": "State update",
			"fi.mau.bridge_state": map[string]any{"state_event": state, "message": "You were logged out"}})
	}
	say("BAD_CREDENTIALS")
	eventually(t, "the problem", func() bool { return signal.Check() != nil })
	if signal.Check() == nil || !strings.Contains(signal.Check().Error(), "send: login") {
		t.Fatalf("%v", signal.Check())
	}
	must(t, w.c.Check())
	w.barrier(t)
	w.stop()
	w = start(t, w.Server, w.k, nil)
	signal = w.c.Carries()[0].(core.Checker)
	eventually(t, "the problem, remembered", func() bool { return signal.Check() != nil })
	w.SetNow(time.Now().Add(time.Minute))
	say("CONNECTED")
	eventually(t, "all well", func() bool { return signal.Check() == nil })
	if got := w.messages(); len(got) > 0 {
		t.Fatalf("%v", got)
	}
}

func TestRender_leavesOutTooLongLinks(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 1990) + " link"
	long := core.Span{Kind: core.SpanLink, Start: 1991, End: 1995, Value: "https://example.org/" +
		strings.Repeat("y", 100)}
	c := Render(core.Part{Text: text, Spans: []core.Span{long}}, &Bridge{Network: "signal", Prefix: "!signal"})
	if _, ok := c["formatted_body"]; ok {
		t.Errorf("to the bridge: %s", c)
	}
	if c = Render(core.Part{Text: text, Spans: []core.Span{long}}, nil); c["formatted_body"] == nil {
		t.Errorf("to Matrix: %s", c)
	}
}

func TestSend_notLeft(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.Say(w.Direct(ada), ada, "hi")
	w.barrier(t)
	w.stop()
	c := open(t, w.Server, w.k,
		func(o *Options) { o.HTTP = &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()} })
	_, err := c.Send(t.Context(), toAda, core.Part{Text: "one", Key: "1"})
	must(t, err)
	w.Server.Stop()
	c.opts.HTTP.CloseIdleConnections()
	_, err = c.Send(t.Context(), toAda, core.Part{Text: "two", Key: "2"})
	var unknown *core.Unknown
	var permanent *core.Permanent
	if err == nil {
		t.Fatalf("no error")
	}
	if errors.As(err, &unknown) {
		t.Fatalf("%v", err)
	}
	if errors.As(err, &permanent) {
		t.Fatalf("%v", err)
	}
}

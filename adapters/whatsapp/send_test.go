package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everthread/everthread/adapters/whatsapp/whatsapptest"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
)

// scene is a channel on a service, with its gateway.
type scene struct {
	s  *whatsapptest.Server
	ch core.Channel
	b  *inbox
}

// play starts a scene without Run.
func play(t *testing.T, opts Options) *scene {
	t.Helper()
	s := whatsapptest.New()
	g := serve(s)
	tr := &http.Transport{}
	opts.HTTP = &http.Client{Transport: tr}
	p := &scene{s: s, ch: open(t, s, opts), b: newInbox()}
	g.mount(p.ch.(channel.Handler).Routes(p.b))
	t.Cleanup(func() { s.Close(); g.Close(); tr.CloseIdleConnections(); noErrors(t, s) })
	return p
}

func (p *scene) send(t *testing.T, who whatsapptest.Person, part core.Part) whatsapptest.Message {
	t.Helper()
	r, err := p.ch.Send(t.Context(), to(who), part)
	if err != nil {
		t.Fatal(err)
	}
	sent := p.s.Sent()
	m := sent[len(sent)-1]
	if m.ID != r.NativeID {
		t.Errorf("receipt of %q, and %q was sent", r.NativeID, m.ID)
	}
	return m
}

func TestSend_byIDOrNumber(t *testing.T) {
	t.Parallel()
	p := play(t, Options{})
	if m := p.send(t, ada, core.Part{Text: "a"}); m.Recipient != ada.UserID || m.To != "" {
		t.Errorf("by id: %+v", m)
	}
	if m := p.send(t, bob, core.Part{Text: "b"}); m.To != "+"+bob.Phone || m.Recipient != "" {
		t.Errorf("by number: %+v", m)
	}
	for _, external := range []string{"", "+", "+12x", "group:"} {
		_, err := p.ch.Send(t.Context(), core.Address{Channel: Name, External: external}, core.Part{Text: "x"})
		var permanent *core.Permanent
		if !errors.As(err, &permanent) {
			t.Errorf("to %q: %v", external, err)
		}
	}
}

func TestSend_keyAndReply(t *testing.T) {
	t.Parallel()
	p := play(t, Options{})
	said := p.s.Say(ada, "question")
	m := p.send(t, ada, core.Part{Text: "*", Key: "delivery-1", Reply: said})
	if m.ReplyTo != said || m.Callback != "delivery-1" {
		t.Errorf("%+v", m)
	}
	got := p.b.wait(t, func(in core.Inbound) bool { return in.Kind == core.InReceipt && in.Target == m.ID })
	if got.Status.Key != "delivery-1" || got.Address != to(ada) {
		t.Errorf("receipt %+v of %v", got.Status, got.Address)
	}
	if m := p.send(t, ada, core.Part{Text: "to a vanished message", Reply: "wamid.GONE"}); m.ReplyTo != "" ||
		m.Text == "" {
		t.Errorf("%+v", m)
	}
}

// A delivery whose answer was lost is settled by its status.
func TestSend_lostAnswerIsSettled(t *testing.T) {
	t.Parallel()
	p := play(t, Options{})
	p.s.Fail("messages", 1, whatsapptest.Failure{Drop: true})
	_, err := p.ch.Send(t.Context(), to(ada), core.Part{Text: "lost", Key: "k7"})
	var unknown *core.Unknown
	if !errors.As(err, &unknown) {
		t.Fatalf("%v", err)
	}
	p.b.wait(t, func(in core.Inbound) bool { return in.Kind == core.InReceipt && in.Status.Key == "k7" })
}

func TestSend_failureThatComesLater(t *testing.T) {
	t.Parallel()
	p := play(t, Options{})
	p.s.CloseWindow(ada)
	p.send(t, ada, core.Part{Text: "too late", Key: "k"})
	in := p.b.wait(t, func(in core.Inbound) bool { return in.Kind == core.InReceipt })
	if in.Status.State != core.DeliveryParked || !strings.Contains(in.Status.Error, "24 hours") {
		t.Errorf("%+v", in.Status)
	}
	p.s.Fail("messages", 1, whatsapptest.Failure{Code: 131042, Later: true})
	p.send(t, bob, core.Part{Text: "not paid"})
	p.b.wait(t, func(in core.Inbound) bool { return in.Address == to(bob) && in.Status != nil })
	if err := p.waitTrouble(t); !strings.Contains(err.Error(), "payment method") {
		t.Errorf("got Check %v", err)
	}
	m := p.send(t, bob, core.Part{Text: "paid by now"})
	p.b.wait(t, func(in core.Inbound) bool { return in.Target == m.ID && in.Status.State == core.DeliveryDelivered })
}

// waitTrouble waits until Check returns an error.
func (p *scene) waitTrouble(t *testing.T) error {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range 2000 {
		if err := p.ch.(core.Checker).Check(); err != nil {
			return err
		}
		<-tick.C
	}
	t.Fatal("Check returns no error")
	return nil
}

func TestSend_errorClasses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		http, code, subcode int
		want                string
	}{
		{401, 0, 0, "trouble"}, {401, 190, 0, "trouble"}, {400, 3, 0, "trouble"}, {403, 10, 0, "trouble"},
		{403, 200, 0, "trouble"}, {403, 299, 0, "trouble"},
		{400, 33, 0, "trouble"}, {400, 100, 33, "trouble"}, {403, 368, 0, "trouble"}, {403, 131031, 0, "trouble"},
		{400, 131042, 0, "trouble"},
		{400, 131045, 0, "trouble"}, {400, 133010, 0, "trouble"}, {400, 133016, 0, "trouble"}, {400, 131048, 0, "trouble"},
		{403, 0, 0, "trouble"},
		{400, 100, 0, "permanent"}, {400, 131008, 0, "permanent"}, {400, 131009, 0, "permanent"},
		{400, 131021, 0, "permanent"}, {400, 131030, 0, "permanent"},
		{403, 130497, 0, "permanent"}, {400, 131050, 0, "permanent"}, {400, 130472, 0, "permanent"},
		{400, 131051, 0, "permanent"}, {400, 131053, 0, "permanent"},
		{404, 132001, 0, "permanent"}, {400, 132000, 0, "permanent"}, {400, 132015, 0, "permanent"}, {400, 0, 0, "permanent"},
		{422, 0, 0, "permanent"},
		{500, 1, 0, "unknown"}, {503, 2, 0, "unknown"}, {500, 131000, 0, "unknown"}, {503, 131016, 0, "unknown"},
		{503, 133004, 0, "unknown"}, {502, 0, 0, "unknown"},
		{400, 4, 0, "account"}, {429, 80007, 0, "account"}, {429, 130429, 0, "account"}, {429, 0, 0, "account"},
		{500, 131057, 0, "account"},
		{429, 131056, 0, "pair"}, {400, 131049, 0, "pair"},
		{400, 131047, 0, "unreachable"}, {400, 131026, 0, "unreachable"},
	} {
		t.Run(fmt.Sprint(c.http, " ", c.code, " ", c.subcode), func(t *testing.T) {
			t.Parallel()
			p := play(t, Options{})
			p.s.Fail("messages", 1, whatsapptest.Failure{HTTP: c.http, Code: c.code, Subcode: c.subcode, Details: "because"})
			_, err := p.ch.Send(t.Context(), to(ada), core.Part{Text: "x"})
			check := p.ch.(core.Checker).Check()
			if got := classOfError(err, check); got != c.want {
				t.Errorf("%s, want %s: %v", got, c.want, err)
			}
			if check != nil {
				p.send(t, ada, core.Part{Text: "again"})
				if err := p.ch.(core.Checker).Check(); err != nil {
					t.Errorf("still failing after a message was accepted: %v", err)
				}
			}
			if strings.Contains(fmt.Sprint(err, check), whatsapptest.Token) {
				t.Error("the token is in an error")
			}
		})
	}
}

func classOfError(err, check error) string {
	var permanent *core.Permanent
	var wait *core.RetryAfter
	var unknown *core.Unknown
	var gone *core.Unreachable
	switch {
	case errors.As(err, &wait) && wait.After > 0:
		switch {
		case wait.Account && check != nil:
			return "trouble"
		case wait.Account:
			return "account"
		}
		return "pair"
	case errors.As(err, &permanent):
		return "permanent"
	case errors.As(err, &unknown):
		return "unknown"
	case errors.As(err, &gone):
		return "unreachable"
	}
	return "temporary"
}

// The pause for one person grows as Meta requires, and an accepted message ends it.
func TestPairLimit_grows(t *testing.T) {
	t.Parallel()
	p := pairs{times: map[string]strikes{}}
	now := time.Unix(1790000000, 0)
	for i, want := range []time.Duration{time.Second, 4 * time.Second, 16 * time.Second, 64 * time.Second,
		256 * time.Second, 1024 * time.Second, 4096 * time.Second, 4096 * time.Second} {
		if got := p.note("a", now); got != want {
			t.Errorf("wait %d is %s, want %s", i, got, want)
		}
	}
	if got := p.note("b", now); got != time.Second {
		t.Errorf("another person waits %s", got)
	}
	p.reset("a")
	if got := p.note("a", now); got != time.Second {
		t.Errorf("after a success %s", got)
	}
	if got := p.note("b", now.Add(forgetPairs+time.Second)); got != time.Second {
		t.Errorf("long after, %s", got)
	}
}

func TestLine_waitsForDelivery(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLine()
		begin := time.Now()
		l.sent("a", "w1", begin)
		go func() {
			<-time.After(500 * time.Millisecond)
			l.arrived("w1", time.Now())
		}()
		if err := l.wait(t.Context(), "a", time.Now()); err != nil || time.Since(begin) != 500*time.Millisecond {
			t.Errorf("waited %s for a status: %v", time.Since(begin), err)
		}
		begin = time.Now()
		l.sent("a", "w2", begin)
		if err := l.wait(t.Context(), "b", time.Now()); err != nil || time.Since(begin) != 0 {
			t.Errorf("another person waited %s: %v", time.Since(begin), err)
		}
		if err := l.wait(t.Context(), "a", time.Now()); err != nil || time.Since(begin) != holdFor {
			t.Errorf("waited %s without a status: %v", time.Since(begin), err)
		}
		begin = time.Now()
		l.arrived("w3", begin) // the status is faster than the answer
		l.sent("a", "w3", begin)
		if err := l.wait(t.Context(), "a", time.Now()); err != nil || time.Since(begin) != 0 {
			t.Errorf("waited %s for what had arrived: %v", time.Since(begin), err)
		}
		l.sent("a", "w4", time.Now())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.wait(ctx, "a", time.Now()); err == nil {
			t.Error("did not give up with the caller")
		}
		<-time.After(time.Minute)
		l.arrived("w5", time.Now())
		if len(l.last)+len(l.flights) > 0 || len(l.landed) != 1 {
			t.Errorf("%d, %d and %d are kept", len(l.last), len(l.flights), len(l.landed))
		}
	})
}

func TestTyping(t *testing.T) {
	t.Parallel()
	p := play(t, Options{})
	typer := p.ch.(core.Typer)
	said := p.s.Say(ada, "question")
	if err := typer.Typing(t.Context(), to(ada), said); err != nil {
		t.Error(err)
	}
	if err := typer.Typing(t.Context(), to(ada), ""); err != nil {
		t.Error(err)
	}
	if got := p.s.Typed(); len(got) != 1 || got[0] != said {
		t.Errorf("typed under %q", got)
	}
}

func TestTeaser(t *testing.T) {
	t.Parallel()
	if _, ok := play(t, Options{}).ch.(core.Reopener); ok {
		t.Error("it can reopen without a template")
	}
	p := play(t, Options{Config: Config{SummaryTemplate: "daily_summary"},
		Now: func() time.Time { return time.Date(2026, 11, 19, 8, 0, 0, 0, time.UTC) }})
	p.s.CloseWindow(ada)
	r, err := p.ch.(core.Reopener).Reopen(t.Context(), to(ada), "reopen-1")
	if err != nil {
		t.Fatal(err)
	}
	m := p.s.Sent()[0]
	if m.ID != r.NativeID || m.Template != "daily_summary" || m.Parameter != "19 November" || m.Callback != "reopen-1" {
		t.Errorf("%+v", m)
	}
	wamid := p.s.Press(ada, m, "Read it")
	in := p.b.wait(t, func(in core.Inbound) bool { return in.Kind == core.InAsked })
	if in.Address != to(ada) || in.EventID != wamid {
		t.Errorf("asked: %+v", in)
	}
	p.s.Fail("messages", 1, whatsapptest.Failure{HTTP: 404, Code: 132001, Details: "template does not exist"})
	if _, err := p.ch.(core.Reopener).Reopen(t.Context(), to(ada), "x"); classOfError(err, nil) != "permanent" ||
		!strings.Contains(err.Error(), "daily_summary") {
		t.Errorf("%v", err)
	}
}

func TestDateInWords(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{"en": "1 March", "en_US": "1 March", "fr": "1er mars", "de": "1. März",
		"es": "2026-03-01"} {
		if got := dateInWords(code, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)); got != want {
			t.Errorf("%s: %q, want %q", code, got, want)
		}
	}
}

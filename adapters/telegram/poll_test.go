package telegram

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/command"
	"github.com/everthread/everthread/internal/fulltest"
)

// inbox is a core.Receiver that passes events to the test.
type inbox struct {
	mu    sync.Mutex
	calls [][]core.Inbound
	fail  error
	got   chan core.Inbound
	tried chan struct{} // one for each call
}

func newInbox() *inbox {
	return &inbox{got: make(chan core.Inbound, 1000), tried: make(chan struct{}, 1000)}
}

func (b *inbox) Receive(_ context.Context, in ...core.Inbound) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, in)
	b.tried <- struct{}{}
	if b.fail != nil {
		return b.fail
	}
	for _, m := range in {
		b.got <- m
	}
	return nil
}

func (b *inbox) next(t *testing.T) core.Inbound {
	t.Helper()
	select {
	case m := <-b.got:
		return m
	case <-time.After(10 * time.Second):
		t.Fatal("no event was passed on")
		return core.Inbound{}
	}
}

// try waits for a call of Receive.
func (b *inbox) try(t *testing.T) {
	t.Helper()
	select {
	case <-b.tried:
	case <-time.After(10 * time.Second):
		t.Fatal("no event was passed on")
	}
}

// running runs c until the test ends.
func running(t *testing.T, c *Channel, r core.Receiver) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx, r) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestPoll_handsBatchesOver(t *testing.T) {
	t.Parallel()
	s, c := served(t)
	for range 30 {
		s.Say(ada, "hello")
	}
	b := newInbox()
	running(t, c, b)
	for range 30 {
		b.next(t)
	}
	if n := len(b.calls); n != 1 {
		t.Errorf("%d calls of Receive for one batch", n)
	}
}

// An unknown update is stored and acknowledged like any other.
func TestPoll_foreignUpdate(t *testing.T) {
	t.Parallel()
	s, c := served(t)
	s.OfferRaw(`{"update_id":700000001,"message":{"message_id":"not a number"}}`)
	s.OfferRaw(`{"update_id":700000002,"purple":1}`)
	s.Say(ada, "after")
	b := newInbox()
	running(t, c, b)
	for i := range 2 {
		if in := b.next(t); in.Kind != core.InUnsupported || len(in.Raw) == 0 || in.EventID == "" {
			t.Errorf("update %d: %+v", i, in)
		}
	}
	if in := b.next(t); in.Text != "after" {
		t.Errorf("got %+v", in)
	}
	if err := s.Wait(within(t), func() bool { return s.Pending() == 0 }); err != nil {
		t.Errorf("%d updates not acknowledged", s.Pending())
	}
}

func TestPoll_answersButtons(t *testing.T) {
	t.Parallel()
	s, c := served(t)
	running(t, c, newInbox())
	id := s.Press(ada, 5, "/today")
	if err := s.Wait(within(t), func() bool { return slices.Contains(s.Answered(), id) }); err != nil {
		t.Error("the press was not answered")
	}
}

func TestPoll_goesOnAfterErrors(t *testing.T) {
	t.Parallel()
	s, c := served(t)
	for _, f := range []telegramtest.Failure{
		{Code: 500}, {Code: 502}, {Drop: true}, {Code: 429, RetryAfter: 1},
		{Code: 409,
			Description: "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"},
	}[fulltest.Size(2, 0):] {
		s.Fail("getUpdates", 1, f)
	}
	b := newInbox()
	running(t, c, b)
	s.Say(ada, "still there?")
	if in := b.next(t); in.Text != "still there?" {
		t.Errorf("got %+v", in)
	}
	if err := c.Check(); err != nil {
		t.Errorf("still reports %v", err)
	}
}

// A second poller ends the first one's poll; the first reports it and continues.
func TestPoll_conflict(t *testing.T) {
	t.Parallel()
	s, c := served(t)
	running(t, c, newInbox())
	if err := s.Wait(within(t), func() bool { return s.Calls("getUpdates") == 1 }); err != nil {
		t.Fatal(err)
	}
	rival := open(t, Options{Config: Config{APIURL: s.URL()}})
	ctx, cancel := context.WithCancel(t.Context())
	rivalDone := make(chan struct{})
	go func() {
		defer close(rivalDone)
		_ = rival.api.call(ctx, time.Minute, "getUpdates", pollParams{Timeout: 50}, nil)
	}()
	if err := s.Wait(within(t), func() bool { return s.Calls("getUpdates") >= 3 }); err != nil {
		t.Fatal("the first poller did not come back")
	}
	cancel()
	<-rivalDone
}

func TestPoll_removesTheWebhook(t *testing.T) {
	t.Parallel()
	s, c := served(t)
	b := newInbox()
	running(t, c, b)
	if err := s.Wait(within(t), func() bool { return s.Calls("getUpdates") == 1 }); err != nil {
		t.Fatal(err)
	}
	err := c.api.call(t.Context(), time.Minute, "setWebhook", map[string]string{"url": "http://127.0.0.1:1/"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Say(ada, "hello")
	if in := b.next(t); in.Text != "hello" {
		t.Errorf("got %+v", in)
	}
	if err := s.Wait(within(t),
		func() bool { return s.Webhook() == "" }); err != nil { // a waiting poll may still have brought it
		t.Error("the webhook is still set")
	}
}

func TestRun_stopsForGood(t *testing.T) {
	t.Parallel()
	for code, says := range map[int]string{401: "@BotFather", 404: "channels.telegram.api_url"} {
		s, c := served(t)
		s.Fail("getMe", 1, telegramtest.Failure{Code: code})
		err := c.Run(within(t), newInbox())
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%d: %v", code, err)
		}
		if c.Check() == nil {
			t.Errorf("%d: Check is content", code)
		}
	}
}

func TestRun_tokenRevokedLater(t *testing.T) {
	t.Parallel()
	s, c := served(t)
	s.Fail("getUpdates", 1, telegramtest.Failure{Code: 401})
	if err := c.Run(within(t), newInbox()); err == nil || !strings.Contains(err.Error(), "revoked") {
		t.Errorf("got %v", err)
	}
}

// The service may be down when the gateway starts. Neither logs nor Check reveal the
// token.
func TestRun_waitsForTheService(t *testing.T) {
	t.Parallel()
	s := telegramtest.New()
	t.Cleanup(s.Close)
	observed, logs := observer.New(zapcore.DebugLevel)
	c := open(t, Options{Config: Config{APIURL: s.URL()}, Log: zap.New(observed)})
	s.Fail("getMe", 2, telegramtest.Failure{Drop: true})
	s.Fail("deleteWebhook", 1, telegramtest.Failure{Code: 500})
	b := newInbox()
	b.fail = errors.New("disk full")
	running(t, c, b)
	s.Say(ada, "words of a person")
	b.try(t)
	b.try(t)
	if c.Check() == nil {
		t.Error("Check returns no error while nothing can be stored")
	}
	for _, e := range logs.All() {
		for _, secret := range []string{"TEST-token", "words of a person"} {
			if text := e.Message + " " + dumpFields(e.ContextMap()); strings.Contains(text, secret) {
				t.Errorf("log tells %q: %s", secret, text)
			}
		}
	}
	if logs.FilterMessage("telegram does not answer").Len() != 3 || logs.FilterMessage("updates not stored").Len() == 0 {
		t.Errorf("logged %v", logs.All())
	}
}

func dumpFields(m map[string]any) string {
	var b strings.Builder
	for k, v := range m {
		b.WriteString(k)
		if s, ok := v.(string); ok {
			b.WriteString("=" + s)
		}
	}
	return b.String()
}

func TestMenus_everyLanguage(t *testing.T) {
	t.Parallel()
	s := telegramtest.New()
	t.Cleanup(s.Close)
	c := open(t, Options{Config: Config{APIURL: s.URL()}, Groups: true, Commands: []command.Entry{
		{Name: "today", Descriptions: map[string]string{"en": "Today's summary", "fr": "Résumé du jour"}, Group: "members"},
		{Name: "usage", Descriptions: map[string]string{"en": "Tokens used"}, Group: "members"},
		{Name: "pause", Descriptions: map[string]string{"en": "Pause"}, Group: "admins"},
		{Name: "forget", Descriptions: map[string]string{"en": "Forget"}},
	}})
	running(t, c, newInbox())
	if err := s.Wait(within(t), func() bool { return s.Calls("getUpdates") > 0 }); err != nil {
		t.Fatal(err)
	}
	for _, language := range []string{"", "fr"} {
		for scope, want := range map[string][]string{"": {"today", "usage", "pause", "forget"}, "all_group_chats": {"today", "usage"},
			"all_chat_administrators": {"today", "usage", "pause"}} {
			if got := s.Menu(language, scope); !slices.Equal(got, want) {
				t.Errorf("menu for %q in %q: %v", language, scope, got)
			}
		}
	}
	fr := c.menus()[3]
	if fr.Language != "fr" || fr.Commands[0].Description != "Résumé du jour" || fr.Commands[1].Description != "Tokens used" {
		t.Errorf("French menu %+v", fr)
	}
	c.opts.Groups = false // they were turned off since
	c.announce(t.Context())
	for _, language := range []string{"", "fr"} {
		for scope, want := range map[string]int{"": 4, "all_group_chats": 0, "all_chat_administrators": 0} {
			if got := s.Menu(language, scope); len(got) != want {
				t.Errorf("without groups, the menu for %q in %q is %v", language, scope, got)
			}
		}
	}
	if n := s.Calls("deleteMyCommands"); n != 4 {
		t.Errorf("%d menus were deleted", n)
	}
	noErrors(t, s)
}

func TestNew_refuses(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{
		"no token":               {},
		"token without colon":    {Config: Config{Token: "123456"}},
		"token with a path":      {Config: Config{Token: "1:a/../b"}},
		"unknown mode":           {Config: Config{Token: "1:a", Mode: "push"}},
		"webhook without secret": {Config: Config{Token: "1:a", Mode: "webhook"}, PublicURL: "https://a.example"},
		"webhook with odd secret": {Config: Config{Token: "1:a", Mode: "webhook", WebhookSecret: "a b"},
			PublicURL: "https://a.example"},
		"webhook without address": {Config: Config{Token: "1:a", Mode: "webhook", WebhookSecret: "x"}},
		"api_url without host":    {Config: Config{Token: "1:a", APIURL: "nowhere"}},
		"previous secret is wrong": {Config: Config{Token: "1:a", Mode: "webhook", WebhookSecret: "x", PreviousSecret: "é"},
			PublicURL: "https://a.example"},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%s: no error", name)
		} else if strings.Contains(err.Error(), "1:a") {
			t.Errorf("%s: the error contains the token: %v", name, err)
		}
	}
}

// TestMenus_fitTelegram checks the commands that every bot announces.
func TestMenus_fitTelegram(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`^[a-z0-9_]{1,32}$`)
	all := command.Menu()
	if len(all) == 0 || len(all) > 100 {
		t.Errorf("%d commands, and a menu holds 100", len(all))
	}
	for _, c := range all {
		if !name.MatchString(c.Name) || c.Descriptions[fallbackLanguage] == "" {
			t.Errorf("%q, %q", c.Name, c.Descriptions[fallbackLanguage])
		}
	}
}

package telegram

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text/markup"
)

var adaAddress = core.Address{Channel: Name, Account: "123456", External: "111222333"}

// served returns a test service and a channel on it.
func served(t *testing.T) (*telegramtest.Server, *Channel) {
	t.Helper()
	s := telegramtest.New()
	t.Cleanup(func() {
		s.Close()
		noErrors(t, s)
	})
	return s, open(t, Options{Config: Config{APIURL: s.URL()}})
}

func TestSend_markupRefused(t *testing.T) {
	t.Parallel()
	for _, description := range []string{"Bad Request: can't parse entities: unsupported start tag",
		"Bad Request: ENTITIES_TOO_LONG"} {
		s, c := served(t)
		s.Fail("sendMessage", 1, telegramtest.Failure{Code: 400, Description: description})
		if _, err := c.Send(t.Context(), adaAddress, markup.Parse("**bold** text").Part()); err != nil {
			t.Fatal(err)
		}
		sent := s.Sent(ada)
		if len(sent) != 1 || sent[0].Text != "bold text" || sent[0].Entities != nil {
			t.Errorf("sent %+v", sent)
		}
	}
}

func TestSend_markupRefusedTwice(t *testing.T) {
	t.Parallel()
	s, c := served(t)
	s.Fail("sendMessage", 5, telegramtest.Failure{Code: 400, Description: "Bad Request: can't parse entities"})
	_, err := c.Send(t.Context(), adaAddress, markup.Parse("**bold**").Part())
	var permanent *core.Permanent
	if !errors.As(err, &permanent) {
		t.Errorf("got %v", err)
	}
	if n := s.Calls("sendMessage"); n != 2 {
		t.Errorf("%d attempts, want 2", n)
	}
}

func TestSend_followsMigration(t *testing.T) {
	t.Parallel()
	s, c := served(t)
	s.Fail("sendMessage", 1, telegramtest.Failure{Code: 400,
		Description: "Bad Request: group chat was upgraded to a supergroup chat", MigrateTo: -1001})
	if _, err := c.Send(t.Context(), core.Address{External: "-5"}, core.Part{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	if n := len(s.Sent(-1001)); n != 1 {
		t.Errorf("%d messages in the new chat", n)
	}
}

func TestSend_replyGone(t *testing.T) {
	t.Parallel()
	s, c := served(t)
	s.Fail("sendMessage", 1, telegramtest.Failure{Code: 400, Description: "Bad Request: message to be replied not found"})
	if _, err := c.Send(t.Context(), adaAddress, core.Part{Text: "x", Reply: "5"}); err != nil {
		t.Fatal(err)
	}
	if sent := s.Sent(ada); len(sent) != 1 || sent[0].ReplyTo != 0 {
		t.Errorf("sent %+v", sent)
	}
}

// The topic of a question is that of everything that answers it.
func TestTopic_isThatOfTheQuestion(t *testing.T) {
	t.Parallel()
	s, c := served(t)
	to := adaAddress
	to.Place = "116834"
	in := received(t, `"text":"in a topic","message_thread_id":116834,"is_topic_message":true`)
	if in.Address.Place != to.Place {
		t.Errorf("the message is in %q", in.Address.Place)
	}
	if in := received(t, `"text":"a reply","message_thread_id":5`); in.Address.Place != "" {
		t.Errorf("a message outside topics is in %q", in.Address.Place)
	}
	if err := errors.Join(c.Typing(t.Context(), to, ""), c.Preview(t.Context(), to, "turn 5", "x")); err != nil {
		t.Fatal(err)
	}
	photo := filePart("photo", "a.png", "image/png", onePixel)
	photo.Place = to.Place
	for _, p := range []core.Part{{Text: "one", Place: to.Place}, {Text: "two", Place: to.Place,
		Buttons: []core.Button{{Label: "Yes", Command: "/yes 1"}}}, photo, {Text: "elsewhere"}} {
		if _, err := c.Send(t.Context(), to, p); err != nil {
			t.Fatal(err)
		}
	}
	var got []int64
	for _, m := range s.Sent(ada) {
		got = append(got, m.Topic)
	}
	if want := []int64{116834, 116834, 116834, 0}; !slices.Equal(got, want) {
		t.Errorf("sent to the topics %v, want %v", got, want)
	}
	if s.ActionsIn(ada, 116834) != 1 || s.Drafts(ada)[0].Topic != 116834 {
		t.Errorf("typing and draft are not in the topic: %+v", s.Drafts(ada))
	}
	s.Fail("sendMessage", 1, telegramtest.Failure{Code: 400, Description: "Bad Request: message thread not found"})
	if _, err := c.Send(t.Context(), to, core.Part{Text: "gone", Place: to.Place}); err != nil {
		t.Fatal(err)
	}
	if sent := s.Sent(ada); sent[len(sent)-1].Topic != 0 || sent[len(sent)-1].Text != "gone" {
		t.Errorf("after the topic was deleted: %+v", sent[len(sent)-1])
	}
}

func TestSend_notModified(t *testing.T) {
	t.Parallel()
	s, c := served(t)
	s.Fail("sendMessage", 1, telegramtest.Failure{Code: 400,
		Description: "Bad Request: message is not modified: specified new message content"})
	if _, err := c.Send(t.Context(), adaAddress, core.Part{Text: "x"}); err != nil {
		t.Fatal(err)
	}
}

func TestSend_errors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failure telegramtest.Failure
		want    any
		says    string
	}{
		"token revoked": {telegramtest.Failure{Code: 401}, new(*core.Permanent), "@BotFather"},
		"token unknown": {telegramtest.Failure{Code: 404}, new(*core.Permanent), "channels.telegram.token"},
		"no such chat": {telegramtest.Failure{Code: 400, Description: "Bad Request: chat not found"},
			new(*core.Unreachable), "chat not found"},
		"other refusal": {telegramtest.Failure{Code: 400, Description: "Bad Request: something new"},
			new(*core.Permanent), "something new"},
		"blocked": {telegramtest.Failure{Code: 403}, new(*core.Unreachable), "blocked"},
		"deactivated": {telegramtest.Failure{Code: 403, Description: "Forbidden: user is deactivated"},
			new(*core.Unreachable), "deactivated"},
		"flood":          {telegramtest.Failure{Code: 429, RetryAfter: 35}, new(*core.RetryAfter), "35"},
		"server error":   {telegramtest.Failure{Code: 500}, new(*core.Unknown), "500"},
		"answer dropped": {telegramtest.Failure{Drop: true}, new(*core.Unknown), "may have arrived"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, ch := served(t)
			s.Fail("sendMessage", 1, c.failure)
			_, err := ch.Send(t.Context(), adaAddress, core.Part{Text: "secret words"})
			if !errors.As(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %T %v", err, err)
			}
			if err != nil && (strings.Contains(err.Error(), "TEST-token") || strings.Contains(err.Error(), "secret words")) {
				t.Errorf("error tells too much: %v", err)
			}
		})
	}
}

// An answer of a proxy says nothing about the chat or the text.
func TestSend_proxyIsNotTheService(t *testing.T) {
	t.Parallel()
	for _, code := range []int{400, 401, 403, 404, 407, 413} {
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "<html>please sign in</html>", code)
		}))
		t.Cleanup(proxy.Close)
		_, err := open(t, Options{Config: Config{APIURL: proxy.URL}}).Send(t.Context(), adaAddress,
			core.Part{Text: "secret words"})
		var permanent *core.Permanent
		var gone *core.Unreachable
		var unknown *core.Unknown
		if err == nil || errors.As(err, &permanent) || errors.As(err, &gone) || errors.As(err, &unknown) ||
			!strings.Contains(err.Error(), "api_url") {
			t.Errorf("%d: got %T %v", code, err, err)
		}
	}
}

func TestSend_tooLong(t *testing.T) {
	t.Parallel()
	_, c := served(t)
	_, err := c.Send(t.Context(), adaAddress, core.Part{Text: strings.Repeat("a", 4097)})
	var permanent *core.Permanent
	if !errors.As(err, &permanent) {
		t.Errorf("got %v", err)
	}
}

func TestSend_nothing(t *testing.T) {
	t.Parallel()
	s, c := served(t)
	for _, p := range []struct {
		to   core.Address
		part core.Part
	}{{adaAddress, core.Part{Text: " \n"}}, {core.Address{External: "@ada"}, core.Part{Text: "x"}}} {
		var permanent *core.Permanent
		if _, err := c.Send(t.Context(), p.to, p.part); !errors.As(err, &permanent) {
			t.Errorf("got %v", err)
		}
	}
	if s.Calls("sendMessage") != 0 {
		t.Error("asked the service")
	}
}

// A request that was never sent is temporary, as it certainly did not arrive.
func TestRetract(t *testing.T) {
	t.Parallel()
	s, c := served(t)
	sent, err := c.Send(t.Context(), adaAddress, core.Part{Text: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	var permanent *core.Permanent
	s.Fail("deleteMessage", 1, telegramtest.Failure{Code: 400, Description: "Bad Request: message can't be deleted for everyone"})
	if err := c.Retract(t.Context(), adaAddress, sent.NativeID); !errors.As(err, &permanent) {
		t.Errorf("after 48 hours: %v", err)
	}
	for _, native := range []string{"", "hello"} {
		if err := c.Retract(t.Context(), adaAddress, native); !errors.As(err, &permanent) {
			t.Errorf("%q: %v", native, err)
		}
	}
	var wait *core.RetryAfter
	s.Fail("deleteMessage", 1, telegramtest.Failure{Code: 429, RetryAfter: 3})
	if err := c.Retract(t.Context(), adaAddress, sent.NativeID); !errors.As(err, &wait) || wait.After != 3*time.Second {
		t.Errorf("limited: %v", err)
	}
	for range 2 { // it is a success, also if it is gone
		if err := c.Retract(t.Context(), adaAddress, sent.NativeID); err != nil || !s.Sent(ada)[0].Deleted {
			t.Errorf("%+v, %v", s.Sent(ada), err)
		}
	}
	topic := adaAddress
	topic.External += "/7"
	if err := c.Retract(t.Context(), topic, sent.NativeID); err != nil {
		t.Errorf("in a topic: %v", err)
	}
}

func TestSend_notLeft(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	root := "http://" + l.Addr().String()
	l.Close()
	for _, url := range []string{root, "http://does-not-exist.invalid"} {
		_, err = open(t, Options{Config: Config{APIURL: url}}).Send(t.Context(), adaAddress, core.Part{Text: "x"})
		var unknown *core.Unknown
		var permanent *core.Permanent
		if err == nil || errors.As(err, &unknown) || errors.As(err, &permanent) {
			t.Errorf("got %T %v", err, err)
		}
		if strings.Contains(err.Error(), "TEST-token") {
			t.Errorf("the error contains the token: %v", err)
		}
	}
}

func TestFlood_ofAllChats(t *testing.T) {
	t.Parallel()
	var f flood
	now := time.Unix(1000, 0)
	for chat := range int64(globalFlood) {
		if got, want := f.note(chat, now, 10*time.Second), chat == globalFlood-1; got != want {
			t.Errorf("chat %d: account limit %v, want %v", chat, got, want)
		}
	}
	if f.note(99, now.Add(time.Minute), time.Second) {
		t.Error("waits that are over count")
	}
}

func TestPreview_andTyping(t *testing.T) {
	t.Parallel()
	s, c := served(t)
	if err := c.Typing(t.Context(), adaAddress, ""); err != nil {
		t.Fatal(err)
	}
	if s.Actions(ada) != 1 {
		t.Error("no typing shown")
	}
	for _, text := range []string{"Hel", "Hello **wor", strings.Repeat("🙂", 5000)} {
		if err := c.Preview(t.Context(), adaAddress, "turn 5", text); err != nil {
			t.Fatal(err)
		}
	}
	d := s.Drafts(ada)
	if len(d) != 3 || d[0].ID == 0 || d[0].ID != d[1].ID || !d[0].CanStop || d[0].Text != "Hel" {
		t.Errorf("drafts %+v", d[:min(2, len(d))])
	}
	if err := c.Preview(t.Context(), core.Address{External: "-5"}, "turn 5", "x"); err == nil {
		t.Error("draft in a group")
	}
}

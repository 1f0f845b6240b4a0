package signal

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/signal/signaltest"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
)

func classOf(err error) string {
	var permanent *core.Permanent
	var unreachable *core.Unreachable
	var wait *core.RetryAfter
	var unknown *core.Unknown
	switch {
	case err == nil:
		return "success"
	case errors.As(err, &wait):
		return "wait " + wait.After.String()
	case errors.As(err, &unreachable):
		return "unreachable"
	case errors.As(err, &permanent):
		return "permanent"
	case errors.As(err, &unknown):
		return "unknown"
	}
	return "temporary"
}

func TestSend_errors(t *testing.T) {
	t.Parallel()
	outcome := func(code int, kind string) signaltest.Failure {
		return signaltest.Failure{Code: code, Message: "Failed to send message", Type: kind}
	}
	for name, c := range map[string]struct {
		f          signaltest.Failure
		want, says string
	}{
		"unregistered":   {outcome(-1, "UNREGISTERED_FAILURE"), "unreachable", "not on Signal any more"},
		"said in words":  {signaltest.Failure{Code: -1, Message: "The user 1 is not registered."}, "unreachable", "not on Signal"},
		"safety number":  {outcome(-4, "IDENTITY_FAILURE"), "unreachable", "signal-cli trust"},
		"network":        {outcome(-1, "NETWORK_FAILURE"), "temporary", ""},
		"keys":           {outcome(-1, "INVALID_PRE_KEY_FAILURE"), "temporary", ""},
		"a short limit":  {signaltest.Failure{Code: -5, Type: "RATE_LIMIT_FAILURE", Wait: 7}, "wait 7s", ""},
		"a bare limit":   {signaltest.Failure{Code: -5, Message: "rate limiting"}, "wait 1m0s", ""},
		"a captcha":      {signaltest.Failure{Code: -5, Type: "RATE_LIMIT_FAILURE", Wait: 60, Token: "tok-1"}, "wait 1m0s", "--challenge tok-1"},
		"no account":     {signaltest.Failure{Code: -32602, Message: "Specified account does not exist"}, "wait 5m0s", "check channels.signal.account"},
		"unlinked":       {signaltest.Failure{Code: -32603, Message: "x (AuthorizationFailedException)"}, "wait 5m0s", "link it again"},
		"an old daemon":  {signaltest.Failure{Code: -32601, Message: "Method not implemented"}, "permanent", "not implemented"},
		"a bug of ours":  {signaltest.Failure{Code: -1, Message: "Invalid style"}, "permanent", "Invalid style"},
		"internal":       {signaltest.Failure{Code: -32603, Message: "Failed to send message: x (IOException)"}, "unknown", ""},
		"500":            {signaltest.Failure{HTTP: 502}, "unknown", "log of signal-cli"},
		"host name":      {signaltest.Failure{HTTP: 421}, "temporary", "like its --http"},
		"elsewhere":      {signaltest.Failure{HTTP: 404}, "temporary", "Check channels.signal.api_url"},
		"no answer":      {signaltest.Failure{Drop: true}, "unknown", ""},
		"another answer": {signaltest.Failure{Garbage: true}, "unknown", "not JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlay(t)
			p.s.Fail("send", 1, c.f)
			_, err := p.ch.Send(t.Context(), toAda, core.Part{Text: "x", Key: "k"})
			if got := classOf(err); got != c.want || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s, want %s: %v", got, c.want, err)
			}
			if _, err := p.ch.Send(t.Context(), toAda, core.Part{Text: "x", Key: "k"}); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// A person must solve a captcha, so the channel says how, in the owner's language.
func TestSend_captchaIsReported(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.s.Fail("send", 1, signaltest.Failure{Code: -5, Type: "RATE_LIMIT_FAILURE", Token: "tok-1"})
	_, _ = p.ch.Send(t.Context(), toAda, core.Part{Text: "x"})
	p.run(t)
	p.s.Say(ada, "are you there?")
	p.wants(t, ada, "are you there?") // receiving works, and does not hide it
	if got := channel.Said(p.ch.Check(), "de"); !strings.Contains(got, "löse das Bilderrätsel") {
		t.Errorf("got %s", got)
	}
	if _, err := p.ch.Send(t.Context(), toAda, core.Part{Text: "yes"}); err != nil || p.ch.Check() != nil {
		t.Errorf("after an answer: %v, %v", err, p.ch.Check())
	}
}

// Doctor, a process of its own, sees what keeps the account from sending, until something is sent.
func TestDiagnose_limits(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	kept := &keeper{values: map[string]string{}}
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	process := func() *Channel {
		return open(t, Options{Config: Config{APIURL: p.s.URL()}, Keeper: kept, Now: func() time.Time { return now }})
	}
	report := func(want string) {
		t.Helper()
		said := fmt.Sprint(process().Diagnose(t.Context(), "en"))
		if !strings.Contains(said, want) || want == "" && (strings.Contains(said, "limits") || strings.Contains(said, "captcha")) {
			t.Errorf("it does not say %q: %s", want, said)
		}
	}
	send := func(f signaltest.Failure) {
		p.s.Fail("send", 1, f)
		_, _ = process().Send(t.Context(), toAda, core.Part{Text: "x"})
	}
	report("")
	send(signaltest.Failure{Code: codeRate, Type: "RATE_LIMIT_FAILURE", Wait: 90})
	report("go on by themselves after 2026-08-01T12:01:30Z")
	now = now.Add(2 * time.Minute)
	report("")
	send(signaltest.Failure{Code: codeRate, Type: "RATE_LIMIT_FAILURE", Token: "tok-1"})
	now = now.Add(48 * time.Hour)
	report("--challenge tok-1 --captcha LINK")
	p.s.Fail("send", 0, signaltest.Failure{})
	if _, err := process().Send(t.Context(), toAda, core.Part{Text: "x"}); err != nil {
		t.Error(err)
	}
	report("")
	kept.breaks(errors.New("disk full"))
	report("disk full")
}

func TestSend_confirmedKeyIsNotSentAgain(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	first, err := p.ch.Send(t.Context(), toAda, core.Part{Text: "once", Key: "k1"})
	if err != nil {
		t.Fatal(err)
	}
	again, err := p.ch.Send(t.Context(), toAda, core.Part{Text: "once", Key: "k1", Again: true})
	if err != nil || again != first || len(p.s.Sent(ada)) != 1 {
		t.Errorf("got %v after %v, %v, sent %d", again, first, err, len(p.s.Sent(ada)))
	}
}

func TestSend_refusesWhatCannotGoOut(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	file := &core.Attachment{Name: "a", MIME: "image/png"}
	for name, c := range map[string]struct {
		to   string
		part core.Part
	}{
		"empty":      {ada, core.Part{Text: " \n"}},
		"no prefix":  {"Pmpi+EfPWmsxiomLe9Nx2XF9HOE483p6iKiFj65iMwI=", core.Part{Text: "x"}},
		"no group":   {groupPrefix + "no id", core.Part{Text: "x"}},
		"no file":    {ada, core.Part{Attachment: file}},
		"large file": {ada, core.Part{Attachment: file, Data: make([]byte, maxUpload+1)}},
	} {
		to := toAda
		to.External = c.to
		if _, err := p.ch.Send(t.Context(), to, c.part); classOf(err) != "permanent" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := p.s.Calls("send"); n > 0 {
		t.Errorf("%d requests", n)
	}
}

func TestSend_quotes(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.run(t)
	at := p.s.Say(ada, "what is it?")
	p.wants(t, ada, "what is it?")
	for reply, want := range map[string]int64{"": 0, "none": 0, "12": 0, fmt.Sprint(at): at} {
		if _, err := p.ch.Send(t.Context(), toAda, core.Part{Text: "answer", Reply: reply}); err != nil {
			t.Fatal(err)
		}
		sent := p.s.Sent(ada)
		if got := sent[len(sent)-1]; got.Quote != want || want != 0 && got.QuoteText != "what is it?" {
			t.Errorf("the reply to %q quotes %d %q", reply, got.Quote, got.QuoteText)
		}
	}
}

func TestSend_filesAndQuietTexts(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	part := core.Part{Text: "hear **me**", Quiet: true, Data: []byte("sound"),
		Attachment: &core.Attachment{Kind: "voice", Name: "a b;c=d.ogg", MIME: "audio/ogg; codecs=opus"}}
	if _, err := p.ch.Send(t.Context(), toAda, part); err != nil {
		t.Fatal(err)
	}
	want := "data:audio/ogg;filename=a+b%3Bc%3Dd.ogg;base64," + base64.StdEncoding.EncodeToString([]byte("sound"))
	if m := p.s.Sent(ada)[0]; m.Attachment != want || !m.Voice || !m.Quiet || m.Text != part.Text {
		t.Errorf("got %+v", m)
	}
	part = core.Part{Data: []byte("x"), Attachment: &core.Attachment{Kind: "document"}}
	if _, err := p.ch.Send(t.Context(), toAda, part); err != nil {
		t.Fatal(err)
	}
	if m := p.s.Sent(ada)[1]; m.Attachment != "data:application/octet-stream;filename=file;base64,eA==" || m.Voice {
		t.Errorf("got %+v", m)
	}
}

func TestRetract(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	const group = "Pmpi+EfPWmsxiomLe9Nx2XF9HOE483p6iKiFj65iMwI="
	toGroup := core.Address{Channel: Name, Account: signaltest.Account, External: groupPrefix + group}
	for who, to := range map[string]core.Address{ada: toAda, group: toGroup} {
		sent, err := p.ch.Send(t.Context(), to, core.Part{Text: "hello"})
		if err == nil {
			err = p.ch.Retract(t.Context(), to, sent.NativeID)
		}
		if err != nil || !p.s.Sent(who)[0].Deleted {
			t.Errorf("%s has %+v, %v", who, p.s.Sent(who), err)
		}
	}
	var permanent *core.Permanent
	for _, native := range []string{"", "hello"} {
		if err := p.ch.Retract(t.Context(), toAda, native); !errors.As(err, &permanent) {
			t.Errorf("%q: %v", native, err)
		}
	}
	var wait *core.RetryAfter
	p.s.Fail("remoteDelete", 1, signaltest.Failure{Code: codeRate, Message: "rate limiting", Type: "RATE_LIMIT_FAILURE", Wait: 3})
	if err := p.ch.Retract(t.Context(), toAda, "1790000000001"); !errors.As(err, &wait) || wait.After != 3*time.Second {
		t.Errorf("got %v", err)
	}
}

func TestTyping(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	if err := p.ch.Typing(t.Context(), toAda, ""); err != nil || !slices.Equal(p.s.Typed(), []string{ada}) {
		t.Errorf("typed to %q, %v", p.s.Typed(), err)
	}
	p.s.Fail("sendTyping", 1, signaltest.Failure{HTTP: http.StatusBadGateway})
	if err := p.ch.Typing(t.Context(), toAda, ""); err == nil {
		t.Error("a typing notice that failed is no error")
	}
}

func TestFetch(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	data := bytes.Repeat([]byte{0xFF, 0xD8, 0xFF}, 10000)
	p.s.AddFile("abc.jpg", data)
	p.s.AddFile("cafe:3", []byte("RIFF....WEBP"))
	photo := attachment{ContentType: "image/jpeg", ID: "abc.jpg", Size: int64(len(data))}
	_, known := photo.file(ada)
	photo.Size = 0 // it is not always known
	_, unsized := photo.file(ada)
	gone := attachment{ContentType: "image/jpeg", ID: "gone"}
	_, missing := gone.file(ada)
	for name, c := range map[string]struct {
		ref        string
		max        int64
		want, mime string
	}{
		"a photo":              {known.Ref, 30000, "success", "image/jpeg"},
		"without a limit":      {known.Ref, 0, "success", "image/jpeg"},
		"too large":            {known.Ref, 29999, "permanent", ""},
		"too large, as it was": {unsized.Ref, 29999, "permanent", ""},
		"far too large":        {unsized.Ref, 10, "permanent", ""},
		"gone":                 {missing.Ref, 0, "permanent", ""},
		"a sticker":            {sticker{"cafe", 3}.file().Ref, 0, "success", "image/webp"},
		"no reference":         {"%", 0, "permanent", ""},
	} {
		before := p.s.Calls("getAttachment")
		got, mime, err := p.ch.Fetch(t.Context(), c.ref, c.max)
		if classOf(err) != c.want || mime != c.mime || err == nil && len(got) == 0 {
			t.Errorf("%s: %d bytes of %q, %v", name, len(got), mime, err)
		}
		if name == "too large" && (p.s.Calls("getAttachment") != before || !errors.Is(err, core.ErrTooLarge)) {
			t.Errorf("%s was asked for, or %v", name, err)
		}
	}
	p.s.Fail("getAttachment", 1, signaltest.Failure{HTTP: 503})
	if _, _, err := p.ch.Fetch(t.Context(), known.Ref, 0); classOf(err) != "temporary" {
		t.Errorf("a daemon with trouble: %v", err)
	}
}

func TestDiagnose(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.ch.now = func() time.Time { return time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC) }
	report := func(language string) string {
		var b strings.Builder
		for _, f := range p.ch.Diagnose(t.Context(), language) {
			fmt.Fprintf(&b, "%v %s: %s\n", f.OK, f.Check, f.Detail)
		}
		return b.String()
	}
	for version, want := range map[string]string{
		"0.14.6": "true : signal-cli 0.14.6 of 2026-07-12", "0.14.3": "false : signal-cli 0.14.3 was released 101 days ago",
		"0.13.9": "false : signal-cli 0.13.9 was released more than 189 days ago", "0.15.0": "true : signal-cli 0.15.0, newer",
		"0.14.7-SNAPSHOT": "true : signal-cli 0.14.7-SNAPSHOT, newer", "unknown": `false : the version of signal-cli is not known: "unknown"`,
	} {
		p.s.Version(version)
		if got := report("en"); !strings.Contains(got, want) || !strings.Contains(got, "true : signal-cli's daemon answers at 127.0.0.1") ||
			!strings.Contains(got, "true : the account +4930000001 is registered") {
			t.Errorf("%s: got\n%s", version, got)
		}
	}
	for language, want := range map[string]string{"de": "das Konto +4930000001 ist angemeldet", "fr": "le compte +4930000001 est enregistré"} {
		if got := report(language); !strings.Contains(got, want) {
			t.Errorf("%s: got\n%s", language, got)
		}
	}
	p.s.Fail("listDevices", 1, signaltest.Failure{Code: -32602, Message: "Specified account does not exist"})
	if got := report("en"); !strings.Contains(got, "false : signal-cli does not have the account +4930000001") {
		t.Errorf("got\n%s", got)
	}
	p.s.Fail("listDevices", 1, signaltest.Failure{HTTP: 503})
	p.s.Fail("version", 1, signaltest.Failure{HTTP: 503})
	if got := report("en"); strings.Count(got, "false") != 2 {
		t.Errorf("got\n%s", got)
	}
	p.s.Fail("check", 1, signaltest.Failure{HTTP: 404})
	if got := report("en"); !strings.Contains(got, "false : 127.0.0.1") || !strings.Contains(got, "does not answer like signal-cli's daemon") {
		t.Errorf("got\n%s", got)
	}
	p.s.Stop()
	if got := report("en"); !strings.Contains(got, "does not answer at 127.0.0.1") || !strings.Contains(got, "--receive-mode=on-connection") {
		t.Errorf("got\n%s", got)
	}
}

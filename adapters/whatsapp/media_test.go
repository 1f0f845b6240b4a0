package whatsapp

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/adapters/whatsapp/whatsapptest"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
)

func TestSend_files(t *testing.T) {
	t.Parallel()
	small, large := []byte("data"), bytes.Repeat([]byte("x"), 6e6)
	for name, c := range map[string]struct {
		a        core.Attachment
		data     []byte
		caption  string
		kind     string
		mime     string
		filename string
		voice    bool
	}{
		"photo": {core.Attachment{Kind: "photo", MIME: "image/jpeg"}, small, "look", "image",
			"image/jpeg", "", false},
		"large photo": {core.Attachment{Kind: "photo", MIME: "image/jpeg", Name: "a.jpg"}, large, "", "document",
			"image/jpeg", "a.jpg", false},
		"webp": {core.Attachment{Kind: "photo", MIME: "image/webp", Name: "a.webp"}, small, "", "document",
			"application/octet-stream", "a.webp", false},
		"video": {core.Attachment{Kind: "video", MIME: "video/mp4"}, small, "c", "video",
			"video/mp4", "", false},
		"voice": {core.Attachment{Kind: "voice", MIME: "audio/ogg; codecs=opus"}, small, "", "audio",
			"audio/ogg", "", true},
		"music": {core.Attachment{Kind: "audio", MIME: "audio/mpeg"}, small, "", "audio",
			"audio/mpeg", "", false},
		"music with a caption": {core.Attachment{Kind: "audio", MIME: "audio/mpeg", Name: "a.mp3"}, small, "hear", "document",
			"audio/mpeg", "a.mp3", false},
		"pdf": {core.Attachment{Kind: "document", MIME: "application/pdf", Name: "Übung \"1\".pdf"}, small,
			"", "document", "application/pdf", "Übung \"1\".pdf", false},
		"markdown": {core.Attachment{Kind: "document", MIME: "text/markdown; charset=utf-8", Name: "a.md"}, small,
			"", "document", "text/plain", "a.md", false},
		"unknown": {core.Attachment{Kind: "document", MIME: "?", Name: "a.bin"}, small, "", "document",
			"application/octet-stream", "a.bin", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := play(t, Options{})
			m := p.send(t, ada, core.Part{Text: c.caption, Attachment: &c.a, Data: c.data, Key: "k"})
			data, mime := p.s.Uploaded(m.Media)
			if m.Type != c.kind || m.Text != c.caption || m.Filename != c.filename || m.Voice != c.voice || mime != c.mime ||
				!bytes.Equal(data, c.data) {
				t.Errorf("sent %+v with %d bytes of %s", m, len(data), mime)
			}
		})
	}
}

func TestSend_filesThatDoNotGoOut(t *testing.T) {
	t.Parallel()
	p := play(t, Options{})
	part := func(size int, caption string) core.Part {
		return core.Part{Text: caption, Attachment: &core.Attachment{Name: "a.bin", MIME: "application/pdf"},
			Data: make([]byte, size)}
	}
	for name, c := range map[string]core.Part{"empty": part(0, ""), "too large": part(maxDocument+1, ""),
		"caption": part(1, strings.Repeat("x", 1025))} {
		if _, err := p.ch.Send(t.Context(), to(ada), c); classOfError(err, nil) != "permanent" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for failure, want := range map[whatsapptest.Failure]string{
		{HTTP: 500, Code: 131000}: "temporary", {Drop: true}: "temporary",
		{HTTP: 400, Code: 131053}: "permanent", {HTTP: 429, Code: 130429}: "account",
	} {
		p.s.Fail("media", 1, failure)
		if _, err := p.ch.Send(t.Context(), to(ada), part(1, "")); classOfError(err, nil) != want {
			t.Errorf("upload with %+v: %v, want %s", failure, err, want)
		}
	}
	if n := len(p.s.Sent()); n > 0 {
		t.Errorf("%d messages were sent", n)
	}
}

func TestFetch(t *testing.T) {
	t.Parallel()
	data := []byte("a photo")
	for name, c := range map[string]struct {
		what string
		fail whatsapptest.Failure
		max  int64
		ref  func(string) string
		want string // "": the file arrives
	}{
		"comes":           {"", whatsapptest.Failure{}, 7, nil, ""},
		"without limit":   {"", whatsapptest.Failure{}, 0, nil, ""},
		"too large":       {"", whatsapptest.Failure{}, 6, nil, "permanent"},
		"address ran out": {"file", whatsapptest.Failure{HTTP: 404}, 0, nil, ""},
		"host busy":       {"file", whatsapptest.Failure{HTTP: 503}, 0, nil, "temporary"},
		"cut off":         {"file", whatsapptest.Failure{Drop: true}, 0, nil, "temporary"},
		"gone":            {"", whatsapptest.Failure{}, 0, func(string) string { return "77" }, "permanent"},
		"look-up fails":   {"lookup", whatsapptest.Failure{HTTP: 500, Code: 2}, 0, nil, "temporary"},
		"another digest": {"", whatsapptest.Failure{}, 0, func(r string) string { return r[:len(r)-4] + "AAA=" },
			"permanent"},
		"without digest": {"", whatsapptest.Failure{}, 0,
			func(r string) string { return r[:strings.IndexByte(r, '#')] }, ""},
		"moved to another address": {"file", whatsapptest.Failure{HTTP: 302}, 0, nil, "permanent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := play(t, Options{})
			image := p.s.AddFile(data, "image/jpeg")
			p.s.Write(ada, map[string]any{"type": "image", "image": image})
			in := p.b.wait(t, func(in core.Inbound) bool { return len(in.Attachments) == 1 })
			ref := in.Attachments[0].Ref
			if c.ref != nil {
				ref = c.ref(ref)
			}
			if c.what != "" {
				p.s.Fail(c.what, 1, c.fail)
			}
			got, mime, err := p.ch.(core.Fetcher).Fetch(t.Context(), ref, c.max)
			switch {
			case c.want == "" && (err != nil || !bytes.Equal(got, data) || mime != "image/jpeg"):
				t.Errorf("%q of %s: %v", got, mime, err)
			case errors.Is(err, core.ErrTooLarge) != (name == "too large"):
				t.Errorf("%v", err)
			case c.want != "" && classOfError(err, nil) != c.want:
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

// Only Meta and the API receive the token.
func TestToken_trustedHostsOnly(t *testing.T) {
	t.Parallel()
	a := newAPI(Config{APIURL: "http://127.0.0.1:9", APIVersion: "v23.0", AccessToken: "t"}, nil)
	for address, want := range map[string]bool{
		"https://lookaside.fbsbx.com/whatsapp/1?x=2": true, "https://LOOKASIDE.fbsbx.com/1": true,
		"https://scontent.xx.fbcdn.net/1": true, "http://127.0.0.1:9/file/1": true, "https://127.0.0.1:9/file/1": false,
		"http://127.0.0.1:10/file/1": false, "http://lookaside.fbsbx.com/1": false,
		"https://lookaside.fbsbx.com:8443/1": false, "https://fbcdn.net.evil.example/": false,
		"https://evil.example/lookaside.fbsbx.com": false, "https://xfbcdn.net/1": false,
		"https://user@lookaside.fbsbx.com/1": false, "file:///etc/passwd": false, "": false, "://": false,
	} {
		if got := a.Trusts(address) == nil; got != want {
			t.Errorf("%q: %v, want %v", address, got, want)
		}
	}
}

// A redirect of a trusted host does not receive the token.
func TestToken_followsNoRedirect(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("asked elsewhere, with %q", r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	trusted := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusFound))
	defer trusted.Close()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	a := newAPI(Config{APIURL: trusted.URL, APIVersion: "v23.0", AccessToken: "t"}, &http.Client{Transport: tr})
	if _, err := a.Download(t.Context(), trusted.URL+"/file", 10); classOfError(err, nil) != "permanent" {
		t.Errorf("%v", err)
	}
}

func TestRun_reportsTrouble(t *testing.T) {
	t.Parallel()
	p := play(t, Options{})
	p.s.Fail("number", 1, whatsapptest.Failure{HTTP: 401, Code: 190, Details: "Session has expired"})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.ch.Run(ctx, p.b) }()
	if err := p.waitTrouble(t); !strings.Contains(err.Error(), "channels.whatsapp.access_token") {
		t.Errorf("got Check %v", err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestDiagnose(t *testing.T) {
	t.Parallel()
	p := play(t, Options{})
	say := func(url string) string {
		var b strings.Builder
		p.ch.(*Channel).opts.PublicURL = url
		for _, f := range p.ch.(core.Diagnoser).Diagnose(t.Context(), "en") {
			b.WriteString(map[bool]string{true: "ok: ", false: "bad: "}[f.OK] + f.Detail + "\n")
		}
		return b.String()
	}
	want := func(got string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(got, part) {
				t.Errorf("%q is not in:\n%s", part, got)
			}
		}
	}
	want(say(""), "ok: The token works for the number +1 555-078-3881", "ok: The token has the permissions",
		"bad: http.public_url is not set", "ok: The clock is right", "general-purpose assistants")
	if f := p.ch.(core.Diagnoser).Diagnose(t.Context(), "de"); !strings.HasPrefix(f[0].Detail, "Das Token gilt") {
		t.Error(f)
	}
	want(say("http://gateway.example"), "bad: Meta posts to https only")
	p.s.Configure(false, []string{"whatsapp_business_management"}, "RED")
	want(say(""), "bad: The quality of the number is low",
		"bad: The token lacks the permission whatsapp_business_messaging", "bad: no app receives the webhooks")
	p.s.Fail("number", 1, whatsapptest.Failure{HTTP: 401, Code: 190})
	want(say(""), "bad: the token is rejected")
}

// The webhook is asked for its challenge, like Meta does.
func TestDiagnose_asksTheWebhook(t *testing.T) {
	t.Parallel()
	p := play(t, Options{})
	mux := http.NewServeMux()
	for pattern, h := range p.ch.(channel.Handler).Routes(p.b) {
		mux.Handle(pattern, h)
	}
	ours := httptest.NewTLSServer(mux)
	defer ours.Close()
	client := ours.Client()
	defer client.CloseIdleConnections()
	trusting := open(t, nil, Options{HTTP: client}).(*Channel)
	if f := trusting.reachable(t.Context(), &say("en").Findings, ours.URL); !f.OK {
		t.Errorf("%+v", f)
	}
	if f := trusting.reachable(t.Context(), &say("en").Findings, ours.URL+"/elsewhere"); f.OK {
		t.Errorf("%+v", f)
	}
	if f := skew(&say("en").Findings, time.Unix(1000, 0), time.Unix(2000, 0)); f.OK {
		t.Errorf("%+v", f)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	good := Options{Config: *Default(), HTTP: http.DefaultClient, Log: zap.NewNop()}
	good.PhoneNumberID, good.AccessToken, good.AppSecret, good.VerifyToken = "1", "a", "b", "c"
	if _, err := New(good); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*Options){
		"the number itself": func(o *Options) { o.PhoneNumberID = "+1 555" },
		"no token":          func(o *Options) { o.AccessToken = "" },
		"no secret":         func(o *Options) { o.AppSecret = " " },
		"no verify token":   func(o *Options) { o.VerifyToken = "" },
		"no URL":            func(o *Options) { o.APIURL = "graph" },
		"no version":        func(o *Options) { o.APIVersion = "23" },
	} {
		o := good
		change(&o)
		if _, err := New(o); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

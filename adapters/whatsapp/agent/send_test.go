package agent

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/everthread/everthread/adapters/whatsapp/agent/agenttest"
	"github.com/everthread/everthread/core"
)

var toAlex = core.Address{Channel: Name, Account: "7", External: alex}

func classOf(err error) string {
	var permanent *core.Permanent
	var wait *core.RetryAfter
	var unknown *core.Unknown
	switch {
	case err == nil:
		return "success"
	case errors.As(err, &wait) && wait.After > 0:
		return "wait"
	case errors.As(err, &permanent):
		return "permanent"
	case errors.As(err, &unknown):
		return "unknown"
	}
	return "temporary"
}

func TestSend_errors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		f    agenttest.Failure
		want string
	}{
		{agenttest.Failure{HTTP: 500, Code: 2}, "unknown"},
		{agenttest.Failure{HTTP: 502}, "unknown"},
		{agenttest.Failure{Drop: true}, "unknown"},
		{agenttest.Failure{HTTP: 503, Code: 131016}, "temporary"},
		{agenttest.Failure{HTTP: 429, Code: 130429}, "wait"},
		{agenttest.Failure{HTTP: 403, Code: 131005}, "permanent"},
		{agenttest.Failure{HTTP: 400, Code: 131009}, "permanent"},
		{agenttest.Failure{HTTP: 400, Code: 100}, "permanent"}, // the key is valid
		{agenttest.Failure{HTTP: 401, Code: 190}, "wait"},
	} {
		t.Run(fmt.Sprint(c.f), func(t *testing.T) {
			t.Parallel()
			p := play(t)
			p.s.Fail("messages", 1, c.f)
			_, err := p.ch.Send(t.Context(), toAlex, core.Part{Text: "x"})
			if got := classOf(err); got != c.want {
				t.Errorf("%s, want %s: %v", got, c.want, err)
			}
			if strings.Contains(fmt.Sprint(err), keyOfAlex.Secret) {
				t.Error("the key is in the error")
			}
		})
	}
}

// Nothing is lost while a key is dead.
func TestSend_deadKeyLosesNothing(t *testing.T) {
	t.Parallel()
	p := play(t)
	p.s.Revoke(keyOfAlex.Secret)
	_, err := p.ch.Send(t.Context(), toAlex, core.Part{Text: "x"})
	if classOf(err) != "wait" || !strings.Contains(err.Error(), "make a new one") {
		t.Errorf("%v", err)
	}
}

func TestSend_repliesAndRefusesStrangers(t *testing.T) {
	t.Parallel()
	p := play(t)
	said := p.s.Say(keyOfAlex.Secret, "question")
	for reply, want := range map[string]string{said: said, "wamid.GONE": "", "": ""} {
		if _, err := p.ch.Send(t.Context(), toAlex, core.Part{Text: "answer", Reply: reply}); err != nil {
			t.Fatal(err)
		}
		sent := p.s.Sent(keyOfAlex.Secret)
		if got := sent[len(sent)-1].ReplyTo; got != want {
			t.Errorf("reply to %q was sent to %q", reply, got)
		}
	}
	for _, to := range []core.Address{
		{Account: "7", External: "user:6"}, {Account: "7", External: "agent:7"}, {Account: "7", External: "+1555"},
		{Account: "99", External: alex}, {Account: "x", External: alex},
	} {
		if _, err := p.ch.Send(t.Context(), to, core.Part{Text: "x"}); classOf(err) != "permanent" {
			t.Errorf("to %v: %v", to, err)
		}
	}
}

// One message at a time, and never more than the platform's limit per minute.
func TestSend_oneByOneWithinTheLimit(t *testing.T) {
	t.Parallel()
	p := play(t)
	alone := &aloneOnly{Transport: &http.Transport{}}
	t.Cleanup(alone.CloseIdleConnections)
	p.ch = open(t, p.s, p.kept, p.keys, alone)
	var wg sync.WaitGroup
	var mu sync.Mutex
	classes := map[string]int{}
	for i := range 14 {
		wg.Go(func() {
			_, err := p.ch.Send(t.Context(), toAlex, core.Part{Text: fmt.Sprint("part ", i)})
			mu.Lock()
			defer mu.Unlock()
			classes[classOf(err)]++
		})
	}
	wg.Wait()
	if classes["success"] != 10 || classes["wait"] != 4 {
		t.Errorf("%v", classes)
	}
	if alone.together.Load() {
		t.Error("two messages at once")
	}
}

// aloneOnly records concurrent requests.
type aloneOnly struct {
	*http.Transport
	now      atomic.Int32
	together atomic.Bool
}

func (a *aloneOnly) RoundTrip(r *http.Request) (*http.Response, error) {
	if a.now.Add(1) > 1 {
		a.together.Store(true)
	}
	defer a.now.Add(-1)
	return a.Transport.RoundTrip(r)
}

// A redirect does not receive the key.
func TestKey_followsNoRedirect(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("asked elsewhere, with %q", r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	trusted := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusFound))
	defer trusted.Close()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	a := newAPI(Options{APIURL: trusted.URL, HTTP: &http.Client{Transport: tr}}, "k")
	if _, err := a.Download(t.Context(), trusted.URL+"/file", 10); classOf(err) != "permanent" {
		t.Errorf("%v", err)
	}
}

func TestTyping_marksAsRead(t *testing.T) {
	t.Parallel()
	p := play(t)
	said := p.s.Say(keyOfAlex.Secret, "question")
	for range 20 { // more than the limit per minute
		if err := p.ch.Typing(t.Context(), toAlex, said); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.ch.Typing(t.Context(), toAlex, ""); err != nil {
		t.Error(err)
	}
	if got := p.s.Typed(keyOfAlex.Secret); len(got) != 11 || got[0] != said {
		t.Errorf("typed under %q", got)
	}
}

func TestSend_files(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mime, caption, kind, sent, filename string
		size                                int
	}{
		"photo":          {"image/png", "look", "image", "image/png", "", 3},
		"large photo":    {"image/png", "", "document", "application/octet-stream", "a", 6e6},
		"voice":          {"audio/ogg; codecs=opus", "", "audio", "audio/ogg", "", 3},
		"with a caption": {"audio/ogg", "hear", "document", "application/octet-stream", "a", 3},
		"video":          {"video/mp4", "", "video", "video/mp4", "", 3},
		"markdown":       {"text/markdown", "", "document", "text/plain", "a", 3},
		"pdf":            {"application/pdf", "", "document", "application/pdf", "a", 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := play(t)
			part := core.Part{Text: c.caption, Attachment: &core.Attachment{Name: "a", MIME: c.mime},
				Data: bytes.Repeat([]byte("x"), c.size)}
			if _, err := p.ch.Send(t.Context(), toAlex, part); err != nil {
				t.Fatal(err)
			}
			m := p.s.Sent(keyOfAlex.Secret)[0]
			data, mime := p.s.Uploaded(m.Media)
			if m.Type != c.kind || m.Text != c.caption || m.Filename != c.filename || mime != c.sent || len(data) != c.size {
				t.Errorf("sent %+v with %d bytes of %s", m, len(data), mime)
			}
		})
	}
}

func TestSend_filesThatDoNotGoOut(t *testing.T) {
	t.Parallel()
	p := play(t)
	part := func(size int) core.Part {
		return core.Part{Attachment: &core.Attachment{Name: "a", MIME: "application/pdf"}, Data: make([]byte, size)}
	}
	for _, size := range []int{0, 16e6 + 1} {
		if _, err := p.ch.Send(t.Context(), toAlex, part(size)); classOf(err) != "permanent" {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	for f, want := range map[agenttest.Failure]string{
		{HTTP: 500, Code: 2}: "temporary", {Drop: true}: "temporary", {HTTP: 400, Code: 131053}: "permanent",
	} {
		p.s.Fail("upload", 1, f)
		if _, err := p.ch.Send(t.Context(), toAlex, part(1)); classOf(err) != want {
			t.Errorf("upload with %+v: %v, want %s", f, err, want)
		}
	}
}

func TestFetch(t *testing.T) {
	t.Parallel()
	data := []byte("a photo")
	for name, c := range map[string]struct {
		what string
		f    agenttest.Failure
		max  int64
		ref  func(string) string
		want string
	}{
		"comes":          {"", agenttest.Failure{}, 7, nil, "success"},
		"too large":      {"", agenttest.Failure{}, 6, nil, "permanent"},
		"gone":           {"", agenttest.Failure{}, 0, func(string) string { return "7/1" }, "permanent"},
		"another digest": {"", agenttest.Failure{}, 0, func(r string) string { return r[:len(r)-4] + "AAA=" }, "permanent"},
		"another agent":  {"", agenttest.Failure{}, 0, func(string) string { return "99/1" }, "permanent"},
		"expired":        {"file", agenttest.Failure{HTTP: 404, Code: 100}, 0, nil, "permanent"},
		"host busy":      {"file", agenttest.Failure{HTTP: 503}, 0, nil, "temporary"},
		"redirect":       {"file", agenttest.Failure{HTTP: 302}, 0, nil, "permanent"},
		"look-up fails":  {"lookup", agenttest.Failure{HTTP: 500, Code: 2}, 0, nil, "temporary"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := play(t)
			f := p.s.AddFile(data, "image/jpeg")
			ref := fmt.Sprintf("7/%s#%s", f["id"], f["sha256"])
			if c.ref != nil {
				ref = c.ref(ref)
			}
			if c.what != "" {
				p.s.Fail(c.what, 1, c.f)
			}
			got, mime, err := p.ch.Fetch(t.Context(), ref, c.max)
			if classOf(err) != c.want || err == nil && (!bytes.Equal(got, data) || mime != "image/jpeg") {
				t.Errorf("%q of %s: %v, want %s", got, mime, err, c.want)
			}
		})
	}
}

func TestKey_trustedHostsOnly(t *testing.T) {
	t.Parallel()
	a := newAPI(Options{APIURL: "https://api.whatsapp.com/agent/v1"}, "k")
	for address, want := range map[string]bool{
		"https://lookaside.fbsbx.com/agent/v1/media/1/content": true, "https://api.whatsapp.com/x": true,
		"http://api.whatsapp.com/x": false, "http://lookaside.fbsbx.com/1": false, "https://evil.example/": false,
		"https://lookaside.fbsbx.com.evil.example/": false, "https://a@lookaside.fbsbx.com/": false, "": false,
	} {
		if got := a.Trusts(address) == nil; got != want {
			t.Errorf("%q: %v, want %v", address, got, want)
		}
	}
}

func TestDiagnose(t *testing.T) {
	t.Parallel()
	p := play(t)
	say := func() string {
		var b strings.Builder
		for _, f := range p.ch.Diagnose(t.Context(), "en") {
			fmt.Fprintf(&b, "%v: %s\n", f.OK, f.Detail)
		}
		return b.String()
	}
	if got := say(); !strings.Contains(got, "true: Agent 7 of user 3: the key works, and the person has yet to write") ||
		!strings.Contains(got, "not end-to-end encrypted") {
		t.Error(got)
	}
	if f := p.ch.Diagnose(t.Context(), "fr"); !strings.HasPrefix(f[0].Detail, "Agent 7 de l’utilisateur 3") {
		t.Error(f)
	}
	p.s.Revoke(keyOfAlex.Secret)
	if got := say(); !strings.Contains(got, "false: Agent 7 of user 3: the key of this personal agent is no longer valid") {
		t.Error(got)
	}
	p.keys.set(nil)
	if got := say(); !strings.Contains(got, "There are no personal agents") {
		t.Error(got)
	}
	p.keys.set(errors.New("store away"))
	if got := say(); !strings.Contains(got, "false: read the keys") {
		t.Error(got)
	}
}

func TestReceipts_arrive(t *testing.T) {
	t.Parallel()
	p := play(t)
	p.run(t)
	r, err := p.ch.Send(t.Context(), toAlex, core.Part{Text: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	p.s.Read(keyOfAlex.Secret, p.s.Sent(keyOfAlex.Secret)[0])
	until(t, "both receipts", func() bool {
		p.b.mu.Lock()
		defer p.b.mu.Unlock()
		return slices.ContainsFunc(p.b.in, func(in core.Inbound) bool {
			return in.Target == r.NativeID && in.Status.State == core.DeliveryRead && in.For == keyOfAlex.User
		})
	})
}

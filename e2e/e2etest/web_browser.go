//go:build e2e

package e2etest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// chromium is the browser shared by tests, started on first use. Each tab has its own
// cookies.
var chromium struct {
	once   sync.Once
	ctx    context.Context
	cancel func()
	dir    string
	err    error
}

// endChromium ends the browser, if it was started.
func endChromium() {
	if chromium.cancel != nil {
		chromium.cancel()
		_ = os.RemoveAll(chromium.dir)
	}
}

func startChromium() (err error) {
	if chromium.dir, err = os.MkdirTemp("", "everthread-chromium"); err != nil {
		return err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(os.Getenv("EVERTHREAD_TEST_CHROMIUM")),
		chromedp.UserDataDir(chromium.dir), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("use-fake-device-for-media-stream", true), chromedp.Flag("use-fake-ui-for-media-stream", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("hide-scrollbars", true))
	alloc, end := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, _ := chromedp.NewContext(alloc)
	chromium.ctx, chromium.cancel = ctx, func() {
		_ = chromedp.Cancel(ctx)
		end()
	}
	return chromedp.Do(ctx)
}

// Tab is one page of the browser.
type Tab struct {
	T    *testing.T
	Ctx  context.Context
	Base string // prefix of URLs
	Root string // path below which the gateway is reached, at the end of Base; empty: none

	Framed bool // expressions and clicks are about the first frame of the page

	mu       sync.Mutex
	problems []string // complaints of the browser
	allowed  []string // complaints that are allowed
}

// NewTab opens a tab without a session. A complaint of the browser, such as an exception
// of a script or a violation of the page's policy, fails the test.
func (g *Gateway) NewTab(t *testing.T) *Tab {
	t.Helper()
	if os.Getenv("EVERTHREAD_TEST_CHROMIUM") == "" {
		t.Skip("EVERTHREAD_TEST_CHROMIUM is not set; `make test` installs a Chromium")
	}
	chromium.once.Do(func() { chromium.err = startChromium() })
	Must(t, chromium.err)
	ctx, _ := chromedp.NewContext(chromium.ctx, chromedp.WithNewBrowserContext())
	return g.begin(t, ctx)
}

// Another opens a tab that shares its cookies.
func (p *Tab) Another() *Tab {
	p.T.Helper()
	ctx, _ := chromedp.NewContext(p.Ctx)
	return (&Gateway{URL: p.Base}).begin(p.T, ctx)
}

func (g *Gateway) begin(t *testing.T, ctx context.Context) *Tab {
	t.Helper()
	p := &Tab{T: t, Ctx: ctx, Base: g.URL}
	Must(t, chromedp.Do(ctx))
	Must(t, chromedp.Listen(ctx, p.heard))
	p.Do(Command(log.Enable, cdp.Empty{}), Command(runtime.Enable, cdp.Empty{}),
		Command(network.Enable, network.EnableParams{}))
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx)
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, problem := range p.problems {
			t.Errorf("the browser complains: %s", problem)
		}
	})
	return p
}

// heard records complaints.
func (p *Tab) heard(event any) {
	said := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		said = e.ExceptionDetails.Text
		if x := e.ExceptionDetails.Exception; x != nil {
			said += " " + x.Description
		}
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeAssert {
			said = fmt.Sprintf("console: %s", e.Args[0].Value)
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			said = e.Entry.Text + " " + e.Entry.URL
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, ok := range p.allowed {
		if strings.Contains(said, ok) {
			return
		}
	}
	if said != "" {
		p.problems = append(p.problems, said)
	}
}

// Allow allows a complaint.
func (p *Tab) Allow(text string) *Tab {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.allowed = append(p.allowed, text)
	return p
}

// Patience bounds a person's wait for something on a page.
const Patience = 20 * time.Second

// action is an action on a page.
type action = chromedp.Action[chromedp.Void]

// Command is a command of the DevTools protocol.
func Command[P, R any](c cdp.Command[P, R], params P) action {
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, c, params)
		return chromedp.Void{}, err
	}
}

// Do runs actions in order.
func (p *Tab) Do(actions ...action) {
	p.T.Helper()
	ctx, cancel := context.WithTimeout(p.Ctx, Patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		p.T.Fatalf("the browser: %v\n%s", err, p.Shown())
	}
}

// Open opens a page and waits until its script runs. A redirect by the page itself at the
// same moment aborts that; then Open opens it once more.
func (p *Tab) Open(path string) {
	p.T.Helper()
	for left := 3; ; left-- {
		ctx, cancel := context.WithTimeout(p.Ctx, Patience)
		err := chromedp.Do(ctx, chromedp.Navigate(p.Base+path))
		cancel()
		if err == nil {
			break
		}
		if left == 0 || !strings.Contains(err.Error(), "ERR_ABORTED") {
			p.T.Fatalf("the browser: %v\n%s", err, p.Shown())
		}
	}
	p.Comes("document.readyState === 'complete'")
}

// Js returns the value of an expression on the page.
func Js[T any](p *Tab, expression string) T {
	p.T.Helper()
	ctx, cancel := context.WithTimeout(p.Ctx, Patience)
	defer cancel()
	out, err := chromedp.Run(ctx, chromedp.Evaluate[T](p.below(expression), chromedp.EvalAwaitPromise))
	if err != nil {
		p.T.Fatalf("%s: %v\n%s", expression, err, p.Shown())
	}
	return out
}

var addressed = regexp.MustCompile(`((?:href|action)\^?=\\?["'])/`)

// below returns an expression about paths for the path below which the gateway is reached, and for the frame.
func (p *Tab) below(expression string) string {
	if p.Root != "" {
		expression = addressed.ReplaceAllString(expression, "${1}"+p.Root+"/")
		expression = strings.ReplaceAll(expression, "location.pathname", fmt.Sprintf("location.pathname.slice(%d)", len(p.Root)))
	}
	if p.Framed {
		return "(() => { with (frames[0]) { return (" + expression + "); } })()"
	}
	return expression
}

// Is reports whether an expression is true on the page. While the page is being left,
// nothing is.
func (p *Tab) Is(expression string) bool {
	p.T.Helper()
	ctx, cancel := context.WithTimeout(p.Ctx, Patience)
	defer cancel()
	ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+p.below(expression)+")"))
	if errors.Is(err, context.DeadlineExceeded) {
		p.T.Fatalf("the browser does not answer whether %s", expression)
	}
	return err == nil && ok
}

// Comes waits until an expression is true.
func (p *Tab) Comes(expression string) {
	p.T.Helper()
	p.Within(Patience, expression)
}

func (p *Tab) Within(d time.Duration, expression string) {
	p.T.Helper()
	for deadline := time.Now().Add(d); !p.Is(expression); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.T.Fatalf("the page does not come to %s within %s:\n%s", expression, d, p.Shown())
		}
	}
}

// Sees waits until an element contains a text.
func (p *Tab) Sees(selector, text string) {
	p.T.Helper()
	p.Comes(fmt.Sprintf("[...document.querySelectorAll(%s)].some((x) => x.innerText.includes(%s))",
		Quote(selector), Quote(text)))
}

// Shown returns the text of the page.
func (p *Tab) Shown() string {
	ctx, cancel := context.WithTimeout(p.Ctx, 5*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](p.below("location.href + '\\n' + document.body.innerText")))
	if err != nil {
		return err.Error()
	}
	return text
}

// Text waits for an element and returns its text.
func (p *Tab) Text(selector string) string {
	p.T.Helper()
	p.Comes("document.querySelector(" + Quote(selector) + ")")
	return Js[string](p, "document.querySelector("+Quote(selector)+").innerText")
}

// Click waits for a visible element of a selector and clicks on it with the mouse.
func (p *Tab) Click(selector string) {
	p.T.Helper()
	p.clicks(selector, func() { p.Comes("document.querySelector(" + Quote(selector) + ")?.checkVisibility()") })
}

// clicks aims at an element and clicks on it. An update may render it again or move it between
// aiming and pressing; like a person, clicks then aims again.
func (p *Tab) clicks(selector string, aim func()) {
	p.T.Helper()
	var err error
	for range 10 {
		aim()
		Js[chromedp.Void](p,
			"window.hit = false, document.addEventListener('click', (e) => { window.hit ||= !!e.target.closest("+Quote(selector)+
				"); }, {capture: true})")
		ctx, cancel := context.WithTimeout(p.Ctx, Patience/10)
		err = chromedp.Do(ctx, p.click(selector))
		cancel()
		// On another page, the click has hit.
		if !p.Is("window.hit === false") || err == nil && !p.Is("document.querySelector("+Quote(selector)+")") {
			return
		}
	}
	p.T.Fatalf("%s is never hit: %v\n%s", selector, err, p.Shown())
}

// click clicks on an element with the mouse.
func (p *Tab) click(selector string) action {
	if !p.Framed {
		return chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible)
	}
	at := Js[[]float64](p, `((x) => { x.scrollIntoView({block: "center", behavior: "instant"}); const a = x.getBoundingClientRect(),
		b = frameElement.getBoundingClientRect(); return [b.left + a.left + a.width / 2, b.top + a.top + a.height / 2]; })(document.querySelector(`+Quote(selector)+"))")
	return chromedp.MouseClickXY(at[0], at[1])
}

// Press clicks on the button or link within an element that begins with a text.
func (p *Tab) Press(within, words string) {
	p.T.Helper()
	find := fmt.Sprintf(
		"[...document.querySelectorAll(%s)].flatMap((x) => [...x.querySelectorAll('button, a, summary')]).find((x) => x.checkVisibility() && x.innerText.trim().startsWith(%s))", Quote(within), Quote(words))
	p.clicks("[data-pressed]", func() { p.Comes("((x) => x?.toggleAttribute('data-pressed', true))(" + find + ")") })
	_ = p.Is("document.querySelectorAll('[data-pressed]').forEach((x) => x.removeAttribute('data-pressed'))")
}

// Fill replaces the content of a field.
func (p *Tab) Fill(selector, text string) {
	p.T.Helper()
	p.Comes("document.querySelector(" + Quote(selector) + ")?.checkVisibility()")
	Js[chromedp.Void](p, "(x => { x.focus(); x.select(); })(document.querySelector("+Quote(selector)+"))")
	p.Do(Command(input.InsertText, input.InsertTextParams{Text: text}))
}

// Send sends a message.
func (p *Tab) Send(text string) {
	p.T.Helper()
	p.Fill("#text", text)
	p.Click("#send")
}

// SignIn signs in with a link, and waits until the script of the page is loaded.
func (p *Tab) SignIn(code string) {
	p.T.Helper()
	p.Open("/signin?code=" + code)
	p.Click("#signin button")
	p.Comes("location.pathname === '/' && document.readyState === 'complete' && document.querySelector('#write')")
}

// WebCode returns the code of the link in the log.
func (g *Gateway) WebCode() string {
	g.t.Helper()
	return g.Logged(`/signin\?code=([A-Z0-9]+)`)[1]
}

// Look sets the width of the window, light or dark, and the browser's preferred
// language.
func (p *Tab) Look(width int64, theme, language string) {
	p.T.Helper()
	p.Do(Command(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 800,
		DeviceScaleFactor: 1, Mobile: width < 600}),
		Command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"}}}),
		Command(network.SetExtraHTTPHeaders,
			network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Accept-Language": language}}))
}

// Quote returns a text as a JavaScript string.
func Quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

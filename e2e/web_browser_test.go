//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
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

// chromium is the browser that tests share, started when it is first wanted.
// Each tab has cookies of its own.
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
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(os.Getenv("EVERTHREAD_TEST_CHROMIUM")), chromedp.UserDataDir(chromium.dir),
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true), chromedp.Flag("hide-scrollbars", true))
	alloc, end := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, _ := chromedp.NewContext(alloc)
	chromium.ctx, chromium.cancel = ctx, func() {
		_ = chromedp.Cancel(ctx)
		end()
	}
	return chromedp.Do(ctx)
}

// tab is one page of the browser, as a person sees and uses it.
type tab struct {
	t    *testing.T
	ctx  context.Context
	base string // of addresses

	mu       sync.Mutex
	problems []string // what the browser complains of
	allowed  []string // what it may complain of
}

// newTab opens a tab of somebody who is not signed in. A complaint of the browser,
// such as an exception of a script or something that the policy of the page
// forbids, fails the test.
func (g *gateway) newTab(t *testing.T) *tab {
	t.Helper()
	if os.Getenv("EVERTHREAD_TEST_CHROMIUM") == "" {
		t.Skip("EVERTHREAD_TEST_CHROMIUM is not set; `make test` installs a Chromium")
	}
	chromium.once.Do(func() { chromium.err = startChromium() })
	must(t, chromium.err)
	ctx, _ := chromedp.NewContext(chromium.ctx, chromedp.WithNewBrowserContext())
	return g.begin(t, ctx)
}

// another opens a tab that shares its cookies.
func (p *tab) another() *tab {
	p.t.Helper()
	ctx, _ := chromedp.NewContext(p.ctx)
	return (&gateway{URL: p.base}).begin(p.t, ctx)
}

func (g *gateway) begin(t *testing.T, ctx context.Context) *tab {
	t.Helper()
	p := &tab{t: t, ctx: ctx, base: g.URL}
	must(t, chromedp.Do(ctx))
	must(t, chromedp.Listen(ctx, p.heard))
	p.do(command(log.Enable, cdp.Empty{}), command(runtime.Enable, cdp.Empty{}), command(network.Enable, network.EnableParams{}))
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

// heard notes complaints.
func (p *tab) heard(event any) {
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

// allow takes a complaint for granted.
func (p *tab) allow(text string) *tab {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.allowed = append(p.allowed, text)
	return p
}

// patience is how long a person waits for something to happen on a page.
const patience = 20 * time.Second

// action is something that is done on a page.
type action = chromedp.Action[chromedp.Void]

// command is a command of the protocol that browsers are steered with.
func command[P, R any](c cdp.Command[P, R], params P) action {
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, c, params)
		return chromedp.Void{}, err
	}
}

// do does things, one after the other.
func (p *tab) do(actions ...action) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		p.t.Fatalf("the browser: %v\n%s", err, p.shown())
	}
}

// open goes to a page and waits until its script runs. A page that goes elsewhere by
// itself at the same moment aborts that: it is gone to once more then.
func (p *tab) open(path string) {
	p.t.Helper()
	for left := 3; ; left-- {
		ctx, cancel := context.WithTimeout(p.ctx, patience)
		err := chromedp.Do(ctx, chromedp.Navigate(p.base+path))
		cancel()
		if err == nil {
			break
		}
		if left == 0 || !strings.Contains(err.Error(), "ERR_ABORTED") {
			p.t.Fatalf("the browser: %v\n%s", err, p.shown())
		}
	}
	p.comes("document.readyState === 'complete'")
}

// js is what an expression is on the page.
func js[T any](p *tab, expression string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	out, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%s: %v\n%s", expression, err, p.shown())
	}
	return out
}

// is reports whether an expression holds on the page. While a page is being left
// nothing does.
func (p *tab) is(expression string) bool {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
	if errors.Is(err, context.DeadlineExceeded) {
		p.t.Fatalf("the browser does not answer whether %s", expression)
	}
	return err == nil && ok
}

// comes waits until an expression holds.
func (p *tab) comes(expression string) {
	p.t.Helper()
	p.within(patience, expression)
}

func (p *tab) within(d time.Duration, expression string) {
	p.t.Helper()
	for deadline := time.Now().Add(d); !p.is(expression); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("the page does not come to %s within %s:\n%s", expression, d, p.shown())
		}
	}
}

// sees waits until a text stands within an element.
func (p *tab) sees(selector, text string) {
	p.t.Helper()
	p.comes(fmt.Sprintf("[...document.querySelectorAll(%s)].some((x) => x.innerText.includes(%s))", quote(selector), quote(text)))
}

// shown is the text of the page.
func (p *tab) shown() string {
	ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("location.href + '\\n' + document.body.innerText"))
	if err != nil {
		return err.Error()
	}
	return text
}

// text is what an element says, once it is there.
func (p *tab) text(selector string) string {
	p.t.Helper()
	p.comes("document.querySelector(" + quote(selector) + ")")
	return js[string](p, "document.querySelector("+quote(selector)+").innerText")
}

// click clicks on the first element of a selector that is seen, once there is
// one: with the mouse, as a person does. Something that arrives may move the page
// between aiming and pressing; who missed clicks again, as a person does too.
func (p *tab) click(selector string) {
	p.t.Helper()
	for range 5 {
		js[chromedp.Void](p, "window.hit = false; document.addEventListener('click', (e) => { window.hit ||= !!e.target.closest("+quote(selector)+"); }, {capture: true})")
		p.do(chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
		// Who is on another page by now has hit.
		if !p.is("window.hit === false && document.querySelector(" + quote(selector) + ")") {
			return
		}
	}
	p.t.Fatalf("%s is never hit:\n%s", selector, p.shown())
}

// press clicks on the button or link that begins with words, within an element.
func (p *tab) press(within, words string) {
	p.t.Helper()
	find := fmt.Sprintf("[...document.querySelectorAll(%s)].flatMap((x) => [...x.querySelectorAll('button, a, summary')]).find((x) => x.checkVisibility() && x.innerText.trim().startsWith(%s))", quote(within), quote(words))
	p.comes(find)
	js[chromedp.Void](p, "("+find+").setAttribute('data-pressed', '')")
	p.click("[data-pressed]")
	_ = p.is("document.querySelectorAll('[data-pressed]').forEach((x) => x.removeAttribute('data-pressed'))")
}

// fill writes into a field, in the place of what is there.
func (p *tab) fill(selector, text string) {
	p.t.Helper()
	p.comes("document.querySelector(" + quote(selector) + ")?.checkVisibility()")
	js[chromedp.Void](p, "(x => { x.focus(); x.select(); })(document.querySelector("+quote(selector)+"))")
	p.do(command(input.InsertText, input.InsertTextParams{Text: text}))
}

// send sends a message.
func (p *tab) send(text string) {
	p.t.Helper()
	p.fill("#text", text)
	p.click("#send")
}

// signIn signs in with a link, as whoever it is for.
func (p *tab) signIn(code string) {
	p.t.Helper()
	p.open("/signin?code=" + code)
	p.click("#signin button")
	p.comes("location.pathname === '/' && document.querySelector('#write')")
}

// webCode is the code of the link in the log.
func (g *gateway) webCode() string {
	g.t.Helper()
	return g.logged(`/signin\?code=([A-Z0-9]+)`)[1]
}

// look sets how the page is shown: the width of the window, light or dark, and
// the language that the browser asks for.
func (p *tab) look(width int64, theme, language string) {
	p.t.Helper()
	p.do(command(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 800, DeviceScaleFactor: 1, Mobile: width < 600}),
		command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"}}}),
		command(network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Accept-Language": language}}))
}

// quote is a text as JavaScript writes it.
func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

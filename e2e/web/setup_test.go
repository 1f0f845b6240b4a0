//go:build e2e

package web

import (
	"bytes"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/everthread/everthread/adapters/signal/signaltest"
	"github.com/everthread/everthread/adapters/telegram/telegramtest"
	"github.com/everthread/everthread/e2e/e2etest"
)

// unset are the variables of a gateway that nobody has set up, over those of a town.
func unset() []string {
	return []string{"EVERTHREAD_LLM_PROVIDER=", "EVERTHREAD_LLM_BASE_URL=", "EVERTHREAD_LLM_MODEL=", "EVERTHREAD_LLM_API_KEY=",
		"EVERTHREAD_CHANNELS_TELEGRAM_TOKEN=", "EVERTHREAD_ACCESS_POLICY=pairing"}
}

// beginner is the first visitor of a gateway that nobody has set up, on a phone.
type beginner struct {
	*visitor
	pushes *e2etest.Pushes
	model  *e2etest.Moody
	page   string // its path
	album  string // prefix of the names of pictures; empty: none are taken
	inputs int    // what was typed or chosen
}

// newBeginner starts a gateway, and opens a tab whose person allows notifications.
func newBeginner(t *testing.T, album string, env ...string) *beginner {
	t.Helper()
	b := &beginner{page: "/", album: album, pushes: e2etest.NewPushes(t), model: e2etest.NewMoody(t,
		e2etest.MoodyAnswer{To: "Hello, I'm Ada.", Text: "Good morning, Ada. What shall I keep in mind for you?"},
		e2etest.MoodyAnswer{To: "Remind me in two hours to water the plants.", Text: "I'll remind you in two hours.",
			Tool: "reminder_set", Args: `{"text":"Water the plants","when":"in 2 hours"}`})}
	w := e2etest.NewClock(t, "")
	w.Env = append(append(w.Env, unset()...), "EVERTHREAD_ALLOW_PRIVATE_URLS=true", "EVERTHREAD_SETUP_CODE=installers-code")
	g := w.Start(env...)
	b.visitor = &visitor{Week: w, g: g, l: w.Ledger(), Tab: g.NewTab(t).Allow("401").Allow("net::ERR")}
	takesNotifications(b.Tab, b.pushes)
	b.Look(390, "light", "en")
	b.Do(e2etest.Command(emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: true}))
	return b
}

// picture puts a picture of what the phone shows into docs/images, if pictures are to be taken.
func (b *beginner) picture(name string) {
	b.Tab.T.Helper()
	if b.album != "" {
		photograph(b.Tab, b.album+name)
	}
}

// photograph puts a picture of what a phone shows into docs/images, if pictures are to be taken.
func photograph(p *e2etest.Tab, name string) {
	p.T.Helper()
	if *updatePictures {
		shown, err := png.Decode(bytes.NewReader(p.Picture(390)))
		e2etest.Must(p.T, err)
		var small bytes.Buffer
		e2etest.Must(p.T, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, shown))
		e2etest.Must(p.T, os.WriteFile(filepath.Join("../../docs/images", name+".png"), small.Bytes(), 0o644))
	}
}

func (b *beginner) enters(selector, text string) {
	b.Tab.T.Helper()
	b.inputs++
	b.Fill(selector, text)
}

// begins enters the code of the log and a model, and comes to the first app.
func (b *beginner) begins() {
	b.Tab.T.Helper()
	b.Open(b.page)
	b.Sees("label", "Code")
	b.picture("1-code")
	b.enters("#start-code", "installers-code")
	b.Press("form", "Begin")
	b.Sees("h1", "Model")
	b.inputs++
	e2etest.Js[bool](b.Tab, "document.querySelector('select[name=\"llm.provider\"]').value = 'openai', true")
	b.enters("input[name='llm.base_url']", b.model.URL+"/v1")
	b.enters("input[name='llm.model']", "qwen3:14b")
	b.picture("2-model")
	b.Press("form", "Save")
	b.Sees("h1", "Telegram")
	b.picture("3-app")
}

// talks goes on without an app: it writes on the page, sets a reminder, turns the offered notifications on and leaves.
// The reminder rings, and is in the conversation.
func (b *beginner) talks() {
	b.Tab.T.Helper()
	b.Press("main", "Later")
	b.Sees("h1", "Today")
	b.inputs++
	b.Send("Hello, I'm Ada.")
	b.Sees(".entry.agent .prose", "Good morning, Ada.")
	b.answered()
	b.picture("5-answer")
	b.Send("Remind me in two hours to water the plants.")
	b.Sees(".entry.agent .prose", "I'll remind you in two hours.")
	b.Comes("document.querySelector('#offer')?.checkVisibility()")
	b.picture("6-notifications")
	b.Click("#offer .button.primary")
	b.Sees("#toast", "Notifications are on")
	(&subscriber{visitor: b.visitor}).goesAway()
	b.Set(b.Now().Add(2*time.Hour + time.Minute))
	b.l.Until(`SELECT COUNT(*) FROM messages WHERE kind = 'reminder'`, 1, b.g)
	id := b.l.Lines(`SELECT id FROM messages WHERE kind = 'reminder'`)[0]
	if got := b.pushes.Next(1, b.g); got.Path != "m/"+id || got.Body != "You have a new message." {
		b.Tab.T.Errorf("the device shows %+v", got)
	}
	b.Open(b.page)
	b.Sees("#m"+id, "Water the plants")
	b.picture("7-reminder")
}

// answered checks that the first answer has taken at most eight inputs, no file and no restart.
func (b *beginner) answered() {
	b.Tab.T.Helper()
	if b.inputs > 8 {
		b.Tab.T.Errorf("%d inputs", b.inputs)
	}
	b.Tab.T.Logf("%d inputs to the first answer", b.inputs)
	if n := strings.Count(b.g.Log.String(), "owner code"); n > 1 {
		b.Tab.T.Errorf("it was started %d times", n)
	}
}

// TestSetup_fromNothingByThePageAlone: from the code of the log to the first answer on Telegram there are at most eight
// inputs, no file and no restart.
func TestSetup_fromNothingByThePageAlone(t *testing.T) {
	t.Parallel()
	b := newBeginner(t, "")
	pid := b.g.Cmd.Process.Pid
	b.begins()
	b.Fill("input[name='telegram']", "hello") // a mistake is not a step
	b.Press("form", "Save")
	b.Sees(".note.bad", "BotFather")
	b.enters("input[name='telegram']", telegramtest.Token)
	b.Press("form", "Save")
	b.Sees("h2", "Connect yourself")
	b.Press("section", "Connect yourself")
	b.Sees("#secret", "/start ")
	b.album = "first-start-"
	b.picture("4-link")
	code := b.Text("#secret")
	b.inputs++ // it is sent by a tap on the link, or the QR code
	b.Telegram.Say(e2etest.Ada, code)
	b.Town.Sent(e2etest.Ada, 1)
	b.Comes("!document.querySelector('[data-arrives]').hidden")
	b.inputs++
	b.Telegram.Say(e2etest.Ada, "Hello, I'm Ada.")
	sent := b.Town.Sent(e2etest.Ada, 2)
	if got := sent[len(sent)-1].Text; !strings.HasPrefix(got, "Good morning, Ada.") {
		t.Errorf("it answers %q", e2etest.Texts(sent))
	}
	b.answered()
	if !b.Is("document.cookie === ''") || b.g.Cmd.Process.Pid != pid {
		t.Error("a script can read the session, or there was another process")
	}
	b.Open("/setup")
	b.Click("main details > summary")
	b.Sees("main", "llm.model")
	if strings.Contains(b.g.Log.String(), telegramtest.Token) {
		t.Error("the log has the token")
	}
	b.l.Until(`SELECT COUNT(*) FROM audit WHERE what = 'setup' AND tool = 'channels.telegram.token'`, 1, b.g)
}

// Without any app, the page alone leads from nothing to a reminder that rings on the phone.
func TestSetup_fromNothingToARingingReminder(t *testing.T) {
	t.Parallel()
	b := newBeginner(t, "first-start-")
	b.begins()
	b.talks()
}

// TestSetup_signalByACode: the account of a phone that scans the page's code answers on Signal, without a restart; the page
// turns green by itself. Only signal-cli's address is configured.
func TestSetup_signalByACode(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	s := w.OnSignal()
	s.Unlink()
	g := w.Start("EVERTHREAD_CHANNELS_SIGNAL_ACCOUNT=")
	p := g.NewTab(t)
	p.Look(390, "light", "en")
	p.SignIn(g.WebCode())
	p.Open("/setup/channel-signal")
	p.Fill("input[name='signal_account']", "+49301234567")
	p.Press("form", "Save")
	p.Sees(".note.bad", "signal-cli does not have the account +49301234567")
	p.Press("form", "Link by a QR code")
	p.Sees("h1", "Signal")
	photograph(p, "signal-link")
	first := p.Text(".code-card .quiet")
	if first != s.Code() || !p.Is("document.querySelector('.code-card svg.qr')") {
		t.Errorf("it shows %q, the code is %q", first, s.Code())
	}
	s.Scan("another") // as if it had run out
	g.Logged("a code was not scanned.*Link request timed out")
	p.Press("main", "Show a new code")
	p.Comes("document.querySelector('.code-card .quiet')?.innerText !== " + e2etest.Quote(first))
	p.Comes("document.querySelector('[data-arrives]').hidden")
	s.Scan(p.Text(".code-card .quiet"))
	p.Comes("!document.querySelector('[data-arrives]').hidden")
	p.Press(".note.good", "Go on")
	p.Sees("h2", "Connect yourself")
	s.Say(e2etest.Grace, "hello")
	for deadline := time.Now().Add(30 * time.Second); len(s.Sent(e2etest.Grace)) == 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("there is no answer\n%s", g.Log)
		}
	}
	if got := s.Sent(e2etest.Grace)[0].Text; got != "echo: hello" {
		t.Errorf("it answers %q", got)
	}
	w.Ledger().Until(`SELECT COUNT(*) FROM audit WHERE what = 'setup' AND tool = 'channels.signal.account'`, 1, g)
	if found, _ := w.Run("doctor", "--json"); !strings.Contains(found, "signal-cli 0.14.6 ") || // which may be old by now
		!strings.Contains(found, "the account "+signaltest.Account+" is registered") {
		t.Errorf("doctor says %s", found)
	}
}

// TestSetup_whileManyTalk: the model changes again and again while 64 people talk. Each message gets one whole answer, of
// one of the models.
func TestSetup_whileManyTalk(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		const people, rounds = 64, 4
		w := e2etest.NewTown(t, database(t))
		var models []*e2etest.Moody
		for _, name := range []string{"one", "two"} {
			var script []e2etest.MoodyAnswer
			for n := range rounds {
				to := fmt.Sprintf("Question %d?", n)
				script = append(script, e2etest.MoodyAnswer{To: to, Text: fmt.Sprintf("%s %s %s %s", name, to, name, name)})
			}
			m := e2etest.NewMoody(t, script...)
			m.Feel(e2etest.MoodGood, e2etest.MoodGood, 300*time.Millisecond)
			models = append(models, m)
		}
		w.Env = append(w.Env, "EVERTHREAD_LLM_PROVIDER=", "EVERTHREAD_LLM_BASE_URL=", "EVERTHREAD_LLM_MODEL=", "EVERTHREAD_LLM_API_KEY=")
		g := w.Start()
		p := g.NewTab(t)
		p.SignIn(g.WebCode())
		use := func(m *e2etest.Moody, name string) {
			t.Helper()
			p.Open("/setup/model")
			p.Do(chromedp.SetValue(chromedp.CSS("select[name='llm.provider']"), "openai"))
			p.Fill("input[name='llm.base_url']", m.URL+"/v1")
			p.Fill("input[name='llm.model']", name)
			p.Press("form", "Save")
			p.Sees("#toast", "saved")
		}
		use(models[0], "one")
		for n := range rounds {
			for who := range int64(people) {
				w.Telegram.Say(1000+who, fmt.Sprintf("Question %d?", n))
			}
			use(models[(n+1)%2], []string{"one", "two"}[(n+1)%2])
			for who := range int64(people) {
				w.Sent(1000+who, n+1) // whoever writes on while it answers is answered once
			}
		}
		used := map[string]int{}
		for who := range int64(people) {
			sent := w.Sent(1000+who, rounds)
			for n, m := range sent[len(sent)-rounds:] {
				first, rest, _ := strings.Cut(m.Text, " ")
				want := fmt.Sprintf("Question %d? %s %s", n, first, first)
				if used[first]++; rest != want || first != "one" && first != "two" {
					t.Errorf("%d, question %d: %q", who, n, m.Text)
				}
			}
		}
		if used["one"] == 0 || used["two"] == 0 {
			t.Errorf("answers by model: %v", used)
		}
		w.Ledger().Quiet(20*time.Second, g.Log)
		t.Logf("answers by model: %v; begun anew %d times", used, strings.Count(g.Log.String(), "the settings have changed"))
	})
}

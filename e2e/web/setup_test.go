//go:build e2e

package web

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
	"github.com/everthread/everthread/e2e/e2etest"
)

// unset are the variables of a gateway that nobody has set up, over those of a town.
func unset() []string {
	return []string{"EVERTHREAD_LLM_PROVIDER=", "EVERTHREAD_LLM_BASE_URL=", "EVERTHREAD_LLM_MODEL=", "EVERTHREAD_LLM_API_KEY=",
		"EVERTHREAD_CHANNELS_TELEGRAM_TOKEN=", "EVERTHREAD_ACCESS_POLICY=pairing"}
}

// picture puts a picture of a page into docs/images, if pictures are to be taken.
func picture(t *testing.T, p *e2etest.Tab, name string) {
	t.Helper()
	if *updatePictures {
		e2etest.Must(t, os.WriteFile(filepath.Join("../../docs/images", name+".png"), p.Picture(390), 0o644))
	}
}

// TestSetup_fromNothingByThePageAlone: from the code of the log to the first answer on Telegram there are at most eight
// inputs, no file and no restart.
func TestSetup_fromNothingByThePageAlone(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	model := e2etest.NewMoody(t, e2etest.MoodyAnswer{To: "Hello?", Text: "Good morning, Ada."})
	w.Env = append(w.Env, unset()...)
	g := w.Start("EVERTHREAD_SETUP_CODE=installers-code")
	pid := g.Cmd.Process.Pid
	p := g.NewTab(t).Allow("401")
	p.Look(390, "light", "en")
	inputs := 0
	fill := func(selector, text string) {
		t.Helper()
		inputs++
		p.Fill(selector, text)
	}
	p.Open("/")
	picture(t, p, "first-start-1-code")
	fill("#start-code", "installers-code")
	p.Press("form", "Begin")
	p.Sees("h1", "Model")
	inputs++
	p.Do(chromedp.SetValue(chromedp.CSS("select[name='llm.provider']"), "openai"))
	fill("input[name='llm.base_url']", model.URL+"/v1")
	fill("input[name='llm.model']", "moody")
	picture(t, p, "first-start-2-model")
	p.Press("form", "Save")
	p.Sees("h1", "Telegram")
	fill("input[name='telegram']", "hello")
	p.Press("form", "Save")
	p.Sees(".note.bad", "BotFather")
	inputs-- // a mistake is not a step
	fill("input[name='telegram']", telegramtest.Token)
	picture(t, p, "first-start-3-telegram")
	p.Press("form", "Save")
	p.Sees("h2", "Connect yourself")
	p.Press("section", "Connect yourself")
	p.Sees("#secret", "/start ")
	picture(t, p, "first-start-4-link")
	code := p.Text("#secret")
	inputs++ // it is sent by a tap on the link, or the QR code
	w.Telegram.Say(e2etest.Ada, code)
	w.Sent(e2etest.Ada, 1)
	p.Comes("!document.querySelector('[data-arrives]').hidden")
	inputs++
	w.Telegram.Say(e2etest.Ada, "Hello?")
	sent := w.Sent(e2etest.Ada, 2)
	if got := sent[len(sent)-1].Text; got != "Good morning, Ada." {
		t.Errorf("it answers %q", e2etest.Texts(sent))
	}
	if inputs > 8 {
		t.Errorf("%d inputs", inputs)
	}
	if !p.Is("document.cookie === ''") || g.Cmd.Process.Pid != pid {
		t.Error("a script can read the session, or there was another process")
	}
	p.Open("/setup")
	p.Click("main details > summary")
	p.Sees("main", "llm.model")
	if strings.Contains(g.Log.String(), telegramtest.Token) {
		t.Error("the log has the token")
	}
	w.Ledger().Until(`SELECT COUNT(*) FROM audit WHERE what = 'setup' AND tool = 'channels.telegram.token'`, 1, g)
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

//go:build e2e

package web

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/everthread/everthread/core/accounts/service/oauthtest"
	"github.com/everthread/everthread/e2e/e2etest"
)

// handScript is in every page of a house: it finds and describes targets, and judges the
// place of the focus.
//
//go:embed testdata/hand.js
var handScript string

// control is an operable element of a page.
type control struct {
	Tag, Form, Details string // Form: its address; Details: the class of the element that a summary opens
	Attrs              map[string]string
}

// hand operates a page in only one way, such as by keys.
type hand interface {
	press(v *house, target string)
	fill(v *house, target, text string)
	show(v *house, target string) // brings up a control that appears on demand
	look(v *house)                // goes through all of a page
	holds(v *house)               // prepares the device that it operates
}

// house is a gateway whose page has everything to show, with a person and their browser.
type house struct {
	*visitor
	net    *e2etest.Relay
	pushes *e2etest.Pushes
	root   string
	hand   hand
	done   []control // controls that were operated
	met    []control // controls that were reached
}

// newHouse opens a house before the first sign-in, with a summary of the previous day. Root is the path below which
// browsers reach it.
func newHouse(t *testing.T, h hand, root string) *house {
	t.Helper()
	w := e2etest.NewClock(t, "")
	signal := w.OnSignal()
	signal.Unlink()
	signal.ScanAll()
	w.Env = append(w.Env, "EVERTHREAD_CHANNELS_SIGNAL_ACCOUNT=")
	model := e2etest.StartModel(t, 10*time.Millisecond)
	w.UseModel(model)
	w.SpeaksWith(e2etest.NewScribe(t))
	w.OnAgents().Add("key-of-adas-agent-fedcba9876543210", "ada")
	w.Env = append(w.Env, "EVERTHREAD_ACCESS_POLICY=pairing", "EVERTHREAD_TURN_GIVE_UP_AFTER=1s",
		"EVERTHREAD_SUMMARIES_POST_FORWARD=off", "EVERTHREAD_ALLOW_PRIVATE_URLS=true",
		fmt.Sprintf("EVERTHREAD_LLM_CHOICES={home: {provider: openai, base_url: %q, model: emulated}}", model+"/v1"),
		"EVERTHREAD_LIMITS_TURNS_PER_MINUTE=0", "EVERTHREAD_CHANNELS_WEB_SIGN_INS_PER_MINUTE=1000")
	at := oauthtest.New(t, oauthtest.Options{Account: oauthtest.Ada})
	w.Env = append(w.Env, fmt.Sprintf("EVERTHREAD_AGENT_MCP_SERVERS=[{name: tracker, url: %q, auth: oauth}]", at.URL))
	if root != "" {
		w.Env = append(w.Env, "EVERTHREAD_HTTP_TRUSTED_PROXIES=127.0.0.1")
	}
	v := &house{visitor: &visitor{Week: w, g: w.Start(), l: w.Ledger()}, hand: h, root: root, pushes: e2etest.NewPushes(t)}
	v.net = v.g.NewRelay(t)
	if root != "" {
		v.net.Below(t, root)
	}
	v.open(t)
	v.Open("/signin?code=" + v.g.WebCode())
	return v
}

// open opens a tab without a session.
func (v *house) open(t *testing.T) {
	t.Helper()
	v.Tab = v.g.NewTab(t)
	for _, text := range []string{"net::ERR", "Failed to load resource", "status of 4", "EventSource"} {
		v.Allow(text)
	}
	v.Base, v.Root = v.net.URL+v.root, v.root
	v.Do(e2etest.Command(page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		Source: handScript + v.pushes.Stub()}),
		e2etest.Command(emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Tokyo"}))
}

// talks fills two days, through other channels and the page's API.
func (v *house) talks() {
	v.T.Helper()
	v.Ask("say 90 words about the harbour")
	v.Set(v.At.Add(20 * time.Hour))
	v.l.Until(`SELECT COUNT(*) FROM segments WHERE state = 'final' AND version > 0`, 1, v.g)
	for n := range 26 {
		v.Ask(fmt.Sprintf("line %d of the day", n))
	}
	for _, text := range []string{rich, `call memory_add {"content":"Has a grey cat"}`, "/remember I live in Lyon",
		"/remind in 2 hours water the plants", "/remind in 3 hours feed the cat", "/remind in 4 hours write home",
		`call loops_open {"text":"choose the paint"}`} {
		v.Ask(text)
	}
	for n := range 6 {
		v.Ask(fmt.Sprintf("/remind in %d hours turn page %d", n+5, n))
		v.Ask(fmt.Sprintf(`call loops_open {"text":"mend plank number %d of the hull"}`, n))
	}
	for n, name := range []string{"Bob", "Carol"} {
		id := e2etest.Bob + int64(n)
		m := e2etest.Written(id, 9001+int64(n), "May I come in?")
		m["date"], m["from"] = v.Now().Unix(), map[string]any{"id": id, "is_bot": false, "first_name": name}
		m["chat"] = map[string]any{"id": id, "type": "private"}
		v.Telegram.Offer(map[string]any{"message": m})
		v.Town.Sent(id, 1)
	}
	v.g.NewGuest(v.SignInCode("1")).Upload("notes.txt", []byte("two notes"))
	v.l.Quiet(e2etest.Patience, v.g.Log)
	for _, into := range []string{ // a failed task, which is paused, and a loop that the day's summary settled
		`INSERT INTO loops (user_id, id, body, state, sources, opened_at, mentioned_at, tainted)
			VALUES (1, 400001, 'ask about the harbour dues', 'closed', '[]', 1, 1, 2)`,
		`UPDATE summaries SET body = body || char(10, 10) || '## Settled' || char(10) || '- (400001) they were paid'`,
		`INSERT INTO plans (user_id, id, kind, body, due_at, cron, zone, state, created_at, last_due)
			VALUES (1, 400000, 'task', 'tell the news', 1761300000000, '0 9 * * *', 'UTC', 'paused', 1, 1000)`,
		`INSERT INTO plan_runs (user_id, plan_id, due_at, state, cause, message_id, turn_id, started_at, ended_at)
			VALUES (1, 400000, 1000, 'failed', 'model', 1, 1, 1000, 1000)`,
		`UPDATE users SET settings = json_set(settings, '$.allowed', json('[{"tool":"shop_mail","until":"2099-01-01T00:00:00Z"}]'))
			WHERE id = 1`,
	} {
		_, err := v.l.DB.Exec(into)
		e2etest.Must(v.T, err)
	}
}

// grows adds what takes long to make: many people and things, and failures.
func (v *house) grows() {
	v.T.Helper()
	for _, into := range []string{
		`INSERT INTO users (id, name, role, settings, created_at) SELECT i, 'Person ' || i, 'member', '{}', 1 FROM n`,
		`INSERT INTO items (user_id, id, theme, type, content, tags, digest, source_thread, source_message, status,
			created_at, updated_at) SELECT 1, i + 100000, 'general', 'fact', 'Thing ' || i, '[]', 'digest ' || i, 0, 0,
			'active', 1000 * i, 1000 * i FROM n`,
		`INSERT INTO audit (user_id, id, at, via, via_id, what, object, ids, tool, result)
			SELECT 1, i + 100000, 1000 * i, 'web', 1, 'signed_in', '', '[]', '', 'done' FROM n`,
		`INSERT INTO jobs (user_id, id, queue, key, ref, payload, state, run_at, since)
			SELECT 1, i + 100000, 'embed', 'k' || i, 0, '{}', 'dead', 1, 1 FROM n WHERE i = 1001`,
		`INSERT INTO deliveries (user_id, id, message_id, identity_id, channel, account, external, kind, state, why,
			created_at, expires_at) SELECT 1, i + 200000, 1, 1, 'telegram', '1', '1', 'reply', 'failed', '', 1761300000000, 0
			FROM n WHERE i = 1001`,
		`INSERT INTO delivery_parts (user_id, delivery_id, n, body, state)
			SELECT 1, i + 200000, 0, '{"text":"hello"}', 'failed' FROM n WHERE i = 1001`,
		`INSERT INTO identities (user_id, id, channel, account, external, name, last_used)
			SELECT 1, i + 300000, 'telegram', '1', '777', 'Old phone', 1 FROM n WHERE i = 1001`,
	} {
		_, err := v.l.DB.Exec(`WITH RECURSIVE n(i) AS (SELECT 1001 UNION ALL SELECT i + 1 FROM n WHERE i < 1260) ` + into)
		e2etest.Must(v.T, err)
	}
}

// finds waits for a target: a selector, and after ">>" the beginning of its text. It marks
// the target for the hand.
func (v *house) finds(target string) control {
	v.T.Helper()
	v.Comes("hand.find(" + e2etest.Quote(target) + ")")
	var c control
	said := e2etest.Js[string](v.Tab, "JSON.stringify(hand.mark("+e2etest.Quote(target)+"))")
	e2etest.Must(v.T, json.Unmarshal(v.rootless(said), &c))
	return c
}

// rootless removes the path below which the gateway is reached from JSON.
func (v *house) rootless(said string) []byte {
	return []byte(strings.ReplaceAll(said, `"`+v.root+"/", `"/`))
}

// does operates a control with the hand, or writes the text after " = " into it.
func (v *house) does(step string) {
	v.T.Helper()
	step, perhaps := strings.CutPrefix(step, "?") // only if it exists
	if perhaps && !v.Is("hand.find("+e2etest.Quote(step)+")") {
		return
	}
	target, text, isText := strings.Cut(step, " = ")
	if target == "file" {
		path := filepath.Join(v.T.TempDir(), "sail.png")
		e2etest.Must(v.T, os.WriteFile(path, aPicture(v.T), 0o600))
		v.Do(chromedp.SetUploadFiles(chromedp.CSS("#write input[type=file]"), []string{path}))
		return
	}
	v.hand.show(v, target)
	v.done = append(v.done, v.finds(target))
	if isText {
		v.hand.fill(v, target, text)
		return
	}
	v.hand.press(v, target)
}

// run does deeds in order.
func (v *house) run(t *testing.T, deeds []deed) {
	for _, d := range deeds {
		t.Run(d.steps, func(t *testing.T) {
			v.Tab.T = t
			if d.page != "" {
				v.Open(d.page)
			}
			e2etest.Js[chromedp.Void](v.Tab, "window.old = true")
			for _, step := range strings.Split(d.steps, " | ") {
				v.does(strings.NewReplacer("{model}", v.Model, "{long}", strings.Repeat("one of many lines\n", 90)).Replace(step))
			}
			v.Comes(d.sees)
			if d.look {
				v.hand.look(v)
			}
		})
		v.Tab.T = t
	}
}

// looks looks at all of each page.
func (v *house) looks(t *testing.T, pages ...string) {
	for _, path := range pages {
		t.Run("look at "+path, func(t *testing.T) {
			v.Tab.T = t
			v.Open(path)
			v.hand.look(v)
		})
		v.Tab.T = t
	}
}

// comesBack signs in again with a new link.
func (v *house) comesBack(t *testing.T, user string) {
	t.Helper()
	v.Open("/signin?code=" + v.SignInCode(user))
	v.run(t, signsIn)
}

// livesHere does everything possible in a house, from the first link.
func (v *house) livesHere(t *testing.T) {
	v.hand.look(v)
	v.run(t, begins)
	v.Open("/signin?code=" + v.g.WebCode())
	v.run(t, arrives)
	v.run(t, rings)
	v.Ask("/start " + v.g.Logged(`/start ([A-Z0-9]{10})`)[1])
	v.talks()
	v.run(t, []deed{{"/", "?.nothing", "document.querySelector('.tabs a[href=\"/admin\"] .count')?.textContent === '2'", false}})
	v.run(t, writes)
	v.retries(t)
	v.run(t, goesAbout)
	v.run(t, keeps)
	v.grows()
	v.looks(t, v.places()...)
	v.Look(360, "dark", "en") // a width at which some things are in the menu
	v.looks(t, "/day/2026-10-20")
	v.hand.holds(v)
	v.run(t, administers)
	v.run(t, links)
	v.remodels(t)
	v.withoutNetwork(t)
	v.run(t, unlinks)
	v.comesBack(t, "1")
	v.g.NewTab(t).Allow("401").SignIn(v.SignInCode("1"))
	v.run(t, goes)
	bea := v.AddUser("Bea")
	v.comesBack(t, bea)
	v.run(t, endsAll)
	v.comesBack(t, bea)
	v.run(t, leavesAll)
}

// retries retries an answer that did not arrive.
func (v *house) retries(t *testing.T) {
	t.Helper()
	v.Control("/__aimock/chaos", `{"dropRate": 1}`)
	v.run(t, []deed{{"/", "#text = are you there? | #send", says("#status", "Your last message was not answered"), false}})
	v.Control("/__aimock/chaos", "")
	v.run(t, []deed{{"", "#status button >> Retry", says(".entry.agent .prose", "are you there?"), false}})
}

// remodels changes the embedding model of the gateway.
func (v *house) remodels(t *testing.T) {
	t.Helper()
	v.g.Stop()
	_, err := v.l.DB.Exec(`UPDATE embeddings SET state = 'ready', config = 'another'`)
	e2etest.Must(t, err)
	v.g = v.Start("EVERTHREAD_EMBEDDINGS_PROVIDER=openai", "EVERTHREAD_EMBEDDINGS_BASE_URL="+v.Model+"/v1",
		"EVERTHREAD_EMBEDDINGS_MODEL=emulated-embeddings", "EVERTHREAD_EMBEDDINGS_DIMENSIONS=256")
	v.net.To(v.g)
	v.g.Logged("texts will be embedded again")
	v.run(t, outdates)
}

// places returns pages that together contain everything in the templates.
func (v *house) places() []string {
	v.T.Helper()
	const newest = `SELECT MAX(id) FROM messages WHERE user_id = 1 AND kind = 'chat' AND role = '%s'`
	own := v.l.Lines(fmt.Sprintf(newest+` AND redacted = 0`, "user"))[0]
	said := v.l.Lines(fmt.Sprintf(newest, "assistant"))[0]
	out := []string{"/", "/day/2026-10-24", "/day/2026-10-24/history", "/days", "/search", "/search?q=harbour&who=me",
		"/threads", "/memory", "/memory?page=1", "/admin/users?page=1", "/admin/audit",
		"/admin/audit?before=1260000-1-101260", "/commands", "/nothing/here", "/m/" + said + "/why",
		"/day/2026-10-25?before=60", "/day/2026-10-20"}
	for _, section := range []string{"profile", "assistant", "standing", "channels", "services", "embeddings", "keys", "sessions",
		"notifications", "usage", "data"} {
		out = append(out, "/settings/"+section)
	}
	for _, section := range []string{"requests", "users", "channels", "deliveries", "jobs", "usage", "kept", "check"} {
		out = append(out, "/admin/"+section)
	}
	for _, act := range []string{"edit", "unsend", "forget", "remember", "earlier"} {
		out = append(out, "/m/"+own+"/"+act)
	}
	return out
}

// withoutNetwork does what is possible while the gateway is unreachable.
func (v *house) withoutNetwork(t *testing.T) {
	t.Helper()
	v.Open("/")
	v.Comes("navigator.serviceWorker.controller")
	v.net.Set(e2etest.Cut)
	v.run(t, withoutNetwork)
	v.net.Set(e2etest.Whole)
	v.Open("/")
	v.Comes("document.querySelector('#outbox .state.failed')")
	v.run(t, refused)
}

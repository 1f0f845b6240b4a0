//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/whatsapp/agent/agenttest"
)

const (
	adaKey = "key-of-adas-agent-fedcba9876543210"
	erin   = "user:5555"
	frank  = "user:6666"
)

// linkCode is a code that links an address.
var linkCode = regexp.MustCompile(`\b[A-Z2-9]{4}-?[A-Z2-9]{4}\b`)

// answered waits until an agent has sent n messages, and returns their texts.
func answered(t *testing.T, s *agenttest.Server, key string, n int, within time.Duration, g *gateway) []string {
	t.Helper()
	for deadline := time.Now().Add(within); ; time.Sleep(20 * time.Millisecond) {
		sent := s.Sent(key)
		if len(sent) >= n {
			return agentTexts(sent)
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s has %d messages, want %d\n%s", key, len(sent), n, g.log)
		}
	}
}

func agentTexts(ms []agenttest.Message) []string {
	var out []string
	for _, m := range ms {
		out = append(out, m.Text)
	}
	return out
}

// agents lists the personal agents.
func (w *town) agents() []struct {
	ID   int64
	User int64 `json:"user_id"`
	Name string
} {
	w.t.Helper()
	var out []struct {
		ID   int64
		User int64 `json:"user_id"`
		Name string
	}
	text := w.mustRun("users", "agent", "list", "--json")
	must(w.t, json.Unmarshal([]byte(text), &out))
	if strings.Contains(text, "key-of-") {
		w.t.Errorf("the list shows a key: %s", text)
	}
	return out
}

// A key that is added while the server runs is taken up, and what is said there
// belongs to the conversation of the person whose key it is. A key that is
// removed is no longer used.
func TestAPersonalAgentIsOneMoreDoorToTheSameConversation(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newTown(t, database(t))
		s := w.onAgents()
		s.Add(adaKey, erin)
		g := w.start("EVERTHREAD_ACCESS_POLICY=pairing") // nobody has to be let in here
		user := w.addUser("Ada")
		added := time.Now()
		id := w.addKey(user, adaKey)
		s.Say(adaKey, "hello from my own agent")
		if got := answered(t, s, adaKey, 1, 30*time.Second, g); got[0] != "echo: hello from my own agent" {
			t.Errorf("answered %q", got)
		}
		t.Logf("a new key is taken up after %s", time.Since(added).Round(100*time.Millisecond))
		if sent := s.Sent(adaKey)[0]; sent.To != erin {
			t.Errorf("sent %+v", sent)
		}
		w.telegramOf(t, g, s)
		l := w.ledger()
		if a, b := l.userOf(fmt.Sprint(ada)), l.userOf(erin); a != b || a != user {
			t.Errorf("Telegram is user %s, the agent's is %s, Ada is %s", a, b, user)
		}
		if n := l.count(`SELECT COUNT(DISTINCT thread_id) FROM messages WHERE user_id`+ofChat+` AND kind = 'chat'`, erin); n != 1 {
			t.Errorf("the conversation is %d threads", n)
		}
		w.unreadable(l, adaKey)
		if got := w.agents(); len(got) != 1 || fmt.Sprint(got[0].ID) != id || fmt.Sprint(got[0].User) != user {
			t.Errorf("listed %+v", got)
		}
		w.mustRun("users", "agent", "remove", user, id)
		w.silent(t, s, g)
		if _, err := w.run("users", "agent", "remove", user, id); err == nil || !strings.Contains(err.Error(), "has no agent") {
			t.Errorf("removed again: %v", err)
		}
	})
}

// telegramOf links Ada's Telegram by a code that she asks of her agent, and goes
// on there.
func (w *town) telegramOf(t *testing.T, g *gateway, s *agenttest.Server) {
	t.Helper()
	s.Say(adaKey, "/link")
	code := linkCode.FindString(answered(t, s, adaKey, 2, 30*time.Second, g)[1])
	w.telegram.Say(ada, "/link "+code)
	if question := answered(t, s, adaKey, 3, 30*time.Second, g)[2]; !strings.Contains(question, "wants to be you") {
		t.Errorf("asked %q", question)
	}
	s.Say(adaKey, "yes")
	if got := w.sent(ada, 2)[1].Text; !strings.Contains(got, "connected now") {
		t.Errorf("told %q", got)
	}
	w.telegram.Say(ada, "and hello from Telegram")
	if got := w.sent(ada, 3)[2].Text; got != "echo: and hello from Telegram" {
		t.Errorf("answered %q", got)
	}
}

// unreadable checks that a secret stands nowhere in the database.
func (w *town) unreadable(l *ledger, secret string) {
	w.t.Helper()
	if rows := l.lines(`SELECT sealed FROM agent_keys`); len(rows) != 1 || strings.Contains(rows[0], secret) {
		w.t.Errorf("sealed is %q", rows)
	}
	files, err := filepath.Glob(filepath.Join(w.dir, "everthread.db*"))
	must(w.t, err)
	for _, f := range files {
		b, err := os.ReadFile(f)
		must(w.t, err)
		if bytes.Contains(b, []byte(secret)) || bytes.Contains(b, []byte(secret[7:])) {
			w.t.Errorf("the key stands in %s", filepath.Base(f))
		}
	}
}

// silent waits until a removed key is no longer polled, which it may be for as
// long as a server takes to see it.
func (w *town) silent(t *testing.T, s *agenttest.Server, g *gateway) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		if status, body := g.get("/readyz"); status == http.StatusOK && !strings.Contains(body, "whatsapp_agent:") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the removed agent is still there")
		}
	}
	polls, sent := len(s.Offsets(adaKey)), len(s.Sent(adaKey))
	s.Say(adaKey, "is anybody there?")
	time.Sleep(2 * time.Second) // nothing may come, which has no event
	if len(s.Offsets(adaKey)) != polls || len(s.Sent(adaKey)) != sent {
		t.Errorf("%d polls and %d messages after the key was removed", len(s.Offsets(adaKey))-polls, len(s.Sent(adaKey))-sent)
	}
}

func TestAKeyIsReadFromStandardInput(t *testing.T) {
	t.Parallel()
	w := newTown(t, "")
	s := w.onAgents()
	s.Add(adaKey, erin)
	user := w.addUser("Ada")
	for input, ok := range map[string]bool{adaKey + "\n": true, "": false, "two words\n": false} {
		cmd := exec.Command(program, "users", "agent", "add", user, "--name", "mine")
		cmd.Dir, cmd.Env, cmd.Stdin = w.dir, append([]string{"HOME=" + w.dir}, w.env...), strings.NewReader(input)
		out, err := cmd.CombinedOutput()
		if (err == nil) != ok || strings.Contains(string(out), "key-of-") {
			t.Errorf("%q: %v: %s", input, err, out)
		}
	}
	if _, err := w.run("users", "agent", "add", "99", "--key-file", os.Args[0]); err == nil {
		t.Error("a key of nobody was taken")
	}
	if got := w.agents(); len(got) != 1 || got[0].Name != "mine" {
		t.Errorf("listed %+v", got)
	}
	g := w.start()
	s.Say(adaKey, "hello")
	answered(t, s, adaKey, 1, 30*time.Second, g)
}

// What is said to an agent is taken once, however often the process dies, and
// what may have arrived is never sent again: nothing could tell.
func TestAPersonalAgentLosesAndRepeatsNothingThroughKills(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newTown(t, database(t))
		s := w.onAgents()
		s.Add(adaKey, erin)
		w.addKey(w.addUser("Ada"), adaKey)
		w.env = append(w.env, "EVERTHREAD_TURN_LEASE=3s")
		g := w.start()
		l := w.ledger()
		var said []string
		say := func(text string) {
			said = append(said, text)
			s.Say(adaKey, text)
		}
		say("first")
		answered(t, s, adaKey, 1, 30*time.Second, g)
		g.stop()
		say("while it was stopped")
		g = w.start()
		answered(t, s, adaKey, 2, 30*time.Second, g)
		kills := 0
		for ; kills < 3; kills++ {
			say(fmt.Sprint("before kill ", kills))
			time.Sleep(time.Duration(kills) * 30 * time.Millisecond) // at different steps
			g.kill()
			say(fmt.Sprint("after kill ", kills))
			g = w.start()
			l.until(`SELECT COUNT(*) FROM messages WHERE role = 'user' AND kind = 'chat'`, len(said), g)
		}
		l.quiet(100*time.Second, g.log)
		r := w.checkAt(l, erin, said, agentTexts(s.Sent(adaKey)))
		if r.marked+r.doubled > 0 || r.missing > kills {
			t.Errorf("%d kills do not explain %+v", kills, r)
		}
		offsets := s.Offsets(adaKey)
		if !slices.IsSorted(offsets) || offsets[len(offsets)-1] <= agenttest.FirstOffset {
			t.Errorf("polls asked from %v", offsets)
		}
	})
}

// A key that is dead is told by name, and stops no other.
func TestADeadKeyIsToldAndStopsNoOther(t *testing.T) {
	t.Parallel()
	w := newTown(t, "")
	s := w.onAgents()
	s.Add(daveKey, dave)
	s.Add("revoked-key", frank)
	never := w.addKey(w.addUser("Erin"), "never-a-key")
	revoked := w.addKey(w.addUser("Frank"), "revoked-key")
	alive := w.addKey(w.addUser("Dave"), daveKey)
	g := w.start()
	s.Say(daveKey, "hello")
	answered(t, s, daveKey, 1, 30*time.Second, g)
	g.logged(`personal agent does not work.*"account": "` + never + `".*make a new one in WhatsApp`)
	s.Revoke("revoked-key")
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(200 * time.Millisecond) { // a poll waits for 25 s
		said := w.health(g)
		if strings.Contains(said["whatsapp_agent:"+revoked], "not valid any more") && strings.Contains(said["whatsapp_agent:"+never], "not valid any more") &&
			said["whatsapp_agent:"+alive] == "ok" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("readyz says %q\n%s", said, g.log)
		}
	}
	s.Say(daveKey, "still here?")
	answered(t, s, daveKey, 2, 30*time.Second, g)
	all := strings.Join(w.doctor()["whatsapp agent"], "\n")
	for _, want := range []string{"PROBLEM Agent " + never, "PROBLEM Agent " + revoked, "ok Agent " + alive, "users agent add"} {
		if !strings.Contains(all, want) {
			t.Errorf("doctor does not say %q:\n%s", want, all)
		}
	}
	if text := all + g.log.String(); strings.Contains(text, daveKey) || strings.Contains(text, "revoked-key") {
		t.Error("a key is told")
	}
}

// health is what /readyz says of each channel.
func (w *town) health(g *gateway) map[string]string {
	w.t.Helper()
	status, body := g.get("/readyz")
	var out struct{ Channels map[string]string }
	must(w.t, json.Unmarshal([]byte(body), &out))
	if status != http.StatusOK {
		w.t.Errorf("readyz is %d: %s", status, body)
	}
	return out.Channels
}

// Each key is polled by one process, and by the other one soon after that died.
func TestPersonalAgentsArePolledByOneProcessEach(t *testing.T) {
	t.Parallel()
	w := newTown(t, newSchema(t))
	s := w.onAgents()
	keys := map[string]string{adaKey: erin, daveKey: dave, "key-of-franks-agent": frank}
	for key, person := range keys {
		s.Add(key, person)
		w.addKey(w.addUser(person), key)
	}
	first := w.start()
	second := w.start()
	for key := range keys {
		s.Say(key, "one")
		answered(t, s, key, 1, 30*time.Second, first)
	}
	w.ledger().quiet(30*time.Second, second.log) // nothing is held by who dies
	polls := map[string]int{}
	for key := range keys {
		polls[key] = len(s.Offsets(key))
	}
	first.kill()
	died := time.Now()
	for key := range keys {
		s.Say(key, "two")
	}
	for key := range keys {
		if got := answered(t, s, key, 2, 40*time.Second, second); got[1] != "echo: two" {
			t.Errorf("answered %q", got)
		}
	}
	if d := time.Since(died); d > takeover+time.Second { // for the answer
		t.Errorf("the agents were taken over after %s", d)
	}
	third := w.start()
	second.stop()
	for key := range keys {
		s.Say(key, "three")
		answered(t, s, key, 3, 30*time.Second, third)
		if n := s.Replaced(key); n > 0 {
			t.Errorf("%d polls of %s ran beside another one", n, key)
		}
		if len(s.Offsets(key)) <= polls[key] {
			t.Errorf("%s was not polled again", key)
		}
	}
	for _, g := range []*gateway{first, second, third} {
		if strings.Contains(g.log.String(), "another program") {
			t.Errorf("two processes polled at once\n%s", g.log)
		}
	}
}

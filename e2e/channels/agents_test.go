//go:build e2e

package channels

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/whatsapp/agent/agenttest"
	"github.com/everthread/everthread/e2e/e2etest"
)

// A key that is added while the server runs is used immediately, and messages there belong
// to the conversation of the key's user. A removed key is no longer used.
func TestAgents_shareTheConversation(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		s := w.OnAgents()
		s.Add(e2etest.AdaKey, e2etest.Erin)
		g := w.Start("EVERTHREAD_ACCESS_POLICY=pairing") // nobody needs approval here
		user := w.AddUser("Ada")
		added := time.Now()
		id := w.AddKey(user, e2etest.AdaKey)
		s.Say(e2etest.AdaKey, "hello from my own agent")
		if got := e2etest.Answered(t, s, e2etest.AdaKey, 1, 30*time.Second, g); got[0] != "echo: hello from my own agent" {
			t.Errorf("answered %q", got)
		}
		t.Logf("a new key is used after %s", time.Since(added).Round(100*time.Millisecond))
		if sent := s.Sent(e2etest.AdaKey)[0]; sent.To != e2etest.Erin {
			t.Errorf("sent %+v", sent)
		}
		w.TelegramOf(t, g, s)
		l := w.Ledger()
		if a, b := l.UserOf(fmt.Sprint(e2etest.Ada)), l.UserOf(e2etest.Erin); a != b || a != user {
			t.Errorf("Telegram is user %s, the agent's is %s, Ada is %s", a, b, user)
		}
		if n := l.Count(`SELECT COUNT(DISTINCT thread_id) FROM messages WHERE user_id`+e2etest.OfChat+` AND kind = 'chat'`,
			e2etest.Erin); n != 1 {
			t.Errorf("the conversation is %d threads", n)
		}
		w.Unreadable(l, e2etest.AdaKey)
		if got := w.Agents(); len(got) != 1 || fmt.Sprint(got[0].ID) != id || fmt.Sprint(got[0].User) != user {
			t.Errorf("listed %+v", got)
		}
		w.MustRun("users", "agent", "remove", user, id)
		w.Silent(t, s, g)
		if _, err := w.Run("users", "agent", "remove", user, id); err == nil ||
			!strings.Contains(err.Error(), "has no agent") {
			t.Errorf("removed again: %v", err)
		}
	})
}

func TestAgents_keyFromStandardInput(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	s := w.OnAgents()
	s.Add(e2etest.AdaKey, e2etest.Erin)
	user := w.AddUser("Ada")
	for input, ok := range map[string]bool{e2etest.AdaKey + "\n": true, "": false, "two words\n": false} {
		cmd := exec.Command(e2etest.Program, "users", "agent", "add", user, "--name", "mine")
		cmd.Dir, cmd.Env, cmd.Stdin = w.Dir, append([]string{"HOME=" + w.Dir}, w.Env...), strings.NewReader(input)
		out, err := cmd.CombinedOutput()
		if (err == nil) != ok || strings.Contains(string(out), "key-of-") {
			t.Errorf("%q: %v: %s", input, err, out)
		}
	}
	if _, err := w.Run("users", "agent", "add", "99", "--key-file", os.Args[0]); err == nil {
		t.Error("a key of an unknown user was accepted")
	}
	if got := w.Agents(); len(got) != 1 || got[0].Name != "mine" {
		t.Errorf("listed %+v", got)
	}
	g := w.Start()
	s.Say(e2etest.AdaKey, "hello")
	e2etest.Answered(t, s, e2etest.AdaKey, 1, 30*time.Second, g)
}

// Messages to an agent are received once, however often the process dies, and parts that
// may have arrived are never sent again, as their outcome cannot be determined.
func TestAgents_killsLoseAndRepeatNothing(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		s := w.OnAgents()
		s.Add(e2etest.AdaKey, e2etest.Erin)
		w.AddKey(w.AddUser("Ada"), e2etest.AdaKey)
		w.Env = append(w.Env, "EVERTHREAD_TURN_LEASE=3s")
		g := w.Start()
		l := w.Ledger()
		var said []string
		say := func(text string) {
			said = append(said, text)
			s.Say(e2etest.AdaKey, text)
		}
		say("first")
		e2etest.Answered(t, s, e2etest.AdaKey, 1, 30*time.Second, g)
		g.Stop()
		say("while it was stopped")
		g = w.Start()
		e2etest.Answered(t, s, e2etest.AdaKey, 2, 30*time.Second, g)
		kills := 0
		for ; kills < 3; kills++ {
			say(fmt.Sprint("before kill ", kills))
			time.Sleep(time.Duration(kills) * 30 * time.Millisecond) // at different steps
			g.Kill()
			say(fmt.Sprint("after kill ", kills))
			g = w.Start()
			l.Until(`SELECT COUNT(*) FROM messages WHERE role = 'user' AND kind = 'chat'`, len(said), g)
		}
		l.Quiet(100*time.Second, g.Log)
		r := w.CheckAt(l, e2etest.Erin, said, e2etest.AgentTexts(s.Sent(e2etest.AdaKey)))
		if r.Marked+r.Doubled > 0 || r.Missing > kills {
			t.Errorf("%d kills do not explain %+v", kills, r)
		}
		offsets := s.Offsets(e2etest.AdaKey)
		if !slices.IsSorted(offsets) || offsets[len(offsets)-1] <= agenttest.FirstOffset {
			t.Errorf("polls asked from %v", offsets)
		}
	})
}

// A dead key is reported by name, and affects no other.
func TestAgents_deadKeyStopsNoOther(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	s := w.OnAgents()
	s.Add(e2etest.DaveKey, e2etest.Dave)
	s.Add("revoked-key", e2etest.Frank)
	never := w.AddKey(w.AddUser("Erin"), "never-a-key")
	revoked := w.AddKey(w.AddUser("Frank"), "revoked-key")
	alive := w.AddKey(w.AddUser("Dave"), e2etest.DaveKey)
	g := w.Start()
	s.Say(e2etest.DaveKey, "hello")
	e2etest.Answered(t, s, e2etest.DaveKey, 1, 30*time.Second, g)
	g.Logged(`personal agent does not work.*"account": "` + never + `".*make a new one in WhatsApp`)
	s.Revoke("revoked-key")
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(200 * time.Millisecond) { // a poll waits for 25 s
		said := w.Health(g)
		if strings.Contains(said["whatsapp_agent:"+revoked], "not valid any more") &&
			strings.Contains(said["whatsapp_agent:"+never], "not valid any more") &&
			said["whatsapp_agent:"+alive] == "ok" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("got readyz %q\n%s", said, g.Log)
		}
	}
	s.Say(e2etest.DaveKey, "still here?")
	e2etest.Answered(t, s, e2etest.DaveKey, 2, 30*time.Second, g)
	all := strings.Join(w.Doctor()["whatsapp agent"], "\n")
	for _, want := range []string{"PROBLEM Agent " + never, "PROBLEM Agent " + revoked, "ok Agent " + alive,
		"users agent add"} {
		if !strings.Contains(all, want) {
			t.Errorf("doctor does not say %q:\n%s", want, all)
		}
	}
	if text := all + g.Log.String(); strings.Contains(text, e2etest.DaveKey) || strings.Contains(text, "revoked-key") {
		t.Error("a key is shown")
	}
}

// Each key is polled by one process, and soon after its death by the other.
func TestAgents_polledByOneProcessEach(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, e2etest.NewStore(t))
	s := w.OnAgents()
	keys := map[string]string{e2etest.AdaKey: e2etest.Erin, e2etest.DaveKey: e2etest.Dave,
		"key-of-franks-agent": e2etest.Frank}
	for key, person := range keys {
		s.Add(key, person)
		w.AddKey(w.AddUser(person), key)
	}
	first := w.Start()
	second := w.Start()
	for key := range keys {
		s.Say(key, "one")
		e2etest.Answered(t, s, key, 1, 30*time.Second, first)
	}
	w.Ledger().Quiet(30*time.Second, second.Log) // the dead process holds nothing
	polls := map[string]int{}
	for key := range keys {
		polls[key] = len(s.Offsets(key))
	}
	first.Kill()
	died := time.Now()
	for key := range keys {
		s.Say(key, "two")
	}
	for key := range keys {
		if got := e2etest.Answered(t, s, key, 2, 40*time.Second, second); got[1] != "echo: two" {
			t.Errorf("answered %q", got)
		}
	}
	if d := time.Since(died); d > e2etest.Takeover+time.Second { // for the answer
		t.Errorf("the other process polls the agents after %s", d)
	}
	third := w.Start()
	second.Stop()
	for key := range keys {
		s.Say(key, "three")
		e2etest.Answered(t, s, key, 3, 30*time.Second, third)
		if n := s.Replaced(key); n > 0 {
			t.Errorf("%d polls of %s overlapped", n, key)
		}
		if len(s.Offsets(key)) <= polls[key] {
			t.Errorf("%s was not polled again", key)
		}
	}
	for _, g := range []*e2etest.Gateway{first, second, third} {
		if strings.Contains(g.Log.String(), "another program") {
			t.Errorf("two processes polled at once\n%s", g.Log)
		}
	}
}

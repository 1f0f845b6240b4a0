//go:build e2e

package channels

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/signal/signaltest"
	"github.com/everthread/everthread/e2e/e2etest"
)

// signalTexts returns what a person on Signal received.
func signalTexts(s *signaltest.Server, person string) []string {
	var out []string
	for _, m := range s.Sent(person) {
		out = append(out, m.Text)
	}
	return out
}

// heardOnSignal waits until a person has received n messages.
func heardOnSignal(t *testing.T, s *signaltest.Server, person string, n int, g *e2etest.Gateway) []signaltest.Message {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if got := s.Sent(person); len(got) >= n {
			return got
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s has %q, want %d messages\n%s", person, signalTexts(s, person), n, g.Log)
		}
	}
}

// TestSignalCLI_conversation: what people do with messages in the app reaches the conversation, and what becomes of the
// answers in the app is shown.
func TestSignalCLI_conversation(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		s := w.OnSignal()
		g := w.Start()
		l := w.Ledger()
		const grace = e2etest.Grace
		hears := func(n int, want string) signaltest.Message {
			t.Helper()
			m := heardOnSignal(t, s, grace, n, g)[n-1]
			if m.Text != want {
				t.Errorf("message %d is %q, want %q", n, m.Text, want)
			}
			return m
		}
		first := s.Say(grace, "The boat is called Albatros.")
		answer := hears(1, "echo: The boat is called Albatros.")
		states := `SELECT COUNT(*) FROM deliveries WHERE channel = 'signal' AND state = '%s'`
		l.Until(fmt.Sprintf(states, "sent"), 1, g)
		if s.Unread(grace) > 0 { // its read mark comes before
			t.Error("the answered message has no read mark")
		}
		s.Receipt(grace, false, answer.Timestamp)
		l.Until(fmt.Sprintf(states, "delivered"), 1, g)
		s.Receipt(grace, true, answer.Timestamp)
		l.Until(fmt.Sprintf(states, "read"), 1, g)
		if list := w.MustRun("deliveries", "list", "--all", "--user", l.UserOf(grace)); !strings.Contains(list, "signal") ||
			!strings.Contains(list, "read") {
			t.Errorf("the list of deliveries is %q", list)
		}

		second := s.Edit(grace, first, "The boat is called Pinguin.")
		l.Until(`SELECT COUNT(*) FROM messages WHERE body = 'The boat is called Pinguin.' AND revision > 0`, 1, g)
		l.Until(`SELECT COUNT(*) FROM revisions WHERE body = 'The boat is called Albatros.'`, 1, g)
		s.Edit(grace, second, "The boat is called Petrel.") // apps name the version that they show
		l.Until(`SELECT COUNT(*) FROM messages WHERE body = 'The boat is called Petrel.' AND revision > 0`, 1, g)

		s.Write(grace, map[string]any{"reaction": map[string]any{"emoji": "👍", "targetAuthorUuid": signaltest.Self,
			"targetSentTimestamp": answer.Timestamp, "isRemove": false}})
		s.Write(grace, map[string]any{"message": "and this?", "quote": map[string]any{"id": answer.Timestamp,
			"authorUuid": signaltest.Self, "text": answer.Text}})
		hears(2, "echo: [Reply to the assistant's words:]\n> "+answer.Text+"\n\nand this?")
		l.Until(`SELECT COUNT(*) FROM messages WHERE body = 'and this?' AND extra LIKE '%"mine":true%'`, 1, g)

		s.Write(grace, map[string]any{"viewOnce": true, "attachments": []any{s.Attach(e2etest.Picture, "image/png", "")}})
		hears(3, "echo: [view-once message, which is not received here]")
		if files := w.Kept(); len(files) > 0 {
			t.Errorf("a view-once picture is kept: %v", e2etest.Names(files))
		}

		s.Write(grace, map[string]any{"remoteDelete": map[string]any{"timestamp": second}})
		l.Until(`SELECT COUNT(*) FROM messages WHERE role = 'user' AND redacted = 1`, 1, g)
		l.Until(`SELECT (SELECT COUNT(*) FROM messages WHERE role = 'user' AND body LIKE '%boat%')
			+ (SELECT COUNT(*) FROM revisions WHERE body LIKE '%boat%')`, 0, g)
		s.NoteTo(grace, "typed on the phone") // of the account
		l.Until(`SELECT COUNT(*) FROM messages WHERE role = 'assistant' AND body = 'typed on the phone'`, 1, g)
		s.Say(grace, "/help")
		if m := heardOnSignal(t, s, grace, 4, g)[3]; !strings.Contains(m.Text, "/today") {
			t.Errorf("/help says %q", m.Text)
		}
		w.Settle(l, g)
		if got := signalTexts(s, grace); len(got) < 4 || strings.Contains(strings.Join(got, ""), "phone") {
			t.Errorf("it wrote %q", got)
		}
	})
}

// TestSignalCLI_deathsLoseAndRepeatNothing: a daemon that collected 5,000 messages hands them out, dies while it writes,
// repeats, falls silent; and the gateway is killed whenever the daemon has paused. Every message is stored once and in
// order.
func TestSignalCLI_deathsLoseAndRepeatNothing(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		s := w.OnSignal()
		w.Env = append(w.Env, "EVERTHREAD_TURN_LEASE=3s")
		const people, each = 5, 1000
		person := func(n int) string { return fmt.Sprintf("2f9a1c00-1111-4222-8333-%012d", n) }
		said := make([][]string, people)
		for n := range people * each {
			p := n % people
			said[p] = append(said[p], fmt.Sprintf("message %d of %d", n/people, p))
			s.Say(person(p), said[p][len(said[p])-1])
		}
		s.DieAfter(1, 700, 1, 300)
		l := w.Ledger()
		stored := `SELECT COUNT(*) FROM messages WHERE role = 'user' AND kind = 'chat'`
		g := w.Start()
		for pause := 1; pause <= 3; pause++ {
			s.StallAfter(1000)
			e2etest.Must(t, s.WaitStalled(t.Context()))
			repeats := pause - 1
			l.Until(stored, people*each+repeats-s.Pending(), g) // all that was handed out
			g.Kill()
			s.Again()
			s.Die()
			g = w.Start()
		}
		l.Until(stored, people*each, g)
		g.Stop()
		s.Say(person(0), "while it was stopped")
		said[0] = append(said[0], "while it was stopped")
		g = w.Start()
		l.Until(stored, people*each+1, g)
		l.Quiet(100*time.Second, g.Log)
		for p := range people {
			if got := l.Transcript(person(p)); !slices.Equal(got, said[p]) {
				t.Errorf("person %d: %d messages are stored, want %d, in their order", p, len(got), len(said[p]))
			}
		}
	})
}

// TestSignalCLI_theRealDaemon: a gateway that is started before signal-cli tries on calmly, says what is wrong while the
// daemon is away and while it has no account, and works as soon as it has one.
func TestSignalCLI_theRealDaemon(t *testing.T) {
	t.Parallel()
	daemon, front := e2etest.SignalCLI(t), e2etest.NewFront(t)
	w := e2etest.NewTown(t, "")
	fake := w.OnSignal()
	w.Env = append(w.Env, "EVERTHREAD_CHANNELS_SIGNAL_API_URL=http://"+front.Address)
	g := w.Launch()
	g.Logged("signal-cli's daemon does not answer; start it")
	said := func(want string) {
		t.Helper()
		if got := strings.Join(w.Doctor()["signal"], "\n"); !strings.Contains(got, want) {
			t.Errorf("doctor said %q, want %q", got, want)
		}
	}
	said("PROBLEM signal-cli's daemon does not answer at " + front.Address)

	front.To(daemon)
	g.Logged("it does not know the account: register or link it with signal-cli")
	said("ok signal-cli's daemon answers at " + front.Address)
	said("PROBLEM signal-cli 0.13.19 was released")
	said("PROBLEM signal-cli does not have the account " + signaltest.Account)
	front.To(daemon) // counts anew
	time.Sleep(5 * time.Second)
	if n, calls := front.Count("/api/v1/events"), front.Count("/api/v1/rpc"); n > 5 || calls > 0 {
		t.Errorf("%d streams and %d calls were tried in five seconds", n, calls)
	}
	if _, text := g.Get("/readyz"); !strings.Contains(text, "register or link it with signal-cli") {
		t.Errorf("readyz says %s", text)
	}

	front.To(fake.URL()) // the account is linked
	fake.Say(e2etest.Grace, "Hello?")
	if got := heardOnSignal(t, fake, e2etest.Grace, 1, g); got[0].Text != "echo: Hello?" {
		t.Errorf("it answers %q", got[0].Text)
	}
	g.Ready()
}

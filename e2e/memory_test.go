//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// result is what the emulator says that a tool said.
func result[T any](t *testing.T, text string) (out T) {
	t.Helper()
	body, ok := strings.CutPrefix(text, "tool said: ")
	if !ok {
		t.Fatalf("no tool was called: %q", text)
	}
	if err := json.Unmarshal([]byte(body), &out); err != nil {
		t.Fatalf("%q: %v", body, err)
	}
	return out
}

type addedJSON struct {
	ID     int64  `json:"id"`
	Status string `json:"status"`
}

type foundJSON struct {
	Results []struct {
		ID      int64  `json:"id"`
		Snippet string `json:"content_snippet"`
		Status  string `json:"status"`
	} `json:"results"`
}

func TestMemoryIsKeptSearchedAndArchived(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newClock(t, database(t))
		g := w.start("EVERTHREAD_SUMMARIES_POST_FORWARD=off")
		const add = `call memory_add {"type":"preference","theme":"food","content":"Ada eats no cucumbers"}`
		first := result[addedJSON](t, w.ask(add).Text)
		again := result[addedJSON](t, w.ask(add).Text)
		if first.Status != "added" || again.Status != "exists" || again.ID != first.ID {
			t.Errorf("got %+v, then %+v", first, again)
		}
		other := result[addedJSON](t, w.ask(`call memory_add {"type":"fact","theme":"house","content":"The spare key hangs in the shed"}`).Text)
		if got := result[foundJSON](t, w.ask(`call memory_search {"query":"cucumber"}`).Text); len(got.Results) != 1 || got.Results[0].ID != first.ID {
			t.Errorf("got %+v", got)
		}
		if got := w.ask("/memory").Text; !strings.Contains(got, "cucumbers") || !strings.Contains(got, "spare key") {
			t.Errorf("got %q", got)
		}
		w.silence(g)
		prompt := w.prompt("hello")
		if !strings.Contains(prompt, "food (1)") || !strings.Contains(prompt, "house (1)") {
			t.Errorf("the prompt does not count themes:\n%s", prompt)
		}
		if strings.Contains(prompt, "cucumber") || strings.Contains(prompt, "spare key") {
			t.Errorf("the prompt holds what is kept in mind:\n%s", prompt)
		}
		w.stranger(t, first.ID)
		if got := w.ask(fmt.Sprintf(`call memory_archive {"item_id":%d}`, first.ID)).Text; !strings.Contains(got, "archived") {
			t.Errorf("got %q", got)
		}
		if got := result[foundJSON](t, w.ask(`call memory_search {"query":"cucumber"}`).Text); len(got.Results) != 0 {
			t.Errorf("got %+v", got)
		}
		if got := result[foundJSON](t, w.ask(`call memory_search {"query":"cucumber","status":"any"}`).Text); len(got.Results) != 1 || got.Results[0].Status != "archived" {
			t.Errorf("got %+v", got)
		}
		if got := w.ask("/memory").Text; strings.Contains(got, "cucumbers") || !strings.Contains(got, "spare key") || !strings.Contains(got, fmt.Sprint(other.ID)) {
			t.Errorf("got %q", got)
		}
	})
}

// silence moves on by two days with other talk between, so that nothing of what was said
// so far stands in a prompt.
func (w *week) silence(g *gateway) {
	w.t.Helper()
	l := w.ledger()
	w.set(w.now().AddDate(0, 0, 1))
	for n := range 32 {
		w.ask(fmt.Sprintf("say %d words", 60+n))
	}
	w.settle(l, g)
	w.set(w.now().AddDate(0, 0, 1))
	l.until(`SELECT COUNT(*) FROM segments WHERE state = 'open'`, 0, g)
}

// prompt has Ada say something and returns what the model saw.
func (w *week) prompt(text string) string {
	w.t.Helper()
	w.ask(text)
	var turns []struct {
		ID int64 `json:"turn_id"`
	}
	must(w.t, json.Unmarshal([]byte(w.mustRun("turns", "list", "--user", "Ada", "--json")), &turns))
	return w.mustRun("turns", "show", fmt.Sprint(turns[0].ID), "--user", "Ada", "--prompt")
}

// stranger has somebody else look for Ada's memory, by every way there is.
func (w *week) stranger(t *testing.T, item int64) {
	t.Helper()
	for n, text := range []string{`call memory_search {"query":"*"}`, `call memory_search {"query":"cucumber key","status":"any"}`,
		fmt.Sprintf(`call memory_get {"item_id":%d}`, item), fmt.Sprintf(`call memory_archive {"item_id":%d}`, item), fmt.Sprint("/memory archive ", item),
		"call memory_list_themes", "/memory", "/memory cucumber", "hello"} {
		w.telegram.Say(bob, text)
		got := w.town.sent(bob, n+1)[n].Text
		if strings.Contains(got, "food") || strings.Contains(got, "cucumbers") || strings.Contains(got, "spare key") || strings.Contains(got, "archived\"") {
			t.Errorf("%s shows a stranger %q", text, got)
		}
	}
}

// A person keeps a message in mind by replying to it, and takes it back for good.
func TestWhatIsRememberedByReplyIsForgottenByReply(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newClock(t, database(t))
		g := w.start()
		const secret = "The vault opens with zanzibar"
		w.ask(secret)
		said := w.next
		w.ask("something else")
		if got := w.reply(said, secret, "/remember"); !strings.Contains(got, secret) {
			t.Fatalf("got %q", got)
		}
		if got := result[foundJSON](t, w.ask(`call memory_search {"query":"vault"}`).Text); len(got.Results) != 1 || got.Results[0].Snippet != secret {
			t.Errorf("got %+v", got)
		}
		l := w.ledger()
		l.until(`SELECT COUNT(*) FROM users WHERE id > 0 AND indexed < last_message`, 0, g)
		if out, ok := w.traces("zanzibar"); ok || !regexp.MustCompile(`(?i)memory|item`).MatchString(out) {
			t.Fatalf("before: %s", out)
		}
		if got := w.reply(said, secret, "/forget"); !strings.Contains(got, "Removed for good") {
			t.Fatalf("got %q", got)
		}
		w.settle(l, g)
		if got := w.ask("/memory").Text; strings.Contains(got, "zanzibar") {
			t.Errorf("got %q", got)
		}
		if got := w.ask(`call memory_search {"query":"*","status":"any"}`).Text; strings.Contains(got, "zanzibar") {
			t.Errorf("got %q", got)
		}
		if n := l.count(`SELECT COUNT(*) FROM messages WHERE role = 'tool' AND body LIKE '%zanzibar%'`); n != 0 {
			t.Errorf("%d results of tools are left", n)
		}
		w.forgetRest(t)
		if out, ok := w.traces("zanzibar"); !ok {
			t.Errorf("after: %s", out)
		}
	})
}

// forgetRest removes what else held the word: the answers of the assistant, which
// are messages of their own.
func (w *week) forgetRest(t *testing.T) {
	t.Helper()
	for _, id := range w.ledger().lines(`SELECT id FROM messages WHERE user_id`+ofChat+` AND body LIKE '%zanzibar%'`, fmt.Sprint(ada)) {
		w.mustRun("forget", "--user", "Ada", "--message", id)
	}
}

// reply has Ada reply to a message of hers and returns the answer.
func (w *week) reply(to int64, quoted, text string) string {
	w.t.Helper()
	w.next++
	m := written(ada, w.next, text)
	m["date"] = w.now().Unix()
	m["reply_to_message"] = written(ada, to, quoted)
	w.telegram.Offer(map[string]any{"message": m})
	return w.receive().Text
}

// traces looks for what is left of a text; ok: nothing is.
func (w *week) traces(text string) (out string, ok bool) {
	w.t.Helper()
	out, err := w.run("forget", "--user", "Ada", "--verify", text)
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		w.t.Fatal(err)
	}
	return out, err == nil
}

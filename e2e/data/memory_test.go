//go:build e2e

package data

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// result returns the emulator's report of a tool result.
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

func TestMemory_keptSearchedAndArchived(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewClock(t, database(t))
		g := w.Start("EVERTHREAD_SUMMARIES_POST_FORWARD=off")
		const add = `call memory_add {"type":"preference","theme":"food","content":"Ada eats no cucumbers"}`
		w.Ask("good morning") // which becomes the day's summary
		first := result[addedJSON](t, w.Ask(add).Text)
		again := result[addedJSON](t, w.Ask(add).Text)
		if first.Status != "added" || again.Status != "exists" || again.ID != first.ID {
			t.Errorf("got %+v, then %+v", first, again)
		}
		other := result[addedJSON](t,
			w.Ask(`call memory_add {"type":"fact","theme":"house","content":"The spare key hangs in the shed"}`).Text)
		if got := result[foundJSON](t, w.Ask(`call memory_search {"query":"cucumber"}`).Text); len(got.Results) != 1 ||
			got.Results[0].ID != first.ID {
			t.Errorf("got %+v", got)
		}
		if got := w.Ask("/memory").Text; !strings.Contains(got, "cucumbers") || !strings.Contains(got, "spare key") {
			t.Errorf("got %q", got)
		}
		w.Silence(g)
		prompt := w.Prompt("hello")
		if !strings.Contains(prompt, "food (1)") || !strings.Contains(prompt, "house (1)") {
			t.Errorf("the prompt does not count themes:\n%s", prompt)
		}
		if strings.Contains(prompt, "cucumber") || strings.Contains(prompt, "spare key") {
			t.Errorf("the prompt contains memory items:\n%s", prompt)
		}
		w.Stranger(t, first.ID)
		if got := w.Ask(fmt.Sprintf(`call memory_archive {"item_id":%d}`, first.ID)).Text; !strings.Contains(got,
			"archived") {
			t.Errorf("got %q", got)
		}
		if got := result[foundJSON](t, w.Ask(`call memory_search {"query":"cucumber"}`).Text); len(got.Results) != 0 {
			t.Errorf("got %+v", got)
		}
		if got := result[foundJSON](t, w.Ask(`call memory_search {"query":"cucumber","status":"any"}`).Text); len(
			got.Results) != 1 || got.Results[0].Status != "archived" {
			t.Errorf("got %+v", got)
		}
		if got := w.Ask("/memory").Text; strings.Contains(got, "cucumbers") || !strings.Contains(got, "spare key") ||
			!strings.Contains(got, fmt.Sprint(other.ID)) {
			t.Errorf("got %q", got)
		}
	})
}

// A person creates a memory item by replying to a message, and deletes it for good.
func TestMemory_rememberAndForgetByReply(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewClock(t, database(t))
		g := w.Start()
		const secret = "The vault opens with zanzibar"
		w.Ask(secret)
		said := w.Next
		w.Ask("something else")
		if got := w.Reply(said, secret, "/remember"); !strings.Contains(got, secret) {
			t.Fatalf("got %q", got)
		}
		if got := result[foundJSON](t, w.Ask(`call memory_search {"query":"vault"}`).Text); len(got.Results) != 1 ||
			got.Results[0].Snippet != secret {
			t.Errorf("got %+v", got)
		}
		l := w.Ledger()
		l.Until(`SELECT COUNT(*) FROM users WHERE id > 0 AND indexed < last_message`, 0, g)
		if out, ok := w.Traces("zanzibar"); ok || !regexp.MustCompile(`(?i)memory|item`).MatchString(out) {
			t.Fatalf("before: %s", out)
		}
		if got := w.Reply(said, secret, "/forget"); !strings.Contains(got, "Removed for good") {
			t.Fatalf("got %q", got)
		}
		w.Settle(l, g)
		if got := w.Ask("/memory").Text; strings.Contains(got, "zanzibar") {
			t.Errorf("got %q", got)
		}
		if got := w.Ask(`call memory_search {"query":"*","status":"any"}`).Text; strings.Contains(got, "zanzibar") {
			t.Errorf("got %q", got)
		}
		if n := l.Count(`SELECT COUNT(*) FROM messages WHERE role = 'tool' AND body LIKE '%zanzibar%'`); n != 0 {
			t.Errorf("%d results of tools are left", n)
		}
		w.ForgetRest(t)
		if out, ok := w.Traces("zanzibar"); !ok {
			t.Errorf("after: %s", out)
		}
	})
}

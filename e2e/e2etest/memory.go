//go:build e2e

package e2etest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// Silence advances the clock by two days with other conversation, so that nothing said so
// far is in a prompt.
func (w *Week) Silence(g *Gateway) {
	w.T.Helper()
	l := w.Ledger()
	w.Set(w.Now().AddDate(0, 0, 1))
	for n := range 32 {
		w.Ask(fmt.Sprintf("say %d words", 60+n))
	}
	w.Settle(l, g)
	w.Set(w.Now().AddDate(0, 0, 1))
	l.Until(`SELECT COUNT(*) FROM segments WHERE state = 'open'`, 0, g)
}

// Prompt sends a message of Ada and returns the model's prompt.
func (w *Week) Prompt(text string) string {
	w.T.Helper()
	w.Ask(text)
	var turns []struct {
		ID int64 `json:"turn_id"`
	}
	Must(w.T, json.Unmarshal([]byte(w.MustRun("turns", "list", "--user", "Ada", "--json")), &turns))
	return w.MustRun("turns", "show", fmt.Sprint(turns[0].ID), "--user", "Ada", "--prompt")
}

// Stranger looks for Ada's memory as somebody else, in every possible way.
func (w *Week) Stranger(t *testing.T, item int64) {
	t.Helper()
	for n, text := range []string{`call memory_search {"query":"*"}`,
		`call memory_search {"query":"cucumber key","status":"any"}`, fmt.Sprintf(`call memory_get {"item_id":%d}`, item),
		fmt.Sprintf(`call memory_archive {"item_id":%d}`, item), fmt.Sprint("/memory archive ", item),
		"call memory_list_themes", "/memory", "/memory cucumber", "hello"} {
		w.Telegram.Say(Bob, text)
		got := w.Town.Sent(Bob, n+1)[n].Text
		if strings.Contains(got, "food") || strings.Contains(got, "cucumbers") || strings.Contains(got, "spare key") ||
			strings.Contains(got, "archived\"") {
			t.Errorf("%s shows a stranger %q", text, got)
		}
	}
}

// ForgetRest removes the other messages with the word: the assistant's answers, which are
// separate messages.
func (w *Week) ForgetRest(t *testing.T) {
	t.Helper()
	for _, id := range w.Ledger().Lines(`SELECT id FROM messages WHERE user_id`+OfChat+` AND body LIKE '%zanzibar%'`,
		fmt.Sprint(Ada)) {
		w.MustRun("forget", "--user", "Ada", "--message", id)
	}
}

// Reply sends Ada's reply to one of her messages and returns the answer.
func (w *Week) Reply(to int64, quoted, text string) string {
	w.T.Helper()
	w.Next++
	m := Written(Ada, w.Next, text)
	m["date"] = w.Now().Unix()
	m["reply_to_message"] = Written(Ada, to, quoted)
	w.Telegram.Offer(map[string]any{"message": m})
	return w.Receive().Text
}

// Traces searches for remains of a text; ok: there are none.
func (w *Week) Traces(text string) (out string, ok bool) {
	w.T.Helper()
	out, err := w.Run("forget", "--user", "Ada", "--verify", text)
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		w.T.Fatal(err)
	}
	return out, err == nil
}

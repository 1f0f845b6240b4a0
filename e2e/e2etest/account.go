//go:build e2e

package e2etest

import (
	"strconv"
	"strings"
	"time"
)

// OpenAccount returns the open question about an account change.
func OpenAccount(l *Ledger) (code string, chat int64) {
	for _, line := range l.Lines(
		`SELECT a.code || ' ' || i.external FROM approvals a JOIN identities i ON i.user_id = a.user_id AND i.id = a.identity_id
		WHERE a.kind = 'account' AND a.state = 'open' AND i.channel = 'telegram' ORDER BY a.asked_at DESC, a.id DESC LIMIT 1`) {
		code, external, _ := strings.Cut(line, " ")
		chat, _ = strconv.ParseInt(external, 10, 64)
		return code, chat
	}
	return "", 0
}

// Agree confirms the pending account change on Telegram.
func (w *Town) Agree(l *Ledger, g *Gateway) {
	w.T.Helper()
	code, chat := OpenAccount(l)
	for deadline := time.Now().Add(Patience); code == "" &&
		time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		code, chat = OpenAccount(l)
	}
	if code == "" {
		w.T.Fatalf("nothing is asked on Telegram\n%s", g.Log)
	}
	n := len(w.Telegram.Sent(chat))
	if sent := w.Telegram.Sent(chat); n == 0 || !strings.Contains(sent[n-1].Markup, code) {
		n++ // the question is being sent
	}
	asked, err := w.Telegram.WaitSent(w.T.Context(), chat, n)
	Must(w.T, err)
	w.Telegram.Press(chat, asked[n-1].ID, "/yes "+code)
	said, err := w.Telegram.WaitSent(w.T.Context(), chat, n+1)
	Must(w.T, err)
	if !strings.Contains(said[n].Text, "Continue in the browser") {
		w.T.Fatalf("after the yes: %q", said[n].Text)
	}
}

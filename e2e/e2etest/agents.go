//go:build e2e

package e2etest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/whatsapp/agent/agenttest"
)

const (
	AdaKey = "key-of-adas-agent-fedcba9876543210"
	Erin   = "user:5555"
	Frank  = "user:6666"
)

// linkCode matches a code that links an address.
var linkCode = regexp.MustCompile(`\b[A-Z2-9]{4}-?[A-Z2-9]{4}\b`)

// Answered waits until an agent has sent n messages, and returns their texts.
func Answered(t *testing.T, s *agenttest.Server, key string, n int, within time.Duration, g *Gateway) []string {
	t.Helper()
	for deadline := time.Now().Add(within); ; time.Sleep(20 * time.Millisecond) {
		sent := s.Sent(key)
		if len(sent) >= n {
			return AgentTexts(sent)
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s has %d messages, want %d\n%s", key, len(sent), n, g.Log)
		}
	}
}

func AgentTexts(ms []agenttest.Message) []string {
	var out []string
	for _, m := range ms {
		out = append(out, m.Text)
	}
	return out
}

// Agents lists the personal agents.
func (w *Town) Agents() []struct {
	ID   int64
	User int64 `json:"user_id"`
	Name string
} {
	w.T.Helper()
	var out []struct {
		ID   int64
		User int64 `json:"user_id"`
		Name string
	}
	text := w.MustRun("users", "agent", "list", "--json")
	Must(w.T, json.Unmarshal([]byte(text), &out))
	if strings.Contains(text, "key-of-") {
		w.T.Errorf("the list shows a key: %s", text)
	}
	return out
}

// TelegramOf links Ada's Telegram with a code from her agent, and continues there.
func (w *Town) TelegramOf(t *testing.T, g *Gateway, s *agenttest.Server) {
	t.Helper()
	s.Say(AdaKey, "/link")
	code := linkCode.FindString(Answered(t, s, AdaKey, 2, 30*time.Second, g)[1])
	w.Telegram.Say(Ada, "/link "+code)
	question := Answered(t, s, AdaKey, 3, 30*time.Second, g)[2]
	if !strings.Contains(question, "wants to connect as you") {
		t.Errorf("asked %q", question)
	}
	s.Say(AdaKey, "yes")
	if got := w.Sent(Ada, 2)[1].Text; !strings.Contains(got, "connected now") {
		t.Errorf("told %q", got)
	}
	w.Telegram.Say(Ada, "and hello from Telegram")
	if got := w.Sent(Ada, 3)[2].Text; got != "echo: and hello from Telegram" {
		t.Errorf("answered %q", got)
	}
}

// Unreadable checks that a secret appears nowhere in the database.
func (w *Town) Unreadable(l *Ledger, secret string) {
	w.T.Helper()
	if rows := l.Lines(`SELECT sealed FROM agent_keys`); len(rows) != 1 || strings.Contains(rows[0], secret) {
		w.T.Errorf("sealed is %q", rows)
	}
	files, err := filepath.Glob(filepath.Join(w.Dir, "everthread.db*"))
	Must(w.T, err)
	for _, f := range files {
		b, err := os.ReadFile(f)
		Must(w.T, err)
		if bytes.Contains(b, []byte(secret)) || bytes.Contains(b, []byte(secret[7:])) {
			w.T.Errorf("the key stands in %s", filepath.Base(f))
		}
	}
}

// Silent waits until a removed key is no longer polled, which takes until the server
// notices the removal.
func (w *Town) Silent(t *testing.T, s *agenttest.Server, g *Gateway) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		if status, body := g.Get("/readyz"); status == http.StatusOK && !strings.Contains(body, "whatsapp_agent:") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the removed agent is still there")
		}
	}
	polls, sent := len(s.Offsets(AdaKey)), len(s.Sent(AdaKey))
	s.Say(AdaKey, "is anybody there?")
	time.Sleep(2 * time.Second) // nothing may arrive, which has no event
	if len(s.Offsets(AdaKey)) != polls || len(s.Sent(AdaKey)) != sent {
		t.Errorf("%d polls and %d messages after the key was removed", len(s.Offsets(AdaKey))-polls, len(s.Sent(AdaKey))-sent)
	}
}

// Health returns the state of each channel according to /readyz.
func (w *Town) Health(g *Gateway) map[string]string {
	w.T.Helper()
	status, body := g.Get("/readyz")
	var out struct{ Channels map[string]string }
	Must(w.T, json.Unmarshal([]byte(body), &out))
	if status != http.StatusOK {
		w.T.Errorf("readyz is %d: %s", status, body)
	}
	return out.Channels
}

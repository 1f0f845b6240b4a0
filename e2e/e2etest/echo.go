//go:build e2e

package e2etest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// EchoService passes texts on; a request for later ones acknowledges earlier ones.
type EchoService struct {
	mu      sync.Mutex
	last    int
	waiting []map[string]any
	Sent    map[string][]string // by receiver
	Keys    map[string]bool
}

func (s *EchoService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer right" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var out any = map[string]string{"name": "echo_bot", "id": "1"}
	switch r.URL.Path {
	case "/updates":
		var after int
		_, _ = fmt.Sscan(r.URL.Query().Get("after"), &after)
		s.waiting = slices.DeleteFunc(s.waiting, func(m map[string]any) bool { return m["id"].(int) <= after })
		out = append([]map[string]any{}, s.waiting...)
	case "/messages":
		var m struct{ To, Text, Key string }
		_ = json.NewDecoder(r.Body).Decode(&m)
		if !s.Keys[m.Key] {
			s.Keys[m.Key], s.Sent[m.To] = true, append(s.Sent[m.To], m.Text)
		}
	}
	_ = json.NewEncoder(w).Encode(out)
}

// Say sends a text of a person, and returns the answer.
func (s *EchoService) Say(t *testing.T, g *Gateway, from, text string) string {
	t.Helper()
	s.mu.Lock()
	before := len(s.Sent[from])
	s.last++
	s.waiting = append(s.waiting, map[string]any{"id": s.last, "from": from, "text": text})
	s.mu.Unlock()
	return s.hear(t, g, from, before)
}

// hear waits for a message after the first n.
func (s *EchoService) hear(t *testing.T, g *Gateway, to string, n int) string {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(
		10 * time.Millisecond) { // the service has no event to wait for
		s.mu.Lock()
		sent := s.Sent[to]
		s.mu.Unlock()
		if len(sent) > n {
			return sent[n]
		}
	}
	t.Fatalf("%s hears nothing\n%s", to, g.Log)
	return ""
}

func Contains(t *testing.T, where, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%s: no %q in\n%s", where, want, text)
		}
	}
}

// UserOf returns the user of an address.
func (w *Town) UserOf(channel, external string) string {
	w.T.Helper()
	return fmt.Sprint(w.Ledger().Count(`SELECT user_id FROM identities WHERE detached = 0 AND channel = '` + channel +
		`' AND external = '` + external + `'`))
}

// MergesEcho merges a person on Telegram with one on the new channel.
func (w *Town) MergesEcho(t *testing.T, g *Gateway, service *EchoService) {
	t.Helper()
	w.Telegram.Say(Ada, "/link")
	code := ShownCode.FindString(w.Sent(Ada, 1)[0].Text)
	service.Say(t, g, "ada", "hello")
	Contains(t, "the question", service.Say(t, g, "ada", "/link "+code), "Is this you, too?")
	Contains(t, "the answer", service.Say(t, g, "ada", "yes"), "I've asked")
	w.Sent(Ada, 2)
	w.Telegram.Say(Ada, "yes")
	Contains(t, "the end", service.hear(t, g, "ada", 3), "one now")
	w.Ledger().Until(`SELECT COUNT(*) FROM merges WHERE phase <> 'done'`, 0, g)
	if one, other := w.UserOf("echo", "ada"), w.UserOf("telegram", fmt.Sprint(Ada)); one != other {
		t.Errorf("the users are %s and %s", one, other)
	}
}

// DeletesEcho deletes a user, who is then a new user when they write again.
func (w *Town) DeletesEcho(t *testing.T, g *Gateway, service *EchoService, user string) {
	t.Helper()
	out := w.MustRun("users", "delete", user, "--yes")
	if regexp.MustCompile(`(?i)\bstill\b`).MatchString(out) {
		t.Errorf("something is left: %s", out)
	}
	service.Say(t, g, "eve", "It is me again")
	if again := w.UserOf("echo", "eve"); again == user {
		t.Errorf("user %s is there again", again)
	}
}

//go:build e2e && goolm

package e2etest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// Unseen checks that no message in a room is in clear text, and that the homeserver has
// none of the words.
func (d *OlmDevice) Unseen(room string, words ...string) {
	d.h.t.Helper()
	for _, e := range d.timeline(room) {
		if e.Type == "m.room.message" {
			d.h.t.Errorf("%s wrote in clear: %v", e.Sender, e.Content)
		}
		raw, err := json.Marshal(e.Content)
		Must(d.h.t, err)
		for _, word := range words {
			if strings.Contains(string(raw), word) {
				d.h.t.Errorf("the homeserver sees %q in %s", word, raw)
			}
		}
	}
}

func (a *Account) Redact(room, event string) {
	a.h.t.Helper()
	path := fmt.Sprintf("/_matrix/client/v3/rooms/%s/redact/%s/r%d", url.PathEscape(room),
		url.PathEscape(event), a.h.txn.Add(1))
	a.h.Call(http.MethodPut, path, a.Token, map[string]any{}, nil)
}

// Verdict waits until doctor's finding about encryption is the expected one.
func (w *Town) Verdict(t *testing.T, g *Gateway, mark, want string) {
	t.Helper()
	var said []string
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		said = w.Doctor()["matrix"]
		if slices.ContainsFunc(said, func(line string) bool {
			return strings.HasPrefix(line, mark) &&
				strings.Contains(line, want)
		}) {
			return
		}
	}
	t.Fatalf("doctor says no %s with %q: %q\n%s", mark, want, said, g.Log)
}

// Asked returns texts without at most so many requests to send a message again.
func Asked(texts []string, most int) []string {
	return slices.DeleteFunc(slices.Clone(texts), func(s string) bool {
		if most == 0 || s != "I could not read your last message. Please send it again." {
			return false
		}
		most--
		return true
	})
}

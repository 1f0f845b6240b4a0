//go:build e2e

package e2etest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// AddOwner makes Ada the owner with the code in the log, and returns when her first
// message on Telegram is answered.
func (w *Town) AddOwner(g *Gateway) {
	w.T.Helper()
	w.Telegram.Say(Ada, "/start "+g.Logged(`/start ([A-Z0-9]{10})`)[1])
	w.Sent(Ada, 1)
}

// APIKey creates a key for a user; empty: the owner.
func (w *Town) APIKey(user, scopes string) (key, id string) {
	w.T.Helper()
	args := []string{"apikey", "create", "--name", "a program", "--scope", scopes, "--json"}
	if user != "" {
		args = append(args, "--user", user)
	}
	var k struct {
		ID  int64
		Key string
	}
	Must(w.T, json.Unmarshal([]byte(w.MustRun(args...)), &k))
	return k.Key, fmt.Sprint(k.ID)
}

// Request is one request of a program with a key, and its answer.
func (g *Gateway) Request(method, path, key string, body any) (int, string) {
	g.t.Helper()
	var in []byte
	switch b := body.(type) {
	case nil:
	case []byte:
		in = b
	default:
		var err error
		in, err = json.Marshal(b)
		Must(g.t, err)
	}
	r, err := http.NewRequestWithContext(g.t.Context(), method, g.URL+path, bytes.NewReader(in))
	Must(g.t, err)
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	Must(g.t, err)
	defer resp.Body.Close()
	var out bytes.Buffer
	_, err = out.ReadFrom(resp.Body)
	Must(g.t, err)
	return resp.StatusCode, out.String()
}

// Compare compares a client's output with a file in testdata.
func (w *Town) Compare(name string, got map[string]any) {
	w.T.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	Must(w.T, err)
	var wanted map[string]any
	Must(w.T, json.Unmarshal(b, &wanted))
	if diff := cmp.Diff(wanted, got); diff != "" {
		w.T.Errorf("the client saw (-want +got):\n%s", diff)
	}
	b, err = json.MarshalIndent(got, "", "  ")
	Must(w.T, err)
	w.Artefact(name, append(b, '\n'))
}

// Artefact stores a file for inspection.
func (w *Town) Artefact(name string, data []byte) {
	w.T.Helper()
	path := filepath.Join("artefacts", strings.ReplaceAll(w.T.Name(), "/", "-"), name)
	Must(w.T, os.MkdirAll(filepath.Dir(path), 0o755))
	Must(w.T, os.WriteFile(path, data, 0o644))
}

//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// node runs one of the programs in peers, which use the clients of others, and
// reads what it prints: JSON. env is environment besides of the test's own.
func node(t *testing.T, env []string, into any, args ...string) {
	t.Helper()
	if os.Getenv("EVERTHREAD_TEST_AIMOCK") == "" {
		t.Skip("EVERTHREAD_TEST_AIMOCK is not set; `make test` installs the clients")
	}
	cmd := exec.CommandContext(t.Context(), "node", args...)
	var out, errs bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), env...), &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v\n%s%s", args[0], err, &out, &errs)
	}
	if err := json.Unmarshal(out.Bytes(), into); err != nil {
		t.Fatalf("%v: %v\n%s", args[0], err, &out)
	}
}

// addOwner has Ada be the owner, by the code of the log, and returns when her
// first message on Telegram is answered.
func (w *town) addOwner(g *gateway) {
	w.t.Helper()
	w.telegram.Say(ada, "/start "+g.logged(`/start ([A-Z0-9]{10})`)[1])
	w.sent(ada, 1)
}

// apiKey makes a key for somebody, the owner if user is empty.
func (w *town) apiKey(user, scopes string) (key, id string) {
	w.t.Helper()
	args := []string{"apikey", "create", "--name", "a program", "--scope", scopes, "--json"}
	if user != "" {
		args = append(args, "--user", user)
	}
	var k struct {
		ID  int64
		Key string
	}
	must(w.t, json.Unmarshal([]byte(w.mustRun(args...)), &k))
	return k.Key, fmt.Sprint(k.ID)
}

// request is one request of a program with a key, and its answer.
func (g *gateway) request(method, path, key string, body any) (int, string) {
	g.t.Helper()
	var in []byte
	switch b := body.(type) {
	case nil:
	case []byte:
		in = b
	default:
		var err error
		in, err = json.Marshal(b)
		must(g.t, err)
	}
	r, err := http.NewRequestWithContext(g.t.Context(), method, g.URL+path, bytes.NewReader(in))
	must(g.t, err)
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	must(g.t, err)
	defer resp.Body.Close()
	var out bytes.Buffer
	_, err = out.ReadFrom(resp.Body)
	must(g.t, err)
	return resp.StatusCode, out.String()
}

// The official client of OpenAI finds everything as it is used to, and all of it
// is in the one conversation, once.
func TestTheClientOfOpenAISharesTheConversation(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newTown(t, database(t))
		w.useModel(startModel(t, 15*time.Millisecond))
		w.env = append(w.env, newVectorServer(t).env("embedded")...)
		g := w.start()
		w.addOwner(g)
		key, _ := w.apiKey("", "chat")
		var seen map[string]any
		node(t, nil, &seen, "peers/openai.mjs", g.URL, key)
		l := w.ledger()
		l.quiet(20*time.Second, g.log)
		w.compare("openai-client.json", seen)

		said := l.lines(`SELECT body FROM messages WHERE role = 'user' AND kind = 'chat' ORDER BY id`)
		want := []string{"hello from the SDK", "say 30 words", "say 12 words", `call weather {"city":"Oslo"}`, `call clock {"zone":"UTC"}`,
			"[photo]\nwhat is this?", "say 60 words", "only once, please"}
		if diff := cmp.Diff(want, said); diff != "" {
			t.Errorf("stored (-want +got):\n%s", diff)
		}
		if got := l.lines(`SELECT body FROM messages WHERE role = 'assistant' AND body LIKE 'word1 %word60'`); len(got) != 1 {
			t.Errorf("the answer that was not read to its end is stored %d times\n%s", len(got), g.log.tail())
		}
		if n := l.count(`SELECT COUNT(*) FROM turns WHERE state <> 'done'`); n != 0 {
			t.Errorf("%d turns are not done: %v", n, l.lines(`SELECT state || ' ' || error FROM turns`))
		}
		w.telegram.Say(ada, "say 3 words")
		w.sent(ada, 2)
		if got := l.count(`SELECT COUNT(*) FROM users WHERE id > 0`); got != 1 {
			t.Errorf("the person is %d users", got)
		}
	})
}

// compare holds what a client saw against what it should see: a file in testdata.
func (w *town) compare(name string, got map[string]any) {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	must(w.t, err)
	var wanted map[string]any
	must(w.t, json.Unmarshal(b, &wanted))
	if diff := cmp.Diff(wanted, got); diff != "" {
		w.t.Errorf("the client saw (-want +got):\n%s", diff)
	}
	b, err = json.MarshalIndent(got, "", "  ")
	must(w.t, err)
	w.artefact(name, append(b, '\n'))
}

// artefact keeps a file to be looked at.
func (w *town) artefact(name string, data []byte) {
	w.t.Helper()
	path := filepath.Join("artefacts", strings.ReplaceAll(w.t.Name(), "/", "-"), name)
	must(w.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(w.t, os.WriteFile(path, data, 0o644))
}

// What Open WebUI asks for itself is answered, and enters no conversation; its
// chats are the conversation.
func TestOpenWebUIsOwnQuestionsStayOutOfTheConversation(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../adapters/openai/testdata/tasks/*.json")
	must(t, err)
	if len(files) < 5 {
		t.Fatalf("there are only %v", files)
	}
	w := newTown(t, "")
	g := w.start()
	w.addOwner(g)
	key, _ := w.apiKey("", "chat")
	chats := 0
	for _, f := range files {
		body, err := os.ReadFile(f)
		must(t, err)
		status, out := g.request(http.MethodPost, "/v1/chat/completions", key, body)
		if status != http.StatusOK || !strings.Contains(out, "echo: ") && !strings.Contains(out, "data: ") {
			t.Errorf("%s: %d %.300s", filepath.Base(f), status, out)
		}
		if strings.HasPrefix(filepath.Base(f), "chat-") {
			chats++
		}
	}
	l := w.ledger()
	stored := l.lines(`SELECT body FROM messages WHERE role = 'user' AND kind = 'chat' ORDER BY id`)
	if len(stored) != chats {
		t.Errorf("%d of %d requests are conversation, stored are %.100q", chats, len(files), stored)
	}
}

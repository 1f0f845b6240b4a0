//go:build e2e

package channels

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everthread/everthread/e2e/e2etest"
)

// node runs one of the programs in peers, which use third-party clients, and decodes their
// JSON output. env is added to the test's environment.
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

// The official client of OpenAI works as usual, and all of its messages are in the one
// conversation, once.
func TestOpenAI_clientSharesTheConversation(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		w.UseModel(e2etest.StartModel(t, 15*time.Millisecond))
		w.Env = append(w.Env, e2etest.NewVectorServer(t).Env("embedded")...)
		g := w.Start()
		w.AddOwner(g)
		key, _ := w.APIKey("", "chat")
		var seen map[string]any
		node(t, nil, &seen, "../peers/openai.mjs", g.URL, key)
		l := w.Ledger()
		l.Quiet(20*time.Second, g.Log)
		w.Compare("openai-client.json", seen)

		said := l.Lines(`SELECT body FROM messages WHERE role = 'user' AND kind = 'chat' ORDER BY id`)
		want := []string{"hello from the SDK", "say 30 words", "say 12 words", `call weather {"city":"Oslo"}`,
			`call clock {"zone":"UTC"}`, "[photo]\nwhat is this?", "say 60 words", "only once, please"}
		if diff := cmp.Diff(want, said); diff != "" {
			t.Errorf("stored (-want +got):\n%s", diff)
		}
		if got := l.Lines(`SELECT body FROM messages WHERE role = 'assistant' AND body LIKE 'word1 %word60'`); len(got) != 1 {
			t.Errorf("the answer that was not read to its end is stored %d times\n%s", len(got), g.Log.Tail())
		}
		if n := l.Count(`SELECT COUNT(*) FROM turns WHERE state <> 'done'`); n != 0 {
			t.Errorf("%d turns are not done: %v", n, l.Lines(`SELECT state || ' ' || error FROM turns`))
		}
		w.Telegram.Say(e2etest.Ada, "say 3 words")
		w.Sent(e2etest.Ada, 2)
		if got := l.Count(`SELECT COUNT(*) FROM users WHERE id > 0`); got != 1 {
			t.Errorf("the person is %d users", got)
		}
	})
}

// Open WebUI's own requests are answered, and enter no conversation; its chats are the
// conversation.
func TestOpenWebUI_ownQuestionsStayOut(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../adapters/openai/testdata/tasks/*.json")
	e2etest.Must(t, err)
	if len(files) < 5 {
		t.Fatalf("got files %v", files)
	}
	w := e2etest.NewTown(t, "")
	g := w.Start()
	w.AddOwner(g)
	key, _ := w.APIKey("", "chat")
	chats := 0
	for _, f := range files {
		body, err := os.ReadFile(f)
		e2etest.Must(t, err)
		status, out := g.Request(http.MethodPost, "/v1/chat/completions", key, body)
		if status != http.StatusOK || !strings.Contains(out, "echo: ") && !strings.Contains(out, "data: ") {
			t.Errorf("%s: %d %.300s", filepath.Base(f), status, out)
		}
		if strings.HasPrefix(filepath.Base(f), "chat-") {
			chats++
		}
	}
	l := w.Ledger()
	stored := l.Lines(`SELECT body FROM messages WHERE role = 'user' AND kind = 'chat' ORDER BY id`)
	if len(stored) != chats {
		t.Errorf("%d of %d requests are conversation, stored are %.100q", chats, len(files), stored)
	}
}

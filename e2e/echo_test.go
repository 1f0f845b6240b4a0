//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// echoProgram is the program with one more channel, built when it is first wanted: the
// package echo, and in cmd its line and its import. Nothing else is changed.
func echoProgram(t *testing.T) string {
	t.Helper()
	buildEcho.Do(func() { withEcho(t, filepath.Join(filepath.Dir(program), "with-echo")) })
	return filepath.Join(filepath.Dir(program), "with-echo")
}

var buildEcho sync.Once

func withEcho(t *testing.T, path string) {
	t.Helper()
	root, err := filepath.Abs("..")
	must(t, err)
	registry := filepath.Join(root, "cmd", "everthread", "channels.go")
	text, err := os.ReadFile(registry)
	must(t, err)
	added := string(text)
	for _, line := range [][2]string{
		{"\t\"github.com/everthread/everthread/adapters/matrix\"\n",
			"\t\"github.com/everthread/everthread/adapters/echo\"\n"},
		{"\t\tmatrix.Default(),\n", "\t\techo.Default(),\n"},
	} {
		if strings.Count(added, line[0]) != 1 {
			t.Fatalf("the registry has not one line %q", line[0])
		}
		added = strings.Replace(added, line[0], line[1]+line[0], 1)
	}
	dir := t.TempDir()
	patched := filepath.Join(dir, "channels.go")
	must(t, os.WriteFile(patched, []byte(added), 0o600))
	overlay := map[string]map[string]string{"Replace": {registry: patched}}
	for _, file := range []string{"channel.go", "config.go"} {
		overlay["Replace"][filepath.Join(root, "adapters", "echo", file)] = filepath.Join(root, "e2e", "testdata",
			"echo", file)
	}
	list, err := json.Marshal(overlay)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "overlay.json"), list, 0o600))
	build := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-tags", "goolm crashpoints",
		"-o", path, "../cmd/everthread")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
}

// echoService passes texts on; whatever is asked for after them is acknowledged.
type echoService struct {
	mu      sync.Mutex
	last    int
	waiting []map[string]any
	sent    map[string][]string // by receiver
	keys    map[string]bool
}

func newEchoService(t *testing.T) (*echoService, string) {
	t.Helper()
	s := &echoService{sent: map[string][]string{}, keys: map[string]bool{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, server.URL
}

func (s *echoService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
		if !s.keys[m.Key] {
			s.keys[m.Key], s.sent[m.To] = true, append(s.sent[m.To], m.Text)
		}
	}
	_ = json.NewEncoder(w).Encode(out)
}

// say has somebody write, and returns the answer.
func (s *echoService) say(t *testing.T, g *gateway, from, text string) string {
	t.Helper()
	s.mu.Lock()
	before := len(s.sent[from])
	s.last++
	s.waiting = append(s.waiting, map[string]any{"id": s.last, "from": from, "text": text})
	s.mu.Unlock()
	return s.hear(t, g, from, before)
}

// hear waits for a message after the first n.
func (s *echoService) hear(t *testing.T, g *gateway, to string, n int) string {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) { // the service has no event to wait for
		s.mu.Lock()
		sent := s.sent[to]
		s.mu.Unlock()
		if len(sent) > n {
			return sent[n]
		}
	}
	t.Fatalf("%s hears nothing\n%s", to, g.log)
	return ""
}

func contains(t *testing.T, where, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%s: no %q in\n%s", where, want, text)
		}
	}
}

// TestAChannelIsAPackageAndOneLine adds a channel as docs/adding-a-channel.md says, and
// walks through every door.
func TestAChannelIsAPackageAndOneLine(t *testing.T) {
	t.Parallel()
	service, address := newEchoService(t)
	w := newTown(t, "")
	w.program = echoProgram(t)
	w.env = append(w.env, "EVERTHREAD_LLM_PROVIDER=demo", "EVERTHREAD_CHANNELS_ECHO_TOKEN=right",
		"EVERTHREAD_CHANNELS_ECHO_API_URL="+address)

	contains(t, "the example", w.mustRun("config", "example"), "  echo:\n    token: \"\"")
	_, err := (&town{t: t, program: w.program, dir: w.dir, env: append(slices.Clone(w.env),
		"EVERTHREAD_CHANNELS_ECHO_TOKN=x")}).run("config", "check")
	contains(t, "a misspelt key", fmt.Sprint(err), "did you mean EVERTHREAD_CHANNELS_ECHO_TOKEN?")
	contains(t, "doctor", strings.Join(w.doctor()["echo"], "\n"), "ok the account is echo_bot")
	contains(t, "doctor of a wrong token", strings.Join(w.doctor("EVERTHREAD_CHANNELS_ECHO_TOKEN=wrong")["echo"],
		"\n"), "PROBLEM", "channels.echo.token")

	g := w.start()
	contains(t, "an answer", service.say(t, g, "eve", "I like trains"), "I like trains")
	_, ready := g.get("/readyz")
	contains(t, "readiness", ready, `"echo":"ok"`)
	_, metrics := g.get("/metrics")
	contains(t, "metrics", metrics, `channel="echo"`)

	eve := w.userOf("echo", "eve")
	v := g.newGuest(w.signInCode(eve))
	_, page := v.get("/settings")
	contains(t, "the settings", page, "Echo &amp; Sons")
	_, page = v.post("/settings/channels/link", url.Values{})
	contains(t, "the page of links", page, "https://echo.example/echo_bot?text=%2Flink%20", "echo_bot")
	_, page = g.newGuest(w.signInCode("owner")).get("/admin")
	contains(t, "the owner's page", page, "Echo &amp; Sons")

	w.mergesEcho(t, g, service)
	w.deletesEcho(t, g, service, eve)
}

// userOf is the user who has an address.
func (w *town) userOf(channel, external string) string {
	w.t.Helper()
	return fmt.Sprint(w.ledger().count(`SELECT user_id FROM identities WHERE detached = 0 AND channel = '` + channel + `' AND external = '` + external + `'`))
}

// mergesEcho makes one user of a person on Telegram and one on the new channel.
func (w *town) mergesEcho(t *testing.T, g *gateway, service *echoService) {
	t.Helper()
	w.telegram.Say(ada, "/link")
	code := shownCode.FindString(w.sent(ada, 1)[0].Text)
	service.say(t, g, "ada", "hello")
	contains(t, "the question", service.say(t, g, "ada", "/link "+code), "Is this you, too?")
	contains(t, "the answer", service.say(t, g, "ada", "yes"), "I have asked")
	w.sent(ada, 2)
	w.telegram.Say(ada, "yes")
	contains(t, "the end", service.hear(t, g, "ada", 3), "one now")
	w.ledger().until(`SELECT COUNT(*) FROM moves WHERE phase <> 'done'`, 0, g)
	if one, other := w.userOf("echo", "ada"), w.userOf("telegram", fmt.Sprint(ada)); one != other {
		t.Errorf("the users are %s and %s", one, other)
	}
}

// deletesEcho removes a user; who writes from there again is somebody new.
func (w *town) deletesEcho(t *testing.T, g *gateway, service *echoService, user string) {
	t.Helper()
	out := w.mustRun("users", "delete", user, "--yes")
	if regexp.MustCompile(`(?i)\bstill\b`).MatchString(out) {
		t.Errorf("something is left: %s", out)
	}
	service.say(t, g, "eve", "It is me again")
	if again := w.userOf("echo", "eve"); again == user {
		t.Errorf("user %s is there again", again)
	}
}

// TestTheWizardSetsUpAChannelThatItDoesNotKnow does so from a file of answers.
func TestTheWizardSetsUpAChannelThatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	_, address := newEchoService(t)
	w := &town{t: t, program: echoProgram(t), dir: t.TempDir()}
	answers := filepath.Join(t.TempDir(), "answers")
	must(t, os.WriteFile(answers, []byte("provider: demo\nmore: echo\necho_url: "+address+"\necho_token: wrong\n"),
		0o600))
	_, err := w.run("init", "--answers", answers, "--wait", "0s", "--json")
	contains(t, "a wrong token", fmt.Sprint(err), "Echo refuses the token (echo answers 401 Unauthorized)")
	must(t, os.WriteFile(answers, []byte("provider: demo\nmore: echo\necho_url: "+address+"\necho_token: right\n"),
		0o600))
	contains(t, "init", w.mustRun("init", "--answers", answers, "--wait", "0s", "--json"), `"bot": "echo_bot"`)
	file, err := os.ReadFile(filepath.Join(w.dir, "everthread.yaml"))
	must(t, err)
	contains(t, "the configuration", string(file), "  # echo_bot\n  echo:\n    token: \"right\"\n")
	contains(t, "doctor", strings.Join(w.doctor()["echo"], "\n"), "ok the account is echo_bot")
}

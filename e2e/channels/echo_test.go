//go:build e2e

package channels

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// echoProgram is the program with one more channel, built on first use: the package echo,
// and in cmd its line and its import. Nothing else is changed.
func echoProgram(t *testing.T) string {
	t.Helper()
	buildEcho.Do(func() { withEcho(t, filepath.Join(filepath.Dir(e2etest.Program), "with-echo")) })
	return filepath.Join(filepath.Dir(e2etest.Program), "with-echo")
}

var buildEcho sync.Once

func withEcho(t *testing.T, path string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	e2etest.Must(t, err)
	registry := filepath.Join(root, "cmd", "everthread", "channels.go")
	text, err := os.ReadFile(registry)
	e2etest.Must(t, err)
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
	e2etest.Must(t, os.WriteFile(patched, []byte(added), 0o600))
	overlay := map[string]map[string]string{"Replace": {registry: patched}}
	for _, file := range []string{"channel.go", "config.go"} {
		overlay["Replace"][filepath.Join(root, "adapters", "echo", file)] = filepath.Join(root, "e2e", "channels", "testdata",
			"echo", file)
	}
	list, err := json.Marshal(overlay)
	e2etest.Must(t, err)
	e2etest.Must(t, os.WriteFile(filepath.Join(dir, "overlay.json"), list, 0o600))
	build := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-tags", "goolm crashpoints",
		"-o", path, "../../cmd/everthread")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
}

func newEchoService(t *testing.T) (*e2etest.EchoService, string) {
	t.Helper()
	s := &e2etest.EchoService{Sent: map[string][]string{}, Keys: map[string]bool{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, server.URL
}

// TestChannels_onePackageAndOneLine adds a channel as docs/adding-a-channel.md says, and
// uses every interface.
func TestChannels_onePackageAndOneLine(t *testing.T) {
	t.Parallel()
	service, address := newEchoService(t)
	w := e2etest.NewTown(t, "")
	w.Program = echoProgram(t)
	w.Env = append(w.Env, "EVERTHREAD_LLM_PROVIDER=demo", "EVERTHREAD_CHANNELS_ECHO_TOKEN=right",
		"EVERTHREAD_CHANNELS_ECHO_API_URL="+address)

	e2etest.Contains(t, "the example", w.MustRun("config", "example"), "  echo:\n    token: \"\"")
	_, err := (&e2etest.Town{T: t, Program: w.Program, Dir: w.Dir, Env: append(slices.Clone(w.Env),
		"EVERTHREAD_CHANNELS_ECHO_TOKN=x")}).Run("config", "check")
	e2etest.Contains(t, "a misspelt key", fmt.Sprint(err), "did you mean EVERTHREAD_CHANNELS_ECHO_TOKEN?")
	e2etest.Contains(t, "doctor", strings.Join(w.Doctor()["echo"], "\n"), "ok the account is echo_bot")
	e2etest.Contains(t, "doctor of a wrong token", strings.Join(w.Doctor("EVERTHREAD_CHANNELS_ECHO_TOKEN=wrong")["echo"],
		"\n"), "PROBLEM", "channels.echo.token")

	g := w.Start()
	e2etest.Contains(t, "an answer", service.Say(t, g, "eve", "I like trains"), "I like trains")
	_, ready := g.Get("/readyz")
	e2etest.Contains(t, "readiness", ready, `"echo":"ok"`)
	_, metrics := g.Get("/metrics")
	e2etest.Contains(t, "metrics", metrics, `channel="echo"`)

	eve := w.UserOf("echo", "eve")
	v := g.NewGuest(w.SignInCode(eve))
	_, page := v.Get("/settings/channels")
	e2etest.Contains(t, "the settings", page, "Echo &amp; Sons")
	_, page = v.Post("/settings/channels/link", url.Values{})
	e2etest.Contains(t, "the page of links", page, "https://echo.example/echo_bot?text=%2Flink%20", "echo_bot")
	_, page = g.NewGuest(w.SignInCode("owner")).Get("/admin/channels")
	e2etest.Contains(t, "the owner's page", page, "Echo &amp; Sons")

	w.MergesEcho(t, g, service)
	w.DeletesEcho(t, g, service, eve)
}

// TestWizard_setsUpAnUnknownChannel does so from a file of answers.
func TestWizard_setsUpAnUnknownChannel(t *testing.T) {
	t.Parallel()
	_, address := newEchoService(t)
	w := &e2etest.Town{T: t, Program: echoProgram(t), Dir: t.TempDir()}
	answers := filepath.Join(t.TempDir(), "answers")
	e2etest.Must(t, os.WriteFile(answers, []byte("provider: demo\nmore: echo\necho_url: "+address+"\necho_token: wrong\n"),
		0o600))
	_, err := w.Run("init", "--answers", answers, "--wait", "0s", "--json")
	e2etest.Contains(t, "a wrong token", fmt.Sprint(err), "Echo refuses the token (echo answers 401 Unauthorized)")
	e2etest.Must(t, os.WriteFile(answers, []byte("provider: demo\nmore: echo\necho_url: "+address+"\necho_token: right\n"),
		0o600))
	e2etest.Contains(t, "init", w.MustRun("init", "--answers", answers, "--wait", "0s", "--json"), `"bot": "echo_bot"`)
	file, err := os.ReadFile(filepath.Join(w.Dir, "everthread.yaml"))
	e2etest.Must(t, err)
	e2etest.Contains(t, "the configuration", string(file), "  # echo_bot\n  echo:\n    token: \"right\"\n")
	e2etest.Contains(t, "doctor", strings.Join(w.Doctor()["echo"], "\n"), "ok the account is echo_bot")
}

//go:build e2e

package road

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
	"github.com/everthread/everthread/e2e/e2etest"
)

// newWizard returns a wizard whose gateway is not configured yet: its environment has only the chat
// service and a free address.
func newWizard(t *testing.T) *e2etest.Wizard { return e2etest.NewWizardOn(t, "") }

func TestInit_emptyFolderToAnsweredMessage(t *testing.T) {
	t.Parallel()
	w := newWizard(t)
	w.Ask()
	w.Answer(`Which model should answer`, w.Model+"/v1")
	w.Answer(`Its key`, "none")
	w.Answer(`Which of its models`, "emulated")
	w.Until(`emulated answers`)
	w.Answer(`token of your Telegram bot`, telegramtest.Token)
	w.Until(`The bot is @test_bot`)
	w.Answer(`Anything else`, "")
	w.Come()
	if took := time.Since(w.Began); w.Answers > 6 {
		t.Errorf("it took %d answers", w.Answers)
	} else {
		t.Logf("%d answers and %s from an empty folder to an answered message", w.Answers, took.Round(time.Millisecond))
	}
	w.Answer(`How should it run`, "user")
	e2etest.Must(t, w.End())
	unit, err := os.ReadFile(filepath.Join(w.Dir, ".config/systemd/user/everthread.service"))
	e2etest.Must(t, err)
	if !strings.Contains(string(unit), "ExecStart="+e2etest.Program+" serve --config "+filepath.Join(w.Dir,
		"everthread.yaml")) {
		t.Errorf("the unit is\n%s", unit)
	}
	file, err := os.ReadFile(filepath.Join(w.Dir, "everthread.yaml")) // a service has no environment of ours
	e2etest.Must(t, err)
	for _, v := range w.Env {
		if at, found := strings.CutPrefix(v, "EVERTHREAD_HTTP_LISTEN="); found &&
			!strings.Contains(string(file), "listen: \""+at+"\"") {
			t.Errorf("the address %s is not in\n%s", at, file)
		}
	}
	info, err := os.Stat(filepath.Join(w.Dir, "everthread.yaml"))
	e2etest.Must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the configuration is %s", info.Mode())
	}
	w.Env = slices.DeleteFunc(w.Env, func(v string) bool {
		return strings.HasPrefix(v,
			"EVERTHREAD_HTTP_LISTEN=")
	}) // start finds one
	w.Start()
	w.Telegram.Say(e2etest.Ada, "still there?")
	if got := w.Sent(e2etest.Ada, 3)[2].Text; got != "echo: still there?" {
		t.Errorf("got %q", got)
	}
}

func TestInit_onATerminal(t *testing.T) {
	t.Parallel()
	w := newWizard(t)
	w.AskOnScreen()
	w.Answer(`Which model should answer`, w.Model+"/v2\x7f1") // a typing error, corrected
	w.Answer(`Its key`, "a-key-that-is-secret")
	w.Answer(`Which of its models`, "emulated")
	w.Until(`emulated answers`)
	w.Answer(`token of your Telegram bot`, telegramtest.Token)
	w.Until(`The bot is @test_bot`)
	w.Answer(`Anything else`, "")
	w.Come()
	if w.Answers > 6 {
		t.Errorf("it took %d answers", w.Answers)
	}
	if !strings.Contains(w.Out.String(), "▀") {
		t.Error("it shows no QR code")
	}
	w.Until(`How should it run`)
	w.Press("\x03")
	e2etest.Must(t, w.End())
	w.ShowsNoSecret(telegramtest.Token, "a-key-that-is-secret")
}

// TestInit_linksSignalByACode shows a QR code, and goes on when a phone has scanned it.
func TestInit_linksSignalByACode(t *testing.T) {
	t.Parallel()
	w := newWizard(t)
	s := w.OnSignal()
	s.Unlink()
	w.Env = w.Env[:len(w.Env)-3] // the wizard asks
	w.AskOnScreen("--wait", "0s")
	w.Answer(`Which model should answer`, "demo")
	w.Answer(`token of your Telegram bot`, "")
	w.Answer(`Anything else`, "signal")
	w.Answer(`number on Signal`, "scan")
	w.Answer(`address of signal-cli`, s.URL())
	w.Until(`Linked devices(?s:.*)▀`)
	s.Scan(s.Code())
	w.Until(`Signal accepts the account \+4930000001`)
	w.Answer(`Anything else`, "")
	w.Until(`everthread\.yaml is written`)
	file, err := os.ReadFile(filepath.Join(w.Dir, "everthread.yaml"))
	if err != nil || !strings.Contains(string(file), `account: "+4930000001"`) || !strings.Contains(string(file), s.URL()) {
		t.Errorf("%v\n%s", err, file)
	}
	w.Until(`How should it run`)
	w.Press("\x03")
	e2etest.Must(t, w.End())
}

// TestInit_losesNothingTyped checks that input typed or pasted before its question answers it in turn,
// however often a question is repeated, and that one Ctrl-C ends everything.
func TestInit_losesNothingTyped(t *testing.T) {
	t.Parallel()
	w := newWizard(t)
	w.Telegram.Fail("getMe", 1, telegramtest.Failure{Code: http.StatusUnauthorized})
	w.AskOnScreen("--wait", "1h")
	w.Until(`Which model should answer`)
	const wrong = "123456:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	w.Press(strings.Join([]string{"http://127.0.0.1:1", "pasted-too-early", w.Model + "/v1", "none", "emulated",
		"no token", wrong, "none either", telegramtest.Token, "no", ""}, "\r"))
	w.Until(`127\.0\.0\.1:1 does not answer`)
	w.Until(`emulated answers`)
	w.Until(`That is not a token(?s:.*)rejects the token(?s:.*)That is not a token(?s:.*)The bot is @test_bot`)
	w.Until(`everthread\.yaml is written`)
	w.Until(`Waiting for you`)
	w.ShowsNoSecret("pasted-too-early", wrong, telegramtest.Token)
	w.EndsAtCtrlC()
	file, err := os.ReadFile(filepath.Join(w.Dir, "everthread.yaml"))
	if err != nil || !strings.Contains(string(file), telegramtest.Token) {
		t.Errorf("it wrote %s, %v", file, err)
	}
}

// TestInit_ctrlCEndsAQuestion checks that Ctrl-C ends a question even if lines were typed before it.
func TestInit_ctrlCEndsAQuestion(t *testing.T) {
	t.Parallel()
	for _, typed := range []string{"", "ope", "demo\rno token\r", "openai\rsk-half"} {
		w := newWizard(t)
		w.AskOnScreen()
		w.Until(`Which model should answer`)
		w.Press(typed)
		if err := w.EndsAtCtrlC(); err == nil {
			t.Error("Ctrl-C exits with success")
		}
		w.Until(`everthread: Stopped\. Nothing was written`)
		if got := w.Files(); got != "" {
			t.Errorf("Ctrl-C left %s", got)
		}
	}
}

func TestInit_tellsWrongAnswers(t *testing.T) {
	t.Parallel()
	w := newWizard(t)
	refusing := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter,
		_ *http.Request) {
		rw.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(refusing.Close)
	w.Ask()
	w.Answer(`Which model`, "nonsense")
	w.Until(`neither in the list nor a web address`)
	w.Answer(`Which model`, "http://127.0.0.1:1/v1")
	w.Answer(`Its key`, "")
	w.Until(`127\.0\.0\.1:1 does not answer .*; check the address`)
	w.Answer(`Which model`, refusing.URL)
	w.Answer(`Its key`, "wrong-key")
	w.Until(`rejects this key`)
	w.Until(`Its key`)
	e2etest.Must(t, w.Cmd.Process.Signal(syscall.SIGINT))
	if err := w.End(); err == nil {
		t.Error("Ctrl-C exits with success")
	}
	w.Until(`Nothing was written`)
	if got := w.Files(); got != "" {
		t.Errorf("Ctrl-C left %s", got)
	}
	if strings.Contains(w.Out.String(), "wrong-key") {
		t.Error("a key is shown")
	}
	w.Ask()
	w.Answer(`Which model`, "demo")
	w.Answer(`token`, "123")
	w.Until(`That is not a token`)
	w.Telegram.Fail("getMe", 1, telegramtest.Failure{Code: http.StatusUnauthorized})
	w.Answer(`token`, "123:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	w.Until(`telegram rejects the token`)
	w.Answer(`token`, "")
	w.Answer(`Anything else`, "")
	w.Until(`everthread.yaml is written`)
	w.Answer(`How should it run`, "no")
	e2etest.Must(t, w.End())
}

func TestInit_losesNoConfiguration(t *testing.T) {
	t.Parallel()
	w := newWizard(t)
	file, answers := filepath.Join(w.Dir, "everthread.yaml"), filepath.Join(t.TempDir(), "answers")
	e2etest.Must(t, os.WriteFile(file, []byte("log: {level: warn}\n"), 0o600))
	e2etest.Must(t, os.WriteFile(answers, []byte("# all of it\nprovider: demo\ntelegram: "+telegramtest.Token+"\n"),
		0o600))
	out, err := w.Run("init", "--answers", answers, "--json")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(err.Error(), "--force") {
		t.Fatalf("got %s, %v", out, err)
	}
	for range 2 {
		var said struct {
			File, Backup, Bot, Link string
			Answers                 int
			Answered                bool
		}
		e2etest.Must(t, json.Unmarshal([]byte(w.MustRun("init", "--answers", answers, "--force", "--json", "--wait", "0s")),
			&said))
		if said.File != file || said.Bot != "test_bot" || !strings.HasPrefix(said.Link, "https://t.me/test_bot?start=") ||
			said.Answered {
			t.Errorf("got %+v", said)
		}
	}
	old, err := os.ReadFile(file + ".bak")
	e2etest.Must(t, err)
	if string(old) != "log: {level: warn}\n" ||
		w.Files() != "data everthread.yaml everthread.yaml.bak everthread.yaml.bak.1" {
		t.Errorf("the old one is %q of %s", old, w.Files())
	}
	w.Ask()
	w.Answer(`already exists`, "")
	if err := w.End(); err == nil {
		t.Error("the wizard continued")
	}
	ctx, cancel := context.WithTimeout(t.Context(), e2etest.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, e2etest.Program, "init", "--force")
	cmd.Dir, cmd.Env = w.Dir, append([]string{"HOME=" + w.Dir}, w.Env...)
	if b, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(b), "the input ended") {
		t.Errorf("without an input: %v, %s", err, b)
	}
}

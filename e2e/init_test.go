//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
)

// wizard is `everthread init` in an empty folder, and who answers it.
type wizard struct {
	*town
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *logBuffer
	seen    int    // of out
	enter   string // the key
	answers int
	began   time.Time
}

// newWizard is a town whose gateway is not configured yet: its environment tells
// only where the chat service is, and a free address.
func newWizard(t *testing.T) *wizard { return newWizardOn(t, "") }

func newWizardOn(t *testing.T, database string) *wizard {
	w := &wizard{town: newTown(t, database), began: time.Now()}
	w.env = []string{"EVERTHREAD_CHANNELS_TELEGRAM_API_URL=" + w.telegram.URL(), "EVERTHREAD_HTTP_LISTEN=" + freeAddress(t),
		"EVERTHREAD_TURN_DEBOUNCE=0s", "EVERTHREAD_CHANNELS_TELEGRAM_RATE_PER_CHAT=0", "LANG=C.UTF-8", "TZ=Europe/Paris", "TERM=xterm-256color"}
	return w
}

// ask starts the wizard, in lines.
func (w *wizard) ask(args ...string) {
	w.t.Helper()
	w.prepare(args...)
	in, err := w.cmd.StdinPipe()
	must(w.t, err)
	w.in, w.enter, w.cmd.Stdout, w.cmd.Stderr = in, "\n", w.out, w.out
	must(w.t, w.cmd.Start())
}

// askOnScreen starts the wizard on a terminal.
func (w *wizard) askOnScreen(args ...string) {
	w.t.Helper()
	w.prepare(args...)
	screen, err := pty.StartWithSize(w.cmd, &pty.Winsize{Rows: 40, Cols: 120})
	must(w.t, err)
	w.in, w.enter = screen, "\r"
	go func() { _, _ = io.Copy(w.out, screen) }() // until the terminal is closed
	w.t.Cleanup(func() { _ = screen.Close() })
}

// press presses keys, all at once.
func (w *wizard) press(keys string) {
	w.t.Helper()
	_, err := io.WriteString(w.in, keys)
	must(w.t, err)
}

func (w *wizard) prepare(args ...string) {
	w.cmd = exec.Command(program, append([]string{"init"}, args...)...)
	w.cmd.Dir = w.dir
	w.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir}, w.env...)
	w.out, w.seen = &logBuffer{}, 0
	w.t.Cleanup(func() { _ = w.cmd.Process.Kill() })
}

// until waits for something to be said that was not said before.
func (w *wizard) until(pattern string) []string {
	w.t.Helper()
	re := regexp.MustCompile(pattern)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		rest := w.out.String()[w.seen:]
		if at := re.FindStringSubmatchIndex(rest); at != nil {
			found := re.FindStringSubmatch(rest)
			w.seen += at[1]
			return found
		}
	}
	w.t.Fatalf("it does not say %s\n%s", pattern, w.out)
	return nil
}

// answer waits for a question and answers it.
func (w *wizard) answer(question, with string) {
	w.t.Helper()
	w.until(question)
	w.answers++
	w.until(`> `)
	w.press(with + w.enter)
}

// end waits for the wizard to end.
func (w *wizard) end() error {
	ended := make(chan error, 1)
	go func() { ended <- w.cmd.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(patience):
		w.t.Fatalf("it does not end\n%s", w.out)
		return nil
	}
}

// files lists what is in the folder.
func (w *wizard) files() string {
	entries, err := os.ReadDir(w.dir)
	must(w.t, err)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return strings.Join(out, " ")
}

// pair has the owner open the link.
func (w *wizard) pair() {
	w.t.Helper()
	code := w.until(`https://t\.me/test_bot\?start=(\w+)`)[1]
	w.telegram.Say(ada, "/start "+code)
	w.until(`That was you, on telegram`)
	w.until(`It was answered: `)
}

// come has the owner open the link, and talk.
func (w *wizard) come() {
	w.t.Helper()
	w.pair()
	w.telegram.Say(ada, "hello")
	if got := w.sent(ada, 2)[1].Text; got != "echo: hello" {
		w.t.Errorf("got %q", got)
	}
}

func TestFromAnEmptyFolderToAnAnsweredMessage(t *testing.T) {
	t.Parallel()
	w := newWizard(t)
	w.ask()
	w.answer(`Which model is to answer`, w.model+"/v1")
	w.answer(`Its key`, "none")
	w.answer(`Which of its models`, "emulated")
	w.until(`emulated answers`)
	w.answer(`token of your Telegram bot`, telegramtest.Token)
	w.until(`The bot is @test_bot`)
	w.answer(`Anything else`, "")
	w.come()
	if took := time.Since(w.began); w.answers > 6 {
		t.Errorf("it took %d answers", w.answers)
	} else {
		t.Logf("%d answers and %s from an empty folder to an answered message", w.answers, took.Round(time.Millisecond))
	}
	w.answer(`How is it to run`, "user")
	must(t, w.end())
	unit, err := os.ReadFile(filepath.Join(w.dir, ".config/systemd/user/everthread.service"))
	must(t, err)
	if !strings.Contains(string(unit), "ExecStart="+program+" serve --config "+filepath.Join(w.dir, "everthread.yaml")) {
		t.Errorf("the unit is\n%s", unit)
	}
	info, err := os.Stat(filepath.Join(w.dir, "everthread.yaml"))
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the configuration is %s", info.Mode())
	}
	w.env = slices.DeleteFunc(w.env, func(v string) bool { return strings.HasPrefix(v, "EVERTHREAD_HTTP_LISTEN=") }) // start finds one
	w.start()
	w.telegram.Say(ada, "still there?")
	if got := w.sent(ada, 3)[2].Text; got != "echo: still there?" {
		t.Errorf("got %q", got)
	}
}

func TestTheSameOnATerminal(t *testing.T) {
	t.Parallel()
	w := newWizard(t)
	w.askOnScreen()
	w.answer(`Which model is to answer`, w.model+"/v2\x7f1") // a slip, mended
	w.answer(`Its key`, "a-key-that-is-secret")
	w.answer(`Which of its models`, "emulated")
	w.until(`emulated answers`)
	w.answer(`token of your Telegram bot`, telegramtest.Token)
	w.until(`The bot is @test_bot`)
	w.answer(`Anything else`, "")
	w.come()
	if w.answers > 6 {
		t.Errorf("it took %d answers", w.answers)
	}
	if !strings.Contains(w.out.String(), "▀") {
		t.Error("it shows no QR code")
	}
	w.until(`How is it to run`)
	w.press("\x03")
	must(t, w.end())
	w.showsNoSecret(telegramtest.Token, "a-key-that-is-secret")
}

// showsNoSecret: nothing of what was typed to hidden questions is on the screen.
func (w *wizard) showsNoSecret(secrets ...string) {
	w.t.Helper()
	for _, secret := range secrets {
		if strings.Contains(w.out.String(), secret) {
			w.t.Errorf("it shows %s", secret)
		}
	}
}

// TestNothingTypedIsLost: what is typed or pasted before it is asked for answers in
// its turn, however often a question is asked again, and one Ctrl-C ends it all.
func TestNothingTypedIsLost(t *testing.T) {
	t.Parallel()
	w := newWizard(t)
	w.telegram.Fail("getMe", 1, telegramtest.Failure{Code: http.StatusUnauthorized})
	w.askOnScreen("--wait", "1h")
	w.until(`Which model is to answer`)
	const wrong = "123456:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	w.press(strings.Join([]string{"http://127.0.0.1:1", "pasted-too-early", w.model + "/v1", "none", "emulated", "no token", wrong, "none either", telegramtest.Token, "no", ""}, "\r"))
	w.until(`127\.0\.0\.1:1 does not answer`)
	w.until(`emulated answers`)
	w.until(`That is no token(?s:.*)refuses the token(?s:.*)That is no token(?s:.*)The bot is @test_bot`)
	w.until(`everthread\.yaml is written`)
	w.until(`Waiting for you`)
	w.showsNoSecret("pasted-too-early", wrong, telegramtest.Token)
	w.endsAtCtrlC()
	file, err := os.ReadFile(filepath.Join(w.dir, "everthread.yaml"))
	if err != nil || !strings.Contains(string(file), telegramtest.Token) {
		t.Errorf("it wrote %s, %v", file, err)
	}
}

// TestCtrlCEndsAQuestion also where lines were typed before it.
func TestCtrlCEndsAQuestion(t *testing.T) {
	t.Parallel()
	for _, typed := range []string{"", "ope", "demo\rno token\r", "openai\rsk-half"} {
		w := newWizard(t)
		w.askOnScreen()
		w.until(`Which model is to answer`)
		w.press(typed)
		if err := w.endsAtCtrlC(); err == nil {
			t.Error("Ctrl-C is no success")
		}
		w.until(`everthread: Stopped\. Nothing was written`)
		if got := w.files(); got != "" {
			t.Errorf("Ctrl-C left %s", got)
		}
	}
}

// endsAtCtrlC presses Ctrl-C once.
func (w *wizard) endsAtCtrlC() error {
	w.t.Helper()
	pressed := time.Now()
	w.press("\x03")
	err := w.end()
	if took := time.Since(pressed); took > 5*time.Second {
		w.t.Errorf("it ended after %s", took)
	}
	return err
}

func TestWrongAnswersAreToldInASentence(t *testing.T) {
	t.Parallel()
	w := newWizard(t)
	refusing := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusUnauthorized) }))
	t.Cleanup(refusing.Close)
	w.ask()
	w.answer(`Which model`, "nonsense")
	w.until(`neither in the list nor a web address`)
	w.answer(`Which model`, "http://127.0.0.1:1/v1")
	w.answer(`Its key`, "")
	w.until(`127\.0\.0\.1:1 does not answer .*; check the address`)
	w.answer(`Which model`, refusing.URL)
	w.answer(`Its key`, "wrong-key")
	w.until(`does not take this key`)
	w.until(`Its key`)
	must(t, w.cmd.Process.Signal(syscall.SIGINT))
	if err := w.end(); err == nil {
		t.Error("Ctrl-C is no success")
	}
	w.until(`Nothing was written`)
	if got := w.files(); got != "" {
		t.Errorf("Ctrl-C left %s", got)
	}
	if strings.Contains(w.out.String(), "wrong-key") {
		t.Error("a key is shown")
	}
	w.ask()
	w.answer(`Which model`, "demo")
	w.answer(`token`, "123")
	w.until(`That is no token`)
	w.telegram.Fail("getMe", 1, telegramtest.Failure{Code: http.StatusUnauthorized})
	w.answer(`token`, "123:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	w.until(`telegram refuses the token`)
	w.answer(`token`, "")
	w.answer(`Anything else`, "")
	w.until(`everthread.yaml is written`)
	w.answer(`How is it to run`, "no")
	must(t, w.end())
}

func TestAConfigurationIsNeverLost(t *testing.T) {
	t.Parallel()
	w := newWizard(t)
	file, answers := filepath.Join(w.dir, "everthread.yaml"), filepath.Join(t.TempDir(), "answers")
	must(t, os.WriteFile(file, []byte("log: {level: warn}\n"), 0o600))
	must(t, os.WriteFile(answers, []byte("# all of it\nprovider: demo\ntelegram: "+telegramtest.Token+"\n"), 0o600))
	out, err := w.run("init", "--answers", answers, "--json")
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
		must(t, json.Unmarshal([]byte(w.mustRun("init", "--answers", answers, "--force", "--json", "--wait", "0s")), &said))
		if said.File != file || said.Bot != "test_bot" || !strings.HasPrefix(said.Link, "https://t.me/test_bot?start=") || said.Answered {
			t.Errorf("got %+v", said)
		}
	}
	old, err := os.ReadFile(file + ".bak")
	must(t, err)
	if string(old) != "log: {level: warn}\n" || w.files() != "data everthread.yaml everthread.yaml.bak everthread.yaml.bak.1" {
		t.Errorf("the old one is %q of %s", old, w.files())
	}
	w.ask()
	w.answer(`is there already`, "")
	if err := w.end(); err == nil {
		t.Error("it went on")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "init", "--force")
	cmd.Dir, cmd.Env = w.dir, append([]string{"HOME=" + w.dir}, w.env...)
	if b, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(b), "the input ended") {
		t.Errorf("without an input: %v, %s", err, b)
	}
}

//go:build e2e

package e2etest

import (
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

// Wizard is `everthread init` in an empty folder, with scripted answers.
type Wizard struct {
	*Town
	Cmd     *exec.Cmd
	in      io.WriteCloser
	Out     *logBuffer
	seen    int    // of out
	enter   string // the key
	Answers int
	Began   time.Time
}

func NewWizardOn(t *testing.T, database string) *Wizard {
	w := &Wizard{Town: NewTown(t, database), Began: time.Now()}
	w.Env = []string{"EVERTHREAD_CHANNELS_TELEGRAM_API_URL=" + w.Telegram.URL(),
		"EVERTHREAD_HTTP_LISTEN=" + FreeAddress(t), "EVERTHREAD_TURN_DEBOUNCE=0s",
		"EVERTHREAD_CHANNELS_TELEGRAM_RATE_PER_CHAT=0", "LANG=C.UTF-8", "TZ=Europe/Paris", "TERM=xterm-256color"}
	return w
}

// Ask starts the wizard, in lines.
func (w *Wizard) Ask(args ...string) {
	w.T.Helper()
	w.prepare(args...)
	in, err := w.Cmd.StdinPipe()
	Must(w.T, err)
	w.in, w.enter, w.Cmd.Stdout, w.Cmd.Stderr = in, "\n", w.Out, w.Out
	Must(w.T, w.Cmd.Start())
}

// AskOnScreen starts the wizard on a terminal.
func (w *Wizard) AskOnScreen(args ...string) {
	w.T.Helper()
	w.prepare(args...)
	screen, err := pty.StartWithSize(w.Cmd, &pty.Winsize{Rows: 40, Cols: 120})
	Must(w.T, err)
	w.in, w.enter = screen, "\r"
	go func() { _, _ = io.Copy(w.Out, screen) }() // until the terminal is closed
	w.T.Cleanup(func() { _ = screen.Close() })
}

// Press sends keys without pauses.
func (w *Wizard) Press(keys string) {
	w.T.Helper()
	_, err := io.WriteString(w.in, keys)
	Must(w.T, err)
}

func (w *Wizard) prepare(args ...string) {
	w.Cmd = exec.Command(Program, append([]string{"init"}, args...)...)
	w.Cmd.Dir = w.Dir
	w.Cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.Dir}, w.Env...)
	w.Out, w.seen = &logBuffer{}, 0
	w.T.Cleanup(func() { _ = w.Cmd.Process.Kill() })
}

// Until waits for new output.
func (w *Wizard) Until(pattern string) []string {
	w.T.Helper()
	re := regexp.MustCompile(pattern)
	for deadline := time.Now().Add(Patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		rest := w.Out.String()[w.seen:]
		if at := re.FindStringSubmatchIndex(rest); at != nil {
			found := re.FindStringSubmatch(rest)
			w.seen += at[1]
			return found
		}
	}
	w.T.Fatalf("it does not say %s\n%s", pattern, w.Out)
	return nil
}

// Answer waits for a question and answers it.
func (w *Wizard) Answer(question, with string) {
	w.T.Helper()
	w.Until(question)
	w.Answers++
	w.Until(`> `)
	w.Press(with + w.enter)
}

// End waits for the wizard to end.
func (w *Wizard) End() error {
	ended := make(chan error, 1)
	go func() { ended <- w.Cmd.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(Patience):
		w.T.Fatalf("it does not end\n%s", w.Out)
		return nil
	}
}

// Files lists the files in the folder.
func (w *Wizard) Files() string {
	entries, err := os.ReadDir(w.Dir)
	Must(w.T, err)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return strings.Join(out, " ")
}

// Pair opens the link as the owner.
func (w *Wizard) Pair() {
	w.T.Helper()
	code := w.Until(`https://t\.me/test_bot\?start=(\w+)`)[1]
	w.Telegram.Say(Ada, "/start "+code)
	w.Until(`That was you, on Telegram`)
	w.Until(`The answer was: `)
}

// Come opens the link as the owner, and talks.
func (w *Wizard) Come() {
	w.T.Helper()
	w.Pair()
	w.Telegram.Say(Ada, "hello")
	if got := w.Sent(Ada, 2)[1].Text; got != "echo: hello" {
		w.T.Errorf("got %q", got)
	}
}

// showsNoSecret checks that answers to hidden questions are not on the screen.
func (w *Wizard) ShowsNoSecret(secrets ...string) {
	w.T.Helper()
	for _, secret := range secrets {
		if strings.Contains(w.Out.String(), secret) {
			w.T.Errorf("it shows %s", secret)
		}
	}
}

// EndsAtCtrlC presses Ctrl-C once.
func (w *Wizard) EndsAtCtrlC() error {
	w.T.Helper()
	pressed := time.Now()
	w.Press("\x03")
	err := w.End()
	if took := time.Since(pressed); took > 5*time.Second {
		w.T.Errorf("it ended after %s", took)
	}
	return err
}

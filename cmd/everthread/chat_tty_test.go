//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/everthread/everthread/core/job"
)

// keyboard is a person at a pseudo-terminal that a command runs on.
type keyboard struct {
	t    *testing.T
	ptmx *os.File
	cmd  *exec.Cmd
	done chan error

	mu      sync.Mutex
	seen    bytes.Buffer
	read    int // of seen, by see
	changed chan struct{}
}

// sitDown starts everthread with args on a pseudo-terminal, in a folder of its own.
func sitDown(t *testing.T, dir string, environ []string, args ...string) *keyboard {
	t.Helper()
	ptmx, tty := openPTY(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	k := &keyboard{t: t, ptmx: ptmx, done: make(chan error, 1), changed: make(chan struct{}, 1)}
	k.cmd = exec.Command(self, args...)
	k.cmd.Args[0] = "everthread"
	k.cmd.Dir, k.cmd.Env = dir, append([]string{"PATH=" + os.Getenv("PATH"), "TERM=xterm", "NO_COLOR=1",
		"GORACE=" + noSleep}, environ...)
	k.cmd.Stdin, k.cmd.Stdout, k.cmd.Stderr = tty, tty, tty
	k.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := k.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	go k.watch()
	go func() { k.done <- k.cmd.Wait() }()
	t.Cleanup(func() { _ = k.cmd.Process.Kill() })
	return k
}

func openPTY(t *testing.T) (ptmx, tty *os.File) {
	t.Helper()
	ptmx, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ptmx.Close() })
	n, err := unix.IoctlGetInt(int(ptmx.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(ptmx.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return ptmx, tty
}

// watch collects what appears on the screen.
func (k *keyboard) watch() {
	b := make([]byte, 4096)
	for {
		n, err := k.ptmx.Read(b)
		k.mu.Lock()
		k.seen.Write(b[:n])
		k.mu.Unlock()
		select {
		case k.changed <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// see waits for a text after the one that it saw last.
func (k *keyboard) see(text string) {
	k.t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		k.mu.Lock()
		rest := k.seen.String()[k.read:]
		if i := strings.Index(rest, text); i >= 0 {
			k.read += i + len(text)
			k.mu.Unlock()
			return
		}
		k.mu.Unlock()
		select {
		case <-k.changed:
		case <-deadline:
			k.t.Fatalf("waited for %q, the screen has %q", text, rest)
		}
	}
}

// screen returns everything that appeared so far.
func (k *keyboard) screen() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.seen.String()
}

func (k *keyboard) press(keys string) {
	k.t.Helper()
	if _, err := io.WriteString(k.ptmx, keys); err != nil {
		k.t.Fatal(err)
	}
}

// ends waits for the command to end without an error.
func (k *keyboard) ends() {
	k.t.Helper()
	select {
	case err := <-k.done:
		if err != nil {
			k.t.Errorf("ended with %v; the screen has %q", err, k.screen())
		}
	case <-time.After(20 * time.Second):
		k.t.Fatalf("does not end; the screen has %q", k.screen())
	}
}

func TestChat_atATerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k := sitDown(t, dir, nil, "chat")
	k.see("You are talking as Owner. /help lists the commands, Ctrl-D leaves.")
	k.see("> ")
	k.press("I like trains\r")
	k.see("I heard “I like trains”. Ask me about it later.")
	k.see("> ")
	k.press("\x1b[200~two\rlines\x1b[201~\r")
	k.see("I heard “two lines”")
	k.see("> ")
	k.press("\x04")
	k.ends()

	k = sitDown(t, dir, nil, "chat")
	k.see("— Today —")
	k.see("> I like trains")
	k.see("I heard “I like trains”")
	k.see("You are talking as Owner")
	k.see("> ")
	k.press("\x03") // nothing is being written: it leaves
	k.ends()
}

// TestChat_endsWithItsAddress: whatever takes the terminal's address away ends the chat, which says so. The next chat
// connects it again.
func TestChat_endsWithItsAddress(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		keys     string // typed in the chat
		args     string // run beside it, before the keys
		farewell string // from the assistant
	}{
		"unlinked here":          {"/unlink yes\r", "", "Disconnected:"},
		"unlinked by its number": {"/unlink 1 yes\r", "", "Disconnected:"},
		"with words after it":    {"/unlink yes\rimportant words 4711\r", "", "Disconnected:"},
		"the user is deleted":    {"hello\r", "users delete Ben --yes", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, chat := t.TempDir(), []string{"chat"}
			if c.args != "" {
				runsOnce(t, dir, "migrate", "up")
				runsOnce(t, dir, "users", "add", "Ben")
				chat = append(chat, "--user", "Ben")
			}
			k := sitDown(t, dir, nil, chat...)
			k.see("> ")
			if c.args != "" {
				runsOnce(t, dir, strings.Fields(c.args)...)
			}
			k.press(c.keys)
			k.see(c.farewell)
			k.see("This terminal is no longer connected to the conversation. `everthread chat` connects it again.")
			k.ends()
			if log, err := os.ReadFile(filepath.Join(dir, "data", "chat.log")); err != nil ||
				strings.Contains(string(log), "look for answers") {
				t.Errorf("%v, the log has %s", err, log)
			}
			k = sitDown(t, dir, nil, "chat")
			k.see("> ")
			k.press("back\r")
			k.see("I heard “back”")
			k.see("> ")
			k.press("\x04")
			k.ends()
		})
	}
}

// runsOnce runs a command to its end.
func runsOnce(t *testing.T, dir string, args ...string) {
	t.Helper()
	k := sitDown(t, dir, nil, args...)
	k.ends()
}

// TestChat_ctrlCStopsTheAnswer: the first Ctrl-C stops the answer, the second leaves.
func TestChat_ctrlCStopsTheAnswer(t *testing.T) {
	t.Parallel()
	model := httptest.NewServer(http.HandlerFunc(talkForEver))
	defer model.Close()
	k := sitDown(t, t.TempDir(), []string{"EVERTHREAD_LLM_PROVIDER=openai", "EVERTHREAD_LLM_MODEL=m",
		"EVERTHREAD_LLM_BASE_URL=" + model.URL + "/v1"}, "chat")
	k.see("> ")
	k.press("tell me everything\r")
	k.see("word 5 ")
	k.press("\x03")
	k.see("Stopped.")
	k.see("> ")
	k.press("again\r")
	k.see("word 5 ")
	k.press("\x03")
	k.see("Stopped.")
	k.see("> ")
	k.press("\x04")
	k.ends()
}

// talkForEver is a model that never stops.
func talkForEver(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	for i := 0; r.Context().Err() == nil; i++ {
		fmt.Fprintf(w,
			"data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word %d \"}}]}\n\n", i)
		w.(http.Flusher).Flush()
		job.Wait(r.Context(), 20*time.Millisecond)
	}
}

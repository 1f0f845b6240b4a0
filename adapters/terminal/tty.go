package terminal

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"
)

// TTY is a terminal with a line editor and a history. It is in raw mode only while a line
// is read, so that Ctrl-C is a signal while an answer is written. Output during a read
// appears above the line.
type TTY struct {
	in   *os.File
	out  io.Writer
	edit *term.Terminal

	mu     sync.Mutex
	cooked *term.State // state to restore; nil outside raw mode
	held   []byte      // incomplete line of output during a read
}

// Open returns the line editor of a terminal. The caller must close it.
func Open(in *os.File, out io.Writer, prompt string) *TTY {
	both := struct {
		io.Reader
		io.Writer
	}{in, out}
	return &TTY{in: in, out: out, edit: term.NewTerminal(both, prompt)}
}

// ReadLine reads a line, or several if they are pasted. Ctrl-C and Ctrl-D are io.EOF.
func (t *TTY) ReadLine() (string, error) {
	if err := t.raw(); err != nil {
		return "", err
	}
	defer t.Close()
	var pasted []string
	for {
		line, err := t.edit.ReadLine()
		pasted = append(pasted, line)
		if !errors.Is(err, term.ErrPasteIndicator) {
			return strings.Join(pasted, "\n"), err
		}
	}
}

func (t *TTY) raw() (err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cooked, err = term.MakeRaw(int(t.in.Fd()))
	if err != nil {
		return err
	}
	fit(t.edit, int(t.in.Fd()))
	t.edit.SetBracketedPasteMode(true)
	return nil
}

// fit makes an editor wrap lines at the width of the terminal instead of at 80.
func fit(edit *term.Terminal, fd int) {
	if width, height, err := term.GetSize(fd); err == nil && width > 0 {
		_ = edit.SetSize(width, height) // it fails only for a width of 0
	}
}

// Close restores the terminal's mode, and prints held output.
func (t *TTY) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cooked == nil {
		return nil
	}
	t.edit.SetBracketedPasteMode(false)
	err := term.Restore(int(t.in.Fd()), t.cooked)
	t.cooked = nil
	held := t.held
	t.held = nil
	_, werr := t.out.Write(held)
	return errors.Join(err, werr)
}

// Write prints p. During a read it prints complete lines above the typed one.
func (t *TTY) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cooked == nil {
		return t.out.Write(p)
	}
	t.held = append(t.held, p...)
	end := bytes.LastIndexByte(t.held, '\n') + 1
	if _, err := t.edit.Write(t.held[:end]); err != nil {
		return 0, err
	}
	t.held = append([]byte(nil), t.held[end:]...)
	return len(p), nil
}

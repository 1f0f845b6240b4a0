package terminal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/term"
)

// Keyboard is a terminal that asks questions. It is raw until it is closed, and one goroutine reads it all the time:
// what is typed or pasted before its question is asked answers it, and Ctrl-C counts at any time. The terminal echoes
// nothing, so that a secret is not seen either if it is typed early.
type Keyboard struct {
	edit   *term.Terminal
	typed  chan []byte
	rest   []byte // of typed, for Read
	closed chan struct{}
	close  func()
}

// OpenKeyboard takes over a terminal until it is closed. Ctrl-C closes it, then calls interrupt.
func OpenKeyboard(in *os.File, out io.Writer, interrupt func()) (*Keyboard, error) {
	fd := int(in.Fd())
	cooked, err := term.MakeRaw(fd)
	if err != nil {
		return nil, fmt.Errorf("take over the terminal: %w", err)
	}
	const chunks = 1024
	k := &Keyboard{typed: make(chan []byte, chunks), closed: make(chan struct{})}
	k.close = sync.OnceFunc(func() {
		_ = term.Restore(fd, cooked) // the terminal went away
		close(k.closed)
	})
	k.edit = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{typedAhead{k}, out}, "")
	fit(k.edit, fd)
	go k.listen(in, interrupt)
	return k, nil
}

// ctrlC is the byte of Ctrl-C in a raw terminal.
const ctrlC = 3

// listen passes on what is typed, until Ctrl-C or the end.
func (k *Keyboard) listen(in io.Reader, interrupt func()) {
	defer close(k.typed)
	for {
		chunk := make([]byte, 4096)
		n, err := in.Read(chunk)
		if slices.Contains(chunk[:n], ctrlC) {
			k.Close()
			interrupt()
			return
		}
		if err != nil {
			return
		}
		select {
		case k.typed <- chunk[:n]:
		case <-k.closed:
			return
		}
	}
}

// typedAhead is what was typed to a keyboard and not read yet.
type typedAhead struct{ *Keyboard }

// Read reads what was typed.
func (t typedAhead) Read(p []byte) (int, error) {
	if len(t.rest) == 0 {
		select {
		case <-t.closed:
			return 0, io.EOF
		case t.rest = <-t.typed:
		}
	}
	n := copy(p, t.rest)
	if t.rest = t.rest[n:]; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// Close gives the terminal back. Nothing is read any more.
func (k *Keyboard) Close() { k.close() }

// Write shows text, with the line ends of a raw terminal.
func (k *Keyboard) Write(p []byte) (int, error) { return k.edit.Write(p) }

// ReadLine returns the next line that is typed. Ctrl-D on an empty one is io.EOF.
func (k *Keyboard) ReadLine(ctx context.Context, prompt string, secret bool) (line string, err error) {
	defer context.AfterFunc(ctx, k.Close)()
	if secret {
		line, err = k.edit.ReadPassword(prompt)
	} else {
		k.edit.SetPrompt(prompt)
		line, err = k.edit.ReadLine()
		k.edit.SetPrompt("")
	}
	if err == nil || errors.Is(err, term.ErrPasteIndicator) {
		return line, ctx.Err()
	}
	fmt.Fprintln(k) // what follows has a line of its own
	select {
	case <-k.closed: // interrupt is being called
		<-ctx.Done()
		return "", ctx.Err()
	default:
		return "", err
	}
}

// Hide keeps a terminal from showing what is typed, until show is called.
func Hide(f *os.File) (show func()) {
	fd := int(f.Fd())
	was, err := term.GetState(fd)
	if err != nil || noEcho(fd) != nil {
		return func() {}
	}
	return func() { _ = term.Restore(fd, was) }
}

// TTY is a terminal with a line editor and a history. It is in raw mode only while a line is read, so that Ctrl-C is a
// signal while an answer is written. Output during a read appears above the line.
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

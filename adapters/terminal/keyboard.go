package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"golang.org/x/term"
)

// Keyboard is a terminal that asks questions. It is raw until it is closed, and one
// goroutine reads it all the time: what is typed or pasted before its question is asked
// answers it, and Ctrl-C counts at any time. The terminal echoes nothing, so that a secret
// is not seen either if it is typed early.
type Keyboard struct {
	edit   *term.Terminal
	typed  chan []byte
	rest   []byte // of typed, for Read
	closed chan struct{}
	close  func()
}

// OpenKeyboard takes over a terminal until it is closed. Ctrl-C closes it, then
// calls interrupt.
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

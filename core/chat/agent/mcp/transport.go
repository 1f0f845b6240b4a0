package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// mostBytes bounds one message of a server. A longer one ends the connection.
const mostBytes = 4 << 20

var errFlood = errors.New("the server sent more than 4 MiB at once; ask it for less")

// transport returns the transport to the server; why returns its error, if any.
func (l *link) transport() (t sdk.Transport, why func() error) {
	if l.server.Command != "" {
		p := &program{server: l.server}
		return p, p.take
	}
	limited := &limits{next: l.http.Transport, headers: l.server.Headers}
	if l.access != nil {
		limited.next = &bearer{next: l.http.Transport, access: l.access, fault: &limited.fault}
	}
	client := *l.http
	client.Transport = limited
	client.CheckRedirect = func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // headers are for this server only
	}
	return &sdk.StreamableClientTransport{Endpoint: l.server.URL, HTTPClient: &client, MaxRetries: -1,
		DisableStandaloneSSE: true, MaxEventSize: mostBytes}, limited.take
}

// fault holds the first error until it is taken.
type fault struct{ first atomic.Pointer[error] }

func (f *fault) set(err error) { f.first.CompareAndSwap(nil, &err) }

func (f *fault) take() error {
	if err := f.first.Swap(nil); err != nil {
		return *err
	}
	return nil
}

// limits is a RoundTripper that adds headers and bounds response bodies.
type limits struct {
	fault
	next    http.RoundTripper
	headers map[string]string
}

// RoundTrip implements http.RoundTripper.
func (l *limits) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for name, value := range l.headers {
		req.Header.Set(name, value)
	}
	resp, err := l.next.RoundTrip(req)
	if err == nil {
		resp.Body = &bounded{ReadCloser: resp.Body, left: mostBytes, fault: &l.fault}
	}
	return resp, err
}

// bounded is a reader that fails after mostBytes of one message. Messages of a program are
// lines, so the count starts over after each; an HTTP response is one message.
type bounded struct {
	io.ReadCloser
	left  int
	lines bool
	fault *fault
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.left -= n
	if b.lines {
		if at := bytes.LastIndexByte(p[:n], '\n'); at >= 0 {
			b.left = mostBytes - (n - at - 1)
		}
	}
	if b.left < 0 {
		b.fault.set(errFlood)
		return 0, errFlood
	}
	return n, err
}

// program is the transport of a server that we start.
type program struct {
	fault
	server Server
}

// Connect starts the program. The program ends when the connection is closed.
func (p *program) Connect(ctx context.Context) (sdk.Connection, error) {
	cmd := exec.Command(p.server.Command, p.server.Args...) // that the owner configured
	cmd.Env = environ(p.server.Env)
	cmd.WaitDelay = time.Second
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("open its output: %w", err)
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("open its input: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start it: %w", err)
	}
	in := &input{WriteCloser: stdin, cmd: cmd, fault: &p.fault}
	out := &bounded{ReadCloser: stdout, left: mostBytes, lines: true, fault: &p.fault}
	return (&sdk.IOTransport{Reader: out, Writer: in, MaxLineLength: -1}).Connect(ctx)
}

// input is a program's standard input; closing it ends the program.
type input struct {
	io.WriteCloser
	cmd   *exec.Cmd
	fault *fault
	once  sync.Once
}

// Close closes the input and waits for the program to end. After a second each it sends SIGTERM, then kills it.
func (i *input) Close() error {
	i.once.Do(func() {
		_ = i.WriteCloser.Close() // the program may be gone
		ended := make(chan error, 1)
		go func() { ended <- i.cmd.Wait() }()
		for _, urge := range []func() error{
			func() error { return i.cmd.Process.Signal(syscall.SIGTERM) },
			i.cmd.Process.Kill,
		} {
			select {
			case err := <-ended:
				i.note(err)
				return
			case <-time.After(time.Second):
				_ = urge() // if it fails the next one follows
			}
		}
		i.note(<-ended)
	})
	return nil
}

// note keeps the exit status of the program, unless a signal ended it.
func (i *input) note(err error) {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() >= 0 {
		i.fault.set(fmt.Errorf("the program ended with status %d", exit.ExitCode()))
	}
}

// environ returns the environment of a program: the variables that most need, and env.
func environ(env map[string]string) []string {
	var out []string
	for _, name := range []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_ALL",
		"LC_CTYPE", "TZ", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "SYSTEMROOT", "PATHEXT", "APPDATA", "LOCALAPPDATA",
		"USERPROFILE", "TEMP"} {
		if value, ok := os.LookupEnv(name); ok {
			out = append(out, name+"="+value)
		}
	}
	for name, value := range env {
		out = append(out, name+"="+value)
	}
	return out
}

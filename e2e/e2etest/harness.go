//go:build e2e

// Package e2etest drives the built binary as a process, from outside only: its configuration
// is the environment, and its peers are real or third-party emulators. One scenario per
// file, named as a sentence.
package e2etest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
	"github.com/everthread/everthread/internal/fulltest"
)

// Program is the binary under test.
var Program string

func Main(m *testing.M) {
	if path := os.Getenv(mcpLedger); path != "" {
		os.Exit(serveMCP(path))
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "everthread-e2e")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		Program, empty.dir = filepath.Join(dir, "everthread"), filepath.Join(dir, "empty")
		flag.Parse()
		// The scenarios mostly wait, which is why -parallel is not the number of processors unless it
		// is set. Those that measure time or use a browser are not parallel: they run before the others
		// of their package.
		set := false
		flag.Visit(func(f *flag.Flag) { set = set || f.Name == "test.parallel" })
		if !set {
			_ = flag.Set("test.parallel", strconv.Itoa(4*runtime.NumCPU()))
		}
		defer Common.end()
		defer endChromium()
		defer peers.end()
		defer endEmpty()
		// scripts/test.sh builds it once for all packages.
		if os.Link(os.Getenv("EVERTHREAD_TEST_PROGRAM"), Program) == nil {
			return m.Run()
		}
		build := exec.Command("go", "build", "-tags", "goolm crashpoints", "-o", Program, "../../cmd/everthread")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// Engines runs a test on both stores. database returns the configured URL of a new store. Unless
// all tests are requested, or -run names a store, a test runs only on the store that its name
// selects.
func Engines(t *testing.T, test func(t *testing.T, database func(t *testing.T) string)) {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(t.Name()))
	for i, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			if int(hash.Sum32()%2) != i && !fulltest.Named() && !fulltest.Asked() {
				t.Skip("it takes long on both stores: EVERTHREAD_TEST_ALL=1 runs it, and so does CI=true make test")
			}
			t.Parallel()
			if engine == "sqlite" {
				test(t, func(*testing.T) string { return "" })
			} else {
				test(t, NewStore)
			}
		})
	}
}

func Must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Town is the environment of a test: the chat service, the model, the data.
type Town struct {
	T        *testing.T
	Telegram *telegramtest.Server
	Model    string // base URL of the emulator
	Database string // URL; empty: SQLite in dir
	Dir      string
	Env      []string
	Program  string // the binary; see Upgraded

	ShopsOf []string         // roles that may use the tool servers; nil: all
	Allowed []string         // tools of the shop that need no approval
	More    []map[string]any // MCP servers beside the shops
}

// NewTown starts the peers. Every sender is admitted. The model emulator is shared with
// other tests; see UseModel.
func NewTown(t *testing.T, database string) *Town {
	t.Helper()
	w := &Town{T: t, Telegram: telegramtest.New(), Model: Common.URL(t), Database: database,
		Dir: t.TempDir(), Program: Program}
	t.Cleanup(func() {
		w.Telegram.Close()
		if err := errors.Join(w.Telegram.Errors()...); err != nil {
			t.Errorf("requests that the Bot API does not know: %v", err)
		}
	})
	w.Env = []string{
		"EVERTHREAD_DATA_DIR=" + w.Dir, "EVERTHREAD_DATABASE_URL=" + database,
		secretKey, "EVERTHREAD_ACCESS_POLICY=open",
		// Each plans its statements by itself.
		"EVERTHREAD_DATABASE_CONNECTIONS=" + cmp.Or(os.Getenv("EVERTHREAD_DATABASE_CONNECTIONS"), "4"),
		"EVERTHREAD_TURN_DEBOUNCE=0s", "EVERTHREAD_LIMITS_TURNS_PER_MINUTE=0", "EVERTHREAD_LIMITS_ALL_TOKENS_PER_DAY=-1",
		"EVERTHREAD_LLM_PROVIDER=openai", "EVERTHREAD_LLM_BASE_URL=" + w.Model +
			"/v1", "EVERTHREAD_LLM_MODEL=emulated",
		"EVERTHREAD_LLM_API_KEY=none", "EVERTHREAD_CHANNELS_TELEGRAM_TOKEN=" + telegramtest.Token,
		"EVERTHREAD_CHANNELS_TELEGRAM_API_URL=" + w.Telegram.URL(), "EVERTHREAD_CHANNELS_TELEGRAM_RATE_PER_CHAT=0",
		"EVERTHREAD_CHANNELS_TELEGRAM_RATE_PER_BOT=0",
	}
	w.Env = append(w.Env, serverTools()...)
	return w
}

// UseModel replaces the shared model by another.
func (w *Town) UseModel(base string) {
	w.Model = base
	w.Env = append(w.Env, "EVERTHREAD_LLM_BASE_URL="+base+"/v1")
}

// emulator is a model emulator, started on first use.
type emulator struct {
	once    sync.Once
	latency time.Duration // before each chunk
	env     []string      // additional environment
	cmd     *exec.Cmd
	stdin   io.Closer
	started struct{ URL string }
	err     error
}

// Common is the emulator shared by tests, whose behaviour nobody changes.
var Common emulator

// URL returns the emulator's URL.
func (e *emulator) URL(t *testing.T) string {
	t.Helper()
	if os.Getenv("EVERTHREAD_TEST_AIMOCK") == "" {
		t.Skip("EVERTHREAD_TEST_AIMOCK is not set; `make test` installs the model emulator")
	}
	e.once.Do(func() { e.err = e.start() })
	Must(t, e.err)
	return e.started.URL
}

func (e *emulator) start() error {
	e.cmd = exec.Command("node", "../peers/model.mjs", "--latency", fmt.Sprint(e.latency.Milliseconds()))
	e.cmd.Env = append(os.Environ(), e.env...)
	e.cmd.Stderr = os.Stderr
	stdin, err := e.cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := e.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	e.stdin = stdin
	if err := e.cmd.Start(); err != nil {
		return err
	}
	if err := json.NewDecoder(stdout).Decode(&e.started); err != nil {
		return err
	}
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	return nil
}

// end ends the emulator, if it was started.
func (e *emulator) end() {
	if e.stdin != nil {
		_ = e.stdin.Close() // which ends it
		_ = e.cmd.Wait()
	}
}

// StartModel starts an emulator for one test, which waits for latency before each chunk of
// an answer, and returns its URL.
func StartModel(t *testing.T, latency time.Duration, env ...string) string {
	t.Helper()
	e := &emulator{latency: latency, env: env}
	t.Cleanup(e.end)
	return e.URL(t)
}

// Gateway is a running process.
type Gateway struct {
	t    *testing.T
	Cmd  *exec.Cmd
	URL  string
	Log  *logBuffer
	exit chan error
}

// Start starts the gateway with additional environment, and waits until it is ready.
func (w *Town) Start(env ...string) *Gateway {
	w.T.Helper()
	w.copyStore()
	g := w.Launch(env...)
	g.Ready()
	return g
}

// Ready waits until the process is ready.
func (g *Gateway) Ready() {
	g.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for time.Now().Before(deadline) {
		select {
		case err := <-g.exit:
			g.t.Fatalf("the gateway ended: %v\n%s", err, g.Log)
		default:
		}
		if status, _ := g.Get("/readyz"); status == http.StatusOK {
			return
		}
		time.Sleep(20 * time.Millisecond) // a process has no event to wait for
	}
	_ = g.Cmd.Process.Signal(syscall.SIGQUIT) // prints what it waits for
	g.Wait(5 * time.Second)
	g.t.Fatalf("the gateway is not ready\n%s", g.Log)
}

// Launch starts the gateway without waiting.
func (w *Town) Launch(env ...string) *Gateway {
	w.T.Helper()
	addr := FreeAddress(w.T)
	g := &Gateway{t: w.T, URL: "http://" + addr, Log: &logBuffer{}, exit: make(chan error, 1)}
	g.Cmd = exec.Command(w.Program, "serve")
	g.Cmd.Dir = w.Dir
	g.Cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.Dir, "EVERTHREAD_HTTP_LISTEN=" + addr},
		append(w.Env, env...)...)
	g.Cmd.Stdout, g.Cmd.Stderr = g.Log, g.Log
	Must(w.T, g.Cmd.Start())
	go func() { g.exit <- g.Cmd.Wait() }()
	w.T.Cleanup(g.Kill)
	return g
}

// Run runs a subcommand and returns its output.
func (w *Town) Run(args ...string) (string, error) {
	cmd := exec.Command(w.Program, args...)
	cmd.Dir = w.Dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.Dir}, w.Env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("everthread %s: %w\n%s", strings.Join(args, " "), err, errs.String())
	}
	return out.String(), nil
}

// MustRun is Run for a command that must succeed.
func (w *Town) MustRun(args ...string) string {
	w.T.Helper()
	out, err := w.Run(args...)
	Must(w.T, err)
	return out
}

// ports are each used once. They come in blocks from below the range from which the system
// picks: a process that listens on the first port of a block uses its others. So no two
// suites get the same port between the check that it is free and its use.
var ports struct {
	mu         sync.Mutex
	blocks     []net.Listener
	next, left int
}

// blockOf takes the first free block.
func blockOf(first, count, size int) (net.Listener, int) {
	for n := range count {
		at := first + (os.Getpid()+n)%count*size
		if ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", at)); err == nil {
			return ln, at
		}
	}
	return nil, 0
}

// FreeAddress returns an address on which nothing listens.
func FreeAddress(t *testing.T) string {
	t.Helper()
	const first, count, size = 12_000, 360, 50
	ports.mu.Lock()
	defer ports.mu.Unlock()
	for {
		if ports.left == 0 { // listeners of earlier blocks stay, as their ports are in use
			block, at := blockOf(first, count, size)
			if block == nil {
				t.Fatal("there is no free port")
			}
			ports.blocks, ports.next, ports.left = append(ports.blocks, block), at+1, size-1
		}
		addr := fmt.Sprintf("127.0.0.1:%d", ports.next)
		ports.next++
		ports.left--
		if ln, err := net.Listen("tcp", addr); err == nil {
			Must(t, ln.Close())
			return addr
		}
	}
}

func (g *Gateway) Get(path string) (int, string) {
	client := http.Client{Timeout: 5 * time.Second}
	resp, err := client.Get(g.URL + path)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b)
}

// Kill ends the process like a power cut.
func (g *Gateway) Kill() {
	_ = g.Cmd.Process.Signal(syscall.SIGKILL)
	g.Wait(10 * time.Second)
}

// Stop asks the process to end and returns the time that it took.
func (g *Gateway) Stop() time.Duration {
	begin := time.Now()
	_ = g.Cmd.Process.Signal(syscall.SIGTERM)
	if !g.Wait(15 * time.Second) {
		g.t.Errorf("the gateway did not end\n%s", g.Log)
	}
	return time.Since(begin)
}

// Wait waits for the process to end.
func (g *Gateway) Wait(d time.Duration) bool {
	select {
	case err := <-g.exit:
		g.exit <- err
		return true
	case <-time.After(d):
		return false
	}
}

// logBuffer holds the log of a process.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Logged waits until the log matches a pattern, and returns the match.
func (g *Gateway) Logged(pattern string) []string {
	g.t.Helper()
	re := regexp.MustCompile(pattern)
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if found := re.FindStringSubmatch(g.Log.String()); found != nil {
			return found
		}
	}
	g.t.Fatalf("the log does not show %s\n%s", pattern, g.Log)
	return nil
}

// Sent waits until chat has received n messages.
func (w *Town) Sent(chat int64, n int) []telegramtest.Message {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(w.T.Context(), 30*time.Second)
	defer cancel()
	ms, err := w.Telegram.WaitSent(ctx, chat, n)
	if err != nil {
		w.T.Fatalf("chat %d got %d messages, want %d: %v", chat, len(w.Telegram.Sent(chat)), n, err)
	}
	return ms
}

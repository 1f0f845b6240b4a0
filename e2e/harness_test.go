//go:build e2e

// Package e2e drives the built binary as a process, from outside only: its
// configuration is the environment, its peers are real or emulators by others.
// One scenario a file, named as a sentence.
package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
)

// program is the binary under test.
var program string

func TestMain(m *testing.M) {
	if path := os.Getenv(mcpLedger); path != "" {
		os.Exit(serveMCP(path))
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "everthread-e2e")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		program = filepath.Join(dir, "everthread")
		flag.Parse()
		// The scenarios mostly wait. Those that look at the clock, or at a browser,
		// are not parallel: they run alone, before the others.
		_ = flag.Set("test.parallel", strconv.Itoa(4*runtime.NumCPU()))
		defer common.end()
		defer endChromium()
		defer peers.end()
		build := exec.Command("go", "build", "-tags", "goolm crashpoints", "-o", program, "../cmd/everthread")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// engines runs a test on both stores. database returns the configured URL of a
// store that is new for the test.
func engines(t *testing.T, test func(t *testing.T, database func(t *testing.T) string)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, func(*testing.T) string { return "" })
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, newSchema)
	})
}

// newSchema makes an empty schema in the test database and returns its URL.
func newSchema(t *testing.T) string {
	t.Helper()
	dsn := os.Getenv("TEST_POSTGRES_DSN")
	if dsn == "" {
		t.Skip("TEST_POSTGRES_DSN is not set; `make test` starts a PostgreSQL")
	}
	ctx := context.Background()
	c, err := pgx.Connect(ctx, dsn)
	must(t, err)
	name := "e2e_" + strings.ToLower(rand.Text())
	_, err = c.Exec(ctx, "CREATE SCHEMA "+name)
	must(t, err)
	t.Cleanup(func() {
		_, err := c.Exec(ctx, "DROP SCHEMA "+name+" CASCADE")
		must(t, errors.Join(err, c.Close(ctx)))
	})
	u, err := url.Parse(dsn)
	must(t, err)
	q := u.Query()
	q.Set("search_path", name+",public")
	u.RawQuery = q.Encode()
	return u.String()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// town is a test's surroundings: the chat service, the model, the data.
type town struct {
	t        *testing.T
	telegram *telegramtest.Server
	model    string // base URL of the emulator
	database string // URL; empty: SQLite in dir
	dir      string
	env      []string
	program  string // the binary; see upgraded

	shopsOf []string // roles whose the servers of tools are; nil: everybody's
	allowed []string // tools of the shop that need no question
}

// newTown starts the peers. Anybody who writes is let in. The model emulator is
// shared with other tests; see useModel.
func newTown(t *testing.T, database string) *town {
	t.Helper()
	w := &town{t: t, telegram: telegramtest.New(), model: common.url(t), database: database, dir: t.TempDir(), program: program}
	t.Cleanup(func() {
		w.telegram.Close()
		if err := errors.Join(w.telegram.Errors()...); err != nil {
			t.Errorf("requests that the Bot API does not know: %v", err)
		}
	})
	w.env = []string{
		"EVERTHREAD_DATA_DIR=" + w.dir, "EVERTHREAD_DATABASE_URL=" + database, "EVERTHREAD_SECRET_KEY=a-key-for-tests-of-enough-length-000",
		"EVERTHREAD_ACCESS_POLICY=open", "EVERTHREAD_TURN_DEBOUNCE=0s", "EVERTHREAD_LIMITS_TURNS_PER_MINUTE=0", "EVERTHREAD_LIMITS_ALL_TOKENS_PER_DAY=-1",
		"EVERTHREAD_LLM_PROVIDER=openai", "EVERTHREAD_LLM_BASE_URL=" + w.model + "/v1", "EVERTHREAD_LLM_MODEL=emulated", "EVERTHREAD_LLM_API_KEY=none",
		"EVERTHREAD_CHANNELS_TELEGRAM_TOKEN=" + telegramtest.Token, "EVERTHREAD_CHANNELS_TELEGRAM_API_URL=" + w.telegram.URL(),
		"EVERTHREAD_CHANNELS_TELEGRAM_RATE_PER_CHAT=0", "EVERTHREAD_CHANNELS_TELEGRAM_RATE_PER_BOT=0",
	}
	return w
}

// useModel has the gateway talk to another model than the shared one.
func (w *town) useModel(base string) {
	w.model = base
	w.env = append(w.env, "EVERTHREAD_LLM_BASE_URL="+base+"/v1")
}

// emulator is a model emulator, started when it is first wanted.
type emulator struct {
	once    sync.Once
	latency time.Duration // before each chunk
	env     []string      // more environment
	cmd     *exec.Cmd
	stdin   io.Closer
	started struct{ URL string }
	err     error
}

// common is the emulator that tests share: nobody changes how it answers.
var common emulator

// url returns where the emulator answers.
func (e *emulator) url(t *testing.T) string {
	t.Helper()
	if os.Getenv("EVERTHREAD_TEST_AIMOCK") == "" {
		t.Skip("EVERTHREAD_TEST_AIMOCK is not set; `make test` installs the model emulator")
	}
	e.once.Do(func() { e.err = e.start() })
	must(t, e.err)
	return e.started.URL
}

func (e *emulator) start() error {
	e.cmd = exec.Command("node", "peers/model.mjs", "--latency", fmt.Sprint(e.latency.Milliseconds()))
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

// startModel starts an emulator of the test's own, which waits for latency before
// each chunk of an answer, and returns its address.
func startModel(t *testing.T, latency time.Duration, env ...string) string {
	t.Helper()
	e := &emulator{latency: latency, env: env}
	t.Cleanup(e.end)
	return e.url(t)
}

// gateway is a running process.
type gateway struct {
	t    *testing.T
	cmd  *exec.Cmd
	URL  string
	log  *logBuffer
	exit chan error
}

// start starts the gateway with more environment, and waits until it is ready.
func (w *town) start(env ...string) *gateway {
	w.t.Helper()
	g := w.launch(env...)
	deadline := time.Now().Add(20 * time.Second)
	for time.Now().Before(deadline) {
		select {
		case err := <-g.exit:
			w.t.Fatalf("the gateway ended: %v\n%s", err, g.log)
		default:
		}
		if status, _ := g.get("/readyz"); status == http.StatusOK {
			return g
		}
		time.Sleep(20 * time.Millisecond) // a process has no event to wait for
	}
	_ = g.cmd.Process.Signal(syscall.SIGQUIT) // shows what it waits for
	g.wait(5 * time.Second)
	w.t.Fatalf("the gateway is not ready\n%s", g.log)
	return nil
}

// launch starts the gateway without waiting.
func (w *town) launch(env ...string) *gateway {
	w.t.Helper()
	addr := freeAddress(w.t)
	g := &gateway{t: w.t, URL: "http://" + addr, log: &logBuffer{}, exit: make(chan error, 1)}
	g.cmd = exec.Command(w.program, "serve")
	g.cmd.Dir = w.dir
	g.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir, "EVERTHREAD_HTTP_LISTEN=" + addr}, append(w.env, env...)...)
	g.cmd.Stdout, g.cmd.Stderr = g.log, g.log
	must(w.t, g.cmd.Start())
	go func() { g.exit <- g.cmd.Wait() }()
	w.t.Cleanup(g.kill)
	return g
}

// run runs a subcommand and returns what it prints.
func (w *town) run(args ...string) (string, error) {
	cmd := exec.Command(w.program, args...)
	cmd.Dir = w.dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir}, w.env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("everthread %s: %w\n%s", strings.Join(args, " "), err, errs.String())
	}
	return out.String(), nil
}

// mustRun is run for what must succeed.
func (w *town) mustRun(args ...string) string {
	w.t.Helper()
	out, err := w.run(args...)
	must(w.t, err)
	return out
}

// ports are handed out once, from below those that the system gives to whoever
// asks for any: one of these could be somebody else's before it is used.
var ports atomic.Uint32

func freeAddress(t *testing.T) string {
	t.Helper()
	const first, count = 12_000, 18_000
	ports.CompareAndSwap(0, uint32(os.Getpid())*100)
	for range count {
		addr := fmt.Sprintf("127.0.0.1:%d", first+ports.Add(1)%count)
		if ln, err := net.Listen("tcp", addr); err == nil {
			must(t, ln.Close())
			return addr
		}
	}
	t.Fatal("there is no free port")
	return ""
}

func (g *gateway) get(path string) (int, string) {
	client := http.Client{Timeout: 5 * time.Second}
	resp, err := client.Get(g.URL + path)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b)
}

// kill ends the process as a power cut would.
func (g *gateway) kill() {
	_ = g.cmd.Process.Signal(syscall.SIGKILL)
	g.wait(10 * time.Second)
}

// stop asks the process to end and returns how long that took.
func (g *gateway) stop() time.Duration {
	begin := time.Now()
	_ = g.cmd.Process.Signal(syscall.SIGTERM)
	if !g.wait(15 * time.Second) {
		g.t.Errorf("the gateway did not end\n%s", g.log)
	}
	return time.Since(begin)
}

// wait waits for the process to end.
func (g *gateway) wait(d time.Duration) bool {
	select {
	case err := <-g.exit:
		g.exit <- err
		return true
	case <-time.After(d):
		return false
	}
}

// logBuffer keeps what a process logs.
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

// logged waits until the log matches a pattern, and returns what did.
func (g *gateway) logged(pattern string) []string {
	g.t.Helper()
	re := regexp.MustCompile(pattern)
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if found := re.FindStringSubmatch(g.log.String()); found != nil {
			return found
		}
	}
	g.t.Fatalf("the log does not show %s\n%s", pattern, g.log)
	return nil
}

// sent waits until chat has got n messages.
func (w *town) sent(chat int64, n int) []telegramtest.Message {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 30*time.Second)
	defer cancel()
	ms, err := w.telegram.WaitSent(ctx, chat, n)
	if err != nil {
		w.t.Fatalf("chat %d got %d messages, want %d: %v", chat, len(w.telegram.Sent(chat)), n, err)
	}
	return ms
}

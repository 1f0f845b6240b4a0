package document

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/everthread/everthread/core"
)

// Reader reads files, each in its own process. It is safe for concurrent use.
type Reader struct {
	// Command starts a process that calls Serve.
	Command []string
	// Cache is the absolute path of the folder for the machine code of PDFium, which is compiled once.
	Cache  string
	Limits Limits

	mu       sync.Mutex
	prepared bool
}

// Limits for compiling PDFium.
const (
	prepareTime   = 3 * time.Minute
	prepareMemory = 640 << 20
)

// Read extracts the text of a file and passes it to put, page by page, until ctx ends. The
// error is a *Fault, or that of put or ctx; earlier pages remain valid.
func (r *Reader) Read(ctx context.Context, src Source, data []byte, put func(Page) error) (kind string, err error) {
	kind = Kind(src.Name, src.Media, data)
	if len(r.Command) == 0 {
		return kind, &Fault{Problem: core.DocumentUnread, Err: errors.New("no reading process is configured")}
	}
	if kind == PDF {
		if err := r.prepare(ctx); err != nil {
			return kind, err
		}
	}
	src.Cache = r.Cache
	return kind, r.run(ctx, order{Source: src, Limits: r.Limits}, data, put)
}

// prepare compiles PDFium, once.
func (r *Reader) prepare(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.prepared {
		return nil
	}
	if err := os.MkdirAll(r.Cache, 0o700); err != nil {
		return &Fault{Problem: core.DocumentUnread, Err: err}
	}
	o := order{Source: Source{Cache: r.Cache}, Limits: Limits{Time: prepareTime, Memory: prepareMemory}, Prepare: true}
	if err := r.run(ctx, o, nil, nil); err != nil {
		if f, ok := errors.AsType[*Fault](err); ok {
			return &Fault{Problem: core.DocumentUnread, Err: fmt.Errorf("prepare the PDF reader: %w", f)}
		}
		return err
	}
	r.prepared = true
	return nil
}

// run starts the process and reads its output.
func (r *Reader) run(ctx context.Context, o order, data []byte, put func(Page) error) error {
	first, err := json.Marshal(o)
	if err != nil {
		return &Fault{Problem: core.DocumentUnread, Err: err}
	}
	dir, err := os.MkdirTemp("", "everthread-document-")
	if err != nil {
		return &Fault{Problem: core.DocumentUnread, Err: err}
	}
	defer os.RemoveAll(dir)
	within, cancel := context.WithTimeout(ctx, o.Limits.Time)
	defer cancel()
	cmd := exec.CommandContext(within, r.Command[0], r.Command[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, environment(dir), time.Second
	cmd.Stdin = io.MultiReader(bytes.NewReader(append(first, '\n')), bytes.NewReader(data))
	said := &head{}
	cmd.Stderr = said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return &Fault{Problem: core.DocumentUnread, Err: err}
	}
	if err := cmd.Start(); err != nil {
		return &Fault{Problem: core.DocumentUnread, Err: err}
	}
	end, err := take(out, put)
	late := within.Err() != nil
	cancel() // its further work is not needed
	ended := cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && !errors.Is(err, errCut):
		return err
	case end != nil && end.Problem != "":
		return &Fault{Problem: end.Problem, Err: errors.New(end.Error)}
	case end != nil:
		return nil
	}
	return died(late, ended, said.String())
}

// environment returns the environment of the process: it has no variable of the gateway.
func environment(dir string) []string {
	env := []string{"TMPDIR=" + dir, "TMP=" + dir, "TEMP=" + dir, "HOME=" + dir}
	if root := os.Getenv("SYSTEMROOT"); root != "" { // required on Windows
		env = append(env, "SYSTEMROOT="+root)
	}
	return env
}

// died returns the fault of a process that ended without an answer.
func died(late bool, ended error, said string) error {
	problem := core.DocumentDamaged
	exit, exited := errors.AsType[*exec.ExitError](ended)
	code := 0
	if exited {
		code = exit.ExitCode()
	}
	switch {
	case late || code == exitTime:
		problem = core.DocumentSlow
	case code == exitMemory || outOfMemory(said):
		problem = core.DocumentLarge
	case code == exitUsage || !exited && ended != nil:
		problem = core.DocumentUnread
	}
	return &Fault{Problem: problem, Err: fmt.Errorf("the reading process ended: %w: %s", ended, said)}
}

// outOfMemory reports whether a process ended at its memory limit, by its output. The
// stack of a thread needs memory too.
func outOfMemory(said string) bool {
	return slices.ContainsFunc([]string{"out of memory", "cannot allocate memory", "pthread_create failed",
		"failed to create new OS thread"}, func(sign string) bool { return strings.Contains(said, sign) })
}

// errCut means that the output ended before the last answer.
var errCut = errors.New("the output is cut off")

// maxLine bounds a line of output, in bytes.
const maxLine = 8*maxPage + 10_000

// take reads the output of the process, within bounds.
func take(out io.Reader, put func(Page) error) (*answer, error) {
	lines := bufio.NewScanner(out)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	total := 0
	for lines.Scan() {
		if total += len(lines.Bytes()); total > 8*maxText {
			return nil, &Fault{Problem: core.DocumentDamaged, Err: errors.New("too much output")}
		}
		var a answer
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			return nil, errCut
		}
		switch {
		case a.End:
			return &a, nil
		case a.Page != nil && put != nil:
			if err := put(*a.Page); err != nil {
				return nil, err
			}
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return nil, &Fault{Problem: core.DocumentDamaged, Err: lines.Err()}
	}
	return nil, errCut
}

// head keeps the beginning of the standard error of a process.
type head struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write keeps the first bytes.
func (h *head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.buf.Write(p[:min(len(p), max(0, 2000-h.buf.Len()))])
	return len(p), nil
}

// String returns it on one line.
func (h *head) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(strings.Fields(h.buf.String()), " ")
}

// order is the first line of the input of the reading process. The file follows.
type order struct {
	Source  Source `json:"source"`
	Limits  Limits `json:"limits"`
	Prepare bool   `json:"prepare,omitempty"` // only compile PDFium
}

// answer is a line of the output: a page, or the end.
type answer struct {
	Page    *Page                `json:"page,omitempty"`
	End     bool                 `json:"end,omitempty"`
	Kind    string               `json:"kind,omitempty"`
	Problem core.DocumentProblem `json:"problem,omitempty"`
	Error   string               `json:"error,omitempty"`
}

// Exit codes of the reading process when it ends itself.
const (
	exitMemory = 71
	exitTime   = 72
	exitUsage  = 73
)

// Serve is the main function of the reading process: it reads one file from in and writes its pages to out. It returns
// the exit code. If it exceeds its memory or time, it ends the process.
func Serve(in io.Reader, out io.Writer) int {
	r := bufio.NewReader(in)
	line, err := r.ReadBytes('\n')
	var o order
	if err != nil || json.Unmarshal(line, &o) != nil {
		fmt.Fprintln(os.Stderr, "this command reads one document for a running gateway, which starts it by itself")
		return exitUsage
	}
	bound(o.Limits.Memory)
	time.AfterFunc(o.Limits.Time+time.Second, func() { os.Exit(exitTime) })
	go watchMemory(o.Limits.Memory)
	w := bufio.NewWriter(out)
	e := json.NewEncoder(w)
	end := answer{End: true}
	if o.Prepare {
		err = prepare(o)
	} else {
		var data []byte
		if data, err = io.ReadAll(r); err == nil {
			end.Kind, err = read(context.Background(), o.Source, data, o.Limits, func(p Page) error {
				return e.Encode(answer{Page: &p})
			})
		}
	}
	if err != nil {
		f := fault(core.DocumentUnread, err)
		end.Problem, end.Error = f.Problem, f.Error()
	}
	if errors.Join(e.Encode(end), w.Flush()) != nil {
		return 1
	}
	return 0
}

func prepare(o order) error {
	pool, err := openPDFium(context.Background(), o.Source.Cache, o.Limits.Memory)
	if err != nil {
		return err
	}
	return pool.Close()
}

// watchMemory ends the process once it takes more than most bytes of memory.
func watchMemory(most int64) {
	debug.SetMemoryLimit(most * 3 / 4)
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	tick := time.NewTicker(5 * time.Millisecond)
	for range tick.C {
		metrics.Read(sample)
		if int64(sample[0].Value.Uint64()-sample[1].Value.Uint64()) > most { //nolint:gosec // of one machine
			os.Exit(exitMemory)
		}
	}
}

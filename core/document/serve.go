package document

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/everthread/everthread/core"
)

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

// Serve is the main function of the reading process: it reads one file from in and writes
// its pages to out. It returns the exit code. If it exceeds its memory or time, it ends
// the process.
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

//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"
)

// driver lets people write to the program.
type driver struct {
	plan
	services *services
	program  *program
}

// figures are what was measured.
type figures struct {
	Start   float64   `json:"start_s"` // to the first request for updates
	Fresh   resources `json:"fresh"`   // shortly after the start
	Settled resources `json:"settled"` // some time later, before the first message
	Paced   level     `json:"paced"`   // one person
	Floor   float64   `json:"floor_p50_ms"`
	Loads   []level   `json:"loads"`
}

// level is a number of people who wrote at the same time, with what the processes took after it.
type level struct {
	People int     `json:"people"`
	Turns  int     `json:"turns"`
	Rate   float64 `json:"turns_per_s"`
	P50    float64 `json:"overhead_p50_ms"` // from offer to answer, without the model
	P95    float64 `json:"overhead_p95_ms"`
	CPU    float64 `json:"cpu_ms_per_turn"` // of the processes, not of the database
	resources
}

// print writes the figures as a table.
func (f *figures) print(to io.Writer, settle time.Duration) {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "start to the first poll\t%.2f s\n", f.Start)
	fmt.Fprintf(w, "memory %s later\t%s\n", fresh, f.Fresh)
	if settle > 0 {
		fmt.Fprintf(w, "memory %s later\t%s\n", fresh+settle, f.Settled)
	}
	fmt.Fprintf(w, "floor at the pace of one person\tp50 %.1f ms; the overhead is %.1f × that\n", f.Floor, f.Paced.P50/f.Floor)
	for _, l := range append([]level{f.Paced}, f.Loads...) {
		fmt.Fprintf(w, "people at once: %d; turns: %d\toverhead p50 / p95 %.1f / %.1f ms; %.0f turns a second; "+
			"processor %.1f ms a turn; memory %s\n", l.People, l.Turns, l.P50, l.P95, l.Rate, l.CPU, l.resources)
	}
	_ = w.Flush()
}

// String has the memory, and in brackets what is the processes' own.
func (r resources) String() string { return fmt.Sprintf("%.0f MB (%.0f)", r.RSS, r.Own) }

const (
	patience    = time.Minute            // for an answer
	tail        = 300 * time.Millisecond // in which the work of the last turns ends
	firstPerson = 700000001
)

// drive lets people write at the same time, each the next message after the answer to the last and a pause, while again
// is true of the number of their messages. A message without an answer is an error.
func (d *driver) drive(ctx context.Context, people int, again func(n int) bool) (level, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex
	var took []time.Duration
	var wait sync.WaitGroup
	before, begun := d.program.usage().CPU, time.Now()
	for person := range int64(people) {
		wait.Go(func() {
			for n := 0; again(n) && ctx.Err() == nil; n++ {
				overhead, err := d.turn(ctx, firstPerson+person)
				if err != nil {
					cancel(err)
					return
				}
				mu.Lock()
				took = append(took, overhead)
				mu.Unlock()
				_ = d.pause(ctx)
			}
		})
	}
	wait.Wait()
	elapsed := time.Since(begun)
	if err := sleep(ctx, tail); err != nil {
		return level{}, err
	}
	now := d.program.usage()
	return level{People: people, Turns: len(took), Rate: float64(len(took)) / elapsed.Seconds(),
		P50: quantile(took, 0.5), P95: quantile(took, 0.95), CPU: ms(now.CPU-before) / float64(len(took)), resources: now}, nil
}

// turn takes a turn of a person, and returns its overhead.
func (d *driver) turn(ctx context.Context, person int64) (time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("a message has no answer"))
	defer cancel()
	t := d.services.offer(person)
	select {
	case <-t.done:
		return t.answered.Sub(t.offered) - t.held, nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// pause waits for the time between an answer and the next message.
func (d *driver) pause(ctx context.Context) error {
	return sleep(ctx, d.gap+rand.N(d.jitter+1))
}

// floor is the median, in milliseconds, of what the machine takes at the pace of the turns for four HTTP exchanges on the
// loopback device and three appends of a page with fdatasync.
func (d *driver) floor(ctx context.Context, dir string) (float64, error) {
	file, err := os.Create(dir + "/floor")
	if err != nil {
		return 0, err
	}
	defer file.Close()
	var took []time.Duration
	for range min(d.turns, 40) {
		if err := d.pause(ctx); err != nil {
			return 0, err
		}
		begun := time.Now()
		for range 3 {
			_, err := file.Write(make([]byte, 4096))
			if err := errors.Join(err, syscall.Fdatasync(int(file.Fd())), d.exchange()); err != nil {
				return 0, fmt.Errorf("floor: %w", err)
			}
		}
		if err := d.exchange(); err != nil {
			return 0, fmt.Errorf("floor: %w", err)
		}
		took = append(took, time.Since(begun))
	}
	return quantile(took, 0.5), nil
}

// exchange makes an HTTP request with the text of a message.
func (d *driver) exchange() error {
	text := strings.NewReader(`{"text":"twelve words or so of a message that somebody may have sent"}`)
	resp, err := http.Post(d.services.http.URL+"/floor", "application/json", text)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// quantile sorts times, and returns the one that the share q is below, in milliseconds.
func quantile(all []time.Duration, q float64) float64 {
	slices.Sort(all)
	return ms(all[min(len(all)-1, int(q*float64(len(all))))])
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// sleep waits, and returns why ctx ended if that is earlier.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

//go:build linux

// Command turns measures the built program from outside: its start, its memory, and what a turn costs, beside what the
// machine takes for the least that a durable turn can do. It plays the Bot API and a model that answers at once, starts
// the program with them, and sends it messages:
//
//	make build && go run ./bench/turns -cmd 'bin/everthread serve' -gap 150ms -jitter 100ms -loads 1,64
//
// The limits of turns and tokens are lifted; other settings have their defaults, unless they are in the environment. With
// EVERTHREAD_DATABASE_URL it measures on that PostgreSQL, whose schema should be empty.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// plan has the arguments.
type plan struct {
	command     string
	processes   int
	dir         string
	settle      time.Duration
	gap, jitter time.Duration
	turns       int
	loads       []int // people
	loadFor     time.Duration
	json        string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, arguments()); err != nil {
		fmt.Fprintln(os.Stderr, "turns:", err)
		os.Exit(1)
	}
}

// arguments parses the arguments, and ends the process if they are wrong.
func arguments() plan {
	var p plan
	flag.StringVar(&p.command, "cmd", "everthread serve", "shell `command` that starts the program")
	flag.IntVar(&p.processes, "processes", 1, "number of processes, which share a database")
	flag.StringVar(&p.dir, "dir", "", "`folder` on the disk to measure; empty: the system's temporary folder")
	flag.DurationVar(&p.settle, "settle", 57*time.Second, "time from the first look at the memory to the second")
	flag.DurationVar(&p.gap, "gap", 0, "pause between an answer and the next message of the same person")
	flag.DurationVar(&p.jitter, "jitter", 0, "random extra pause, up to this")
	flag.IntVar(&p.turns, "turns", 60, "number of turns of one person")
	flag.Func("loads", "`numbers` of people who write at the same time, such as 1,64", func(s string) error {
		for field := range strings.SplitSeq(s, ",") {
			n, err := strconv.Atoi(field)
			if err != nil || n < 1 {
				return fmt.Errorf("%q is no number of people", field)
			}
			p.loads = append(p.loads, n)
		}
		return nil
	})
	flag.DurationVar(&p.loadFor, "load-for", 10*time.Second, "time for which each number of people writes")
	flag.StringVar(&p.json, "json", "", "`file` for the figures")
	flag.Parse()
	if flag.NArg() > 0 || p.processes < 1 || p.turns < 1 {
		flag.Usage()
		os.Exit(2)
	}
	return p
}

// run measures and prints the figures. Nothing that it started or wrote remains, but the file of figures.
func run(ctx context.Context, p plan) error {
	dir, err := os.MkdirTemp(p.dir, "turns")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := serve()
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	defer s.close()
	ctx, program := start(ctx, p.command, p.processes, s.environment(dir))
	defer program.stop()
	f, err := measure(ctx, &driver{plan: p, services: s, program: program}, dir)
	if err != nil {
		return err
	}
	f.print(os.Stdout, p.settle)
	if p.json != "" {
		text, err := json.MarshalIndent(f, "", "\t")
		if err == nil {
			err = os.WriteFile(p.json, append(text, '\n'), 0o644)
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(s.bot.Errors()...)
}

const (
	fresh  = 3 * time.Second // from the first poll to the first look at the memory
	warmUp = 5               // turns that are not measured
)

// measure takes the figures in the order in which they are printed.
func measure(ctx context.Context, d *driver, dir string) (*figures, error) {
	f, begun := &figures{}, time.Now()
	select {
	case <-d.services.polled:
		f.Start = time.Since(begun).Seconds()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	err := sleep(ctx, fresh)
	if err == nil {
		f.Fresh = d.program.usage()
		err = sleep(ctx, d.settle)
	}
	if err == nil {
		f.Settled = d.program.usage()
		_, err = d.drive(ctx, 1, func(n int) bool { return n < warmUp })
	}
	if err == nil {
		f.Paced, err = d.drive(ctx, 1, func(n int) bool { return n < d.turns })
	}
	if err == nil {
		f.Floor, err = d.floor(ctx, dir)
	}
	for i := 0; err == nil && i < len(d.loads); i++ {
		end := time.Now().Add(d.loadFor)
		var l level
		l, err = d.drive(ctx, d.loads[i], func(int) bool { return time.Now().Before(end) })
		f.Loads = append(f.Loads, l)
	}
	return f, err
}

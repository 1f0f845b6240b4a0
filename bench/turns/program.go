//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// program is the program under test, in one process or several.
type program struct {
	pids   []int
	cancel context.CancelCauseFunc
	wait   sync.WaitGroup
}

// start starts n processes of a shell command, which print to standard error. The environment goes before settings. The
// returned context ends when a process ends, with that as its cause. The caller must call stop.
func start(ctx context.Context, command string, n int, settings []string) (context.Context, *program) {
	ctx, cancel := context.WithCancelCause(ctx)
	p := &program{cancel: cancel}
	for range n {
		cmd := exec.CommandContext(ctx, "/bin/sh", "-c", "exec "+command)
		cmd.Env = append(settings, os.Environ()...)
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt at the terminal is for us only
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
		cmd.WaitDelay = 15 * time.Second
		if err := cmd.Start(); err != nil {
			cancel(fmt.Errorf("start the program: %w", err))
			break
		}
		p.pids = append(p.pids, cmd.Process.Pid)
		p.wait.Go(func() {
			cancel(errors.Join(errors.New("the program ended"), cmd.Wait()))
		})
	}
	return ctx, p
}

// stop ends the processes and waits for them.
func (p *program) stop() {
	p.cancel(nil)
	p.wait.Wait()
}

// resources are what processes take.
type resources struct {
	RSS float64       `json:"rss_mb"` // VmRSS
	Own float64       `json:"own_mb"` // RssAnon: what is not in a file
	CPU time.Duration `json:"-"`      // since their start
}

// usage is what the processes and their children take.
func (p *program) usage() resources {
	var all resources
	for _, pid := range p.pids {
		all.add(pid)
	}
	return all
}

// add adds a process and its children. One that has ended takes nothing.
func (r *resources) add(pid int) {
	dir := fmt.Sprintf("/proc/%d", pid)
	status, _ := os.ReadFile(dir + "/status")
	for line := range strings.Lines(string(status)) {
		var kB float64
		if n, _ := fmt.Sscanf(line, "VmRSS: %f", &kB); n == 1 {
			r.RSS += kB / 1024
		} else if n, _ := fmt.Sscanf(line, "RssAnon: %f", &kB); n == 1 {
			r.Own += kB / 1024
		}
	}
	stat, _ := os.ReadFile(dir + "/stat")
	_, after, _ := strings.Cut(string(stat), ") ")
	if fields := strings.Fields(after); len(fields) > 12 {
		for _, ticks := range fields[11:13] { // utime and stime, in hundredths of a second
			n, _ := strconv.Atoi(ticks)
			r.CPU += time.Duration(n) * 10 * time.Millisecond
		}
	}
	lists, _ := filepath.Glob(dir + "/task/*/children")
	for _, list := range lists {
		children, _ := os.ReadFile(list)
		for _, child := range strings.Fields(string(children)) {
			n, _ := strconv.Atoi(child)
			r.add(n)
		}
	}
}

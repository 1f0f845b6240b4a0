//go:build e2e

package road

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

// Every block of commands in the documents is run unchanged, each document from beginning
// to end in one shell and its own copy of the checkout.
//
//	```sh                     is run, and must succeed
//	<!-- not run: WHY -->     before such a block: it cannot be run, and why
//	<!-- serves -->           before such a block: it runs until the page answers
//	<!-- before: COMMANDS --> is run, and not shown: earlier steps of the reader
//
// All other blocks name their kind (text, yaml, …), so that none is overlooked.

// step is a step of a document.
type step struct {
	line   int
	script string
	serves bool
}

var (
	fence  = regexp.MustCompile("^ *(```+)([a-z]*)$")
	notRun = regexp.MustCompile(`^ *<!-- not run: \S.* -->$`)
)

// steps parses the steps of a document, and lists the errors of its blocks.
func steps(text string) (out []step, faults []string) {
	lines := strings.Split(text, "\n")
	before := "" // the line before a block, if not empty
	for n := 0; n < len(lines); n++ {
		line := lines[n]
		if rest, ok := strings.CutPrefix(line, "<!-- before:"); ok {
			begin := n
			var script []string
			for !strings.HasSuffix(rest, "-->") && n+1 < len(lines) {
				script = append(script, rest)
				n++
				rest = lines[n]
			}
			script = append(script, strings.TrimSuffix(rest, "-->"))
			out = append(out, step{line: begin + 1, script: strings.Join(script, "\n")})
			continue
		}
		m := fence.FindStringSubmatch(line)
		if m == nil {
			if strings.TrimSpace(line) != "" {
				before = line
			}
			continue
		}
		begin := n
		var body []string
		for n++; n < len(lines) && strings.TrimSpace(lines[n]) != m[1]; n++ {
			body = append(body, lines[n])
		}
		switch {
		case m[2] == "":
			faults = append(faults, fmt.Sprintf("line %d: the block does not say what it is: ```sh is run, ```text is not",
				begin+1))
		case m[2] == "sh" && !notRun.MatchString(before):
			out = append(out, step{line: begin + 1, script: strings.Join(body, "\n"),
				serves: strings.TrimSpace(before) == "<!-- serves -->"})
		}
		before = ""
	}
	return out, faults
}

func TestDocumentation_readmeCommandsRun(t *testing.T) {
	t.Parallel()
	runDocuments(t, "../../README.md", "../../CONTRIBUTING.md")
}

func TestDocumentation_commandsRun(t *testing.T) {
	t.Parallel()
	documents, err := filepath.Glob("../../docs/*.md")
	e2etest.Must(t, err)
	runDocuments(t, documents...)
}

func runDocuments(t *testing.T, documents ...string) {
	t.Helper()
	for _, path := range documents {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			e2etest.Must(t, err)
			all, faults := steps(string(text))
			for _, f := range faults {
				t.Error(f)
			}
			if len(all) > 0 {
				runDocument(t, all)
			}
		})
	}
}

// runDocument runs the steps in one shell after the other.
func runDocument(t *testing.T, all []step) {
	t.Helper()
	dir := copyOfCheckout(t)
	address := e2etest.FreeAddress(t)
	home := t.TempDir()
	bin := t.TempDir()
	e2etest.Must(t, os.Symlink(e2etest.Program, filepath.Join(bin, "everthread")))
	state := filepath.Join(home, "variables")
	for _, s := range all {
		// Variables persist from one block to the next, as in a reader's shell. With trimmed
		// paths the copies share compiled packages.
		script := fmt.Sprintf("set -euo pipefail\nset -a\n[ ! -f %[1]q ] || . %[1]q\n%[2]s\nset +x\nexport -p >%[1]q\n",
			state, s.script)
		cmd := exec.Command("bash", "-c", strings.ReplaceAll(script, "127.0.0.1:8080", address))
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+home, "PATH="+bin+":"+os.Getenv("PATH"), "EVERTHREAD_HTTP_LISTEN="+address,
			"EVERTHREAD_HTTP_PUBLIC_URL=http://"+address, "GOFLAGS=-tags=goolm -trimpath", "GOCACHE="+goEnv(t, "GOCACHE"),
			"GOMODCACHE="+goEnv(t, "GOMODCACHE"), "GOPATH="+goEnv(t, "GOPATH"))
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		cmd.WaitDelay = time.Second // background processes may hold the pipe
		e2etest.Must(t, cmd.Start())
		group := cmd.Process.Pid
		t.Cleanup(func() { _ = syscall.Kill(-group, syscall.SIGKILL) })
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		if s.serves {
			if err := untilServed(address, done); err != nil {
				t.Fatalf("line %d:\n%s\n%v\n%s", s.line, s.script, err, out.String())
			}
			_ = syscall.Kill(-group, syscall.SIGTERM)
			<-done
			continue
		}
		select {
		case err := <-done:
			if err != nil && !strings.Contains(err.Error(), "WaitDelay expired") {
				t.Fatalf("line %d:\n%s\n%v\n%s", s.line, s.script, err, out.String())
			}
		case <-time.After(10 * time.Minute):
			t.Fatalf("line %d does not end:\n%s\n%s", s.line, s.script, out.String())
		}
	}
}

// untilServed waits until something listens at an address.
func untilServed(address string, done chan error) error {
	for deadline := time.Now().Add(10 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if c, err := net.Dial("tcp", address); err == nil {
			return c.Close()
		}
		select {
		case err := <-done:
			return fmt.Errorf("it ended: %w", err)
		default:
		}
	}
	return fmt.Errorf("nothing listens at %s", address)
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	e2etest.Must(t, err)
	return strings.TrimSpace(string(out))
}

// copyOfCheckout copies the files of the repository to a temporary folder: as links to one copy, since
// commands replace a file of the repository, if at all, and do not write into it.
func copyOfCheckout(t *testing.T) string {
	t.Helper()
	original, err := checkout()
	e2etest.Must(t, err)
	dir := filepath.Join(t.TempDir(), "checkout")
	if out, err := exec.Command("cp", "-al", original, dir).CombinedOutput(); err != nil {
		t.Fatalf("copy the checkout: %v\n%s", err, out)
	}
	return dir
}

// checkout copies the files of the repository.
var checkout = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp(filepath.Dir(e2etest.Program), "checkout")
	if err != nil {
		return "", err
	}
	copied := exec.Command("bash", "-c",
		`cd ../.. && git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' f; do [ ! -e "$f" ] || printf '%s\0' "$f"; done | tar --null -T - -cf - | tar -xf - -C "$1"`, "copy", dir)
	if out, err := copied.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return dir, nil
})

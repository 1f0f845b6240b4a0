package deployment

import (
	"crypto/sha256"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// firstAnswer bounds the time from a downloaded archive to the first reply.
const firstAnswer = 3 * time.Minute

// TestArchive_answersByTheDocuments follows only the commands of docs/install.md, in their
// order, and gets a reply through `everthread chat` in a second terminal.
func TestArchive_answersByTheDocuments(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the commands are those for Linux")
	}
	dir := t.TempDir()
	const named = "everthread-0.1.0-linux-amd64"
	name := "everthread-0.1.0-linux-" + runtime.GOARCH
	pack := filepath.Join(dir, "pack")
	done(t, root+"/scripts/pack", nil, "go", "build", "-o", pack, ".")
	archive := filepath.Join(dir, name+".tar.gz")
	done(t, root, nil, pack, "archive", archive, "0", name, program(t), "LICENSE", "README.md")
	packed, err := os.ReadFile(archive)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "SHA256SUMS"), fmt.Appendf(nil, "%x  %s.tar.gz\n%x  another.tar.gz\n",
		sha256.Sum256(packed), name, sha256.Sum256(nil)), 0o644))
	bin := filepath.Join(dir, "bin")
	must(t, os.Mkdir(bin, 0o755))

	begin := time.Now()
	lines := block(t, root+"/docs/install.md", "## Archive")
	if lines[len(lines)-1] != "everthread" {
		t.Fatalf("the last line does not start the program: %q", lines)
	}
	steps := strings.Join(lines[:len(lines)-1], "\n")
	steps = strings.ReplaceAll(strings.ReplaceAll(steps, named, name), "/usr/local/bin", bin)
	done(t, dir, nil, "sh", "-euc", `sudo() { "$@"; }`+"\n"+steps)

	free, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	env := append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "EVERTHREAD_HTTP_LISTEN="+free.Addr().String())
	must(t, free.Close())
	serving := exec.Command(filepath.Join(bin, "everthread"))
	log, err := os.Create(filepath.Join(dir, "log"))
	must(t, err)
	serving.Dir, serving.Env, serving.Stdout, serving.Stderr = dir, env, log, log
	must(t, serving.Start())
	t.Cleanup(func() {
		_ = serving.Process.Signal(syscall.SIGTERM)
		_ = serving.Wait()
	})
	var said []byte
	for said = nil; !strings.Contains(string(said), "/signin?code="); said, err = os.ReadFile(log.Name()) {
		must(t, err)
		if time.Since(begin) > firstAnswer {
			t.Fatalf("no link appeared:\n%s", said)
		}
		time.Sleep(50 * time.Millisecond) // another process writes the file
	}
	chat := exec.Command(filepath.Join(bin, "everthread"), "chat")
	chat.Dir, chat.Env, chat.Stdin = dir, append(env, "LANG=C"), strings.NewReader("I plant tomatoes tomorrow\n")
	answer, err := chat.CombinedOutput()
	took := time.Since(begin)
	if err != nil || !strings.Contains(string(answer), "“I plant tomatoes tomorrow”") || took > firstAnswer {
		t.Errorf("after %s, %v:\n%s", took, err, answer)
	}
	t.Logf("from the archive to the first answer: %s", took.Round(time.Millisecond))
}

// block returns the lines of the first block of commands below a heading of a document.
func block(t *testing.T, path, heading string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	_, rest, found := strings.Cut(string(text), "\n"+heading+"\n")
	_, rest, _ = strings.Cut(rest, "```sh\n")
	lines, _, closed := strings.Cut(rest, "\n```")
	if !found || !closed {
		t.Fatalf("%s has no block of commands below %q", path, heading)
	}
	return strings.Split(lines, "\n")
}

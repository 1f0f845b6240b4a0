package deployment

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestArm_answersOnARaspberryPiZero runs the program for 32-bit ARM on the oldest processor that it
// is for, an ARM1176, which QEMU emulates: the store, the gateway and a first answer. A package
// for the architecture contains that program.
func TestArm_answersOnARaspberryPiZero(t *testing.T) {
	t.Parallel()
	needs(t, "qemu-arm", "dpkg-deb")
	dir := t.TempDir()
	arm := filepath.Join(dir, "everthread")
	done(t, root, []string{"CGO_ENABLED=0", "GOOS=linux", "GOARCH=arm", "GOARM=6"}, "go", "build", "-trimpath", "-buildvcs=false",
		"-tags", "goolm", "-ldflags", "-s -w", "-o", arm, "./cmd/everthread")
	address := free(t)
	env := append(os.Environ(), "LANG=C", "EVERTHREAD_HTTP_LISTEN="+address, "EVERTHREAD_DATA_DIR="+filepath.Join(dir, "data"))
	emulated := func(args ...string) *exec.Cmd {
		cmd := exec.Command("qemu-arm", append([]string{"-cpu", "arm1176", arm}, args...)...)
		cmd.Dir, cmd.Env = dir, env
		return cmd
	}
	for command, want := range map[string]string{"version": "linux/arm)", "config show": address} {
		out, err := emulated(strings.Fields(command)...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
	serving := emulated("serve")
	said, err := os.Create(filepath.Join(dir, "log"))
	must(t, err)
	serving.Stdout, serving.Stderr = said, said
	must(t, serving.Start())
	t.Cleanup(func() {
		_ = serving.Process.Signal(syscall.SIGTERM)
		if err := serving.Wait(); err != nil {
			t.Errorf("the program ended with %v", err)
		}
	})
	for begin := time.Now(); ; time.Sleep(100 * time.Millisecond) { // a process has no event to wait for
		if resp, err := http.Get("http://" + address + "/readyz"); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				break
			}
		}
		if time.Since(begin) > time.Minute {
			log, _ := os.ReadFile(said.Name())
			t.Fatalf("the program is not ready:\n%s", log)
		}
	}
	chat := emulated("chat")
	chat.Stdin = strings.NewReader("I plant tomatoes tomorrow\n")
	if answer, err := chat.CombinedOutput(); err != nil || !strings.Contains(string(answer), "“I plant tomatoes tomorrow”") {
		t.Errorf("%v\n%s", err, answer)
	}
	deb := filepath.Join(dir, "everthread.deb")
	done(t, root, []string{"NATIVE=" + program(t)}, "scripts/nfpm.sh", "0.1.0", "armhf", arm, deb)
	if got := done(t, dir, nil, "dpkg-deb", "--field", deb, "Architecture"); strings.TrimSpace(got) != "armhf" {
		t.Errorf("the package is for %s", got)
	}
}

package deployment

import (
	"encoding/json"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// image returns a release's image as ARCHIVE:REFERENCE: that of EVERTHREAD_TEST_IMAGE, or else one
// that is made as for a release.
func image(t *testing.T) string {
	t.Helper()
	if given := os.Getenv("EVERTHREAD_TEST_IMAGE"); given != "" {
		return given
	}
	dir := t.TempDir()
	pack := filepath.Join(dir, "pack")
	goroot, err := run(".", os.Environ(), "go", "env", "GOROOT")
	must(t, err)
	for _, c := range [][]string{
		{root + "/scripts/pack", "go", "build", "-o", pack, "."},
		{root, pack, "image", filepath.Join(dir, "image.tar"), "0", "test", "/etc/ssl/certs/ca-certificates.crt",
			strings.TrimSpace(goroot) + "/lib/time/zoneinfo.zip", runtime.GOARCH + "=" + program(t)},
	} {
		if out, err := run(c[0], append(os.Environ(), "CGO_ENABLED=0"), c[1], c[2:]...); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(c, " "), err, out)
		}
	}
	return filepath.Join(dir, "image.tar") + ":test"
}

// unpacked reads an image with skopeo and umoci.
func unpacked(t *testing.T, archive string) *picture {
	t.Helper()
	for _, tool := range []string{"skopeo", "umoci"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed; scripts/image.sh installs it", tool)
		}
	}
	dir := t.TempDir()
	layout, bundle := filepath.Join(dir, "layout")+":image", filepath.Join(dir, "bundle")
	unpack := []string{"umoci", "unpack", "--image", layout, bundle}
	if os.Getuid() != 0 {
		unpack = slices.Insert(unpack, 2, "--rootless")
	}
	for _, c := range [][]string{{"skopeo", "copy", "--insecure-policy", "oci-archive:" + archive, "oci:" + layout},
		unpack} {
		if out, err := run(dir, os.Environ(), c[0], c[1:]...); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(c, " "), err, out)
		}
	}
	text, err := run(dir, os.Environ(), "skopeo", "inspect", "--raw", "--config", "oci:"+layout)
	must(t, err)
	var said struct {
		Config struct {
			User, WorkingDir      string
			Entrypoint, Cmd, Env  []string
			ExposedPorts, Volumes map[string]struct{}
			Healthcheck           struct{ Test []string }
		}
	}
	must(t, json.Unmarshal([]byte(text), &said))
	c := said.Config
	p := &picture{Folder: filepath.Join(bundle, "rootfs"), User: c.User, Dir: c.WorkingDir, Entrypoint: c.Entrypoint,
		Cmd: c.Cmd, Env: c.Env, Health: c.Healthcheck.Test, Entries: map[string]entry{}}
	for port := range c.ExposedPorts {
		p.Ports = append(p.Ports, strings.TrimSuffix(port, "/tcp"))
	}
	for volume := range c.Volumes {
		p.Volumes = append(p.Volumes, volume)
	}
	must(t, filepath.WalkDir(p.Folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == p.Folder {
			return err
		}
		info, err := d.Info()
		if err == nil {
			owner := info.Sys().(*syscall.Stat_t)
			p.Entries[strings.TrimPrefix(name, p.Folder)] = entry{info.Mode(), int(owner.Uid), int(owner.Gid)}
		}
		return err
	}))
	return p
}

// begins starts a container of an image, as far as possible without an engine, and runs its health
// check. Only root can do so in the image's folder, as a user, with an empty volume.
func begins(t *testing.T, p *picture, as string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	address := ln.Addr().String()
	must(t, ln.Close())
	env := append(slices.Clone(p.Env), "EVERTHREAD_HTTP_LISTEN="+address)
	command := func(args ...string) *exec.Cmd {
		cmd := &exec.Cmd{Path: args[0], Args: args, Dir: p.Dir, Env: env, SysProcAttr: &syscall.SysProcAttr{}}
		if os.Getuid() != 0 {
			cmd.Path, cmd.Dir = filepath.Join(p.Folder, args[0]), filepath.Join(p.Folder, p.Dir)
			cmd.Env = append(cmd.Env, "EVERTHREAD_DATA_DIR="+cmd.Dir)
			return cmd
		}
		user, group, _ := strings.Cut(as, ":")
		cmd.SysProcAttr.Chroot, cmd.SysProcAttr.Credential = p.Folder, &syscall.Credential{Uid: number(t, user),
			Gid: number(t, group)}
		return cmd
	}
	if os.Getuid() == 0 {
		for name, e := range p.Entries { // reading a Dockerfile assigns no owners
			must(t, os.Lchown(filepath.Join(p.Folder, name), e.User, e.Group))
			must(t, os.Chmod(filepath.Join(p.Folder, name), e.Mode))
		}
		left, err := filepath.Glob(filepath.Join(p.Folder, p.Dir, "*"))
		must(t, err)
		for _, name := range left {
			must(t, os.RemoveAll(name))
		}
		for dir := p.Folder; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
			must(t, os.Chmod(dir, 0o755))
		}
	}
	var said strings.Builder
	gateway := command(append(slices.Clone(p.Entrypoint), p.Cmd...)...)
	gateway.Stdout, gateway.Stderr = &said, &said
	must(t, gateway.Start())
	defer func() {
		_ = gateway.Process.Signal(syscall.SIGTERM)
		if err := gateway.Wait(); err != nil || t.Failed() {
			t.Errorf("the program ended with %v\n%s", err, said.String())
		}
	}()
	for begin := time.Now(); ; time.Sleep(50 * time.Millisecond) { // a process has no event to wait for
		out, err := command(p.Health[1:]...).CombinedOutput()
		ready := 0
		if resp, err := http.Get("http://" + address + "/readyz"); err == nil {
			ready = resp.StatusCode
			_ = resp.Body.Close()
		}
		if err == nil && ready == http.StatusOK {
			break
		}
		if time.Since(begin) > 30*time.Second {
			t.Fatalf("the container is not healthy: %v, /readyz %d\n%s", err, ready, out)
		}
	}
	if _, err := os.Stat(filepath.Join(p.Folder, p.Dir, "everthread.db")); err != nil {
		t.Error(err)
	}
}

func number(t *testing.T, text string) uint32 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 32)
	must(t, err)
	return uint32(n)
}

//go:build e2e

package e2etest

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// NewPooler starts PgBouncer in front of the server of a database, which gives every
// transaction another connection, and returns the URL through it.
func NewPooler(t *testing.T, database string) string {
	t.Helper()
	return StartPooler(t, database).URL
}

// Pooler is a running PgBouncer.
type Pooler struct {
	t    *testing.T
	addr string
	ini  string
	cmd  *exec.Cmd
	URL  string
}

// StartPooler is NewPooler with a Pooler that can be redirected.
func StartPooler(t *testing.T, database string) *Pooler {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		t.Skip("pgbouncer is not installed; `make test` installs it")
	}
	u, err := url.Parse(database)
	Must(t, err)
	addr := FreeAddress(t)
	dir, err := os.MkdirTemp("", "pooler")
	Must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	ini := filepath.Join(dir, "pgbouncer.ini")
	p := &Pooler{t: t, addr: addr, ini: ini}
	p.write(u)
	cmd := exec.Command(program, ini)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: nobody(t, dir, ini)}
	log := &logBuffer{}
	cmd.Stdout, cmd.Stderr = log, log
	Must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) { // it has no event to wait for
		if c, err := net.Dial("tcp", addr); err == nil {
			Must(t, c.Close())
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("PgBouncer does not answer\n%s", log)
		}
	}
	u.Host = addr
	u.RawQuery = "sslmode=disable"
	p.cmd, p.URL = cmd, u.String()
	return p
}

// write writes the configuration for the server of a database.
func (p *Pooler) write(u *url.URL) {
	p.t.Helper()
	host, port, err := net.SplitHostPort(p.addr)
	Must(p.t, err)
	password, ok := u.User.Password()
	if ok {
		password = " password=" + password
	}
	Must(p.t, os.WriteFile(p.ini, []byte(fmt.Sprintf(`[databases]
%s = host=%s port=%s user=%s%s
[pgbouncer]
listen_addr = %s
listen_port = %s
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 8
max_client_conn = 300
server_check_delay = 0
server_login_retry = 1
`, strings.TrimPrefix(u.Path, "/"), u.Hostname(), u.Port(), u.User.Username(), password, host, port)), 0o600))
}

// Lead redirects it to the database of the same name on another server.
func (p *Pooler) Lead(database string) {
	p.t.Helper()
	u, err := url.Parse(database)
	Must(p.t, err)
	p.write(u)
	Must(p.t, p.cmd.Process.Signal(syscall.SIGHUP))
}

// nobody is a user without rights that owns the files, as some programs refuse to run as
// root; nil: the test does not run as root.
func nobody(t *testing.T, files ...string) *syscall.Credential {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	who, err := user.Lookup("nobody")
	Must(t, err)
	uid, err := strconv.Atoi(who.Uid)
	Must(t, err)
	gid, err := strconv.Atoi(who.Gid)
	Must(t, err)
	for _, f := range files {
		Must(t, os.Chown(f, uid, gid))
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

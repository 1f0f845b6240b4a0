//go:build e2e

package e2etest

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Servers are a PostgreSQL primary and a synchronous standby.
type Servers struct {
	t                *testing.T
	bin, dir         string
	who              *syscall.Credential
	primary, standby *server
	URL              string // of both
	PrimaryURL       string
	StandbyURL       string
}

// server is a running server.
type server struct {
	cmd  *exec.Cmd
	port string
	log  *logBuffer
}

// NewServers starts both.
func NewServers(t *testing.T) *Servers {
	t.Helper()
	s := &Servers{t: t, bin: os.Getenv("EVERTHREAD_TEST_POSTGRES_BIN")}
	if s.bin == "" {
		t.Skip("EVERTHREAD_TEST_POSTGRES_BIN is not set; `scripts/postgres.sh bin` prints it")
	}
	var err error
	s.dir, err = os.MkdirTemp("", "servers")
	Must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(s.dir) })
	s.who = nobody(t, s.dir)
	s.run("initdb", "-D", "primary", "-U", "everthread", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8",
		"--no-sync")
	s.primary = s.start("primary")
	s.sql("postgres", "CREATE DATABASE everthread")
	s.sql("everthread", "CREATE EXTENSION vector", "CREATE EXTENSION btree_gin")
	s.run("pg_basebackup", "-h", "127.0.0.1", "-p", s.primary.port, "-U", "everthread", "-D", "standby", "-R",
		"-X", "stream", "-c", "fast", "--no-sync")
	s.standby = s.start("standby")
	s.sql("everthread", "ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
	s.until(s.url("everthread", s.primary), `SELECT COUNT(*) FROM pg_stat_replication WHERE sync_state = 'sync'`)
	s.URL = fmt.Sprintf("postgres://everthread@127.0.0.1:%s,127.0.0.1:%s/everthread?sslmode=disable", s.primary.port,
		s.standby.port)
	s.PrimaryURL, s.StandbyURL = s.url("everthread", s.primary), s.url("everthread", s.standby)
	return s
}

func (s *Servers) environment() []string { return append(os.Environ(), serverTools()...) }

// serverTools is the environment in which the programs of the tests' PostgreSQL are found, and, if they were only
// unpacked, their libraries.
func serverTools() []string {
	bin := os.Getenv("EVERTHREAD_TEST_POSTGRES_BIN")
	if bin == "" {
		return []string{"PATH=" + os.Getenv("PATH")}
	}
	libraries, _ := filepath.Glob(filepath.Join(bin, "../../../*-linux-*"))
	return []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "LD_LIBRARY_PATH=" + strings.Join(libraries, ":")}
}

func (s *Servers) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, program), args...)
	cmd.Dir, cmd.Env = s.dir, s.environment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.who, Setpgid: true}
	return cmd
}

func (s *Servers) run(program string, args ...string) {
	s.t.Helper()
	if out, err := s.command(program, args...).CombinedOutput(); err != nil {
		s.t.Fatalf("%s: %v\n%s", program, err, out)
	}
}

func (s *Servers) start(folder string) *server {
	s.t.Helper()
	_, port, err := net.SplitHostPort(FreeAddress(s.t))
	Must(s.t, err)
	r := &server{port: port, log: &logBuffer{}}
	r.cmd = s.command("postgres", "-D", folder, "-p", port, "-h", "127.0.0.1", "-k", "", "-c", "shared_buffers=32MB",
		"-c", "fsync=off") // tests kill the process, not the machine
	r.cmd.Stdout, r.cmd.Stderr = r.log, r.log
	Must(s.t, r.cmd.Start())
	s.t.Cleanup(r.kill)
	s.until(s.url("postgres", r), `SELECT 1`)
	return r
}

// kill ends a server with all its processes, like a power cut.
func (r *server) kill() {
	if r.cmd.ProcessState == nil {
		_ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL)
		_ = r.cmd.Wait()
	}
}

func (s *Servers) url(database string, r *server) string {
	return fmt.Sprintf("postgres://everthread@127.0.0.1:%s/%s?sslmode=disable", r.port, database)
}

// sql runs statements on the primary.
func (s *Servers) sql(database string, statements ...string) {
	s.t.Helper()
	db, err := sql.Open("pgx", s.url(database, s.primary))
	Must(s.t, err)
	defer db.Close()
	for _, st := range statements {
		_, err := db.Exec(st)
		Must(s.t, err)
	}
}

// until waits until a query returns a number above 0.
func (s *Servers) until(url, query string) {
	s.t.Helper()
	db, err := sql.Open("pgx", url)
	Must(s.t, err)
	defer db.Close()
	var last bytes.Buffer
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		var n int
		ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Second)
		err := db.QueryRowContext(ctx, query).Scan(&n)
		cancel()
		if err == nil && n > 0 {
			return
		}
		last.Reset()
		fmt.Fprint(&last, n, err)
	}
	s.t.Fatalf("%s: %s", query, last.String())
}

// KillPrimary ends the primary, like a power cut.
func (s *Servers) KillPrimary() { s.primary.kill() }

// Promote makes the standby the primary.
func (s *Servers) Promote() {
	s.t.Helper()
	db, err := sql.Open("pgx", s.StandbyURL)
	Must(s.t, err)
	defer db.Close()
	_, err = db.Exec(`SELECT pg_promote()`)
	Must(s.t, err)
}

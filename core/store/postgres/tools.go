package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// The server's programs that write and read a dump.
const (
	dumper   = "pg_dump"
	restorer = "pg_restore"
)

// byEnvironment is the database argument of a program that finds all of its connection in the environment.
const byEnvironment = "--dbname=postgresql://"

// diskFull is the error code of a server without room, and noRoom how it says it.
const (
	diskFull = "53100"
	noRoom   = "No space left on device"
)

// Tools fails if a program that backups need is missing, or older than the server.
func (s *Store) Tools(ctx context.Context) error {
	var server int
	if err := s.pool.QueryRow(ctx, `SELECT current_setting('server_version_num')::int / 10000`).Scan(&server); err != nil {
		return fmt.Errorf("read the server's version: %w", err)
	}
	for _, name := range []string{dumper, restorer} {
		var why string
		switch version, err := versionOf(ctx, name); {
		case errors.Is(err, exec.ErrNotFound):
			why = "is not installed, or not in a folder of PATH"
		case err != nil:
			return err
		case version < server:
			why = fmt.Sprintf("is of version %d, and the server of %d", version, server)
		default:
			continue
		}
		return fmt.Errorf("%s %s: install PostgreSQL's client programs, version %d or later (on Debian and Ubuntu the package postgresql-client-%d), and put their folder first in the variable PATH", name, why, server, server)
	}
	return nil
}

var version = regexp.MustCompile(`\(PostgreSQL\) ([0-9]+)`)

// versionOf returns the major version of a program.
func versionOf(ctx context.Context, name string) (int, error) {
	said, err := exec.CommandContext(ctx, name, "--version").Output()
	if err != nil {
		return 0, fmt.Errorf("run %s: %w", name, err)
	}
	m := version.FindSubmatch(said)
	if m == nil {
		return 0, fmt.Errorf("%s --version says %.80q, which is no version of PostgreSQL", name, said)
	}
	return strconv.Atoi(string(m[1]))
}

// run runs a program with a connection, from in to out. The configuration is not for it.
func run(ctx context.Context, connection []string, in io.Reader, out io.Writer, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	kept, said := &failed{Writer: out}, bytes.Buffer{}
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "EVERTHREAD_") || strings.HasPrefix(v, "PGSERVICE=")
	}), append(connection, "LC_ALL=C")...) // in the language of hints
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, kept, &said
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case kept.err != nil:
		return kept.err // the program only reports that nobody reads
	case err == nil:
		return nil
	}
	err = fmt.Errorf("%s: %w: %.2000s", name, err, bytes.TrimSpace(said.Bytes()))
	for text, hint := range hints {
		if bytes.Contains(said.Bytes(), []byte(text)) {
			err = fmt.Errorf("%w; %s", err, hint)
		}
	}
	if bytes.Contains(said.Bytes(), []byte(noRoom)) {
		err = fmt.Errorf("%w: %w", err, &pgconn.PgError{Severity: "ERROR", Code: diskFull, Message: noRoom})
	}
	return err
}

// hints say what to do about errors of a program, by their texts.
var hints = map[string]string{
	"unrecognized configuration parameter": "it is newer than this server: put the programs of the server's own version first in the variable PATH",
	"unsupported version":                  "it is older than the pg_dump that made the backup: install PostgreSQL's client programs of that version",
}

// failed keeps the error of its Writer.
type failed struct {
	io.Writer
	err error
}

// Write writes.
func (f *failed) Write(p []byte) (int, error) {
	n, err := f.Writer.Write(p)
	f.err = err
	return n, err
}

// connection returns the variables with which a program connects as the store does.
func (s *Store) connection() (env []string) {
	c := s.direct
	hosts, ports := []string{c.Host}, []string{strconv.Itoa(int(c.Port))}
	for _, f := range c.Fallbacks { // the same server follows itself with other encryption
		if port := strconv.Itoa(int(f.Port)); f.Host != hosts[len(hosts)-1] || port != ports[len(ports)-1] {
			hosts, ports = append(hosts, f.Host), append(ports, port)
		}
	}
	if len(hosts) > 1 {
		env = append(env, "PGTARGETSESSIONATTRS=read-write")
	}
	if u, err := url.Parse(c.ConnString()); err == nil {
		for key := range u.Query() {
			if slices.Contains(shared, key) {
				env = append(env, "PG"+strings.ToUpper(strings.ReplaceAll(key, "_", ""))+"="+u.Query().Get(key))
			}
		}
	}
	return append(env, "PGHOST="+strings.Join(hosts, ","), "PGPORT="+strings.Join(ports, ","), "PGUSER="+c.User,
		"PGDATABASE="+c.Database, "PGPASSWORD="+c.Password)
}

// shared are the settings of an address that the server's programs take from the environment.
var shared = []string{"sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl", "sslsni", "sslnegotiation",
	"gssencmode", "krbsrvname", "channel_binding", "target_session_attrs", "options"}

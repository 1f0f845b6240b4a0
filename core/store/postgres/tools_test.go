package postgres

import (
	"slices"
	"strings"
	"testing"
)

// The server's tools connect as the store does: to the same hosts, with the same encryption, past a pooler.
func TestConnection_toolsConnectAsTheStore(t *testing.T) {
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"one host": {Options{URL: "postgres://ada:a%20b%2Fc@db:6000/life?sslmode=disable"},
			"PGDATABASE=life PGHOST=db PGPASSWORD=a b/c PGPORT=6000 PGSSLMODE=disable PGUSER=ada"},
		"several hosts, of which each comes twice": {Options{URL: "postgres://ada@one:1,two:2/life?sslmode=prefer"},
			"PGDATABASE=life PGHOST=one,two PGPASSWORD= PGPORT=1,2 PGSSLMODE=prefer PGTARGETSESSIONATTRS=read-write PGUSER=ada"},
		"what only the store understands": {Options{URL: "postgres://ada:x@db/life?search_path=own&pool_max_conns=3&" +
			"channel_binding=require&options=-c%20jit%3Doff"},
			"PGCHANNELBINDING=require PGDATABASE=life PGHOST=db PGOPTIONS=-c jit=off PGPASSWORD=x PGPORT=5432 PGUSER=ada"},
		"a pooler": {Options{URL: "postgres://ada:x@pooler/life", Direct: "postgres://ada:y@[::1]:7/life"},
			"PGDATABASE=life PGHOST=::1 PGPASSWORD=y PGPORT=7 PGUSER=ada"},
	} {
		for _, name := range []string{"PGHOST", "PGPASSWORD", "PGSSLMODE"} {
			t.Setenv(name, "") // of the machine
		}
		s, err := Open(t.Context(), c.o)
		if err != nil {
			t.Fatal(name, err)
		}
		got := s.connection()
		slices.Sort(got)
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, text, c.want)
		}
		if err := s.Close(); err != nil {
			t.Error(name, err)
		}
	}
}

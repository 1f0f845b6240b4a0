package main

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/store/sqlite"
	"github.com/everthread/everthread/core/trust"
)

// hostile is the name of a stranger.
const hostile = "Eve\x1b]0;title\x07\x1b[2J\u009b31m\u202eolleh\r\nForged line"

// TestPrint_namesSteerNoTerminal: a terminal obeys nothing in the name or the messages of a stranger,
// and none of it begins a line, whatever the command.
func TestPrint_namesSteerNoTerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := []string{"EVERTHREAD_DATA_DIR=" + dir}
	do := func(in string, args ...string) string {
		var out, err bytes.Buffer
		run(args, strings.NewReader(in), &out, &err, env)
		return out.String() + err.String()
	}
	do("I like trains "+hostile+"\n", "chat")
	st, err := sqlite.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	eve, err := st.AddUser(t.Context(), core.User{Name: hostile, Role: core.RoleMember, CreatedAt: time.Now()})
	if err == nil {
		_, err = st.AddIdentity(t.Context(), core.Identity{User: eve.ID, Address: core.Address{Channel: "telegram",
			Account: "1", External: hostile}, Name: hostile})
	}
	if err != nil {
		t.Fatal(err)
	}
	st.Close()
	id := fmt.Sprint(eve.ID)
	for _, args := range []string{"users list", "users link " + id, "users link " + id + " 1", "users link 1 " + id,
		"apikey create --name x --scope read --user " + id, "apikey list", "export --user " + id + " --out " +
			filepath.Join(t.TempDir(), "a.zip"), "turns show 99 --user " + id,
		"deliveries retry 99 --user " + id, "deliveries list --all", "days show today", "search trains", "turns list",
		"users delete " + id, "users delete --yes --verify " + id} {
		for _, extra := range []string{"", "--json"} {
			if extra != "" && strings.HasPrefix(args, "export") {
				continue
			}
			said := do("no\n", append(strings.Fields(args), strings.Fields(extra)...)...)
			if said == "" || strings.ContainsFunc(said, trust.Obeyed) || strings.Contains(said, "\nForged") {
				t.Errorf("%s %s says %q", args, extra, said)
			}
		}
	}
	for _, args := range [][]string{{"users", "delete", hostile}, {"import", hostile, hostile}, {"users", "add", hostile},
		{"pair", "approve", hostile}, {hostile}} {
		if said := do("", args...); said == "" || strings.ContainsFunc(said, trust.Obeyed) {
			t.Errorf("%q says %q", args, said)
		}
	}
}

func TestLogger_namesSteerNoTerminal(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"console", "json"} {
		var out bytes.Buffer
		log := newLogger(configs.Log{Level: "info", Format: format}, &out).With(zap.String("name", hostile))
		log.Info("came "+hostile, zap.Error(errors.New(hostile)), zap.Strings("names", []string{hostile}))
		if said := out.String(); strings.ContainsFunc(said, trust.Obeyed) || strings.Count(said, "\n") != 1 ||
			!strings.Contains(said, `\u202e`) {
			t.Errorf("%s: %q", format, said)
		}
	}
}

// TestTurn_namesWhatTheServerDoesNotTake says it in words, and nothing where a server takes everything.
func TestTurn_namesWhatTheServerDoesNotTake(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reduced []core.Reduction
		want    string
	}{
		{nil, ""},
		{[]core.Reduction{core.ReducedRoles, core.ReducedImages}, "\nThe model's server: it wants messages to alternate, " +
			"so neighbouring ones are joined; it takes no pictures.\n"},
	} {
		var b strings.Builder
		sayOfTurns("en").snapshot(&b, "en", &store.Snapshot{Reduced: c.reduced})
		if got := b.String(); !strings.Contains(got, c.want) || strings.Contains(got, "server") != (c.want != "") {
			t.Errorf("%v: %q", c.reduced, got)
		}
	}
}

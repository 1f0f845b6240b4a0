package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	mrand "math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/zap"
	_ "modernc.org/sqlite"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/people"
	"github.com/everthread/everthread/core/chat/gateway"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/store/sqlite"
	"github.com/everthread/everthread/internal/fulltest"
)

func TestMain(m *testing.M) {
	fulltest.Waits()
	testscript.Main(m, map[string]func(){"everthread": main})
}

// TestScripts runs the scripts of testdata/script: input and output of commands.
func TestScripts(t *testing.T) {
	t.Parallel()
	few := []string{"testdata/script/doctor.txtar", "testdata/script/fresh.txtar", "testdata/script/serve.txtar",
		"testdata/script/usage.txtar"}
	dir := fulltest.Size("", "testdata/script")
	if dir == "" {
		t.Logf("%d of all scripts are run; EVERTHREAD_TEST_ALL=1 runs the rest", len(few))
	}
	testscript.Run(t, testscript.Params{
		Dir:   dir,
		Files: few, // without a folder
		Setup: func(e *testscript.Env) error {
			listen, err := freeAddress()
			e.Setenv("EVERTHREAD_HTTP_LISTEN", listen)
			e.Setenv("LISTEN", listen)
			e.Setenv("TZ", "UTC")
			e.Setenv("EVERTHREAD_WEB_SEARCH", "off") // no test reaches the web
			e.Setenv("GORACE", noSleep)
			return err
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":    exits,
			"awaiturl": awaitURL,
			"term":     terminate,
			"schema":   schema,
			"knock":    knock,
			"trouble":  trouble,
			"telegram": fakeTelegram,
			"capture":  capture,
			"reminders": func(ts *testscript.TestScript, _ bool, args []string) {
				var lines strings.Builder
				n, err := strconv.Atoi(args[1])
				ts.Check(err)
				for i := range n {
					fmt.Fprintf(&lines,
						`{"text":"water %d","due_at":"2024-01-01T10:00:00Z","cron":%q,"zone":"UTC","state":"active","created_at":"2024-01-01T09:00:00Z"}`+"\n", i, args[2])
				}
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(lines.String()), 0o600))
			},
		},
	})
}

// noSleep keeps the race detector from sleeping for a second at every exit.
const noSleep = "atexit_sleep_ms=0"

// freeAddress returns an address that nobody listens on. Its port is below the ephemeral
// ones, so that no test gets it meanwhile.
func freeAddress() (string, error) {
	for {
		ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 15000+mrand.IntN(17000)))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			return "", err
		}
		return ln.Addr().String(), ln.Close()
	}
}

// exits CODE command args…: runs a command and checks its exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE command args…")
	}
	code := 0
	err := ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if want, err := strconv.Atoi(args[0]); err != nil || code != want {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

// awaitURL STATUS url: waits until url answers with the status.
func awaitURL(ts *testscript.TestScript, _ bool, args []string) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	last := ""
	for ctx.Err() == nil {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, args[1], nil)
		ts.Check(err)
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			resp.Body.Close()
			if last = strconv.Itoa(resp.StatusCode); last == args[0] {
				return
			}
		}
		job.Wait(ctx, 10*time.Millisecond)
	}
	ts.Fatalf("%s answered %q, want %s", args[1], last, args[0])
}

// terminate: tells the commands in the background to stop.
func terminate(ts *testscript.TestScript, _ bool, _ []string) {
	for _, c := range ts.BackgroundCmds() {
		ts.Check(c.Process.Signal(syscall.SIGTERM))
	}
}

// schema VERSION: sets the version of the schema in the database of ./data.
func schema(ts *testscript.TestScript, _ bool, args []string) {
	db, err := sql.Open("sqlite", filepath.Join(ts.MkAbs("data"), "everthread.db"))
	ts.Check(err)
	defer db.Close()
	_, err = db.Exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (?, 1)`, args[0])
	ts.Check(err)
}

// knock NAME text: a stranger writes, and $CODE becomes the code that they get. Without text a group does.
func knock(ts *testscript.TestScript, _ bool, args []string) {
	st, err := sqlite.Open(ts.MkAbs("data"))
	ts.Check(err)
	defer st.Close()
	p := &people.People{Store: st, Log: zap.NewNop(), Now: time.Now, Rand: rand.Reader,
		Settings: people.Settings{Policy: people.Pairing, CodeLife: time.Hour, MaxCodes: 3, Language: "en"},
		Channels: gateway.Channels{}}
	a := core.Address{Channel: "telegram", Account: "1", External: "chat-of-" + args[0]}
	in := core.Inbound{Address: a, EventID: args[0] + time.Now().String(), Kind: core.InMessage, NativeID: "1", Name: args[0],
		SentAt: time.Now(), ReceivedAt: time.Now()}
	if len(args) > 1 {
		in.Text = args[1]
		_, err = p.Stranger(context.Background(), in)
	} else {
		in.Group = &core.Group{Title: args[0], Speaker: "somebody", Addressed: true}
		_, err = p.Group(context.Background(), in)
	}
	ts.Check(err)
	codes, err := st.Codes(context.Background(), effect.CodePair, time.Now())
	ts.Check(err)
	for _, c := range codes {
		if c.Name == args[0] {
			ts.Setenv("CODE", c.Hint)
		}
	}
}

// trouble: the owner gets a failed delivery and a failed job.
func trouble(ts *testscript.TestScript, _ bool, _ []string) {
	db, err := sql.Open("sqlite", filepath.Join(ts.MkAbs("data"), "everthread.db"))
	ts.Check(err)
	defer db.Close()
	for _, query := range []string{
		`UPDATE deliveries SET state = 'failed', error = 'chat not found'`,
		`UPDATE delivery_parts SET state = 'failed'`,
		`INSERT INTO jobs (id, user_id, queue, key, ref, payload, state, run_at, attempt, error, since) VALUES (700, 1, 'summarize', 'summaries', 1, '{}', 'dead', 5, 6, 'the model said no', 1)`,
	} {
		_, err := db.Exec(query)
		ts.Check(err)
	}
}

// capture NAME PATTERN: $NAME becomes the match of the pattern's group in the last output.
func capture(ts *testscript.TestScript, _ bool, args []string) {
	m := regexp.MustCompile("(?m)" + args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if len(m) != 2 {
		ts.Fatalf("no match for %s", args[1])
	}
	ts.Setenv(args[0], m[1])
}

// fakeTelegram [refusing]: starts a Bot API, and points the environment to it.
func fakeTelegram(ts *testscript.TestScript, _ bool, args []string) {
	s := telegramtest.New()
	ts.Defer(s.Close)
	if len(args) > 0 {
		s.Fail("getMe", 1, telegramtest.Failure{Code: http.StatusUnauthorized, Description: "Unauthorized"})
	}
	ts.Setenv("EVERTHREAD_CHANNELS_TELEGRAM_API_URL", s.URL())
	ts.Setenv("EVERTHREAD_CHANNELS_TELEGRAM_TOKEN", "123456:TEST")
}

// TestUserDelete_clearsEveryTable checks every table that has a user: tables added to the
// schema later must be cleared too.
func TestUserDelete_clearsEveryTable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	st, err := sqlite.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if err := st.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "everthread.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	u, err := st.AddUser(t.Context(), core.User{Name: "Bob", Role: core.RoleMember, CreatedAt: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	tables := userTables(t, db)
	if len(tables) < 15 {
		t.Fatalf("only %v have a user", tables)
	}
	for _, table := range tables {
		fillRow(t, db, table, u.ID)
	}
	if _, err := db.Exec(`UPDATE messages SET extra = '{"files":[{"kind":"photo","path":"2/a.jpg"}]}'`); err != nil {
		t.Fatal(err)
	}
	files, err := st.DeleteUser(t.Context(), u.ID)
	if err != nil || fmt.Sprint(files) != "[2/a.jpg 1 2]" {
		t.Fatalf("got %v, %v", files, err)
	}
	for _, table := range tables {
		var n int
		if err := db.QueryRow(fmt.Sprintf(`SELECT COUNT(*) FROM %s WHERE user_id = ?`, table), u.ID).Scan(&n); err != nil ||
			n > 0 {
			t.Errorf("%s has %d rows of a deleted user (%v)", table, n, err)
		}
	}
	if _, err := st.DeleteUser(t.Context(), u.ID); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("deleted again: %v", err)
	}
}

func userTables(t *testing.T, db *sql.DB) []string {
	rows, err := db.Query(
		`SELECT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c ON c.name = 'user_id' WHERE m.type = 'table' AND m.name NOT LIKE '%\_vectors%' ESCAPE '\'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		out = append(out, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// fillRow ensures that a table has a row of a user.
func fillRow(t *testing.T, db *sql.DB, table string, user core.UserID) {
	rows, err := db.Query(`SELECT name, type FROM pragma_table_info(?)`, table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var names, values []string
	for rows.Next() {
		var name, kind string
		if err := rows.Scan(&name, &kind); err != nil {
			t.Fatal(err)
		}
		value := "'x'"
		switch {
		case name == "user_id":
			value = strconv.FormatInt(int64(user), 10)
		case kind != "text":
			value = "77"
		}
		names, values = append(names, name), append(values, value)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	query := fmt.Sprintf(`INSERT INTO %s (%s) VALUES (%s)`, table, strings.Join(names, ", "), strings.Join(values, ", "))
	if _, err := db.Exec(query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

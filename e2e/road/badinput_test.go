//go:build e2e

package road

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
	"github.com/everthread/everthread/e2e/e2etest"
)

func TestUpdates_foreignAreKeptRaw(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		first := w.Telegram.LastUpdate() + 1
		foreign := []string{
			`{"update_id":%d,"message":{"message_id":"not a number"}}`,
			`{"update_id":%d,"message":"not an object"}`,
			`{"update_id":%d,"message":null}`,
			`{"update_id":%d,"purple":{"text":"unknown kind"}}`,
			`{"update_id":%d,"message":{"message_id":1,"date":"yesterday","chat":{"id":111222333,"type":"private"},"text":"x"}}`,
			`{"update_id":%d,"message":{"message_id":2,"date":1,"chat":null,"from":null,"text":"x"}}`,
			`{"update_id":%d,"message":{"message_id":3,"date":1,"chat":{"id":1,"type":"newkind"},"from":{"id":1},"text":"x"}}`,
			`{"update_id":%d,"callback_query":{"id":["x"],"data":"/help"}}`,
			`{"update_id":%d,"message":{"message_id":5,"reply_to_message":` + strings.Repeat(`{"reply_to_message":`, 500) +
				`{}` + strings.Repeat(`}`, 500) + `}}`,
		}
		for n, raw := range foreign {
			w.Telegram.OfferRaw(fmt.Sprintf(raw, first+int64(n)))
		}
		w.Telegram.Say(e2etest.Ada, "after")
		g := w.Start()
		if got := w.Sent(e2etest.Ada, 1)[0].Text; got != "echo: after" {
			t.Errorf("got %q\n%s", got, g.Log)
		}
		e2etest.Must(t, w.Telegram.Wait(t.Context(), func() bool { return w.Telegram.Pending() == 0 }))
		before := w.Telegram.Calls("getUpdates")
		time.Sleep(500 * time.Millisecond) // nothing may happen, which has no event
		if n := w.Telegram.Calls("getUpdates") - before; n > 2 {
			t.Errorf("it polled %d times without anything new", n)
		}
		l := w.Ledger()
		if got := l.Count(`SELECT COUNT(*) FROM events WHERE payload IS NOT NULL AND message_id = 0`); got != len(foreign) {
			t.Errorf("%d of %d foreign updates are kept raw", got, len(foreign))
		}
		if got := l.Count(`SELECT COUNT(*) FROM messages WHERE role = 'user'`); got != 1 {
			t.Errorf("%d messages are stored", got)
		}
	})
}

// An update without an id cannot be confirmed. The service may offer it forever, but the
// gateway does not spin over it.
func TestUpdates_withoutIDCauseNoSpinning(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	w.Telegram.OfferRaw(`{"purple":1}`)
	w.Start()
	e2etest.Must(t, w.Telegram.Wait(t.Context(), func() bool { return w.Telegram.Calls("getUpdates") >= 2 }))
	before := w.Telegram.Calls("getUpdates")
	time.Sleep(time.Second) // the test checks the rate of polls
	if n := w.Telegram.Calls("getUpdates") - before; n > 10 {
		t.Errorf("it polled %d times in a second", n)
	}
	w.Telegram.Say(e2etest.Ada, "hello")
	w.Sent(e2etest.Ada, 1)
}

func TestWebhook_malformedCallIsKeptRaw(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	p := w.Pushed(t)
	bodies := []string{``, `{`, `[]`, `"text"`, `null`, `{"update_id":"x"}`, "\xff\xfe",
		`{"update_id":7,"message":{"text":"\ud800"}}`, strings.Repeat("[", 100_000)}
	for _, body := range slices.Concat(bodies, bodies) {
		if !p.Post(body) {
			t.Errorf("%.20q was not accepted", body)
		}
	}
	if got := w.Ledger().Count(`SELECT COUNT(*) FROM events WHERE message_id = 0`); got != len(bodies) {
		t.Errorf("%d events are stored, want %d", got, len(bodies))
	}
	p.Say(e2etest.Ada, "after")
	w.Sent(e2etest.Ada, 1)
}

func TestTexts_oddAreStoredAsTheyAre(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		w.Start()
		l := w.Ledger()
		texts := []struct{ name, raw, want string }{
			{"a lone surrogate", `"half \ud83d here"`, "half \uFFFD here"},
			{"a family of joiners", `"family 👩‍👩‍👧‍👦 here"`, "family 👩‍👩‍👧‍👦 here"},
			{"right to left", `"\u202eשלום עולם مرحبا\u202c"`, "\u202eשלום עולם مرحبا\u202c"},
			{"a NUL", `"a\u0000b"`, "a\uFFFDb"},
			{"many accents", `"Z` + strings.Repeat(`\u0351\u0337`, 60) + `algo"`,
				"Z" + strings.Repeat("\u0351\u0337", 60) + "algo"},
			{"quotes for SQL", `"'; DROP TABLE messages; --"`, "'; DROP TABLE messages; --"},
			{"markup", `"*_[` + "`" + `<b>&amp;"`, "*_[`<b>&amp;"},
			{"a path that looks like a command", `"/etc/passwd is a file"`, "/etc/passwd is a file"},
		}
		for n, c := range texts {
			w.Message(int64(n+1), map[string]any{"text": json.RawMessage(c.raw)})
			w.Sent(e2etest.Ada, n+1)
			if got := l.Transcript(fmt.Sprint(e2etest.Ada)); len(got) != n+1 || got[n] != c.want {
				t.Fatalf("%s: got %q, want %q", c.name, got, c.want)
			}
		}
	})
}

func TestTexts_megabyteIsStoredWhole(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		g := w.Start()
		text := strings.TrimSpace(strings.Repeat("all work and no play makes a dull day ", 1<<20/38))
		w.Message(1, map[string]any{"text": text})
		w.Sent(e2etest.Ada, 1)
		l := w.Ledger()
		l.Quiet(30*time.Second, g.Log)
		w.Check(l, e2etest.Ada, []string{text})
		var shown struct {
			Context struct {
				Total int `json:"total_tokens"`
				Cap   int `json:"cap_tokens"`
			} `json:"context"`
		}
		turn := l.Lines(`SELECT id FROM turns`)[0]
		e2etest.Must(t, json.Unmarshal([]byte(w.MustRun("turns", "show", turn, "--user", "Ada", "--json")), &shown))
		if c := shown.Context; c.Total == 0 || c.Total > c.Cap {
			t.Errorf("the prompt has %d tokens of at most %d", c.Total, c.Cap)
		}
		w.Telegram.Say(e2etest.Ada, "and now?")
		w.Settle(l, g)
		w.Check(l, e2etest.Ada, []string{text, "and now?"})
	})
}

func TestDates_impossibleIsReplaced(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		w.Start()
		tomorrow := time.Now().Add(24 * time.Hour).Unix()
		for n, date := range []int64{1, tomorrow, 0, -5, 1 << 40} {
			w.Message(int64(n+1), map[string]any{"date": date, "text": fmt.Sprint("at ", date)})
			w.Sent(e2etest.Ada, n+1)
		}
		l := w.Ledger()
		now := time.Now().UnixMilli()
		if got := l.Count(`SELECT COUNT(*) FROM messages WHERE role = 'user' AND sent_at BETWEEN $1 AND $2`, now-60_000,
			now+60_000); got != 5 {
			t.Errorf("%d of 5 messages are of now", got)
		}
		if got := l.Count(`SELECT COUNT(*) FROM messages WHERE platform_at = $1`, tomorrow*1000); got != 1 {
			t.Errorf("the service's time is not kept")
		}
		if got := l.Lines(`SELECT label FROM segments`); len(got) > 2 {
			t.Errorf("days: %v", got)
		}
	})
}

func TestUpdates_repeatedAndReorderedTakenOnce(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		g := w.Start()
		l := w.Ledger()
		first := w.Message(51, map[string]any{"text": "later id first"})
		w.Message(50, map[string]any{"text": "earlier id second"})
		w.Telegram.Again(first)
		w.Telegram.Edit(e2etest.Ada, 40, "an edit of a message never seen")
		w.Telegram.Again(w.Telegram.LastUpdate())
		w.Message(40, map[string]any{"text": "its first text, too late"})
		w.Telegram.Edit(e2etest.Ada, 51, "later id first, edited")
		w.Message(52, map[string]any{"text": "the end"})
		w.Settle(l, g)
		w.Check(l, e2etest.Ada, []string{"later id first, edited", "earlier id second", "an edit of a message never seen",
			"the end"})
	})
}

func TestServe_saysWhatToDo(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	e2etest.Must(t, os.WriteFile(file, nil, 0o600))
	for _, c := range []struct{ name, env, want string }{
		{"a data folder that cannot be", "EVERTHREAD_DATA_DIR=" + file + "/data", "cannot be written"},
		{"an unknown key", "EVERTHREAD_LLM_MODLE=x", "did you mean EVERTHREAD_LLM_MODEL?"},
		{"a wrong time zone", "EVERTHREAD_DEFAULT_TIMEZONE=Europe/Pairs", "write a name like Europe/Paris"},
		{"an address that is taken", "EVERTHREAD_HTTP_LISTEN=" + strings.TrimPrefix(telegramURL(t), "http://"), "is free"},
		{"no database URL", "EVERTHREAD_DATABASE_URL=mysql://x", "database_url"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := e2etest.NewTown(t, "")
			g := w.Launch(c.env)
			if !g.Wait(10*time.Second) || g.Cmd.ProcessState.ExitCode() != 1 || !strings.Contains(g.Log.String(), c.want) {
				t.Errorf("want exit code 1 and %q, got %v\n%s", c.want, g.Cmd.ProcessState, g.Log)
			}
		})
	}
}

func telegramURL(t *testing.T) string {
	s := telegramtest.New()
	t.Cleanup(s.Close)
	return s.URL()
}

func TestSchema_newerIsLeftAlone(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		w.Start().Stop()
		_, err := w.Ledger().DB.Exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, $1)`, true)
		e2etest.Must(t, err)
		g := w.Launch()
		if !g.Wait(10*time.Second) || g.Cmd.ProcessState.ExitCode() != 1 ||
			!strings.Contains(g.Log.String(), "newer version of everthread") {
			t.Errorf("got %v\n%s", g.Cmd.ProcessState, g.Log)
		}
	})
}

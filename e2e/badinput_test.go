//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
)

// message offers a message of Ada's with the given fields beyond sender and chat.
func (w *town) message(id int64, fields map[string]any) int64 {
	m := written(ada, id, "")
	for k, v := range fields {
		m[k] = v
	}
	return w.telegram.Offer(map[string]any{"message": m})
}

func TestForeignUpdatesAreKeptRawAndTakenOnce(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newTown(t, database(t))
		first := w.telegram.LastUpdate() + 1
		foreign := []string{
			`{"update_id":%d,"message":{"message_id":"not a number"}}`,
			`{"update_id":%d,"message":"not an object"}`,
			`{"update_id":%d,"message":null}`,
			`{"update_id":%d,"purple":{"text":"unknown kind"}}`,
			`{"update_id":%d,"message":{"message_id":1,"date":"yesterday","chat":{"id":111222333,"type":"private"},"text":"x"}}`,
			`{"update_id":%d,"message":{"message_id":2,"date":1,"chat":null,"from":null,"text":"x"}}`,
			`{"update_id":%d,"message":{"message_id":3,"date":1,"chat":{"id":1,"type":"newkind"},"from":{"id":1},"text":"x"}}`,
			`{"update_id":%d,"callback_query":{"id":["x"],"data":"/help"}}`,
			`{"update_id":%d,"message":{"message_id":5,"reply_to_message":` + strings.Repeat(`{"reply_to_message":`, 500) + `{}` + strings.Repeat(`}`, 500) + `}}`,
		}
		for n, raw := range foreign {
			w.telegram.OfferRaw(fmt.Sprintf(raw, first+int64(n)))
		}
		w.telegram.Say(ada, "after")
		g := w.start()
		if got := w.sent(ada, 1)[0].Text; got != "echo: after" {
			t.Errorf("got %q\n%s", got, g.log)
		}
		must(t, w.telegram.Wait(t.Context(), func() bool { return w.telegram.Pending() == 0 }))
		before := w.telegram.Calls("getUpdates")
		time.Sleep(500 * time.Millisecond) // nothing may happen, which has no event
		if n := w.telegram.Calls("getUpdates") - before; n > 2 {
			t.Errorf("it polled %d times without anything new", n)
		}
		l := w.ledger()
		if got := l.count(`SELECT COUNT(*) FROM events WHERE payload IS NOT NULL AND message_id = 0`); got != len(foreign) {
			t.Errorf("%d of %d foreign updates are kept raw", got, len(foreign))
		}
		if got := l.count(`SELECT COUNT(*) FROM messages WHERE role = 'user'`); got != 1 {
			t.Errorf("%d messages are stored", got)
		}
	})
}

// An update that does not say its id cannot be confirmed: it may be offered for
// ever, but the gateway does not spin over it.
func TestAnUpdateWithoutAnIDDoesNotKeepTheGatewayBusy(t *testing.T) {
	t.Parallel()
	w := newTown(t, "")
	w.telegram.OfferRaw(`{"purple":1}`)
	w.start()
	must(t, w.telegram.Wait(t.Context(), func() bool { return w.telegram.Calls("getUpdates") >= 2 }))
	before := w.telegram.Calls("getUpdates")
	time.Sleep(time.Second) // the rate of polls is what is looked at
	if n := w.telegram.Calls("getUpdates") - before; n > 10 {
		t.Errorf("it polled %d times in a second", n)
	}
	w.telegram.Say(ada, "hello")
	w.sent(ada, 1)
}

func TestAMalformedWebhookCallIsKeptRaw(t *testing.T) {
	t.Parallel()
	w := newTown(t, "")
	p := w.pushed(t)
	bodies := []string{``, `{`, `[]`, `"text"`, `null`, `{"update_id":"x"}`, "\xff\xfe", `{"update_id":7,"message":{"text":"\ud800"}}`, strings.Repeat("[", 100_000)}
	for _, body := range slices.Concat(bodies, bodies) {
		if !p.post(body) {
			t.Errorf("%.20q was not taken", body)
		}
	}
	if got := w.ledger().count(`SELECT COUNT(*) FROM events WHERE message_id = 0`); got != len(bodies) {
		t.Errorf("%d events are stored, want %d", got, len(bodies))
	}
	p.say(ada, "after")
	w.sent(ada, 1)
}

// pushed starts a gateway with a webhook, and the service that calls it.
func (w *town) pushed(t *testing.T) *pushed {
	t.Helper()
	w.env = append(w.env, "EVERTHREAD_CHANNELS_TELEGRAM_MODE=webhook", "EVERTHREAD_CHANNELS_TELEGRAM_WEBHOOK_SECRET="+webhookKey,
		"EVERTHREAD_HTTP_PUBLIC_URL=https://everthread.example.org")
	g := w.start()
	p := &pushed{t: t, targets: []*atomicGateway{{}}, client: http.Client{Timeout: 10 * time.Second}}
	p.targets[0].Store(g)
	return p
}

func TestOddTextsAreStoredAsTheyAreAndAnswered(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newTown(t, database(t))
		w.start()
		l := w.ledger()
		texts := []struct{ name, raw, want string }{
			{"a lone surrogate", `"half \ud83d here"`, "half \uFFFD here"},
			{"a family of joiners", `"family 👩‍👩‍👧‍👦 here"`, "family 👩‍👩‍👧‍👦 here"},
			{"right to left", `"\u202eשלום עולם مرحبا\u202c"`, "\u202eשלום עולם مرحبا\u202c"},
			{"a NUL", `"a\u0000b"`, "a\uFFFDb"},
			{"many accents", `"Z` + strings.Repeat(`\u0351\u0337`, 60) + `algo"`, "Z" + strings.Repeat("\u0351\u0337", 60) + "algo"},
			{"quotes for SQL", `"'; DROP TABLE messages; --"`, "'; DROP TABLE messages; --"},
			{"markup", `"*_[` + "`" + `<b>&amp;"`, "*_[`<b>&amp;"},
			{"a path that looks like a command", `"/etc/passwd is a file"`, "/etc/passwd is a file"},
		}
		for n, c := range texts {
			w.message(int64(n+1), map[string]any{"text": json.RawMessage(c.raw)})
			w.sent(ada, n+1)
			if got := l.transcript(fmt.Sprint(ada)); len(got) != n+1 || got[n] != c.want {
				t.Fatalf("%s: got %q, want %q", c.name, got, c.want)
			}
		}
	})
}

func TestATextOfAMegabyteIsStoredWholeAndAnswered(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newTown(t, database(t))
		g := w.start()
		text := strings.TrimSpace(strings.Repeat("all work and no play makes a dull day ", 1<<20/38))
		w.message(1, map[string]any{"text": text})
		w.sent(ada, 1)
		l := w.ledger()
		l.quiet(30*time.Second, g.log)
		w.check(l, ada, []string{text})
		var shown struct {
			Context struct {
				Total int `json:"total_tokens"`
				Cap   int `json:"cap_tokens"`
			} `json:"context"`
		}
		turn := l.lines(`SELECT id FROM turns`)[0]
		must(t, json.Unmarshal([]byte(w.mustRun("turns", "show", turn, "--user", "Ada", "--json")), &shown))
		if c := shown.Context; c.Total == 0 || c.Total > c.Cap {
			t.Errorf("the prompt has %d tokens of at most %d", c.Total, c.Cap)
		}
		w.telegram.Say(ada, "and now?")
		w.settle(l, g)
		w.check(l, ada, []string{text, "and now?"})
	})
}

func TestADateThatCannotBeTrueIsReplaced(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newTown(t, database(t))
		w.start()
		tomorrow := time.Now().Add(24 * time.Hour).Unix()
		for n, date := range []int64{1, tomorrow, 0, -5, 1 << 40} {
			w.message(int64(n+1), map[string]any{"date": date, "text": fmt.Sprint("at ", date)})
			w.sent(ada, n+1)
		}
		l := w.ledger()
		now := time.Now().UnixMilli()
		if got := l.count(`SELECT COUNT(*) FROM messages WHERE role = 'user' AND sent_at BETWEEN $1 AND $2`, now-60_000, now+60_000); got != 5 {
			t.Errorf("%d of 5 messages are of now", got)
		}
		if got := l.count(`SELECT COUNT(*) FROM messages WHERE platform_at = $1`, tomorrow*1000); got != 1 {
			t.Errorf("the service's time is not kept")
		}
		if got := l.lines(`SELECT label FROM segments`); len(got) > 2 {
			t.Errorf("days: %v", got)
		}
	})
}

func TestRepeatedAndReorderedUpdatesAreTakenOnce(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newTown(t, database(t))
		g := w.start()
		l := w.ledger()
		first := w.message(51, map[string]any{"text": "later id first"})
		w.message(50, map[string]any{"text": "earlier id second"})
		w.telegram.Again(first)
		w.telegram.Edit(ada, 40, "an edit of a message never seen")
		w.telegram.Again(w.telegram.LastUpdate())
		w.message(40, map[string]any{"text": "its first text, too late"})
		w.telegram.Edit(ada, 51, "later id first, edited")
		w.message(52, map[string]any{"text": "the end"})
		w.settle(l, g)
		w.check(l, ada, []string{"later id first, edited", "earlier id second", "an edit of a message never seen", "the end"})
	})
}

func TestAServerThatCannotRunSaysWhatToDo(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	for _, c := range []struct{ name, env, want string }{
		{"a data folder that cannot be", "EVERTHREAD_DATA_DIR=" + file + "/data", "cannot be written"},
		{"an unknown key", "EVERTHREAD_LLM_MODLE=x", "did you mean EVERTHREAD_LLM_MODEL?"},
		{"a wrong time zone", "EVERTHREAD_DEFAULT_TIMEZONE=Europe/Pairs", "write a name like Europe/Paris"},
		{"an address that is taken", "EVERTHREAD_HTTP_LISTEN=" + strings.TrimPrefix(telegramURL(t), "http://"), "is free"},
		{"no database URL", "EVERTHREAD_DATABASE_URL=mysql://x", "database_url"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newTown(t, "")
			g := w.launch(c.env)
			if !g.wait(10*time.Second) || g.cmd.ProcessState.ExitCode() != 1 || !strings.Contains(g.log.String(), c.want) {
				t.Errorf("want exit code 1 and %q, got %v\n%s", c.want, g.cmd.ProcessState, g.log)
			}
		})
	}
}

func telegramURL(t *testing.T) string {
	s := telegramtest.New()
	t.Cleanup(s.Close)
	return s.URL()
}

func TestASchemaOfANewerReleaseIsLeftAlone(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newTown(t, database(t))
		w.start().stop()
		_, err := w.ledger().db.Exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, $1)`, true)
		must(t, err)
		g := w.launch()
		if !g.wait(10*time.Second) || g.cmd.ProcessState.ExitCode() != 1 || !strings.Contains(g.log.String(), "newer version of everthread") {
			t.Errorf("got %v\n%s", g.cmd.ProcessState, g.log)
		}
	})
}

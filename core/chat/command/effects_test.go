package command_test

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/trust"
)

// dump returns everything in the store as text.
func (w *world) dump() string {
	w.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(w.dir, "everthread.db"))
	must(w.t, err)
	defer func() { must(w.t, db.Close()) }()
	rows, err := db.Query(`SELECT name FROM sqlite_master WHERE type = 'table'`)
	must(w.t, err)
	defer rows.Close()
	var b strings.Builder
	for rows.Next() {
		var name string
		must(w.t, rows.Scan(&name))
		w.dumpTable(&b, db, name)
	}
	must(w.t, rows.Err())
	return b.String()
}

func (w *world) dumpTable(b *strings.Builder, db *sql.DB, name string) {
	rows, err := db.Query(`SELECT * FROM "` + name + `"`)
	must(w.t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	must(w.t, err)
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		must(w.t, rows.Scan(into...))
		for i, v := range values {
			if raw, ok := v.([]byte); ok {
				values[i] = string(raw)
			}
		}
		fmt.Fprintln(b, append([]any{name}, values...)...)
	}
	must(w.t, rows.Err())
}

const secret = "xylophone"

// secretive stores a secret and much that derives from it: a summary, a loop, and answers to
// commands that show both.
func secretive(w *world) {
	w.talk(w.ada, "the password is "+secret)
	w.summarize(w.ada, "2026-11-19", "## Summary\nIt is "+secret, "Change "+secret)
	for _, text := range []string{"/today", "/loops", "/day 2026-11-19"} {
		if out, _ := w.send(w.ada, text); !strings.Contains(out.Text, secret) {
			w.t.Fatalf("%s does not show it: %q", text, out.Text)
		}
	}
}

// TestForget_leavesNothing checks that nothing is left of the messages, of data derived from them,
// of answers that showed them, and of the command's own reply.
func TestForget_leavesNothing(t *testing.T) {
	t.Parallel()
	t.Run("a day", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, "en")
		secretive(w)
		w.send(w.ada, "/forget today yes")
		if strings.Contains(w.dump(), secret) {
			t.Error("something remains")
		}
	})
	t.Run("both messages by replies", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, "en")
		secretive(w)
		for _, native := range []string{"m1", "n1"} {
			w.quote = &core.Quote{NativeID: native, Text: "the password is " + secret}
			w.send(w.ada, "/forget")
		}
		for _, line := range strings.Split(w.dump(), "\n") {
			if strings.Contains(line, secret) {
				t.Errorf("left: %s", line)
			}
		}
	})
}

// TestForget_byNumber checks channels that know our message ids, as the page does: a reply names its
// message by id, and only among the user's own.
func TestForget_byNumber(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "en")
	w.talk(w.ada, "a slip of ada")
	w.talk(w.bo, "elsewhere")
	_, u, err := w.Identify(w.ctx, w.ada)
	if err != nil {
		t.Fatal(err)
	}
	said, err := w.History(w.ctx, u.ID, 0, 0, 10)
	if err != nil || len(said) == 0 || said[0].Text != "a slip of ada" {
		t.Fatalf("got %+v, %v", said, err)
	}
	w.quote = &core.Quote{Message: said[0].ID}
	w.send(w.ada, "/forget")
	now, err := w.History(w.ctx, u.ID, 0, 0, 10)
	if all := w.dump(); err != nil || !now[0].Redacted || !strings.Contains(all, "elsewhere") {
		t.Errorf("it remains, or too much is gone: %v\n%s", err, all)
	}
}

// TestForget_keepsTheRest checks that earlier messages and other users' messages are kept.
func TestForget_keepsTheRest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "en")
	w.send(w.ada, "/usage")
	w.talk(w.ada, "before")
	w.talk(w.bo, "elsewhere")
	w.send(w.bo, "/usage")
	native := w.talk(w.ada, "a slip")
	w.quote = &core.Quote{NativeID: native, Text: "You said: a slip"}
	w.send(w.ada, "/forget")
	all := w.dump()
	for _, text := range []string{"before", "You said: before", "elsewhere", "a slip"} {
		if !strings.Contains(all, text) {
			t.Errorf("%q is gone", text)
		}
	}
	if n := strings.Count(all, "There is no limit"); n < 4 { // two answers, each as message and part
		t.Errorf("%d answers to commands remain, want 4", n)
	}
}

func TestApprove_releasesWhatWasHeld(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "en")
	w.stranger("Cléo", "333", "ABCD2345")
	_, noted := w.send(w.ada, "/approve abcd2345 Cléo la chatte")
	if len(noted.Released) != 1 || noted.Released[0].Text != "let me in, says Cléo" {
		t.Errorf("released %+v", noted.Released)
	}
	_, u := w.identify(core.Address{Channel: "telegram", Account: "42", External: "333"})
	if u.Name != "Cléo la chatte" || u.Role != core.RoleMember {
		t.Errorf("got %+v", u)
	}
}

func TestDeny_dropsWhatWasHeld(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "en")
	w.stranger("Cléo", "333", "ABCD2345")
	w.stranger("Dan", "444", "EFGH6789")
	_, noted := w.send(w.ada, "/deny abcd2345")
	all := w.dump()
	if len(noted.Released) != 0 || strings.Contains(all, "says Cléo") || !strings.Contains(all, "says Dan") {
		t.Errorf("released %v; still stored:\n%s", noted.Released, all)
	}
	again, err := w.Hold(w.ctx, store.Hold{Keep: true, Now: w.now, Event: core.Inbound{EventID: "m1", Kind: core.InMessage,
		Address: core.Address{Channel: "telegram", Account: "42", External: "333"}}})
	if err != nil || !again {
		t.Errorf("a repeat of a dropped event is held again: %v, %v", again, err)
	}
	_, err = w.Note(w.ctx, store.Note{User: 1, Now: w.now,
		Effects: []core.Effect{effect.Deny{CodeHash: trust.CodeHash("ABCD2345"), At: w.now}}})
	if !errors.Is(err, core.ErrRefused) {
		t.Errorf("denied twice: %v, want ErrRefused", err)
	}
}

// TestStop_endsAWaitingTurn checks that a turn that waits for its retry ends, that its reservation
// is returned, and that the next message gets a turn of its own.
func TestStop_endsAWaitingTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "en")
	i, u := w.identify(w.ada)
	e := w.event(w.ada, "hello?")
	out, err := w.Append(w.ctx, store.Append{User: u.ID, Identity: i.ID, Events: []core.Inbound{e},
		Now: w.now, RunAt: w.now, Messages: []core.NewMessage{{Role: core.RoleUser, Kind: core.KindChat,
			Text: "hello?", SentAt: w.now, Day: dayOf(u.Settings, w.now)}},
		Claim:  &store.Claim{Worker: "w", Now: w.now, Until: w.now.Add(time.Minute)},
		Budget: store.Budget{TokensPerDay: 1000, Reserve: 600, Day: "2026-11-19", NextDay: w.now.Add(time.Hour)}})
	must(t, err)
	must(t, w.RetryTurn(w.ctx, out.Turn, w.now.Add(time.Hour), "the model is down"))
	w.send(w.ada, "/stop")
	turn, _, err := w.Turn(w.ctx, u.ID, out.Turn.ID)
	must(t, err)
	if turn.State != core.TurnStopped {
		t.Errorf("the turn is %s", turn.State)
	}
	if _, reserved, err := w.UsageOf(w.ctx, u.ID, "2026-11-19"); err != nil || reserved != 0 {
		t.Errorf("%d tokens are still reserved, %v", reserved, err)
	}
	refs, next, err := w.Due(w.ctx, []string{core.QueueTurn}, w.now.Add(2*time.Hour), 10, store.Share{})
	if err != nil || len(refs) != 0 || !next.IsZero() {
		t.Errorf("jobs are left: %v, %v, %v", refs, next, err)
	}
	if again := w.say(w.ada, "and now?", true); again.Turn == nil || len(again.Turn.Inputs) != 1 {
		t.Errorf("the next message got %+v", again.Turn)
	}
}

func TestStop_asksARunningTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "en")
	turn := w.say(w.ada, "hello?", true).Turn
	_, noted := w.send(w.ada, "/stop")
	f, err := w.Flags(w.ctx, turn.User, turn.ID)
	if err != nil || !f.Stop || len(noted.StopTurns) != 1 {
		t.Errorf("got %+v, %v, %v", f, noted.StopTurns, err)
	}
}

func TestRetry_runsAWaitingTurnNow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "en")
	failing(w)
	w.send(w.ada, "/retry")
	refs, _, err := w.Due(w.ctx, []string{core.QueueTurn}, w.now, 10, store.Share{})
	if err != nil || len(refs) != 1 {
		t.Errorf("due: %v, %v", refs, err)
	}
}

// state returns everything that a user can see of their own.
func (w *world) state(a core.Address) string {
	w.t.Helper()
	i, u := w.identify(a)
	history, err := w.History(w.ctx, u.ID, 0, 0, 100)
	must(w.t, err)
	loops, err := w.Loops(w.ctx, u.ID, 100)
	must(w.t, err)
	threads, err := w.Threads(w.ctx, u.ID, 100)
	must(w.t, err)
	days, err := w.Days(w.ctx, u.ID, "", 100)
	must(w.t, err)
	turns, err := w.Turns(w.ctx, u.ID, 100)
	must(w.t, err)
	return fmt.Sprintf("%+v\n%+v\n%+v\n%+v\n%+v\n%+v\n%+v", i, u, history, loops, threads, days, turns)
}

// TestCommands_idsOfAnotherUser checks that no command finds or changes another user's objects by id.
func TestCommands_idsOfAnotherUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "en")
	week(w)
	w.send(w.ada, "/thread Recipes")
	w.say(w.ada, "in the thread", true) // one of Ada's turns is running
	_, ada := w.identify(w.ada)
	threads, err := w.Threads(w.ctx, ada.ID, 1)
	must(t, err)
	loops, err := w.Loops(w.ctx, ada.ID, 1)
	must(t, err)
	w.stranger("Cléo", "333", "ABCD2345")
	before := w.state(w.ada)
	for _, c := range [][2]string{
		{"/today", "haven't talked yet"}, {"/yesterday", "haven't talked yet"}, {"/day 2026-11-16", "haven't talked yet"},
		{"/summary 2026-11-16", "haven't talked yet"},
		{"/loops", "Nothing is open"}, {"/threads", "no threads"}, {"/stop", "Nothing was running"},
		{"/retry", "Nothing is waiting"}, {"/usage", "0 tokens"},
		{fmt.Sprintf("/done %d", loops[0].ID), "There's no open loop"},
		{fmt.Sprintf("/thread %d", threads[0].ID), "There's no thread"},
		{"/forget 2026-11-16 yes", "haven't talked yet"}, {"/forget monday", "haven't talked yet"},
		{"/approve ABCD2345", "Only the owner"}, {"/deny ABCD2345", "Only the owner"}, {"/pair", "Only the owner"},
		{"m1 /forget", "can't find"}, {"n1 /forget", "can't find"},
		{"/timezone Tokyo", "Tokyo"}, {"/pause", "Paused"}, {"/continuous", "continuous"}, {"/home", "home"},
	} {
		text, want := c[0], c[1]
		if native, rest, ok := strings.Cut(text, " /"); ok && !strings.HasPrefix(text, "/") {
			w.quote, text = &core.Quote{NativeID: native, Text: "hm"}, "/"+rest
		}
		out, _ := w.send(w.bo, text)
		if !strings.Contains(out.Text, want) {
			t.Errorf("%s: got %q, want %q in it", text, out.Text, want)
		}
	}
	if d := cmp.Diff(before, w.state(w.ada)); d != "" {
		t.Errorf("Ada's things changed:\n%s", d)
	}
}

// TestEffects_onIdsOfAnotherUser checks that the store refuses effects that no command would request.
func TestEffects_onIdsOfAnotherUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "en")
	week(w)
	w.send(w.ada, "/thread Recipes")
	_, ada := w.identify(w.ada)
	threads, err := w.Threads(w.ctx, ada.ID, 1)
	must(t, err)
	loops, err := w.Loops(w.ctx, ada.ID, 1)
	must(t, err)
	before := w.state(w.ada)
	i, bo := w.identify(w.bo)
	for _, e := range []core.Effect{effect.UseThread{Identity: i.ID, Thread: threads[0].ID},
		effect.CloseLoop{Loop: loops[0].ID}, effect.Redact{Message: 1}} {
		if _, err := w.Note(w.ctx, store.Note{User: bo.ID, Identity: i.ID, Effects: []core.Effect{e}, Now: w.now}); !errors.Is(
			err, core.ErrNotFound) {
			t.Errorf("%T: got %v, want ErrNotFound", e, err)
		}
	}
	if d := cmp.Diff(before, w.state(w.ada)); d != "" {
		t.Errorf("Ada's things changed:\n%s", d)
	}
}

// TestContinue_lastAnswer has only the last answer of the thread continued, and only while it lacks its end.
func TestContinue_lastAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "en")
	answer := func(asked string, m core.NewMessage) {
		m.Role, m.Kind, m.SentAt = core.RoleAssistant, core.KindChat, w.now
		_, err := w.Commit(w.ctx, store.Reply{Turn: w.say(w.ada, asked, true).Turn, State: core.TurnDone, Now: w.now,
			Day: "2026-11-19", Messages: []core.NewMessage{m}}, nil)
		must(t, err)
	}
	for _, c := range []struct {
		name string
		why  core.Finish
		want bool
	}{
		{"whole", "", false}, {"cut at a limit", core.FinishLength, true}, {"broken off", core.FinishCut, true},
		{"filtered", core.FinishRefused, true}, {"stopped", core.FinishStopped, true}, {"whole again", "", false},
	} {
		answer(c.name, core.NewMessage{Text: "Once upon", Unfinished: c.why})
		w.send(w.ada, "/help") // its answer is no answer of the model
		out, ok := w.ask(w.ada, "!continue please")
		if !ok || (out.Asks != "") != c.want || (out.Text == "") != c.want {
			t.Errorf("%s: %+v", c.name, out)
		}
	}
	answer("another thread", core.NewMessage{Text: "Once upon", Unfinished: core.FinishLength})
	w.send(w.ada, "/thread Recipes")
	if out, _ := w.ask(w.ada, "/continue"); out.Asks != "" {
		t.Error("an answer of another thread is continued")
	}
}

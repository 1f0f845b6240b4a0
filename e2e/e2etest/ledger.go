//go:build e2e

package e2etest

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
)

// RepeatMark ends a part that may have arrived before.
const RepeatMark = "\n\n(may be a repeat)"

// Ledger reads the raw tables.
type Ledger struct {
	t  *testing.T
	DB *sql.DB
}

// Ledger opens the town's database.
func (w *Town) Ledger() *Ledger {
	w.T.Helper()
	driver, source := "pgx", w.Database
	if source == "" {
		driver, source = "sqlite", "file:"+filepath.Join(w.Dir, "everthread.db")+"?_pragma=busy_timeout(10000)"
	}
	db, err := sql.Open(driver, source)
	Must(w.T, err)
	w.T.Cleanup(func() { Must(w.T, db.Close()) })
	return &Ledger{w.T, db}
}

// Lines returns the first columns of a query's rows, as text.
func (l *Ledger) Lines(query string, args ...any) []string {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	rows, err := l.DB.QueryContext(ctx, query, args...)
	Must(l.t, err)
	defer rows.Close()
	var out []string
	for rows.Next() {
		var s string
		Must(l.t, rows.Scan(&s))
		out = append(out, s)
	}
	Must(l.t, rows.Err())
	return out
}

// Count returns the number that a query selects.
func (l *Ledger) Count(query string, args ...any) (n int) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	Must(l.t, l.DB.QueryRowContext(ctx, query, args...).Scan(&n))
	return n
}

const OfChat = ` IN (SELECT user_id FROM identities WHERE external = $1)`

// Transcript returns the messages of a chat's person in the order of their positions, in
// which the model saw them.
func (l *Ledger) Transcript(external string) []string {
	return l.Lines(`SELECT body FROM messages WHERE user_id`+OfChat+` AND role = 'user' AND kind = 'chat' ORDER BY
		CASE WHEN position = 0 THEN 9000000000000000000 ELSE position END, id`, external)
}

// left counts the pending work: messages to answer, running turns, pending deliveries,
// answers to speak.
func (l *Ledger) left() int {
	l.t.Helper()
	return l.Count(
		`SELECT (SELECT COUNT(*) FROM messages WHERE role = 'user' AND kind = 'chat' AND turn_id = 0 AND position = 0 AND redacted = 0)
		+ (SELECT COUNT(*) FROM turns WHERE state = 'running')
		+ (SELECT COUNT(*) FROM deliveries WHERE state IN ('pending', 'sending'))
		+ (SELECT COUNT(*) FROM jobs WHERE queue = 'speak' AND state <> 'dead')`)
}

// Quiet waits until there is no pending work.
func (l *Ledger) Quiet(within time.Duration, log fmt.Stringer) {
	l.t.Helper()
	left := l.left()
	for deadline := time.Now().Add(within); left > 0 && time.Now().Before(deadline); left = l.left() {
		time.Sleep(50 * time.Millisecond) // a process has no event to wait for
	}
	if left == 0 {
		return
	}
	l.t.Fatalf("%d things are left to do after %s: %v %v\n%s", left, within,
		l.Lines(`SELECT 'turn ' || id || ' ' || state || ' ' || error FROM turns WHERE state = 'running'`),
		l.Lines(
			`SELECT 'job ' || id || ' ' || key || ' ' || state || ' ' || worker || ' ' || run_at || ' ' || lease_until FROM jobs`), log)
}

// settled exceeds the wait for late statuses of a part.
const settled = 90 * time.Second

// Settle waits until all messages are received and their work is done.
func (w *Town) Settle(l *Ledger, g *Gateway) {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(w.T.Context(), 30*time.Second)
	defer cancel()
	if err := w.Telegram.Wait(ctx, func() bool { return w.Telegram.Pending() == 0 }); err != nil {
		w.T.Fatalf("%d updates are not taken\n%s", w.Telegram.Pending(), g.Log)
	}
	l.Quiet(settled, g.Log)
}

// Repeats counts the parts of a chat that arrived with a mark, and those of them that had
// arrived before.
type Repeats struct{ Marked, Doubled, Missing int }

// Check compares the store and the chat service with the messages of a chat's person:
// every message is in the transcript once and in order, every turn has one reply (a
// stopped one at most one), and every part arrived once and in order except for marked
// repeats, which it counts.
func (w *Town) Check(l *Ledger, chat int64, said []string) Repeats {
	w.T.Helper()
	return w.CheckAt(l, fmt.Sprint(chat), said, Texts(w.Telegram.Sent(chat)))
}

// CheckAt is Check for an address of any channel, with the parts that arrived there.
func (w *Town) CheckAt(l *Ledger, external string, said, arrived []string) Repeats {
	w.T.Helper()
	if got := l.Transcript(external); !slices.Equal(got, said) {
		w.T.Errorf("chat %s: the transcript is\n%.80q\nsaid was\n%.80q", external, got, said)
	}
	for _, bad := range l.Lines(`SELECT 'turn ' || id || ' is ' || state || ' and has ' || replies || ' replies' FROM (
		SELECT t.id, t.state, (SELECT COUNT(*) FROM messages m WHERE m.user_id = t.user_id AND m.turn_id = t.id AND m.role = 'assistant' AND m.kind = 'chat') AS replies
		FROM turns t WHERE t.user_id`+OfChat+
		`) AS x WHERE NOT (state = 'done' AND replies = 1 OR state = 'stopped' AND replies <= 1)`, external) {
		w.T.Errorf("chat %s: %s", external, bad)
	}
	for _, bad := range l.Lines(
		`SELECT m.id || ' has ' || COUNT(d.id) FROM messages m LEFT JOIN deliveries d ON d.user_id = m.user_id AND d.message_id = m.id
		WHERE m.user_id`+OfChat+
			` AND m.role = 'assistant' AND m.kind IN ('chat', 'notice') AND m.body <> '' GROUP BY m.user_id, m.id HAVING COUNT(d.id) <> 1`, external) {
		w.T.Errorf("chat %s: message %s deliveries", external, bad)
	}
	return w.Arrived(l, external, arrived)
}

// Arrived compares the parts in the store with those that the chat service received.
func (w *Town) Arrived(l *Ledger, external string, got []string) Repeats {
	w.T.Helper()
	a := alignment{got: got, dead: map[[2]int]bool{}}
	for _, p := range l.Lines(
		`SELECT p.state || ' ' || p.body FROM delivery_parts p JOIN deliveries d ON d.user_id = p.user_id AND d.id = p.delivery_id
		WHERE d.external = $1 ORDER BY d.id, p.n`, external) {
		state, body, _ := strings.Cut(p, " ")
		var part struct{ Text string }
		Must(w.T, json.Unmarshal([]byte(body), &part))
		a.parts = append(a.parts, [2]string{state, part.Text})
	}
	r, ok := a.from(0, 0)
	if !ok {
		w.T.Errorf(
			"chat %s: what arrived does not fit what was to be sent, at the latest at %.40q (part %d of %d); what arrived from there: %.60q",
			external, append(a.parts, [2]string{"", "the end"})[a.far[0]], a.far[0], len(a.parts), a.got[a.far[1]:])
		w.T.Logf("what arrived: %.60q", got)
		w.T.Logf("what was sent:\n%s",
			strings.Join(
				l.Lines(
					`SELECT 'delivery ' || d.id || ' of message ' || d.message_id || ' part ' || p.n || ' ' || p.state || ' ' || p.native_id
			|| ', repeats ' || p.repeats || ', resent ' || p.resent || ' ' || p.body FROM delivery_parts p JOIN deliveries d ON d.user_id = p.user_id AND d.id = p.delivery_id
			WHERE d.external = $1 ORDER BY d.id, p.n`, external), "\n"))
	}
	return r
}

// alignment matches parts (state, text) with the arrived ones, in order.
type alignment struct {
	parts [][2]string
	got   []string
	far   [2]int // furthest match
	dead  map[[2]int]bool
}

// from matches parts[i:] with got[j:]. A part arrives once. If a process died, it arrives
// with a mark, additionally or instead. If that happened twice, its state is unknown and it
// may be missing.
func (a *alignment) from(i, j int) (Repeats, bool) {
	if i == len(a.parts) && j == len(a.got) {
		return Repeats{}, true
	}
	if i > a.far[0] {
		a.far = [2]int{i, j}
	}
	if i == len(a.parts) || a.dead[[2]int{i, j}] {
		return Repeats{}, false
	}
	text := a.parts[i][1]
	for _, way := range []struct {
		texts []string
		Repeats
	}{
		{[]string{text}, Repeats{}}, {[]string{text + RepeatMark}, Repeats{Marked: 1}},
		{[]string{text, text + RepeatMark}, Repeats{Marked: 1, Doubled: 1}}, {nil, Repeats{Missing: 1}},
	} {
		if len(way.texts) > len(a.got)-j || !slices.Equal(a.got[j:j+len(way.texts)], way.texts) || way.Missing > 0 &&
			a.parts[i][0] != "unknown" {
			continue
		}
		if r, ok := a.from(i+1, j+len(way.texts)); ok {
			return Repeats{r.Marked + way.Marked, r.Doubled + way.Doubled, r.Missing + way.Missing}, true
		}
	}
	a.dead[[2]int{i, j}] = true
	return Repeats{}, false
}

func Texts(ms []telegramtest.Message) []string {
	var out []string
	for _, m := range ms {
		out = append(out, m.Text)
	}
	return out
}

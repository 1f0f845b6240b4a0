//go:build e2e && bench

package e2etest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// The costs of the page: not tests but measurements, run alone by
// `go test -tags 'goolm e2e crashpoints bench' -run TestBenchPage -v ./e2e/`.

const (
	yearDays = 365
	YearSays = 100_000 // messages in them
)

// FillYear gives the owner a year of messages: days with summaries, and deliveries of the
// answers.
func (w *Town) FillYear(l *Ledger) {
	w.T.Helper()
	ctx := context.Background()
	db, err := l.DB.BeginTx(ctx, nil)
	Must(w.T, err)
	exec := func(rows int, into string, args ...any) {
		_, err := db.ExecContext(ctx, into+placeholders(rows, len(args)/rows), args...)
		Must(w.T, err)
	}
	var lastMessage, lastID, thread, turn, identity int64
	Must(w.T, db.QueryRowContext(ctx, `SELECT last_message, last_id FROM users WHERE id = 1`).Scan(&lastMessage, &lastID))
	Must(w.T,
		db.QueryRowContext(ctx,
			`SELECT MAX(thread_id), MAX(turn_id), MAX(identity_id) FROM messages WHERE user_id = 1 AND segment_id > 0`).Scan(
			&thread, &turn, &identity))
	said := NewSayings()
	today := time.Now().UTC().Truncate(24 * time.Hour)
	const perDay = YearSays / yearDays
	for d := 1; d < yearDays; d++ {
		day := today.AddDate(0, 0, d-yearDays)
		at := func(d time.Duration) int64 { return day.Add(d).UnixMilli() }
		lastID++
		segment, first := lastID, lastMessage+1
		var rows, sent []any
		for n := range perDay {
			lastMessage++
			role, from, answers := "user", identity, int64(0)
			shown := day.Add(8*time.Hour + time.Duration(n)*2*time.Minute).UnixMicro()
			if n%2 == 1 {
				role, answers = "assistant", turn
				lastID++
				sent = append(sent, 1, lastID, lastMessage, identity, "web", "local", "1", "reply", "sent", "", shown/1000, 0)
			}
			text := said()
			rows = append(rows, 1, lastMessage, thread, segment, max(answers, turn), from, "web", role, "chat", text,
				len(text)/4, "{}", shown, shown, shown/1000, 0, 1, 0)
			if len(rows) >= 50*18 || n == perDay-1 {
				exec(len(rows)/18,
					`INSERT INTO messages (user_id, id, thread_id, segment_id, turn_id, identity_id, channel, role, kind, body, tokens, extra, position, shown, sent_at, platform_at, covered, solo) VALUES `, rows...)
				rows = nil
			}
		}
		exec(len(sent)/12,
			`INSERT INTO deliveries (user_id, id, message_id, identity_id, channel, account, external, kind, state, why, created_at, expires_at) VALUES `, sent...)
		label := day.Format(time.DateOnly)
		exec(1,
			`INSERT INTO segments (user_id, id, thread_id, label, zone, starts_at, ends_at, finalize_at, post_at, state, first_message, last_message, messages, version) VALUES `, 1, segment, thread, label, "UTC", at(0), at(24*time.Hour), at(27*time.Hour), at(32*time.Hour), "final", first,
			lastMessage, perDay, 1)
		exec(1,
			`INSERT INTO summaries (user_id, segment_id, version, label, body, tokens, covers, model, usage, ungrounded, final, created_at) VALUES `, 1, segment, 1, label, fmt.Sprintf("## Summary\n%s\n\n## Decisions\n- %s [#%d]", said(), said(), first), 60,
			fmt.Sprintf("[[%d,%d]]", first, lastMessage), "emulated", "{}", 0, 1, at(27*time.Hour))
	}
	_, err = db.ExecContext(ctx, `UPDATE users SET last_message = $1, last_id = $2 WHERE id = 1`, lastMessage, lastID)
	Must(w.T, err)
	Must(w.T, db.Commit())
}

// placeholders returns those of a number of rows and columns: ($1, $2), ($3, $4).
func placeholders(rows, columns int) string {
	var b strings.Builder
	for i := range rows * columns {
		switch {
		case i == 0:
			b.WriteString("(")
		case i%columns == 0:
			b.WriteString("), (")
		default:
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "$%d", i+1)
	}
	return b.String() + ")"
}

// NewSayings returns sentences with names, numbers and dates.
func NewSayings() func() string {
	talk, n := NewChatter(1), 0
	some := make([]string, 2000)
	for i := range some {
		some[i] = talk.Next()
	}
	return func() string {
		n++
		return fmt.Sprintf("%s, and %d of them. %s.", some[n%len(some)], n, some[(n*7+n/2000)%len(some)])
	}
}

// Times measures the pages.
func (v *Guest) Times(t *testing.T, l *Ledger) {
	t.Helper()
	id := l.Lines(`SELECT MAX(id) FROM messages WHERE user_id = 1 AND role = 'assistant' AND kind = 'chat'`)[0]
	middle := time.Now().UTC().AddDate(0, 0, -180).Format(time.DateOnly)
	old := l.Lines(
		`SELECT MIN(m.id) + 100 FROM messages m JOIN segments s ON s.user_id = m.user_id AND s.id = m.segment_id WHERE s.label = $1`, middle)[0]
	var table strings.Builder
	for _, path := range []string{"/", "/day/" + middle, "/day/" + middle + "?before=" + old,
		"/day/" + middle + "/history", "/m/" + old, "/days", "/search?q=plumber+harbour&scope=all",
		"/search?q=what+did+we+say+about+the+boat+in+May%3F&scope=all", "/search?q=harbour&scope=day&day=" + middle,
		"/threads", "/m/" + id + "/why", "/m/" + id + "/remember", "/memory", "/memory?q=thing", "/settings", "/admin",
		"/signin?code=ABCDEFGHJKLMNPQRSTUVWXYZ"} {
		var took []time.Duration
		size := 0
		for n := range 110 {
			begin := time.Now()
			r, body := v.Get(path)
			if n >= 10 {
				took = append(took, time.Since(begin))
			}
			if size = len(body); r.StatusCode >= 400 {
				t.Fatalf("%s: %s", path, r.Status)
			}
		}
		slices.Sort(took)
		fmt.Fprintf(&table, "%-72s p50 %6.1f ms  p95 %6.1f ms  %4d KB\n", path, Ms(took[50]), Ms(took[95]), size>>10)
	}
	t.Logf("pages:\n%s", table.String())
}

func Ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// Window reads the data for a context; see store.TurnStore.
func (s *Store) Window(ctx context.Context, turn *core.Turn, wq store.WindowQuery) (store.Window, error) {
	var w store.Window
	must := func(q querier) (err error) {
		w, err = s.window(q, turn, wq)
		return err
	}
	err := s.view(ctx, "read window", func(q querier) error {
		if err := must(q); err != nil {
			return err
		}
		for _, p := range windowParts(turn, wq, &w) {
			if err := p.read(q); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil || ctx.Err() != nil {
		return w, err
	}
	if err := s.view(ctx, "read window", must); err != nil {
		return w, err
	}
	w.Failed = map[string]string{}
	for _, p := range windowParts(turn, wq, &w) { // each alone, so that none spoils another
		if err := s.view(ctx, "read "+p.name, p.read); err != nil {
			w.Failed[p.name] = err.Error()
		}
	}
	return w, ctx.Err()
}

// window reads what no prompt can do without.
func (s *Store) window(q querier, turn *core.Turn, wq store.WindowQuery) (w store.Window, err error) {
	if err := s.readThread(q, turn, &w); err != nil {
		return w, err
	}
	if continues(w, wq) {
		err = fromEpoch(q, turn, &w)
	} else {
		err = newWindow(q, turn, wq, &w)
	}
	if err == nil && wq.Opener {
		err = opener(q, turn, wq, &w)
	}
	return w, err
}

// opener reads the thread's first message, or that of the epoch that continues.
func opener(q querier, turn *core.Turn, wq store.WindowQuery, w *store.Window) error {
	query, of := `thread_id = $2 AND position > 0 AND kind = 'chat' AND role = 'user' AND redacted = 0
		ORDER BY position LIMIT 1`, int64(turn.Thread)
	if continues(*w, wq) {
		if w.Epoch.Opener == 0 {
			return nil
		}
		query, of = `id = $2`, int64(w.Epoch.Opener)
	}
	m, err := scanMessage(q.row(`SELECT `+messageColumns+` FROM messages WHERE user_id = $1 AND `+query, turn.User, of))
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	if err == nil && len(w.Messages) > 0 && m.Position < w.Messages[0].Position {
		w.Opener = &m
	}
	return err
}

// windowPart is a part of a window that a prompt can do without.
type windowPart struct {
	name string
	read func(q querier) error
}

// windowParts lists the parts that w lacks.
func windowParts(turn *core.Turn, wq store.WindowQuery, w *store.Window) []windowPart {
	sent := windowPart{"sent", func(q querier) error { return sentUnasked(q, turn, w) }}
	switch {
	case continues(*w, wq) && w.News == w.Told:
		return []windowPart{sent}
	case continues(*w, wq):
		return []windowPart{sent, {"news", func(q querier) error { return changes(q, turn.User, w) }}}
	case turn.Segment == 0:
		return []windowPart{sent}
	}
	return []windowPart{sent,
		{"today", func(q querier) (err error) {
			w.TodaySummary, err = summaryOf(q, w.Today)
			return err
		}},
		{"last", func(q querier) error { return lastDay(q, turn, w) }},
		{"days", func(q querier) error { return earlierDays(q, turn, w) }},
		{"loops", func(q querier) (err error) {
			w.Loops, err = openLoops(q, turn.User, 20)
			return err
		}}}
}

// readThread reads the thread's versions and its current epoch.
func (s *Store) readThread(q querier, turn *core.Turn, w *store.Window) error {
	var data string
	var used time.Time
	err := q.row(`SELECT h.edits, `+lastUse("$3")+`, COALESCE(e.data, ''), h.news, u.news, h.compressed FROM threads h JOIN users u ON u.id = $1
		LEFT JOIN epochs e ON e.user_id = $1 AND e.id = h.epoch_id WHERE h.user_id = $1 AND h.id = $2`, turn.User,
		turn.Thread, turn.ID).Scan(&w.Edits, asTime(&used), &data, &w.Told, &w.News, &w.Compressed)
	if err != nil || data == "" {
		return found(err)
	}
	w.Epoch = &store.Epoch{}
	err = unjson(data, w.Epoch)
	w.Epoch.UsedAt = used
	return err
}

// continues reports whether the current epoch can be continued, as far as the store knows.
func continues(w store.Window, q store.WindowQuery) bool {
	return w.Epoch != nil && w.Epoch.Edits == w.Edits && w.Epoch.Budgets == q.Budgets && w.Epoch.UsedAt.After(q.Stale)
}

// fromEpoch reads the messages of an epoch that continues, and what changed since it began.
func fromEpoch(q querier, turn *core.Turn, w *store.Window) (err error) {
	if err := headPages(q, turn.User, w); err != nil {
		return err
	}
	if w.Messages, err = list(q, scanMessage, selectFrom, turn.User, turn.Thread, w.Epoch.Start); err != nil {
		return err
	}
	if w.Epoch.Dropped > 0 {
		return uncovered(q, turn, paged(w.Pages), w.Epoch.Start, w)
	}
	return nil
}

// headPages reads the pages in an epoch's head.
func headPages(q querier, user core.UserID, w *store.Window) (err error) {
	for i := range w.Epoch.Head {
		if refs := w.Epoch.Head[i].Pages; len(refs) > 0 {
			w.Pages, err = pagesOf(q, user, refs)
		}
	}
	return err
}

// selectFrom reads the messages of a thread from a position on.
const selectFrom = `SELECT ` + messageColumns +
	` FROM messages WHERE user_id = $1 AND thread_id = $2 AND position >= $3 AND position > 0 ORDER BY position`

// newWindow reads enough of the newest messages for a new epoch, and the data for its head.
func newWindow(q querier, turn *core.Turn, wq store.WindowQuery, w *store.Window) error {
	var err error
	from := int64(1)
	if wq.Pages > 0 {
		if from, err = newestPages(q, turn, wq.Pages, w); err != nil {
			return err
		}
	}
	if err := newest(q, turn, wq, max(from, 1), w); err != nil {
		return err
	}
	if turn.Segment == 0 {
		return q.row(
			`SELECT COUNT(*) FROM messages WHERE user_id = $1 AND thread_id = $2 AND position > 0 AND (role = 'user' OR role = 'assistant' AND body <> '')`,
			turn.User, turn.Thread).Scan(&w.Thread)
	}
	w.Today, err = scanSegment(joined{q.row(`SELECT `+segmentColumns+
		`, (SELECT COALESCE(SUM(a.messages), 0) FROM segments a WHERE a.user_id = $1 AND a.thread_id = $3)
		FROM segments WHERE user_id = $1 AND id = $2`, turn.User, turn.Segment, turn.Thread), []any{&w.Thread}})
	return err
}

// sentWithin is how many messages before a turn are looked at for what was sent unasked.
const sentWithin = 100

// sentUnasked reads the newest three messages that were sent unasked between the inputs of the turn before and those of
// this one; in a plain thread only those that went to the turn's identity since it was opened.
func sentUnasked(q querier, turn *core.Turn, w *store.Window) (err error) {
	if len(turn.Inputs) == 0 {
		return nil
	}
	first, last := slices.Min(turn.Inputs), slices.Max(turn.Inputs)
	after := max(first-sentWithin, 0)
	for _, m := range w.Messages {
		if m.Role == core.RoleUser && m.Turn != turn.ID && m.ID < first {
			after = max(after, m.ID)
		}
	}
	here := core.IdentityID(0)
	if turn.Segment == 0 {
		here = turn.Identity
	}
	w.Sent, err = list(q, func(r scanner) (u store.Unasked, err error) {
		u.Message, err = scanMessage(joined{r, []any{&u.Label}})
		return u, err
	}, `SELECT `+prefixed("m", messageColumns)+`, COALESCE((SELECT g.label FROM segments g WHERE g.user_id = $1 AND g.id = m.segment_id), '')
		FROM messages m WHERE m.user_id = $1 AND m.id > $2 AND m.id < $3 AND m.role = 'assistant' AND m.redacted = 0
		AND (m.kind IN ('reminder', 'day_summary_post') OR m.kind = 'notice' AND (m.extra LIKE '%"answers":%' OR m.extra LIKE '%"task":%'))
		AND (CAST($4 AS bigint) = 0 OR EXISTS (SELECT 1 FROM deliveries d WHERE d.user_id = $1 AND d.message_id = m.id AND d.message_id > 0 AND d.direct = 0 AND d.identity_id = $4)
			AND m.sent_at > (SELECT h.created_at FROM threads h WHERE h.user_id = $1 AND h.id = $5))
		ORDER BY m.id DESC LIMIT 3`, turn.User, after, last, here, turn.Thread)
	slices.Reverse(w.Sent)
	return err
}

// lastPosition is the last position in thread h of user $1. The thread's row has it only after imports and moves: a turn
// does not write it.
const lastPosition = `(SELECT CASE WHEN MAX(x.position) > h.last_position THEN MAX(x.position) ELSE h.last_position END
	FROM messages x WHERE x.user_id = $1 AND x.thread_id = h.id AND x.position > 0)`

// lastUse is when a turn last used the epoch of thread h of user $1: the time in the position of its
// last message. It leaves out the turn of a parameter.
func lastUse(but string) string {
	return `(SELECT COALESCE(MAX(x.position) / 1000, h.epoch_used) FROM messages x
		WHERE x.user_id = $1 AND x.thread_id = h.id AND x.position > 0 AND x.turn_id NOT IN (0, ` + but + `))`
}

// maxUncovered bounds how many uncovered messages are counted.
const maxUncovered = 1000

// paged returns the position after the last of pages.
func paged(pages []store.Page) int64 {
	if n := len(pages); n > 0 {
		return pages[n-1].End + 1
	}
	return 1
}

// uncovered counts the messages in a range of positions that no summary covers: those are in
// days without a summary, or with messages since it.
func uncovered(q querier, turn *core.Turn, from, before int64, w *store.Window) error {
	return q.row(
		`SELECT COUNT(*) FROM (SELECT 1 FROM segments g JOIN messages m ON m.user_id = $1 AND m.segment_id = g.id AND m.segment_id > 0
		WHERE g.user_id = $1 AND g.thread_id = $2 AND (g.version = 0 OR g.since_summary > 0 OR g.stale = 1 OR g.hidden = 1)
		AND m.position > 0 AND m.covered = 0 AND m.redacted = 0 AND m.role <> 'tool' AND m.position < $3 AND m.position >= $5 LIMIT $4) AS counted`,
		turn.User, turn.Thread, before, maxUncovered, from).Scan(&w.UncoveredBefore)
}

// lastDay reads the newest day before the turn's, and its summary.
func lastDay(q querier, turn *core.Turn, w *store.Window) (err error) {
	w.Last, err = scanSegment(q.row(`SELECT `+segmentColumns+
		` FROM segments WHERE user_id = $1 AND thread_id = $2 AND label < $3 ORDER BY label DESC LIMIT 1`,
		turn.User, turn.Thread, w.Today.Day.Label))
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	if err == nil {
		w.LastSummary, err = summaryOf(q, w.Last)
	}
	return err
}

// earlierDays reads the newest summaries of days before the last one.
func earlierDays(q querier, turn *core.Turn, w *store.Window) (err error) {
	w.Days, err = list(q, scanSummary, `SELECT `+prefixed("s", summaryColumns)+` FROM segments g
		JOIN summaries s ON s.user_id = $1 AND s.segment_id = g.id AND s.version = g.version
		WHERE g.user_id = $1 AND g.thread_id = $2 AND g.label < $3 AND g.hidden = 0 ORDER BY g.label DESC LIMIT 15`,
		turn.User, turn.Thread, w.Today.Day.Label)
	w.Days = slices.DeleteFunc(w.Days, func(s core.Summary) bool { return s.Segment == w.Last.ID })
	return err
}

// summaryOf returns the newest summary of a segment, nil if it has no visible one.
func summaryOf(q querier, g core.Segment) (*core.Summary, error) {
	if g.SummaryVersion == 0 || g.Hidden {
		return nil, nil
	}
	s, err := scanSummary(q.row(`SELECT `+summaryColumns+
		` FROM summaries WHERE user_id = $1 AND segment_id = $2 AND version = $3`, g.User, g.ID, g.SummaryVersion))
	if errors.Is(err, core.ErrNotFound) {
		return nil, nil
	}
	return &s, err
}

func openLoops(q reader, user core.UserID, limit int) ([]core.Loop, error) {
	return loopsWhere(q, `state = 'open' ORDER BY mentioned_at DESC, id DESC LIMIT $2`, user, limit)
}

// loopsWhere lists a user's loops; args are the arguments of the condition, from $2 on.
func loopsWhere(q reader, where string, user core.UserID, args ...any) ([]core.Loop, error) {
	return list(q, scanLoop,
		`SELECT `+loopColumns+` FROM loops WHERE user_id = $1 AND `+where, append([]any{user}, args...)...)
}

const loopColumns = `user_id, id, body, state, sources, opened_at, mentioned_at, tainted, due_at, asked`

func scanLoop(r scanner) (l core.Loop, err error) {
	var tainted int64
	err = r.Scan(&l.User, &l.ID, &l.Text, &l.State, asJSON(&l.Sources), asTime(&l.OpenedAt), asTime(&l.Mentioned),
		&tainted, asTime(&l.Due), &l.Asked)
	l.Tainted = tainted&madeTainted != 0
	return l, err
}

// epochByID reads an epoch.
func epochByID(q reader, user core.UserID, id core.TurnID) (*store.Epoch, error) {
	var e store.Epoch
	return &e, found(q.row(`SELECT data FROM epochs WHERE user_id = $1 AND id = $2`, user, id).Scan(asJSON(&e)))
}

// Epoch returns the epoch that turn id began.
func (s *Store) Epoch(ctx context.Context, user core.UserID, id core.TurnID) (*store.Epoch, error) {
	var e *store.Epoch
	err := s.view(ctx, "read epoch", func(q querier) (err error) {
		e, err = epochByID(q, user, id)
		return err
	})
	return e, err
}

// Turn returns a turn and its snapshot.
func (s *Store) Turn(ctx context.Context, user core.UserID, id core.TurnID) (core.Turn, *store.Snapshot, error) {
	t, snapshot, err := turnByID(s.one(ctx), user, id)
	if err != nil || snapshot == "" {
		return t, nil, err
	}
	var sn store.Snapshot
	return t, &sn, unjson(snapshot, &sn)
}

// Turns lists the newest turns.
func (s *Store) Turns(ctx context.Context, user core.UserID, limit int) ([]core.Turn, error) {
	return list(s.one(ctx), scanTurnOnly, `SELECT `+turnColumns+` FROM turns t
		WHERE t.user_id = $1 ORDER BY t.started_at DESC, t.id DESC LIMIT $2`, user, limit)
}

// Messages returns the messages of ids that exist, by position, then id.
func (s *Store) Messages(ctx context.Context, user core.UserID, ids []core.MessageID) ([]core.Message, error) {
	var out []core.Message
	err := s.view(ctx, "read messages", func(q querier) error {
		for _, r := range core.NewIDSet(ids...).Ranges() {
			got, err := list(q, scanMessage,
				`SELECT `+messageColumns+` FROM messages WHERE user_id = $1 AND id BETWEEN $2 AND $3`, user,
				r[0], r[1])
			if err != nil {
				return err
			}
			out = append(out, got...)
		}
		return nil
	})
	slices.SortFunc(out, func(a, b core.Message) int {
		return cmp.Or(cmp.Compare(a.Position, b.Position), cmp.Compare(a.ID, b.ID))
	})
	return out, err
}

const threadColumns = `user_id, id, mode, title, own, created_at`

func scanThread(row scanner) (t core.Thread, err error) {
	return t, found(row.Scan(&t.User, &t.ID, &t.Mode, &t.Title, &t.Own, asTime(&t.CreatedAt)))
}

// Thread returns a thread (0: the continuous one), or ErrNotFound.
func (s *Store) Thread(ctx context.Context, user core.UserID, id core.ThreadID) (core.Thread, error) {
	if id == 0 {
		return scanThread(s.one(ctx).row(`SELECT `+threadColumns+` FROM threads WHERE user_id = $1 AND mode = 'continuous'`,
			user))
	}
	return scanThread(s.one(ctx).row(`SELECT `+threadColumns+` FROM threads WHERE user_id = $1 AND id = $2 AND mode <> 'gone'`, user, id))
}

// Threads lists the plain threads, newest first.
func (s *Store) Threads(ctx context.Context, user core.UserID, limit int) ([]core.Thread, error) {
	return list(s.one(ctx), scanThread, `SELECT `+threadColumns+
		` FROM threads WHERE user_id = $1 AND mode = 'thread' ORDER BY id DESC LIMIT $2`, user, limit)
}

// Backlog returns the unanswered part of a thread (0: the continuous one).
func (s *Store) Backlog(ctx context.Context, user core.UserID, id core.ThreadID) (store.Backlog, error) {
	var b store.Backlog
	err := s.view(ctx, "read backlog", func(q querier) (err error) {
		if id, err = threadOr(q, user, id); err != nil {
			return err
		}
		var turns int
		var head sql.NullString
		err = q.row(`SELECT (SELECT COUNT(*) FROM messages
				WHERE user_id = $1 AND thread_id = $2 AND `+unread+`),
			(SELECT COUNT(*) FROM turns WHERE user_id = $1 AND thread_id = $2 AND state = 'running'),
			(SELECT state FROM jobs WHERE user_id = $1 AND key = $3 AND state IN ('ready', 'running'))`,
			user, id, threadKey(id)).Scan(&b.Pending, &turns, &head)
		b.Turn = turns > 0
		b.Running = b.Turn && store.JobState(head.String) == store.JobRunning
		return err
	})
	return b, err
}

// threadOr is threadOr for a thread of the user.
func (t *tx) threadOr(id core.ThreadID) core.ThreadID {
	id, err := threadOr(t, t.user, id)
	t.fail(err)
	return id
}

// threadOr returns id, or the continuous thread's if that is 0.
func threadOr(q reader, user core.UserID, id core.ThreadID) (core.ThreadID, error) {
	if id != 0 {
		return id, nil
	}
	err := q.row(`SELECT id FROM threads WHERE user_id = $1 AND mode = 'continuous'`, user).Scan(&id)
	return id, found(err)
}

// History returns the newest messages of a thread in the order of display.
func (s *Store) History(ctx context.Context, user core.UserID, thread core.ThreadID, before core.MessageID,
	limit int) ([]core.Message, error) {
	var out []core.Message
	err := s.view(ctx, "read history", func(q querier) (err error) {
		if thread, err = threadOr(q, user, thread); err != nil {
			return err
		}
		shown := endOfTime
		if before != 0 {
			if err := q.row(`SELECT shown FROM messages WHERE user_id = $1 AND id = $2`, user, before).Scan(&shown); err != nil {
				return found(err)
			}
		}
		out, err = list(q, scanMessage, displayed(messageColumns, ``, `DESC`), user, thread, -endOfTime, 0, shown, before,
			limit)
		return err
	})
	slices.Reverse(out)
	return out, err
}

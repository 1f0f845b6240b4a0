package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
)

// Window reads the data for a context; see core.TurnStore.
func (s *Store) Window(ctx context.Context, turn *core.Turn, wq core.WindowQuery) (core.Window, error) {
	w, ok, err := s.cachedWindow(ctx, turn, wq)
	if ok || err != nil {
		return w, wrap("read window", err)
	}
	if wq.Stored != nil {
		select {
		case <-wq.Stored:
		case <-ctx.Done():
			return w, wrap("read window", ctx.Err())
		}
	}
	err = s.view(ctx, "read window", func(q querier) error {
		w = core.Window{}
		summaries, err := s.readThread(q, turn, &w)
		if err != nil {
			return err
		}
		if continues(w, wq) {
			return s.fromEpoch(q, turn, &w, summaries)
		}
		return s.forEpoch(q, turn, wq, &w, summaries)
	})
	return w, err
}

// forEpoch reads what a turn that begins an epoch needs, and caches the messages for the turns after it. Those of the
// epoch before are not read again.
func (s *Store) forEpoch(q querier, turn *core.Turn, wq core.WindowQuery, w *core.Window, summaries int64) error {
	if wq.Pages > 0 { // messages on pages are left out
		return newWindow(q, turn, wq, nil, w)
	}
	var known []core.Message
	if w.Epoch != nil {
		if e := s.recent.get(threadOf{turn.User, turn.Thread}, w.Epoch.ID, w.Edits, summaries); e != nil {
			known = e.messages
		}
	}
	if err := newWindow(q, turn, wq, known, w); err != nil {
		return err
	}
	s.recent.put(turn, kept{edits: w.Edits, summaries: summaries, messages: w.Messages})
	return nil
}

// cachedWindow assembles a window from this process's cache of the thread, if that was still
// valid when the turn began. It reads only messages that other processes stored.
func (s *Store) cachedWindow(ctx context.Context, turn *core.Turn, wq core.WindowQuery) (w core.Window, ok bool,
	err error) {
	begun, known := s.recent.begun(turn)
	if begun == nil || !begun.needsOnly(known) {
		return w, false, nil
	}
	epoch := *known.epoch
	epoch.UsedAt = at(begun.used)
	w = core.Window{Epoch: &epoch, Edits: begun.edits, Told: begun.told, News: begun.news, Compressed: begun.compressed,
		Pages: known.pages}
	if !continues(w, wq) {
		return w, false, nil
	}
	fresh := begun.inputs
	if fresh == nil || known.through() != begun.last {
		if fresh, err = list(s.one(ctx), scanMessage, selectFrom, turn.User, turn.Thread, known.through()+1); err != nil {
			return w, false, err
		}
	}
	s.remember(turn, &w, begun.summaries, known.messages, fresh)
	return w, true, nil
}

// readThread reads the thread's versions and its current epoch.
func (s *Store) readThread(q querier, turn *core.Turn, w *core.Window) (summaries int64, err error) {
	var data string
	var used time.Time
	err = q.row(`SELECT h.edits, h.summaries, `+lastUse("$3")+`, COALESCE(e.data, ''), h.news, u.news, h.compressed FROM threads h JOIN users u ON u.id = $1
		LEFT JOIN epochs e ON e.user_id = $1 AND e.id = h.epoch_id WHERE h.user_id = $1 AND h.id = $2`, turn.User,
		turn.Thread, turn.ID).Scan(&w.Edits, &summaries, asTime(&used), &data, &w.Told, &w.News, &w.Compressed)
	if err != nil || data == "" {
		return summaries, found(err)
	}
	w.Epoch = &core.Epoch{}
	if err = unjson(data, w.Epoch); err == nil {
		err = s.complete(q, w.Epoch)
	}
	w.Epoch.UsedAt = used
	return summaries, err
}

// continues reports whether the current epoch can be continued, as far as the store knows.
func continues(w core.Window, q core.WindowQuery) bool {
	return w.Epoch != nil && w.Epoch.Edits == w.Edits && w.Epoch.Budgets == q.Budgets && w.Epoch.UsedAt.After(q.Stale)
}

// fromEpoch reads the messages of an epoch that continues, without those in this process's cache.
func (s *Store) fromEpoch(q querier, turn *core.Turn, w *core.Window, summaries int64) error {
	k := threadOf{turn.User, turn.Thread}
	var known []core.Message
	from := w.Epoch.Start
	if e := s.recent.get(k, w.Epoch.ID, w.Edits, summaries); e != nil {
		known, w.Pages = e.messages, e.pages
		from = e.through() + 1
	} else if err := headPages(q, turn.User, w); err != nil {
		return err
	}
	fresh, err := list(q, scanMessage, selectFrom, turn.User, turn.Thread, from)
	if err != nil {
		return err
	}
	s.remember(turn, w, summaries, known, fresh)
	if w.Epoch.Dropped > 0 {
		if err := uncovered(q, turn, paged(w.Pages), w.Epoch.Start, w); err != nil {
			return err
		}
	}
	if w.News == w.Told {
		return nil
	}
	return changes(q, turn.User, w)
}

// headPages reads the pages in an epoch's head.
func headPages(q querier, user core.UserID, w *core.Window) (err error) {
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

// remember joins a window's messages and caches them for the next turn.
func (s *Store) remember(turn *core.Turn, w *core.Window, summaries int64, known, fresh []core.Message) {
	w.Messages = slices.Concat(known, fresh)
	s.recent.put(turn, kept{epoch: w.Epoch, edits: w.Edits, summaries: summaries,
		messages: w.Messages, pages: w.Pages})
}

// newWindow reads enough of the newest messages for a new epoch, and the data for its head. known are consecutive
// messages of the thread that need not be read.
func newWindow(q querier, turn *core.Turn, wq core.WindowQuery, known []core.Message, w *core.Window) error {
	var err error
	from := int64(1)
	if wq.Pages > 0 {
		if from, err = newestPages(q, turn, wq.Pages, w); err != nil {
			return err
		}
	}
	if err := newest(q, turn, wq, max(from, 1), known, w); err != nil {
		return err
	}
	if turn.Segment == 0 {
		return q.row(
			`SELECT COUNT(*) FROM messages WHERE user_id = $1 AND thread_id = $2 AND position > 0 AND (role = 'user' OR role = 'assistant' AND body <> '')`,
			turn.User, turn.Thread).Scan(&w.Thread)
	}
	if err := days(q, turn, w); err != nil {
		return err
	}
	w.Loops, err = openLoops(q, turn.User, 20)
	return err
}

// maxUncovered bounds how many uncovered messages are counted.
const maxUncovered = 1000

// paged returns the position after the last of pages.
func paged(pages []core.Page) int64 {
	if n := len(pages); n > 0 {
		return pages[n-1].End + 1
	}
	return 1
}

// uncovered counts the messages in a range of positions that no summary covers: those are in
// days without a summary, or with messages since it.
func uncovered(q querier, turn *core.Turn, from, before int64, w *core.Window) error {
	return q.row(
		`SELECT COUNT(*) FROM (SELECT 1 FROM segments g JOIN messages m ON m.user_id = $1 AND m.segment_id = g.id AND m.segment_id > 0
		WHERE g.user_id = $1 AND g.thread_id = $2 AND (g.version = 0 OR g.since_summary > 0 OR g.stale = 1 OR g.hidden = 1)
		AND m.position > 0 AND m.covered = 0 AND m.redacted = 0 AND m.role <> 'tool' AND m.position < $3 AND m.position >= $5 LIMIT $4) AS counted`,
		turn.User, turn.Thread, before, maxUncovered, from).Scan(&w.UncoveredBefore)
}

func days(q querier, turn *core.Turn, w *core.Window) (err error) {
	w.Today, err = scanSegment(joined{q.row(`SELECT `+segmentColumns+
		`, (SELECT COALESCE(SUM(a.messages), 0) FROM segments a WHERE a.user_id = $1 AND a.thread_id = $3)
		FROM segments WHERE user_id = $1 AND id = $2`, turn.User, turn.Segment, turn.Thread), []any{&w.Thread}})
	if err != nil {
		return err
	}
	if w.TodaySummary, err = summaryOf(q, w.Today); err != nil {
		return err
	}
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

// epochByID reads an epoch as it is stored, without its shared texts.
func epochByID(q reader, user core.UserID, id core.TurnID) (*core.Epoch, error) {
	var e core.Epoch
	return &e, found(q.row(`SELECT data FROM epochs WHERE user_id = $1 AND id = $2`, user, id).Scan(asJSON(&e)))
}

// Epoch returns the epoch that turn id began.
func (s *Store) Epoch(ctx context.Context, user core.UserID, id core.TurnID) (*core.Epoch, error) {
	var e *core.Epoch
	err := s.view(ctx, "read epoch", func(q querier) (err error) {
		if e, err = epochByID(q, user, id); err != nil {
			return err
		}
		return s.complete(q, e)
	})
	return e, err
}

// Turn returns a turn and its snapshot.
func (s *Store) Turn(ctx context.Context, user core.UserID, id core.TurnID) (core.Turn, *core.Snapshot, error) {
	t, snapshot, err := turnByID(s.one(ctx), user, id)
	if err != nil || snapshot == "" {
		return t, nil, err
	}
	var sn core.Snapshot
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

const threadColumns = `user_id, id, mode, title, created_at`

func scanThread(row scanner) (t core.Thread, err error) {
	return t, found(row.Scan(&t.User, &t.ID, &t.Mode, &t.Title, asTime(&t.CreatedAt)))
}

// Thread returns a thread (0: the continuous one), or ErrNotFound.
func (s *Store) Thread(ctx context.Context, user core.UserID, id core.ThreadID) (core.Thread, error) {
	if id == 0 {
		return scanThread(s.one(ctx).row(`SELECT `+threadColumns+` FROM threads WHERE user_id = $1 AND mode = 'continuous'`,
			user))
	}
	return scanThread(s.one(ctx).row(`SELECT `+threadColumns+` FROM threads WHERE user_id = $1 AND id = $2`, user, id))
}

// Threads lists the plain threads, newest first.
func (s *Store) Threads(ctx context.Context, user core.UserID, limit int) ([]core.Thread, error) {
	return list(s.one(ctx), scanThread, `SELECT `+threadColumns+
		` FROM threads WHERE user_id = $1 AND mode = 'thread' ORDER BY id DESC LIMIT $2`, user, limit)
}

// Backlog returns the unanswered part of a thread (0: the continuous one).
func (s *Store) Backlog(ctx context.Context, user core.UserID, id core.ThreadID) (core.Backlog, error) {
	var b core.Backlog
	err := s.view(ctx, "read backlog", func(q querier) (err error) {
		if id, err = threadOr(q, user, id); err != nil {
			return err
		}
		var turns int
		var head sql.NullString
		err = q.row(`SELECT (SELECT COUNT(*) FROM messages
				WHERE user_id = $1 AND thread_id = $2 AND `+unread+`),
			(SELECT COUNT(*) FROM turns WHERE user_id = $1 AND thread_id = $2 AND state = 'running'),
			COALESCE((SELECT state FROM jobs WHERE user_id = $1 AND key = $3 AND state IN ('ready', 'running')),
				(SELECT state FROM turns WHERE user_id = $1 AND thread_id = $2 AND state = 'running' AND lease_until > 0))`,
			user, id, threadKey(id)).Scan(&b.Pending, &turns, &head)
		b.Turn = turns > 0
		b.Running = b.Turn && core.JobState(head.String) == core.JobRunning
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

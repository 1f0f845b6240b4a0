package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// maxName bounds the name of a thread, in bytes.
const maxName = 200

// ThreadNamed returns the plain thread of a name; see store.ThreadReader.
func (s *Store) ThreadNamed(ctx context.Context, user core.UserID, name string, now time.Time) (core.Thread, error) {
	if name == "" || len(name) > maxName {
		return core.Thread{}, errors.New("open thread: a name has 1 to 200 bytes")
	}
	h, err := threadNamed(s.one(ctx), user, name)
	if !errors.Is(err, core.ErrNotFound) {
		return h, wrap("read thread", err)
	}
	err = s.update(ctx, "open thread", user, func(t *tx) {
		var err error
		if h, err = threadNamed(t, t.user, name); errors.Is(err, core.ErrNotFound) {
			t.exec(`INSERT INTO threads (user_id, id, mode, title, name, created_at) VALUES ($1, $2, 'thread', $3, $3, $4)`, t.user,
				t.nextID(), name, ms(now))
			h, err = threadNamed(t, t.user, name)
		}
		t.fail(err)
	})
	return h, err
}

func threadNamed(q reader, user core.UserID, name string) (core.Thread, error) {
	return scanThread(q.row(`SELECT `+threadColumns+` FROM threads WHERE user_id = $1 AND name = $2 AND name <> ''`, user,
		name))
}

// shownAt is a place in the order of display.
type shownAt struct {
	shown int64 // microseconds
	id    core.MessageID
}

// endOfTime is after every place.
const endOfTime = int64(1) << 62

// displayed returns the query of columns of the first messages of a thread ($1, $2) in the order of display, at most
// $7, between the places ($3, $4) and ($5, $6), exclusive. order is ASC or DESC. Almost all messages are displayed at
// their position, which has an index anyway; the index of shown has only the others.
func displayed(columns, where, order string) string {
	from := func(condition, place, by string) string {
		return `SELECT * FROM (SELECT ` + columns + `, shown FROM messages WHERE user_id = $1 AND thread_id = $2 AND ` + condition +
			` AND ` + place + ` >= $3 AND ` + place + ` <= $5 AND (shown, id) > ($3, $4) AND (shown, id) < ($5, $6)` + where +
			` ORDER BY ` + by + ` ` + order + ` LIMIT $7) AS page`
	}
	return `SELECT ` + columns + ` FROM (` + from(`position > 0 AND shown = position`, `position`, `position`) + ` UNION ALL ` +
		from(`shown <> position`, `shown`, `shown `+order+`, id`) + `) AS page ORDER BY shown ` + order + `, id ` + order +
		` LIMIT $7`
}

func (p shownAt) compare(o shownAt) int {
	return cmp.Or(cmp.Compare(p.shown, o.shown), cmp.Compare(p.id, o.id))
}

// Timeline returns a page of a thread; see store.TimelineStore.
func (s *Store) Timeline(ctx context.Context, tq store.TimelineQuery) ([]core.Message, bool, error) {
	var out []core.Message
	limit := max(tq.Limit, 0)
	err := s.view(ctx, "read timeline", func(q querier) (err error) {
		if tq.Thread, err = threadThere(q, tq.User, tq.Thread); err != nil {
			return err
		}
		above, below, err := bounds(q, tq)
		if err != nil {
			return err
		}
		order := `DESC`
		if tq.After != 0 || tq.Oldest {
			order = `ASC`
		}
		out, err = list(q, scanMessage, displayed(messageColumns, ` AND (kind <> 'answer' OR $8 = 1)`, order), tq.User,
			tq.Thread, above.shown, above.id, below.shown, below.id, limit+1, flag(tq.Answers))
		return err
	})
	if err != nil {
		return nil, false, err
	}
	more := len(out) > limit
	out = out[:min(len(out), limit)]
	if tq.After == 0 && !tq.Oldest {
		slices.Reverse(out)
	}
	return out, more, nil
}

// bounds returns the places between which a page lies, exclusive.
func bounds(q querier, tq store.TimelineQuery) (above, below shownAt, err error) {
	below.shown = endOfTime
	if !tq.From.IsZero() {
		above.shown = tq.From.UnixMicro()
	}
	if !tq.To.IsZero() {
		below.shown = tq.To.UnixMicro()
	}
	if tq.Before != 0 {
		p, err := placeOf(q, tq, tq.Before)
		if err != nil {
			return above, below, err
		}
		below = slices.MinFunc([]shownAt{below, p}, shownAt.compare)
	}
	if tq.After != 0 {
		p, err := placeOf(q, tq, tq.After)
		if err != nil {
			return above, below, err
		}
		above = slices.MaxFunc([]shownAt{above, p}, shownAt.compare)
	}
	return above, below, nil
}

// placeOf returns the place of a message in the thread, or core.ErrNotFound.
func placeOf(q querier, tq store.TimelineQuery, id core.MessageID) (shownAt, error) {
	p := shownAt{id: id}
	err := q.row(`SELECT shown FROM messages WHERE user_id = $1 AND id = $2 AND thread_id = $3`, tq.User, id,
		tq.Thread).Scan(&p.shown)
	return p, found(err)
}

// threadThere returns a thread's id (0: the continuous one), or core.ErrNotFound.
func threadThere(q reader, user core.UserID, id core.ThreadID) (core.ThreadID, error) {
	if id == 0 {
		return threadOr(q, user, 0)
	}
	err := q.row(`SELECT id FROM threads WHERE user_id = $1 AND id = $2`, user, id).Scan(&id)
	return id, found(err)
}

// Sent lists the deliveries of messages, oldest first; see store.TimelineStore.
func (s *Store) Sent(ctx context.Context, user core.UserID, ids []core.MessageID) ([]core.Delivery, error) {
	var out []core.Delivery
	err := s.readRanges(ctx, "list deliveries", s.deliveriesOf(), user, ids,
		func(row Row) error {
			d, err := scanDelivery(row)
			out = append(out, d)
			return err
		})
	slices.SortFunc(out, func(a, b core.Delivery) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return out, err
}

// Revisions returns the earlier texts of a message, oldest first.
func (s *Store) Revisions(ctx context.Context, user core.UserID, id core.MessageID) ([]store.Revision, error) {
	scan := fields(func(v *store.Revision) []any { return []any{&v.Revision, &v.Text, asTime(&v.ReplacedAt)} })
	return list(s.one(ctx), scan,
		`SELECT revision, body, replaced_at FROM revisions WHERE user_id = $1 AND message_id = $2 ORDER BY revision`, user, id)
}

// Running lists the running turns of a thread; see store.TimelineStore.
func (s *Store) Running(ctx context.Context, user core.UserID, thread core.ThreadID) ([]core.Turn, error) {
	var out []core.Turn
	err := s.view(ctx, "list running turns", func(q querier) (err error) {
		if thread, err = threadOr(q, user, thread); err != nil {
			return err
		}
		return addTo(&out, q, scanTurnOnly, `SELECT `+turnColumns+
			` FROM turns t WHERE t.user_id = $1 AND t.thread_id = $2 AND t.state = 'running'`, user, thread)
	})
	slices.SortFunc(out, func(a, b core.Turn) int { return cmp.Compare(a.ID, b.ID) })
	return out, err
}

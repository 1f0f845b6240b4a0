package sqlstore

import (
	"context"
	"slices"

	"github.com/everthread/everthread/core"
)

const segmentColumns = `user_id, id, thread_id, label, zone, starts_at, ends_at, finalize_at, post_at, state, first_message, last_message, messages, since_summary, stale, hidden, version, error, failed_at, retry_at, post`

func scanSegment(row scanner) (g core.Segment, err error) {
	return g, found(row.Scan(&g.User, &g.ID, &g.Thread, &g.Day.Label, &g.Day.Zone, asTime(&g.Day.Start),
		asTime(&g.Day.End), asTime(&g.Day.Finalize), asTime(&g.Day.Post), &g.State, &g.StartsAt, &g.EndsAt, &g.Messages,
		&g.SinceSummary, &g.Stale, &g.Hidden, &g.SummaryVersion, &g.SummaryError, asTime(&g.FailedAt),
		asTime(&g.RetryAt), &g.Post))
}

// segment returns the segment of a message's day in the route's thread, and opens it if need be. It counts the message;
// a final segment becomes stale. If the user's zone has changed, the segment ends with the day of the new zone. It
// reports whether raw payloads are removed with the segment.
func (t *tx) segment(to *route, m core.NewMessage) (id core.SegmentID, raw bool) {
	id, ends, marked, raw, d := to.segment, to.ends, to.marked, to.raw, m.Day
	if (d.Label != to.label || id == 0) && !t.find(columns{&id, &ends, &marked, &raw},
		`SELECT id, ends_at, unwindowed, raw FROM segments WHERE user_id = $1 AND thread_id = $2 AND label = $3`, t.user, to.thread,
		d.Label) {
		return t.openSegment(to.thread, d, counts(m)), true
	}
	if ends != ms(d.End) {
		t.exec(`UPDATE segments SET ends_at = $3, finalize_at = $4, post_at = $5 WHERE user_id = $1 AND id = $2`,
			t.user, id, ms(d.End), ms(d.Finalize), ms(d.Post))
	}
	t.counted(id, counts(m), marked)
	return id, raw
}

// counts returns 1 for a person's message, and 0 for a tool result, which is no conversation.
func counts(m core.NewMessage) int {
	if m.Role == core.RoleTool {
		return 0
	}
	return 1
}

func (t *tx) openSegment(thread core.ThreadID, d core.Day, messages int) core.SegmentID {
	id := core.SegmentID(t.nextID())
	t.exec(`INSERT INTO segments (user_id, id, thread_id, label, zone, starts_at, ends_at, finalize_at, post_at, state, first_message, messages, since_summary, raw)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'open', $10, $11, $11, 1)`, t.user, id, thread, d.Label, d.Zone, ms(d.Start), ms(d.End), ms(d.Finalize), ms(d.Post), t.lastMessage+1, messages)
	return id
}

// counted adds n messages to a segment, and marks the segment as having messages outside
// windows, unless it is marked. A final one becomes stale.
func (t *tx) counted(id core.SegmentID, n int, marked bool) {
	if id == 0 || n == 0 {
		return
	}
	mark := `, unwindowed = 1`
	if marked { // an indexed column is written only when it changes
		mark = ``
	}
	t.exec(`UPDATE segments SET messages = messages + $3, since_summary = since_summary + $3`+mark+`,
		stale = CASE WHEN state = 'final' THEN 1 ELSE stale END WHERE user_id = $1 AND id = $2`, t.user, id, n)
}

// Days lists segments, newest first.
func (s *Store) Days(ctx context.Context, user core.UserID, before string, limit int) ([]core.Segment, error) {
	if before == "" {
		before = "9999-99-99"
	}
	return list(s.one(ctx), scanSegment, `SELECT `+segmentColumns+` FROM segments WHERE user_id = $1 AND label < $2
		AND thread_id = (SELECT id FROM threads WHERE user_id = $1 AND mode = 'continuous') ORDER BY label DESC LIMIT $3`,
		user, before, limit)
}

// Day returns the segment of a label, or ErrNotFound.
func (s *Store) Day(ctx context.Context, user core.UserID, label string) (core.Segment, error) {
	return scanSegment(s.one(ctx).row(`SELECT `+segmentColumns+` FROM segments WHERE user_id = $1 AND label = $2
		AND thread_id = (SELECT id FROM threads WHERE user_id = $1 AND mode = 'continuous')`, user, label))
}

// Segment returns a segment by its id, or ErrNotFound.
func (s *Store) Segment(ctx context.Context, user core.UserID, id core.SegmentID) (core.Segment, error) {
	var g core.Segment
	err := s.view(ctx, "read segment", func(q querier) (err error) {
		if g, err = segmentByID(q, user, id); err != nil {
			return err
		}
		g.Edits, err = threadEdits(q, user, g.Thread)
		return err
	})
	return g, err
}

func threadEdits(q reader, user core.UserID, thread core.ThreadID) (edits int64, err error) {
	err = q.row(`SELECT edits FROM threads WHERE user_id = $1 AND id = $2`, user, thread).Scan(&edits)
	return edits, found(err)
}

func segmentByID(q reader, user core.UserID, id core.SegmentID) (core.Segment, error) {
	return scanSegment(q.row(`SELECT `+segmentColumns+` FROM segments WHERE user_id = $1 AND id = $2`, user, id))
}

// DayMessages returns a day's conversation in order, after message `after`.
func (s *Store) DayMessages(ctx context.Context, user core.UserID, id core.SegmentID, after core.MessageID,
	limit int) ([]core.Message, error) {
	return list(s.one(ctx), scanMessage, `SELECT `+messageColumns+` FROM messages
		WHERE user_id = $1 AND segment_id = $2 AND segment_id > 0 AND id > $3 AND kind = 'chat' ORDER BY id LIMIT $4`, user, id, after, limit)
}

// DayMessagesBefore returns the last messages of a day's conversation before one, in order.
func (s *Store) DayMessagesBefore(ctx context.Context, user core.UserID, id core.SegmentID, before core.MessageID,
	limit int) ([]core.Message, error) {
	out, err := list(s.one(ctx), scanMessage, `SELECT `+messageColumns+` FROM messages
		WHERE user_id = $1 AND segment_id = $2 AND segment_id > 0 AND id < $3 AND kind = 'chat' ORDER BY id DESC LIMIT $4`,
		user, id, before, limit)
	slices.Reverse(out)
	return out, err
}

const summaryColumns = `user_id, segment_id, version, label, body, tokens, covers, model, usage, ungrounded, final, created_at, tainted`

func scanSummary(row scanner) (s core.Summary, err error) {
	return s, found(row.Scan(&s.User, &s.Segment, &s.Version, &s.Label, &s.Markdown, &s.Tokens, asJSON(&s.Covers),
		&s.Model, asJSON(&s.Usage), &s.Ungrounded, &s.Final, asTime(&s.CreatedAt), &s.Tainted))
}

const putSummary = `INSERT INTO summaries (` + summaryColumns + `)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`

// summaryRow returns the values of summaryColumns.
func summaryRow(s core.Summary) []any {
	return []any{s.User, s.Segment, s.Version, s.Label, s.Markdown, s.Tokens, text(s.Covers), s.Model, text(s.Usage),
		flag(s.Ungrounded), flag(s.Final), ms(s.CreatedAt), flag(s.Tainted)}
}

// Summaries returns the versions of a day's summary, newest first.
func (s *Store) Summaries(ctx context.Context, user core.UserID, id core.SegmentID, limit int) ([]core.Summary, error) {
	return list(s.one(ctx), scanSummary, `SELECT `+summaryColumns+
		` FROM summaries WHERE user_id = $1 AND segment_id = $2 ORDER BY version DESC LIMIT $3`, user, id, limit)
}

// SummariesOf returns the newest summary of each day that has a visible one.
func (s *Store) SummariesOf(ctx context.Context, user core.UserID, ids []core.SegmentID) ([]core.Summary, error) {
	var out []core.Summary
	err := s.view(ctx, "read summaries", func(q querier) (err error) {
		for id := range until(&err, ids) {
			err = addTo(&out, q, scanSummary, `SELECT `+prefixed("s", summaryColumns)+
				` FROM segments g JOIN summaries s ON s.user_id = $1 AND s.segment_id = g.id AND s.version = g.version
				WHERE g.user_id = $1 AND g.id = $2 AND g.hidden = 0`, user, id)
		}
		return err
	})
	return out, err
}

// Loops lists open loops, newest mention first.
func (s *Store) Loops(ctx context.Context, user core.UserID, limit int) ([]core.Loop, error) {
	return openLoops(s.one(ctx), user, limit)
}

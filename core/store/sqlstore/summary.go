package sqlstore

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

// DueSegments lists segments that are due for finalization, rewriting or another attempt.
func (s *Store) DueSegments(ctx context.Context, now time.Time, config string, limit int) ([]core.Segment, error) {
	return s.dueSegments(ctx, "due segments", now, limit, config, `state = 'open' AND finalize_at <= $1`,
		`state = 'final' AND stale = 1 AND retry_at = 0 AND backlog = 0 AND finalize_at <= $1`,
		`retry_at > 0 AND (retry_at <= $1 OR $3 <> '' AND failed_with <> $3) AND (state = 'final' OR finalize_at > $1)`)
}

// DuePosts lists segments whose summary is due to be posted. A day waits while a later one is
// due to be closed, as only the newest is posted.
func (s *Store) DuePosts(ctx context.Context, now, expired time.Time, limit int) ([]core.Segment, error) {
	return s.dueSegments(ctx, "due posts", now, limit, ms(expired),
		`post = 'due' AND post_at <= $1 AND (version > 0 OR retry_at = 0 OR post_at <= $3) AND NOT EXISTS (SELECT 1 FROM segments later
		WHERE later.user_id = segments.user_id AND later.thread_id = segments.thread_id AND later.label > segments.label AND later.state = 'open' AND later.finalize_at <= $1)`)
}

// dueSegments lists the segments of each condition, whose parameters are now and arg.
func (s *Store) dueSegments(ctx context.Context, op string, now time.Time, limit int, arg any,
	wheres ...string) ([]core.Segment, error) {
	var out []core.Segment
	err := s.view(ctx, op, func(q querier) (err error) {
		for where := range until(&err, wheres) {
			order, args := "finalize_at", []any{ms(now), limit}
			switch {
			case strings.Contains(where, "post_at"):
				order = "post_at DESC"
			case strings.Contains(where, "retry_at <="):
				order = "retry_at"
			}
			if strings.Contains(where, "$3") {
				args = append(args, arg)
			}
			err = addTo(&out, q, scanSegment,
				`SELECT `+segmentColumns+` FROM segments WHERE `+where+` AND NOT EXISTS (SELECT 1 FROM jobs
				WHERE jobs.queue = 'summarize' AND jobs.user_id = segments.user_id AND jobs.ref = segments.id AND jobs.state <> 'dead')
				AND NOT EXISTS (SELECT 1 FROM users WHERE users.id = segments.user_id AND users.merging = 1) ORDER BY `+order+
					` LIMIT $2`, args...)
		}
		return err
	})
	return out, err
}

// PutSummary stores a new version of a day's summary; see store.SummaryStore.
func (s *Store) PutSummary(ctx context.Context, p store.PutSummary) error {
	return s.update(ctx, "put summary", p.Summary.User, func(t *tx) {
		t.holds(p.Lease)
		g, err := segmentByID(t, t.user, p.Summary.Segment)
		t.fail(err)
		t.unchanged(g, p)
		if p.Summary.Markdown != "" {
			t.newVersion(&g, p)
		}
		t.closeSegment(g, p)
		t.nameLoops(p)
		for _, id := range p.Settled {
			t.settleLoop(id, p.Now)
		}
		t.spend(p.Day, p.Spent, 0, 0)
		t.release(p.Lease)
		t.endSummary(p.Lease, p.Now)
	})
}

// unchanged fails with core.ErrChanged if a final summary would leave out messages, or if a
// message was edited or redacted after it was read.
func (t *tx) unchanged(g core.Segment, p store.PutSummary) {
	last := valueOf[core.MessageID](t, `SELECT COALESCE(MAX(id), 0) FROM messages WHERE user_id = $1 AND segment_id = $2 AND segment_id > 0 AND kind = 'chat'`, t.user, g.ID)
	edits, err := threadEdits(t, t.user, g.Thread)
	t.fail(err)
	if p.Final && last > p.ReadTo || edits != p.Edits || t.merging {
		t.fail(core.ErrChanged)
	}
}

// newVersion stores a summary.
func (t *tx) newVersion(g *core.Segment, p store.PutSummary) {
	g.SummaryVersion++
	m := p.Summary
	m.User, m.Segment, m.Version, m.Label, m.Final, m.CreatedAt = t.user, g.ID, g.SummaryVersion, g.Day.Label, p.Final, p.Now
	t.exec(putSummary, summaryRow(m)...)
	t.cover(g.ID, m.Covers)
	t.index(core.DocSummary, int64(g.ID), m.Markdown)
	t.insert(p.Entry, place{thread: g.Thread, segment: g.ID})
	if g.Day.Label != p.Day { // today's messages are in the prompt themselves
		t.change()
	}
	if g.Hidden || g.Stale {
		t.exec(`UPDATE threads SET edits = edits + 1 WHERE user_id = $1 AND id = $2`, t.user, g.Thread)
	}
}

// cover marks the messages of a day that a summary is the first to cover. Most were covered by
// the previous one.
func (t *tx) cover(g core.SegmentID, covers core.IDSet) {
	ids := listOf(t, column[core.MessageID],
		`SELECT id FROM messages WHERE user_id = $1 AND segment_id = $2 AND segment_id > 0 AND kind = 'chat' AND covered = 0 ORDER BY id`, t.user, g)
	ids = slices.DeleteFunc(ids, func(id core.MessageID) bool { return !covers.Has(id) })
	for _, r := range core.NewIDSet(ids...).Ranges() {
		t.exec(
			`UPDATE messages SET covered = 1 WHERE user_id = $1 AND segment_id = $2 AND segment_id > 0 AND id BETWEEN $3 AND $4`,
			t.user, g, r[0], r[1])
	}
}

func (t *tx) closeSegment(g core.Segment, p store.PutSummary) {
	state, post, last := g.State, g.Post, g.EndsAt
	if p.Final {
		state, last = core.SegmentFinal, p.ReadTo
		if post == core.PostNone {
			post = p.Post
		}
	}
	t.exec(`UPDATE segments SET version = $3, state = $4, post = $5, last_message = $6, stale = 0, hidden = 0, backlog = 0, error = '', failed_at = 0, retry_at = 0, unwindowed = 1,
		since_summary = (SELECT COUNT(*) FROM messages WHERE user_id = $1 AND segment_id = $2 AND segment_id > 0 AND id > $7 AND kind = 'chat'
			AND (role = 'user' OR role = 'assistant' AND (body <> '' OR redacted = 1)))
		WHERE user_id = $1 AND id = $2`, t.user, g.ID, g.SummaryVersion, string(state), string(post), last, p.ReadTo)
	if state == core.SegmentFinal {
		t.finalVersion(g.ID)
	}
}

// finalVersion marks the newest summary of a closed day as its final one.
func (t *tx) finalVersion(g core.SegmentID) {
	t.exec(`UPDATE summaries SET final = 1 WHERE user_id = $1 AND segment_id = $2 AND final = 0
		AND version = (SELECT version FROM segments WHERE user_id = $1 AND id = $2 AND hidden = 0)`, t.user, g)
}

// nameLoops opens the loops that a summary names. One that is already open was mentioned again, in the messages that
// the summary names. One that was closed since stays closed.
func (t *tx) nameLoops(p store.PutSummary) {
	if len(p.Loops) == 0 {
		return
	}
	open, err := openLoops(t, t.user, 1000)
	t.fail(err)
	closed, err := loopsWhere(t, `state = 'closed' ORDER BY mentioned_at DESC, id DESC LIMIT $2`, t.user, 200)
	t.fail(err)
	for _, n := range p.Loops {
		said := t.newestOf(n.Sources, p.Now)
		id := n.Loop
		i := slices.IndexFunc(open, func(l core.Loop) bool { return l.ID == id })
		if i < 0 {
			id, _ = sameLoop(p, n.Text, open)
			i = slices.IndexFunc(open, func(l core.Loop) bool { return l.ID == id })
		}
		switch {
		case i >= 0:
			t.renameLoop(open[i], n, said, p.Summary.Tainted)
		case n.Loop == 0 && !settled(p, n.Text, said, closed):
			l := core.Loop{ID: core.LoopID(t.nextID()), Text: n.Text, Sources: n.Sources, Due: n.Due, Tainted: p.Summary.Tainted}
			open = append(open, l)
			t.openLoop(effect.OpenLoop{Loop: l, At: p.Now})
		}
	}
}

// renameLoop records that an open loop was mentioned. A later mention gives it its words and its date, unless they may
// be foreign and the loop's are not.
func (t *tx) renameLoop(l core.Loop, n store.NamedLoop, said time.Time, tainted bool) {
	if !said.After(l.Mentioned) {
		return
	}
	t.mentionLoop(l.ID, said)
	if n.Loop == 0 || tainted && !l.Tainted {
		return
	}
	sources := core.NewIDSet(append(n.Sources, l.Sources...)...)
	if n.Due.IsZero() {
		n.Due = l.Due
	}
	t.exec(`UPDATE loops SET body = $3, sources = $4, due_at = $5, asked = CASE WHEN due_at = $5 THEN asked ELSE 0 END, changed = $6
		WHERE user_id = $1 AND id = $2`, t.user, l.ID, n.Text, text(slices.Collect(sources.All())), ms(n.Due), t.change())
	t.sources = nil
}

// settleLoop closes a loop that a summary settles. The person can undo that.
func (t *tx) settleLoop(id core.LoopID, at time.Time) {
	t.exec(`UPDATE loops SET state = 'closed', mentioned_at = $3, changed = $4, tainted = tainted | $5
		WHERE user_id = $1 AND id = $2 AND state = 'open'`, t.user, id, ms(at), t.change(), ended(true))
}

// settled reports whether a loop was closed after it was last mentioned, at said. Closing counts as the last mention.
func settled(p store.PutSummary, body string, said time.Time, closed []core.Loop) bool {
	id, ok := sameLoop(p, body, closed)
	return ok && slices.ContainsFunc(closed, func(l core.Loop) bool { return l.ID == id && !said.After(l.Mentioned) })
}

func sameLoop(p store.PutSummary, body string, open []core.Loop) (core.LoopID, bool) {
	if p.SameLoop == nil {
		return 0, false
	}
	return p.SameLoop(body, open)
}

// FailSummary records that a summary failed, and closes a day that is over.
func (s *Store) FailSummary(ctx context.Context, f store.FailedSummary) error {
	return s.update(ctx, "fail summary", f.User, func(t *tx) {
		t.holds(f.Lease)
		t.release(f.Lease)
		var state core.SegmentState
		t.get(&state, `UPDATE segments SET error = $3, failed_at = $5, retry_at = $6, failed_with = $7, backlog = 0,
			post = CASE WHEN finalize_at <= $4 AND post = '' THEN $8 ELSE post END,
			last_message = CASE WHEN finalize_at <= $4 THEN (SELECT COALESCE(MAX(id), 0) FROM messages WHERE user_id = $1 AND segment_id = $2 AND segment_id > 0 AND kind = 'chat') ELSE last_message END,
			state = CASE WHEN finalize_at <= $4 THEN 'final' ELSE state END WHERE user_id = $1 AND id = $2 RETURNING state`,
			t.user, f.Segment, f.Cause, ms(f.Now), ms(f.Since), ms(f.RetryAt), f.Config, string(f.Post))
		if state == core.SegmentFinal {
			t.finalVersion(f.Segment)
		}
		t.endSummary(f.Lease, f.Now)
	})
}

// PutPost stores the post of a day, or that there is none.
func (s *Store) PutPost(ctx context.Context, p store.PutPost) error {
	return s.update(ctx, "put post", p.User, func(t *tx) {
		g, err := segmentByID(t, t.user, p.Segment)
		t.fail(err)
		if p.State == core.PostDone {
			p.State = t.newestPost(g)
		}
		t.execOr(core.ErrExists, `UPDATE segments SET post = $3 WHERE user_id = $1 AND id = $2 AND post = 'due'`,
			t.user, p.Segment, string(p.State))
		if p.State == core.PostDone && !t.fresh(store.Note{Once: p.Once, Now: p.Now}) {
			t.fail(core.ErrChanged)
		}
		if p.State == core.PostDone || p.State == core.PostMissed && p.Message.Text != "" {
			id := t.insert(p.Message, place{thread: g.Thread, segment: g.ID})
			t.deliverAll(p.Deliveries, []core.MessageID{id}, nil, p.Now)
			for _, l := range p.Asked {
				t.exec(`UPDATE loops SET asked = 1 WHERE user_id = $1 AND id = $2`, t.user, l)
			}
		}
	})
}

// Noted reports whether a note or a post with the key once was stored.
func (s *Store) Noted(ctx context.Context, user core.UserID, once string) (noted bool, err error) {
	err = s.one(ctx).row(`SELECT EXISTS (SELECT 1 FROM once WHERE user_id = $1 AND key = $2)`, user, once).Scan(&noted)
	return noted, err
}

// newestPost returns PostDone, or PostSkipped if a later day is posted or due to be.
func (t *tx) newestPost(g core.Segment) core.PostState {
	later := valueOf[bool](t, `SELECT EXISTS (SELECT 1 FROM segments WHERE user_id = $1 AND thread_id = $2 AND label > $3 AND post IN ('due', 'done'))`,
		t.user, g.Thread, g.Day.Label)
	if later {
		return core.PostSkipped
	}
	return core.PostDone
}

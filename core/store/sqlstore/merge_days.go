package sqlstore

import (
	"context"
	"slices"
	"strconv"

	"github.com/everthread/everthread/core"
)

func cursorNumber(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

func numberCursor(n int) string { return strconv.Itoa(n) }

// dayPage is how many days one step joins.
const dayPage = 20

// joinDays copies the days of the source user with their summaries. A day that the target user
// also has is joined: it shows both summaries until it is rewritten.
func (s *Store) joinDays(ctx context.Context, m move) error {
	return s.eachDay(ctx, m, (*pair).bringThreads, (*pair).bringDay)
}

// eachDay calls bring for the next page of the source user's days; before the first it calls begin.
func (s *Store) eachDay(ctx context.Context, m move, begin func(p *pair, m *move),
	bring func(p *pair, m *move, g core.Segment)) error {
	page, err := list(s.one(ctx), scanSegment, `SELECT `+segmentColumns+
		` FROM segments WHERE user_id = $1 AND id > $2 ORDER BY id LIMIT $3`, m.From, cursorNumber(m.cursor), dayPage)
	if err != nil {
		return err
	}
	return s.step(ctx, m, func(p *pair, m *move) {
		if m.cursor == "" {
			begin(p, m)
		}
		for _, g := range page {
			bring(p, m, g)
		}
		if len(page) < dayPage {
			m.next(phaseCopy)
			return
		}
		m.cursor = numberCursor(int(page[len(page)-1].ID))
	})
}

// numbers returns the renumbering of a merge, without its days.
func (m move) numbers() renumbering {
	return renumbering{message: m.plan.Message, id: m.plan.ID, segments: map[core.SegmentID]day{},
		threads: map[core.ThreadID]core.ThreadID{m.plan.Was: m.plan.Thread}}
}

// bringThreads copies the source user's plain threads, without names that the target user's
// threads have, and identities, which stay detached until the switch.
func (p *pair) bringThreads(m *move) {
	for _, named := range []struct{ name, where string }{{`''`, `IN`}, {`name`, `NOT IN`}} {
		p.exec(`INSERT INTO threads (user_id, id, mode, title, own, name, last_position, edits, summaries, created_at)
			SELECT CAST($2 AS bigint), id + $3, mode, title, own, `+named.name+`, last_position, edits, summaries, created_at FROM threads h
			WHERE user_id = $1 AND id <> $4 AND name `+named.where+` (SELECT o.name FROM threads o WHERE o.user_id = $2 AND o.name <> '')`,
			m.From, m.Into, m.plan.ID, m.plan.Was)
	}
	p.exec(`INSERT INTO identities (user_id, id, channel, account, external, name, thread_id, blocked, last_used, window_until, teased, aliases, detached)
		SELECT CAST($2 AS bigint), id + $3, channel, account, external, name, CASE WHEN thread_id > 0 THEN thread_id + $3 ELSE 0 END, blocked, last_used, window_until, teased, aliases, 1
		FROM identities WHERE user_id = $1`, m.From, m.Into, m.plan.ID)
}

// bringDay copies one day.
func (p *pair) bringDay(m *move, g core.Segment) {
	r := m.numbers()
	versions := listOf(p, scanSummary,
		`SELECT `+summaryColumns+` FROM summaries WHERE user_id = $1 AND segment_id = $2 ORDER BY version`, m.From, g.ID)
	there := listOf(p, scanSegment, `SELECT `+segmentColumns+
		` FROM segments WHERE user_id = $1 AND thread_id = $2 AND label = $3`, m.Into, m.plan.Thread, g.Day.Label)
	if len(there) == 0 {
		p.addDay(m, r, g, versions)
		return
	}
	p.joinDay(m, r, g, there[0], versions)
}

// addDay copies a day that the target user does not have. Its messages are counted when they are copied.
func (p *pair) addDay(m *move, r renumbering, g core.Segment, versions []core.Summary) {
	id := r.segment(g.ID)
	p.exec(`INSERT INTO segments (user_id, id, thread_id, label, zone, starts_at, ends_at, finalize_at, post_at, state, first_message, last_message,
			messages, since_summary, stale, hidden, version, error, failed_at, retry_at, failed_with, post, windowed, unwindowed, backlog)
		SELECT CAST($2 AS bigint), CAST($3 AS bigint), CAST($4 AS bigint), label, zone, starts_at, ends_at, finalize_at, post_at, state, first_message + $5,
			CASE WHEN last_message > 0 THEN last_message + $5 ELSE 0 END, 0, 0, stale, hidden, version, error, failed_at, retry_at, failed_with, post,
			CASE WHEN windowed > 0 THEN windowed + $5 ELSE 0 END, unwindowed, backlog
		FROM segments WHERE user_id = $1 AND id = $6`, m.From, m.Into, id, m.plan.Thread, m.plan.Message, g.ID)
	for _, v := range versions {
		p.putVersion(m, r, v, id, v.Version)
		if v.Version == g.SummaryVersion && !g.Hidden {
			p.into.index(core.DocSummary, int64(id), r.text(v.Markdown))
		}
	}
	p.remember(m, g.ID, day{into: id, windows: true})
}

func (p *pair) putVersion(m *move, r renumbering, v core.Summary, id core.SegmentID, version int) {
	v.User, v.Segment, v.Version = m.Into, id, version
	v.Markdown, v.Covers = r.text(v.Markdown), v.Covers.Shift(core.MessageID(r.message))
	p.exec(putSummary, summaryRow(v)...)
}

// remember stores the new id of a day.
func (p *pair) remember(m *move, id core.SegmentID, d day) {
	p.exec(`INSERT INTO move_segments (user_id, segment_id, into_id, versions, windows) VALUES ($1, $2, $3, $4, $5)`,
		m.From, id, d.into, d.versions, flag(d.windows))
}

// joinDay joins a day with one of the target user. Its summary versions are appended to the
// existing ones; a new version joins the last of both.
func (p *pair) joinDay(m *move, r renumbering, g, there core.Segment, versions []core.Summary) {
	newest := p.newestVersion(m.Into, there.ID)
	d := day{into: there.ID, versions: newest}
	for _, v := range versions {
		p.putVersion(m, r, v, there.ID, d.versions+v.Version)
		newest = max(newest, d.versions+v.Version)
	}
	shown := p.joinSummaries(m, r, g, there, versions, newest)
	d.windows = p.joinWindows(m, g, there)
	first := p.earlier(m, there.StartsAt, g.StartsAt)
	state, post := joinStates(there, g)
	p.exec(`UPDATE segments SET starts_at = CASE WHEN starts_at > $3 THEN $3 ELSE starts_at END, first_message = $4, last_message = CASE WHEN $5 = 'final' THEN CAST($6 AS bigint) ELSE 0 END,
			state = $5, post = $7, version = $8, hidden = $9, stale = 1, error = '', failed_at = 0, retry_at = 0 WHERE user_id = $1 AND id = $2`, m.Into, there.ID, ms(g.Day.Start), first, string(state), r.messageID(max(g.EndsAt, g.StartsAt)), string(post),
		max(shown, there.SummaryVersion), flag(shown == 0 && (there.Hidden || g.Hidden)))
	p.remember(m, g.ID, d)
}

func (p *pair) newestVersion(user core.UserID, id core.SegmentID) int {
	return valueOf[int](p, `SELECT COALESCE(MAX(version), 0) FROM (SELECT version FROM summaries WHERE user_id = $1 AND segment_id = $2
		UNION ALL SELECT version FROM segments WHERE user_id = $1 AND id = $2) AS v`, user, id)
}

// joinStates returns the states of a joined day: final if both are, posted if one was.
func joinStates(a, b core.Segment) (core.SegmentState, core.PostState) {
	state := core.SegmentOpen
	if a.State == core.SegmentFinal && b.State == core.SegmentFinal {
		state = core.SegmentFinal
	}
	for _, post := range []core.PostState{core.PostDone, core.PostDue, core.PostMissed, core.PostSkipped} {
		if a.Post == post || b.Post == post {
			return state, post
		}
	}
	return state, core.PostNone
}

// joinSummaries stores a version that joins the visible summaries of both days, and returns its
// number; 0 if neither has one.
func (p *pair) joinSummaries(m *move, r renumbering, g, there core.Segment, versions []core.Summary, newest int) int {
	var both []core.Summary
	if there.SummaryVersion > 0 && !there.Hidden {
		both = listOf(p, scanSummary, `SELECT `+summaryColumns+
			` FROM summaries WHERE user_id = $1 AND segment_id = $2 AND version = $3`, m.Into, there.ID, there.SummaryVersion)
	}
	if n := slices.IndexFunc(versions, func(v core.Summary) bool { return v.Version == g.SummaryVersion }); n >= 0 &&
		!g.Hidden {
		v := versions[n]
		v.Markdown, v.Covers = r.text(v.Markdown), v.Covers.Shift(core.MessageID(r.message))
		both = append(both, v)
	}
	if len(both) == 0 {
		return 0
	}
	out := both[0]
	if len(both) == 2 {
		b := both[1]
		out.Markdown, out.Tokens, out.Covers = out.Markdown+"\n\n"+b.Markdown, out.Tokens+b.Tokens, out.Covers.Union(b.Covers)
		out.Ungrounded, out.Final, out.Usage = out.Ungrounded || b.Ungrounded, out.Final && b.Final, core.Usage{}
		if b.CreatedAt.After(out.CreatedAt) {
			out.CreatedAt = b.CreatedAt
		}
	}
	p.putVersion(m, renumbering{}, out, there.ID, newest+1)
	p.into.index(core.DocSummary, int64(there.ID), out.Markdown)
	return newest + 1
}

// joinWindows reports whether the windows of a day are kept: only if the existing day is
// completely in windows. Otherwise they are cut again.
func (p *pair) joinWindows(m *move, g, there core.Segment) (all bool) {
	p.get(&all, `SELECT unwindowed = 0 FROM segments WHERE user_id = $1 AND id = $2`, m.Into, there.ID)
	if all {
		p.exec(`UPDATE segments SET unwindowed = (SELECT b.unwindowed FROM segments b WHERE b.user_id = $3 AND b.id = $4),
			windowed = (SELECT CASE WHEN b.windowed > 0 THEN b.windowed + $5 ELSE segments.windowed END FROM segments b WHERE b.user_id = $3 AND b.id = $4)
			WHERE user_id = $1 AND id = $2`, m.Into, there.ID, m.From, g.ID, m.plan.Message)
	}
	return all
}

// earlier returns the earlier one of two messages, with its id after the move.
func (p *pair) earlier(m *move, there, came core.MessageID) core.MessageID {
	first := valueOf[bool](p, `SELECT COALESCE((SELECT shown FROM messages WHERE user_id = $1 AND id = $2), 0) <= COALESCE((SELECT shown FROM messages WHERE user_id = $3 AND id = $4), 0)`,
		m.Into, there, m.From, came)
	if first {
		return there
	}
	return came + core.MessageID(m.plan.Message)
}

// segmentsOf reads the new ids of the days of a move.
func (s *Store) segmentsOf(ctx context.Context, m move) (map[core.SegmentID]day, error) {
	out := map[core.SegmentID]day{}
	rows, err := s.one(ctx).rows(`SELECT segment_id, into_id, versions, windows FROM move_segments WHERE user_id = $1`, m.From)
	return out, each(rows, err, func(r scanner) error {
		var id core.SegmentID
		var d day
		err := r.Scan(&id, &d.into, &d.versions, &d.windows)
		out[id] = d
		return err
	})
}

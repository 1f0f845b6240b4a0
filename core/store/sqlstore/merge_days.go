package sqlstore

import (
	"slices"

	"github.com/everthread/everthread/core"
)

// joinDays copies the days of the source user with their summaries, windows and messages. A day that the target user
// also has is joined: it shows both summaries until it is rewritten.
func (m *merger) joinDays() {
	for _, g := range listOf(m, scanSegment, `SELECT `+segmentColumns+` FROM segments WHERE user_id = $1 ORDER BY id`, m.from.user) {
		there := listOf(m, scanSegment, `SELECT `+segmentColumns+
			` FROM segments WHERE user_id = $1 AND thread_id = $2 AND label = $3`, m.into.user, m.thread, g.Day.Label)
		versions := listOf(m, scanSummary,
			`SELECT `+summaryColumns+` FROM summaries WHERE user_id = $1 AND segment_id = $2 ORDER BY version`, m.from.user, g.ID)
		d := day{into: m.numbers.segment(g.ID), windows: true}
		if len(there) > 0 {
			d = m.joinDay(g, there[0], versions)
		} else {
			m.addDay(d.into, g, versions)
		}
		m.numbers.segments[g.ID] = d
		m.exec(messageCopy+` AND segment_id = $8 AND segment_id > 0`, m.from.user, m.into.user, m.numbers.id, m.numbers.message, m.was,
			m.thread, d.into, g.ID)
		if d.windows {
			m.exec(windowCopy, m.from.user, m.into.user, m.numbers.id, m.numbers.message, d.into, g.ID)
		}
	}
}

// messageCopy copies messages into segment $7, and windowCopy windows into segment $5.
const (
	messageCopy = `INSERT INTO messages (user_id, id, thread_id, segment_id, turn_id, identity_id, channel, role, kind, body, tokens, extra, position, shown, sent_at, platform_at, revision, redacted, covered, solo, refused)
		SELECT CAST($2 AS bigint), id + $4, CASE WHEN thread_id = $5 THEN $6 ELSE thread_id + $3 END, CAST($7 AS bigint),
			CASE WHEN turn_id > 0 THEN turn_id + $3 ELSE 0 END, CASE WHEN identity_id > 0 THEN identity_id + $3 ELSE 0 END, channel, role, kind, body, tokens, extra,
			position, shown, sent_at, platform_at, revision, redacted, covered, solo, refused
		FROM messages WHERE user_id = $1`
	windowCopy = `INSERT INTO windows (user_id, id, segment_id, first_message, last_message, tokens, passages)
		SELECT CAST($2 AS bigint), id + $3, CAST($5 AS bigint), first_message + $4, last_message + $4, tokens, passages
		FROM windows WHERE user_id = $1 AND segment_id = $6`
)

// addDay copies a day that the target user does not have.
func (m *merger) addDay(id core.SegmentID, g core.Segment, versions []core.Summary) {
	m.exec(`INSERT INTO segments (user_id, id, thread_id, label, zone, starts_at, ends_at, finalize_at, post_at, state, first_message, last_message,
			messages, since_summary, stale, hidden, version, error, failed_at, retry_at, failed_with, post, windowed, unwindowed, backlog)
		SELECT CAST($2 AS bigint), CAST($3 AS bigint), CAST($4 AS bigint), label, zone, starts_at, ends_at, finalize_at, post_at, state, first_message + $5,
			CASE WHEN last_message > 0 THEN last_message + $5 ELSE 0 END, messages, since_summary, stale, hidden, version, error, failed_at, retry_at, failed_with, post,
			CASE WHEN windowed > 0 THEN windowed + $5 ELSE 0 END, unwindowed, backlog
		FROM segments WHERE user_id = $1 AND id = $6`, m.from.user, m.into.user, id, m.thread, m.numbers.message, g.ID)
	for _, v := range versions {
		v = m.renumbered(v)
		m.putVersion(v, id, v.Version)
		if v.Version == g.SummaryVersion && !g.Hidden {
			m.into.index(core.DocSummary, int64(id), v.Markdown)
		}
	}
}

// renumbered returns a version of a summary with the new numbers of its messages.
func (m *merger) renumbered(v core.Summary) core.Summary {
	v.Markdown, v.Covers = m.numbers.text(v.Markdown), v.Covers.Shift(core.MessageID(m.numbers.message))
	return v
}

func (m *merger) putVersion(v core.Summary, id core.SegmentID, version int) {
	v.User, v.Segment, v.Version = m.into.user, id, version
	m.exec(putSummary, summaryRow(v)...)
}

// joinDay joins a day with one of the target user. Its summary versions are appended to the
// existing ones; a new version joins the last of both.
func (m *merger) joinDay(g, there core.Segment, versions []core.Summary) day {
	d := day{into: there.ID, versions: m.newestVersion(there.ID)}
	newest := d.versions
	for _, v := range versions {
		newest = max(newest, d.versions+v.Version)
		m.putVersion(m.renumbered(v), there.ID, d.versions+v.Version)
	}
	shown := m.joinSummaries(g, there, versions, newest+1)
	d.windows = m.joinWindows(g, there)
	state, post := joinStates(there, g)
	last := core.MessageID(0)
	if state == core.SegmentFinal {
		last = m.numbers.messageID(max(g.EndsAt, g.StartsAt))
	}
	m.exec(`UPDATE segments SET starts_at = CASE WHEN starts_at > $3 THEN $3 ELSE starts_at END, first_message = $4, last_message = $5,
			state = $6, post = $7, version = $8, hidden = $9, stale = 1, error = '', failed_at = 0, retry_at = 0,
			messages = messages + $10, since_summary = since_summary + $11 WHERE user_id = $1 AND id = $2`, m.into.user, there.ID,
		ms(g.Day.Start), m.earlier(there.StartsAt, g.StartsAt), last, string(state), string(post),
		max(shown, there.SummaryVersion), flag(shown == 0 && (there.Hidden || g.Hidden)), g.Messages, g.SinceSummary)
	return d
}

// newestVersion returns the number of the newest summary of a day of the target user.
func (m *merger) newestVersion(id core.SegmentID) int {
	return valueOf[int](m, `SELECT COALESCE(MAX(version), 0) FROM (SELECT version FROM summaries WHERE user_id = $1 AND segment_id = $2
		UNION ALL SELECT version FROM segments WHERE user_id = $1 AND id = $2) AS v`, m.into.user, id)
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
func (m *merger) joinSummaries(g, there core.Segment, versions []core.Summary, next int) int {
	var both []core.Summary
	if there.SummaryVersion > 0 && !there.Hidden {
		both = listOf(m, scanSummary, `SELECT `+summaryColumns+
			` FROM summaries WHERE user_id = $1 AND segment_id = $2 AND version = $3`, m.into.user, there.ID, there.SummaryVersion)
	}
	n := slices.IndexFunc(versions, func(v core.Summary) bool { return v.Version == g.SummaryVersion })
	if n >= 0 && !g.Hidden {
		both = append(both, m.renumbered(versions[n]))
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
	m.putVersion(out, there.ID, next)
	m.into.index(core.DocSummary, int64(there.ID), out.Markdown)
	return next
}

// joinWindows reports whether the windows of a day are kept: only if the existing day is
// completely in windows. Otherwise they are cut again.
func (m *merger) joinWindows(g, there core.Segment) bool {
	const read = `SELECT unwindowed, windowed FROM segments WHERE user_id = $1 AND id = $2`
	var rest, through, more, theirs int64
	m.get(columns{&rest, &through}, read, m.into.user, there.ID)
	if rest != 0 {
		return false
	}
	m.get(columns{&more, &theirs}, read, m.from.user, g.ID)
	if theirs > 0 {
		through = theirs + m.numbers.message
	}
	m.exec(`UPDATE segments SET unwindowed = $3, windowed = $4 WHERE user_id = $1 AND id = $2`, m.into.user, there.ID, more, through)
	return true
}

// earlier returns the first message of a joined day.
func (m *merger) earlier(there, came core.MessageID) core.MessageID {
	const read = `SELECT COALESCE((SELECT shown FROM messages WHERE user_id = $1 AND id = $2), 0)`
	if valueOf[int64](m, read, m.into.user, there) <= valueOf[int64](m, read, m.from.user, came) {
		return there
	}
	return m.numbers.messageID(came)
}

package sqlstore

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// importedDay is a day that receives messages.
type importedDay struct {
	core.Day
	id    core.SegmentID
	fresh bool // it is opened now
	over  bool
	// first and last are the ids of the messages that it receives; said counts those of the user and the assistant.
	first, last core.MessageID
	said        int
}

// findDays finds the days of the messages. Only conversation opens a day: other messages
// without an existing day belong to none.
func (in *importing) findDays() {
	if in.mode != core.ModeContinuous {
		return
	}
	for i, m := range in.fresh {
		d := in.days[m.Day.Label]
		if d == nil {
			d = in.findDay(m.Day)
			if d.fresh && m.Kind != core.KindChat {
				continue
			}
			if d.fresh {
				d.id = core.SegmentID(in.nextID())
				in.opened++
			}
			d.first = core.MessageID(in.lastMessage + int64(i) + 1)
			in.days[m.Day.Label] = d
		}
		if m.Kind == core.KindChat && (m.Role == core.RoleUser || m.Role == core.RoleAssistant &&
			(m.Text != "" || m.Redacted)) {
			d.said++
		}
	}
}

func (in *importing) findDay(day core.Day) *importedDay {
	d := &importedDay{Day: day}
	g, err := scanSegment(in.row(`SELECT `+segmentColumns+
		` FROM segments WHERE user_id = $1 AND thread_id = $2 AND label = $3`, in.user, in.thread, day.Label))
	if err != nil {
		d.fresh, d.over = true, !day.Finalize.After(in.b.Now)
		return d
	}
	d.id, d.over = g.ID, g.State == core.SegmentFinal
	return d
}

// closeDays stores the days. The summary of one that is over waits behind those of current days, and is never posted.
func (in *importing) closeDays() {
	for _, label := range slices.Sorted(maps.Keys(in.days)) {
		if d := in.days[label]; d.fresh {
			in.open(d)
		} else {
			in.addTo(d)
		}
	}
}

func (in *importing) open(d *importedDay) {
	state, post, last := core.SegmentOpen, core.PostNone, core.MessageID(0)
	if d.over {
		state, post, last = core.SegmentFinal, core.PostSkipped, d.last
	}
	in.exec(`INSERT INTO segments (user_id, id, thread_id, label, zone, starts_at, ends_at, finalize_at, post_at, state, first_message, last_message, messages, since_summary, post, backlog)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13, $14, $15)`, in.user, d.id, in.thread, d.Label,
		d.Zone, ms(d.Start), ms(d.End), ms(d.Finalize), ms(d.Post), string(state), d.first, last, d.said, string(post),
		flag(d.over && in.b.Summaries && d.said > 0))
}

func (in *importing) addTo(d *importedDay) {
	if d.said == 0 {
		return
	}
	in.exec(`UPDATE segments SET messages = messages + $3, since_summary = since_summary + $3, unwindowed = 1,
		last_message = CASE WHEN state = 'final' AND last_message < $4 THEN $4 ELSE last_message END,
		stale = CASE WHEN $5 = 1 AND version > 0 THEN 1 ELSE stale END, backlog = CASE WHEN $5 = 1 THEN 1 ELSE backlog END, error = CASE WHEN $5 = 1 THEN '' ELSE error END, retry_at = CASE WHEN $5 = 1 THEN 0 ELSE retry_at END
		WHERE user_id = $1 AND id = $2`, in.user, d.id, d.said, d.last, flag(d.over && in.b.Summaries))
}

// updateThread updates the last position of the thread, and ends the epoch if messages were placed within it.
func (in *importing) updateThread() {
	last, first := int64(0), int64(0)
	for _, m := range in.fresh {
		last = max(last, m.position)
		if m.position > 0 && (first == 0 || m.position < first) {
			first = m.position
		}
	}
	if first > 0 {
		in.dropPages(in.thread, first)
	}
	begins := in.epoch > 0 && last >= in.epoch
	in.exec(`UPDATE threads SET last_position = CASE WHEN last_position < $3 THEN $3 ELSE last_position END, edits = edits + $4 WHERE user_id = $1 AND id = $2`,
		in.user, in.thread, last, flag(begins))
}

// ImportSummary stores the versions of a day's summary; see store.ImportStore.
func (s *Store) ImportSummary(ctx context.Context, user core.UserID, label string,
	versions []core.Summary) (bool, error) {
	stored := false
	err := s.update(ctx, "import summary", user, func(t *tx) {
		g, err := scanSegment(t.row(`SELECT `+segmentColumns+` FROM segments WHERE user_id = $1 AND label = $2
			AND thread_id = (SELECT id FROM threads WHERE user_id = $1 AND mode = 'continuous')`, t.user, label))
		if err != nil || g.SummaryVersion > 0 || g.State != core.SegmentFinal || g.Post != core.PostSkipped ||
			len(versions) == 0 {
			return
		}
		stored = true
		for n, v := range versions {
			v.User, v.Segment, v.Version, v.Label, v.Tainted = t.user, g.ID, n+1, label, true
			t.exec(putSummary, summaryRow(v)...)
		}
		t.index(core.DocSummary, int64(g.ID), versions[len(versions)-1].Markdown)
		t.exec(`UPDATE segments SET version = $3, since_summary = 0, backlog = 0, stale = 0, error = '', failed_at = 0, retry_at = 0 WHERE user_id = $1 AND id = $2`, t.user, g.ID, len(versions))
	})
	return stored, err
}

// SummarizeImported enqueues summaries of imported days; see store.ImportStore.
func (s *Store) SummarizeImported(ctx context.Context, now time.Time, limit int) (int, error) {
	users, err := s.userIDs(ctx,
		`SELECT g.user_id FROM segments g WHERE g.backlog = 1 AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.user_id = g.user_id
		AND j.key = $2 AND j.state IN ('ready', 'running')) AND NOT EXISTS (SELECT 1 FROM users u WHERE u.id = g.user_id AND u.merging = 1)
		GROUP BY g.user_id LIMIT $1`, limit, core.ImportKey)
	if err != nil {
		return 0, wrap("list imported days", err)
	}
	for n, user := range users {
		if err := s.update(ctx, "summarize imported", user, func(t *tx) { t.nextImported(now) }); err != nil {
			return n, err
		}
	}
	return len(users), nil
}

// nextImported enqueues the summary of the newest imported day that waits for one.
func (t *tx) nextImported(now time.Time) {
	var id int64
	if !t.find(&id, `SELECT id FROM segments WHERE user_id = $1 AND backlog = 1 ORDER BY label DESC LIMIT 1`, t.user) ||
		t.merging {
		return
	}
	if _, busy := t.head(core.ImportKey); !busy {
		t.enqueue(store.NewJob{Queue: core.QueueSummarize, Key: core.ImportKey, Ref: id, RunAt: now, Unique: true})
	}
}

// endSummary ends the job of a summary, and enqueues the next imported day after one of those.
func (t *tx) endSummary(l core.Lease, now time.Time) {
	t.end(l, "")
	if l.Key == core.ImportKey {
		t.nextImported(now)
	}
}

// place assigns a position to every message of the conversation: its sending time, or the next
// free position after it. No message is occupied within a turn.
func (in *importing) place() {
	s := walk{importing: in}
	last, taken := int64(0), &in.taken
	for i := range in.fresh {
		m := &in.fresh[i]
		if m.Kind != core.KindChat {
			continue
		}
		first := max(last+1, m.wanted())
		from := first
		if taken.From <= first && first <= taken.To {
			from = taken.To + 1
		}
		last = s.free(from)
		if first < taken.From || first > taken.To+1 {
			taken.From = first
		}
		taken.To = last
		m.position, s.before = last, occupied{position: last}
	}
}

// occupied is the position of a stored message, and its turn.
type occupied struct {
	position int64
	turn     core.TurnID
}

// walk iterates over the messages of a thread in their order.
type walk struct {
	*importing
	begun, ended bool
	before       occupied // the last one before the requested position
	page         []occupied
}

// walkPage is how many messages are read at a time.
const walkPage = 500

// free returns the first free position from p on. p must never decrease.
func (s *walk) free(p int64) int64 {
	s.begin(p)
	for {
		s.seek(p)
		if len(s.page) == 0 {
			return p
		}
		next := s.page[0]
		if next.position != p && (next.turn == 0 || next.turn != s.before.turn) {
			return p
		}
		p = next.position + 1
	}
}

// begin reads the message before the first position.
func (s *walk) begin(p int64) {
	if s.begun {
		return
	}
	s.begun = true
	list := s.read(`SELECT position, turn_id FROM messages WHERE user_id = $1 AND thread_id = $2 AND position < $3 AND position > 0 ORDER BY position DESC LIMIT $4`, p, 1)
	if len(list) > 0 {
		s.before = list[0]
	}
	s.page = nil
}

// seek advances to the first message at p or later.
func (s *walk) seek(p int64) {
	for {
		for len(s.page) > 0 && s.page[0].position < p {
			s.before, s.page = s.page[0], s.page[1:]
		}
		if len(s.page) > 0 || s.ended {
			return
		}
		s.page = s.read(`SELECT position, turn_id FROM messages WHERE user_id = $1 AND thread_id = $2 AND position > $3 AND position > 0 ORDER BY position LIMIT $4`,
			max(s.before.position, 0), walkPage)
		s.ended = len(s.page) < walkPage
	}
}

func (s *walk) read(query string, from int64, limit int) []occupied {
	return listOf(s, fields(func(x *occupied) []any { return []any{&x.position, &x.turn} }), query, s.user, s.thread, from,
		limit)
}

// Plans returns all loops, reminders and tasks; see store.ImportStore.
func (s *Store) Plans(ctx context.Context, user core.UserID) (out store.Plans, err error) {
	err = s.view(ctx, "list plans", func(q querier) error {
		out, err = plans(q, user)
		return err
	})
	return out, err
}

func plans(q reader, user core.UserID) (out store.Plans, err error) {
	if out.Loops, err = list(q, scanLoop, `SELECT `+loopColumns+` FROM loops WHERE user_id = $1 ORDER BY id`, user); err != nil {
		return out, err
	}
	out.Plans, err = list(q, scanPlan, selectPlans(`$1`)+` WHERE k.user_id = $1 ORDER BY k.id`, user)
	return out, err
}

// ImportPlans stores loops, reminders and tasks that do not exist; see store.ImportStore.
func (s *Store) ImportPlans(ctx context.Context, user core.UserID, p store.Plans) (in store.PlansIn, err error) {
	err = s.update(ctx, "import plans", user, func(t *tx) {
		in = store.PlansIn{}
		here, err := plans(t, t.user)
		t.fail(err)
		in.Loops = t.importLoops(p.Loops, here.Loops)
		in.Reminders = t.importPlans(core.PlanReminder, p.Plans, here.Plans)
		in.Tasks = t.importPlans(core.PlanTask, p.Plans, here.Plans)
	})
	return in, err
}

// bring puts those of list that are not the same as one here, and whose sources were not redacted.
// It returns their number.
func bring[T any](t *tx, list, here []T, same func(a, b T) bool, sources func(T) []core.MessageID,
	put func(T)) (n int) {
	for _, x := range list {
		if t.forgotten(sources(x)...) || slices.ContainsFunc(here, func(o T) bool { return same(o, x) }) {
			continue
		}
		here = append(here, x)
		n++
		put(x)
	}
	return n
}

func (t *tx) importLoops(list, here []core.Loop) int {
	same := func(a, b core.Loop) bool { return a.Text == b.Text && a.OpenedAt.Equal(b.OpenedAt) }
	sources := func(l core.Loop) []core.MessageID { return l.Sources }
	return bring(t, list, here, same, sources, func(l core.Loop) {
		t.exec(`INSERT INTO loops (user_id, id, body, state, sources, opened_at, mentioned_at, changed, tainted, due_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 1, $9)`,
			t.user, t.nextID(), l.Text, string(l.State), text(l.Sources), ms(l.OpenedAt), ms(l.Mentioned), t.change(), ms(l.Due))
	})
}

func (t *tx) importPlans(kind core.PlanKind, list, here []core.Plan) int {
	of := func(k core.Plan) bool { return k.Kind != kind }
	list, here = slices.DeleteFunc(slices.Clone(list), of), slices.DeleteFunc(slices.Clone(here), of)
	same := func(a, b core.Plan) bool {
		return a.Text == b.Text && a.Cron == b.Cron && a.CreatedAt.Equal(b.CreatedAt)
	}
	sources := func(k core.Plan) []core.MessageID { return []core.MessageID{k.Source} }
	return bring(t, list, here, same, sources, func(k core.Plan) {
		id := t.nextID()
		t.exec(`INSERT INTO plans (user_id, id, kind, body, due_at, cron, zone, state, source_message, created_at, tainted, last_due) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 1, $11)`,
			t.user, id, string(k.Kind), k.Text, ms(k.DueAt), k.Cron, k.Zone, string(k.State), k.Source, ms(k.CreatedAt),
			ms(k.Last.Due))
		if r := k.Last; !r.Due.IsZero() {
			t.exec(`INSERT INTO plan_runs (user_id, plan_id, due_at, state, message_id, started_at, ended_at) VALUES ($1, $2, $3, $4, $5, $3, $3)`,
				t.user, id, ms(r.Due), string(r.State), r.Message)
		}
	})
}

// forgotten reports whether any of the messages was redacted.
func (t *tx) forgotten(sources ...core.MessageID) bool {
	sources = slices.DeleteFunc(slices.Clone(sources), func(id core.MessageID) bool { return id == 0 })
	if len(sources) == 0 {
		return false
	}
	var ids []string
	for _, id := range sources {
		ids = append(ids, strconv.FormatInt(int64(id), 10))
	}
	return valueOf[bool](t, `SELECT EXISTS (SELECT 1 FROM messages WHERE user_id = $1 AND id IN (`+strings.Join(ids, ", ")+
		`) AND redacted = 1)`, t.user)
}

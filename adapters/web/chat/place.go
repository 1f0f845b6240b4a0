package chat

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
)

// How much of a conversation a page shows.
const (
	pageSize  = 50  // messages at a time; what is before them comes as somebody scrolls up
	liveSize  = 50  // newest ones that open pages keep up to date
	besides   = 300 // commands and notices of a page
	versions  = 50  // of a summary
	farFuture = math.MaxInt64
)

// place is a conversation as a page shows it: a day of the continuous thread, or a
// plain thread.
type place struct {
	thread  core.Thread
	day     core.Day     // of the continuous thread
	segment core.Segment // of the day; zero: nobody wrote on it yet
}

func (p place) plain() bool { return p.thread.Mode == core.ModeThread }

// path is where the place is.
func (p place) path() string {
	if p.plain() {
		return "/threads/" + strconv.FormatInt(int64(p.thread.ID), 10)
	}
	return "/day/" + p.day.Label
}

// query names the place to the live updates and the composer.
func (p place) query() string {
	if p.plain() {
		return "thread=" + strconv.FormatInt(int64(p.thread.ID), 10)
	}
	return "day=" + p.day.Label
}

// dayPlace is a day of the continuous thread, by its label.
func (r *Room) dayPlace(v *web.Visit, label string) (place, error) {
	var p place
	var err error
	if p.thread, err = r.Store.Thread(v.Context(), v.User.ID, 0); err != nil {
		return p, fmt.Errorf("read the thread: %w", err)
	}
	p.segment, err = r.Store.Day(v.Context(), v.User.ID, label)
	switch {
	case errors.Is(err, core.ErrNotFound):
		p.day, err = r.dayOf(v, label)
	case err == nil:
		p.day = p.segment.Day
	}
	return p, err
}

// dayOf is a day that nothing was said on. core.ErrNotFound: there is none such.
func (r *Room) dayOf(v *web.Visit, label string) (core.Day, error) {
	date, err := time.Parse(time.DateOnly, label)
	if err != nil || date.Year() < 1970 || date.Year() > 9000 {
		return core.Day{}, core.ErrNotFound
	}
	if label == v.Today.Label {
		return v.Today, nil
	}
	d := v.DayAt(time.Date(date.Year(), date.Month(), date.Day(), 12, 0, 0, 0, v.Zone))
	if d.Label != label {
		return d, core.ErrNotFound
	}
	return d, nil
}

// threadPlace is a plain thread.
func (r *Room) threadPlace(v *web.Visit, id core.ThreadID) (place, error) {
	t, err := r.Store.Thread(v.Context(), v.User.ID, id)
	if err == nil && t.Mode != core.ModeThread {
		err = core.ErrNotFound
	}
	return place{thread: t}, err
}

// want says which part of a place is wanted; at most one is set, none: the newest.
type want struct{ before, after, around core.MessageID }

// stretch is a part of a place in the order of display.
type stretch struct {
	messages []core.Message
	versions []core.Summary // of the day's summary, that were written meanwhile
	earlier  core.MessageID // there are messages before it; 0: there are none
	later    core.MessageID // there are messages after it; 0: there are none
}

// stretch reads a part of a place, at most limit messages of the conversation.
func (r *Room) stretch(v *web.Visit, p place, w want, limit int) (stretch, error) {
	if p.plain() {
		return r.threadStretch(v, p, w, limit)
	}
	s, err := r.dayStretch(v, p, w, limit)
	if err != nil {
		return s, err
	}
	from, to := p.day.Start, p.day.End
	if s.earlier > 0 {
		from = shownAt(s.messages[0])
	}
	if s.later > 0 {
		to = shownAt(s.messages[len(s.messages)-1])
	}
	if err := r.addBesides(v, p, &s, from, to); err != nil {
		return s, err
	}
	return s, r.addVersions(v, p, &s, from, to)
}

// dayStretch reads the conversation of a day: which messages are of it the store
// decided when they came, whatever the clock showed.
func (r *Room) dayStretch(v *web.Visit, p place, w want, limit int) (stretch, error) {
	var s stretch
	if p.segment.ID == 0 {
		return s, nil
	}
	var err error
	var more bool
	switch {
	case w.after > 0:
		s.messages, more, err = r.firstAfter(v, p, w.after, limit)
		if len(s.messages) > 0 {
			s.earlier = s.messages[0].ID
		}
	case w.around > 0:
		var next []core.Message
		var fewer bool
		s.messages, fewer, err = r.lastBefore(v, p, w.around, limit/2)
		if err == nil {
			next, more, err = r.firstAfter(v, p, w.around-1, limit-limit/2)
		}
		if fewer {
			s.earlier = s.messages[0].ID
		}
		s.messages = append(s.messages, next...)
	default:
		before := cmp.Or(w.before, farFuture)
		var fewer bool
		s.messages, fewer, err = r.lastBefore(v, p, before, limit)
		if fewer {
			s.earlier = s.messages[0].ID
		}
		more = w.before > 0
	}
	if more && len(s.messages) > 0 {
		s.later = s.messages[len(s.messages)-1].ID
	}
	sortShown(s.messages)
	return s, err
}

// lastBefore reads the last messages of a day before one, and reports whether there are
// more before them.
func (r *Room) lastBefore(v *web.Visit, p place, before core.MessageID, limit int) (last []core.Message, more bool,
	err error) {
	ms, err := r.Store.DayMessagesBefore(v.Context(), v.User.ID, p.segment.ID, before, limit+1)
	if err != nil {
		return nil, false, fmt.Errorf("read the day: %w", err)
	}
	return ms[max(len(ms)-limit, 0):], len(ms) > limit, nil
}

// firstAfter reads the first messages of a day after one, and reports whether there are
// more after them.
func (r *Room) firstAfter(v *web.Visit, p place, after core.MessageID, limit int) ([]core.Message, bool, error) {
	ms, err := r.Store.DayMessages(v.Context(), v.User.ID, p.segment.ID, after, limit+1)
	if err != nil {
		return nil, false, fmt.Errorf("read the day: %w", err)
	}
	return ms[:min(limit, len(ms))], len(ms) > limit, nil
}

// addBesides adds what was said beside the conversation: commands, notices,
// reminders and posts, on the day when they were.
func (r *Room) addBesides(v *web.Visit, p place, s *stretch, from, to time.Time) error {
	ms, _, err := r.Store.Timeline(v.Context(), core.TimelineQuery{User: v.User.ID, From: from, To: to, Limit: besides})
	if err != nil {
		return fmt.Errorf("read the timeline: %w", err)
	}
	for _, m := range ms {
		if m.Kind != core.KindChat && m.Kind != core.KindDaySummary {
			s.messages = append(s.messages, m)
		}
	}
	sortShown(s.messages)
	return nil
}

// addVersions adds the versions of the day's summary that were written meanwhile.
// An entry stands in the day that it describes: after its last message, if it was
// written later.
func (r *Room) addVersions(v *web.Visit, p place, s *stretch, from, to time.Time) error {
	if p.segment.SummaryVersion == 0 || p.segment.Hidden {
		return nil
	}
	all, err := r.Store.Summaries(v.Context(), v.User.ID, p.segment.ID, versions)
	if err != nil {
		return fmt.Errorf("read the summaries: %w", err)
	}
	slices.Reverse(all)
	for _, one := range all {
		if (s.earlier == 0 || !one.CreatedAt.Before(from)) && (s.later == 0 || one.CreatedAt.Before(to)) {
			s.versions = append(s.versions, one)
		}
	}
	return nil
}

func (r *Room) threadStretch(v *web.Visit, p place, w want, limit int) (stretch, error) {
	q := core.TimelineQuery{User: v.User.ID, Thread: p.thread.ID, Before: w.before, After: w.after, Limit: limit}
	if w.around > 0 {
		q.Before, q.Limit = w.around, limit/2
	}
	var s stretch
	ms, more, err := r.Store.Timeline(v.Context(), q)
	if err != nil || len(ms) == 0 && w.around == 0 {
		return s, err
	}
	later := w.after > 0 && more || w.before > 0
	if w.around > 0 {
		one, err := r.Store.Messages(v.Context(), v.User.ID, []core.MessageID{w.around})
		if err != nil {
			return s, err
		}
		q.Before, q.After = 0, w.around
		next, rest, err := r.Store.Timeline(v.Context(), q)
		if err != nil {
			return s, err
		}
		ms, later = slices.Concat(ms, one, next), rest
	}
	s.messages = ms
	if w.after > 0 || more {
		s.earlier = ms[0].ID
	}
	if later {
		s.later = ms[len(ms)-1].ID
	}
	return s, nil
}

// shownAt is when a message is shown: when it was read, or else sent.
func shownAt(m core.Message) time.Time {
	if m.Position > 0 {
		return time.UnixMicro(m.Position)
	}
	return m.SentAt
}

// sortShown sorts messages as they are shown. What nobody has read yet stands after
// what was said before it came, whatever the sender's clock showed.
func sortShown(ms []core.Message) {
	slices.SortFunc(ms, func(a, b core.Message) int { return cmp.Compare(a.ID, b.ID) })
	last := int64(0)
	for i := range ms {
		m := &ms[i]
		if m.Kind == core.KindChat && m.Position == 0 && m.SentAt.UnixMicro() <= last {
			m.Position = last + 1
		}
		last = max(last, m.Position)
	}
	slices.SortStableFunc(ms, func(a, b core.Message) int { return shownAt(a).Compare(shownAt(b)) })
}

// messageNumber reads the number of a message.
func messageNumber(s string) core.MessageID {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return core.MessageID(n)
}

package chat

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/people"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

// How much of a conversation a page shows.
const (
	pageSize  = 50  // messages loaded at a time; scrolling up loads earlier ones
	liveSize  = 50  // newest messages that open pages keep up to date
	besides   = 300 // commands and notices on a page
	versions  = 50  // versions of a summary
	farFuture = math.MaxInt64
)

// place is a conversation as a page shows it: a day of the continuous thread, or a plain thread.
type place struct {
	thread  core.Thread
	day     core.Day     // of the continuous thread
	segment core.Segment // of the day; zero if the day has no messages yet
}

func (p place) plain() bool { return p.thread.Mode == core.ModeThread }

func (p place) path() string {
	if p.plain() {
		return fmt.Sprintf("/threads/%d", p.thread.ID)
	}
	return "/day/" + p.day.Label
}

// query identifies the place to the live updates and the composer.
func (p place) query() string {
	if p.plain() {
		return fmt.Sprintf("thread=%d", p.thread.ID)
	}
	return "day=" + p.day.Label
}

// dayPlace returns the day of the continuous thread with the given label.
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

// dayOf returns a day without messages, or core.ErrNotFound if label names no day.
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

func (r *Room) threadPlace(v *web.Visit, id core.ThreadID) (place, error) {
	t, err := r.Store.Thread(v.Context(), v.User.ID, id)
	if err == nil && t.Mode != core.ModeThread {
		err = core.ErrNotFound
	}
	return place{thread: t}, err
}

// want selects a part of a place. At most one field is set; with none, it selects the newest part.
type want struct{ before, after, around core.MessageID }

type stretch struct {
	messages []core.Message
	versions []core.Summary // versions of the day's summary written during the stretch
	earlier  core.MessageID // earlier messages come before this one; 0: there are none
	later    core.MessageID // later messages come after this one; 0: there are none
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
	if err := r.addBesides(v, &s, from, to); err != nil {
		return s, err
	}
	return s, r.addVersions(v, p, &s, from, to)
}

// dayStretch reads the conversation of a day. The store assigned messages to the day
// when they arrived, regardless of their times.
func (r *Room) dayStretch(v *web.Visit, p place, w want, limit int) (stretch, error) {
	var s stretch
	if p.segment.ID == 0 {
		return s, nil
	}
	var err error
	var fewer, more bool
	switch {
	case w.after > 0:
		s.messages, more, err = r.firstAfter(v, p, w.after, limit)
		fewer = true
	case w.around > 0:
		var next []core.Message
		s.messages, fewer, err = r.lastBefore(v, p, w.around, limit/2)
		if err == nil {
			next, more, err = r.firstAfter(v, p, w.around-1, limit-limit/2)
		}
		s.messages = append(s.messages, next...)
	default:
		s.messages, fewer, err = r.lastBefore(v, p, cmp.Or(w.before, farFuture), limit)
		more = w.before > 0
	}
	if fewer && len(s.messages) > 0 {
		s.earlier = s.messages[0].ID
	}
	if more && len(s.messages) > 0 {
		s.later = s.messages[len(s.messages)-1].ID
	}
	sortShown(s.messages)
	return s, err
}

// lastBefore reads the last messages of a day before one, and reports whether there are more before them.
func (r *Room) lastBefore(v *web.Visit, p place, before core.MessageID, limit int) (last []core.Message, more bool,
	err error) {
	ms, err := r.Store.DayMessagesBefore(v.Context(), v.User.ID, p.segment.ID, before, limit+1)
	if err != nil {
		return nil, false, fmt.Errorf("read the day: %w", err)
	}
	return ms[max(len(ms)-limit, 0):], len(ms) > limit, nil
}

// firstAfter reads the first messages of a day after one, and reports whether there are more after them.
func (r *Room) firstAfter(v *web.Visit, p place, after core.MessageID, limit int) ([]core.Message, bool, error) {
	ms, err := r.Store.DayMessages(v.Context(), v.User.ID, p.segment.ID, after, limit+1)
	if err != nil {
		return nil, false, fmt.Errorf("read the day: %w", err)
	}
	return ms[:min(limit, len(ms))], len(ms) > limit, nil
}

// addBesides adds messages outside the conversation, such as commands, notices,
// reminders and posts, on the day of their time.
func (r *Room) addBesides(v *web.Visit, s *stretch, from, to time.Time) error {
	ms, _, err := r.Store.Timeline(v.Context(), store.TimelineQuery{User: v.User.ID, From: from, To: to, Limit: besides})
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

// addVersions adds the versions of the day's summary written between from and to. A version belongs to the day that it
// describes; one written later follows the day's last message.
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
	q := store.TimelineQuery{User: v.User.ID, Thread: p.thread.ID, Before: w.before, After: w.after, Limit: limit}
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

// shownAt returns the time that orders a message on a page: when it was read, or else sent.
func shownAt(m core.Message) time.Time {
	if m.Position > 0 {
		return time.UnixMicro(m.Position)
	}
	return m.SentAt
}

// sortShown sorts messages in display order. Unread messages follow the read ones and the answers, in order of their
// arrival and regardless of the sender's clock. What is not part of the conversation, such as the notice that a message
// was not answered, follows the messages that arrived before it, also if they were read later.
func sortShown(ms []core.Message) {
	slices.SortFunc(ms, func(a, b core.Message) int { return cmp.Compare(a.ID, b.ID) })
	read, last := int64(0), int64(0) // the last position of all, and of what the person wrote until here
	for _, m := range ms {
		read = max(read, m.Position)
	}
	for i := range ms {
		m := &ms[i]
		switch at := m.SentAt.UnixMicro(); {
		case m.Kind == core.KindChat && m.Position == 0:
			m.Position = max(at, read+1)
			read = m.Position
		case m.Position == 0 && at < last:
			m.Position = last
		}
		if m.Kind == core.KindChat && m.Role == core.RoleUser {
			last = max(last, m.Position)
		}
	}
	slices.SortStableFunc(ms, func(a, b core.Message) int { return shownAt(a).Compare(shownAt(b)) })
}

// messageNumber parses the number of a message, and returns 0 for anything else.
func messageNumber(s string) core.MessageID {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return core.MessageID(n)
}

const mostThreads = 200

func (r *Room) threadRoutes() []web.Route {
	return []web.Route{
		{Pattern: "GET /threads", Serve: r.threadsPage, Tab: &web.Tab{
			Name: func(lang string) string { return say(lang).Threads }, Key: "t"}},
		{Pattern: "POST /threads", Serve: r.openThread},
		{Pattern: "GET /threads/{id}", Serve: web.WithID(r.threadPage)},
		{Pattern: "GET /threads/{id}/edit", Serve: web.WithID(r.editThreadPage)},
		{Pattern: "POST /threads/{id}/edit", Serve: web.WithID(r.renameThread)},
		{Pattern: "POST /threads/{id}/forget", Serve: web.WithID(r.dropThread)},
	}
}

type shownThread struct{ Title, Path, Opened string }

func (r *Room) threadsPage(v *web.Visit) error {
	all, err := r.Store.Threads(v.Context(), v.User.ID, mostThreads)
	if err != nil {
		return fmt.Errorf("read threads: %w", err)
	}
	groups, err := r.Groups.GroupsOf(v.Context(), v.User.ID)
	if err != nil {
		return fmt.Errorf("read groups: %w", err)
	}
	return v.Page("threads", say(v.Lang).Threads, map[string]any{"Threads": web.Each(all, func(t core.Thread) shownThread {
		return shownThread{title(v, t), place{thread: t}.path(), fmt.Sprintf(say(v.Lang).Opened, v.Moment(t.CreatedAt))}
	}), "Groups": web.Each(groups, func(a people.Attendance) shownThread {
		return shownThread{a.Group.Name, groupPath(a.Group.ID), v.ChannelName(a.Chat.Channel)}
	})})
}

// title returns a thread's title, or a text that says it has none.
func title(v *web.Visit, t core.Thread) string {
	if strings.TrimSpace(t.Title) == "" {
		return say(v.Lang).Untitled
	}
	return t.Title
}

// openThread opens a thread and redirects there. No chat's current thread changes.
func (r *Room) openThread(v *web.Visit) error {
	title, err := newTitle(v)
	if err != nil {
		return err
	}
	if _, err := r.Gateway.Act(v.Context(), v.User.ID, effect.OpenThread{Title: title, At: v.Now}); err != nil {
		return v.Refusal(fmt.Errorf("open a thread: %w", err))
	}
	newest, err := r.Store.Threads(v.Context(), v.User.ID, 1)
	if err != nil {
		return fmt.Errorf("find the new thread: %w", err)
	}
	if len(newest) == 0 {
		return v.Back("/threads", "")
	}
	return v.Back(place{thread: newest[0]}.path(), "")
}

func (r *Room) threadPage(v *web.Visit, n int64) error {
	p, err := r.threadPlace(v, core.ThreadID(n))
	if err != nil {
		return err
	}
	c, err := r.conversation(v, p, wanted(v))
	if err != nil {
		return err
	}
	c.Title = title(v, p.thread)
	c.Heading = c.Title
	if len(c.Entries) == 0 {
		c.Empty = &web.Empty{Title: say(v.Lang).ThreadEmpty, Hint: say(v.Lang).ThreadEmptyHint}
	}
	return v.Page("thread", c.Title, c)
}

func (r *Room) editThreadPage(v *web.Visit, n int64) error {
	p, err := r.threadPlace(v, core.ThreadID(n))
	if err != nil {
		return err
	}
	return v.Page("thread-edit", say(v.Lang).ThreadEdit, map[string]any{"Path": p.path(), "Title": p.thread.Title})
}

func (r *Room) renameThread(v *web.Visit, n int64) error {
	p, err := r.threadPlace(v, core.ThreadID(n))
	if err != nil {
		return err
	}
	title, err := newTitle(v)
	if err != nil {
		return err
	}
	return v.Act("rename", p.path(), "", effect.RenameThread{Thread: p.thread.ID, Title: title})
}

func (r *Room) dropThread(v *web.Visit, n int64) error {
	p, err := r.threadPlace(v, core.ThreadID(n))
	if err != nil {
		return err
	}
	return v.Act("forget", "/threads", say(v.Lang).Forgotten, effect.DropThread{Thread: p.thread.ID, At: v.Now})
}

// newTitle returns the title of a thread in the form, without line breaks.
func newTitle(v *web.Visit) (string, error) {
	title := strings.Join(strings.Fields(strings.ToValidUTF8(v.R.PostForm.Get("title"), "\uFFFD")), " ")
	switch {
	case title == "":
		return "", web.Because(http.StatusBadRequest, say(v.Lang).ErrNoTitle)
	case utf8.RuneCountInString(title) > 200:
		return "", web.Because(http.StatusBadRequest, say(v.Lang).ErrTitleLong)
	}
	return title, nil
}

package chat

import (
	"errors"
	"fmt"
	"html/template"
	"slices"
	"time"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/people"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/text/times"
)

func (r *Room) conversationRoutes() []web.Route {
	return []web.Route{
		{Pattern: "GET /{$}", Serve: r.todayPage, Tab: &web.Tab{
			Name: func(lang string) string { return say(lang).Continuous }, Key: "h", Holds: []string{"/day", "/search"}}},
		{Pattern: "GET /day/{label}", Serve: r.dayPage},
		{Pattern: "GET /day/{label}/history", Serve: r.historyPage},
		{Pattern: "POST /day/{label}/summary", Serve: r.regenerate},
		{Pattern: "GET /days", Serve: r.calendarPage},
		{Pattern: "GET /search", Serve: r.searchPage},
		{Pattern: "POST /messages", Serve: r.post, Body: r.MediaMax + 1<<20},
		{Pattern: "POST /stop", Serve: r.stop},
		{Pattern: "POST /retry", Serve: r.retry},
		{Pattern: "GET /live", Serve: r.live},
		{Pattern: "GET /media/{message}/{n}", Serve: r.media},
	}
}

type conversation struct {
	Place                 string // path of the place
	Query, Title, Heading string
	Newest                bool   // the page shows the end of the place, which grows
	Reader                string // user and thread, the key of what the browser stores about them
	Entries               []*entry
	Earlier               string // path of the part before
	Later                 string
	Last                  string // what the page shows, for /live
	Empty                 *web.Empty
	Compose               compose
	Days                  dayBar
	Summary               *summaryCard
	Promises              *promises
	Offer                 bool // notifications, once a reminder is set: no app would ring
	Writing               []writing
}

type dayBar struct {
	Label, Name       string
	Today, Yesterday  string // labels
	Previous, Next    string // labels of days with messages; empty: none
	IsToday, IsBefore bool
	Calendar          calendar
	PreviousN, NextN  string // names
	Zone              string
}

func (r *Room) todayPage(v *web.Visit) error { return r.showDay(v, v.Today.Label) }

func (r *Room) dayPage(v *web.Visit) error { return r.showDay(v, v.R.PathValue("label")) }

func wanted(v *web.Visit) want {
	q := v.R.URL.Query()
	w := want{before: messageNumber(q.Get("before"))}
	if w.before == 0 {
		w.after = messageNumber(q.Get("after"))
	}
	if w.before == 0 && w.after == 0 {
		w.around = messageNumber(q.Get("at"))
	}
	return w
}

func (r *Room) showDay(v *web.Visit, label string) error {
	p, err := r.dayPlace(v, label)
	if err != nil {
		return err
	}
	c, err := r.conversation(v, p, wanted(v))
	if err != nil {
		return err
	}
	name := v.DayName(p.day.Label)
	c.Title, c.Heading = name, fmt.Sprintf(say(v.Lang).Timeline, name)
	if c.Days, err = r.dayBar(v, p); err != nil {
		return err
	}
	if c.Summary, err = r.summaryCard(v, p); err != nil {
		return err
	}
	if c.Promises, err = r.promises(v, p); err != nil {
		return err
	}
	if c.Offer, err = r.offers(v, p); err != nil {
		return err
	}
	if len(c.Entries) == 0 {
		c.Empty = emptyDay(v, p, c.Days)
	}
	return v.Page("day", name, c)
}

// offers reports whether a person on today's page may be offered notifications: none are on, and no app rings for them.
func (r *Room) offers(v *web.Visit, p place) (bool, error) {
	if v.Session.Push.Sealed != "" || p.day.Label != v.Today.Label {
		return false, nil
	}
	ids, err := r.Store.Identities(v.Context(), v.User.ID)
	if err != nil {
		return false, fmt.Errorf("read identities: %w", err)
	}
	return !slices.ContainsFunc(ids, func(i core.Identity) bool { return !people.Own(i.Address.Channel) }), nil
}

// conversation reads a part of a place with everything around it.
func (r *Room) conversation(v *web.Visit, p place, w want) (*conversation, error) {
	s, err := r.stretch(v, p, w, pageSize)
	if err != nil {
		return nil, err
	}
	all, err := r.entries(v, s)
	if err != nil {
		return nil, err
	}
	c := &conversation{Place: p.path(), Query: p.query(), Newest: s.later == 0, Entries: all,
		Reader: fmt.Sprintf("%d.%d", v.User.ID, p.thread.ID)}
	if s.earlier > 0 {
		c.Earlier = fmt.Sprintf("%s?before=%d", p.path(), s.earlier)
	}
	if s.later > 0 {
		c.Later = fmt.Sprintf("%s?after=%d", p.path(), s.later)
	}
	if c.Compose, err = r.compose(v, p); err != nil {
		return nil, err
	}
	if c.Newest {
		c.Last = lastOf(s, all)
		err = r.addWriting(v, p, c)
	}
	return c, err
}

// addWriting adds the answers that are being written, each below the messages that it answers: what was written since
// follows it.
func (r *Room) addWriting(v *web.Visit, p place, c *conversation) error {
	all, err := r.writing(v, p)
	for _, w := range all {
		if e := find(c.Entries, func(e *entry) bool { return e.Turn == w.Turn }); e != nil {
			e.Writing = append(e.Writing, w)
		} else {
			c.Writing = append(c.Writing, w)
		}
	}
	return err
}

func (r *Room) dayBar(v *web.Visit, p place) (dayBar, error) {
	d := dayBar{Label: p.day.Label, Name: v.DayName(p.day.Label), Today: v.Today.Label, Zone: v.Zone.String()}
	d.Yesterday = v.DayAt(v.Today.Start.Add(-time.Nanosecond)).Label
	d.IsToday, d.IsBefore = p.day.Label == d.Today, p.day.Label == d.Yesterday
	before, err := r.Store.Days(v.Context(), v.User.ID, p.day.Label, 1)
	if err != nil {
		return d, fmt.Errorf("read days: %w", err)
	}
	if len(before) > 0 {
		d.Previous, d.PreviousN = before[0].Day.Label, v.DayName(before[0].Day.Label)
	}
	if d.Calendar, err = r.calendar(v, p.day.Label[:7], p.day.Label); err != nil {
		return d, err
	}
	d.Next, err = r.nextDay(v, p.day.Label, d)
	if d.Next != "" {
		d.NextN = v.DayName(d.Next)
	}
	return d, err
}

// nextDay returns the next day with messages, or else today.
func (r *Room) nextDay(v *web.Visit, label string, d dayBar) (string, error) {
	if label >= v.Today.Label {
		return "", nil
	}
	for n := range d.Calendar.Weeks {
		for _, c := range d.Calendar.Weeks[n] {
			if c.Label > label && c.Messages > 0 {
				return c.Label, nil
			}
		}
	}
	month := label[:7]
	for range 24 {
		month = shiftMonth(month, 1)
		if month > v.Today.Label[:7] {
			break
		}
		c, err := r.monthDays(v, month)
		if err != nil {
			return "", err
		}
		if len(c) > 0 {
			return c[len(c)-1].Day.Label, nil
		}
	}
	return v.Today.Label, nil
}

func emptyDay(v *web.Visit, p place, d dayBar) *web.Empty {
	if p.day.Label != v.Today.Label {
		return &web.Empty{Title: say(v.Lang).EmptyDay, Hint: say(v.Lang).EmptyDayHint}
	}
	if d.Previous == "" {
		return &web.Empty{Title: say(v.Lang).EmptyToday, Hint: say(v.Lang).EmptyFirst}
	}
	return &web.Empty{Title: say(v.Lang).EmptyToday, Hint: say(v.Lang).EmptyTodayHint, Link: "/day/" + d.Previous,
		Label: fmt.Sprintf(say(v.Lang).LastTalk, d.PreviousN)}
}

type summaryCard struct {
	Label, Title string
	HTML         template.HTML
	Note, Class  string // Class: quiet, warn or bad
	About        string
	Version      int
	Retry        bool
	Can          bool      // the day has messages to summarise
	Settled      []promise // loops that it closed and that can be opened again
}

func (r *Room) summaryCard(v *web.Visit, p place) (*summaryCard, error) {
	g := p.segment
	s := &summaryCard{Label: p.day.Label, Title: fmt.Sprintf(say(v.Lang).DaySummary, v.DayName(p.day.Label)),
		Can: g.Messages > 0, Version: g.SummaryVersion}
	var newest []core.Summary
	var err error
	if g.SummaryVersion > 0 && !g.Hidden {
		if newest, err = r.Store.Summaries(v.Context(), v.User.ID, g.ID, 1); err != nil {
			return nil, fmt.Errorf("read the summary: %w", err)
		}
	}
	for _, one := range newest {
		s.HTML = r.markdown.summary(i18n.Headings(v.Lang, one.Markdown))
		s.About = aboutSummary(v, one)
		for _, id := range one.Settled() {
			x, err := r.Store.Undoable(v.Context(), v.User.ID, int64(id), v.Now)
			if err == nil && x.Kind == effect.UndoLoop && x.Ended {
				s.Settled = append(s.Settled, promise{ID: x.ID, Text: web.OneLine(x.Text)})
			} else if err != nil && !errors.Is(err, core.ErrNotFound) {
				return nil, fmt.Errorf("read a settled loop: %w", err)
			}
		}
	}
	s.Note, s.Class = summaryNote(v, g, newest)
	s.Retry = g.SummaryError != ""
	return s, nil
}

// aboutSummary describes the origin of a summary in one line.
func aboutSummary(v *web.Visit, s core.Summary) string {
	out := fmt.Sprintf(say(v.Lang).Version, i18n.Number(v.Lang, s.Version)) + " · " + v.Moment(s.CreatedAt)
	if s.Model != "" {
		out += " · " + fmt.Sprintf(say(v.Lang).SummaryBy, s.Model)
	}
	if s.Final {
		out += " · " + say(v.Lang).SummaryFinal
	}
	return out
}

func summaryNote(v *web.Visit, g core.Segment, newest []core.Summary) (text, class string) {
	switch {
	case g.SummaryError != "":
		text := fmt.Sprintf(say(v.Lang).SummaryError, web.OneLine(g.SummaryError), momentOf(v, g.RetryAt, v.Zone))
		if len(newest) > 0 && !g.Hidden {
			text += " " + say(v.Lang).SummaryErrorKept
		}
		return text, "bad"
	case g.Hidden:
		return say(v.Lang).SummaryHidden, "warn"
	case g.Stale:
		return say(v.Lang).SummaryStale, "warn"
	case len(newest) == 0 && g.Messages == 0:
		return say(v.Lang).SummaryNoneYet, "quiet"
	case len(newest) == 0:
		return say(v.Lang).SummaryNone, "quiet"
	case newest[0].Ungrounded:
		return say(v.Lang).SummaryUngrounded, "warn"
	case g.SinceSummary > 0:
		return say(v.Lang).SummarySince.Of(g.SinceSummary), "quiet"
	}
	return "", ""
}

type version struct {
	About, Covers string
	HTML          template.HTML
	Final         bool
}

func (r *Room) historyPage(v *web.Visit) error {
	g, err := r.Store.Day(v.Context(), v.User.ID, v.R.PathValue("label"))
	if err != nil {
		return err
	}
	var all []version
	if !g.Hidden {
		found, err := r.Store.Summaries(v.Context(), v.User.ID, g.ID, versions)
		if err != nil {
			return fmt.Errorf("read the summaries: %w", err)
		}
		said, err := r.saidOn(v, g)
		if err != nil {
			return err
		}
		all = web.Each(found, func(s core.Summary) version {
			n := 0
			for _, id := range said {
				if s.Covers.Has(id) {
					n++
				}
			}
			return version{About: aboutSummary(v, s), Final: s.Final, Covers: say(v.Lang).SummaryCovers.Of(n),
				HTML: r.markdown.summary(i18n.Headings(v.Lang, s.Markdown))}
		})
	}
	title := say(v.Lang).History + " · " + v.DayName(g.Day.Label)
	return v.Page("history", title, map[string]any{"Title": title, "Back": "/day/" + g.Day.Label, "All": all,
		"Hidden": g.Hidden})
}

// saidOn returns the messages of a day that a person sees as such, without calls of tools and their results.
func (r *Room) saidOn(v *web.Visit, g core.Segment) (ids []core.MessageID, err error) {
	const page = 500
	for after := core.MessageID(0); ; {
		got, err := r.Store.DayMessages(v.Context(), v.User.ID, g.ID, after, page)
		if err != nil {
			return nil, fmt.Errorf("read the day: %w", err)
		}
		for _, m := range got {
			if after = m.ID; m.Role != core.RoleTool && m.Text != "" {
				ids = append(ids, m.ID)
			}
		}
		if len(got) < page {
			return ids, nil
		}
	}
}

func (r *Room) regenerate(v *web.Visit) error {
	label := v.R.PathValue("label")
	g, err := r.Store.Day(v.Context(), v.User.ID, label)
	if err != nil {
		return err
	}
	return v.Act("summarize", "/day/"+label, say(v.Lang).SummaryComing,
		effect.Summarize{Segment: g.ID, At: v.Now})
}

type calendar struct {
	Month, Title   string
	Here           string // label of the day that is shown
	Previous, Next string // months; Next is empty for the current month
	Year           int
	Weeks          [][7]cell
	Messages       int
}

type cell struct {
	Label       string // empty: outside the month
	Day         int
	Name        string
	Messages    int
	Count       string
	Here, Today bool
	Level       int // 1 (few messages) to 3 (many); 0: none
}

// monthDays returns the days of a month with messages, newest first.
func (r *Room) monthDays(v *web.Visit, month string) ([]core.Segment, error) {
	const longest = 31
	all, err := r.Store.Days(v.Context(), v.User.ID, shiftMonth(month, 1)+"-01", longest)
	if err != nil {
		return nil, fmt.Errorf("read days: %w", err)
	}
	return slices.DeleteFunc(all, func(g core.Segment) bool { return g.Day.Label < month }), nil
}

func shiftMonth(month string, by int) string {
	t, err := time.Parse("2006-01", month)
	if err != nil {
		return month
	}
	return t.AddDate(0, by, 0).Format("2006-01")
}

func (r *Room) calendar(v *web.Visit, month, here string) (calendar, error) {
	first, err := time.Parse("2006-01", month)
	if err != nil || first.Year() < 1970 || first.Year() > 9000 {
		return calendar{}, core.ErrNotFound
	}
	c := calendar{Month: month, Here: here, Title: fmt.Sprintf("%s %d", times.MonthName(first.Month(), v.Lang),
		first.Year()), Previous: shiftMonth(month, -1), Year: first.Year()}
	if month < v.Today.Label[:7] {
		c.Next = shiftMonth(month, 1)
	}
	days, err := r.monthDays(v, month)
	if err != nil {
		return c, err
	}
	counts := map[string]int{}
	for _, g := range days {
		counts[g.Day.Label] = g.Messages
		c.Messages += g.Messages
	}
	at := (int(first.Weekday()) + 6) % 7
	var week [7]cell
	for d := first; d.Month() == first.Month(); d = d.AddDate(0, 0, 1) {
		week[at] = r.cell(v, d, counts[d.Format(time.DateOnly)], here)
		if at++; at == 7 {
			c.Weeks, week, at = append(c.Weeks, week), [7]cell{}, 0
		}
	}
	if at > 0 {
		c.Weeks = append(c.Weeks, week)
	}
	return c, nil
}

func (r *Room) cell(v *web.Visit, d time.Time, messages int, here string) cell {
	label := d.Format(time.DateOnly)
	c := cell{Label: label, Day: d.Day(), Name: v.DayName(label), Messages: messages, Here: label == here,
		Today: label == v.Today.Label}
	if messages > 0 {
		c.Count = v.Words.Messages.Of(messages)
		c.Level = min(1+messages/20, 3)
	}
	return c
}

// calendarPage shows a month to pick a day from; with a date, it redirects to that day.
func (r *Room) calendarPage(v *web.Visit) error {
	q := v.R.URL.Query()
	if date := q.Get("date"); date != "" {
		if _, err := time.Parse(time.DateOnly, date); err != nil {
			return core.ErrNotFound
		}
		return v.Back("/day/"+date, "")
	}
	month := q.Get("month")
	if month == "" {
		month = v.Today.Label[:7]
	}
	c, err := r.calendar(v, month, q.Get("here"))
	if err != nil {
		return err
	}
	return v.Page("days", say(v.Lang).Calendar, c)
}

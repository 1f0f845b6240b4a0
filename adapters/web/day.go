package web

import (
	"fmt"
	"html/template"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/words"
)

func (c *Channel) conversationRoutes() []route {
	return []route{
		{Pattern: "GET /{$}", Serve: (*visit).todayPage, Tab: func(w *texts) string { return w.Continuous }},
		{Pattern: "GET /day/{label}", Serve: (*visit).dayPage},
		{Pattern: "GET /day/{label}/history", Serve: (*visit).historyPage},
		{Pattern: "POST /day/{label}/summary", Serve: (*visit).regenerate},
		{Pattern: "GET /days", Serve: (*visit).calendarPage},
		{Pattern: "GET /search", Serve: (*visit).searchPage},
		{Pattern: "POST /messages", Serve: (*visit).post, Body: c.MediaMax + 1<<20},
		{Pattern: "POST /stop", Serve: (*visit).stop},
		{Pattern: "POST /retry", Serve: (*visit).retry},
		{Pattern: "GET /live", Serve: (*visit).live},
		{Pattern: "GET /media/{message}/{n}", Serve: (*visit).media},
	}
}

// conversation is a page with a timeline.
type conversation struct {
	Place    string // its path
	Query    string
	Title    string
	Heading  string
	Plain    bool
	Newest   bool // the end of the place is shown, and grows
	Folded   []*entry
	Count    string // of Folded
	Unfold   bool
	Entries  []*entry
	Earlier  string // path of what stands before
	Later    string
	Last     string // what the page knows, for /live
	Empty    *emptiness
	Compose  compose
	Days     dayBar
	Summary  *summaryCard
	Writing  []writing
	Searched searchBox
}

// emptiness is what stands where nothing is.
type emptiness struct {
	Title, Hint string
	Link, Label string
}

// dayBar is the day selector.
type dayBar struct {
	Label, Name        string
	Today, Yesterday   string // labels
	Previous, Next     string // labels of days with messages; empty: none
	IsToday, IsBefore  bool
	Calendar           calendar
	PreviousN, NextN   string // names
	Zone               string
	MessagesInWords    string
	ShownToday, NoneAt bool
}

func (v *visit) todayPage() error { return v.showDay(v.today.Label) }

func (v *visit) dayPage() error { return v.showDay(v.r.PathValue("label")) }

// wanted reads which part of a place is asked for.
func (v *visit) wanted() want {
	q := v.r.URL.Query()
	w := want{before: messageNumber(q.Get("before"))}
	if w.before == 0 {
		w.after = messageNumber(q.Get("after"))
	}
	if w.before == 0 && w.after == 0 {
		w.around = messageNumber(q.Get("at"))
	}
	return w
}

func (v *visit) showDay(label string) error {
	p, err := v.dayPlace(label)
	if err != nil {
		return err
	}
	c, err := v.conversation(p, v.wanted())
	if err != nil {
		return err
	}
	name := v.dayName(p.day.Label)
	c.Title, c.Heading = name, fmt.Sprintf(v.words.Timeline, name)
	if c.Days, err = v.dayBar(p); err != nil {
		return err
	}
	if c.Summary, err = v.summaryCard(p); err != nil {
		return err
	}
	if len(c.Entries)+len(c.Folded) == 0 {
		c.Empty = v.emptyDay(p, c.Days)
	}
	c.Searched = searchBox{Day: p.day.Label, Scope: "day", Off: v.Search == nil}
	return v.page("day", name, c)
}

// conversation is a part of a place with all that is around it.
func (v *visit) conversation(p place, w want) (*conversation, error) {
	s, err := v.stretch(p, w, pageSize)
	if err != nil {
		return nil, err
	}
	all, err := v.entries(s)
	if err != nil {
		return nil, err
	}
	c := &conversation{Place: p.path(), Query: p.query(), Plain: p.plain(), Newest: s.later == 0, Entries: all}
	if w.before == 0 && w.after == 0 {
		n := v.folded(p, all)
		c.Folded, c.Entries = all[:n], all[n:]
		c.Count = v.words.OlderCount.Of(n)
		for _, e := range c.Folded {
			c.Unfold = c.Unfold || w.around > 0 && e.Number == w.around
		}
	}
	if s.earlier > 0 {
		c.Earlier = fmt.Sprintf("%s?before=%d", p.path(), s.earlier)
	}
	if s.later > 0 {
		c.Later = fmt.Sprintf("%s?after=%d", p.path(), s.later)
	}
	if c.Compose, err = v.compose(p); err != nil {
		return nil, err
	}
	if c.Newest {
		c.Writing, err = v.writing(p)
		c.Last = lastOf(s, all)
	}
	return c, err
}

// folded is how many entries at the beginning are folded: those whose words a
// summary covers (SPEC 6). Today the last exchange stays as it is.
func (v *visit) folded(p place, all []*entry) int {
	n := 0
	for i, e := range all {
		if e.Kind != "said" && e.Kind != "tools" {
			continue
		}
		if !e.Covered {
			break
		}
		n = i + 1
	}
	if p.plain() {
		return 0
	}
	if p.day.Label == v.today.Label {
		for i := len(all) - 1; i >= 0; i-- {
			if all[i].Who == "user" && all[i].Kind == "said" {
				return min(n, i)
			}
		}
	}
	return n
}

// dayBar is the day selector on a day.
func (v *visit) dayBar(p place) (dayBar, error) {
	d := dayBar{Label: p.day.Label, Name: v.dayName(p.day.Label), Today: v.today.Label, Zone: v.zone.String()}
	d.Yesterday = v.Calendar.Day(v.user.Settings, v.today.Start.Add(-time.Nanosecond)).Label
	d.IsToday, d.IsBefore = p.day.Label == d.Today, p.day.Label == d.Yesterday
	d.MessagesInWords = v.words.Messages.Of(p.segment.Messages)
	before, err := v.Store.Days(v.ctx(), v.user.ID, p.day.Label, 1)
	if err != nil {
		return d, fmt.Errorf("read days: %w", err)
	}
	if len(before) > 0 {
		d.Previous, d.PreviousN = before[0].Day.Label, v.dayName(before[0].Day.Label)
	}
	if d.Calendar, err = v.calendar(p.day.Label[:7], p.day.Label); err != nil {
		return d, err
	}
	d.Next, err = v.nextDay(p.day.Label, d)
	if d.Next != "" {
		d.NextN = v.dayName(d.Next)
	}
	return d, err
}

// nextDay is the next day with messages, or today.
func (v *visit) nextDay(label string, d dayBar) (string, error) {
	if label >= v.today.Label {
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
		if month > v.today.Label[:7] {
			break
		}
		c, err := v.monthDays(month)
		if err != nil {
			return "", err
		}
		if len(c) > 0 {
			return c[len(c)-1].Day.Label, nil
		}
	}
	return v.today.Label, nil
}

// emptyDay says what to do on a day without messages.
func (v *visit) emptyDay(p place, d dayBar) *emptiness {
	if p.day.Label != v.today.Label {
		return &emptiness{Title: v.words.EmptyDay, Hint: v.words.EmptyDayHint}
	}
	if d.Previous == "" {
		return &emptiness{Title: v.words.EmptyToday, Hint: v.words.EmptyFirst}
	}
	return &emptiness{Title: v.words.EmptyToday, Hint: v.words.EmptyTodayHint, Link: "/day/" + d.Previous,
		Label: fmt.Sprintf(v.words.LastTalk, d.PreviousN)}
}

// summaryCard is a day's summary with what is to be known about it.
type summaryCard struct {
	Label, Title string
	HTML         template.HTML
	Note, Class  string // Class: quiet, warn or bad
	About        string
	Version      int
	Retry        bool
	Can          bool // there is something to sum up
}

func (v *visit) summaryCard(p place) (*summaryCard, error) {
	g := p.segment
	s := &summaryCard{Label: p.day.Label, Title: fmt.Sprintf(v.words.DaySummary, v.dayName(p.day.Label)),
		Can: g.Messages > 0, Version: g.SummaryVersion}
	var newest []core.Summary
	var err error
	if g.SummaryVersion > 0 && !g.Hidden {
		if newest, err = v.Store.Summaries(v.ctx(), v.user.ID, g.ID, 1); err != nil {
			return nil, fmt.Errorf("read the summary: %w", err)
		}
	}
	for _, one := range newest {
		s.HTML = v.markdown.summary(one.Markdown)
		s.About = v.aboutSummary(one)
	}
	s.Note, s.Class = v.summaryNote(g, newest)
	s.Retry = g.SummaryError != ""
	return s, nil
}

// aboutSummary says in one line where a summary comes from.
func (v *visit) aboutSummary(s core.Summary) string {
	out := fmt.Sprintf(v.words.Version, words.Number(v.lang, s.Version)) + " · " + moment(v.lang, s.CreatedAt.In(v.zone))
	if s.Model != "" {
		out += " · " + fmt.Sprintf(v.words.SummaryBy, s.Model)
	}
	if s.Final {
		out += " · " + v.words.SummaryFinal
	}
	return out
}

func (v *visit) summaryNote(g core.Segment, newest []core.Summary) (text, class string) {
	switch {
	case g.SummaryError != "":
		return v.words.SummaryError, "bad"
	case g.Hidden:
		return v.words.SummaryHidden, "warn"
	case g.Stale:
		return v.words.SummaryStale, "warn"
	case len(newest) == 0 && g.Messages == 0:
		return v.words.SummaryNoneYet, "quiet"
	case len(newest) == 0:
		return v.words.SummaryNone, "quiet"
	case newest[0].Ungrounded:
		return v.words.SummaryUngrounded, "warn"
	case g.SinceSummary > 0:
		return v.words.SummarySince.Of(g.SinceSummary), "quiet"
	}
	return "", ""
}

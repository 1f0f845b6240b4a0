package chat

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/people"
	"github.com/everthread/everthread/core/search"
	"github.com/everthread/everthread/core/text/i18n"
)

// groupRoutes show the groups of the visitor. One writes to a group in its chat.
func (r *Room) groupRoutes() []web.Route {
	return []web.Route{
		{Pattern: "GET /groups/{id}", Serve: web.WithID(r.inGroup(r.groupToday))},
		{Pattern: "GET /groups/{id}/day/{label}", Serve: web.WithID(r.inGroup(r.groupDay))},
		{Pattern: "GET /groups/{id}/search", Serve: web.WithID(r.inGroup(r.groupSearch))},
		{Pattern: "GET /groups/{id}/m/{message}", Serve: web.WithID(r.inGroup(r.groupMessage))},
		{Pattern: "GET /groups/{id}/media/{message}/{n}", Serve: web.WithID(r.groupMedia)},
	}
}

// groupPath returns the path of a group's newest day.
func groupPath(g core.UserID) string { return fmt.Sprintf("/groups/%d", g) }

// inGroup returns a handler for the group in the path, which the visitor may see while they are a member of it. serve
// is given the visit to what is the group's, and the visitor's own.
func (r *Room) inGroup(serve func(v, own *web.Visit, a people.Attendance) error) func(*web.Visit, int64) error {
	return func(v *web.Visit, id int64) error {
		all, err := r.Groups.GroupsOf(v.Context(), v.User.ID)
		if err != nil {
			return fmt.Errorf("read groups: %w", err)
		}
		all = slices.DeleteFunc(all, func(a people.Attendance) bool { return int64(a.Group.ID) != id })
		if len(all) == 0 {
			return core.ErrNotFound
		}
		a, attends := all[0], false
		for _, one := range all { // somebody may be there with two accounts
			is, unknown := r.Groups.Attends(v.Context(), one)
			attends, err = attends || is, cmp.Or(err, unknown)
		}
		r.attended.note(v.User.ID, a.Group, v.Now, attends)
		switch {
		case attends:
			return serve(v.Of(a.Group), v, a)
		case err != nil:
			return web.Because(http.StatusServiceUnavailable, fmt.Sprintf(say(v.Lang).GroupUnknown,
				v.ChannelName(a.Chat.Channel)))
		}
		return web.Because(http.StatusForbidden, say(v.Lang).GroupLeft)
	}
}

// groupMedia serves a file of a group. The check of the page that shows it counts, so that a page of many pictures asks
// the channel once.
func (r *Room) groupMedia(v *web.Visit, id int64) error {
	if g, ok := r.attended.group(v.User.ID, core.UserID(id), v.Now); ok {
		return r.media(v.Of(g))
	}
	return r.inGroup(func(v, _ *web.Visit, _ people.Attendance) error { return r.media(v) })(v, id)
}

// attendedFor is how long a check of a page counts for its files.
const attendedFor = time.Minute

// attended are the groups that visitors were found to attend. Its methods may be called concurrently.
type attended struct {
	mu    sync.Mutex
	found map[[2]core.UserID]attendedGroup // by visitor and group
}

type attendedGroup struct {
	group core.User
	at    time.Time
}

// note keeps the outcome of a check, and drops those that count no more.
func (a *attended) note(visitor core.UserID, group core.User, now time.Time, attends bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.found, func(_ [2]core.UserID, g attendedGroup) bool { return now.Sub(g.at) > attendedFor })
	if attends {
		a.found[[2]core.UserID{visitor, group.ID}] = attendedGroup{group, now}
	} else {
		delete(a.found, [2]core.UserID{visitor, group.ID})
	}
}

// group returns a group that a visitor was lately found to attend.
func (a *attended) group(visitor, group core.UserID, now time.Time) (core.User, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	g, ok := a.found[[2]core.UserID{visitor, group}]
	return g.group, ok && now.Sub(g.at) <= attendedFor
}

type groupView struct {
	Path, Name, Channel, Day string
	Previous, PreviousN      string // a day with messages; empty: none
	Next, NextN              string
	Summary                  template.HTML
	Note                     string
	Entries                  []*entry
	Earlier, Later           string
	Empty                    *web.Empty
	Searches                 bool // it is a search for Query; empty: nothing yet
	Query                    string
	Hits                     []hit
	Count                    string
}

func (r *Room) groupToday(v, own *web.Visit, a people.Attendance) error {
	newest, err := r.Store.Days(v.Context(), v.User.ID, "", 1)
	if err != nil {
		return fmt.Errorf("read days: %w", err)
	}
	if len(newest) == 0 {
		return r.showGroupDay(v, own, a, v.Today.Label)
	}
	return r.showGroupDay(v, own, a, newest[0].Day.Label)
}

func (r *Room) groupDay(v, own *web.Visit, a people.Attendance) error {
	return r.showGroupDay(v, own, a, v.R.PathValue("label"))
}

func (r *Room) showGroupDay(v, own *web.Visit, a people.Attendance, label string) error {
	p, err := r.dayPlace(v, label)
	if err != nil {
		return err
	}
	s, err := r.stretch(v, p, wanted(v), pageSize)
	if err != nil {
		return err
	}
	page := r.groupView(v, a)
	if page.Entries, err = r.groupEntries(v, s); err != nil {
		return err
	}
	at := page.Path + p.path()
	if s.earlier > 0 {
		page.Earlier = fmt.Sprintf("%s?before=%d", at, s.earlier)
	}
	if s.later > 0 {
		page.Later = fmt.Sprintf("%s?after=%d", at, s.later)
	}
	days, err := r.dayBar(v, p)
	if err != nil {
		return err
	}
	page.Day, page.Previous, page.PreviousN = days.Name, days.Previous, days.PreviousN
	page.Next, page.NextN = days.Next, days.NextN
	card, err := r.summaryCard(v, p)
	if err != nil {
		return err
	}
	page.Summary, page.Note = card.HTML, card.Note
	if len(page.Entries) == 0 {
		page.Empty = &web.Empty{Title: say(v.Lang).EmptyDay, Link: page.Path, Label: say(v.Lang).Newest}
	}
	return own.Page("group", page.Name+" · "+page.Day, page)
}

func (r *Room) groupView(v *web.Visit, a people.Attendance) groupView {
	return groupView{Path: groupPath(a.Group.ID), Name: a.Group.Name, Channel: v.ChannelName(a.Chat.Channel)}
}

// groupEntries returns entries without anything to do about them: that is done in the group's chat.
func (r *Room) groupEntries(v *web.Visit, s stretch) ([]*entry, error) {
	all, err := r.entries(v, s)
	for _, e := range all {
		for i := range e.Files {
			if e.Files[i].Path != "" {
				e.Files[i].Path = groupPath(v.User.ID) + e.Files[i].Path
			}
		}
		e.Number, e.Answers, e.Moved, e.doable = 0, nil, false, doable{}
	}
	return all, err
}

func (r *Room) groupSearch(v, own *web.Visit, a people.Attendance) error {
	page := r.groupView(v, a)
	page.Searches, page.Day = true, say(v.Lang).SearchTitle
	page.Query = strings.TrimSpace(v.R.URL.Query().Get("q"))
	if err := v.Within(maxQuery, page.Query); err != nil {
		return err
	}
	title := page.Name + " · " + page.Day
	if page.Query == "" {
		return own.Page("group", title, page)
	}
	found, err := r.Search.Search(v.Context(), search.Query{User: v.User.ID, Query: page.Query, Matching: true,
		Limit: maxHits, Now: v.Now, Location: v.Zone})
	if err != nil {
		return fmt.Errorf("search: %w", err)
	}
	for i, h := range found.Hits {
		one := r.hit(v, i+1, h, page.Query)
		one.Path, one.Before, one.After = page.Path+one.Path, line{}, line{} // those name sides, not speakers
		if h.Message.Speaker != nil {
			one.Who = h.Message.Speaker.Name
		}
		page.Hits = append(page.Hits, one)
	}
	page.Count = say(v.Lang).HitCount.Of(len(page.Hits))
	if len(page.Hits) == maxHits {
		page.Count = fmt.Sprintf(say(v.Lang).HitsBest, i18n.Number(v.Lang, maxHits))
	}
	if len(page.Hits) == 0 {
		page.Empty = &web.Empty{Title: say(v.Lang).SearchNone, Hint: say(v.Lang).SearchNoneHint}
	}
	return own.Page("group", title, page)
}

// groupMessage redirects to a message.
func (r *Room) groupMessage(v, _ *web.Visit, a people.Attendance) error {
	m, err := r.message(v, messageNumber(v.R.PathValue("message")))
	if err != nil {
		return err
	}
	path, err := r.pathOf(v, m)
	if err != nil {
		return err
	}
	return r.jump(v, m, groupPath(a.Group.ID)+path)
}

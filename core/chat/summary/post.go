package summary

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/text/day"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/text/markup"
)

// Bounds of one run, and of the overdue loops that a post asks about.
const (
	batch     = 100
	mostAsked = 3
)

// Finalize requests the summary of every day whose finalization, rewriting or next attempt is due, oldest first, and of
// the newest imported day of each user. It may run in any number of processes at any time.
func (s *Summarizer) Finalize(ctx context.Context) error {
	now := s.Now()
	due, err := s.Store.DueSegments(ctx, now, s.Settings.Config, batch)
	if err != nil {
		return err
	}
	if _, err := s.Store.SummarizeImported(ctx, now, batch); err != nil {
		return err
	}
	for _, g := range due {
		err := s.Store.Enqueue(ctx, store.NewJob{User: g.User, Queue: core.QueueSummarize, Key: core.SummaryKey,
			Ref: int64(g.ID), RunAt: now, Unique: true})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Summarizer) forward(u core.User) string {
	return cmp.Or(u.Settings.Summaries, s.Settings.PostForward)
}

// Post posts the newest stored summaries that are due: of each user only the newest day's. A day without one waits for
// it until the post expires; then a notice says so.
func (s *Summarizer) Post(ctx context.Context) error {
	now := s.Now()
	due, err := s.Store.DuePosts(ctx, now, now.Add(-s.Settings.PostExpires), batch)
	if err != nil {
		return err
	}
	newest := map[core.UserID]core.SegmentID{}
	label := map[core.UserID]string{}
	missed := map[core.UserID][]core.Segment{}
	for _, g := range due {
		if g.SummaryVersion == 0 && !g.RetryAt.IsZero() {
			missed[g.User] = append(missed[g.User], g)
		} else if g.Day.Label > label[g.User] {
			newest[g.User], label[g.User] = g.ID, g.Day.Label
		}
	}
	mornings := s.begun(ctx, now, label)
	for _, g := range due {
		switch days := missed[g.User]; {
		case slices.ContainsFunc(days, func(m core.Segment) bool { return m.ID == g.ID }):
			err = nil
			if days[0].ID == g.ID {
				err = s.miss(ctx, days)
			}
		default:
			err = s.post(ctx, g, newest[g.User] == g.ID, mornings[g.User])
		}
		if err != nil && !errors.Is(err, core.ErrExists) {
			s.Log.Warn("summary not posted", zap.Int64("user", int64(g.User)), zap.String("day", g.Day.Label), zap.Error(err))
		}
	}
	for _, m := range mornings {
		if m.told {
			continue
		}
		if err := s.greet(ctx, m); err != nil {
			s.Log.Warn("day ahead not posted", zap.Int64("user", int64(m.user.ID)), zap.Error(err))
		}
	}
	return nil
}

// miss decides that days of a user are not posted, as there was no summary in time. A notice says so.
func (s *Summarizer) miss(ctx context.Context, days []core.Segment) error {
	now := s.Now()
	u, err := s.Users.User(ctx, days[0].User)
	if err != nil {
		return err
	}
	p := store.PutPost{User: u.ID, State: core.PostMissed, Now: now}
	if s.forward(u) != "off" && !u.Settings.Paused {
		targets, err := s.Planner.Plan(ctx, u, s.forward(u) == "all")
		if err != nil {
			return err
		}
		language := s.language(u)
		var names []string
		for _, g := range days {
			names = append(names, day.Name(g.Day.Label, "", language))
		}
		slices.Reverse(names) // oldest first
		said := fmt.Sprintf(say(language).Missed, i18n.List(language, names...), days[0].Day.Label)
		p.Message, p.Deliveries = s.notice(said, now), s.deliveries(targets, core.DeliverNotice, said)
		p.Message.Rings = core.Unreached(targets)
	}
	for _, g := range days {
		p.Segment = g.ID
		if err := s.Store.PutPost(ctx, p); err != nil {
			return err
		}
		p.Message, p.Deliveries = core.NewMessage{}, nil
	}
	return nil
}

// post posts one day's summary, or decides that it is not posted. m is what is ahead on the day that begins; nil: it is
// not to be told.
func (s *Summarizer) post(ctx context.Context, g core.Segment, newest bool, m *morning) error {
	now := s.Now()
	u, err := s.Users.User(ctx, g.User)
	if err != nil {
		return err
	}
	p := store.PutPost{User: g.User, Segment: g.ID, State: core.PostSkipped, Now: now}
	expires := g.Day.Post.Add(s.Settings.PostExpires)
	if !newest || s.forward(u) == "off" || u.Settings.Paused || !now.Before(expires) || g.SummaryVersion == 0 || g.Hidden {
		return s.Store.PutPost(ctx, p)
	}
	versions, err := s.Store.Summaries(ctx, g.User, g.ID, 1)
	if err != nil || len(versions) == 0 || certain(versions[0].Markdown) == "" {
		return errors.Join(err, s.Store.PutPost(ctx, p))
	}
	open, err := s.Store.Loops(ctx, g.User, lookLoops)
	if err != nil {
		return err
	}
	overdue := s.overdue(open)
	targets, err := s.Planner.Plan(ctx, u, s.forward(u) == "all")
	if err != nil {
		return err
	}
	said := s.text(u, g, versions[0], open, overdue)
	p.State = core.PostDone
	p.Message = core.NewMessage{Role: core.RoleAssistant, Kind: core.KindDayPost, Text: said, SentAt: now,
		Tainted: versions[0].Tainted, Rings: core.Unreached(targets)}
	for _, l := range overdue {
		p.Asked = append(p.Asked, l.ID)
	}
	if m != nil && m.before != g.Day.Label {
		m = nil
	}
	return s.put(ctx, p, targets, expires, m)
}

// overdue returns those of the open loops whose day is over, and about which the person was not asked since.
func (s *Summarizer) overdue(open []core.Loop) []core.Loop {
	now := s.Now()
	skip := func(l core.Loop) bool { return l.Asked || !l.Overdue(now) || l.Stale(now) }
	open = slices.DeleteFunc(slices.Clone(open), skip)
	return open[:min(len(open), mostAsked)]
}

// stillOpen removes from a summary what it calls open and is no longer: a bullet that names none of the open loops, and
// rests on none of their messages.
func (s *Summarizer) stillOpen(markdown string, open []core.Loop) string {
	before, rest, found := strings.Cut(markdown, "## "+openLoops+"\n")
	if !found || len(open) == lookLoops {
		return markdown
	}
	listed, after, more := strings.Cut(rest, "\n\n## ")
	lines := slices.DeleteFunc(strings.Split(listed, "\n"), func(l string) bool {
		text, bullet := strings.CutPrefix(l, "- ")
		if _, same := s.SameLoop(markup.StripRefs(text), open); !bullet || same {
			return false
		}
		return !slices.ContainsFunc(open, func(l core.Loop) bool { return restsOn(text, l.Sources) })
	})
	if kept := strings.Join(lines, "\n"); strings.TrimSpace(kept) != "" {
		before += "## " + openLoops + "\n" + kept + "\n\n"
	}
	if more {
		before += "## " + after
	}
	return strings.TrimSpace(before)
}

// restsOn reports whether a bullet refers to one of the messages.
func restsOn(bullet string, messages []core.MessageID) bool {
	for _, group := range refGroup.FindAllString(bullet, -1) {
		for _, n := range refID.FindAllString(group, -1) {
			if id, err := strconv.ParseInt(n, 10, 64); err == nil && slices.Contains(messages, core.MessageID(id)) {
				return true
			}
		}
	}
	return false
}

// say returns the texts around a summary in a language.
var say = i18n.In[struct {
	Title       string // the name of the day
	Reopen      string // the number of a settled loop
	Overdue     string // an open loop, the name of its day, its number
	Missed      string // the names of days, the label of the newest
	OwnerFailed string // what the model's server says
	NotIn       i18n.Counted
}]("summary")

// text returns a summary as it is posted: with a title instead of the first heading, without references, without
// bullets that rest on no message, and without loops that were closed since. What is not in it yet and questions about
// overdue loops follow.
func (s *Summarizer) text(u core.User, g core.Segment, v core.Summary, open, overdue []core.Loop) string {
	language := s.language(u)
	// The day is named by its date, as the post stays in the chat.
	parts := []string{fmt.Sprintf(say(language).Title, day.Name(g.Day.Label, "", language))}
	markdown := s.stillOpen(certain(v.Markdown), open)
	for s.Tokens.Count(markdown) > mostTokens && strings.Contains(markdown, "\n") {
		markdown = markdown[:strings.LastIndex(markdown, "\n")]
	}
	said := i18n.Headings(language, markup.StripRefs(strings.TrimPrefix(markdown, "## "+narrative+"\n")))
	parts = append(parts, said)
	if g.SinceSummary > 0 {
		parts = append(parts, say(language).NotIn.Of(g.SinceSummary))
	}
	if closed := v.Settled(); len(closed) > 0 {
		parts = append(parts, fmt.Sprintf(say(language).Reopen, closed[0]))
	}
	for _, l := range overdue {
		last := s.Calendar.Day(u.Settings, l.Due.Add(-time.Nanosecond)).Label
		parts = append(parts, fmt.Sprintf(say(language).Overdue, text.OneLine(markup.Plain(l.Text)),
			day.Name(last, g.Day.Label, language), l.ID))
	}
	return strings.Join(parts, "\n\n")
}

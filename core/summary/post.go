package summary

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/day"
	"github.com/everthread/everthread/core/markup"
	"github.com/everthread/everthread/core/words"
)

// batch bounds the days of one run.
const batch = 100

// Finalize requests the summary of every day whose finalization or rewriting is due, oldest first, and of the newest
// imported day of each user. It may run in any number of processes at any time.
func (s *Summarizer) Finalize(ctx context.Context) error {
	now := s.Now()
	due, err := s.Store.DueSegments(ctx, now, batch)
	if err != nil {
		return err
	}
	if _, err := s.Store.SummarizeImported(ctx, now, batch); err != nil {
		return err
	}
	for _, g := range due {
		err := s.Store.Enqueue(ctx, core.NewJob{User: g.User, Queue: core.QueueSummarize, Key: core.SummaryKey,
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

// Post posts the summaries that are due: of each user only the newest day's.
func (s *Summarizer) Post(ctx context.Context) error {
	due, err := s.Store.DuePosts(ctx, s.Now(), batch)
	if err != nil {
		return err
	}
	newest := map[core.UserID]core.SegmentID{}
	label := map[core.UserID]string{}
	for _, g := range due {
		if g.Day.Label > label[g.User] {
			newest[g.User], label[g.User] = g.ID, g.Day.Label
		}
	}
	for _, g := range due {
		err := s.post(ctx, g, newest[g.User] == g.ID)
		if err != nil && !errors.Is(err, core.ErrExists) {
			s.Log.Warn("summary not posted", zap.Int64("user", int64(g.User)), zap.String("day", g.Day.Label), zap.Error(err))
		}
	}
	return nil
}

// post posts one day's summary, or decides that it is not posted.
func (s *Summarizer) post(ctx context.Context, g core.Segment, newest bool) error {
	now := s.Now()
	u, err := s.Users.User(ctx, g.User)
	if err != nil {
		return err
	}
	p := core.PutPost{User: g.User, Segment: g.ID, State: core.PostSkipped, Now: now}
	expires := g.Day.Post.Add(s.Settings.PostExpires)
	if !newest || s.forward(u) == "off" || u.Settings.Paused || !now.Before(expires) || g.SummaryVersion == 0 || g.Hidden {
		return s.Store.PutPost(ctx, p)
	}
	versions, err := s.Store.Summaries(ctx, g.User, g.ID, 1)
	if err != nil || len(versions) == 0 || certain(versions[0].Markdown) == "" {
		return errors.Join(err, s.Store.PutPost(ctx, p))
	}
	targets, err := s.Planner.Plan(ctx, u, s.forward(u) == "all")
	if err != nil {
		return err
	}
	text := s.text(u, g, versions[0])
	p.State = core.PostDone
	p.Message = core.NewMessage{Role: core.RoleAssistant, Kind: core.KindDayPost, Text: text,
		Tokens: s.Tokens.Count(text), SentAt: now}
	for _, t := range targets {
		parts := markup.Parts(text, s.Channels.Capabilities(t.Identity.Address.Channel))
		for i := range parts { // silent, and folded where a channel can
			parts[i].Quiet, parts[i].Fold = true, true
		}
		d := t.Delivery(core.DeliverPost, parts)
		d.Expires = expires
		p.Deliveries = append(p.Deliveries, d)
	}
	return s.Store.PutPost(ctx, p)
}

// say returns the texts around a summary in a language.
var say = words.In[struct{ Title string }]("summary") // Title: the name of the day

// text returns a summary as it is posted: with a title, without references and without bullets that rest on no message.
func (s *Summarizer) text(u core.User, g core.Segment, v core.Summary) string {
	language := cmp.Or(u.Settings.Language, s.Settings.Language)
	name := day.Name(g.Day.Label, "", language) // with its date: the post stays in the chat
	said := words.Headings(language, markup.StripRefs(certain(v.Markdown)))
	return fmt.Sprintf(say(language).Title, name) + "\n\n" + said
}

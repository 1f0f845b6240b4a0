package summary

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// grace is how long after its time the day ahead waits for a summary that it could end; after stale it is no longer told.
const (
	grace = 10 * time.Minute
	stale = 4 * time.Hour
)

// morning is what a user has ahead, on the day that begins.
type morning struct {
	user    core.User
	before  string // the label of the day before, whose post it ends
	today   core.Day
	said    string
	foreign bool
	err     error
	told    bool // a post ends with it
}

// once is the key under which it is stored.
func (m *morning) once() string { return "ahead:" + m.today.Label }

// begun returns the mornings whose time has come, with what is ahead, by user. Those whose summary may still come are
// left out for a while; due are the labels of the posts that are due.
func (s *Summarizer) begun(ctx context.Context, now time.Time, due map[core.UserID]string) map[core.UserID]*morning {
	users, err := s.Ahead.Users(ctx)
	if err != nil {
		s.Log.Warn("the users with a day ahead are not known", zap.Error(err))
		return nil
	}
	out := map[core.UserID]*morning{}
	var all sync.WaitGroup
	for _, u := range users {
		m := &morning{user: u, today: s.Calendar.Day(u.Settings, now)}
		before := s.Calendar.Day(u.Settings, m.today.Start.Add(-time.Nanosecond))
		m.before = before.Label
		if s.forward(u) == "off" || u.Settings.Paused || now.Before(before.Post) || !now.Before(before.Post.Add(stale)) ||
			due[u.ID] != m.before && now.Before(before.Post.Add(grace)) && s.pending(ctx, u.ID, m.before) {
			continue
		}
		if told, err := s.Store.Noted(ctx, u.ID, m.once()); told || err != nil {
			continue
		}
		out[u.ID] = m
		all.Go(func() { m.said, m.foreign, m.err = s.Ahead.Today(ctx, m.user, now) })
	}
	all.Wait()
	for id, m := range out {
		if m.err == nil && ctx.Err() == nil {
			continue
		}
		delete(out, id)
		s.Log.Warn("the day ahead is not known", zap.Int64("user", int64(id)), zap.Error(errors.Join(m.err, ctx.Err())))
	}
	return out
}

// pending reports whether the post of a day may still come.
func (s *Summarizer) pending(ctx context.Context, user core.UserID, label string) bool {
	g, err := s.Store.Day(ctx, user, label)
	return err == nil && (g.Post == core.PostNone || g.Post == core.PostDue)
}

// greet sends the day ahead by itself, where no summary is posted. If nothing is ahead, it notes that.
func (s *Summarizer) greet(ctx context.Context, m *morning) error {
	now := s.Now()
	n := store.Note{User: m.user.ID, Once: m.once(), Now: now}
	if m.said != "" {
		targets, err := s.Planner.Plan(ctx, m.user, s.forward(m.user) == "all")
		if err != nil {
			return err
		}
		said := s.notice(m.said, now)
		said.Kind, said.Tainted, said.Rings = core.KindDayPost, m.foreign, core.Unreached(targets)
		n.Messages, n.Deliveries = []core.NewMessage{said}, s.deliveries(targets, core.DeliverPost, m.said)
		for i := range n.Deliveries {
			n.Deliveries[i].Expires = m.today.End
		}
	}
	_, err := s.Store.Note(ctx, n)
	return err
}

// put stores a post that ends with the day ahead; nil: without one. What was told before is left out.
func (s *Summarizer) put(ctx context.Context, p store.PutPost, targets []core.Target, expires time.Time,
	m *morning) error {
	if m != nil && m.said != "" {
		with := p
		with.Message.Text += "\n\n" + m.said
		with.Message.Tainted, with.Once = p.Message.Tainted || m.foreign, m.once()
		err := s.put(ctx, with, targets, expires, nil)
		if err == nil {
			m.told = true
		}
		if !errors.Is(err, core.ErrChanged) {
			return err
		}
	}
	p.Message.Tokens = s.Tokens.Count(p.Message.Text)
	p.Deliveries = s.deliveries(targets, core.DeliverPost, p.Message.Text)
	for i := range p.Deliveries {
		p.Deliveries[i].Expires = expires
	}
	return s.Store.PutPost(ctx, p)
}

package recall

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/day"
)

// TrialStore stores the conversations of a trial.
type TrialStore interface {
	AddUserAt(ctx context.Context, u core.User, i core.Identity) (core.User, error)
	DeleteUser(ctx context.Context, user core.UserID) (files []string, err error)
	Identify(ctx context.Context, a core.Address) (core.Identity, core.User, error)
	Append(ctx context.Context, a core.Append) (core.Appended, error)
	Index(ctx context.Context, users int, share core.Share) (int, error)
}

// Trial measures a searcher over a store for experiments, in which each conversation
// is a user of its own. All fields are required.
type Trial struct {
	Store    TrialStore
	Search   *Searcher
	Calendar day.Calendar
	Now      time.Time
	Progress io.Writer
}

// trial is one run.
type trial struct {
	Trial
	users map[core.UserID]core.Identity
}

// Run stores conversations, asks their questions, and deletes them.
func (t Trial) Run(ctx context.Context, samples []Sample) (Report, error) {
	one := &trial{t, map[core.UserID]core.Identity{}}
	defer func() {
		for u := range one.users {
			_, _ = t.Store.DeleteUser(context.WithoutCancel(ctx), u) // a user that stays does no harm
		}
	}()
	return Evaluate(ctx, one, samples)
}

// Begin makes a user for a conversation.
func (t *trial) Begin(ctx context.Context, s Sample) (core.UserID, core.Tool, error) {
	fmt.Fprintf(t.Progress, "conversation %s: %d sessions, %d questions\n", s.Name, len(s.Sessions), len(s.Questions))
	a := core.Address{Channel: "terminal", Account: "eval", External: fmt.Sprintf("%s-%d", s.Name, t.Now.UnixNano())}
	u, err := t.Store.AddUserAt(ctx, core.User{Name: s.Name, Role: core.RoleMember, CreatedAt: t.Now},
		core.Identity{Name: s.Name, Address: a, LastUsed: t.Now})
	if err != nil {
		return 0, nil, err
	}
	i, _, err := t.Store.Identify(ctx, a)
	t.users[u.ID] = i
	names := func(context.Context, core.UserID) map[string]core.Role { return s.Names }
	return u.ID, Tools(t.Search, names)[0], err
}

// People searches like a person.
func (t *trial) People(ctx context.Context, _ core.UserID, q core.SearchQuery) ([]core.Hit, error) {
	got, err := t.Search.Search(ctx, q)
	return got.Hits, err
}

// Load stores a session as the messages of one day, in the transaction that stores
// incoming messages.
func (t *trial) Load(ctx context.Context, user core.UserID, s Session) ([]core.MessageID, error) {
	i := t.users[user]
	a := core.Append{User: user, Identity: i.ID, Paused: true, Now: s.At, RunAt: s.At}
	for n, turn := range s.Turns {
		at := s.At.Add(time.Duration(n) * time.Second)
		a.Events = append(a.Events, core.Inbound{Address: i.Address, EventID: fmt.Sprintf("%d-%s", user, turn.Key),
			Kind: core.InMessage, Text: turn.Text, SentAt: at})
		a.Messages = append(a.Messages, core.NewMessage{Role: turn.Role, Kind: core.KindChat, Text: turn.Text,
			Tokens: t.Search.Tokens.Count(turn.Text), SentAt: at, Day: t.Calendar.Day(core.Settings{}, at)})
	}
	out, err := t.Store.Append(ctx, a)
	if err != nil {
		return nil, err
	}
	_, err = t.Store.Index(ctx, len(t.users), core.Share{})
	return out.Messages, err
}

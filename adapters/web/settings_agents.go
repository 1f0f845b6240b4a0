package web

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
)

// Agents keeps the keys of people's own WhatsApp agents (SPEC 13).
type Agents interface {
	// List lists a user's agents, oldest first.
	List(ctx context.Context, user core.UserID) ([]Agent, error)
	// Check tries a key. The error says in words what is wrong with it.
	Check(ctx context.Context, key string) error
	// Add stores a key, encrypted.
	Add(ctx context.Context, user core.UserID, name, key string, now time.Time) error
	// Remove removes a user's agent, or is core.ErrNotFound.
	Remove(ctx context.Context, user core.UserID, id int64) error
}

// Agent is a personal agent, without its key.
type Agent struct {
	ID    int64
	Name  string
	Since time.Time
	Err   error // what is wrong with it; nil: nothing known
}

// checkTime bounds the try of a key or an endpoint.
const checkTime = 20 * time.Second

// shownAgent is an agent as it is shown.
type shownAgent struct {
	ID                 int64
	Name, Since, Wrong string
}

func (v *visit) fillAgents(p *linksView) error {
	if v.Settings.Agents == nil {
		return nil
	}
	p.WithAgents = true
	all, err := v.Settings.Agents.List(v.ctx(), v.user.ID)
	if err != nil {
		return fmt.Errorf("read agents: %w", err)
	}
	for _, a := range all {
		s := shownAgent{ID: a.ID, Name: a.Name, Since: moment(v.lang, a.Since.In(v.zone))}
		if a.Err != nil {
			s.Wrong = a.Err.Error()
		}
		p.Agents = append(p.Agents, s)
	}
	return nil
}

// addAgent tries a key and, if it works, keeps it.
func (v *visit) addAgent() error {
	if err := v.r.ParseForm(); err != nil {
		return badForm(err)
	}
	w := v.words.Settings
	name, key := oneLine(short(v.r.PostForm.Get("name"), 200)), strings.TrimSpace(v.r.PostForm.Get("key"))
	if name == "" {
		name = w.AgentDefault
	}
	page := settingsView{Links: linksView{AgentName: name}}
	if isUnreadable(key) {
		return v.wrong(problem{"channels", "agent-key", w.AgentNoKey}, page)
	}
	ctx, cancel := context.WithTimeout(v.ctx(), checkTime)
	defer cancel()
	if err := v.Settings.Agents.Check(ctx, key); err != nil {
		return v.wrong(problem{"channels", "agent-key", fmt.Sprintf(w.AgentRefused, err.Error())}, page)
	}
	if err := v.Settings.Agents.Add(v.ctx(), v.user.ID, name, key, v.now); err != nil {
		return fmt.Errorf("add an agent: %w", err)
	}
	return v.back("/settings#channels", w.AgentAdded)
}

func (v *visit) removeAgent() error {
	n, err := strconv.ParseInt(v.r.PathValue("id"), 10, 64)
	if err != nil {
		return core.ErrNotFound
	}
	if err := v.Settings.Agents.Remove(v.ctx(), v.user.ID, n); err != nil {
		return fmt.Errorf("remove an agent: %w", err)
	}
	return v.back("/settings#channels", v.words.Settings.AgentRemoved)
}

package office

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
)

// Agents stores the keys of personal WhatsApp agents.
type Agents interface {
	// List lists a user's agents, oldest first.
	List(ctx context.Context, user core.UserID) ([]core.PersonalAgent, error)
	// Check tries a key. The text of the error is for the person.
	Check(ctx context.Context, key string) error
	// Add stores a key, encrypted.
	Add(ctx context.Context, user core.UserID, name, key string, now time.Time) error
	// Remove removes a user's agent, or returns core.ErrNotFound.
	Remove(ctx context.Context, user core.UserID, id int64) error
}

// checkTime bounds the check of a key or an endpoint.
const checkTime = 20 * time.Second

// shownAgent is a displayed agent.
type shownAgent struct {
	ID                 int64
	Name, Since, Wrong string
}

func (r *Room) fillAgents(v *web.Visit, p *linksView) error {
	all, err := r.Agents.List(v.Context(), v.User.ID)
	if err != nil {
		return fmt.Errorf("read agents: %w", err)
	}
	for _, a := range all {
		s := shownAgent{ID: a.ID, Name: a.Name, Since: v.Moment(a.Since)}
		if a.Err != nil {
			s.Wrong = a.Err.Error()
		}
		p.Agents = append(p.Agents, s)
	}
	return nil
}

// addAgent checks a key and, if it works, stores it.
func (r *Room) addAgent(v *web.Visit) error {
	w := say(v.Lang).Settings
	name := cmp.Or(web.OneLine(web.Short(v.R.PostForm.Get("name"), 200)), w.AgentDefault)
	key := strings.TrimSpace(v.R.PostForm.Get("key"))
	page := settingsView{Links: linksView{AgentName: name}}
	if isUnreadable(key) {
		return r.wrong(v, problem{"channels", "agent-key", w.AgentNoKey}, page)
	}
	ctx, cancel := context.WithTimeout(v.Context(), checkTime)
	defer cancel()
	if err := r.Agents.Check(ctx, key); err != nil {
		return r.wrong(v, problem{"channels", "agent-key", fmt.Sprintf(w.AgentRefused, err.Error())}, page)
	}
	if err := r.Agents.Add(v.Context(), v.User.ID, name, key, v.Now); err != nil {
		return fmt.Errorf("add an agent: %w", err)
	}
	return v.Back("/settings#channels", w.AgentAdded)
}

func (r *Room) removeAgent(v *web.Visit) error {
	n, err := v.ID()
	if err != nil {
		return err
	}
	if err := r.Agents.Remove(v.Context(), v.User.ID, n); err != nil {
		return fmt.Errorf("remove an agent: %w", err)
	}
	return v.Back("/settings#channels", say(v.Lang).Settings.AgentRemoved)
}

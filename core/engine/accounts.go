package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/people"
	"github.com/everthread/everthread/core/archive/export"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/trust/egress"
)

// Delete removes a user with their files, and returns what is left of them.
func (e *Engine) Delete(ctx context.Context, user core.UserID, tell func(people.Deletion)) (left []string, err error) {
	revoke := e.Services.Leaving(ctx, user)
	if err := e.Deleter.Delete(ctx, user, tell); err != nil {
		return nil, err
	}
	revoke(ctx)
	e.RefreshAccounts()
	return e.Deleter.Left(ctx, user, tell)
}

// RefreshAccounts has channels reload the accounts of users.
func (e *Engine) RefreshAccounts() {
	for _, ch := range e.Channels {
		if r, ok := ch.(core.AccountChecker); ok {
			r.Refresh()
		}
	}
}

// Traces lists where a text of a user is still stored, and reports whether it searched the database's files, too. The
// file of the embedded store holds the texts of all users, so it is searched only if the user is the only one.
func (e *Engine) Traces(ctx context.Context, user core.UserID, text string) (found []store.Trace, all bool, err error) {
	if e.Config.DatabaseURL == "" {
		users, err := e.Store.Users(ctx)
		if err != nil {
			return nil, false, err
		}
		all = len(users) == 1
	}
	if all {
		if err := e.Store.Scrub(ctx); err != nil {
			return nil, false, err
		}
	}
	found, err = Traces(ctx, e.Store, user, text)
	if !all {
		found = slices.DeleteFunc(found, func(t store.Trace) bool { return strings.HasPrefix(t.Where, "file ") })
	}
	return found, all, err
}

// Traces lists where a text of a user is still stored, verbatim or escaped for JSON.
func Traces(ctx context.Context, st store.Janitor, user core.UserID, text string) ([]store.Trace, error) {
	var out []store.Trace
	for _, form := range forms(text) {
		found, err := st.Traces(ctx, user, form)
		if err != nil {
			return nil, err
		}
		for _, t := range found {
			if !slices.Contains(out, t) {
				out = append(out, t)
			}
		}
	}
	return out, nil
}

// forms returns a text verbatim and escaped for JSON, each form once.
func forms(text string) []string {
	out := []string{text}
	for _, safe := range []bool{true, false} {
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(safe)
		if e.Encode(text) != nil {
			continue
		}
		quoted := strings.TrimSpace(b.String())
		if form := quoted[1 : len(quoted)-1]; !slices.Contains(out, form) {
			out = append(out, form)
		}
	}
	return out
}

// Agents manages the keys of users' own WhatsApp agents.
type Agents struct{ *Engine }

// List lists a user's agents, oldest first.
func (a Agents) List(ctx context.Context, user core.UserID) ([]store.PersonalAgent, error) {
	keys, err := a.Store.AgentKeys(ctx)
	if err != nil {
		return nil, err
	}
	health := map[string]error{}
	for _, ch := range a.Channels {
		if accounts, ok := ch.(core.AccountChecker); ok {
			maps.Copy(health, accounts.CheckAccounts())
		}
	}
	var out []store.PersonalAgent
	for _, k := range keys {
		if k.User == user {
			out = append(out, store.PersonalAgent{ID: k.ID, Name: k.Name, Since: k.CreatedAt,
				Err: health[strconv.FormatInt(k.ID, 10)]})
		}
	}
	return out, nil
}

// Check tries a key with the service. The error says in words what is wrong with it.
func (a Agents) Check(ctx context.Context, key string) error {
	for _, c := range channel.On(a.Config.Channels.Sections) {
		if k, ok := c.(channel.KeyChecker); ok {
			return k.CheckKey(ctx, channel.Host{Client: (*egress.Gate)(nil).Client, Now: a.Now}, key)
		}
	}
	return errors.New("no channel has keys of people")
}

// Add stores a key, encrypted, and has its channel take it up.
func (a Agents) Add(ctx context.Context, user core.UserID, name, key string, now time.Time) error {
	_, err := AddAgentKey(ctx, a.Config, a.Store, store.AgentKey{User: user, Name: name, CreatedAt: now}, key)
	if err != nil {
		return fmt.Errorf("store the key: %w", err)
	}
	a.RefreshAccounts()
	return nil
}

// Remove removes a user's agent, or is core.ErrNotFound.
func (a Agents) Remove(ctx context.Context, user core.UserID, id int64) error {
	if err := a.Store.RemoveAgentKey(ctx, user, id); err != nil {
		return err
	}
	a.RefreshAccounts()
	return nil
}

// askApps is the timeout for all services together: an app without an answer gets no link.
const askApps = 3 * time.Second

// apps caches the apps of channels.
type apps struct {
	sync.Mutex
	known map[string]core.App
}

// Apps returns the apps in which people can write to the assistant, as their services describe it. Answers are cached.
func (e *Engine) Apps(ctx context.Context) []core.App {
	e.apps.Lock()
	defer e.apps.Unlock()
	if e.apps.known == nil {
		e.apps.known = map[string]core.App{}
	}
	ctx, cancel := context.WithTimeout(ctx, askApps)
	defer cancel()
	var out []core.App
	for _, name := range e.channelNames() {
		one, ok := e.Channels[name].(core.Linker)
		if !ok {
			continue
		}
		if _, ok := e.apps.known[name]; !ok {
			app, err := one.App(ctx)
			if err != nil {
				continue // the code can be sent by hand
			}
			e.apps.known[name] = app
		}
		out = append(out, e.apps.known[name])
	}
	return out
}

// Running returns the capabilities of a channel, and whether this process serves it.
func (e *Engine) Running(channel string) (core.Capabilities, bool) {
	_, ok := e.Channels[channel]
	return e.Channels.Capabilities(channel), ok
}

// Resume finishes account deletions that a process left unfinished.
func (e *Engine) Resume(ctx context.Context) error { return e.Deleter.Resume(ctx) }

// Export writes the export of a user to w, after recording it in the audit.
func (e *Engine) Export(ctx context.Context, w io.Writer, user core.UserID) error {
	if err := e.Store.PutAudit(ctx, user, export.Done(user)); err != nil {
		return err
	}
	x, err := NewExporter(e.Config, e.Store, e.Now)
	if err != nil {
		return err
	}
	return x.Write(ctx, w, user, nil)
}

// NewExporter returns the exporter of a store.
func NewExporter(c configs.Config, st Store, now func() time.Time) (*export.Exporter, error) {
	calendar, err := NewCalendar(c)
	return &export.Exporter{Store: st, Media: os.DirFS(mediaDir(c)), Zone: calendar.Zone,
		Language: c.DefaultLanguage, Now: now}, err
}

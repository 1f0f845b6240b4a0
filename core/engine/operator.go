package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/people"
	"github.com/everthread/everthread/core/archive/backup"
	"github.com/everthread/everthread/core/archive/importer"
	"github.com/everthread/everthread/core/files/document"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/ops/datadir"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/trust/secret"
)

// Welcome is what the operator has to know when a process begins.
type Welcome struct {
	Channels []string // that are on, sorted
	Apps     int      // messaging apps among them
	Code     string   // makes an address the owner's; empty: the owner has one
	Link     string   // opens the web page; empty: it is off, or the owner has been there
	Owner    string   // the owner's name
}

// WelcomeLife is how long the link of a Welcome is valid.
const WelcomeLife = time.Hour

// Welcome makes the owner at the first start, with a code and a link as long as they are needed; with again there is a
// link for an owner who has been on the page, too.
func (e *Engine) Welcome(ctx context.Context, again bool) (w Welcome, err error) {
	owner, code, err := e.People.EnsureOwner(ctx)
	if err != nil {
		return w, fmt.Errorf("make the owner: %w", err)
	}
	w.Code, w.Owner = code, owner.Name
	keys, err := e.Store.AgentKeys(ctx)
	if err != nil {
		return w, fmt.Errorf("list personal agents: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Channels)) {
		if len(keys) == 0 && e.Channels.Capabilities(name).Personal {
			continue // it waits for the first key
		}
		w.Channels = append(w.Channels, name)
		if !people.Own(name) {
			w.Apps++
		}
	}
	ids, err := e.People.Identities(ctx, owner.ID)
	been := slices.ContainsFunc(ids, func(i core.Identity) bool { return i.Address.Channel == "web" })
	if err == nil && e.Config.Channels.Web.Enabled && (again || !been) {
		w.Link, _, err = NewWebLink(ctx, e.Config, e.Store, owner.ID, WelcomeLife, e.Now)
	}
	if err != nil {
		return w, fmt.Errorf("make a link to the web page: %w", err)
	}
	return w, nil
}

// MakeOwner makes the owner at the first start.
func MakeOwner(ctx context.Context, st Store, now func() time.Time) error {
	p := &people.People{Store: st, Log: zap.NewNop(), Now: now, Rand: rand.Reader}
	_, err := p.Owner(ctx)
	if errors.Is(err, core.ErrNotFound) {
		_, _, err = p.EnsureOwner(ctx)
	}
	return err
}

// Noter makes changes in a store, without a gateway.
type Noter struct {
	Store Store
	Now   func() time.Time
}

// Act makes changes of a user's, all or none.
func (n Noter) Act(ctx context.Context, user core.UserID, effects ...core.Effect) (store.Noted, error) {
	out, err := n.Store.Note(ctx, store.Note{User: user, Effects: effects, Now: n.Now()})
	if err != nil {
		return out, fmt.Errorf("store the changes: %w", err)
	}
	return out, nil
}

// NewWebLink makes a link that signs a user in to the web page, once, until it expires.
func NewWebLink(ctx context.Context, c configs.Config, st Store, user core.UserID, life time.Duration,
	now func() time.Time) (url string, expires time.Time, err error) {
	p := &people.People{Store: st, Now: now, Rand: rand.Reader}
	code, stored, err := p.NewWebCode(user, life)
	if err == nil {
		err = st.PutCode(ctx, stored)
	}
	return SignIn(c, code), stored.Expires, err
}

// DayMessages returns the messages of a day that were not forgotten.
func DayMessages(ctx context.Context, st Store, g core.Segment) (out []core.MessageID, err error) {
	const page = 500
	for after := core.MessageID(0); ; {
		messages, err := st.DayMessages(ctx, g.User, g.ID, after, page)
		if err != nil {
			return nil, err
		}
		for _, m := range messages {
			if after = m.ID; !m.Redacted {
				out = append(out, m.ID)
			}
		}
		if len(messages) < page {
			return out, nil
		}
	}
}

// Importer returns what imports archives for a user, and how they are read.
func (e *Engine) Importer(ctx context.Context, u core.User) (*importer.Importer, importer.Options, error) {
	kind := func(name string, data []byte) string { return document.Kind(name, "", data) }
	embedding, err := e.Embedders.Name(ctx, u.ID)
	return &importer.Importer{Store: e.Store, Tokens: e.Tokens, User: u, Embedding: embedding, Now: e.Now, Wait: job.Wait,
			Calendar: e.Calendar, Media: &importer.Media{Dir: e.Files.Dir, Max: e.Files.Max, Kind: kind},
			Plans: e.Plans.Settings, MaxReminders: e.Config.Reminders.MaxActive,
			MaxTasks: e.Config.Tasks.MaxActive, Standing: e.Standing, Proposer: e},
		importer.Options{Zone: u.Settings.Location(e.Calendar.Zone), Now: e.Now(), Kind: kind, Max: e.Files.Max}, err
}

// KeyID returns the id of the secret key; empty: there is none yet.
func KeyID(c configs.Config) (string, error) {
	if c.SecretKey == "" {
		key, err := datadir.KnownKey(c.DataDir)
		if err != nil || key == "" {
			return "", err
		}
		c.SecretKey = configs.Secret(key)
	}
	s, err := NewSealer(c)
	if err != nil {
		return "", err
	}
	return s.Key(), nil
}

// Resealer encrypts again what a store keeps encrypted.
type Resealer interface {
	Reseal(ctx context.Context, f func(store.Sealed) (string, error)) (changed int, err error)
}

// RotateKeyFile changes the key file of the embedded store, and encrypts with the new key
// what was encrypted with the old one. It continues a change that was interrupted.
func RotateKeyFile(ctx context.Context, dir string, st Resealer, crash core.Crash) (changed int, err error) {
	old, err := datadir.Key(dir)
	if err != nil {
		return 0, err
	}
	next, err := datadir.NextKey(dir)
	if err != nil {
		return 0, err
	}
	s, err := secret.New(rand.Reader, next, old)
	if err != nil {
		return 0, err
	}
	if err := backup.SyncDir(dir); err != nil {
		return 0, err
	}
	if changed, err = st.Reseal(ctx, Resealed(s)); err != nil {
		return 0, err
	}
	crash.At("resealed")
	if err := datadir.ChangeKey(dir); err != nil {
		return 0, err
	}
	return changed, backup.SyncDir(dir)
}

package engine

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	llmembed "github.com/everthread/everthread/core/llm/embed"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/trust"
	"github.com/everthread/everthread/core/trust/egress"
)

// OwnKey is the name under which the key of a user's own embeddings is sealed.
const OwnKey = "embeddings of a user"

// Embedders returns the embedder of a user: that of the configuration, else that of their
// own settings. It is safe for concurrent use.
type Embedders struct {
	process *Process
	system  core.Embedder // nil: everybody may have their own
	config  string
	tried   string        // fingerprint of system; texts that failed with it are not retried
	ledger  *trust.Ledger // nil: nothing is counted

	asks atomic.Bool // some texts have vectors of another model than the configured one

	mu  sync.Mutex
	own map[core.UserID]ownEmbedder
}

type ownEmbedder struct {
	choice core.OwnEmbeddings
	core.Embedder
	config string
}

// NewEmbedders returns the embedders of a process. A ledger counts their calls, unless nil.
func NewEmbedders(p *Process, ledger *trust.Ledger) (*Embedders, error) {
	e, config, err := Embedder(p.Config, p.Way)
	out := &Embedders{process: p, system: e, config: config, ledger: ledger, own: map[core.UserID]ownEmbedder{}}
	if e != nil {
		out.tried = core.FingerprintOf(e, config)
	}
	return out, err
}

// Embedder returns the configured embedder and the name of its configuration, or nil. Its calls are not counted.
func Embedder(c configs.Config, way *egress.Gate) (core.Embedder, string, error) {
	e := c.Embeddings
	if e.Provider == "none" || e.Provider == "" {
		return nil, "", nil
	}
	out, err := llmembed.New(llmembed.Options{Provider: e.Provider, BaseURL: e.BaseURL,
		APIKey: string(e.APIKey), Model: e.Model, Dimensions: e.Dimensions, Timeout: e.Timeout, Written: true, Way: way})
	if err != nil {
		return nil, "", fmt.Errorf("embeddings: %w", err)
	}
	return out, llmembed.Config(e.Provider, e.Model, e.Dimensions), nil
}

// counted returns an embedder whose calls count as a user's.
func (e *Embedders) counted(one core.Embedder, config string, user core.UserID) core.Embedder {
	one = behalf{one, config, user}
	if e.ledger == nil {
		return one
	}
	return e.ledger.Embedder(one, llmembed.ModelOf(config), user)
}

// Of returns the embedder of a user and the name of its configuration. It is a core.EmbedderOf.
func (e *Embedders) Of(ctx context.Context, user core.UserID) (core.Embedder, string, error) {
	if e.system != nil {
		return e.counted(e.system, e.config, user), e.config, nil
	}
	u, err := e.process.Store.User(ctx, user)
	if err != nil || u.Settings.Embeddings.Provider == "" {
		return nil, "", err
	}
	choice := u.Settings.Embeddings
	e.mu.Lock()
	defer e.mu.Unlock()
	if known, ok := e.own[user]; ok && known.choice == choice {
		return e.counted(known.Embedder, known.config, user), known.config, nil
	}
	made, err := e.Open(choice)
	if err != nil {
		return nil, "", fmt.Errorf("the user's own embeddings: %w", err)
	}
	config := llmembed.Config(choice.Provider, choice.Model, choice.Dimensions)
	e.own[user] = ownEmbedder{choice, made, config}
	return e.counted(made, config, user), config, nil
}

// behalf is an embedder that calls its service on behalf of a user.
type behalf struct {
	core.Embedder
	config string
	user   core.UserID
}

// Embed implements core.Embedder.
func (b behalf) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return b.Embedder.Embed(egress.For(ctx, b.user), texts)
}

// Fingerprint returns that of the embedder.
func (b behalf) Fingerprint() string { return core.FingerprintOf(b.Embedder, b.config) }

// Open returns the embedder of a choice. Its calls are not counted.
func (e *Embedders) Open(c core.OwnEmbeddings) (core.Embedder, error) {
	var key string
	if c.Sealed != "" {
		s, err := e.process.Sealer()
		if err != nil {
			return nil, err
		}
		if key, err = s.Open(OwnKey, c.Sealed); err != nil {
			return nil, fmt.Errorf("its key cannot be read; set it again: %w", err)
		}
	}
	return llmembed.New(llmembed.Options{Provider: c.Provider, BaseURL: c.BaseURL, APIKey: key, Model: c.Model,
		Dimensions: c.Dimensions, Timeout: e.process.Config.Embeddings.Timeout, Way: e.process.Way})
}

// Seal encrypts a key for storage in a choice. An empty key stays empty.
func (e *Embedders) Seal(key string) (string, error) {
	if key == "" {
		return "", nil
	}
	s, err := e.process.Sealer()
	if err != nil {
		return "", err
	}
	return s.Seal(OwnKey, key)
}

// System returns the name of the configuration that applies to all users; empty: none.
func (e *Embedders) System() string { return e.config }

// Outdated returns how many texts RebuildOutdated would embed again; 0 if there were none when the process began.
func (e *Embedders) Outdated(ctx context.Context) (int, error) {
	if !e.asks.Load() {
		return 0, nil
	}
	return e.outdated(ctx, true)
}

// RebuildOutdated marks the texts of each user who has vectors of another model than that of the configuration to be
// embedded again, and returns their number.
func (e *Embedders) RebuildOutdated(ctx context.Context) (int, error) { return e.outdated(ctx, false) }

func (e *Embedders) outdated(ctx context.Context, dry bool) (total int, err error) {
	if e.system == nil {
		return 0, nil
	}
	users, err := e.process.Store.Users(ctx)
	if err != nil {
		return 0, err
	}
	for _, u := range users {
		counts, err := e.process.Store.EmbeddingCounts(ctx, u.ID, e.config)
		if err != nil {
			return total, err
		}
		if counts["stale"] == 0 {
			continue
		}
		now := e.process.Now()
		n, err := e.process.Store.Reembed(ctx, u.ID, e.config, dry, now)
		if err == nil && !dry {
			err = e.process.Store.Enqueue(ctx, store.NewJob{User: u.ID, Queue: core.QueueEmbed, Key: core.EmbedKey, RunAt: now,
				Unique: true})
		}
		if total += n; err != nil {
			return total, err
		}
	}
	return total, nil
}

// warn logs once, when the process begins, how many texts wait for a confirmation. Its error never ends the process.
func (e *Embedders) warn(ctx context.Context) error {
	n, err := e.outdated(ctx, true)
	e.asks.Store(n > 0)
	switch {
	case err != nil && ctx.Err() == nil:
		e.process.Log.Warn("texts of another embedding model were not counted", zap.Error(err))
	case n > 0:
		e.process.Log.Warn(fmt.Sprintf("%d texts will be embedded again with %s once the owner confirms it on the page, under "+
			"Settings, or with everthread embeddings rebuild --yes; until then they are found by their words", n,
			llmembed.Named(e.config)))
	}
	return nil
}

// Name returns the name of a user's configuration; empty: none.
func (e *Embedders) Name(ctx context.Context, user core.UserID) (string, error) {
	_, config, err := e.Of(ctx, user)
	return config, err
}

// Shared returns the configured embedder for work that belongs to no user, counted; nil: there is none.
func (e *Embedders) Shared() core.Embedder {
	return e.ledger.Embedder(e.system, llmembed.ModelOf(e.config), 0)
}

// want enqueues a job for every user with texts to embed.
func (e *Embedders) want(ctx context.Context) error {
	const page = 500
	for after := core.UserID(0); ; {
		users, err := e.process.Store.EmbeddingDue(ctx, after, e.system == nil, e.tried, page)
		if err != nil {
			return err
		}
		for _, u := range users {
			after = u
			if config, err := e.Name(ctx, u); err != nil || config == "" {
				continue // the job would only fail, repeatedly
			}
			err := e.process.Store.Enqueue(ctx, store.NewJob{User: u, Queue: core.QueueEmbed, Key: core.EmbedKey,
				RunAt: e.process.Now(), Unique: true})
			if err != nil {
				return err
			}
		}
		if len(users) < page {
			return nil
		}
	}
}

package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	llmembed "github.com/everthread/everthread/core/llm/embed"
	"github.com/everthread/everthread/core/seal"
	"github.com/everthread/everthread/core/trust/egress"
)

// ownKey is what the key of a user's own embeddings is sealed as.
const ownKey = "embeddings of a user"

// embedders finds whose vectors count for a user: those of the configuration,
// else of their own settings (SPEC 9).
type embedders struct {
	cfg   configs.Config
	users interface {
		User(ctx context.Context, id core.UserID) (core.User, error)
	}
	sealer func() (*seal.Sealer, error)
	way    *egress.Gate
	system core.Embedder // nil: everybody may have their own
	config string
	tried  string // fingerprint of system
	// counted has the ledger count what an embedder is asked for a user.
	counted func(e core.Embedder, user core.UserID) core.Embedder

	mu  sync.Mutex
	own map[core.UserID]ownEmbedder
}

type ownEmbedder struct {
	choice core.OwnEmbeddings
	core.Embedder
	config string
}

func (h *holder) newEmbedders() (*embedders, error) {
	e, config, err := newEmbedder(h.cfg, h.way)
	out := &embedders{cfg: h.cfg, way: h.way, users: h.store, sealer: h.sealer, system: e, config: config, own: map[core.UserID]ownEmbedder{},
		counted: func(e core.Embedder, _ core.UserID) core.Embedder { return e }}
	if e != nil {
		out.tried = core.FingerprintOf(e, config)
	}
	return out, err
}

// of is a core.EmbedderOf.
func (e *embedders) of(ctx context.Context, user core.UserID) (core.Embedder, string, error) {
	if e.system != nil {
		return e.counted(behalf{e.system, e.config, user}, user), e.config, nil
	}
	u, err := e.users.User(ctx, user)
	if err != nil || u.Settings.Embeddings.Provider == "" {
		return nil, "", err
	}
	choice := u.Settings.Embeddings
	e.mu.Lock()
	defer e.mu.Unlock()
	if known, ok := e.own[user]; ok && known.choice == choice {
		return e.counted(behalf{known.Embedder, known.config, user}, user), known.config, nil
	}
	made, err := e.open(choice)
	if err != nil {
		return nil, "", fmt.Errorf("the user's own embeddings: %w", err)
	}
	config := llmembed.Config(choice.Provider, choice.Model, choice.Dimensions)
	e.own[user] = ownEmbedder{choice, made, config}
	return e.counted(behalf{made, config, user}, user), config, nil
}

// behalf is an embedder whose calls count as a user's.
type behalf struct {
	core.Embedder
	config string
	user   core.UserID
}

// Embed embeds.
func (b behalf) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return b.Embedder.Embed(egress.For(ctx, b.user), texts)
}

// Fingerprint is that of the embedder.
func (b behalf) Fingerprint() string { return core.FingerprintOf(b.Embedder, b.config) }

// open makes the embedder of a choice.
func (e *embedders) open(c core.OwnEmbeddings) (core.Embedder, error) {
	var key string
	if c.Sealed != "" {
		s, err := e.sealer()
		if err != nil {
			return nil, err
		}
		if key, err = s.Open(ownKey, c.Sealed); err != nil {
			return nil, fmt.Errorf("its key cannot be read; set it again: %w", err)
		}
	}
	return llmembed.New(llmembed.Options{Provider: c.Provider, BaseURL: c.BaseURL, APIKey: key, Model: c.Model, Dimensions: c.Dimensions,
		Timeout: e.cfg.Embeddings.Timeout, Way: e.way})
}

// seal is a key as it is stored in a choice; empty for none.
func (e *embedders) seal(key string) (string, error) {
	if key == "" {
		return "", nil
	}
	s, err := e.sealer()
	if err != nil {
		return "", err
	}
	return s.Seal(ownKey, key)
}

// System names the configuration that holds for everybody, empty if there is none.
func (e *embedders) System() string { return e.config }

// Name names the configuration for a user; see name.
func (e *embedders) Name(ctx context.Context, user core.UserID) (string, error) {
	return e.name(ctx, user)
}

// Open makes the embedder of a choice.
func (e *embedders) Open(c core.OwnEmbeddings) (core.Embedder, error) { return e.open(c) }

// Seal encrypts a key as it is stored in a choice; empty for none.
func (e *embedders) Seal(key string) (string, error) { return e.seal(key) }

// name is the name of the configuration for a user, empty if there is none.
func (e *embedders) name(ctx context.Context, user core.UserID) (string, error) {
	_, config, err := e.of(ctx, user)
	return config, err
}

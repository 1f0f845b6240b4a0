package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/intake"
	"github.com/everthread/everthread/core/seal"
	"github.com/everthread/everthread/core/trust/egress"
)

// How long a polled account is held without a renewal; another process takes it
// over within leaseAccount + renewAccount of a death (SPEC 18: 15 s).
const (
	leaseAccount = 10 * time.Second
	renewAccount = 3 * time.Second
)

// holder is what a process holds accounts of channels with: leases, and what is
// kept of an account between processes.
type holder struct {
	cfg    configs.Config
	store  store
	log    *zap.Logger
	now    func() time.Time
	worker string
	way    *egress.Gate   // of every connection that a user or a model can cause
	intake *intake.Budget // of bodies that nobody has authenticated; by the clock on the wall

	mu     sync.Mutex
	fences map[string]int64 // of the leases that this process has had
}

func newHolder(c configs.Config, log *zap.Logger, st store, now func() time.Time) *holder {
	return &holder{cfg: c, store: st, log: log, now: now, worker: workerName(), way: wayOut(c), intake: intake.New(intake.DefaultBytes, intake.DefaultPatience, time.Now), fences: map[string]int64{}}
}

// accountName is what the lease and the state of a channel's account go by.
func accountName(channel, account string) string { return "channel:" + channel + ":" + account }

// account runs f while this process holds an account. With the embedded store
// the lock of the data folder is that lease, and nothing has to lapse after a crash.
func (h *holder) account(ctx context.Context, name string, f func(context.Context) error) error {
	if h.cfg.DatabaseURL == "" {
		return f(ctx)
	}
	return h.leased(ctx, name, f)
}

// leased runs f while this process holds the lease of name, and returns when f
// ended or the lease is somebody else's.
func (h *holder) leased(ctx context.Context, name string, f func(context.Context) error) error {
	held, err := h.acquire(ctx, name)
	if err != nil || !held {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewAccount)
		defer cancel()
		if err := h.store.Release(ctx, name, h.worker); err != nil {
			h.log.Warn("release lease", zap.String("name", name), zap.Error(err))
		}
	}()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { defer cancel(); return f(ctx) })
	group.Go(func() error { defer cancel(); return h.renew(ctx, name) })
	return ignoreCancel(group.Wait())
}

func (h *holder) acquire(ctx context.Context, name string) (bool, error) {
	now := h.now()
	fence, held, err := h.store.Acquire(ctx, name, h.worker, now, now.Add(leaseAccount))
	if held {
		h.mu.Lock()
		h.fences[name] = fence
		h.mu.Unlock()
	}
	return held, err
}

// renew keeps a lease until ctx ends. It gives up, so that the work under the
// lease stops, before somebody else can take it.
func (h *holder) renew(ctx context.Context, name string) error {
	until := h.now().Add(leaseAccount)
	for {
		pause(ctx, renewAccount)
		if ctx.Err() != nil {
			return nil
		}
		asked := h.now()
		try, cancel := context.WithTimeout(ctx, renewAccount)
		held, err := h.acquire(try, name)
		cancel()
		switch {
		case err == nil && !held:
			return fmt.Errorf("the lease of %s was taken by another process", name)
		case err == nil:
			until = asked.Add(leaseAccount)
		case h.now().Add(2 * renewAccount).After(until):
			return fmt.Errorf("renew the lease of %s: %w", name, err)
		}
	}
}

// keeper keeps the state of one account. What is written is fenced where there
// are several processes; values whose keys begin with "secret" are encrypted.
type keeper struct {
	*holder
	account string
}

var _ core.Keeper = keeper{}

// State returns a value.
func (k keeper) State(ctx context.Context, key string) (string, error) {
	value, err := k.store.State(ctx, k.account, key)
	if err != nil || value == "" || !strings.HasPrefix(key, "secret") {
		return value, err
	}
	s, err := k.sealer()
	if err != nil {
		return "", err
	}
	return s.Open(k.account+" "+key, value)
}

// SetState stores values.
func (k keeper) SetState(ctx context.Context, values map[string]string) error {
	stored := make(map[string]string, len(values))
	for key, value := range values {
		stored[key] = value
		if value == "" || !strings.HasPrefix(key, "secret") {
			continue
		}
		s, err := k.sealer()
		if err != nil {
			return err
		}
		if stored[key], err = s.Seal(k.account+" "+key, value); err != nil {
			return err
		}
	}
	return k.store.SetState(ctx, k.account, stored, k.fence(k.account))
}

// fence is this process's hold of an account's lease; none with the embedded store.
func (h *holder) fence(name string) core.Fence {
	if h.cfg.DatabaseURL == "" {
		return core.Fence{}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return core.Fence{Lease: name, Worker: h.worker, N: h.fences[name]}
}

// sealer encrypts with the secret key of the configuration.
func (h *holder) sealer() (*seal.Sealer, error) { return newSealer(h.cfg) }

// newSealer encrypts with the secret key, and reads what the previous one encrypted.
func newSealer(c configs.Config) (*seal.Sealer, error) {
	keys := []string{string(c.SecretKey)}
	if c.PreviousKey != "" {
		keys = append(keys, string(c.PreviousKey))
	}
	return seal.New(rand.Reader, keys...)
}

package main

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/intake"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/seal"
	"github.com/everthread/everthread/core/trust/egress"
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
	leases *job.Leases
}

func newHolder(c configs.Config, log *zap.Logger, st store, now func() time.Time) *holder {
	worker := workerName()
	return &holder{cfg: c, store: st, log: log, now: now, worker: worker, way: wayOut(c),
		intake: intake.New(intake.DefaultBytes, intake.DefaultPatience, time.Now),
		leases: &job.Leases{Store: st, Worker: worker, Now: now, Log: log}}
}

// accountName is what the lease and the state of a channel's account go by.
func accountName(channel, account string) string { return "channel:" + channel + ":" + account }

// account runs f while this process holds an account. With the embedded store
// the lock of the data folder is that lease, and nothing has to lapse after a crash.
func (h *holder) account(ctx context.Context, name string, f func(context.Context) error) error {
	if h.cfg.DatabaseURL == "" {
		return f(ctx)
	}
	return h.leases.While(ctx, name, f)
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
	return h.leases.Fence(name)
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

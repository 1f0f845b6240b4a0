package engine

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	mrand "math/rand/v2"
	"os"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/trust/egress"
	"github.com/everthread/everthread/core/trust/secret"
)

// Store is a store of either engine.
type Store interface {
	store.Store
	// Listen passes on the wake-ups of other processes until ctx ends.
	Listen(ctx context.Context) error
	// Beside opens the database once more, for the tables of a library.
	Beside() (db *sql.DB, dialect string, err error)
	// Remains lists the tables with rows of a user, and their number.
	Remains(ctx context.Context, user core.UserID) ([]string, error)
}

// Process holds the dependencies of one process of the gateway, its leases, and the stored state of its accounts.
type Process struct {
	Config configs.Config
	Store  Store
	Log    *zap.Logger
	Now    func() time.Time
	Name   string       // of the process, in leases
	Way    *egress.Gate // for every connection that a user or a model can cause
	Clock  *Clock       // shared with other processes; nil: there is only this one
	leases *job.Leases
}

// NewProcess returns a process that connects through way. agreed is the clock that it
// shares with other processes; nil: there is only this one.
func NewProcess(c configs.Config, st Store, log *zap.Logger, now func() time.Time, way *egress.Gate,
	agreed *Clock) *Process {
	name := processName()
	return &Process{Config: c, Store: st, Log: log, Now: now, Name: name, Way: way, Clock: agreed,
		leases: &job.Leases{Store: st, Worker: name, Now: now, Log: log}}
}

// processName returns a name that is unique among processes, for leases.
func processName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	return fmt.Sprintf("%s-%d-%x", host, os.Getpid(), mrand.Uint32())
}

// WayOut returns a gate that counts nothing, for the operator's commands.
func WayOut(c configs.Config) *egress.Gate { return egress.New(policy(c)) }

// CountingWayOut returns a gate that counts connections for the user who causes them.
func CountingWayOut(c configs.Config, st Store, now func() time.Time) (*egress.Gate, error) {
	calendar, err := NewCalendar(c)
	if err != nil {
		return nil, err
	}
	o := policy(c)
	o.PerDay = store.Egress{Calls: int64(c.Egress.CallsPerDay), Bytes: int64(c.Egress.BytesPerDay)}
	o.Meter, o.Now, o.Day = st, now, func(ctx context.Context, user core.UserID) (core.Day, error) {
		_, day, err := today(calendar, st, now)(ctx, user)
		return day, err
	}
	return egress.New(o), nil
}

func policy(c configs.Config) egress.Options {
	return egress.Options{AllowHosts: c.Egress.AllowHosts, AllowPrivate: c.AllowPrivateURLs}
}

// account is the stored state of a channel's account. It implements core.Keeper.
type account struct {
	*Process
	name string // of the lease and the state
}

// AccountName returns the name of the lease and the state of a channel's account.
func AccountName(channel, name string) string { return "channel:" + channel + ":" + name }

// While runs f while this process holds the lease of a name. With the embedded store the
// lock of the data folder is the lease, so none must expire after a crash.
func (p *Process) While(ctx context.Context, name string, f func(context.Context) error) error {
	if p.Config.DatabaseURL == "" {
		return f(ctx)
	}
	return p.leases.While(ctx, name, f)
}

// Keeper returns the state of one account. Writes are fenced on a shared database; values
// whose keys begin with "secret" are encrypted.
func (p *Process) Keeper(name string) core.Keeper { return account{p, name} }

// State returns a value.
func (a account) State(ctx context.Context, key string) (string, error) {
	value, err := a.Store.State(ctx, a.name, key)
	if err != nil || value == "" || !strings.HasPrefix(key, "secret") {
		return value, err
	}
	s, err := a.Sealer()
	if err != nil {
		return "", err
	}
	return s.Open(a.name+" "+key, value)
}

// SetState stores values.
func (a account) SetState(ctx context.Context, values map[string]string) error {
	stored := make(map[string]string, len(values))
	for key, value := range values {
		stored[key] = value
		if value == "" || !strings.HasPrefix(key, "secret") {
			continue
		}
		s, err := a.Sealer()
		if err != nil {
			return err
		}
		if stored[key], err = s.Seal(a.name+" "+key, value); err != nil {
			return err
		}
	}
	return a.Store.SetState(ctx, a.name, stored, a.fence(a.name))
}

// fence returns the fence of a lease; none with the embedded store.
func (p *Process) fence(name string) store.Fence {
	if p.Config.DatabaseURL == "" {
		return store.Fence{}
	}
	return p.leases.Fence(name)
}

// Sealer returns the sealer of the configured secret key.
func (p *Process) Sealer() (*secret.Sealer, error) { return NewSealer(p.Config) }

// NewSealer returns a sealer that encrypts with the secret key, and also decrypts with the previous one.
func NewSealer(c configs.Config) (*secret.Sealer, error) {
	keys := []string{string(c.SecretKey)}
	if c.PreviousKey != "" {
		keys = append(keys, string(c.PreviousKey))
	}
	return secret.New(rand.Reader, keys...)
}

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
	"github.com/everthread/everthread/core/intake"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/seal"
	"github.com/everthread/everthread/core/trust/egress"
)

// Store is a store of either engine.
type Store interface {
	core.Store
	// Listen passes on what other processes announce, until ctx ends.
	Listen(ctx context.Context) error
	// Beside opens the database once more, for tables of a library.
	Beside() (db *sql.DB, dialect string, err error)
	Remains(ctx context.Context, user core.UserID) ([]string, error)
}

// Process is one process of the gateway: what its channels are made with, how it holds
// their accounts, and what it keeps of them between processes.
type Process struct {
	Config configs.Config
	Store  Store
	Log    *zap.Logger
	Now    func() time.Time
	Name   string         // of the process, in leases
	Way    *egress.Gate   // of every connection that a user or a model can cause
	Intake *intake.Budget // of bodies that nobody has authenticated; by the clock on the wall
	Clock  *Clock         // agreed on with other processes; nil: there is only this one
	leases *job.Leases
}

// NewProcess returns a process, whose connections go out by way. agreed is the clock that it
// shares with others; nil: it is the only one.
func NewProcess(c configs.Config, st Store, log *zap.Logger, now func() time.Time, way *egress.Gate,
	agreed *Clock) *Process {
	name := processName()
	return &Process{Config: c, Store: st, Log: log, Now: now, Name: name, Way: way, Clock: agreed,
		Intake: intake.New(intake.DefaultBytes, intake.DefaultPatience, time.Now),
		leases: &job.Leases{Store: st, Worker: name, Now: now, Log: log}}
}

// processName tells processes apart in leases.
func processName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	return fmt.Sprintf("%s-%d-%x", host, os.Getpid(), mrand.Uint32())
}

// WayOut is the way out of a configuration, which counts nothing, as for commands of
// the operator.
func WayOut(c configs.Config) *egress.Gate { return egress.New(policy(c)) }

// CountingWayOut counts what goes out for a user as theirs.
func CountingWayOut(c configs.Config, st Store, now func() time.Time) (*egress.Gate, error) {
	calendar, err := NewCalendar(c)
	if err != nil {
		return nil, err
	}
	o := policy(c)
	o.PerDay = core.Egress{Calls: int64(c.Egress.CallsPerDay), Bytes: int64(c.Egress.BytesPerDay)}
	o.Meter, o.Now, o.Day = st, now, today(calendar, st, now)
	return egress.New(o), nil
}

func policy(c configs.Config) egress.Options {
	return egress.Options{AllowHosts: c.Egress.AllowHosts, AllowPrivate: c.AllowPrivateURLs}
}

// account is an account of a channel, with what is kept of it.
type account struct {
	*Process
	name string // of the lease and the state
}

// AccountName is what the lease and the state of a channel's account go by.
func AccountName(channel, name string) string { return "channel:" + channel + ":" + name }

// While runs f while this process holds a name, such as that of an account. With the
// embedded store the lock of the data folder is that lease, and nothing has to lapse
// after a crash.
func (p *Process) While(ctx context.Context, name string, f func(context.Context) error) error {
	if p.Config.DatabaseURL == "" {
		return f(ctx)
	}
	return p.leases.While(ctx, name, f)
}

// Keeper keeps the state of one account. What is written is fenced where there are
// several processes; values whose keys begin with "secret" are encrypted.
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

// fence is this process's hold of a name; none with the embedded store.
func (p *Process) fence(name string) core.Fence {
	if p.Config.DatabaseURL == "" {
		return core.Fence{}
	}
	return p.leases.Fence(name)
}

// Sealer encrypts with the secret key of the configuration.
func (p *Process) Sealer() (*seal.Sealer, error) { return NewSealer(p.Config) }

// NewSealer encrypts with the secret key, and reads what the previous one encrypted.
func NewSealer(c configs.Config) (*seal.Sealer, error) {
	keys := []string{string(c.SecretKey)}
	if c.PreviousKey != "" {
		keys = append(keys, string(c.PreviousKey))
	}
	return seal.New(rand.Reader, keys...)
}

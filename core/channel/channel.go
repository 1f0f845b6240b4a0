// Package channel defines how channels of other services are configured and opened, the
// process that hosts them, and code that they share.
package channel

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/configs/section"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/intake"
)

// Config is a channel's section of the configuration, and opens the channel. Optional
// interfaces describe further capabilities: Tabler, KeyChecker and Guided here, and those of
// core.Channel.
type Config interface {
	section.Section
	// On reports whether the channel is configured.
	On() bool
	// Open returns the channel, without using the network. It returns ErrNoStore if it needs
	// a store and h has none. The database that it opens belongs to h.
	Open(ctx context.Context, h Host) (core.Channel, error)
}

// On returns the channels of a configuration that are on.
func On(sections []section.Section) []Config {
	var out []Config
	for _, s := range sections {
		if c, ok := s.(Config); ok && c.On() {
			out = append(out, c)
		}
	}
	return out
}

// ErrNoStore means that a channel needs a store and there is none yet.
var ErrNoStore = errors.New("there is no database yet")

// Host provides a channel with the resources of its process.
type Host struct {
	PublicURL string                                 // of http.public_url
	Client    func(addresses ...string) *http.Client // reaches these configured addresses, and public ones
	Intake    *intake.Budget                         // for webhooks
	Log       *zap.Logger                            // of the channel
	Now       func() time.Time
	Rand      io.Reader
	Store     Store // nil: there is none yet
}

// Store stores a channel's state across restarts.
type Store interface {
	// Keeper returns the state of an account.
	Keeper(account string) core.Keeper
	// Secret returns a random secret of an account, generated at the first call.
	Secret(ctx context.Context, account, name string, bytes int) ([]byte, error)
	// Lease runs run while this process holds an account, and cancels its context when it
	// loses the account. It waits for run. It returns immediately if another process holds
	// the account.
	Lease(ctx context.Context, account string, run func(ctx context.Context) error) error
	// Database returns a separate connection to the database, for the tables of a Tabler,
	// and its dialect: sqlite3 or postgres.
	Database() (db *sql.DB, dialect string, err error)
	// Keys returns the keys of users' own accounts.
	Keys(ctx context.Context) ([]Key, error)
}

// Key opens an account of one user. The account of its addresses is ID in decimal.
type Key struct {
	ID        int64
	User      core.UserID // the owning user
	Secret    string
	CreatedAt time.Time // older messages are ignored
}

// Tabler is an optional interface of a Config whose channel has tables of a library in the
// database.
type Tabler interface {
	// MakeTables creates the tables as the current version of the library does.
	MakeTables(ctx context.Context, db *sql.DB, dialect string) error
}

// KeyChecker is an optional interface of a Config with users' own accounts.
type KeyChecker interface {
	// CheckKey tests a key with the service. Its error says what to do.
	CheckKey(ctx context.Context, h Host, key string) error
}

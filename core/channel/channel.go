// Package channel is what channels of other services are made of, and what they share:
// their configuration, which makes them, and the process that they run in.
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

// Config is a channel's section of the configuration, and makes the channel. What else
// there is to know of a channel it says by optional interfaces: Tabler and KeyChecker
// here, and those of core.Channel.
type Config interface {
	section.Section
	// On reports whether the channel is configured.
	On() bool
	// Open makes the channel, without use of the network. It is ErrNoStore if it needs
	// one and h has none. The database that it opened belongs to h.
	Open(ctx context.Context, h Host) (core.Channel, error)
}

// On are the channels of a configuration that are on.
func On(sections []section.Section) []Config {
	var out []Config
	for _, s := range sections {
		if c, ok := s.(Config); ok && c.On() {
			out = append(out, c)
		}
	}
	return out
}

// ErrNoStore means that a channel keeps something and there is no store yet.
var ErrNoStore = errors.New("there is no database yet")

// Host is what a channel is given by the process that it runs in.
type Host struct {
	PublicURL string                                 // of http.public_url
	Client    func(addresses ...string) *http.Client // reaches these addresses of the configuration, and what is public
	Intake    *intake.Budget                         // of what is posted to us
	Log       *zap.Logger                            // of the channel
	Now       func() time.Time
	Rand      io.Reader
	Store     Store // nil: there is none yet
}

// Store keeps what a channel has to know after a restart.
type Store interface {
	// Keeper keeps the state of an account.
	Keeper(account string) core.Keeper
	// Secret returns a random secret of an account, made at the first call.
	Secret(ctx context.Context, account, name string, bytes int) ([]byte, error)
	// Lease runs run while this process holds an account, and ends its context when it no
	// longer does. It waits for run. It returns when ctx ends, when run returned, or at
	// once if another process holds the account.
	Lease(ctx context.Context, account string, run func(ctx context.Context) error) error
	// Database is a connection of its own to the database, for tables of a Tabler, and
	// its dialect: sqlite3 or postgres.
	Database() (db *sql.DB, dialect string, err error)
	// Keys are the keys of people's own accounts.
	Keys(ctx context.Context) ([]Key, error)
}

// Key opens an account of one user. The account of its addresses is ID in decimal.
type Key struct {
	ID        int64
	User      core.UserID // whose account it is
	Secret    string
	CreatedAt time.Time // messages from before are not acted on
}

// Tabler is an optional interface of a Config whose channel keeps tables of a library
// in the database. They are made as that library makes them today.
type Tabler interface {
	MakeTables(ctx context.Context, db *sql.DB, dialect string) error
}

// KeyChecker is an optional interface of a Config with people's own accounts.
type KeyChecker interface {
	// CheckKey tries a key with the service, and says what to do if it is not valid.
	CheckKey(ctx context.Context, h Host, key string) error
}

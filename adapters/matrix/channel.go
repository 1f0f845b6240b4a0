// Package matrix is the Matrix channel and, through bridges, the channel of every network that mautrix bridges, such as
// Signal. It syncs one account, whose rooms are direct chats with Matrix users, portal rooms in which the ghost of a
// Signal contact writes, or rooms that it does not answer.
//
// Policy. The sync token is stored only after Receiver.Receive returned nil for all events of the response; a repeat
// carries the same event ids. The homeserver's present state of a room decides its kind, and bridge state counts only
// if the network's configured bot sent it. Part.Key is the transaction id, so that sending again is harmless.
package matrix

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"go.mau.fi/util/exsync"
	"go.uber.org/zap"

	"github.com/everthread/everthread/configs/section"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
)

// Name is the channel's name. Bridged networks have names of their own.
const Name = "matrix"

// maxText is the longest text of one message in bytes. An event holds 65,536:
// the text, its HTML, and a third more for encryption.
const maxText = 16_000

var (
	_ core.Channel   = (*Channel)(nil)
	_ core.Carrier   = (*Channel)(nil)
	_ core.Describer = (*Channel)(nil)
	_ core.Typer     = (*Channel)(nil)
	_ core.Streamer  = (*Channel)(nil)
	_ core.Checker   = (*Channel)(nil)
	_ core.Fetcher   = (*Channel)(nil)
	_ core.Retractor = (*Channel)(nil)
	_ core.Accounter = (*Channel)(nil)
	_ core.Diagnoser = (*Channel)(nil)
)

// Options configure a Channel. Homeserver, UserID, AccessToken or Password, and the fields
// without a comment are required. Of RatePerChat, 0 is no limit.
type Options struct {
	Config
	Keeper core.Keeper

	CryptoDB  *sql.DB // holds the keys of encrypted rooms; nil: they cannot be read
	Dialect   string  // of CryptoDB: sqlite3 or postgres
	PickleKey []byte  // encrypts the keys in CryptoDB

	HTTP *http.Client
	Log  *zap.Logger
	Now  func() time.Time
	Rand io.Reader
}

// Bridge is one bridged network.
type Bridge struct {
	Network string // the channel's name and the bridge's protocol id, such as signal
	Bot     string // MXID of the bridge's bot
	Prefix  string // of commands in portal rooms
	Ghosts  string // prefix of the localparts of ghosts
}

// Channel is one Matrix account. Its methods may be called concurrently, and Run only by
// the process that holds the account's lease.
type Channel struct {
	channel.State
	opts    Options
	log     *zap.Logger
	now     func() time.Time
	bridges []*bridged

	session atomic.Pointer[session] // nil: not logged in
	entry   chan struct{}           // one login at a time
	rooms   *rooms
	memory  *memory
	writing *exsync.KeyedMutex[string]     // by room, so that messages keep their order
	typing  *exsync.Map[string, time.Time] // time of the last typing notice in a room

	// Used by Run only.
	failedJoins int       // in a row
	retried     time.Time // last attempt to decrypt unread events
}

var mxid = regexp.MustCompile(`^@[^:\s]+:[^\s]+$`)

// New checks opts and returns the channel. It does not use the network.
func New(opts Options) (*Channel, error) {
	var p section.Problems
	opts.Validate(&p, "")
	if opts.Keeper == nil {
		p.Add("there is no keeper for the sync token")
	}
	bridges, err := opts.bridges()
	if err = errors.Join(p.Err(), err); err != nil {
		return nil, fmt.Errorf("matrix: %w", err)
	}
	opts.Homeserver = strings.TrimRight(opts.Homeserver, "/")
	c := &Channel{opts: opts, now: opts.Now, memory: newMemory(), entry: make(chan struct{}, 1),
		writing: exsync.NewKeyedMutex[string](),
		typing:  exsync.NewMap[string, time.Time](),
		log:     opts.Log.With(zap.String("channel", Name), zap.String("account", opts.UserID))}
	for _, b := range bridges {
		c.bridges = append(c.bridges, &bridged{c, c, c, b})
	}
	c.rooms = newRooms(household{self: opts.UserID, bridges: bridges})
	return c, nil
}

func (c *Channel) Name() string { return Name }

// Account returns the configured MXID. Run checks that the token belongs to it.
func (c *Channel) Account() string { return c.opts.UserID }

// Carries returns a channel for each bridged network.
func (c *Channel) Carries() []core.Channel {
	out := make([]core.Channel, len(c.bridges))
	for i, b := range c.bridges {
		out[i] = b
	}
	return out
}

func (c *Channel) Capabilities() core.Capabilities {
	return core.Capabilities{MaxText: maxText, Push: true, Idempotent: true, OneProcess: true, Files: true, Voice: true,
		RatePerChat: c.opts.RatePerChat}
}

// Run logs in and passes the events of the account's rooms to r until ctx ends, and then
// returns nil. It returns core.ErrFenced if another process runs the account, and an
// error that says what to do if the server refuses the login.
func (c *Channel) Run(ctx context.Context, r core.Receiver) error {
	defer c.opts.HTTP.CloseIdleConnections()
	err := c.receive(ctx, r)
	if ctx.Err() != nil {
		return nil
	}
	c.Report(err)
	return err
}

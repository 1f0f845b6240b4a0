// Package channel defines how channels of other services are configured and opened, the
// process that hosts them, and code that they share.
package channel

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/configs/section"
	"github.com/everthread/everthread/core"
)

// Config is a channel's section of the configuration, and opens the channel. Optional interfaces describe further
// capabilities: Tabler, KeyChecker and Guided here, and those of core.Channel.
type Config interface {
	section.Section
	// On reports whether the channel is configured.
	On() bool
	// Open returns the channel, without using the network. It returns ErrNoStore if it needs
	// a store and h has none. The database that it opens belongs to h.
	Open(ctx context.Context, h Host) (core.Channel, error)
}

// Handler is an optional interface of a core.Channel that takes HTTP requests.
// Routes are patterns of http.ServeMux, such as "POST /webhooks/telegram".
type Handler interface {
	Routes(r core.Receiver) map[string]http.Handler
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
	Log       *zap.Logger                            // of the channel
	Now       func() time.Time
	Rand      io.Reader
	Groups    bool  // group chats are turned on
	Store     Store // nil: there is none yet
}

// Store stores a channel's state across restarts.
type Store interface {
	// Keeper returns the state of an account.
	Keeper(account string) core.Keeper
	// Secret returns a random secret of an account, generated at the first call.
	Secret(ctx context.Context, account, name string, bytes int) ([]byte, error)
	// Lease runs run while this process holds an account, and cancels its context when it loses the account. It waits
	// for run. It returns immediately if another process holds the account.
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

// Tabler is an optional interface of a Config whose channel has a library's tables.
type Tabler interface {
	// MakeTables creates the tables as the current version of the library does.
	MakeTables(ctx context.Context, db *sql.DB, dialect string) error
}

// KeyChecker is an optional interface of a Config with users' own accounts.
type KeyChecker interface {
	// CheckKey tests a key with the service. Its error says what to do.
	CheckKey(ctx context.Context, h Host, key string) error
}

// Guided is an optional interface of a Config that `everthread init` can set up. Answers are written into the Config.
type Guided interface {
	Guide(language string, h Host) Guide
}

// Guide describes the setup of a channel, in one language.
type Guide struct {
	Option string  // text among rarely used options; empty: it is offered to everybody
	Fields []Field // questions, in order
	Hint   string  // what to do without the guide, such as "for X get a token …"; may be empty
	// Try tests the answers. Its errors are *Fault or *Unreached; others say what to do in English.
	Try func(ctx context.Context) (Tried, error)
	// Scan makes a code that answers the field with Scan; nil: there is none. Its errors are those of Try.
	Scan func(ctx context.Context) (Scan, error)
}

// Scan is a code that a person scans with their phone. It is valid for a short time.
type Scan struct {
	Code, Help string
	// Done waits until the code was scanned, and sets the answers. Its errors are those of Try.
	Done func(ctx context.Context) error
}

// ScanAnswer is the answer to a Field with Scan that asks for a code.
const ScanAnswer = "scan"

// Field is a question, and the value that its answer sets.
type Field struct {
	ID          string // in a file of answers; unique among all channels
	Title, Help string
	Into        *string
	Secret      bool           // the input is not shown
	Empty       bool           // an empty answer is valid: the channel is not wanted
	Default     string         // of an empty answer
	Scan        bool           // it can be answered by Guide.Scan
	Form        *regexp.Regexp // of a valid answer; nil: any
	Malformed   string         // the message about an invalid one
}

// Tried is the result of a successful Try.
type Tried struct {
	Said    string   // message to the person
	Name    string   // of the assistant there; empty: it has none
	Comment string   // above the section in the configuration
	Keys    []string // of the section, alternating with their values; empty ones are not written
}

// Fault is an error of Try: a sentence for a person without its full stop, with the
// placeholders {where} and ({detail}).
type Fault struct {
	Text   string
	Where  string
	Detail string // the words of the service
	Err    error  // may be nil
}

// Error returns the text, filled with its place and detail.
func (f *Fault) Error() string { return Fill(f.Text, f.Where, f.Detail) }

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// Fill replaces the placeholders in a sentence of a Fault.
func Fill(text, where, detail string) string {
	if detail == "" {
		text = strings.ReplaceAll(text, " ({detail})", "")
	}
	return strings.NewReplacer("{where}", where, "{detail}", strings.TrimSuffix(detail, ".")).Replace(text)
}

// Unreached means that a service did not answer.
type Unreached struct {
	Where string // its host
	Err   error  // without secrets
}

// Error names the server and the cause.
func (u *Unreached) Error() string { return u.Where + " does not answer: " + u.Err.Error() }

// Unwrap returns the cause.
func (u *Unreached) Unwrap() error { return u.Err }

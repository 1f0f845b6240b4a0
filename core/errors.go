package core

import (
	"errors"
	"fmt"
	"time"
)

// Sentinels that callers branch on.
var (
	// ErrNotFound: the object does not exist, or belongs to another user.
	ErrNotFound = errors.New("not found")
	// ErrFenced: the lease was lost to another worker, and nothing was written.
	ErrFenced = errors.New("lease lost")
	// ErrChanged: the data has changed since the caller read it; read again.
	ErrChanged = errors.New("changed since it was read")
	// ErrExists: the object exists already.
	ErrExists = errors.New("exists already")
	// ErrRefused: the request is not allowed, or a code is wrong, used, expired or locked.
	ErrRefused = errors.New("refused")
	// ErrUnfinished: a restore of the store was not completed.
	ErrUnfinished = errors.New("a restore was not finished here; run the same `everthread restore` again")
	// ErrNoRoom: the user's files have reached media.bytes_per_user.
	ErrNoRoom = errors.New("there is no room for more files of this person; /forget removes old ones, and the operator can raise media.bytes_per_user")
	// ErrTooLarge: a file is larger than its service hands over, or than we take.
	ErrTooLarge = errors.New("the file is too large")
	// ErrThoughtOnly: the model only thought, twice, the second time without a limit.
	ErrThoughtOnly = errors.New("the model used up its answer with thinking; lower llm.reasoning_effort, raise or remove " +
		"llm.max_output_tokens, or use another model")
	// ErrEmpty: the model wrote nothing, twice.
	ErrEmpty = errors.New("the model gave an empty answer twice")
	// ErrNewerSchema: the store was written by a newer release.
	ErrNewerSchema = errors.New(
		"the store was written by a newer version of everthread; start that version or restore a backup")
	// ErrHalfDistributed: only some tables are distributed among the nodes.
	ErrHalfDistributed = errors.New(
		"the database is distributed in part; `everthread migrate up --distributed` finishes it")
	// ErrNotCitus: the database has no Citus extension.
	ErrNotCitus = errors.New("this database cannot be distributed: it has no extension citus; `CREATE EXTENSION citus` makes it where Citus is installed, and without it `everthread migrate up` is enough")
	// ErrNotCoordinator: tables cannot be distributed from this node.
	ErrNotCoordinator = errors.New("tables are distributed from the coordinator of Citus, which has to know itself: name it in database_url (or in database_listen_url behind a pooler), and call citus_set_coordinator_host there")
)

// Refusal explains to a person, in plain words, why a request was refused. It matches ErrRefused.
type Refusal string

// Refuse returns a formatted Refusal.
func Refuse(format string, args ...any) error { return Refusal(fmt.Sprintf(format, args...)) }

// Error returns the explanation.
func (r Refusal) Error() string { return string(r) }

// Is reports whether target is ErrRefused.
func (r Refusal) Is(target error) bool { return target == ErrRefused }

// Unread is a Refusal of words whose time the grammar does not read. A model may read them.
type Unread string

// Error returns the explanation.
func (u Unread) Error() string { return string(u) }

// Is reports whether target is ErrRefused.
func (u Unread) Is(target error) bool { return target == ErrRefused }

// Permanent is an error of Channel.Send that no retry can fix.
type Permanent struct{ Err error }

// Error returns the message.
func (e *Permanent) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Permanent) Unwrap() error { return e.Err }

// RetryAfter is an error of Channel.Send with which the service asks to wait.
type RetryAfter struct {
	After   time.Duration
	Account bool // the whole account must wait, not only this chat
	Err     error
}

// Error returns the message.
func (e *RetryAfter) Error() string { return fmt.Sprintf("wait %s: %v", e.After, e.Err) }

// Unwrap returns the cause.
func (e *RetryAfter) Unwrap() error { return e.Err }

// Unknown is an error of Channel.Send after which the part may have arrived.
type Unknown struct{ Err error }

// Error returns the message.
func (e *Unknown) Error() string { return "may have arrived: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Unknown) Unwrap() error { return e.Err }

// Unreachable is an error of Channel.Send: the person has blocked us, left or been
// deactivated. Deliveries to the address are parked until it writes again.
type Unreachable struct{ Err error }

// Error returns the message.
func (e *Unreachable) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Unreachable) Unwrap() error { return e.Err }

// ModelErrorKind says whether and when a failed model call is worth a retry.
type ModelErrorKind string

// Kinds of model errors.
const (
	ModelDown     ModelErrorKind = "down"     // network, 5xx, stalled, cut off: try again
	ModelBusy     ModelErrorKind = "busy"     // 429: try again after After
	ModelAuth     ModelErrorKind = "auth"     // 401, 403: the key is wrong
	ModelConfig   ModelErrorKind = "config"   // 404 and the like: model name or URL is wrong
	ModelTooLong  ModelErrorKind = "too_long" // the prompt is over the model's window
	ModelRejected ModelErrorKind = "rejected" // 400 and refusals: this request will never work
)

// ModelError is an error of Model.Stream.
type ModelError struct {
	Kind  ModelErrorKind
	After time.Duration // for ModelBusy: the wait that the provider asks for; 0: unspecified
	Err   error         // says what to do; holds no secret and no message text
}

// Error returns the message.
func (e *ModelError) Error() string { return fmt.Sprintf("model %s: %v", e.Kind, e.Err) }

// Unwrap returns the cause.
func (e *ModelError) Unwrap() error { return e.Err }

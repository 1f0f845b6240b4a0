package core

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"
)

// Share is the part of all users whose work a process does first: part N of Of equal
// parts. The zero value is all users. Any process may do the work of other users once it
// has been due for Grace.
type Share struct {
	N, Of int // with N below 0 the share is empty
	Grace time.Duration
}

// Mine reports whether a user is in the share.
func (s Share) Mine(user UserID) bool {
	return s.N >= 0 && (s.Of < 2 || int(int64(user)%int64(s.Of)) == s.N)
}

// NoShare returns the share of a process that claims no work.
func NoShare() Share { return Share{N: -1, Of: 1, Grace: 100 * 365 * 24 * time.Hour} }

// WakeTopic returns the wake-up topic of a queue with work for a user.
func WakeTopic(queue string, user UserID) string {
	return queue + "@" + strconv.FormatInt(int64(user), 10)
}

// ParseWakeTopic parses a WakeTopic.
func ParseWakeTopic(topic string) (queue string, user UserID, ok bool) {
	n := strings.LastIndexByte(topic, '@')
	if n < 0 {
		return "", 0, false
	}
	id, err := strconv.ParseInt(topic[n+1:], 10, 64)
	return topic[:n], UserID(id), err == nil
}

// Connections describes the connections to a database server that processes share.
type Connections struct {
	Limit     int  // the server's limit, without connections reserved for administrators
	Processes int  // live processes of the gateway
	Pooled    bool // connections go through a pooler
}

// ErrDeaf: notifications of one process do not reach the others.
var ErrDeaf = errors.New("notifications do not arrive")

// ErrOtherDatabase: database_url and database_listen_url lead to different databases.
var ErrOtherDatabase = errors.New("database_listen_url leads to another database than database_url; it must be the same one, without the pooler")

// ErrPooler: there is a pooler in front of the database that database_listen_url does not name.
var ErrPooler = errors.New("there is a pooler in front of the database: set database_listen_url to the address of the database itself")

// TopicMembers announces that a process joined or left.
const TopicMembers = "members"

// TopicShares announces, within one process, that its share has changed.
const TopicShares = "shares"

// Membership registers a process as alive.
type Membership struct {
	Worker string
	// Leaving: the process finishes its work and claims no more.
	Leaving    bool
	Now, Until time.Time
}

// MemberStore keeps the live processes.
type MemberStore interface {
	// Join creates or renews a membership and returns the sorted names of the processes
	// that are not leaving. It ends the job leases of expired members and returns their
	// number.
	Join(ctx context.Context, m Membership) (live []string, freed int, err error)
	// Leave ends a membership and the leases of the process's jobs.
	Leave(ctx context.Context, worker string) error
	// Tell passes a topic to the Wakes of this process.
	Tell(topic string)
}

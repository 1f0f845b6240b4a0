package core

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"
)

// Share is the part of all users whose work is a process's own: one of Of equal parts.
// The zero value is all of them. Work of other users is anybody's once it has been due
// for Grace.
type Share struct {
	N, Of int // with N below 0 the share is empty
	Grace time.Duration
}

// Mine reports whether the work of a user is in the share.
func (s Share) Mine(user UserID) bool {
	return s.N >= 0 && (s.Of < 2 || int(int64(user)%int64(s.Of)) == s.N)
}

// NoShare is the share of a process that takes nothing.
func NoShare() Share { return Share{N: -1, Of: 1, Grace: 100 * 365 * 24 * time.Hour} }

// WakeTopic is the wake-up topic of a queue with work for a user.
func WakeTopic(queue string, user UserID) string {
	return queue + "@" + strconv.FormatInt(int64(user), 10)
}

// ParseWakeTopic reads a WakeTopic.
func ParseWakeTopic(topic string) (queue string, user UserID, ok bool) {
	n := strings.LastIndexByte(topic, '@')
	if n < 0 {
		return "", 0, false
	}
	id, err := strconv.ParseInt(topic[n+1:], 10, 64)
	return topic[:n], UserID(id), err == nil
}

// Connections are those of a database server that processes share.
type Connections struct {
	Limit     int  // that it takes, without those kept for its administrators
	Processes int  // of the gateway that are alive
	Pooled    bool // a pooler stands between
}

// ErrDeaf: what one process tells the others they do not hear.
var ErrDeaf = errors.New("notifications do not arrive")

// ErrOtherDatabase: the two addresses of the configuration are not of one database.
var ErrOtherDatabase = errors.New("database_listen_url leads to another database than database_url; it must be the same one, without the pooler")

// TopicMembers says that a process came or went.
const TopicMembers = "members"

// TopicShares says, within a process only, that its share is another.
const TopicShares = "shares"

// Membership is that of a process among the live ones.
type Membership struct {
	Worker string
	// Leaving: it finishes what it began, and begins nothing.
	Leaving    bool
	Now, Until time.Time
}

// MemberStore keeps which processes are alive.
type MemberStore interface {
	// Join takes or renews a membership and returns the names of the processes that are
	// not leaving, sorted. Of those whose time is over it ends the leases of jobs, and
	// returns how many those were.
	Join(ctx context.Context, m Membership) (live []string, freed int, err error)
	// Leave ends a membership and the leases of the process's jobs.
	Leave(ctx context.Context, worker string) error
	// Tell passes a topic to the Wakes of this process.
	Tell(topic string)
}

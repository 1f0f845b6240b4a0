package core

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Queues of jobs. Deliveries and fetches have a queue per channel (QueueDeliver +
// channel), so that a process claims only what it can send.
const (
	QueueTurn      = "turn"
	QueueDeliver   = "deliver:"
	QueueFetch     = "fetch:"
	QueueSummarize = "summarize"
	QueueEmbed     = "embed"
	QueueCompress  = "compress"
	QueueDocument  = "document"
	QueueSpeak     = "speak"
	QueueRemove    = "remove" // the payload lists attachments below data_dir/media
)

// JobState is the state of a job. Done jobs are deleted.
type JobState string

// States of jobs. At most one job per key, the head, is ready or running; the others wait in order of arrival.
const (
	JobWaiting JobState = "waiting"
	JobReady   JobState = "ready" // may run at RunAt
	JobRunning JobState = "running"
	JobDead    JobState = "dead" // a dead letter; it no longer blocks its key
)

// Job is a unit of deferred work.
type Job struct {
	ID      JobID
	User    UserID
	Queue   string
	Key     string // first in first out per key, one running per key
	Ref     int64  // id of its subject: a turn, delivery, segment or message
	Payload json.RawMessage
	State   JobState
	RunAt   time.Time
	Lease   Lease
	Worker  string
	Error   string
	// Failures counts failed attempts; a postponement is not a failure.
	Failures int
	Since    time.Time // when it was enqueued
}

// JobRef identifies a due job.
type JobRef struct {
	User  UserID
	ID    JobID
	Queue string
	Key   string
	Ref   int64
}

// TurnTopic returns the wake-up topic for the flags of a running turn.
func TurnTopic(user UserID, turn TurnID) string {
	return fmt.Sprintf("flags:%d:%d", user, turn)
}

// SummaryKey is the key of a user's summary jobs, one after another. Their Ref is the segment.
const SummaryKey = "summaries"

// EmbedKey is the key of a user's embedding jobs. Their Ref is 0: one covers all pending texts.
const EmbedKey = "embed"

// CompressKey is the key of a user's compression jobs. Their Ref is the thread.
const CompressKey = "compress"

// SpeakKey is the key of the jobs that speak a user's answers, one after another.
const SpeakKey = "speak"

// AddressKey returns the key of the jobs that deliver to an address.
func AddressKey(a Address) string {
	return "to:" + a.Channel + ":" + url.QueryEscape(a.Account) + ":" + a.External
}

// ParseAddressKey parses an AddressKey.
func ParseAddressKey(key string) (Address, bool) {
	parts := strings.SplitN(key, ":", 4)
	if len(parts) != 4 || parts[0] != "to" {
		return Address{}, false
	}
	account, err := url.QueryUnescape(parts[2])
	return Address{Channel: parts[1], Account: account, External: parts[3]}, err == nil
}

// Share is the part of all users whose work a process does first: part N of Of equal parts. The zero value is all
// users. Any process may do the work of other users once it has been due for Grace.
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

// ImportKey is the key of the jobs that summarize a user's imported days, one after
// another, newest first. They do not delay those of SummaryKey. Their Ref is the segment.
const ImportKey = "imported days"

// TopicListening announces that this process has begun to receive notifications: earlier ones may have been missed.
const TopicListening = "listening"

// TopicWritten announces that the store was written, perhaps by a process that notifies nobody.
const TopicWritten = "written"

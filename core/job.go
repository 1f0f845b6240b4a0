package core

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
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
	QueuePush      = "push"
	QueueRemove    = "remove" // the payload lists attachments below data_dir/media
)

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

// PushKey returns the key of the jobs that notify the browser of a session, one after another. Their Ref is the message.
func PushKey(session int64) string { return "push:" + strconv.FormatInt(session, 10) }

// ParsePushKey returns the session of a PushKey.
func ParsePushKey(key string) (session int64, ok bool) {
	n, err := strconv.ParseInt(strings.TrimPrefix(key, "push:"), 10, 64)
	return n, err == nil
}

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

// ImportKey is the key of the jobs that summarize a user's imported days, one after
// another, newest first. They do not delay those of SummaryKey. Their Ref is the segment.
const ImportKey = "imported days"

// TopicListening announces that this process has begun to receive notifications: earlier ones may have been missed.
const TopicListening = "listening"

// TopicWritten announces that the store was written, perhaps by a process that notifies nobody.
const TopicWritten = "written"

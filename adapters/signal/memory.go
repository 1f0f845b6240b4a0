package signal

import (
	"sync"

	"github.com/everthread/everthread/core"
)

// memory is what a process remembers of the conversations. It improves quotes, read marks and repeats, and nothing else
// depends on it; versions are stored as well.
type memory struct {
	names *recent[string, string]       // of people, by ACI
	texts *recent[message, string]      // of messages, for quotes
	first *recent[message, int64]       // the original of a later version of a message
	ours  *recent[int64, bool]          // times of what we sent
	sent  *recent[string, core.Receipt] // by the key of the part

	mu     sync.Mutex
	self   string             // ACI of the account; "": unknown
	unread map[string][]int64 // stored messages without a read mark, by their author
}

// message identifies a message in the chat with a person.
type message struct {
	person    string
	timestamp int64
}

const (
	mostRecent = 2000
	mostUnread = 200 // of one person
	mostQuoted = 300 // bytes of a quoted text
)

func newMemory() *memory {
	return &memory{names: newRecent[string, string](), texts: newRecent[message, string](),
		first: newRecent[message, int64](), ours: newRecent[int64, bool](), sent: newRecent[string, core.Receipt](),
		unread: map[string][]int64{}}
}

// be sets the account's ACI.
func (m *memory) be(self string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.self = self
}

func (m *memory) me() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.self
}

// arrived notes a stored message of a person.
func (m *memory) arrived(person string, timestamp int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if all := m.unread[person]; len(all) < mostUnread {
		m.unread[person] = append(all, timestamp)
	}
}

// read returns the unread messages of a person, which are read from now on.
func (m *memory) read(person string) []int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.unread[person]
	delete(m.unread, person)
	return all
}

// recent is a map that keeps its newest mostRecent keys.
type recent[K comparable, V any] struct {
	mu     sync.Mutex
	values map[K]V
	keys   []K // in the order of their arrival
}

func newRecent[K comparable, V any]() *recent[K, V] { return &recent[K, V]{values: map[K]V{}} }

func (r *recent[K, V]) get(k K) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.values[k]
	return v, ok
}

func (r *recent[K, V]) put(k K, v V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.values[k]; !ok {
		r.keys = append(r.keys, k)
	}
	r.values[k] = v
	if len(r.keys) > mostRecent {
		delete(r.values, r.keys[0])
		r.keys = r.keys[1:]
	}
}

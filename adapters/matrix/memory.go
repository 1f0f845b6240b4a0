package matrix

import (
	"cmp"
	"slices"
	"sync"

	"github.com/everthread/everthread/core"
)

const (
	memorySize = 8192 // remembered events of all rooms
	traceSize  = 256  // remembered events of one room, for read marks
)

// memory holds the events that this process remembers, for the texts of quotes, the
// check of edits, and the sent messages of read marks.
type memory struct {
	mu     sync.Mutex
	events map[string]seen
	order  []string
	next   int
	traces map[string][]trace

	where  table[core.Address, string] // known rooms of people
	known  table[core.Address, bool]   // people to whom something was sent
	status table[string, bool]         // networks whose bridge sends status events, which make its notices redundant
	logins table[string, loginState]   // by network
	doubts table[string, string]       // of rooms; see Channel.doubt
}

// table is a map for concurrent use. Its zero value is empty.
type table[K comparable, V any] struct {
	mu sync.Mutex
	m  map[K]V
}

func (t *table[K, V]) get(k K) (V, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	v, ok := t.m[k]
	return v, ok
}

// at returns the value of k, or the zero value.
func (t *table[K, V]) at(k K) V {
	v, _ := t.get(k)
	return v
}

func (t *table[K, V]) set(k K, v V) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.m == nil {
		t.m = map[K]V{}
	}
	t.m[k] = v
}

// take removes a key and returns its value, or the zero value.
func (t *table[K, V]) take(k K) V {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := t.m[k]
	delete(t.m, k)
	return v
}

// trace is one event of a room in order. mine is the sent message that it is or edits.
type trace struct{ id, mine string }

func newMemory() *memory {
	return &memory{events: map[string]seen{}, traces: map[string][]trace{}}
}

func (m *memory) look(id string) (seen, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.events[id]
	return s, ok
}

// add remembers an event of a room, and keeps what is already known about it.
func (m *memory) add(room, id string, s seen) {
	m.mu.Lock()
	defer m.mu.Unlock()
	was, known := m.events[id]
	if known {
		s.Mine, s.Text = s.Mine || was.Mine, cmp.Or(s.Text, was.Text)
	} else {
		m.push(id)
	}
	m.events[id] = s
	if slices.ContainsFunc(m.traces[room], func(t trace) bool { return t.id == id }) {
		return
	}
	t := trace{id: id}
	switch {
	case s.Mine && s.Target != "":
		t.mine = s.Target
	case s.Mine:
		t.mine = id
	}
	list := append(m.traces[room], t)
	m.traces[room] = list[max(0, len(list)-traceSize):]
}

func (m *memory) push(id string) {
	if len(m.order) < memorySize {
		m.order = append(m.order, id)
		return
	}
	delete(m.events, m.order[m.next])
	m.order[m.next] = id
	m.next = (m.next + 1) % memorySize
}

// latest returns the last sent message in a room that is not after an event, or "". An
// event that is not remembered is taken for a sent message.
func (m *memory) latest(room, id string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.traces[room]
	i := slices.IndexFunc(list, func(t trace) bool { return t.id == id })
	if i < 0 {
		return id
	}
	for ; i >= 0; i-- {
		if list[i].mine != "" {
			return list[i].mine
		}
	}
	return ""
}

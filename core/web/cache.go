package web

import (
	"container/list"
	"sync"
)

// Bounds of what is kept in memory.
const (
	cachedPages  = 64
	cachedBytes  = 16 << 20 // of their texts
	cachedRobots = 256
)

// cache keeps the values that were used last. It is safe for concurrent use.
type cache[K comparable, V any] struct {
	mu         sync.Mutex
	most, room int // of values, and of their sizes together
	size       int
	order      *list.List // of *kept, the newest first
	at         map[K]*list.Element
}

type kept[K comparable, V any] struct {
	key   K
	value V
	size  int
}

func newCache[K comparable, V any](most, room int) *cache[K, V] {
	return &cache[K, V]{most: most, room: room, order: list.New(), at: map[K]*list.Element{}}
}

func (c *cache[K, V]) get(key K) (v V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.at[key]
	if e == nil {
		return v, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*kept[K, V]).value, true
}

func (c *cache[K, V]) put(key K, v V, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.at[key]; e != nil {
		c.drop(e)
	}
	c.at[key] = c.order.PushFront(&kept[K, V]{key, v, size})
	c.size += size
	for c.order.Len() > 1 && (c.order.Len() > c.most || c.size > c.room) {
		c.drop(c.order.Back())
	}
}

func (c *cache[K, V]) drop(e *list.Element) {
	k := c.order.Remove(e).(*kept[K, V])
	delete(c.at, k.key)
	c.size -= k.size
}

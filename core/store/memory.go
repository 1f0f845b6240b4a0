package store

import (
	"context"
	"time"

	"github.com/everthread/everthread/core"
)

// ItemQuery selects items.
type ItemQuery struct {
	User   core.UserID
	IDs    []core.ItemID // empty: all
	Theme  string        // slug; empty: all
	Types  []core.ItemType
	Since  time.Time
	Status core.ItemStatus // empty: any
	Skip   int             // without IDs: the number of newest items to leave out
	Limit  int
}

// MemoryStore reads memory. Effects write it.
type MemoryStore interface {
	// Themes lists themes by falling number of active items, then by slug.
	Themes(ctx context.Context, user core.UserID, limit int) ([]core.Theme, error)
	// Item returns an item, or core.ErrNotFound.
	Item(ctx context.Context, user core.UserID, id core.ItemID) (core.Item, error)
	// Items lists items, newest first.
	Items(ctx context.Context, q ItemQuery) ([]core.Item, error)
	// SameItem returns the active item of a digest, or core.ErrNotFound.
	SameItem(ctx context.Context, user core.UserID, digest string) (core.Item, error)
	// NewID reserves an id for an object that an effect will create.
	NewID(ctx context.Context, user core.UserID) (int64, error)
}

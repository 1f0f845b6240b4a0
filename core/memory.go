package core

import (
	"context"
	"time"
)

// ItemType is the kind of statement in a memory item.
type ItemType string

// Types of items.
const (
	ItemPreference  ItemType = "preference"
	ItemFact        ItemType = "fact"
	ItemInstruction ItemType = "instruction"
	ItemSummary     ItemType = "summary"
	ItemOther       ItemType = "other"
)

// ItemStatus says whether an item is still in use.
type ItemStatus string

// Statuses of items.
const (
	ItemActive   ItemStatus = "active"
	ItemArchived ItemStatus = "archived"
)

// DefaultTheme is the theme of items without one.
const DefaultTheme = "general"

// Item is a memory item: one durable statement about a user, not tied to a thread.
type Item struct {
	User          UserID
	ID            ItemID
	Theme         string // slug
	Type          ItemType
	Content       string
	Tags          []string
	SourceThread  ThreadID
	SourceMessage MessageID // 0: none
	Status        ItemStatus
	Embedding     EmbeddingState // empty: none was requested
	Tainted       bool           // derived from words that the person did not write
	Noted         bool           // added by the assistant, not by the person
	History       []Wording      // earlier wordings, oldest first
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

// Wording is an earlier text of a corrected item. Searches do not find it.
type Wording struct {
	Content string    `json:"content"`
	Until   time.Time `json:"until"`
}

// MaxWordings is how many earlier wordings an item keeps; older ones are dropped.
const MaxWordings = 20

// Theme groups items. Slug is unique per user.
type Theme struct {
	User        UserID
	Slug        string
	Name        string // for display
	Description string
	Active      int  // number of active items
	Tainted     bool // its name derives from words that the person did not write
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// ItemQuery selects items.
type ItemQuery struct {
	User   UserID
	IDs    []ItemID // empty: all
	Theme  string   // slug; empty: all
	Types  []ItemType
	Since  time.Time
	Status ItemStatus // empty: any
	Skip   int        // without IDs: the number of newest items to leave out
	Limit  int
}

// MemoryStore reads memory. Effects write it.
type MemoryStore interface {
	// Themes lists themes by falling number of active items, then by slug.
	Themes(ctx context.Context, user UserID, limit int) ([]Theme, error)
	// Item returns an item, or ErrNotFound.
	Item(ctx context.Context, user UserID, id ItemID) (Item, error)
	// Items lists items, newest first.
	Items(ctx context.Context, q ItemQuery) ([]Item, error)
	// SameItem returns the active item of a digest, or ErrNotFound.
	SameItem(ctx context.Context, user UserID, digest string) (Item, error)
	// NewID reserves an id for an object that an effect will create.
	NewID(ctx context.Context, user UserID) (int64, error)
}

// AddItem adds an item; with Item.ID 0 the store assigns an id. It does nothing if an active item with the same Digest
// exists. Embed, if not empty, is the configuration to embed the item with.
type AddItem struct {
	Item   Item
	Digest string // of the statement, computed by core/memory
	Theme  Theme  // of Item.Theme, if it does not exist yet
	Embed  string
	At     time.Time
}

// ArchiveItem archives an item. It fails with ErrNotFound if there is none.
type ArchiveItem struct {
	Item    ItemID
	At      time.Time
	Text    string // its text, for the person
	Tainted bool   // Undo can revert it
}

// RestoreItem makes an archived item active again. It fails with ErrNotFound if
// there is none, and with ErrExists if an active item states the same.
type RestoreItem struct {
	Item ItemID
	At   time.Time
}

// EditItem is a correction of an item by the person; the old wording joins its history. It fails with ErrNotFound if
// there is none, and with ErrExists if another active item states the same. Embed is as in AddItem.
type EditItem struct {
	Item    ItemID
	Content string
	Digest  string
	Embed   string
	At      time.Time
}

// DeleteItem removes an item for good, with its history and its traces in tool results.
// It fails with ErrNotFound if there is none.
type DeleteItem struct {
	Item ItemID
	At   time.Time
}

// OpenLoop opens a loop; with Loop.ID 0 the store assigns an id.
type OpenLoop struct {
	Loop Loop
	At   time.Time
}

// MentionLoop records that an open loop was mentioned again.
type MentionLoop struct {
	Loop LoopID
	At   time.Time
}

func (AddItem) effect()     {}
func (ArchiveItem) effect() {}
func (RestoreItem) effect() {}
func (EditItem) effect()    {}
func (DeleteItem) effect()  {}
func (OpenLoop) effect()    {}
func (MentionLoop) effect() {}

package core

import (
	"context"
	"time"
)

// ItemType says what a memory item states.
type ItemType string

// Types of items.
const (
	ItemPreference  ItemType = "preference"
	ItemFact        ItemType = "fact"
	ItemInstruction ItemType = "instruction"
	ItemSummary     ItemType = "summary"
	ItemOther       ItemType = "other"
)

// ItemStatus says whether an item still holds.
type ItemStatus string

// Statuses of items.
const (
	ItemActive   ItemStatus = "active"
	ItemArchived ItemStatus = "archived"
)

// DefaultTheme is the theme of items that name none.
const DefaultTheme = "general"

// Item is one durable statement about a user, global and not tied to a thread.
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
	Embedding     EmbeddingState // empty: none was asked for
	Tainted       bool           // made from words that the person did not write
	Noted         bool           // added by the assistant, not by the person
	History       []Wording      // earlier ones, oldest first
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

// Wording is an earlier statement of an item that was corrected. Nothing finds it.
type Wording struct {
	Content string    `json:"content"`
	Until   time.Time `json:"until"`
}

// MaxWordings is how many earlier wordings an item keeps: the newest ones.
const MaxWordings = 20

// Theme groups items. Slug is unique per user.
type Theme struct {
	User        UserID
	Slug        string
	Name        string // as it is shown
	Description string
	Active      int  // items
	Tainted     bool // its name was made from words that the person did not write
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// ItemQuery selects items.
type ItemQuery struct {
	User   UserID
	IDs    []ItemID // none: all
	Theme  string   // slug; empty: all
	Types  []ItemType
	Since  time.Time
	Status ItemStatus // empty: any
	Skip   int        // without IDs: leaves out so many of the newest
	Limit  int
}

// MemoryStore reads memory; it is written by effects.
type MemoryStore interface {
	// Themes lists themes with most active items first, then by slug.
	Themes(ctx context.Context, user UserID, limit int) ([]Theme, error)
	// Item returns an item, or ErrNotFound.
	Item(ctx context.Context, user UserID, id ItemID) (Item, error)
	// Items lists items, newest first.
	Items(ctx context.Context, q ItemQuery) ([]Item, error)
	// SameItem returns the active item of a digest, or ErrNotFound.
	SameItem(ctx context.Context, user UserID, digest string) (Item, error)
	// NewID reserves an id for something that an effect will make.
	NewID(ctx context.Context, user UserID) (int64, error)
}

// AddItem adds an item; Item.ID 0: the store gives one. If an active item of the
// same Digest exists, nothing happens. Embed, if not empty, is the embedding
// configuration that a vector is wanted of.
type AddItem struct {
	Item   Item
	Digest string // of the statement, as core/memory recognises it again
	Theme  Theme  // of Item.Theme, if it does not exist yet
	Embed  string
	At     time.Time
}

// ArchiveItem archives an item. It fails with ErrNotFound if there is none.
type ArchiveItem struct {
	Item    ItemID
	At      time.Time
	Text    string // what it says, for telling
	Tainted bool   // it can be taken back by Undo
}

// RestoreItem makes an archived item active again. It fails with ErrNotFound if
// there is none, and with ErrExists if an active one states the same.
type RestoreItem struct {
	Item ItemID
	At   time.Time
}

// EditItem corrects an item, by the person: the wording until now becomes its history.
// It fails with ErrNotFound if there is none, and with ErrExists if another active one
// states the same. Embed is that of AddItem.
type EditItem struct {
	Item    ItemID
	Content string
	Digest  string
	Embed   string
	At      time.Time
}

// DeleteItem removes an item for good, with its history and what tools showed of it. It
// fails with ErrNotFound if there is none.
type DeleteItem struct {
	Item ItemID
	At   time.Time
}

// OpenLoop opens a loop; Loop.ID 0: the store gives one.
type OpenLoop struct {
	Loop Loop
	At   time.Time
}

// MentionLoop records that an open loop was spoken of again.
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

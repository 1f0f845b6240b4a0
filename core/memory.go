package core

import (
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

package effect

import (
	"time"

	"github.com/everthread/everthread/core"
)

// AddItem adds an item; with Item.ID 0 the store assigns an id. It does nothing if an active item with the same Digest
// exists. Embed, if not empty, is the configuration to embed the item with.
type AddItem struct {
	Item   core.Item
	Digest string     // of the statement, computed by core/memory/items
	Theme  core.Theme // of Item.Theme, if it does not exist yet
	Embed  string
	At     time.Time
}

// ArchiveItem archives an item. It fails with core.ErrNotFound if there is none.
type ArchiveItem struct {
	Item    core.ItemID
	At      time.Time
	Text    string // its text, for the person
	Tainted bool   // Undo can revert it
}

// RestoreItem makes an archived item active again. It fails with core.ErrNotFound if
// there is none, and with core.ErrExists if an active item states the same.
type RestoreItem struct {
	Item core.ItemID
	At   time.Time
}

// EditItem is a correction of an item by the person; the old wording joins its history. It fails with core.ErrNotFound if
// there is none, and with core.ErrExists if another active item states the same. Embed is as in AddItem.
type EditItem struct {
	Item    core.ItemID
	Content string
	Digest  string
	Embed   string
	At      time.Time
}

// DeleteItem removes an item for good, with its history and its traces in tool results.
// It fails with core.ErrNotFound if there is none.
type DeleteItem struct {
	Item core.ItemID
	At   time.Time
}

// OpenLoop opens a loop; with Loop.ID 0 the store assigns an id.
type OpenLoop struct {
	Loop core.Loop
	At   time.Time
}

// MentionLoop records that an open loop was mentioned again.
type MentionLoop struct {
	Loop core.LoopID
	At   time.Time
}

func (AddItem) Effect()     {}
func (ArchiveItem) Effect() {}
func (RestoreItem) Effect() {}
func (EditItem) Effect()    {}
func (DeleteItem) Effect()  {}
func (OpenLoop) Effect()    {}
func (MentionLoop) Effect() {}

package web

import (
	"context"
	"time"

	"github.com/everthread/everthread/core"
)

// Store is what the page reads, and keeps of itself.
type Store interface {
	core.SessionStore
	core.TimelineStore
	core.ThreadReader
	Days
	Turns
	Messages(ctx context.Context, user core.UserID, ids []core.MessageID) ([]core.Message, error)
	Identities(ctx context.Context, user core.UserID) ([]core.Identity, error)
	Approvals(ctx context.Context, user core.UserID, before core.ApprovalID, limit int) ([]core.Approval, error)
	Referred(ctx context.Context, user core.UserID, identity core.IdentityID, native string) (core.MessageID, error)
}

// Days is what the page reads of days.
type Days interface {
	Days(ctx context.Context, user core.UserID, before string, limit int) ([]core.Segment, error)
	Day(ctx context.Context, user core.UserID, label string) (core.Segment, error)
	Segment(ctx context.Context, user core.UserID, id core.SegmentID) (core.Segment, error)
	DayMessages(ctx context.Context, user core.UserID, id core.SegmentID, after core.MessageID,
		limit int) ([]core.Message, error)
	Summaries(ctx context.Context, user core.UserID, id core.SegmentID, limit int) ([]core.Summary, error)
}

// Turns is what the page reads of turns.
type Turns interface {
	Turn(ctx context.Context, user core.UserID, id core.TurnID) (core.Turn, *core.Snapshot, error)
	Epoch(ctx context.Context, user core.UserID, id core.TurnID) (*core.Epoch, error)
}

// Gateway takes what people write and do.
type Gateway interface {
	core.Receiver
	// Act makes changes, all or none.
	Act(ctx context.Context, user core.UserID, effects ...core.Effect) (core.Noted, error)
}

// Files keeps what people send with their messages.
type Files interface {
	Keep(ctx context.Context, user core.UserID, f core.File) (core.Attachment, error)
}

// Doors finds or makes a user's identity on a channel of our own.
type Doors interface {
	Door(ctx context.Context, user core.UserID, channel string) (core.Identity, error)
}

// Searcher searches what was said (SPEC 8.2).
type Searcher interface {
	Search(ctx context.Context, q core.SearchQuery) (core.SearchResult, error)
}

// Memory keeps statements about a user.
type Memory interface {
	Themes(ctx context.Context, user core.UserID, limit int) ([]core.Theme, error)
	// Keep prepares what a person wants to keep. same is the item that says it
	// already, and add is then nil; what cannot be kept is core.ErrRefused.
	Keep(ctx context.Context, i core.Item, now time.Time) (add *core.AddItem, same core.Item, err error)
}

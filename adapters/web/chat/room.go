// Package chat is the room of the page where the conversation is: its days and threads,
// what is written and looked for there, and what is asked of a message.
package chat

import (
	"context"
	"embed"
	"io/fs"
	"slices"
	"time"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/live"
	"github.com/everthread/everthread/core/remind"
)

// Store is what the room reads.
type Store interface {
	core.TimelineStore
	core.ThreadReader
	Days(ctx context.Context, user core.UserID, before string, limit int) ([]core.Segment, error)
	Day(ctx context.Context, user core.UserID, label string) (core.Segment, error)
	Segment(ctx context.Context, user core.UserID, id core.SegmentID) (core.Segment, error)
	DayMessages(ctx context.Context, user core.UserID, id core.SegmentID, after core.MessageID,
		limit int) ([]core.Message, error)
	DayMessagesBefore(ctx context.Context, user core.UserID, id core.SegmentID, before core.MessageID,
		limit int) ([]core.Message, error)
	Summaries(ctx context.Context, user core.UserID, id core.SegmentID, limit int) ([]core.Summary, error)
	Turn(ctx context.Context, user core.UserID, id core.TurnID) (core.Turn, *core.Snapshot, error)
	Epoch(ctx context.Context, user core.UserID, id core.TurnID) (*core.Epoch, error)
	Messages(ctx context.Context, user core.UserID, ids []core.MessageID) ([]core.Message, error)
	Loops(ctx context.Context, user core.UserID, limit int) ([]core.Loop, error)
	Identities(ctx context.Context, user core.UserID) ([]core.Identity, error)
	Approvals(ctx context.Context, user core.UserID, before core.ApprovalID, limit int) ([]core.Approval, error)
	Referred(ctx context.Context, user core.UserID, identity core.IdentityID, native string) (core.MessageID, error)
}

// Gateway takes what people write and do.
type Gateway interface {
	core.Receiver
	web.Gateway
}

// Keeper keeps what people send with their messages.
type Keeper interface {
	Keep(ctx context.Context, user core.UserID, f core.File) (core.Attachment, error)
	// KeepVoice keeps a voice note, and has it written down where that is configured.
	KeepVoice(ctx context.Context, user core.UserID, f core.File, long time.Duration) (core.Attachment, error)
}

// Searcher searches what was said.
type Searcher interface {
	Search(ctx context.Context, q core.SearchQuery) (core.SearchResult, error)
	// InThreads searches the plain threads.
	InThreads(ctx context.Context, q core.SearchQuery) (core.ThreadHits, error)
	// Marks returns where words of a query stand in a text, as pairs of offsets.
	Marks(text, query string) [][2]int
}

// Memory keeps statements about a user.
type Memory interface {
	Themes(ctx context.Context, user core.UserID, limit int) ([]core.Theme, error)
	// Keep prepares what a person wants to keep. same is the item that says it
	// already, and add is then nil; what cannot be kept is core.ErrRefused.
	Keep(ctx context.Context, i core.Item, now time.Time) (add *core.AddItem, same core.Item, err error)
}

// Reminders are what people are to be told at a time.
type Reminders interface {
	// Reminders lists active ones, soonest first.
	Reminders(ctx context.Context, user core.UserID, limit int) ([]core.Reminder, error)
	// Snoozes are the times that one can be put off to.
	Snoozes(now time.Time, zone *time.Location) []remind.Snooze
	// Describe says a cron expression in words.
	Describe(expression, language string) string
}

// Tasks are what is to be done for people at a time.
type Tasks interface {
	// Tasks lists those that are to come or stand still, soonest first.
	Tasks(ctx context.Context, user core.UserID, limit int) ([]core.Task, error)
	// Runs lists the runs of a task, newest first.
	Runs(ctx context.Context, user core.UserID, id core.TaskID, limit int) ([]core.Run, error)
	// Resume prepares that one which stands still goes on; what cannot be is core.ErrRefused.
	Resume(ctx context.Context, use core.ToolUse, id core.TaskID) (core.Task, core.ResumeTask, error)
	// Describe says a cron expression in words.
	Describe(expression, language string) string
}

// Rebuilder makes the prompt that a snapshot describes.
type Rebuilder interface {
	Rebuild(ctx context.Context, user core.UserID, s *core.Snapshot) ([]core.ModelMessage, error)
}

// Options configure a Room. Those without a remark are required.
type Options struct {
	Store   Store
	People  web.Doors
	Hub     *live.Hub
	Gateway Gateway
	Keeper  Keeper
	Tokens  core.Tokenizer
	Search  Searcher // nil: there is no search
	Memory  Memory   // nil: nothing can be remembered
	// Reminders are listed beside a day; nil: there are none.
	Reminders Reminders
	// Tasks are listed beside a day, too; nil: there are none.
	Tasks     Tasks
	Rebuilder Rebuilder // nil: what a turn sent to the model is not shown
	MediaDir  string    // where attachments lie
	MediaMax  int64     // bytes of all files of one message; 0: 20 MiB
	LivePages int       // open at once, of one user; 0: 30
	Now       func() time.Time
}

// Room is the conversation. Its methods may be called concurrently.
type Room struct {
	Options
	markdown *markdown
}

var _ web.Room = (*Room)(nil)

// New returns the room.
func New(o Options) *Room {
	if o.MediaMax == 0 {
		o.MediaMax = 20 << 20
	}
	if o.LivePages == 0 {
		o.LivePages = 30
	}
	return &Room{o, newMarkdown()}
}

//go:embed templates static
var files embed.FS

// Name returns chat.
func (r *Room) Name() string { return "chat" }

// Words returns the words of the room.
func (r *Room) Words(lang string) any { return say(lang) }

// Files returns the templates, and what is served beside them.
func (r *Room) Files() fs.FS { return files }

// Routes lists the pages.
func (r *Room) Routes() []web.Route {
	return web.Needing(core.CanTalk, slices.Concat(r.conversationRoutes(), r.promiseRoutes(), r.threadRoutes(),
		r.messageRoutes(), r.actRoutes())...)
}

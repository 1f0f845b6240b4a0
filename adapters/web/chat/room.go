// Package chat is the conversation's part of the web page: days and threads, the composer,
// search, and the pages about a single message.
package chat

import (
	"cmp"
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

// Store reads the conversation.
type Store interface {
	core.TimelineStore
	core.ThreadReader
	core.DayStore
	core.TurnReader
	Loops(ctx context.Context, user core.UserID, limit int) ([]core.Loop, error)
	Identities(ctx context.Context, user core.UserID) ([]core.Identity, error)
	Approvals(ctx context.Context, user core.UserID, before core.ApprovalID, limit int) ([]core.Approval, error)
	Referred(ctx context.Context, user core.UserID, identity core.IdentityID, native string) (core.MessageID, error)
}

// Gateway receives messages and applies effects.
type Gateway interface {
	core.Receiver
	web.Gateway
}

// Keeper stores attachments.
type Keeper interface {
	Keep(ctx context.Context, user core.UserID, f core.File) (core.Attachment, error)
	// KeepVoice stores a voice note, and has it transcribed where that is configured.
	KeepVoice(ctx context.Context, user core.UserID, f core.File, long time.Duration) (core.Attachment, error)
}

// Searcher searches the conversation.
type Searcher interface {
	Search(ctx context.Context, q core.SearchQuery) (core.SearchResult, error)
	// InThreads searches the plain threads.
	InThreads(ctx context.Context, q core.SearchQuery) (core.ThreadHits, error)
	// Marks returns the offsets (start, end) of a query's words in a text.
	Marks(text, query string) [][2]int
}

// Memory keeps statements about a user.
type Memory interface {
	Themes(ctx context.Context, user core.UserID, limit int) ([]core.Theme, error)
	// Keep prepares the addition of an item. If an item already says the same, Keep
	// returns it as same, and add is nil. An item that cannot be kept is core.ErrRefused.
	Keep(ctx context.Context, i core.Item, now time.Time) (add *core.AddItem, same core.Item, err error)
}

// Reminders lists reminders.
type Reminders interface {
	// Reminders lists active ones, soonest first.
	Reminders(ctx context.Context, user core.UserID, limit int) ([]core.Reminder, error)
	// Snoozes returns the times to which a reminder can be postponed.
	Snoozes(now time.Time, zone *time.Location) []remind.Snooze
	// Describe puts a cron expression into words.
	Describe(expression, language string) string
}

// Tasks lists and resumes tasks.
type Tasks interface {
	// Tasks lists scheduled and paused tasks, soonest first.
	Tasks(ctx context.Context, user core.UserID, limit int) ([]core.Task, error)
	// Runs lists the runs of a task, newest first.
	Runs(ctx context.Context, user core.UserID, id core.TaskID, limit int) ([]core.Run, error)
	// Resume prepares the resumption of a paused task, or returns core.ErrRefused.
	Resume(ctx context.Context, use core.ToolUse, id core.TaskID) (core.Task, core.ResumeTask, error)
	// Describe puts a cron expression into words.
	Describe(expression, language string) string
}

// Rebuilder rebuilds the prompt that a snapshot describes.
type Rebuilder interface {
	Rebuild(ctx context.Context, user core.UserID, s *core.Snapshot) ([]core.ModelMessage, error)
}

// Options configure a Room. Fields without a comment are required.
type Options struct {
	Store   Store
	People  web.Doors
	Hub     *live.Hub
	Gateway Gateway
	Keeper  Keeper
	Tokens  core.Tokenizer
	Search  Searcher // nil: no search
	Memory  Memory   // nil: nothing can be remembered

	Reminders Reminders // listed beside a day; nil: none
	Tasks     Tasks     // listed beside a day; nil: none
	Rebuilder Rebuilder // nil: pages do not show prompts
	MediaDir  string    // folder of the attachments
	MediaMax  int64     // bytes of all files of one message; 0: 20 MiB
	LivePages int       // pages of one user open at the same time; 0: 30
	Now       func() time.Time
}

// Room serves the conversation's pages. Its methods may be called concurrently.
type Room struct {
	Options
	markdown *markdown
}

var _ web.Room = (*Room)(nil)

func New(o Options) *Room {
	o.MediaMax = cmp.Or(o.MediaMax, 20<<20)
	o.LivePages = cmp.Or(o.LivePages, 30)
	return &Room{o, newMarkdown()}
}

//go:embed templates static
var files embed.FS

func (r *Room) Name() string { return "chat" }

func (r *Room) Words(lang string) any { return say(lang) }

func (r *Room) Files() fs.FS { return files }

func (r *Room) Routes() []web.Route {
	return web.Needing(core.CanTalk, slices.Concat(r.conversationRoutes(), r.promiseRoutes(), r.threadRoutes(),
		r.messageRoutes(), r.actRoutes())...)
}

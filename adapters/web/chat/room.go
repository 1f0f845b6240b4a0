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
	"github.com/everthread/everthread/core/accounts/people"
	"github.com/everthread/everthread/core/chat/live"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/memory/items"
	"github.com/everthread/everthread/core/plan"
	"github.com/everthread/everthread/core/search"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text/i18n"
)

// Store reads the conversation.
type Store interface {
	store.TimelineStore
	store.ThreadReader
	store.DayStore
	store.TurnReader
	Loops(ctx context.Context, user core.UserID, limit int) ([]core.Loop, error)
	// Undoable returns the change that the effect Undo would revert, or core.ErrNotFound.
	Undoable(ctx context.Context, user core.UserID, id int64, now time.Time) (effect.Undoable, error)
	Identities(ctx context.Context, user core.UserID) ([]core.Identity, error)
	Approvals(ctx context.Context, user core.UserID, before core.ApprovalID, limit int) ([]effect.Approval, error)
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
	Search(ctx context.Context, q search.Query) (search.Result, error)
	// InThreads searches the plain threads.
	InThreads(ctx context.Context, q search.Query) (search.ThreadHits, error)
	// Marks returns the offsets (start, end) of a query's words in a text.
	Marks(text, query string) [][2]int
}

// Memory keeps statements about a user.
type Memory interface {
	Themes(ctx context.Context, user core.UserID, limit int) ([]core.Theme, error)
	Search(ctx context.Context, q items.Query) (items.Found, error)
	// Keep prepares the addition of an item. If an item already says the same, Keep
	// returns it as same, and add is nil. An item that cannot be kept is core.ErrRefused.
	Keep(ctx context.Context, i core.Item, now time.Time) (add *effect.AddItem, same core.Item, err error)
}

// Plans lists reminders and tasks.
type Plans interface {
	// OpenPlans lists the active and paused plans of a kind, soonest first.
	OpenPlans(ctx context.Context, user core.UserID, kind core.PlanKind, limit int) ([]core.Plan, error)
	// Runs lists the runs of a plan, newest first.
	Runs(ctx context.Context, user core.UserID, id core.PlanID, limit int) ([]core.Run, error)
	// Resume prepares the resumption of a paused task, or returns core.ErrRefused.
	Resume(ctx context.Context, use core.ToolUse, id core.PlanID) (core.Plan, effect.ResumePlan, error)
	// Snoozes returns the times to which a reminder can be postponed.
	Snoozes(now time.Time, zone *time.Location) []plan.Snooze
	// Describe puts a cron expression into words.
	Describe(expression, language string) string
}

// Groups knows the groups of a person.
type Groups interface {
	// GroupsOf lists the groups in which a person has written.
	GroupsOf(ctx context.Context, user core.UserID) ([]people.Attendance, error)
	// Attends reports whether a person who has written in a group is a member of it at present.
	Attends(ctx context.Context, a people.Attendance) (bool, error)
}

// Rebuilder rebuilds the prompt that a snapshot describes.
type Rebuilder interface {
	Rebuild(ctx context.Context, user core.UserID, s *store.Snapshot) ([]core.ModelMessage, error)
}

// Options configure a Room. Fields without a comment are required.
type Options struct {
	Store   Store
	People  web.Doors
	Hub     *live.Hub
	Gateway Gateway
	Keeper  Keeper
	Tokens  core.Tokenizer
	Search  Searcher
	Memory  Memory

	Plans     Plans // listed beside a day
	Rebuilder Rebuilder
	Groups    Groups
	// Models lists the models that a person may choose, the default first; nil: none is shown.
	Models    func(user core.UserID) []core.ModelChoice
	MediaDir  string // folder of the attachments
	MediaMax  int64  // bytes of all files of one message; 0: 20 MiB
	LivePages int    // pages of one user open at the same time; 0: 30
	Now       func() time.Time
}

// Room serves the conversation's pages. Its methods may be called concurrently.
type Room struct {
	Options
	markdown *markdown
	attended attended
}

var _ web.Room = (*Room)(nil)

func New(o Options) *Room {
	o.MediaMax = cmp.Or(o.MediaMax, 20<<20)
	o.LivePages = cmp.Or(o.LivePages, 30)
	return &Room{Options: o, markdown: newMarkdown(), attended: attended{found: map[[2]core.UserID]attendedGroup{}}}
}

//go:embed templates static
var files embed.FS

func (r *Room) Name() string { return "chat" }

func (r *Room) Words(lang string) any { return say(lang) }

func (r *Room) Files() fs.FS { return files }

func (r *Room) Routes() []web.Route {
	return web.Needing(core.CanTalk, slices.Concat(r.conversationRoutes(), r.promiseRoutes(), r.threadRoutes(),
		r.groupRoutes(), r.messageRoutes(), r.actRoutes())...)
}

// texts are the room's texts in one language. The comments list the values for the formatting verbs in order.
type texts struct {
	Continuous, Threads, More, Offline string

	// A day.
	Today, Yesterday, PickDate, DaySelector, PreviousDay, NextDay, Go, SearchWords, Regenerate, RegenerateFirst, History,
	SummaryNone,
	SummaryNoneYet, SummaryStale, SummaryHidden, SummaryError, SummaryErrorKept, SettledBy, Reopen, Reopened, LoopDue,
	SummaryUngrounded, SummaryComing, SummaryFinal,
	EarlierMessages, LaterMessages, Newest, Unread, EmptyToday, EmptyTodayHint, EmptyDay, EmptyDayHint, EmptyFirst,
	Calendar, NoDays, PreviousMonth, NextMonth string
	DaySummary, Timeline        string       // name of the day
	Version                     string       // number
	SummarySince, SummaryCovers i18n.Counted // number
	SummaryBy                   string       // model
	LastTalk                    string       // name of a day

	// Messages.
	You, Agent, SystemName, Edited, Deleted, Forwarded, InReply, InReplyMine, SummaryUpdated, SummaryFinalized,
	ExpandSummary, Post, Reminder, Writing, ToolArguments, ToolResult, Why, Remember, Forget, CopyLink, LinkCopied string
	Again    i18n.Counted      // number of attempts
	ToolUsed string            // tool
	Tools    map[string]string // by the tool's name; the value is the query
	NotRead  map[string]string // why a document was not read, by core.DocumentProblem

	// The composer.
	TypeMessage, Send, Sending, Stop, AddFiles, Remove, Failed, Paused, NotSent, NothingToSend, GoesToday,
	LongText, LongHint, ShowAll, ShowLess string
	TooManyFiles, TooLarge string // TooManyFiles: number; TooLarge: size
	FilesHint              string // size, number
	ModelChange            string

	// Promises beside a day.
	Promises, NextReminders, OpenLoops, NoPromises, MadeHere, Foreign, LoopIsDone, LoopDone, CancelReminder,
	ReminderCancelled, Settled, Tasks, TaskRuns, TaskStopped, TaskCancelled, ResumeTask, TaskSaid, Snooze, SnoozeHour,
	SnoozePast string
	OpenCount, TaskCount                  i18n.Counted // number
	NextReminder, TaskResumed, TaskDue    string       // day and time
	MorePromises                          string       // number
	TaskStates                            map[core.RunState]string
	TaskCauses                            map[core.RunCause]string
	SnoozeEvening, SnoozeMorning, Snoozed string // SnoozeEvening, SnoozeMorning: time; Snoozed: day and time

	// Voice.
	Record, Recording, Discard, RecordRefused, RecordNone, RecordFull, Listen, ListenStop string
	Act                                                                                   actWords

	// Pages about a message.
	WhyTitle, WhyLead, WhyNone, WhyStrategy, WhyParts, WhyPart, WhyOf, WhyMessages, WhyIncluded, WhyShortened, WhyCovered,
	WhyLeftOut, WhyLoaded, WhyHistory, WhyHistoryIs, WhyDays, WhySummaries, WhyLookedUp, WhySearched, WhyLoops, WhyModel, WhyReduced, WhyUsage,
	WhyCached, WhyTime, WhyPrompt, WhyPromptLead, WhyEpochOn, WhyEpochNew, WhyTools, WhyNothingLeft, WhyGap, WhyTimeName,
	WhyTrace,
	WhySummaryOf, WhyUnknown, WhyMissing, RememberTitle, RememberLead, ForgetTitle, ForgetLead, ForgetDo,
	Forgotten, EarlierTitle, EarlierLead, EarlierUntil string
	WhySteps                         i18n.Counted // number
	Epochs, Parts, Strategies, Roles map[string]string

	// Search.
	SearchTitle, SearchHint, SearchNone, SearchNoneHint, HitScore, HitCovered, HitWords, HitMeaning, HitDate,
	WhyFound, Yes, No, Open, Filters, FilterWho, FilterChannel, FilterKind, FilterFrom, FilterTo, AnyOne, FromMe,
	FromAssistant, AnyChannel, AnyKind, OnlyMessages, OnlySummaries, OnlyFiles, FilePage, SearchNarrowHint, SearchWide,
	OnlyDayOff, SearchInThreads, SearchThreadsMore string
	OnlyDay  string       // name of the day
	HitCount i18n.Counted // number
	HitsBest string       // number
	InMemory i18n.Counted // number

	// Threads.
	ThreadsLead, NewThread, ThreadTitle, ThreadsNone, ThreadsHint, ThreadNew, ThreadEmpty, ThreadEmptyHint, Untitled,
	Opened, BackToThreads, ThreadEdit, ThreadRename, ThreadDrop, ThreadDropLead, ThreadDropDo string

	// Groups.
	Groups, GroupsLead, GroupLeft string
	GroupLead, GroupUnknown       string // channel

	// Errors.
	ErrMany, ErrTitleLong, ErrNoTitle string

	Weekdays [7]string // from Monday, two letters each
}

type actWords struct {
	Copy, CopyCode, Copied, NotCopied, Reply, ReplyGone, Unquote, Edit, EditTitle, EditText, EditLead, EditDo, Again,
	Newer, Busy,
	Previous, Next, Undo, UndoTitle, UndoLead, UndoAnswer, UndoDo, Undone, Picture, OpenPicture, Original, Commands,
	CommandsLead, KeyMessages, KeyCopy, KeyReply, KeyEdit, KeyAgain, KeyAnswers, KeyStop, KeyLine string
	AnswerOf string // number, total
	EditLong string // size
	Stays    string // actions of other answers
}

var say = i18n.In[texts]("chat")

package command

import (
	"slices"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/words"
)

// typed holds the words that people type after a command, folded.
type typed struct {
	Yes, No, Cancel, Resume, Remove, Archive, List, Split, All, Days, Long, Newest []string
}

// means reports whether s is one of the words of any language.
func means(s string, of func(*typed) []string) bool {
	s = text.Fold(s)
	return slices.ContainsFunc(words.Languages(), func(l string) bool { return slices.Contains(of(&say(l).Typed), s) })
}

func yes(t *typed) []string { return t.Yes }
func no(t *typed) []string  { return t.No }

// taken holds the texts for undoing the creation, or the end, of an object.
type taken struct{ Made, Ended string } // text

// say returns the texts of commands in a language.
var say = words.In[texts]("command")

// texts are the answers of commands in one language. Comments list the arguments of their
// formats, in order.
type texts struct {
	Typed typed
	// By the command's name: its arguments, a line for menus, and details for /help.
	Args, Lines, More map[string]string

	Welcome, HelpTitle, HelpOwner, HelpMore string
	Unknown                                 string // word, nearest command
	OwnerOnly                               string
	ProgramMayNot                           string // command, capability
	Unavailable                             string

	DayTitle      string        // name of the day, number of messages
	Messages      words.Counted // number
	Since         words.Counted // number
	SummaryNone   string        // command
	SummaryFailed string        // command
	SummaryHidden string
	SummaryStale  string
	SummaryComing string // name of the day, command
	SummaryUntil  string
	NoMessages    string // name of the day
	NothingYet    string
	NearestDays   string
	BadDate       string // usage

	VoiceAuto, VoiceOn, VoiceOff, VoiceChange, VoiceUnknown, VoiceNone string
	VoiceFailed                                                        string // when
	VoiceFailedOwner                                                   string // when, why

	ZoneIs, ZoneSet                          string // zone, its time, its date
	ZoneNear, ZoneUnknown                    string
	LanguageIs, LanguageUnknown              string // how to choose the others
	LanguageSet                              string
	HomeSet, HomeAlready, HomeCannot         string
	SummariesAre, SummariesSet               string // where
	SummariesUnknown                         string
	PostsHome, PostsAll, PostsOff            string
	StrategyIs, StrategySet, StrategyUnknown string // what the model sees
	SeesDays, SeesLong, SeesNewest           string
	Paused, Resumed, ResumedWith             string

	LinkCode                             string // code, code
	WebLink                              string // URL, minutes
	Linked, LinkMerging                  string
	LinkOwn, LinkSame, LinkWrong         string
	LinkLocked                           string // minutes
	JoinAsk                              string // who made the code, twice
	JoinOwnerYou, JoinOwnerThem          string // the word to type
	SayYesNo, LinkDeclined, LinkWaits    string
	LinkAsked, LinkAccepted, LinkNotMine string // the other side
	LinkTold                             string // the other side, where it was accepted
	LinkJoins                            string // the other side, where it was said
	ApprovalNone                         string
	ApprovalType                         string // the word to type
	LinkedTitle, LinkedMore              string
	UnlinkWhich, UnlinkLast, SplitLast   string
	Unlinked, Splitting                  string // address
	ThreadsTitle, ContinuousName, Here   string
	ThreadsMore                          string // number
	NoThreads, ThreadUntitled            string
	ThreadOpened, ThreadUsed, InThread   string // title
	NoThread                             string // number
	InContinuous, BackContinuous         string
	Retrying, RetryRunning               string
	RetryNothing, RetryPaused            string
	Stopped, StopNothing, StopPending    string
	LoopsTitle, StaleTitle, NoLoops      string
	LoopsMore                            string // number
	NotYours                             string
	TakenNothing                         string // number
	TakenBack                            map[core.UndoKind]taken
	DoneWhich                            string
	NoLoop                               string // number
	LoopDone                             string // text
	SearchWhat, SearchWords              string
	SearchTitle, SearchNothing           string // words
	FromYou, FromMe, FromTool            string
	FromSummary, FromFile                string
	SaidBefore, SaidAfter                string
	MemoryTitle, MemoryEmpty             string
	MemoryOff, MemoryOn                  string
	MemoryFound, MemoryNothing           string        // words
	MemoryHidden                         words.Counted // number
	MemoryMore                           string        // number
	ArchiveWhich                         string
	Archived                             string // content
	NoItem                               string // number
	RememberWhat, RememberUnknown        string
	RememberRefused                      string
	Remembered, RememberKnown            string // content, number
	AlwaysTitle, AlwaysNone              string
	AlwaysWaiting, AlwaysWhich           string
	AlwaysDeclined                       string
	AlwaysAdded, AlwaysRemoved           string // text
	AlwaysKnown                          string // text, number
	AlwaysMissing, AlwaysMore            string // number
	TaskSet                              string // when, text, number
	TasksSet                             words.Counted
	TaskDeclined, TasksTitle, NoTasks    string
	TasksMore, TaskPaused, NoTask        string // number
	TaskLast                             string // day, time, result
	TaskRuns                             map[core.RunState]string
	TaskCauses                           map[core.RunCause]string
	TaskCancelWhich                      string
	TaskCancelled                        string // text
	TaskResumed                          string // when, text
	TaskStays                            string // number, number
	ReminderSet                          string // when, text, number
	RemindersTitle, NoReminders          string
	RemindersHidden                      words.Counted // number
	RemindersMore                        string        // number
	ReceiptLast                          string        // day, time, receipt
	ReceiptHere                          string
	Receipts                             map[core.DeliveryState]string
	CancelWhich                          string
	NoReminder                           string // number
	Cancelled                            string // text
	ExportLink                           string // url, minutes
	ExportHere                           string // user
	ExportNoPage                         string // user
	MineTitle, MineNone                  string
	UndoTitle, UndoNone                  string
	Undone, UndoNothing                  string // what it was; what was asked for
	AccountYes, AccountNo                string
	UsageFree                            string // used
	UsageOf                              string // used, budget, percent
	UsageReserved                        string // reserved
	UsageOfTasks                         string // tokens
	UsageOver                            string // time
	UsageOfAll                           string // used, budget, percent
	ForgetWhat, ForgetUnknown, Forgotten string
	ForgetNothing                        string // name of the day
	ForgetAsk                            string // name of the day, number of messages, label
	ForgottenDay                         string // name of the day, number of messages
	RequestsTitle, NoRequests            string
	RequestUntil                         string // channel, time
	RequestsMore                         string // code, code
	Approved, Denied                     string // name
	CodeWhich                            string // usage
	CodeUnknown                          string
}

package command

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/text/markup"
)

// line is a text that has the form of a command.
type line struct {
	sign byte   // / or !
	word string // lower case, without @BotName
	arg  string // the rest, trimmed
}

// parse parses a text that begins with / or ! and a letter.
func parse(text string) (line, bool) {
	text = strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", ""))
	if len(text) < 2 || text[0] != '/' && text[0] != '!' {
		return line{}, false
	}
	if first, _ := utf8.DecodeRuneInString(text[1:]); !unicode.IsLetter(first) {
		return line{}, false
	}
	l := line{sign: text[0], word: text[1:]}
	if n := strings.IndexFunc(l.word, unicode.IsSpace); n >= 0 {
		l.word, l.arg = l.word[:n], strings.TrimSpace(l.word[n:])
	}
	l.word, _, _ = strings.Cut(l.word, "@")
	l.word = strings.ToLower(l.word)
	return l, true
}

// talk reports whether a line that names no command is conversation, given its nearest command and the distance to it.
// A word near a command is a typing error. Otherwise /word is an attempt to find a command, while a word with more than
// letters (a path) or after ! (an exclamation) is conversation.
func (l line) talk(nearest string, d int) bool {
	if l.sign == '!' {
		return d > 1 || len(nearest) < 4
	}
	return d > near(nearest) && strings.ContainsFunc(l.word, func(r rune) bool { return !unicode.IsLetter(r) })
}

// near returns the distance within which a word means a command: two, but one for a short name.
func near(name string) int {
	if len(name) < 4 {
		return 1
	}
	return 2
}

// shown returns the word for quoting in code style.
func (l line) shown() string { return text.Shorten(strings.ReplaceAll(l.word, "`", "'"), 32) }

// distance returns the number of insertions, deletions, substitutions and transpositions
// of neighbours that turn a into b.
func distance(a, b string) int {
	x, y := []rune(text.Shorten(a, 64)), []rune(text.Shorten(b, 64))
	rows := make([][]int, len(x)+1)
	for i := range rows {
		rows[i] = make([]int, len(y)+1)
		rows[i][0] = i
	}
	for j := range y {
		rows[0][j+1] = j + 1
	}
	for i := range x {
		for j := range y {
			d := rows[i][j]
			if x[i] != y[j] {
				d = 1 + min(d, rows[i][j+1], rows[i+1][j])
			}
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				d = min(d, rows[i-1][j-1]+1)
			}
			rows[i+1][j+1] = d
		}
	}
	return rows[len(x)][len(y)]
}

// title returns a text as one line of at most 80 characters.
func title(s string) string { return text.Shorten(text.OneLine(s), 80) }

func bold(s string) string { return "**" + markup.Escape(title(s)) + "**" }

// typed holds the words that people type after a command, folded.
type typed struct {
	Yes, No, Cancel, Resume, Remove, Archive, List, All, Days, Long, Newest, Default, Always []string
}

// means reports whether s is one of the words of any language.
func means(s string, of func(*typed) []string) bool {
	s = text.Fold(s)
	return slices.ContainsFunc(i18n.Languages(), func(l string) bool { return slices.Contains(of(&say(l).Typed), s) })
}

func yes(t *typed) []string { return t.Yes }
func no(t *typed) []string  { return t.No }

// taken holds the texts for undoing the creation, or the end, of an object.
type taken struct{ Made, Ended string } // text

var say = i18n.In[texts]("command")

// texts are the answers of commands in one language. Comments list the arguments of their formats, in order.
type texts struct {
	Typed             typed
	Names             map[string][]string // by the command's name: its names in the language, folded
	Args, Lines, More map[string]string   // by the command's name: arguments, line for menus, details for /help

	Welcome, HelpTitle, HelpOwner, HelpMore, OwnerOnly, Unavailable string
	Unknown                                                         string // word, nearest command
	ProgramMayNot                                                   string // command, capability

	GroupWelcome, GroupNot, GroupAdmins, GroupForget string
	MissedWhere, MissedNothing, MissedTitle          string
	MissedAsk                                        string // the number of a message

	SummaryHidden, SummaryStale, SummaryUntil, NothingYet, NearestDays string

	DayTitle                   string       // name of the day, number of messages
	Messages, Since            i18n.Counted // number
	SummaryNone, SummaryFailed string       // command
	SummaryComing              string       // name of the day, command
	NoMessages                 string       // name of the day
	BadDate                    string       // usage

	VoiceAuto, VoiceOn, VoiceOff, VoiceChange, VoiceUnknown, VoiceNone string
	VoiceFailed                                                        string // when
	VoiceFailedOwner                                                   string // when, why

	ZoneNear, ZoneUnknown, LanguageSet, HomeSet, HomeAlready, HomeCannot, SummariesUnknown, PostsHome, PostsGroup, PostsAll,
	PostsOff, SeesDays, SeesLong, SeesNewest, Paused, Resumed, ResumedWith string
	ZoneIs, ZoneSet                            string // zone, its time, its date
	LanguageIs, LanguageUnknown                string // how to choose the others
	SummariesAre, SummariesSet                 string // where
	StrategyIs, StrategySet, StrategyUnknown   string // what the model sees
	ModelOnly, ModelIs, ModelSet, ModelUnknown string // %s: a model; of ModelUnknown: what was written
	ModelPrice                                 string // %g, %g, %s: of a million tokens read and written, and the currency

	Linked, LinkMerging, LinkOwn, LinkSame, LinkWrong, SayYesNo, LinkDeclined, LinkWaits, ApprovalNone        string
	LinkedTitle, LinkedMore, UnlinkWhich, UnlinkLast, CodeUnknown, RequestsTitle, NoRequests                  string
	ThreadsTitle, ContinuousName, Here, NoThreads, ThreadUntitled, InContinuous, BackContinuous               string
	Retrying, RetryRunning, RetryNothing, RetryPaused, Stopped, StopNothing, StopPending                      string
	ApprovalByName, ContinueBusy, ContinueNothing                                                             string
	LoopsTitle, StaleTitle, NoLoops, NotYours, DoneWhich, UndoTitle, UndoNone, AccountYes, AccountNo          string
	SearchWhat, SearchWords, FromYou, FromMe, FromTool, FromSummary, FromFile, SaidBefore, SaidAfter          string
	MineAllowed, MineRemoved, MineNotAllowed                                                                  string // the last two: a tool
	MineAllowedLine                                                                                           string // tool, day, tool
	MemoryTitle, MemoryEmpty, MemoryOff, MemoryOn, ArchiveWhich, MineTitle, MineGone, MineNone                string
	RememberWhat, RememberUnknown, RememberRefused, ForgetWhat, ForgetUnknown, Forgotten                      string
	AlwaysTitle, AlwaysNone, AlwaysWaiting, AlwaysWhich, AlwaysDeclined                                       string
	TaskDeclined, TasksTitle, NoTasks, TaskCancelWhich, RemindersTitle, NoReminders, ReceiptHere, CancelWhich string

	LinkCode, RequestsMore                                            string // code, code
	WebLink                                                           string // URL, minutes
	WebHere                                                           string
	ConnectTitle, ConnectNone, ConnectNoPage, ConnectNot, ConnectMore string
	ConnectSince                                                      string // date
	ConnectWhich, ConnectGone, ConnectGoneUnsure, ConnectWasNot       string // service
	ConnectLink                                                       string // service, url, minutes
	LinkLocked                                                        string // minutes
	JoinAsk                                                           string // who made the code, twice
	JoinOwnerYou, JoinOwnerThem, ApprovalType                         string // the word to type
	LinkAsked, LinkAccepted, LinkNotMine                              string // the other side
	LinkTold, LinkMerged                                              string // the other side, where it was accepted
	LinkJoins                                                         string // the other side, where it was said
	Unlinked                                                          string // address
	UnlinkedBrowsers                                                  string
	ThreadsMore, NoThread, LoopsMore, TakenNothing, NoLoop, MemoryMore, NoItem, AlwaysMissing, AlwaysMore, TasksMore,
	TaskPaused, NoTask, RemindersMore, NoReminder string // number
	ThreadOpened, ThreadUsed, InThread                             string // title
	TakenBack                                                      map[effect.UndoKind]taken
	LoopDone, AlwaysAdded, AlwaysRemoved, TaskCancelled, Cancelled string       // text
	SearchTitle, SearchNothing, MemoryFound, MemoryNothing         string       // words
	MemoryHidden, RemindersHidden                                  i18n.Counted // number
	Archived                                                       string       // content
	Remembered, RememberKnown                                      string       // content, number
	AlwaysKnown                                                    string       // text, number
	TaskSet, ReminderSet                                           string       // when, text, number
	TasksSet                                                       i18n.Counted
	TaskLast                                                       string // day, time, result
	TaskRuns                                                       map[core.RunState]string
	TaskCauses                                                     map[core.RunCause]string
	TaskResumed                                                    string // when, text
	TaskStays                                                      string // number, number
	ReceiptLast                                                    string // day, time, receipt
	Receipts                                                       map[core.DeliveryState]string
	ExportLink                                                     string // url, minutes
	ExportHere, ExportNoPage                                       string // user
	Undone, UndoNothing                                            string // what it was; what was asked for
	UsageFree                                                      string // used
	UsageOf, UsageOfAll                                            string // used, budget, percent
	UsageReserved                                                  string // reserved
	UsageOfTasks                                                   string // tokens
	UsageOver                                                      string // time
	UsageWhich                                                     string // usage
	UsageNothing                                                   string // month
	UsageMonth                                                     string // month, tokens, calls, cost
	UsageCalls                                                     i18n.Counted
	UsageCompare                                                   string // cost
	ForgetNothing                                                  string // name of the day
	ForgetAsk                                                      string // name of the day, number of messages, label
	ForgottenDay                                                   string // name of the day, number of messages
	RequestUntil                                                   string // channel, time
	Approved, Denied                                               string // name
	CodeWhich                                                      string // usage
}

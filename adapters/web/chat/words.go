package chat

import (
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/words"
)

// texts are the room's texts in one language. The comments list the values for the
// formatting verbs in order.
type texts struct {
	Continuous, Threads, More, Offline string

	// A day.
	Today, Yesterday, PickDate, DaySelector, PreviousDay, NextDay, Go, SearchWords, Regenerate, History, SummaryNone,
	SummaryNoneYet, SummaryStale, SummaryHidden, SummaryError, SummaryUngrounded, SummaryComing, SummaryFinal,
	EarlierMessages, LaterMessages, Newest, Unread, EmptyToday, EmptyTodayHint, EmptyDay, EmptyDayHint, EmptyFirst,
	Calendar, NoDays, PreviousMonth, NextMonth string
	DaySummary, Timeline        string        // name of the day
	Version                     string        // number
	SummarySince, SummaryCovers words.Counted // number
	SummaryBy                   string        // model
	LastTalk                    string        // name of a day

	// Messages.
	You, Agent, SystemName, Edited, Deleted, Forwarded, InReply, InReplyMine, SummaryUpdated, SummaryFinalized,
	ExpandSummary, Post, Reminder, Writing, ToolArguments, ToolResult, Why, Remember, Forget, CopyLink, LinkCopied string
	Again    words.Counted     // number of attempts
	ToolUsed string            // tool
	Tools    map[string]string // by the tool's name; the value is the query

	// The composer.
	TypeMessage, Send, Sending, Stop, AddFiles, Remove, Failed, Paused, TooManyFiles, TooLarge, NotSent, NothingToSend,
	GoesToday string
	FilesHint string // size, number

	// Promises beside a day.
	Promises, NextReminders, OpenLoops, NoPromises, MadeHere, Foreign, LoopIsDone, LoopDone, CancelReminder,
	ReminderCancelled, Settled, Tasks, TaskRuns, TaskStopped, TaskCancelled, ResumeTask, TaskSaid, Snooze, SnoozeHour,
	SnoozePast string
	OpenCount, TaskCount                  words.Counted // number
	NextReminder, TaskResumed, TaskDue    string        // day and time
	MorePromises                          string        // number
	TaskStates                            map[core.RunState]string
	TaskCauses                            map[core.RunCause]string
	SnoozeEvening, SnoozeMorning, Snoozed string // SnoozeEvening, SnoozeMorning: time; Snoozed: day and time

	// Voice.
	Record, Recording, Discard, RecordRefused, RecordNone, Listen, ListenStop string
	Act                                                                       actWords

	// Pages about a message.
	WhyTitle, WhyLead, WhyNone, WhyStrategy, WhyParts, WhyPart, WhyOf, WhyMessages, WhyIncluded, WhyShortened, WhyCovered,
	WhyLeftOut, WhyLoaded, WhyHistory, WhyHistoryIs, WhyDays, WhySummaries, WhyLoops, WhyModel, WhyUsage, WhyCached,
	WhyTime, WhyPrompt, WhyPromptLead, WhyEpochOn, WhyEpochNew, WhyTools, WhyNothingLeft, WhyGap, WhyTimeName,
	WhySummaryOf, WhyUnknown, WhyMissing, RememberTitle, RememberLead, NoMemory, ForgetTitle, ForgetLead, ForgetDo,
	Forgotten, EarlierTitle, EarlierLead, EarlierUntil string
	WhySteps                         words.Counted // number
	Epochs, Parts, Strategies, Roles map[string]string

	// Search.
	SearchTitle, SearchHint, SearchNone, SearchNoneHint, SearchOff, HitScore, HitCovered, HitWords, HitMeaning, HitDate,
	WhyFound, Yes, No, Open, Filters, FilterWho, FilterChannel, FilterKind, FilterFrom, FilterTo, AnyOne, FromMe,
	FromAssistant, AnyChannel, AnyKind, OnlyMessages, OnlySummaries, OnlyFiles, FilePage, SearchNarrowHint, SearchWide,
	SearchInThreads, SearchThreadsMore string
	HitCount words.Counted // number
	HitsBest string        // number

	// Threads.
	ThreadsLead, NewThread, ThreadTitle, ThreadsNone, ThreadsHint, ThreadNew, ThreadEmpty, ThreadEmptyHint, Untitled,
	Opened, BackToThreads string

	// Errors.
	ErrMany, ErrTitleLong, ErrNoTitle string

	Weekdays [7]string // from Monday, two letters each
}

type actWords struct {
	Copy, CopyCode, Copied, NotCopied, Reply, ReplyGone, Unquote, Edit, EditTitle, EditLead, EditDo, Again, Newer, Busy,
	Previous, Next, Undo, UndoTitle, UndoLead, UndoAnswer, UndoDo, Undone, Picture, OpenPicture, Original, Commands,
	CommandsLead, KeyMessages, KeyCopy, KeyReply, KeyEdit, KeyAgain, KeyAnswers, KeyStop, KeySend string
	AnswerOf string // number, total
	Stays    string // actions of other answers
}

var say = words.In[texts]("chat")

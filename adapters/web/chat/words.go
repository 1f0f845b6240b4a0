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
	Today, Yesterday, PickDate, DaySelector, PreviousDay, NextDay  string
	Go, SearchWords                                                string
	DaySummary                                                     string // name of the day
	Regenerate, History, Version, SummaryNone, SummaryNoneYet      string // Version: number
	SummaryStale, SummaryHidden, SummaryError, SummaryUngrounded   string
	SummaryComing, SummaryFinal                                    string
	SummarySince                                                   words.Counted // number
	SummaryBy                                                      string        // model
	SummaryCovers                                                  words.Counted // number
	Timeline                                                       string        // name of the day
	EarlierMessages, LaterMessages, Newest, Unread                 string
	EmptyToday, EmptyTodayHint, EmptyDay, EmptyDayHint, EmptyFirst string
	LastTalk                                                       string // name of a day
	Calendar, NoDays, PreviousMonth, NextMonth                     string

	// Messages.
	You, Agent, SystemName, Edited, Deleted, Forwarded, InReply, InReplyMine string
	SummaryUpdated, SummaryFinalized, ExpandSummary, Post, Reminder          string
	Writing                                                                  string
	Again                                                                    words.Counted // number of attempts
	ToolUsed                                                                 string        // tool
	ToolArguments, ToolResult                                                string
	Tools                                                                    map[string]string // by the tool's name; the value is the query
	Why, Remember, Forget, CopyLink, LinkCopied                              string

	// The composer.
	TypeMessage, Send, Sending, Stop, AddFiles, Remove, FilesHint             string // FilesHint: size, number
	Failed, Paused, TooManyFiles, TooLarge, NotSent, NothingToSend, GoesToday string

	// Promises beside a day.
	Promises, NextReminders, OpenLoops, NoPromises, MadeHere, Foreign     string
	OpenCount, TaskCount                                                  words.Counted // number
	NextReminder                                                          string        // day and time
	MorePromises                                                          string        // number
	LoopIsDone, LoopDone, CancelReminder, ReminderCancelled, Settled      string
	Tasks, TaskRuns, TaskStopped, TaskCancelled, ResumeTask               string
	TaskResumed                                                           string // day and time
	TaskStates                                                            map[core.RunState]string
	TaskCauses                                                            map[core.RunCause]string
	TaskDue                                                               string // day and time
	TaskSaid                                                              string
	Snooze, SnoozeHour, SnoozeEvening, SnoozeMorning, Snoozed, SnoozePast string // SnoozeEvening, SnoozeMorning: time; Snoozed: day and time

	// Voice.
	Record, Recording, Discard, RecordRefused, RecordNone, Listen, ListenStop string
	Act                                                                       actWords

	// Pages about a message.
	WhyTitle, WhyLead, WhyNone, WhyStrategy, WhyParts, WhyPart                                        string
	WhyOf, WhyMessages, WhyIncluded, WhyShortened, WhyCovered, WhyLeftOut, WhyLoaded                  string
	WhyHistory, WhyHistoryIs, WhyDays, WhySummaries, WhyLoops, WhyModel, WhyUsage, WhyCached, WhyTime string
	WhyPrompt, WhyPromptLead, WhyEpochOn, WhyEpochNew, WhyTools, WhyNothingLeft                       string
	WhyGap, WhyTimeName, WhySummaryOf, WhyUnknown, WhyMissing                                         string
	WhySteps                                                                                          words.Counted // number
	Epochs, Parts, Strategies, Roles                                                                  map[string]string
	RememberTitle, RememberLead, NoMemory                                                             string
	ForgetTitle, ForgetLead, ForgetDo, Forgotten                                                      string
	EarlierTitle, EarlierLead, EarlierUntil                                                           string

	// Search.
	SearchTitle, SearchHint, SearchNone, SearchNoneHint, SearchOff                 string
	HitScore, HitCovered, HitWords, HitMeaning, HitDate, WhyFound, Yes, No         string
	HitCount                                                                       words.Counted // number
	HitsBest                                                                       string        // number
	Open, Filters, FilterWho, FilterChannel, FilterKind, FilterFrom                string
	FilterTo, AnyOne, FromMe, FromAssistant, AnyChannel, AnyKind                   string
	OnlyMessages, OnlySummaries, OnlyFiles, FilePage, SearchNarrowHint, SearchWide string
	SearchInThreads, SearchThreadsMore                                             string

	// Threads.
	ThreadsLead, NewThread, ThreadTitle, ThreadsNone, ThreadsHint, ThreadNew string
	ThreadEmpty, ThreadEmptyHint, Untitled, Opened, BackToThreads            string

	// Errors.
	ErrMany, ErrTitleLong, ErrNoTitle string

	Weekdays [7]string // from Monday, two letters each
}

type actWords struct {
	Copy, CopyCode, Copied, NotCopied, Reply, ReplyGone, Unquote string
	Edit, EditTitle, EditLead, EditDo                            string
	Again, Newer, Busy                                           string
	AnswerOf                                                     string // number, total
	Previous, Next                                               string
	Stays                                                        string // actions of other answers
	Undo, UndoTitle, UndoLead, UndoAnswer, UndoDo, Undone        string
	Picture, OpenPicture, Original                               string
	Commands, CommandsLead                                       string
	KeyMessages, KeyCopy, KeyReply, KeyEdit, KeyAgain            string
	KeyAnswers, KeyStop, KeySend                                 string
}

var say = words.In[texts]("chat")

package web

import (
	"fmt"
	"time"

	"golang.org/x/text/language"

	"github.com/everthread/everthread/core/when"
	"github.com/everthread/everthread/core/words"
)

// texts are all that the page says in one language. Verbs are filled in the order
// in which they stand in the comments.
type texts struct {
	// The shell.
	Skip, Continuous, Threads, Search, SignOut, Theme, Light, Dark, System string
	Keys, KeysTitle, KeySearch, KeyDays, KeyGo, KeyWrite, KeyHelp, Close   string
	Cancel, More, Offline                                                  string

	// Signing in.
	SignInName, SignInOther                                        string // name; who is signed in, name
	SignInTitle, SignInAs, SignInButton, SignInOnce, SignInAgain   string
	SignedOutWhy, SignedOutChat, SignedOutLog, SignedOut, GoodByeA string

	// A day.
	Today, Yesterday, PickDate, DaySelector, PreviousDay, NextDay  string
	Scope, ScopeDay, ScopeAll, Go, SearchWords                     string
	DaySummary                                                     string // name of the day
	Regenerate, History, Version, SummaryNone, SummaryNoneYet      string // Version: number
	SummaryStale, SummaryHidden, SummaryError, SummaryUngrounded   string
	SummaryComing, SummaryFinal                                    string        // SummarySince: number
	SummarySince                                                   words.Counted // number
	SummaryBy                                                      string        // model
	SummaryCovers                                                  words.Counted // number
	Retry                                                          string
	Timeline                                                       string // name of the day
	Older                                                          string
	OlderCount                                                     words.Counted // number
	EarlierMessages, LaterMessages, Newest                         string
	EmptyToday, EmptyTodayHint, EmptyDay, EmptyDayHint, EmptyFirst string
	LastTalk                                                       string        // name of a day
	Messages                                                       words.Counted // number
	Attachments                                                    words.Counted // number
	Calendar, NoDays, Month, PreviousMonth, NextMonth              string

	// Messages.
	You, Agent, SystemName, Edited, Deleted, Forwarded, InReply, InReplyMine string
	SummaryUpdated, SummaryFinalized, ExpandSummary, Post, Reminder          string
	Notice, Writing                                                          string        // Again: number of tries
	Again                                                                    words.Counted // number
	Showing                                                                  string        // number of characters
	ToolUsed                                                                 string        // tool
	ToolCalls, ToolArguments, ToolResult, ToolFailed                         string
	Tools                                                                    map[string]string // by the tool's name; the verb is what was asked
	Channels                                                                 map[string]string
	States                                                                   map[string]string
	Actions, Why, Remember, Forget, Earlier, Permalink                       string

	// The composer.
	TypeMessage, Send, Sending, Stop, AddFiles, Remove, FilesHint string // FilesHint: size, number
	Failed, Paused, Waiting, TooManyFiles, TooLarge, NotSent      string
	DropHere, NewDay, NothingToSend, Uploading, GoesToday         string

	// What is asked of a message.
	WhyTitle, WhyLead, WhyNone, WhyStrategy, WhyParts, WhyPart, WhyTokens, WhyTotal                   string
	WhyOf, WhyMessages, WhyIncluded, WhyShortened, WhyCovered, WhyLeftOut, WhyLoaded                  string
	WhyHistory, WhyHistoryIs, WhyDays, WhySummaries, WhyLoops, WhyModel, WhyUsage, WhyCached, WhyTime string
	WhyPrompt, WhyPromptLead, WhyEpochOn, WhyEpochNew, WhyTools, WhyNothingLeft                       string
	WhyGap, WhyTimeName, WhySummaryOf, WhyUnknown, WhyMissing                                         string
	WhySteps                                                                                          words.Counted // number
	Epochs, Parts, Strategies, Roles                                                                  map[string]string
	RememberTitle, RememberLead, RememberText, RememberTheme, RememberNew                             string
	RememberType, RememberDo, Remembered, RememberKnown, RememberRefused, NoMemory                    string
	Types                                                                                             map[string]string
	ForgetTitle, ForgetLead, ForgetDo, Forgotten                                                      string
	EarlierTitle, EarlierLead, EarlierUntil                                                           string

	// Search.
	SearchTitle, SearchHint, SearchNone, SearchNoneHint, Results, SearchOff string
	SearchMode                                                              map[string]string
	HitKind, HitDay, HitScore, HitCovered, HitSnippet, Yes, No, Open        string
	Kinds                                                                   map[string]string

	// Threads.
	ThreadsLead, NewThread, ThreadTitle, ThreadOpen, ThreadsNone, ThreadsHint, ThreadNew string
	ThreadEmpty, ThreadEmptyHint, Untitled, Opened, BackToThreads                        string

	// Errors.
	ErrTitle, ErrHome, ErrNotFound, ErrBroken, ErrTooLarge, ErrNoRoom, ErrForm, ErrForeign, ErrTries string
	ErrCode, ErrMoving, ErrMany, ErrRefused, ErrFile, ErrTitleLong, ErrNoTitle                       string

	Memory   memoryWords
	Settings settingsWords
	Admin    adminWords

	Moment   string    // day, month, year, time
	Weekdays [7]string // from Monday, two letters each
	Units    [4]string
}

// say returns what the page says in a language.
var say = words.In[texts]("web")

// languageOf is the language of a page: what the person chose, what their browser
// asks for, or else what the owner chose.
func languageOf(chosen, house, accepted string) string {
	if chosen != "" {
		return words.Match(chosen)
	}
	tags, _, err := language.ParseAcceptLanguage(short(accepted, 200))
	if err == nil && len(tags) > 0 {
		var spoken []language.Tag
		for _, l := range words.Languages() {
			spoken = append(spoken, language.Make(l))
		}
		if _, i, sure := language.NewMatcher(spoken).Match(tags...); sure > language.No {
			return words.Languages()[i]
		}
	}
	return words.Match(house)
}

// hoursMinutes is how a time of day is written.
const hoursMinutes = "15:04"

// size writes a number of bytes.
func size(lang string, n int64) string {
	units := say(lang).Units
	x, i := float64(n), 0
	for x >= 1000 && i < len(units)-1 {
		x, i = x/1024, i+1
	}
	decimals := 1
	if i == 0 || x >= 10 {
		decimals = 0
	}
	return words.Decimal(lang, x, decimals) + "\u00a0" + units[i]
}

// moment writes a date and time in full.
func moment(lang string, t time.Time) string {
	return fmt.Sprintf(say(lang).Moment, when.DayOfMonth(t.Day(), lang), when.MonthName(t.Month(), lang), t.Year(),
		t.Format(hoursMinutes))
}

package web

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/language"

	"github.com/everthread/everthread/core/when"
)

// words are all that the page says in one language. Verbs are filled in the order
// in which they stand in the comments.
type words struct {
	code string

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
	SummaryComing, SummarySince, SummarySinceOne, SummaryFinal     string // SummarySince: number
	SummaryBy                                                      string // model
	SummaryCovers                                                  string // number
	Retry                                                          string
	Timeline                                                       string // name of the day
	Older                                                          string
	OlderCount, OlderCountOne                                      string // number
	EarlierMessages, LaterMessages, Newest                         string
	EmptyToday, EmptyTodayHint, EmptyDay, EmptyDayHint, EmptyFirst string
	LastTalk                                                       string // name of a day
	Messages, MessagesOne                                          string // number
	Calendar, NoDays, Month, PreviousMonth, NextMonth              string

	// Messages.
	You, Agent, SystemName, Edited, Deleted, Forwarded, InReply, InReplyMine string
	SummaryUpdated, SummaryFinalized, ExpandSummary, Post, Reminder          string
	Notice, Writing, Again                                                   string // Again: number of tries
	Showing                                                                  string // number of characters
	ToolUsed                                                                 string // tool
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
	WhyGap, WhyTimeName, WhySummaryOf, WhySteps, WhyStepsOne, WhyUnknown, WhyMissing                  string
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

	Weekdays [7]string // from Monday, two letters each
	Clock    string    // layout of a time of day
	Units    [4]string
}

// wordsOf returns the words of a language, fr or en.
func wordsOf(lang string) *words {
	w := english
	if lang == "fr" {
		w = french
	}
	return &w
}

// languageOf is the language of a page: what the person chose, what their browser
// asks for, or else what the owner chose.
func languageOf(chosen, house, accepted string) string {
	if chosen != "" {
		return spoken(chosen)
	}
	tags, _, err := language.ParseAcceptLanguage(short(accepted, 200))
	if err == nil && len(tags) > 0 {
		_, i, sure := language.NewMatcher([]language.Tag{language.English, language.French}).Match(tags...)
		if sure > language.No {
			return []string{"en", "fr"}[i]
		}
	}
	return spoken(house)
}

func spoken(tag string) string {
	if when.French(tag) {
		return "fr"
	}
	return "en"
}

// fill is a text with its verbs filled in.
func (w *words) fill(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// count is a number of things, in the words for one or for several.
func (w *words) count(n int, one, several string) string {
	if n == 1 || n == 0 && w.code == "fr" {
		return fmt.Sprintf(one, number(w.code, n))
	}
	return fmt.Sprintf(several, number(w.code, n))
}

// number writes a number with the language's marks for thousands.
func number(lang string, n int) string {
	mark := ","
	if lang == "fr" {
		mark = "\u202f"
	}
	s := strconv.Itoa(n)
	sign := ""
	if n < 0 {
		sign, s = "−", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + mark + s[i:]
	}
	return sign + s
}

// size writes a number of bytes.
func size(lang string, n int64) string {
	units := wordsOf(lang).Units
	x, i := float64(n), 0
	for x >= 1000 && i < len(units)-1 {
		x, i = x/1024, i+1
	}
	s := strconv.FormatFloat(x, 'f', 1, 64)
	if i == 0 || x >= 10 {
		s = strconv.FormatFloat(x, 'f', 0, 64)
	}
	if lang == "fr" {
		s = strings.Replace(s, ".", ",", 1)
	}
	return s + "\u00a0" + units[i]
}

// moment writes a date and time in full.
func (w *words) moment(t time.Time) string {
	month := when.MonthName(t.Month(), w.code)
	if w.code == "fr" {
		first := ""
		if t.Day() == 1 {
			first = "er"
		}
		return fmt.Sprintf("%d%s %s %d à %s", t.Day(), first, month, t.Year(), t.Format(w.Clock))
	}
	return fmt.Sprintf("%d %s %d, %s", t.Day(), month, t.Year(), t.Format(w.Clock))
}

package command

import (
	"strings"

	"github.com/everthread/everthread/core"
)

// about is what is said of a command: its arguments, one line for lists and
// menus, and more for those who ask.
type about struct{ args, line, more string }

// words are all that commands say in one language. Verbs are filled in the
// order in which they stand in the comments.
type words struct {
	about map[string]about // by the command's name

	welcome, helpTitle, helpOwner, helpMore string
	unknown                                 string // word, nearest command
	ownerOnly                               string
	programMayNot                           string // command, capability
	unavailable                             string

	dayTitle            string // name of the day, number of messages
	message, messages   string // number
	sinceOne, sinceMany string // number
	summaryNone         string // command
	summaryFailed       string // command
	summaryHidden       string
	summaryStale        string
	summaryComing       string // name of the day, command
	summaryUntil        string
	noMessages          string // name of the day
	nothingYet          string
	nearestDays         string
	badDate             string // usage

	zoneIs, zoneSet                          string // zone, its time, its date
	zoneNear, zoneUnknown                    string
	languageIs, languageSet, languageUnknown string
	homeSet, homeAlready, homeCannot         string
	summariesAre, summariesSet               string // where
	summariesUnknown                         string
	postsHome, postsAll, postsOff            string
	strategyIs, strategySet, strategyUnknown string // what the model sees
	seesDays, seesLong, seesNewest           string
	paused, resumed, resumedWith             string

	linkCode                             string // code, code
	webLink                              string // URL, minutes
	linked, linkMerging                  string
	linkOwn, linkSame, linkWrong         string
	linkLocked                           string // minutes
	joinAsk                              string // who made the code, twice
	joinOwnerYou, joinOwnerThem          string // the word to type
	sayYesNo, linkDeclined, linkWaits    string
	linkAsked, linkAccepted, linkNotMine string // the other side
	linkTold                             string // the other side, where it was accepted
	linkJoins                            string // the other side, where it was said
	approvalNone                         string
	approvalType                         string // the word to type
	linkedTitle, linkedMore              string
	unlinkWhich, unlinkLast, splitLast   string
	unlinked, splitting                  string // address
	threadsTitle, continuousName, here   string
	threadsMore                          string // number
	noThreads, threadUntitled            string
	threadOpened, threadUsed, inThread   string // title
	noThread                             string // number
	inContinuous, backContinuous         string
	retrying, retryRunning               string
	retryNothing, retryPaused            string
	stopped, stopNothing, stopPending    string
	loopsTitle, staleTitle, noLoops      string
	loopsMore                            string // number
	notYours                             string
	takenNothing                         string                            // number
	takenBack                            map[core.UndoKind]map[bool]string // text; whether it had been ended
	doneWhich                            string
	noLoop                               string // number
	loopDone                             string // text
	searchWhat, searchWords              string
	searchTitle, searchNothing           string // words
	fromYou, fromMe, fromTool            string
	fromSummary                          string
	saidBefore, saidAfter                string
	memoryTitle, memoryEmpty             string
	memoryOff, memoryOn                  string
	memoryFound, memoryNothing           string // words
	memoryHiddenOne, memoryHidden        string // number
	memoryMore                           string // number
	archiveWhich                         string
	archived                             string // content
	noItem                               string // number
	rememberWhat, rememberUnknown        string
	rememberRefused                      string
	remembered, rememberKnown            string // content, number
	reminderSet                          string // when, text, number
	remindersTitle, noReminders          string
	remindersHiddenOne, remindersHidden  string // number
	remindersMore                        string // number
	receiptLast                          string // day, time, receipt
	receiptHere                          string
	receipts                             map[core.DeliveryState]string
	cancelWhich                          string
	noReminder                           string // number
	cancelled                            string // text
	exportLink                           string // url, minutes
	exportHere                           string // user
	exportNoPage                         string // user
	mineTitle, mineNone                  string
	undoTitle, undoNone                  string
	undone, undoNothing                  string // what it was; what was asked for
	accountYes, accountNo                string
	usageFree                            string // used
	usageOf                              string // used, budget, percent
	usageReserved                        string // reserved
	usageOver                            string // time
	usageOfAll                           string // used, budget, percent
	forgetWhat, forgetUnknown, forgotten string
	forgetNothing                        string // name of the day
	forgetAsk                            string // name of the day, number of messages, label
	forgottenDay                         string // name of the day, number of messages
	requestsTitle, noRequests            string
	requestUntil                         string // channel, time
	requestsMore                         string // code, code
	approved, denied                     string // name
	codeWhich                            string // usage
	codeUnknown                          string
}

// wordsOf returns the words of a language, fr or en.
func wordsOf(language string) words {
	if language == "fr" {
		return french
	}
	return english
}

// unbreakable puts no-break spaces where French has them.
var unbreakable = strings.NewReplacer(" :", "\u00a0:", " ;", "\u00a0;", " !", "\u00a0!", " ?", "\u00a0?", "« ", "«\u00a0", " »", "\u00a0»")

// spaced is a text of the table as its language sets it.
func spaced(language, s string) string {
	if language == "fr" {
		return unbreakable.Replace(s)
	}
	return s
}

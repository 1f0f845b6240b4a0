package gateway

import (
	"github.com/everthread/everthread/core/words"
)

// say returns the gateway's texts in a language.
var say = words.In[texts]("gateway")

// texts are the messages of the gateway itself to people.
type texts struct {
	GaveUp                         string
	GaveUpOwner                    string // %s: what the model's server said
	GaveUpSetup                    string
	GaveUpRefused, GaveUpDropped   string
	MembersUnanswered              string // %s: what the model's server said
	Budget                         string // %s: when it goes on
	Group                          string
	Refused                        string
	VoiceLong                      string // %s: minutes and seconds
	Repeat                         string // what ends a part that may have arrived before
	AskCall                        string // %s: the tool
	AskTainted, AskYes, AskNowhere string
	AskElsewhere                   string // %s: where
	AskAlways                      string // %s: what is proposed
	AskAlwaysYes                   string
	AskTask                        string // %s: what is proposed, and when
	AskTaskYes                     string
	ToldTask                       string // %s: what, when; %d: its number
	AskByName                      string // %s: the code of the question, twice
	DecidedYes, DecidedNo          string // what a yes or no is stored as

	ToldTitle                               string
	ToldItem, ToldLoop, ToldReminder        string // %s: its text
	ToldArchived, ToldClosed, ToldCancelled string // %s: its text
	ToldUndo, ToldButton                    string // %d: its number
	ToldCut                                 string // %d: how much of a hundred
}

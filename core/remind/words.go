package remind

import "github.com/everthread/everthread/core/words"

// texts are the words of reminders in one language.
type texts struct {
	Due     string // what, when it was due
	At      string // a day, a time of it
	Repeats repeats
	Faults  faults
}

// repeats describe recurrences.
type repeats struct {
	Day, Weekday, Weekend string
	On                    string       // weekdays
	Month                 words.Ranked // the day of it
	Year                  string       // day, month
	Hour                  string
	Hours, Minutes        words.Counted // number
	Expression            string
}

// faults are the texts of refusals.
type faults struct {
	Nothing       string
	Left          string // what was not understood
	Past, PastDay string
	Far           string
	NoDate        string // the date
	Often         string // minutes
	Odd           string
	Cron          string // the expression
	Never         string
	NoText        string
	LongText      string // characters, most
	Full          string // most
	None          string // the number
	Both, Neither string
}

var say = words.In[texts]("remind")

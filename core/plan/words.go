package plan

import (
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text/i18n"
)

// texts are the words of reminders and of times in one language.
type texts struct {
	Foreign string // what
	Due     string // what, when it was due
	At      string // a day, a time of it
	Repeats repeats
	Faults  faults
}

// repeats describe recurrences.
type repeats struct {
	Day, Weekday, Weekend string
	On                    string      // weekdays
	Month                 i18n.Ranked // the day of it
	Year                  string      // day, month
	Hour                  string
	Hours, Minutes        i18n.Counted // number
	Expression            string
}

type faults struct {
	Nothing       string
	Left          string // what was not understood
	Past, PastDay string
	Far           string
	NoDate        string // the date
	NoTime        string // the time of day
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

var say = i18n.In[texts]("remind")

// taskTexts are the words of tasks in one language.
type taskTexts struct {
	Failed, Skipped string // number, when it was due
	Passed          i18n.Counted
	Next            string            // the next time
	Once            string            // of a task that does not recur
	Causes          map[string]string // with the remedy, by core.RunCause
	Server          string            // the error of the model's server
	Ask             string            // how often it failed, number
	Faults          taskFaults
}

type taskFaults struct {
	NoText    string
	LongText  string // characters, most
	Full      string // how many there are
	None      string // number
	NotPaused string // number
	Past      string
	Often     string
	Nested    string
	Tainted   string // number
}

var sayTask = i18n.In[taskTexts]("task")

// bounds are the refusals of a plan, whatever its kind.
type bounds struct{ NoText, LongText, Full, None string }

func faultsOf(kind core.PlanKind, language string) bounds {
	if kind == core.PlanTask {
		w := sayTask(language).Faults
		return bounds{w.NoText, w.LongText, w.Full, w.None}
	}
	w := say(language).Faults
	return bounds{w.NoText, w.LongText, w.Full, w.None}
}

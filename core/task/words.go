package task

import "github.com/everthread/everthread/core/words"

// texts are the words of tasks in one language.
type texts struct {
	Failed, Skipped string // number, when it was due
	Passed          words.Counted
	Next            string            // the next time
	Once            string            // of a task that does not recur
	Causes          map[string]string // with the remedy, by core.RunCause
	Server          string            // the error of the model's server
	Ask             string            // how often it failed, number
	Faults          faults
}

// faults are the texts of refusals.
type faults struct {
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

var say = words.In[texts]("task")

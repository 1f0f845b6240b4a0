package task

import "github.com/everthread/everthread/core/words"

// texts are the words of tasks in one language.
type texts struct {
	Failed, Skipped string // number, when it was due
	Passed          words.Counted
	Next            string            // when it comes next
	Once            string            // it does not come again
	Causes          map[string]string // and what to do, by core.RunCause
	Server          string            // what the model's server said
	Ask             string            // how often it failed, number
	Faults          faults
}

// faults say what is wrong.
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

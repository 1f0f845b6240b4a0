package words

import "github.com/everthread/everthread/core"

// Ending is what stands below an unfinished answer.
type Ending struct {
	Why    string // it ends there
	Hint   string // how to have it continued by command
	Button string // that has it continued
}

var endings = In[struct{ Length, Refused, Cut, Stopped, Hint, Button string }]("unfinished")

// Unfinished returns what is said of an answer that lacks its end.
func Unfinished(language string, f core.Finish) Ending {
	w := endings(language)
	why := map[core.Finish]string{core.FinishLength: w.Length, core.FinishRefused: w.Refused, core.FinishCut: w.Cut,
		core.FinishStopped: w.Stopped}[f]
	return Ending{why, w.Hint, w.Button}
}

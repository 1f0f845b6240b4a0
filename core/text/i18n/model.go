package i18n

import (
	"strings"

	"github.com/everthread/everthread/core"
)

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

// reductions complete a sentence about a model.
var reductions = In[struct{ Parameters, Roles, Images, Tools, Length string }]("reductions")

// Reduced returns what a model's server does not take; empty: it takes everything.
func Reduced(language string, list []core.Reduction) string {
	w := reductions(language)
	all := map[core.Reduction]string{core.ReducedParameters: w.Parameters, core.ReducedRoles: w.Roles,
		core.ReducedImages: w.Images, core.ReducedTools: w.Tools, core.ReducedLength: w.Length}
	var out []string
	for _, r := range list {
		out = append(out, all[r])
	}
	return strings.Join(out, "; ")
}

var sent = In[struct{ Picture string }]("sent")

// PictureSent returns what stands below an answer whose model sent a picture.
func PictureSent(language string) string { return sent(language).Picture }

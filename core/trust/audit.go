package trust

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/words"
)

// texts are the words of questions and of the audit.
type texts struct {
	Yes, No string // on buttons
	Done    map[core.AuditWhat]string
	Results map[core.AuditResult]string // those that are not obvious
	Vias    map[core.Via]string         // other than identities
}

var say = words.In[texts]("trust")

// AuditLine returns a row of the audit as a line: the action, its object and its result.
func AuditLine(language string, r core.AuditRow) string {
	out := cmp.Or(say(language).Done[r.What], string(r.What))
	if r.Tool != "" {
		out += " `" + strings.ReplaceAll(Line(r.Tool), "`", "'") + "`"
	}
	if r.Object != "" && len(r.IDs) > 0 && r.Object != "turn" {
		out += " #" + strconv.FormatInt(r.IDs[0], 10)
		if n := len(r.IDs) - 1; n > 0 {
			out += " +" + strconv.Itoa(n)
		}
	}
	if result := say(language).Results[r.Result]; result != "" {
		out += ": " + result
	}
	return out
}

// Through returns the actor of a row; identity is the name of the row's identity.
func Through(language string, r core.AuditRow, identity string) string {
	if r.Via == core.ViaIdentity {
		return cmp.Or(identity, "#"+strconv.FormatInt(r.ViaID, 10))
	}
	out := say(language).Vias[r.Via]
	if r.ViaID != 0 {
		out += " #" + strconv.FormatInt(r.ViaID, 10)
	}
	return out
}

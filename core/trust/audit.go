package trust

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/words"
)

// texts are the words of questions, and those of the audit.
type texts struct {
	Yes, No string // on buttons
	Done    map[core.AuditWhat]string
	Results map[core.AuditResult]string // where it is not plain what came of it
	Vias    map[core.Via]string         // where it is no identity
}

var say = words.In[texts]("trust")

// Told is a row of the audit as a line: what was done, on what, what came of it.
func Told(language string, r core.AuditRow) string {
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

// Through is through what it was done; identity is what that of the row is called.
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

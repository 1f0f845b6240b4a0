package office

import (
	"fmt"
	"maps"
	"net/url"
	"slices"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/trust"
)

// askedView says that the visitor is asked on another of their identities, and
// leads on from there.
type askedView struct {
	Lead   string
	Path   string
	Post   bool
	Fields []field
	Back   string
}

type field struct{ Name, Value string }

// sure reports whether the visitor has just said yes to a change on an identity
// that was trusted before, and effects have made it. If not, the visitor is asked
// there, and the page that answers says so.
func (r *Room) sure(v *web.Visit, c core.AccountSubject, back string, effects ...core.Effect) (bool, error) {
	at, sure, err := r.Sure(v.Context(), v.User, v.Session, c, effects...)
	if err != nil {
		return false, v.Refusal(fmt.Errorf("ask about an account change: %w", err))
	}
	if sure {
		return true, nil
	}
	w := say(v.Lang).Settings
	page := askedView{Lead: fmt.Sprintf(w.AskedLead, v.ChannelName(at.Address.Channel), trust.Line(at.Name)),
		Path: v.R.URL.Path, Post: v.R.Method == "POST", Back: back}
	if at.Address.Channel == web.Name {
		page.Lead = w.AskedHere
	}
	if page.Post {
		page.Fields = fields(v.R.PostForm)
	}
	return false, v.Page("asked", w.AskedTitle, page)
}

// fields are what a form held, to be sent once more.
func fields(form url.Values) []field {
	var out []field
	for _, name := range slices.Sorted(maps.Keys(form)) {
		for _, value := range form[name] {
			out = append(out, field{name, value})
		}
	}
	return out
}

package web

import (
	"fmt"
	"maps"
	"net/url"
	"slices"

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
func (v *visit) sure(c core.AccountSubject, back string, effects ...core.Effect) (bool, error) {
	at, sure, err := v.Sure(v.ctx(), v.user, v.session, c, effects...)
	if err != nil {
		return false, refusal(fmt.Errorf("ask about an account change: %w", err))
	}
	if sure {
		return true, nil
	}
	w := v.words.Settings
	page := askedView{Lead: fmt.Sprintf(w.AskedLead, v.channelName(at.Address.Channel), trust.Line(at.Name)),
		Path: v.r.URL.Path, Post: v.r.Method == "POST", Back: back}
	if at.Address.Channel == Name {
		page.Lead = w.AskedHere
	}
	if page.Post {
		page.Fields = fields(v.r.PostForm)
	}
	return false, v.page("asked", w.AskedTitle, page)
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

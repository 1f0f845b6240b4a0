package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/text/markup"
	"github.com/everthread/everthread/core/trust"
)

// askedView tells the visitor on which identity to confirm a change, and continues after that.
type askedView struct {
	Lead, Path string
	Post       bool
	Fields     []field
	Back       string
	Yes        string // code of the question, if it can be answered on this page
	Label      string // of the button that answers it
}

type field struct{ Name, Value string }

// sure reports whether the visitor has just confirmed a change on an identity that was trusted before, and effects have
// been applied. If not, it asks there and shows a page that says so. A visitor without any other identity is asked on
// this page, whose form brings the confirmation.
func (r *Room) sure(v *web.Visit, c effect.AccountSubject, back string, effects ...core.Effect) (bool, error) {
	if code := v.R.PostForm.Get("yes"); v.R.Method == http.MethodPost && code != "" {
		if err := r.agree(v, c, code); err != nil {
			return false, err
		}
	}
	at, sure, err := r.People.Sure(v.Context(), v.User, v.Session, c, effects...)
	if err != nil {
		return false, v.Refusal(fmt.Errorf("ask about an account change: %w", err))
	}
	if sure {
		return true, nil
	}
	w := say(v.Lang).Settings
	page := askedView{Lead: fmt.Sprintf(w.AskedLead, v.ChannelName(at.Address.Channel), trust.Line(at.Name)),
		Path: v.R.URL.Path, Post: v.R.Method == http.MethodPost, Back: back}
	if at.Address.Channel == web.Name {
		if page, err = r.askedHere(v, c, at, page); err != nil {
			return false, err
		}
	}
	if page.Post {
		page.Fields = fields(v.R.PostForm)
	}
	return false, v.Page("asked", w.AskedTitle, page)
}

// askedHere adds the question about a change to the page that asks it.
func (r *Room) askedHere(v *web.Visit, c effect.AccountSubject, at core.Identity, page askedView) (askedView, error) {
	q, err := r.question(v, c)
	if err != nil || q.Identity != at.ID {
		return page, err
	}
	ms, err := r.Store.Messages(v.Context(), v.User.ID, []core.MessageID{q.Message})
	if err != nil {
		return page, fmt.Errorf("read the question: %w", err)
	}
	for _, m := range ms {
		page.Lead = markup.Plain(m.Text)
	}
	page.Yes, page.Label, page.Post = q.Code, trust.YesNo(v.Lang, q.Code, false)[0].Label, true
	return page, nil
}

// recentQuestions is the number of newest questions that are searched.
const recentQuestions = 50

// question returns the open question in this session about a change, or the zero value.
func (r *Room) question(v *web.Visit, c effect.AccountSubject) (effect.Approval, error) {
	c.Session = v.Session.ID
	subject, err := json.Marshal(c)
	if err != nil {
		return effect.Approval{}, err
	}
	all, err := r.Store.Approvals(v.Context(), v.User.ID, 0, recentQuestions)
	if err != nil {
		return effect.Approval{}, fmt.Errorf("read questions: %w", err)
	}
	n := slices.IndexFunc(all, func(a effect.Approval) bool {
		return a.Kind == effect.ApproveAccount && a.Subject == string(subject) && a.Open(v.Now)
	})
	if n < 0 {
		return effect.Approval{}, nil
	}
	return all[n], nil
}

// agree confirms the open question about a change if it has this code and was asked on
// the page. A question on another channel can only be answered there.
func (r *Room) agree(v *web.Visit, c effect.AccountSubject, code string) error {
	q, err := r.question(v, c)
	if err != nil || q.Code != code {
		return err
	}
	here, err := r.People.Door(v.Context(), v.User.ID, web.Name)
	if err != nil || here.ID != q.Identity {
		return err
	}
	_, err = r.Gateway.Act(v.Context(), v.User.ID, effect.Decide{Approval: q.ID, Identity: here.ID, Yes: true, At: v.Now})
	if errors.Is(err, core.ErrRefused) {
		return nil // answered meanwhile
	}
	return err
}

// fields returns the fields of a form, to be posted again.
func fields(form url.Values) []field {
	var out []field
	for _, name := range slices.Sorted(maps.Keys(form)) {
		if name == "yes" { // an answer to this or an earlier question
			continue
		}
		for _, value := range form[name] {
			out = append(out, field{name, value})
		}
	}
	return out
}

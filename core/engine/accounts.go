package engine

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/people"
)

// Delete removes a user with their files, and returns what is left of them.
func (e *Engine) Delete(ctx context.Context, user core.UserID, tell func(people.Deletion)) (left []string, err error) {
	if err := e.Deleter.Delete(ctx, user, tell); err != nil {
		return nil, err
	}
	e.RefreshAccounts()
	return e.Deleter.Left(ctx, user, tell)
}

// RefreshAccounts has channels reload the accounts of users.
func (e *Engine) RefreshAccounts() {
	for _, ch := range e.Channels {
		if r, ok := ch.(core.AccountChecker); ok {
			r.Refresh()
		}
	}
}

// Traces lists where a text of a user is still stored, and reports whether it searched the
// database's files, too. The file of the embedded store holds the texts of all users, so
// it is searched only if the user is the only one.
func (e *Engine) Traces(ctx context.Context, user core.UserID, text string) (found []core.Trace, all bool, err error) {
	if e.Config.DatabaseURL == "" {
		users, err := e.Store.Users(ctx)
		if err != nil {
			return nil, false, err
		}
		all = len(users) == 1
	}
	if all {
		if err := e.Store.Scrub(ctx); err != nil {
			return nil, false, err
		}
	}
	found, err = Traces(ctx, e.Store, user, text)
	if !all {
		found = slices.DeleteFunc(found, func(t core.Trace) bool { return strings.HasPrefix(t.Where, "file ") })
	}
	return found, all, err
}

// Traces lists where a text of a user is still stored, verbatim or escaped for JSON.
func Traces(ctx context.Context, st core.Janitor, user core.UserID, text string) ([]core.Trace, error) {
	var out []core.Trace
	for _, form := range forms(text) {
		found, err := st.Traces(ctx, user, form)
		if err != nil {
			return nil, err
		}
		for _, t := range found {
			if !slices.Contains(out, t) {
				out = append(out, t)
			}
		}
	}
	return out, nil
}

// forms returns a text verbatim and escaped for JSON, each form once.
func forms(text string) []string {
	out := []string{text}
	for _, safe := range []bool{true, false} {
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(safe)
		if e.Encode(text) != nil {
			continue
		}
		quoted := strings.TrimSpace(b.String())
		if form := quoted[1 : len(quoted)-1]; !slices.Contains(out, form) {
			out = append(out, form)
		}
	}
	return out
}

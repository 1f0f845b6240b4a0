package engine

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/people"
)

// Delete removes a user with their files, and lists what is left of them.
func (e *Engine) Delete(ctx context.Context, user core.UserID, tell func(people.Deletion)) (left []string, err error) {
	if err := e.Deleter.Delete(ctx, user, tell); err != nil {
		return nil, err
	}
	e.RefreshAccounts() // theirs end
	return e.Deleter.Left(ctx, user, tell)
}

// RefreshAccounts has channels take up accounts of users that were added or removed.
func (e *Engine) RefreshAccounts() {
	for _, ch := range e.Channels {
		if r, ok := ch.(core.AccountChecker); ok {
			r.Refresh()
		}
	}
}

// Traces lists where a text still stands of a user, and reports whether it looked through
// the files of the database, too. The file of the embedded store holds what everybody
// said, so it is looked through only for who is alone on it.
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

// Traces lists where a text still stands of a user: as it is, and as it is written in
// JSON, which some of what is kept is.
func Traces(ctx context.Context, st core.Janitor, user core.UserID, text string) ([]core.Trace, error) {
	var out []core.Trace
	seen := map[core.Trace]bool{}
	for _, form := range forms(text) {
		found, err := st.Traces(ctx, user, form)
		if err != nil {
			return nil, err
		}
		for _, t := range found {
			if !seen[t] {
				seen[t], out = true, append(out, t)
			}
		}
	}
	return out, nil
}

// forms are the ways in which a text is written, each once.
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

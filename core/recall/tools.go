package recall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/everthread/everthread/core"
)

// Names returns the roles that names mean in a query of a user; nil: none.
type Names func(ctx context.Context, user core.UserID) map[string]core.Role

// UserNames returns the names of stored users; see NamesOf.
func UserNames(users interface {
	User(ctx context.Context, id core.UserID) (core.User, error)
}) Names {
	return func(ctx context.Context, user core.UserID) map[string]core.Role {
		u, err := users.User(ctx, user)
		if err != nil {
			return nil
		}
		return NamesOf(u)
	}
}

// NamesOf returns the names of a user: the whole name, and its first word.
func NamesOf(u core.User) map[string]core.Role {
	out := map[string]core.Role{}
	if words := strings.Fields(u.Name); len(words) > 0 {
		out[u.Name], out[words[0]] = core.RoleUser, core.RoleUser
	}
	return out
}

// Tools returns conversation_search and conversation_get.
// Their errors are sentences for the model.
func Tools(s *Searcher, names Names) []core.Tool {
	return []core.Tool{
		core.NewTool("conversation_search",
			"Search everything said with the user on earlier days, and files they sent (kind file, with page), by words and meaning. Name days and who spoke in the query.",
			`{"type":"object","properties":{"query":{"type":"string"},"day":{"type":"string","description":"YYYY-MM-DD"},`+
				`"recency_days":{"type":"integer"},"limit":{"type":"integer","description":"6, at most 20"},"min_score":{"type":"number","description":"0 to 1"}},"required":["query"]}`,
			searchTool{s, names}.use),
		core.NewTool("conversation_get",
			"Read a message by message_id, a day's summary by day_segment_id, or a day's messages from one id to another.",
			`{"type":"object","properties":{"message_id":{"type":"integer"},"day_segment_id":{"type":"integer"},`+
				`"from_message_id":{"type":"integer"},"to_message_id":{"type":"integer"}}}`, getTool{s}.use),
	}
}

type searchTool struct {
	searcher *Searcher
	names    Names
}

// searchInput holds the arguments of conversation_search.
type searchInput struct {
	Query    string   `json:"query"`
	Day      string   `json:"day"`
	Recency  wholeNum `json:"recency_days"`
	Limit    wholeNum `json:"limit"`
	MinScore float64  `json:"min_score"`
}

// use searches. It reads the arguments itself, for its own errors.
func (t searchTool) use(ctx context.Context, use core.ToolUse, _ core.NoArguments) (core.ToolResult, error) {
	var in searchInput
	if err := arguments(use.Arguments, &in); err != nil {
		return core.ToolResult{}, err
	}
	q := core.SearchQuery{
		User: use.User, Query: in.Query, Day: strings.TrimSpace(in.Day), Recency: int(in.Recency), Limit: int(in.Limit),
		MinScore: in.MinScore, Now: use.Now, Location: use.Location,
	}
	if t.names != nil {
		q.Names = t.names(ctx, use.User)
	}
	if len(use.Inputs) > 0 {
		q.Before = slices.Min(use.Inputs)
	}
	found, err := t.searcher.Search(ctx, q)
	if err != nil {
		return core.ToolResult{}, err
	}
	out := found.View(use.Location)
	return core.TaintedResult(out, slices.ContainsFunc(out.Results, func(h core.HitView) bool { return h.Foreign }))
}

// arguments reads the arguments of a tool call. Its errors are sentences for the model.
func arguments(raw json.RawMessage, into any) error {
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	err := json.Unmarshal(raw, into)
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Errorf("%s must be a %s, not a %s", kind.Field, plainType(kind.Type.String()), kind.Value)
	case errors.Is(err, errWhole):
		return errWhole
	case err != nil:
		return errors.New("the arguments are no JSON object of the expected form")
	}
	return nil
}

func plainType(s string) string {
	if s == "float64" {
		return "number"
	}
	return s
}

// wholeNum is a whole number, which models also write as 6.0 or "6".
type wholeNum int64

var errWhole = errors.New("limit, recency_days and ids must be whole numbers")

// UnmarshalJSON reads the number.
func (w *wholeNum) UnmarshalJSON(b []byte) error {
	s := strings.TrimPrefix(strings.Trim(string(b), `"`), "#")
	if s == "null" || s == "" {
		return nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return errWhole
	}
	*w = wholeNum(f)
	return nil
}

package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// Lookup is what a turn looked up: a search, or a page that it read.
type Lookup struct {
	Query    string `json:"query,omitempty"`    // of a search
	Provider string `json:"provider,omitempty"` // of a search
	URL      string `json:"url,omitempty"`      // of a page
	Title    string `json:"title,omitempty"`    // of a page; may be empty
}

// Transcript reads the messages of turns.
type Transcript interface {
	Timeline(ctx context.Context, q store.TimelineQuery) ([]core.Message, bool, error)
}

// mostSteps bounds the messages of a turn that are looked through.
const mostSteps = 200

// Lookups returns what a turn looked up, in order, as far as it was not redacted.
func Lookups(ctx context.Context, s Transcript, t core.Turn) ([]Lookup, error) {
	if len(t.Inputs) == 0 {
		return nil, nil
	}
	ms, _, err := s.Timeline(ctx, store.TimelineQuery{User: t.User, Thread: t.Thread, After: t.Inputs[len(t.Inputs)-1],
		Answers: true, Limit: mostSteps})
	if errors.Is(err, core.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what a turn looked up: %w", err)
	}
	var out []Lookup
	for _, m := range ms {
		if m.Turn == t.ID && m.Role == core.RoleTool {
			out = append(out, lookups(m)...)
		}
	}
	return out, nil
}

// lookups returns those of one result of a tool.
func lookups(m core.Message) []Lookup {
	if m.ToolName == helper {
		return helped(m.Text)
	}
	var l Lookup
	if json.Unmarshal([]byte(m.Text), &l) != nil {
		return nil
	}
	switch {
	case m.ToolName == SearchTool && l.Query != "":
		return []Lookup{{Query: l.Query, Provider: l.Provider}}
	case m.ToolName == ReadTool && l.URL != "":
		return []Lookup{{URL: l.URL, Title: l.Title}}
	}
	return nil
}

// traced returns the lookup of a result as JSON; empty: there is none.
func traced(m core.Message) string {
	for _, l := range lookups(m) {
		return core.DataLine(l)
	}
	return ""
}

// helper is the tool whose results end with a line about what it looked up.
const helper = "delegate"

// helped reads that line.
func helped(result string) []Lookup {
	var line struct {
		LookedUp []Lookup `json:"looked_up"`
	}
	last := result[strings.LastIndexByte(result, '\n')+1:]
	if json.Unmarshal([]byte(last), &line) != nil {
		return nil
	}
	return line.LookedUp
}

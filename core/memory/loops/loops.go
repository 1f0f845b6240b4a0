// Package loops provides the model's tools that open and close open loops, and the rule that recognises a loop when it
// is named again. The prompt shows open loops, so no tool lists them.
package loops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/text/day"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/text/times"
)

// Store is the part of a store that the tools use.
type Store interface {
	// Loops lists open loops, newest mention first.
	Loops(ctx context.Context, user core.UserID, limit int) ([]core.Loop, error)
	// NewID reserves an id for an object of an effect.
	NewID(ctx context.Context, user core.UserID) (int64, error)
}

const (
	maxText = 300  // characters of a loop
	looked  = 1000 // open loops that are searched
)

// Loops provides the tools of open loops. It is safe for concurrent use.
type Loops struct {
	Store    Store
	Analyzer core.Analyzer
	Calendar day.Calendar
}

// Tools returns loops_open and loops_close.
func (t *Loops) Tools() []core.Tool {
	return []core.Tool{
		core.NewTool("loops_open",
			"Note an unresolved topic to come back to.",
			`{"type":"object","properties":{"text":{"type":"string","description":"one short line"}},"required":["text"]}`, t.openTool),
		core.NewTool("loops_close",
			"Close an open loop that is settled.",
			`{"type":"object","properties":{"loop":{"type":"string","description":"its number, or words of it"}},"required":["loop"]}`, t.closeTool),
	}
}

type loopJSON struct {
	ID     core.LoopID `json:"id"`
	Status string      `json:"status"` // opened, exists or closed
	Text   string      `json:"text,omitempty"`
}

// openTool opens a loop. If it is open already, it is mentioned instead.
func (t *Loops) openTool(ctx context.Context, use core.ToolUse, in struct {
	Text string `json:"text"`
}) (core.ToolResult, error) {
	text, err := loopText(in.Text)
	if err != nil {
		return core.ToolResult{}, err
	}
	open, err := t.Store.Loops(ctx, use.User, looked)
	if err != nil {
		return core.ToolResult{}, fmt.Errorf("list loops: %w", err)
	}
	if id, ok := Match(t.Analyzer, text, open); ok {
		l := named(open, id)
		return core.TaintedResult(loopJSON{id, "exists", l.Text}, l.Tainted, effect.MentionLoop{Loop: id, At: use.Now})
	}
	id, err := t.Store.NewID(ctx, use.User)
	if err != nil {
		return core.ToolResult{}, fmt.Errorf("open loop: %w", err)
	}
	l := core.Loop{User: use.User, ID: core.LoopID(id), Text: text, State: core.LoopOpen, Sources: use.Inputs,
		OpenedAt: use.Now, Mentioned: use.Now, Due: t.due(use, text)}
	return core.ResultOf(loopJSON{ID: l.ID, Status: "opened"}, effect.OpenLoop{Loop: l, At: use.Now})
}

// due returns the end of the day ahead that a loop names; zero: none.
func (t *Loops) due(use core.ToolUse, text string) time.Time {
	s := core.Settings{Zone: use.Location.String()}
	return Due(t.Calendar, s, use.Now, text, use.Language)
}

// mostAhead bounds the days between a loop and the date that it names. A date without a year that is further ahead was
// meant to be past.
const mostAhead = 200

// Due returns the end of the day ahead that the text of a loop names, for a user with these settings; zero: it names
// none. said is when it was written.
func Due(c day.Calendar, s core.Settings, said time.Time, text, language string) time.Time {
	today, err := day.Parse(c.Day(s, said).Label)
	f, _, ok := times.Find(text, i18n.Match(language))
	vague := f.Repeat.Is() || f.Date.Kind == times.NoDay || f.Date.Kind == times.OfCalendar && f.Date.Day == 0
	if err != nil || !ok || vague {
		return time.Time{}
	}
	on, ok := f.Date.Next(today, func(time.Time) bool { return true })
	if !ok || on.Before(today) || f.Date.Year == 0 && on.Sub(today) > mostAhead*24*time.Hour {
		return time.Time{}
	}
	return c.Day(s, day.First(on.Add(12*time.Hour), s.Location(c.Zone))).End
}

// loopText returns the text of a loop as one line that every store accepts.
func loopText(s string) (string, error) {
	s = text.OneLine(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD")))
	if n := utf8.RuneCountInString(s); n > maxText {
		return "", fmt.Errorf("text has %d characters; at most %d fit: one short line", n, maxText)
	}
	if !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return "", errors.New("text has no words; say in one short line what is open")
	}
	return s, nil
}

// closeTool closes a loop by its number or by words of it.
func (t *Loops) closeTool(ctx context.Context, use core.ToolUse, in struct {
	Loop json.RawMessage `json:"loop"`
}) (core.ToolResult, error) {
	open, err := t.Store.Loops(ctx, use.User, looked)
	if err != nil {
		return core.ToolResult{}, fmt.Errorf("list loops: %w", err)
	}
	l, err := t.choose(unquoted(in.Loop), open)
	if err != nil {
		return core.ToolResult{}, err
	}
	return core.TaintedResult(loopJSON{l.ID, "closed", l.Text}, l.Tainted,
		effect.CloseLoop{Loop: l.ID, At: use.Now, Text: l.Text})
}

// unquoted returns a JSON number or string as plain text.
func unquoted(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		s = string(raw)
	}
	return strings.TrimSpace(s)
}

// choose returns the open loop that a number or words identify. The error is the same for
// an unknown number and for another user's.
func (t *Loops) choose(which string, open []core.Loop) (core.Loop, error) {
	number := strings.TrimLeft(strings.TrimPrefix(strings.ToLower(which), "loop"), " #")
	if id, err := strconv.ParseInt(number, 10, 64); err == nil {
		if l := named(open, core.LoopID(id)); l.ID != 0 {
			return l, nil
		}
		return core.Loop{}, fmt.Errorf("there is no open loop %d", id)
	}
	found := meant(t.Analyzer, which, open)
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return core.Loop{}, errors.New("no open loop has these words; name one by its number")
	}
	var lines []string
	for _, l := range found[:min(len(found), 5)] {
		lines = append(lines, fmt.Sprintf("%d (%s)", l.ID, l.Text))
	}
	return core.Loop{}, fmt.Errorf("%d open loops have these words: %s; name one by its number", len(found),
		strings.Join(lines, ", "))
}

// named returns the loop with an id, or a zero one.
func named(open []core.Loop, id core.LoopID) core.Loop {
	for _, l := range open {
		if l.ID == id && id != 0 {
			return l
		}
	}
	return core.Loop{}
}

// small reports whether a word says nothing about the topic of a loop: articles, pronouns,
// and usual phrases of loops (still, to do, decide whether).
var small = text.OneOf("loops", "small")

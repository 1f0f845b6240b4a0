package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/llm/tokens"
)

type turnsCmd struct {
	List turnsListCmd `cmd:"" help:"List the newest turns."`
	Show turnsShowCmd `cmd:"" help:"Show what a turn sent to the model, and why."`
}

// turnView is a turn as commands show it.
type turnView struct {
	ID       core.TurnID         `json:"turn_id"`
	Thread   core.ThreadID       `json:"thread_id"`
	Mode     string              `json:"mode"`
	State    string              `json:"state"`
	Started  time.Time           `json:"started_at"`
	Inputs   []core.MessageID    `json:"inputs"`
	Failures int                 `json:"failures"`
	Error    string              `json:"last_error,omitempty"`
	Task     core.TaskID         `json:"task_id,omitempty"`
	Due      time.Time           `json:"task_due,omitzero"`
	Snapshot *core.Snapshot      `json:"context,omitempty"`
	Prompt   []core.ModelMessage `json:"prompt,omitempty"`
}

func viewTurn(t core.Turn) turnView {
	return turnView{ID: t.ID, Thread: t.Thread, Mode: string(t.Mode), State: string(t.State), Started: t.StartedAt,
		Inputs: list(t.Inputs), Failures: t.Failures, Error: t.LastError, Task: t.Task, Due: t.Due}
}

type turnsListCmd struct {
	whose
	Limit howMany `default:"20" help:"How many."`
}

// Run lists turns.
func (l turnsListCmd) Run(ctx context.Context, d *opened, u core.User) error {
	turns, err := d.store.Turns(ctx, u.ID, int(l.Limit))
	if err != nil {
		return err
	}
	zone := d.zone(u)
	return table(d.console, views(turns, viewTurn), d.words().TurnsHeader, d.words().TurnsNone, func(v turnView) []any {
		return []any{v.ID, clockTime(v.Started, zone), v.State, v.Mode, ids(v.Inputs), dash(short(v.Error, 60))}
	})
}

// zone is where a user lives.
func (d *opened) zone(u core.User) *time.Location {
	home, err := time.LoadLocation(d.cfg.DefaultTimezone)
	if err != nil {
		home = time.UTC
	}
	return u.Settings.Location(home)
}

// ids writes message numbers as #1 #2.
func ids(ms []core.MessageID) string {
	var out []string
	for _, m := range ms {
		out = append(out, fmt.Sprintf("#%d", m))
	}
	return dash(strings.Join(out, " "))
}

type turnsShowCmd struct {
	ID core.TurnID `arg:"" name:"id" help:"The turn, as turns list shows it."`
	whose
	Prompt bool `help:"Show the exact prompt too."`
}

// Run shows a turn.
func (s turnsShowCmd) Run(ctx context.Context, d *opened, u core.User) error {
	t, snapshot, err := d.store.Turn(ctx, u.ID, s.ID)
	err = missing(err, fmt.Errorf("%s has no turn %d; `everthread turns list` shows the newest", u.Name, s.ID))
	if err != nil {
		return err
	}
	v := viewTurn(t)
	v.Snapshot = snapshot
	if s.Prompt {
		if snapshot == nil {
			return fmt.Errorf("turn %d has not answered, so there is no prompt to show", s.ID)
		}
		if v.Prompt, err = engine.Rebuild(ctx, d.store, d.cfg, tokens.New(), u.ID, snapshot); err != nil {
			return err
		}
	}
	return d.show(v, func(w io.Writer) { v.write(w, sayOfTurns(d.language()), d.zone(u)) })
}

func (v turnView) write(w io.Writer, t *turnTexts, zone *time.Location) {
	fmt.Fprintf(w, t.Title+"\n", v.ID, clockTime(v.Started, zone), v.Mode, v.State, ids(v.Inputs))
	if v.Task != 0 {
		fmt.Fprintf(w, t.Task+"\n", v.Task, clockTime(v.Due, zone))
	}
	if v.Error != "" {
		fmt.Fprintf(w, t.Error+"\n", v.Failures, v.Error)
	}
	if v.Snapshot == nil {
		fmt.Fprintln(w, t.Unanswered)
		return
	}
	t.snapshot(w, v.Snapshot)
	for i, m := range v.Prompt {
		fmt.Fprintf(w, "\n--- %d %s\n%s\n", i+1, m.Role, m.Content)
		for _, call := range m.ToolCalls {
			fmt.Fprintf(w, t.Calls+"\n", call.Name, call.Arguments)
		}
	}
}

func (t *turnTexts) snapshot(w io.Writer, s *core.Snapshot) {
	began := fmt.Sprintf(t.WentOn, s.Epoch)
	if s.NewEpoch != "" {
		began = fmt.Sprintf(t.Began, cmp.Or(t.Epochs[s.NewEpoch], s.NewEpoch))
	}
	fmt.Fprintf(w, "\n"+t.Strategy+"\n\n", s.Strategy, began)
	parts := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(parts, t.Parts)
	for _, p := range s.Parts {
		fmt.Fprintf(parts, "%s\t%d\t%s\n", p.Name, p.Tokens, p.Error)
	}
	fmt.Fprintf(parts, t.Total+"\n", s.Total, s.Cap)
	_ = parts.Flush() // writing to a terminal that went away
	if s.ToolTokens > 0 {
		fmt.Fprintf(w, t.Tools+"\n", s.ToolTokens)
	}
	fmt.Fprintf(w, "\n"+t.Messages+"\n", s.Included, s.Loaded, s.Truncated, s.LeftOut, s.Dropped, s.Thread)
	fmt.Fprintf(w, t.Included+"\n", ranges(s.Messages))
	if h := s.History; h != nil && h.Pages+h.LeftOut > 0 {
		fmt.Fprintf(w, t.History+"\n", h.Messages, h.Pages, h.Raw, h.Summarized, h.References, h.Omitted, h.Original,
			h.Tokens, h.LeftOut)
		fmt.Fprintf(w, t.OfUser+"\n", h.UserTotal)
	}
	fmt.Fprintf(w, t.Summaries+"\n", t.yes(s.TodaySummary), t.yes(s.LastConversation), s.OpenLoops)
	fmt.Fprintf(w, "\n"+t.Usage+"\n", dash(s.Model), s.Usage.Prompt, s.Usage.Cached, s.Usage.Completion, s.Steps)
	fmt.Fprintf(w, t.Times+"\n", s.FirstTokenMS, s.TotalMS)
}

func ranges(s core.IDSet) string {
	var out []string
	for _, r := range s.Ranges() {
		if r[0] == r[1] {
			out = append(out, fmt.Sprintf("#%d", r[0]))
			continue
		}
		out = append(out, fmt.Sprintf("#%d–#%d", r[0], r[1]))
	}
	return dash(strings.Join(out, ", "))
}

func (t *turnTexts) yes(b bool) string {
	if b {
		return t.Yes
	}
	return t.No
}

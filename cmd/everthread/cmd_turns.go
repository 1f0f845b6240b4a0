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
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/web"
)

type turnsCmd struct {
	List turnsListCmd `cmd:"" help:"List the newest turns."`
	Show turnsShowCmd `cmd:"" help:"Show what a turn sent to the model, and why."`
}

func turnObject(t core.Turn, s *store.Snapshot, looked []web.Lookup, prompt []core.ModelMessage) object {
	return object{"turn_id", t.ID, "thread_id", t.Thread, "mode", t.Mode, "state", t.State, "started_at", t.StartedAt,
		"inputs", list(t.Inputs), "failures", t.Failures, "last_error,omitempty", t.LastError,
		"task_id,omitempty", t.Task, "task_due,omitempty", moment(t.Due), "context,omitempty", s,
		"looked_up,omitempty", looked, "prompt,omitempty", prompt}
}

type turnsListCmd struct {
	whose
	Limit howMany `default:"20" help:"Number of turns."`
}

func (l turnsListCmd) Run(ctx context.Context, d *opened, u core.User) error {
	turns, err := d.store.Turns(ctx, u.ID, int(l.Limit))
	if err != nil {
		return err
	}
	zone := d.zone(u)
	return table(d.console, turns, d.words().TurnsHeader, d.words().TurnsNone, func(t core.Turn) (any, []any) {
		return turnObject(t, nil, nil, nil), []any{t.ID, clockTime(t.StartedAt, zone), t.State, t.Mode, ids(t.Inputs),
			cmp.Or(short(t.LastError, 60), "-")}
	})
}

func (d *opened) zone(u core.User) *time.Location {
	home, _ := time.LoadLocation(d.cfg.DefaultTimezone) // the configuration was validated
	return u.Settings.Location(home)
}

// ids formats message ids as #1 #2.
func ids(ms []core.MessageID) string {
	each := views(ms, func(m core.MessageID) string { return fmt.Sprintf("#%d", m) })
	return cmp.Or(strings.Join(each, " "), "-")
}

type turnsShowCmd struct {
	ID core.TurnID `arg:"" name:"id" help:"Id, as shown by turns list."`
	whose
	Prompt bool `help:"Show the exact prompt too."`
}

func (s turnsShowCmd) Run(ctx context.Context, d *opened, u core.User) error {
	t, snapshot, err := d.store.Turn(ctx, u.ID, s.ID)
	err = missing(err, fmt.Errorf("%s has no turn %d; `everthread turns list` shows the newest", u.Name, s.ID))
	if err != nil {
		return err
	}
	looked, err := web.Lookups(ctx, d.store, t)
	if err != nil {
		return err
	}
	var prompt []core.ModelMessage
	if s.Prompt {
		if snapshot == nil {
			return fmt.Errorf("turn %d has not answered, so there is no prompt to show", s.ID)
		}
		if prompt, err = engine.Rebuild(ctx, d.store, d.cfg, tokens.New(), u.ID, snapshot); err != nil {
			return err
		}
	}
	return d.show(turnObject(t, snapshot, looked, prompt), func(w io.Writer) {
		say := sayOfTurns(d.language())
		say.turn(w, t, d.zone(u))
		if snapshot == nil {
			fmt.Fprintln(w, say.Unanswered)
			return
		}
		say.snapshot(w, d.language(), snapshot)
		say.lookups(w, looked)
		say.prompt(w, prompt)
	})
}

func (t *turnTexts) turn(w io.Writer, turn core.Turn, zone *time.Location) {
	fmt.Fprintf(w, t.Title+"\n", turn.ID, clockTime(turn.StartedAt, zone), turn.Mode, turn.State, ids(turn.Inputs))
	if turn.Task != 0 {
		fmt.Fprintf(w, t.Task+"\n", turn.Task, clockTime(turn.Due, zone))
	}
	if turn.LastError != "" {
		fmt.Fprintf(w, t.Error+"\n", turn.Failures, turn.LastError)
	}
}

func (t *turnTexts) lookups(w io.Writer, looked []web.Lookup) {
	for _, l := range looked {
		if l.Query != "" {
			fmt.Fprintf(w, t.Searched+"\n", l.Query, l.Provider)
			continue
		}
		fmt.Fprintf(w, t.Read+"\n", l.URL, cmp.Or(l.Title, "-"))
	}
}

func (t *turnTexts) prompt(w io.Writer, messages []core.ModelMessage) {
	for i, m := range messages {
		fmt.Fprintf(w, "\n--- %d %s\n%s\n", i+1, m.Role, m.Content)
		for _, call := range m.ToolCalls {
			fmt.Fprintf(w, t.Calls+"\n", call.Name, call.Arguments)
		}
	}
}

func (t *turnTexts) snapshot(w io.Writer, language string, s *store.Snapshot) {
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
	fmt.Fprintf(w, "\n"+t.Messages+"\n", s.Included, s.Loaded, s.Shortened, s.LeftOut, s.Dropped, s.Thread)
	fmt.Fprintf(w, t.Included+"\n", ranges(s.Messages))
	if h := s.History; h != nil && h.Pages+h.LeftOut > 0 {
		fmt.Fprintf(w, t.History+"\n", h.Messages, h.Pages, h.Raw, h.Summarized, h.References, h.Omitted, h.Original,
			h.Tokens, h.LeftOut)
		fmt.Fprintf(w, t.OfUser+"\n", h.UserTotal)
	}
	yes := map[bool]string{true: t.Yes, false: t.No}
	fmt.Fprintf(w, t.Summaries+"\n", yes[s.TodaySummary], yes[s.LastConversation], s.OpenLoops)
	fmt.Fprintf(w, "\n"+t.Usage+"\n", cmp.Or(s.Model, "-"), s.Usage.Prompt, s.Usage.Cached, s.Usage.Completion, s.Steps)
	if len(s.Reduced) > 0 {
		fmt.Fprintf(w, t.Reduced+"\n", i18n.Reduced(language, s.Reduced))
	}
	fmt.Fprintf(w, t.Times+"\n", s.FirstTokenMS, s.TotalMS)
	fmt.Fprintf(w, t.Trace+"\n", s.Trace, s.Session)
}

// ranges formats message ids as #1–#5, #7.
func ranges(s core.IDSet) string {
	var out []string
	for _, r := range s.Ranges() {
		if r[0] == r[1] {
			out = append(out, fmt.Sprintf("#%d", r[0]))
			continue
		}
		out = append(out, fmt.Sprintf("#%d–#%d", r[0], r[1]))
	}
	return cmp.Or(strings.Join(out, ", "), "-")
}

package importer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/archive"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text"
)

// rest imports all of an export that is no message: summaries, memory, instructions, plans.
func (r *run) rest(ctx context.Context) error {
	steps := []func(context.Context) error{r.summaries, r.memory, r.standing, r.plans}
	return each(steps, func(step func(context.Context) error) error { return step(ctx) })
}

// storable returns a text without NUL, which no store takes.
func storable(text string) string { return strings.ReplaceAll(text, "\x00", "\ufffd") }

// summaries imports the versions of each day's summary, with the new ids of messages.
func (r *run) summaries(ctx context.Context) error {
	var day string
	var versions []core.Summary
	store := func() error {
		if len(versions) == 0 {
			return nil
		}
		stored, err := r.Store.ImportSummary(ctx, r.User.ID, day, versions)
		if stored {
			r.result.Summaries++
		}
		versions = nil
		return err
	}
	err := sibling(r.archive, "summaries.jsonl", func(s archive.ExportedSummary) error {
		if s.Day != day {
			if err := store(); err != nil {
				return err
			}
			day = s.Day
		}
		markdown := r.references(s.Markdown)
		versions = append(versions, core.Summary{Markdown: markdown, Tokens: r.Tokens.Count(markdown),
			Covers: r.covers(s.Covers), Model: s.Model, Final: s.Final, Ungrounded: s.Ungrounded, CreatedAt: s.CreatedAt})
		return nil
	})
	if err != nil {
		return err
	}
	return store()
}

func (r *run) covers(ids core.IDSet) core.IDSet {
	var out []core.MessageID
	for was, id := range r.numbers {
		if ids.Has(was) {
			out = append(out, id)
		}
	}
	return core.NewIDSet(out...)
}

var (
	reference  = text.Pattern(`\s?\[#\d+(?:,\s*#\d+)*\]`)
	referenced = text.Pattern(`\d+`)
)

// references replaces the ids of messages in a summary by their new ones. Those that were not imported are left out.
func (r *run) references(markdown string) string {
	return reference().ReplaceAllStringFunc(markdown, func(s string) string {
		var out []string
		for _, n := range referenced().FindAllString(s, -1) {
			was, err := strconv.ParseInt(n, 10, 64)
			if id := r.numbers[core.MessageID(was)]; err == nil && id > 0 {
				out = append(out, "#"+strconv.FormatInt(int64(id), 10))
			}
		}
		if len(out) == 0 {
			return ""
		}
		return s[:strings.IndexByte(s, '[')] + "[" + strings.Join(out, ", ") + "]"
	})
}

// memory imports new items.
func (r *run) memory(ctx context.Context) error {
	themes := map[string]core.Theme{}
	err := sibling(r.archive, "themes.jsonl", func(t archive.ExportedTheme) error {
		themes[t.Slug] = core.Theme{User: r.User.ID, Slug: t.Slug, Name: t.Name, Description: t.Description,
			CreatedAt: t.CreatedAt}
		return nil
	})
	if err != nil {
		return err
	}
	here := map[string]bool{}
	items, err := r.Store.Items(ctx, store.ItemQuery{User: r.User.ID, Limit: 1_000_000})
	if err != nil {
		return err
	}
	for _, i := range items {
		here[i.Content] = true
	}
	// Archived items come first: their content may be active again since.
	for _, status := range []core.ItemStatus{core.ItemArchived, core.ItemActive} {
		fresh := map[string]bool{}
		err := sibling(r.archive, "memory.jsonl", func(i archive.ExportedItem) error {
			i.Content = storable(i.Content)
			if archived := i.Status == core.ItemArchived; archived != (status == core.ItemArchived) || here[i.Content] ||
				fresh[i.Content] || strings.TrimSpace(i.Content) == "" {
				return nil
			}
			fresh[i.Content] = true
			r.result.Items++
			return r.addItem(ctx, i, themes[i.Theme])
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *run) addItem(ctx context.Context, i archive.ExportedItem, theme core.Theme) error {
	if theme.Slug == "" {
		theme = core.Theme{User: r.User.ID, Slug: core.DefaultTheme, Name: core.DefaultTheme}
	}
	item := core.Item{User: r.User.ID, Theme: theme.Slug, Type: i.Type, Content: i.Content, Tags: i.Tags,
		SourceMessage: r.numbers[i.Source], Status: core.ItemActive, CreatedAt: i.CreatedAt, Noted: i.Noted}
	for _, w := range i.History {
		item.History = append(item.History, core.Wording{Content: storable(w.Content), Until: w.Until})
	}
	err := r.note(ctx, effect.Taint(effect.AddItem{Item: item, Digest: text.Digest(i.Content), Theme: theme,
		Embed: r.Embedding, At: i.UpdatedAt}))
	if err != nil || i.Status != core.ItemArchived {
		return err
	}
	newest, err := r.Store.Items(ctx, store.ItemQuery{User: r.User.ID, Theme: theme.Slug,
		Status: core.ItemActive, Limit: 1_000_000})
	n := slices.IndexFunc(newest, func(x core.Item) bool { return x.Content == i.Content })
	if err != nil || n < 0 {
		return err
	}
	return r.note(ctx, effect.ArchiveItem{Item: newest[n].ID, At: i.UpdatedAt})
}

// maxWishes bounds the standing instructions of an export that are looked at.
const maxWishes = 100

// standing has the user asked about the standing instructions of an export: somebody else may have written them.
func (r *run) standing(ctx context.Context) error {
	var wishes []string
	err := sibling(r.archive, "standing.jsonl", func(o archive.ExportedInstruction) error {
		if len(wishes) < maxWishes {
			wishes = append(wishes, storable(o.Text))
		}
		return nil
	})
	if err == nil {
		r.result.Proposed, err = r.Standing.Fitting(ctx, r.User.ID, wishes)
	}
	if err != nil || len(r.result.Proposed) == 0 {
		return err
	}
	var effects []core.Effect
	for _, wish := range r.result.Proposed {
		effects = append(effects, effect.ProposeInstruction{Text: wish})
	}
	at, err := r.Proposer.Propose(ctx, r.User, r.archive.name, effects...)
	r.result.AskedOn = at.Address.Channel
	return err
}

// plans imports new loops, reminders and tasks. Those due meanwhile are done, unless they recur.
func (r *run) plans(ctx context.Context) error {
	here, err := r.Store.Plans(ctx, r.User.ID)
	if err != nil {
		return err
	}
	var p store.Plans
	err = sibling(r.archive, "loops.jsonl", func(l archive.ExportedLoop) error {
		if l.Text == "" || l.State != core.LoopOpen && l.State != core.LoopClosed {
			return nil
		}
		p.Loops = append(p.Loops, core.Loop{Text: storable(l.Text), State: l.State, Sources: r.renumbered(l.Sources),
			OpenedAt: l.OpenedAt, Mentioned: l.Mentioned, Due: l.Due})
		return nil
	})
	if err != nil {
		return err
	}
	err = errors.Join(r.kind(&p, here.Plans, core.PlanReminder, r.MaxReminders, "reminders.jsonl"),
		r.kind(&p, here.Plans, core.PlanTask, r.MaxTasks, "tasks.jsonl"))
	if err != nil || len(p.Loops)+len(p.Plans) == 0 {
		return err
	}
	in, err := r.Store.ImportPlans(ctx, r.User.ID, p)
	r.result.Loops, r.result.Reminders, r.result.Tasks = in.Loops, in.Reminders, in.Tasks
	return err
}

// kind adds the new plans of a kind. Active tasks are paused, until the user resumes them.
func (r *run) kind(p *store.Plans, here []core.Plan, kind core.PlanKind, most int, file string) error {
	fresh := &timed{run: r, known: map[string]bool{}, most: most}
	for _, k := range here {
		if k.Kind == kind {
			fresh.have(k)
		}
	}
	return sibling(r.archive, file, func(o archive.ExportedPlan) error {
		paused := kind == core.PlanReminder && o.State == string(core.PlanPaused) // which nobody could resume
		if paused || !fresh.take(&o) {
			return nil
		}
		k := core.Plan{Kind: kind, Text: o.Text, DueAt: o.DueAt, Cron: o.Cron, Zone: o.Zone, State: core.PlanState(o.State),
			Source: r.numbers[o.Source], CreatedAt: o.CreatedAt}
		if kind == core.PlanTask && k.State == core.PlanActive { // somebody else may have written it
			k.State, r.result.Paused = core.PlanPaused, append(r.result.Paused, o.Text)
		}
		if !o.FiredAt.IsZero() {
			k.Last = core.Run{Due: o.FiredAt, State: core.RunDone, Message: r.numbers[o.Message]}
		}
		p.Plans = append(p.Plans, k)
		return nil
	})
}

// timed selects the plans of a kind to import. The limit for those that people set applies; existing ones do not count
// twice.
type timed struct {
	*run
	known        map[string]bool // existing ones
	active, most int
}

// isOpen reports whether a plan is pending.
func isOpen(state core.PlanState) bool { return state == core.PlanActive || state == core.PlanPaused }

// sameAs returns the key of equal plans; see store.ImportStore.
func sameAs(created time.Time, cron, text string) string {
	return fmt.Sprint(created.UnixMilli(), cron, "\x00", text)
}

// have notes an existing one.
func (t *timed) have(k core.Plan) {
	t.known[sameAs(k.CreatedAt, k.Cron, k.Text)] = true
	if isOpen(k.State) {
		t.active++
	}
}

// take reports whether to import one, and brings its text and state up to date.
func (t *timed) take(o *archive.ExportedPlan) bool {
	state := core.PlanState(o.State)
	open := isOpen(state)
	switch {
	case !open && state != core.PlanDone && state != core.PlanCancelled, o.DueAt.IsZero(), o.Text == "":
		return false
	case open && o.Cron == "" && o.DueAt.Before(t.Now()):
		o.State, open = string(core.PlanDone), false
	}
	o.Text = storable(o.Text)
	key := sameAs(o.CreatedAt, o.Cron, o.Text)
	if t.known[key] {
		return false
	}
	if open {
		err := t.Plans.Admit(core.Plan{Text: o.Text, DueAt: o.DueAt, Cron: o.Cron, Zone: o.Zone}, t.Now())
		if err == nil && t.active >= t.most {
			err = fmt.Errorf("more than the %d that can be active", t.most)
		}
		if err != nil {
			if t.result.LeftOut == nil {
				t.result.LeftOut = map[string]int{}
			}
			t.result.LeftOut[err.Error()]++
			return false
		}
		t.active++
	}
	t.known[key] = true
	return true
}

// renumbered returns the new ids of messages, of those that were imported.
func (r *run) renumbered(was []core.MessageID) (now []core.MessageID) {
	for _, w := range was {
		if id := r.numbers[w]; id > 0 {
			now = append(now, id)
		}
	}
	return now
}

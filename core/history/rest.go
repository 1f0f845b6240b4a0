package history

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
)

// What an export of ours has besides messages.
type (
	ownSummary struct {
		Day        string     `json:"day"`
		Markdown   string     `json:"markdown"`
		Covers     core.IDSet `json:"covers"`
		Model      string     `json:"model"`
		Final      bool       `json:"final"`
		Ungrounded bool       `json:"ungrounded"`
		CreatedAt  time.Time  `json:"created_at"`
	}
	ownItem struct {
		Theme     string          `json:"theme"`
		Type      core.ItemType   `json:"type"`
		Content   string          `json:"content"`
		Tags      []string        `json:"tags"`
		Source    core.MessageID  `json:"source_message"`
		Status    core.ItemStatus `json:"status"`
		Noted     bool            `json:"noted"`
		History   []core.Wording  `json:"history"`
		CreatedAt time.Time       `json:"created_at"`
		UpdatedAt time.Time       `json:"updated_at"`
	}
	ownTheme struct {
		Slug        string    `json:"slug"`
		Name        string    `json:"name"`
		Description string    `json:"description"`
		CreatedAt   time.Time `json:"created_at"`
	}
	ownLoop struct {
		Text      string           `json:"text"`
		State     core.LoopState   `json:"state"`
		Sources   []core.MessageID `json:"sources"`
		OpenedAt  time.Time        `json:"opened_at"`
		Mentioned time.Time        `json:"mentioned_at"`
	}
	ownInstruction struct {
		Text      string         `json:"text"`
		Source    core.MessageID `json:"source_message"`
		Noted     bool           `json:"noted"`
		CreatedAt time.Time      `json:"created_at"`
	}
	ownReminder struct {
		Text      string             `json:"text"`
		DueAt     time.Time          `json:"due_at"`
		Cron      string             `json:"cron"`
		Zone      string             `json:"zone"`
		State     core.ReminderState `json:"state"`
		Source    core.MessageID     `json:"source_message"`
		CreatedAt time.Time          `json:"created_at"`
		FiredAt   time.Time          `json:"fired_at"`
		Message   core.MessageID     `json:"message"`
	}
	ownTask struct {
		Text      string         `json:"text"`
		DueAt     time.Time      `json:"due_at"`
		Cron      string         `json:"cron"`
		Zone      string         `json:"zone"`
		State     core.TaskState `json:"state"`
		Source    core.MessageID `json:"source_message"`
		CreatedAt time.Time      `json:"created_at"`
	}
)

// rest brings in the summaries, the memory, the standing instructions, the loops, the
// reminders and the tasks of an export.
func (r *run) rest(ctx context.Context) error {
	for _, step := range []func(context.Context) error{r.summaries, r.memory, r.standing, r.plans} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func ignore(Left) {}

// storable is a text as a store has it: NUL is in none.
func storable(text string) string { return strings.ReplaceAll(text, "\x00", "\ufffd") }

// summaries brings in the versions of each day's summary, with the numbers that
// messages have now.
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
	err := sibling(r.archive, "summaries.jsonl", ignore, func(s ownSummary) error {
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
	reference  = regexp.MustCompile(`\s?\[#\d+(?:,\s*#\d+)*\]`)
	referenced = regexp.MustCompile(`\d+`)
)

// references gives the messages that a summary names the numbers they have now.
// Those that did not come in are left out.
func (r *run) references(markdown string) string {
	return reference.ReplaceAllStringFunc(markdown, func(s string) string {
		var out []string
		for _, n := range referenced.FindAllString(s, -1) {
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

// memory brings in items that are not here yet.
func (r *run) memory(ctx context.Context) error {
	themes := map[string]core.Theme{}
	err := sibling(r.archive, "themes.jsonl", ignore, func(t ownTheme) error {
		themes[t.Slug] = core.Theme{User: r.User.ID, Slug: t.Slug, Name: t.Name, Description: t.Description,
			CreatedAt: t.CreatedAt}
		return nil
	})
	if err != nil {
		return err
	}
	here := map[string]bool{}
	items, err := r.Store.Items(ctx, core.ItemQuery{User: r.User.ID, Limit: 1_000_000})
	if err != nil {
		return err
	}
	for _, i := range items {
		here[i.Content] = true
	}
	// What was archived comes first: it may have been said again since.
	for _, status := range []core.ItemStatus{core.ItemArchived, core.ItemActive} {
		fresh := map[string]bool{}
		err := sibling(r.archive, "memory.jsonl", ignore, func(i ownItem) error {
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

func (r *run) addItem(ctx context.Context, i ownItem, theme core.Theme) error {
	if theme.Slug == "" {
		theme = core.Theme{User: r.User.ID, Slug: core.DefaultTheme, Name: core.DefaultTheme}
	}
	item := core.Item{User: r.User.ID, Theme: theme.Slug, Type: i.Type, Content: i.Content, Tags: i.Tags,
		SourceMessage: r.numbers[i.Source], Status: core.ItemActive, CreatedAt: i.CreatedAt,
		Noted: i.Noted}
	for _, w := range i.History {
		item.History = append(item.History, core.Wording{Content: storable(w.Content), Until: w.Until})
	}
	_, err := r.Store.Note(ctx, core.Note{User: r.User.ID, Now: r.Now(), Effects: []core.Effect{
		core.Taint(core.AddItem{Item: item, Digest: text.Digest(i.Content), Theme: theme, Embed: r.Embedding,
			At: i.UpdatedAt})}})
	if err != nil || i.Status != core.ItemArchived {
		return err
	}
	newest, err := r.Store.Items(ctx, core.ItemQuery{User: r.User.ID, Theme: theme.Slug,
		Status: core.ItemActive, Limit: 1_000_000})
	n := slices.IndexFunc(newest, func(x core.Item) bool { return x.Content == i.Content })
	if err != nil || n < 0 {
		return err
	}
	_, err = r.Store.Note(ctx, core.Note{User: r.User.ID, Now: r.Now(),
		Effects: []core.Effect{core.ArchiveItem{Item: newest[n].ID, At: i.UpdatedAt}}})
	return err
}

// standing brings in what the person wants always and does not yet. What there is no room
// for at all is left out.
func (r *run) standing(ctx context.Context) error {
	return sibling(r.archive, "standing.jsonl", ignore, func(o ownInstruction) error {
		add, ok := r.Standing.Import(core.Instruction{User: r.User.ID, Text: storable(o.Text), Source: r.numbers[o.Source],
			Noted: o.Noted, CreatedAt: o.CreatedAt})
		if !ok {
			return nil
		}
		before, err := r.Store.Instructions(ctx, r.User.ID)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(before, func(i core.Instruction) bool { return text.Digest(i.Text) == add.Digest }) {
			return nil
		}
		_, err = r.Store.Note(ctx, core.Note{User: r.User.ID, Now: r.Now(), Effects: []core.Effect{add}})
		switch {
		case errors.Is(err, core.ErrRefused):
			return nil
		case err == nil:
			r.result.Standing++
		}
		return err
	})
}

// plans brings in loops and reminders that are not here yet. What was due while
// nobody could fire it is over, unless it recurs.
func (r *run) plans(ctx context.Context) error {
	var p core.Plans
	err := sibling(r.archive, "loops.jsonl", ignore, func(l ownLoop) error {
		if l.Text == "" || l.State != core.LoopOpen && l.State != core.LoopClosed {
			return nil
		}
		p.Loops = append(p.Loops, core.Loop{Text: storable(l.Text), State: l.State, Sources: r.renumbered(l.Sources),
			OpenedAt: l.OpenedAt, Mentioned: l.Mentioned})
		return nil
	})
	if err != nil {
		return err
	}
	err = sibling(r.archive, "reminders.jsonl", ignore, func(o ownReminder) error {
		if reminder := r.reminder(o); reminder.Text != "" {
			p.Reminders = append(p.Reminders, reminder)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if p.Tasks, err = r.tasks(ctx); err != nil || len(p.Loops)+len(p.Reminders)+len(p.Tasks) == 0 {
		return err
	}
	if p.Reminders, err = r.admitted(ctx, p.Reminders); err != nil {
		return err
	}
	in, err := r.Store.ImportPlans(ctx, r.User.ID, p)
	r.result.Loops, r.result.Reminders, r.result.Tasks = in.Loops, in.Reminders, in.Tasks
	return err
}

// admitted are the reminders that can be set here, too. An archive is no way past
// the limits of those that people set; what is here already does not count twice.
func (r *run) admitted(ctx context.Context, list []core.Reminder) (out []core.Reminder, err error) {
	plans, err := r.Store.Plans(ctx, r.User.ID)
	if err != nil {
		return nil, err
	}
	here, active := map[string]bool{}, 0
	for _, o := range plans.Reminders {
		here[sameAs(o)] = true
		if o.State == core.ReminderActive {
			active++
		}
	}
	for _, o := range list {
		if o.State == core.ReminderActive && !here[sameAs(o)] {
			err := r.Reminders.Admit(o, r.Now())
			if err == nil && active >= r.MaxReminders {
				err = fmt.Errorf("more than the %d that can be active", r.MaxReminders)
			}
			if err != nil {
				r.leaveOut(err.Error())
				continue
			}
			active++
		}
		here[sameAs(o)] = true
		out = append(out, o)
	}
	return out, nil
}

// tasks are those of an export that can be set here, too, by the rules of reminders.
func (r *run) tasks(ctx context.Context) (out []core.Task, err error) {
	plans, err := r.Store.Plans(ctx, r.User.ID)
	if err != nil {
		return nil, err
	}
	same := func(k core.Task) string { return fmt.Sprint(k.CreatedAt.UnixMilli(), k.Cron, "\x00", k.Text) }
	open := func(k core.Task) bool { return k.State == core.TaskActive || k.State == core.TaskPaused }
	here, active := map[string]bool{}, 0
	for _, k := range plans.Tasks {
		here[same(k)] = true
		if open(k) {
			active++
		}
	}
	err = sibling(r.archive, "tasks.jsonl", ignore, func(o ownTask) error {
		k := r.task(o)
		if k.Text == "" || here[same(k)] {
			return nil
		}
		if open(k) {
			err := r.Reminders.Admit(core.Reminder{Text: k.Text, DueAt: k.DueAt, Cron: k.Cron, Zone: k.Zone}, r.Now())
			if err == nil && active >= r.MaxTasks {
				err = fmt.Errorf("more than the %d that can be active", r.MaxTasks)
			}
			if err != nil {
				r.leaveOut(err.Error())
				return nil
			}
			active++
		}
		here[same(k)] = true
		out = append(out, k)
		return nil
	})
	return out, err
}

// task is a task as it is here; without a text: it cannot be one.
func (r *run) task(o ownTask) core.Task {
	switch o.State {
	case core.TaskActive, core.TaskPaused:
		if o.Cron == "" && o.DueAt.Before(r.Now()) {
			o.State = core.TaskDone
		}
	case core.TaskDone, core.TaskCancelled:
	default:
		return core.Task{}
	}
	if o.DueAt.IsZero() {
		return core.Task{}
	}
	return core.Task{Text: storable(o.Text), DueAt: o.DueAt, Cron: o.Cron, Zone: o.Zone, State: o.State,
		Source: r.numbers[o.Source], CreatedAt: o.CreatedAt}
}

// sameAs is what makes a reminder the same as one that is here; see core.ImportStore.
func sameAs(r core.Reminder) string {
	return fmt.Sprint(r.CreatedAt.UnixMilli(), r.Cron, "\x00", r.Text)
}

func (r *run) leaveOut(reason string) {
	if r.result.LeftOut == nil {
		r.result.LeftOut = map[string]int{}
	}
	r.result.LeftOut[reason]++
}

// reminder is a reminder as it is here; without a text: it cannot be one.
func (r *run) reminder(o ownReminder) core.Reminder {
	switch o.State {
	case core.ReminderActive:
		if o.Cron == "" && o.DueAt.Before(r.Now()) {
			o.State = core.ReminderDone
		}
	case core.ReminderDone, core.ReminderCancelled:
	default:
		return core.Reminder{}
	}
	if o.DueAt.IsZero() {
		return core.Reminder{}
	}
	return core.Reminder{Text: storable(o.Text), DueAt: o.DueAt, Cron: o.Cron, Zone: o.Zone, State: o.State,
		Source: r.numbers[o.Source], CreatedAt: o.CreatedAt, FiredAt: o.FiredAt, Message: r.numbers[o.Message]}
}

// renumbered are the numbers that messages have now, of those that came in.
func (r *run) renumbered(was []core.MessageID) (now []core.MessageID) {
	for _, w := range was {
		if id := r.numbers[w]; id > 0 {
			now = append(now, id)
		}
	}
	return now
}

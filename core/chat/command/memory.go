package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/text/markup"
)

// Memory reads and prepares memory items.
type Memory interface {
	// Themes lists themes, those with most active items first.
	Themes(ctx context.Context, user core.UserID, limit int) ([]core.Theme, error)
	// Items lists items, newest first.
	Items(ctx context.Context, q store.ItemQuery) ([]core.Item, error)
	// Item returns an item, or core.ErrNotFound.
	Item(ctx context.Context, user core.UserID, id core.ItemID) (core.Item, error)
	// Find returns the active items that match words, best first.
	Find(ctx context.Context, user core.UserID, words string, limit int,
		now time.Time) (items []core.Item, mode string, err error)
	// Keep prepares an item; add is nil if same has the same meaning. The error is
	// core.ErrRefused if the item has no words or too many.
	Keep(ctx context.Context, i core.Item, now time.Time) (add *effect.AddItem, same core.Item, err error)
}

// memory lists, searches and archives memory items.
func (c *Commands) memory(ctx context.Context, r *request) (core.Outcome, error) {
	verb, rest, _ := strings.Cut(r.arg, " ")
	ids, numbered := numbers(rest)
	switch is := means(verb, func(t *typed) []string { return t.Archive }); {
	case r.arg == "":
		return c.allItems(ctx, r)
	case text.Fold(r.arg) == "off" || text.Fold(r.arg) == "on":
		return c.switchMemory(r, text.Fold(r.arg) == "off"), nil
	case is && numbered:
		return c.archive(ctx, r, ids)
	case is && strings.TrimSpace(rest) == "":
		return r.say(r.words.ArchiveWhich), nil
	}
	items, _, err := c.Memory.Find(ctx, r.user.ID, r.arg, listed, r.now)
	if err != nil || len(items) == 0 {
		return r.sayf(r.words.MemoryNothing, bold(r.arg)), err
	}
	return list(fmt.Sprintf(r.words.MemoryFound, markup.Escape(title(r.arg))), items,
		func(i core.Item) string { return c.item(r, i) }, "", fmt.Sprintf(r.words.MemoryMore, items[0].ID)), nil
}

// switchMemory switches memory off or on for the model. Items stay.
func (c *Commands) switchMemory(r *request, off bool) core.Outcome {
	s := r.user.Settings
	s.MemoryOff = off
	said := map[bool]string{true: r.words.MemoryOff, false: r.words.MemoryOn}[off]
	return r.say(said).With(effect.SetSettings{Settings: s})
}

// allItems lists the newest items by theme.
func (c *Commands) allItems(ctx context.Context, r *request) (core.Outcome, error) {
	items, err := c.Memory.Items(ctx, store.ItemQuery{User: r.user.ID, Status: core.ItemActive, Limit: listed})
	if err != nil {
		return core.Outcome{}, err
	}
	themes, err := c.Memory.Themes(ctx, r.user.ID, mostThemes)
	switch {
	case len(items) == 0 && r.user.Settings.MemoryOff:
		return r.say(r.words.MemoryOff), err
	case err != nil || len(items) == 0:
		return r.say(r.words.MemoryEmpty), err
	}
	lines := []string{r.words.MemoryTitle}
	if r.user.Settings.MemoryOff {
		lines = append(lines, "", r.words.MemoryOff)
	}
	more := -len(items)
	for _, t := range themes {
		more += t.Active
		r.mark(t.Tainted && t.Active > 0)
		head := "\n" + bold(t.Name) + " (" + i18n.Number(r.lang, t.Active) + ")\n"
		for _, i := range items {
			if i.Theme == t.Slug {
				lines = append(lines, head+c.item(r, i))
				head = ""
			}
		}
	}
	lines = append(lines, "")
	if more > 0 {
		lines = append(lines, r.words.MemoryHidden.Of(more))
	}
	lines = append(lines, fmt.Sprintf(r.words.MemoryMore, items[0].ID))
	return core.Outcome{Text: strings.Join(lines, "\n")}, nil
}

// mostThemes bounds the themes that are read.
const mostThemes = 1000

// item shows an item with its number and day.
func (c *Commands) item(r *request, i core.Item) string {
	return "- **" + strconv.FormatInt(int64(i.ID), 10) + "** " + plainLine(i.Content) + " · " +
		c.name(r, c.Calendar.Day(r.user.Settings, i.CreatedAt).Label) + r.origin(i.Tainted)
}

// origin returns a note if foreign words went into something.
func (r *request) origin(tainted bool) string {
	if !tainted {
		return ""
	}
	r.mark(true)
	return " · " + r.words.NotYours
}

// mark notes whether foreign words went into something that the answer shows.
func (r *request) mark(tainted bool) { r.foreign = r.foreign || tainted }

func (c *Commands) archive(ctx context.Context, r *request, ids []int64) (core.Outcome, error) {
	return r.each(ids, r.words.NoItem, func(id int64) (string, core.Effect, error) {
		i, err := c.Memory.Item(ctx, r.user.ID, core.ItemID(id))
		if err == nil && i.Status != core.ItemActive {
			err = core.ErrNotFound
		}
		r.mark(i.Tainted)
		return fmt.Sprintf(r.words.Archived, plainLine(i.Content)), effect.ArchiveItem{Item: i.ID, At: r.now}, err
	})
}

// remember stores a text, or the message that the command replies to.
func (c *Commands) remember(ctx context.Context, r *request) (core.Outcome, error) {
	i := core.Item{User: r.user.ID, Type: core.ItemFact, Theme: core.DefaultTheme, Content: r.arg}
	switch {
	case r.arg == "" && r.in.Quote == nil:
		return r.say(r.words.RememberWhat), nil
	case r.arg == "":
		m, err := c.quoted(ctx, r)
		if err != nil || m.ID == 0 {
			return r.say(r.words.RememberUnknown), err
		}
		i.Content, i.SourceMessage, i.SourceThread, i.Tainted = m.Text, m.ID, m.Thread, m.Foreign()
		r.mark(i.Tainted)
	}
	add, same, err := c.Memory.Keep(ctx, i, r.now)
	switch {
	case errors.Is(err, core.ErrRefused):
		return r.say(r.words.RememberRefused), nil
	case err != nil:
		return core.Outcome{}, err
	case add == nil:
		r.mark(same.Tainted)
		return r.sayf(r.words.RememberKnown, plainLine(same.Content), same.ID), nil
	}
	return r.sayf(r.words.Remembered, plainLine(add.Item.Content), add.Item.ID).With(*add), nil
}

// referred returns the message that the command replies to; 0: it is not known.
func (c *Commands) referred(ctx context.Context, r *request) (core.MessageID, error) {
	q := r.in.Quote
	if q.Message != 0 || q.NativeID == "" {
		return q.Message, nil
	}
	id, err := c.Store.Referred(ctx, r.user.ID, r.at.ID, q.NativeID)
	if missing(err) {
		return 0, nil
	}
	return id, err
}

// quoted returns the message that the command replies to; a zero one if it is not known, or
// is a command, an answer to one or redacted.
func (c *Commands) quoted(ctx context.Context, r *request) (core.Message, error) {
	id, err := c.referred(ctx, r)
	if err != nil || id == 0 {
		return core.Message{}, err
	}
	ms, err := c.Store.Messages(ctx, r.user.ID, []core.MessageID{id})
	if err != nil || len(ms) == 0 || ms[0].Redacted || ms[0].Kind == core.KindNotice || ms[0].Kind == core.KindCommand {
		return core.Message{}, err
	}
	return ms[0], nil
}

// Standing reads and prepares standing instructions.
type Standing interface {
	// List returns standing instructions in order: active ones, and those without room.
	List(ctx context.Context, user core.UserID) (active, waiting []core.Instruction, err error)
	// Add prepares an instruction; add is nil if same has the same meaning. A refusal is a
	// sentence in language that wraps core.ErrRefused.
	Add(ctx context.Context, user core.UserID, language, wish string,
		now time.Time) (add *effect.AddInstruction, same core.Instruction, err error)
	// AddAll prepares several, all or none.
	AddAll(ctx context.Context, user core.UserID, language string, wishes []string,
		now time.Time) ([]effect.AddInstruction, error)
}

// always lists, adds and removes standing instructions.
func (c *Commands) always(ctx context.Context, r *request) (core.Outcome, error) {
	verb, rest, _ := strings.Cut(r.arg, " ")
	ids, numbered := numbers(rest)
	switch remove := means(verb, func(t *typed) []string { return t.Remove }); {
	case r.arg == "" || means(r.arg, func(t *typed) []string { return t.List }):
		return c.listAlways(ctx, r)
	case remove && numbered:
		return c.removeAlways(ctx, r, ids)
	case remove && strings.TrimSpace(rest) == "":
		return r.say(r.words.AlwaysWhich), nil
	}
	add, same, err := c.Standing.Add(ctx, r.user.ID, r.lang, r.arg, r.now)
	switch {
	case errors.Is(err, core.ErrRefused):
		return core.Outcome{Text: err.Error()}, nil
	case err != nil:
		return core.Outcome{}, err
	case add == nil:
		return r.sayf(r.words.AlwaysKnown, markup.Escape(same.Text), same.ID), nil
	}
	return r.sayf(r.words.AlwaysAdded, markup.Escape(add.Instruction.Text)).With(*add), nil
}

func (c *Commands) listAlways(ctx context.Context, r *request) (core.Outcome, error) {
	active, waiting, err := c.Standing.List(ctx, r.user.ID)
	all := slices.Concat(active, waiting)
	if err != nil || len(all) == 0 {
		return r.say(r.words.AlwaysNone), err
	}
	line := func(i core.Instruction) string { return fmt.Sprintf("- **%d** %s", i.ID, markup.Escape(i.Text)) }
	var end []string
	if len(waiting) > 0 {
		end = []string{"", list(r.words.AlwaysWaiting, waiting, line).Text}
	}
	return list(r.words.AlwaysTitle, active, line, append(end, "", fmt.Sprintf(r.words.AlwaysMore, all[0].ID))...), nil
}

func (c *Commands) removeAlways(ctx context.Context, r *request, ids []int64) (core.Outcome, error) {
	active, waiting, err := c.Standing.List(ctx, r.user.ID)
	if err != nil {
		return core.Outcome{}, err
	}
	all := slices.Concat(active, waiting)
	return r.each(ids, r.words.AlwaysMissing, func(id int64) (string, core.Effect, error) {
		i, err := pick(all, id, func(i core.Instruction) core.InstructionID { return i.ID })
		return fmt.Sprintf(r.words.AlwaysRemoved, markup.Escape(i.Text)),
			effect.RemoveInstruction{Instruction: i.ID, At: r.now}, err
	})
}

// acceptAlways answers a proposal of the assistant.
func (c *Commands) acceptAlways(ctx context.Context, r *request, q effect.Approval, yes bool) (core.Outcome, error) {
	s, err := subject[effect.StandingSubject](q)
	if err != nil {
		return core.Outcome{}, err
	}
	switch {
	case len(s.Texts) == 0: // the proposal was redacted
		return r.say(r.words.Unavailable), nil
	case !yes:
		return r.say(r.words.AlwaysDeclined), nil
	}
	adds, err := c.Standing.AddAll(ctx, r.user.ID, r.lang, s.Texts, r.now)
	if errors.Is(err, core.ErrRefused) {
		return core.Outcome{Text: err.Error()}, nil
	}
	if err != nil {
		return core.Outcome{}, err
	}
	out := r.sayf(r.words.AlwaysAdded, markup.Escape(strings.Join(s.Texts, "; ")))
	for _, add := range adds {
		add.Instruction.Noted, add.Instruction.Source = true, s.Source
		out.Effects = append(out.Effects, add)
	}
	return out, nil
}

// loops lists open loops, stale ones separately.
func (c *Commands) loops(ctx context.Context, r *request) (core.Outcome, error) {
	open, err := c.Store.Loops(ctx, r.user.ID, listed)
	if err != nil || len(open) == 0 {
		return r.say(r.words.NoLoops), err
	}
	parts := map[bool][]core.Loop{} // by whether they are stale
	for _, l := range open {
		parts[l.Stale(r.now)] = append(parts[l.Stale(r.now)], l)
	}
	line := func(l core.Loop) string {
		mentioned := c.name(r, c.Calendar.Day(r.user.Settings, l.Mentioned).Label)
		return planned(int64(l.ID), l.Text, mentioned+r.origin(l.Tainted))
	}
	var text string
	for n, title := range []string{r.words.LoopsTitle, r.words.StaleTitle} {
		if part := parts[n == 1]; len(part) > 0 {
			text += list(title, part, line, "", "").Text
		}
	}
	return core.Outcome{Text: text + fmt.Sprintf(r.words.LoopsMore, open[0].ID)}, nil
}

// oneLine returns a text as one line of at most 300 characters.
func oneLine(s string) string { return text.Shorten(text.OneLine(s), 300) }

// mostLoops bounds the open loops that are searched for a number.
const mostLoops = 1000

// done closes loops by the numbers that /loops shows.
func (c *Commands) done(ctx context.Context, r *request) (core.Outcome, error) {
	ids, ok := numbers(r.arg)
	if !ok {
		return r.say(r.words.DoneWhich), nil
	}
	open, err := c.Store.Loops(ctx, r.user.ID, mostLoops)
	if err != nil {
		return core.Outcome{}, err
	}
	return r.each(ids, r.words.NoLoop, func(id int64) (string, core.Effect, error) {
		l, err := pick(open, id, func(l core.Loop) core.LoopID { return l.ID })
		r.mark(l.Tainted)
		return fmt.Sprintf(r.words.LoopDone, oneLine(l.Text)), effect.CloseLoop{Loop: l.ID, At: r.now}, err
	})
}

// numbers parses one to ten different numbers.
func numbers(s string) ([]int64, bool) {
	var out []int64
	for _, f := range strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == ',' || r == '\n' || r == '#' }) {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil || n <= 0 {
			return nil, false
		}
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out, len(out) > 0 && len(out) <= 10
}

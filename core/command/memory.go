package command

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/words"
)

// Memory reads and prepares memory items.
type Memory interface {
	// Themes lists themes, those with most active items first.
	Themes(ctx context.Context, user core.UserID, limit int) ([]core.Theme, error)
	// Items lists items, newest first.
	Items(ctx context.Context, q core.ItemQuery) ([]core.Item, error)
	// Item returns an item, or core.ErrNotFound.
	Item(ctx context.Context, user core.UserID, id core.ItemID) (core.Item, error)
	// Find returns the active items that match words, best first.
	Find(ctx context.Context, user core.UserID, words string, limit int,
		now time.Time) (items []core.Item, mode string, err error)
	// Keep prepares an item; add is nil if same has the same meaning. The error is
	// core.ErrRefused if the item has no words or too many.
	Keep(ctx context.Context, i core.Item, now time.Time) (add *core.AddItem, same core.Item, err error)
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
	return list(fmt.Sprintf(r.words.MemoryFound, escaper.Replace(title(r.arg))), items,
		func(i core.Item) string { return c.item(r, i) }, "", fmt.Sprintf(r.words.MemoryMore, items[0].ID)), nil
}

// switchMemory switches memory off or on for the model. Items stay.
func (c *Commands) switchMemory(r *request, off bool) core.Outcome {
	s := r.user.Settings
	s.MemoryOff = off
	said := map[bool]string{true: r.words.MemoryOff, false: r.words.MemoryOn}[off]
	return r.say(said).With(core.SetSettings{Settings: s})
}

// allItems lists the newest items by theme.
func (c *Commands) allItems(ctx context.Context, r *request) (core.Outcome, error) {
	items, err := c.Memory.Items(ctx, core.ItemQuery{User: r.user.ID, Status: core.ItemActive, Limit: listed})
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
		head := "\n" + bold(t.Name) + " (" + words.Number(r.lang, t.Active) + ")\n"
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
	return " · " + r.words.NotYours
}

func (c *Commands) archive(ctx context.Context, r *request, ids []int64) (core.Outcome, error) {
	return r.each(ids, r.words.NoItem, func(id int64) (string, core.Effect, error) {
		i, err := c.Memory.Item(ctx, r.user.ID, core.ItemID(id))
		if err == nil && i.Status != core.ItemActive {
			err = core.ErrNotFound
		}
		return fmt.Sprintf(r.words.Archived, plainLine(i.Content)), core.ArchiveItem{Item: i.ID, At: r.now}, err
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
	}
	add, same, err := c.Memory.Keep(ctx, i, r.now)
	switch {
	case errors.Is(err, core.ErrRefused):
		return r.say(r.words.RememberRefused), nil
	case err != nil:
		return core.Outcome{}, err
	case add == nil:
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

package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
)

// Standing reads and prepares standing instructions.
type Standing interface {
	// List returns standing instructions in order: active ones, and those without room.
	List(ctx context.Context, user core.UserID) (active, waiting []core.Instruction, err error)
	// Add prepares an instruction; add is nil if same has the same meaning. A refusal is a
	// sentence in language that wraps core.ErrRefused.
	Add(ctx context.Context, user core.UserID, language, wish string,
		now time.Time) (add *core.AddInstruction, same core.Instruction, err error)
	// AddAll prepares several, all or none.
	AddAll(ctx context.Context, user core.UserID, language string, wishes []string,
		now time.Time) ([]core.AddInstruction, error)
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
		return r.sayf(r.words.AlwaysKnown, escaper.Replace(same.Text), same.ID), nil
	}
	return r.sayf(r.words.AlwaysAdded, escaper.Replace(add.Instruction.Text)).With(*add), nil
}

func (c *Commands) listAlways(ctx context.Context, r *request) (core.Outcome, error) {
	active, waiting, err := c.Standing.List(ctx, r.user.ID)
	all := slices.Concat(active, waiting)
	if err != nil || len(all) == 0 {
		return r.say(r.words.AlwaysNone), err
	}
	line := func(i core.Instruction) string { return fmt.Sprintf("- **%d** %s", i.ID, escaper.Replace(i.Text)) }
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
		return fmt.Sprintf(r.words.AlwaysRemoved, escaper.Replace(i.Text)),
			core.RemoveInstruction{Instruction: i.ID, At: r.now}, err
	})
}

// acceptAlways answers a proposal of the assistant.
func (c *Commands) acceptAlways(ctx context.Context, r *request, q core.Approval, yes bool) (core.Outcome, error) {
	s, err := subject[core.StandingSubject](q)
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
	out := r.sayf(r.words.AlwaysAdded, escaper.Replace(strings.Join(s.Texts, "; ")))
	for _, add := range adds {
		add.Instruction.Noted, add.Instruction.Source = true, s.Source
		out.Effects = append(out.Effects, add)
	}
	return out, nil
}

package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/audit"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text"
)

// standing says which members of a group may use a command there.
type standing int

// Standings. Nobody may use a command of the account or the memory of a person in a group.
const (
	nobody  standing = iota
	members          // everybody who writes there
	admins           // the group's administrators, and the owner
)

// inGroups lists the commands of groups.
var inGroups = map[string]standing{
	"start": members, "help": members, "today": members, "yesterday": members, "day": members, "summary": members,
	"search": members, "missed": members, "loops": members, "done": members, "remind": members, "task": members,
	"retry": members, "continue": members, "stop": members, "usage": members,
	"forget":   members, // of their own words; others' need an administrator
	"timezone": admins, "language": admins, "summaries": admins, "pause": admins,
}

// GroupStanding returns who may use a command in a group: "members", "admins" or empty for nobody.
func GroupStanding(name string) string {
	return map[standing]string{members: "members", admins: "admins"}[inGroups[name]]
}

// group answers a command in a group, unless its writer may not use it there.
func (c *Commands) group(ctx context.Context, r *request, cmd command) (core.Outcome, error) {
	if cmd.name == "approve" { // it has just been approved, or was before
		return r.say(r.words.GroupWelcome), nil
	}
	switch inGroups[cmd.name] {
	case members:
		return c.answered(ctx, r, cmd)
	case admins:
		may, err := c.Administers(ctx, r.in)
		if err != nil {
			return core.Outcome{}, err
		}
		if may {
			return c.answered(ctx, r, cmd)
		}
		out := r.say(r.words.GroupAdmins)
		out.Effects = []core.Effect{effect.Tell{Row: audit.Row{What: audit.Command, Tool: cmd.name, Result: audit.Refused}}}
		return out, nil
	}
	return r.say(r.words.GroupNot), nil
}

// mostMissed is how many messages /missed shows; of more, the model tells what happened.
const mostMissed = 12

// missedText is how much of each it shows, in characters.
const missedText = 300

// missed tells a member of a group what was said since their own last message.
func (c *Commands) missed(ctx context.Context, r *request) (core.Outcome, error) {
	if r.in.Group == nil {
		return r.say(r.words.MissedWhere), nil
	}
	_, last, err := c.Store.Speaker(ctx, r.user.ID, r.in.Group.Speaker)
	if err != nil && !missing(err) {
		return core.Outcome{}, err
	}
	ms, more, err := c.Store.Timeline(ctx, store.TimelineQuery{User: r.user.ID, After: last, Limit: 100})
	if err != nil {
		return core.Outcome{}, err
	}
	if last == 0 && len(ms) > 0 { // they have not written yet: the newest messages
		last = ms[0].ID
	}
	var lines []string
	for _, m := range ms {
		if m.Kind == core.KindChat && m.Role != core.RoleTool && !m.Redacted && m.Text != "" {
			r.mark(m.Foreign())
			lines = append(lines, "- **"+c.name(r, c.Calendar.Day(r.user.Settings, m.SentAt).Label)+", "+
				m.SentAt.In(c.location(r)).Format("15:04")+"** · "+said(r, m.Role, m.Speaker, text.Within(m.Text, missedText)))
		}
	}
	switch {
	case len(lines) == 0:
		return r.say(r.words.MissedNothing), nil
	case more || len(lines) > mostMissed:
		return core.Outcome{Asks: fmt.Sprintf(r.words.MissedAsk, last)}, nil
	}
	return core.Outcome{Text: r.words.MissedTitle + "\n\n" + strings.Join(lines, "\n")}, nil
}

// mayForget reports whether the writer of a command in a group may remove a message: their own, or any as an
// administrator. Without a message it is about a whole day.
func (c *Commands) mayForget(ctx context.Context, r *request, id core.MessageID) (bool, error) {
	if r.in.Group == nil {
		return true, nil
	}
	if id != 0 {
		number, _, err := c.Store.Speaker(ctx, r.user.ID, r.in.Group.Speaker)
		if err != nil && !missing(err) {
			return false, err
		}
		ms, err := c.Store.Messages(ctx, r.user.ID, []core.MessageID{id})
		if err != nil {
			return false, err
		}
		if len(ms) == 1 && ms[0].Speaker != nil && number != 0 && ms[0].Speaker.Number == number {
			return true, nil
		}
	}
	return c.Administers(ctx, r.in)
}

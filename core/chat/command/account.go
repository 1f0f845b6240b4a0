package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/audit"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text/day"
	"github.com/everthread/everthread/core/trust"
)

// undoable is an account change with the effects that undo it.
type undoable struct {
	row     audit.Row
	effects []core.Effect
}

// undo lists the account changes of the last day that can be undone, or undoes one of them,
// or changes of tainted turns.
func (c *Commands) undo(ctx context.Context, r *request) (core.Outcome, error) {
	all, err := c.undoables(ctx, r)
	if err != nil {
		return core.Outcome{}, err
	}
	switch {
	case r.arg == "" && len(all) == 0:
		return r.say(r.words.UndoNone), nil
	case r.arg == "":
		return list(r.words.UndoTitle, all, func(u undoable) string {
			at := u.row.At.In(c.location(r)).Format("2006-01-02 15:04")
			return fmt.Sprintf("- `/undo %d` · %s · %s", u.row.ID, at, trust.AuditLine(r.lang, u.row))
		}), nil
	}
	n, err := strconv.ParseInt(strings.TrimPrefix(r.arg, "#"), 10, 64)
	for _, u := range all {
		if err == nil && int64(u.row.ID) == n {
			out := r.sayf(r.words.Undone, trust.AuditLine(r.lang, u.row))
			out.Effects, out.Others = u.effects, out.Text
			return out, nil
		}
	}
	if ids, ok := numbers(r.arg); ok {
		return c.takeBack(ctx, r, ids)
	}
	return r.sayf(r.words.UndoNothing, r.arg), nil
}

// undoables returns the changes that are still in effect.
func (c *Commands) undoables(ctx context.Context, r *request) ([]undoable, error) {
	rows, err := c.Store.Audit(ctx, store.AuditQuery{User: r.user.ID, Since: r.now.Add(-core.UndoLife), Limit: 500})
	if err != nil {
		return nil, err
	}
	keys, err := c.Store.APIKeys(ctx, r.user.ID)
	if err != nil {
		return nil, err
	}
	sessions, err := c.Store.Sessions(ctx, r.user.ID, r.now)
	if err != nil {
		return nil, err
	}
	ids, err := c.Store.Identities(ctx, r.user.ID)
	if err != nil {
		return nil, err
	}
	linked := func(id int64) bool {
		return len(ids) > 1 && slices.ContainsFunc(ids, func(i core.Identity) bool { return int64(i.ID) == id })
	}
	var out []undoable
	for _, row := range rows {
		var effects []core.Effect
		for _, id := range row.IDs {
			switch {
			case row.What == audit.KeyMade && slices.ContainsFunc(keys, func(k core.APIKey) bool { return k.ID == id }):
				effects = append(effects, effect.RevokeKey{Key: id})
			case row.What == audit.SignIn && slices.ContainsFunc(sessions, func(s store.Session) bool { return s.ID == id }):
				effects = append(effects, effect.EndSession{Session: id})
			case row.What == audit.Link && row.Object == "identity" && linked(id):
				effects = append(effects, effect.Unlink{Identity: core.IdentityID(id), At: r.now})
			}
		}
		if len(effects) > 0 {
			out = append(out, undoable{row, effects})
		}
	}
	return out, nil
}

// takeBack undoes changes of tainted turns, by the numbers below their answers.
func (c *Commands) takeBack(ctx context.Context, r *request, ids []int64) (core.Outcome, error) {
	return r.each(ids, r.words.TakenNothing, func(id int64) (string, core.Effect, error) {
		x, err := c.Store.Undoable(ctx, r.user.ID, id, r.now)
		said := r.words.TakenBack[x.Kind].Made
		if x.Ended {
			said = r.words.TakenBack[x.Kind].Ended
		}
		return fmt.Sprintf(said, plainLine(x.Text)), effect.Undo{X: x, At: r.now}, err
	})
}

// mineShown bounds the rows of /mine.
const mineShown = 20

// mine shows the tools that run without a question and the audit of the person's account, newest first, or ends what is
// allowed.
func (c *Commands) mine(ctx context.Context, r *request) (core.Outcome, error) {
	if f := strings.Fields(r.arg); len(f) == 2 && means(f[0], func(t *typed) []string { return t.Remove }) {
		tool := strings.ReplaceAll(f[1], "`", "")
		if !r.user.Settings.Allows(tool, r.now) {
			return r.sayf(r.words.MineNotAllowed, tool), nil
		}
		return r.sayf(r.words.MineRemoved, tool).With(
			effect.SetSettings{Settings: r.user.Settings.Allow(tool, time.Time{}, r.now)}), nil
	}
	rows, err := c.Store.Audit(ctx, store.AuditQuery{User: r.user.ID, Limit: mineShown})
	if err != nil || len(rows) == 0 {
		return r.say(r.words.MineNone), err
	}
	ids, err := c.Store.Identities(ctx, r.user.ID)
	if err != nil {
		return core.Outcome{}, err
	}
	names := map[int64]string{}
	for _, i := range ids {
		names[int64(i.ID)] = placeName(i)
	}
	out := list(r.words.MineTitle, rows, func(row audit.Row) string {
		at := row.At.In(c.location(r)).Format("2006-01-02 15:04")
		through := trust.Through(r.lang, row, cmp.Or(names[row.ViaID], r.words.MineGone))
		return "- " + at + " · " + trust.AuditLine(r.lang, row) + " · " + through
	})
	allowed := r.user.Settings.Allow("", time.Time{}, r.now).Allowed
	if len(allowed) > 0 {
		out.Text = list(r.words.MineAllowed, allowed, func(a core.AllowedTool) string {
			until := day.Name(a.Until.In(c.location(r)).Format(time.DateOnly), "", r.lang)
			return fmt.Sprintf(r.words.MineAllowedLine, a.Tool, until, a.Tool)
		}, "", out.Text).Text
	}
	return out, nil
}

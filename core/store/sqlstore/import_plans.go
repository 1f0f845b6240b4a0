package sqlstore

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/everthread/everthread/core"
)

// Plans returns all loops, reminders and tasks; see core.ImportStore.
func (s *Store) Plans(ctx context.Context, user core.UserID) (out core.Plans, err error) {
	err = s.view(ctx, "list plans", func(q querier) error {
		out, err = plans(q, user)
		return err
	})
	return out, err
}

func plans(q reader, user core.UserID) (out core.Plans, err error) {
	if out.Loops, err = list(q, scanLoop,
		`SELECT `+loopColumns+` FROM loops WHERE user_id = $1 ORDER BY id`, user); err != nil {
		return out, err
	}
	if out.Reminders, err = list(q, scanReminder,
		`SELECT `+reminderColumns+` FROM reminders WHERE user_id = $1 ORDER BY id`, user); err != nil {
		return out, err
	}
	out.Tasks, err = list(q, scanTask, selectTasks(`$1`)+` WHERE k.user_id = $1 ORDER BY k.id`, user)
	return out, err
}

// ImportPlans stores loops, reminders and tasks that do not exist; see core.ImportStore.
func (s *Store) ImportPlans(ctx context.Context, user core.UserID, p core.Plans) (in core.PlansIn, err error) {
	err = s.update(ctx, "import plans", user, func(t *tx) error {
		in = core.PlansIn{}
		here, err := plans(t, t.user)
		if err != nil {
			return err
		}
		if in.Loops, err = t.importLoops(p.Loops, here.Loops); err != nil {
			return err
		}
		if in.Reminders, err = t.importReminders(p.Reminders, here.Reminders); err != nil {
			return err
		}
		in.Tasks, err = t.importTasks(p.Tasks, here.Tasks)
		return err
	})
	return in, err
}

func (t *tx) importLoops(list, here []core.Loop) (n int, err error) {
	for _, l := range list {
		same := func(o core.Loop) bool { return o.Text == l.Text && o.OpenedAt.Equal(l.OpenedAt) }
		forgotten, err := t.forgotten(l.Sources...)
		if err != nil {
			return n, err
		}
		if forgotten || slices.ContainsFunc(here, same) {
			continue
		}
		here = append(here, l)
		n++
		if err := t.exec(
			`INSERT INTO loops (user_id, id, body, state, sources, opened_at, mentioned_at, changed, tainted) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 1)`,
			t.user, t.nextID(), l.Text, string(l.State), text(l.Sources), ms(l.OpenedAt), ms(l.Mentioned),
			t.change()); err != nil {
			return n, err
		}
	}
	return n, nil
}

func (t *tx) importReminders(list, here []core.Reminder) (n int, err error) {
	for _, r := range list {
		same := func(o core.Reminder) bool {
			return o.Text == r.Text && o.Cron == r.Cron && o.CreatedAt.Equal(r.CreatedAt)
		}
		forgotten, err := t.forgotten(r.Source)
		if err != nil {
			return n, err
		}
		if forgotten || slices.ContainsFunc(here, same) {
			continue
		}
		here = append(here, r)
		n++
		if err := t.exec(
			`INSERT INTO reminders (user_id, id, body, due_at, cron, zone, state, source_message, created_at, fired_at, message_id, tainted) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 1)`,
			t.user, t.nextID(), r.Text, ms(r.DueAt), r.Cron, r.Zone, string(r.State), r.Source, ms(r.CreatedAt), ms(r.FiredAt),
			r.Message); err != nil {
			return n, err
		}
	}
	return n, nil
}

func (t *tx) importTasks(list, here []core.Task) (n int, err error) {
	for _, k := range list {
		same := func(o core.Task) bool {
			return o.Text == k.Text && o.Cron == k.Cron && o.CreatedAt.Equal(k.CreatedAt)
		}
		forgotten, err := t.forgotten(k.Source)
		if err != nil {
			return n, err
		}
		if forgotten || slices.ContainsFunc(here, same) {
			continue
		}
		here = append(here, k)
		n++
		if err := t.exec(
			`INSERT INTO tasks (user_id, id, body, due_at, cron, zone, state, message_id, created_at, tainted) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 1)`,
			t.user, t.nextID(), k.Text, ms(k.DueAt), k.Cron, k.Zone, string(k.State), k.Source, ms(k.CreatedAt)); err != nil {
			return n, err
		}
	}
	return n, nil
}

// forgotten reports whether any of the messages was redacted.
func (t *tx) forgotten(sources ...core.MessageID) (yes bool, err error) {
	sources = slices.DeleteFunc(slices.Clone(sources), func(id core.MessageID) bool { return id == 0 })
	if len(sources) == 0 {
		return false, nil
	}
	var ids []string
	for _, id := range sources {
		ids = append(ids, strconv.FormatInt(int64(id), 10))
	}
	err = t.row(`SELECT EXISTS (SELECT 1 FROM messages WHERE user_id = $1 AND id IN (`+strings.Join(ids, ", ")+
		`) AND redacted = 1)`, t.user).Scan(&yes)
	return yes, err
}

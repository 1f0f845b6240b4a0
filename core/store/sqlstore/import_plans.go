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
	if out.Loops, err = list(q, scanLoop, `SELECT `+loopColumns+` FROM loops WHERE user_id = $1 ORDER BY id`, user); err != nil {
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
	err = s.update(ctx, "import plans", user, func(t *tx) {
		in = core.PlansIn{}
		here, err := plans(t, t.user)
		t.fail(err)
		in.Loops = t.importLoops(p.Loops, here.Loops)
		in.Reminders = t.importReminders(p.Reminders, here.Reminders)
		in.Tasks = t.importTasks(p.Tasks, here.Tasks)
	})
	return in, err
}

// bring puts those of list that are not the same as one here, and whose sources were not redacted.
// It returns their number.
func bring[T any](t *tx, list, here []T, same func(a, b T) bool, sources func(T) []core.MessageID,
	put func(T)) (n int) {
	for _, x := range list {
		if t.forgotten(sources(x)...) || slices.ContainsFunc(here, func(o T) bool { return same(o, x) }) {
			continue
		}
		here = append(here, x)
		n++
		put(x)
	}
	return n
}

func (t *tx) importLoops(list, here []core.Loop) int {
	same := func(a, b core.Loop) bool { return a.Text == b.Text && a.OpenedAt.Equal(b.OpenedAt) }
	sources := func(l core.Loop) []core.MessageID { return l.Sources }
	return bring(t, list, here, same, sources, func(l core.Loop) {
		t.exec(`INSERT INTO loops (user_id, id, body, state, sources, opened_at, mentioned_at, changed, tainted) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 1)`,
			t.user, t.nextID(), l.Text, string(l.State), text(l.Sources), ms(l.OpenedAt), ms(l.Mentioned), t.change())
	})
}

func (t *tx) importReminders(list, here []core.Reminder) int {
	same := func(a, b core.Reminder) bool {
		return a.Text == b.Text && a.Cron == b.Cron && a.CreatedAt.Equal(b.CreatedAt)
	}
	sources := func(r core.Reminder) []core.MessageID { return []core.MessageID{r.Source} }
	return bring(t, list, here, same, sources, func(r core.Reminder) {
		t.exec(`INSERT INTO reminders (user_id, id, body, due_at, cron, zone, state, source_message, created_at, fired_at, message_id, tainted) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 1)`,
			t.user, t.nextID(), r.Text, ms(r.DueAt), r.Cron, r.Zone, string(r.State), r.Source, ms(r.CreatedAt), ms(r.FiredAt),
			r.Message)
	})
}

func (t *tx) importTasks(list, here []core.Task) int {
	same := func(a, b core.Task) bool {
		return a.Text == b.Text && a.Cron == b.Cron && a.CreatedAt.Equal(b.CreatedAt)
	}
	sources := func(k core.Task) []core.MessageID { return []core.MessageID{k.Source} }
	return bring(t, list, here, same, sources, func(k core.Task) {
		t.exec(`INSERT INTO tasks (user_id, id, body, due_at, cron, zone, state, message_id, created_at, tainted) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 1)`,
			t.user, t.nextID(), k.Text, ms(k.DueAt), k.Cron, k.Zone, string(k.State), k.Source, ms(k.CreatedAt))
	})
}

// forgotten reports whether any of the messages was redacted.
func (t *tx) forgotten(sources ...core.MessageID) bool {
	sources = slices.DeleteFunc(slices.Clone(sources), func(id core.MessageID) bool { return id == 0 })
	if len(sources) == 0 {
		return false
	}
	var ids []string
	for _, id := range sources {
		ids = append(ids, strconv.FormatInt(int64(id), 10))
	}
	return valueOf[bool](t, `SELECT EXISTS (SELECT 1 FROM messages WHERE user_id = $1 AND id IN (`+strings.Join(ids, ", ")+
		`) AND redacted = 1)`, t.user)
}

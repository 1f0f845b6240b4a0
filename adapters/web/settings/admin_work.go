package settings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text/i18n"
)

const (
	deliveriesShown = 50
	jobsShown       = 50
)

// shownDelivery is a delivery that did not arrive, without its text.
type shownDelivery struct {
	User                                         core.UserID
	ID                                           core.DeliveryID
	Who, Channel, Kind, State, Class, Error, Age string
}

func (r *Room) undelivered(v *web.Visit, called func(core.UserID) string) ([]shownDelivery, error) {
	all, err := r.Store.Deliveries(v.Context(), store.DeliveryQuery{Limit: deliveriesShown,
		States: []core.DeliveryState{core.DeliveryFailed, core.DeliveryUnknown, core.DeliveryParked, core.DeliveryExpired}})
	if err != nil {
		return nil, fmt.Errorf("read deliveries: %w", err)
	}
	var out []shownDelivery
	for _, d := range all {
		state := v.Words.States[string(d.State)]
		if d.State == core.DeliveryParked {
			state = say(v.Lang).Admin.Parked
		}
		out = append(out, shownDelivery{d.User, d.ID, called(d.User), v.ChannelName(d.To.Channel),
			say(v.Lang).Admin.Kinds[string(d.Kind)], state, string(d.State), d.Error, ago(v, d.CreatedAt)})
	}
	return out, nil
}

func (r *Room) retryDelivery(v *web.Visit) error {
	return retried(v, "deliveries", say(v.Lang).Admin.Resent, r.Store.Redeliver)
}

// retried retries what the path names by its user and id, and returns to a section of the page.
func retried[ID ~int64](v *web.Visit, section, toast string,
	retry func(ctx context.Context, user core.UserID, id ID, now time.Time) error) error {
	user, errUser := strconv.ParseInt(v.R.PathValue("user"), 10, 64)
	id, errID := strconv.ParseInt(v.R.PathValue("id"), 10, 64)
	if errUser != nil || errID != nil {
		return core.ErrNotFound
	}
	err := retry(v.Context(), core.UserID(user), ID(id), v.Now)
	switch {
	case web.IsRefused(err) && !errors.Is(err, core.ErrNotFound):
		return web.Because(http.StatusConflict, v.Words.ErrRefused)
	case err != nil:
		return fmt.Errorf("retry: %w", err)
	}
	return v.Back("/admin/"+section, toast)
}

type shownQueue struct {
	Name, Since string
	Jobs        map[string]string // their number by store.JobState
}

type shownJob struct {
	User                               core.UserID
	ID                                 core.JobID
	Who, Queue, Attempts, Error, Since string
}

func (r *Room) queues(v *web.Visit, called func(core.UserID) string) ([]shownQueue, []shownJob, error) {
	stats, err := r.Store.QueueStats(v.Context())
	if err != nil {
		return nil, nil, fmt.Errorf("read queues: %w", err)
	}
	jobs, err := r.Store.DeadJobs(v.Context(), jobsShown)
	if err != nil {
		return nil, nil, fmt.Errorf("read jobs: %w", err)
	}
	return byQueue(v, stats), web.Each(jobs, func(j store.Job) shownJob {
		return shownJob{j.User, j.ID, called(j.User), queueName(v, j.Queue),
			i18n.Number(v.Lang, max(j.Failures, j.Lease.Attempt)), j.Error, ago(v, j.Since)}
	}), nil
}

func byQueue(v *web.Visit, stats []store.QueueStat) []shownQueue {
	rows := map[string]*shownQueue{}
	oldest := map[string]store.QueueStat{}
	for _, s := range stats {
		if rows[s.Queue] == nil {
			rows[s.Queue] = &shownQueue{Name: queueName(v, s.Queue), Jobs: map[string]string{"ready": "0", "running": "0",
				"waiting": "0", "dead": "0"}}
		}
		rows[s.Queue].Jobs[string(s.State)] = i18n.Number(v.Lang, s.Depth)
		if o, ok := oldest[s.Queue]; s.State != store.JobDead && s.Depth > 0 && (!ok || s.Oldest.Before(o.Oldest)) {
			oldest[s.Queue] = s
		}
	}
	var out []shownQueue
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		row := *rows[name]
		row.Since = "–"
		if o, ok := oldest[name]; ok && !o.Oldest.IsZero() {
			row.Since = ago(v, o.Oldest)
		}
		out = append(out, row)
	}
	return out
}

func queueName(v *web.Visit, queue string) string {
	base, channel, ok := strings.Cut(queue, ":")
	name := cmp.Or(say(v.Lang).Admin.Queues[base], base)
	if ok {
		name += " · " + v.ChannelName(channel)
	}
	return name
}

func (r *Room) retryJob(v *web.Visit) error {
	return retried(v, "jobs", say(v.Lang).Admin.Revived, r.Store.Revive)
}

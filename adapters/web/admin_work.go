package web

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/words"
)

// How much is listed.
const (
	deliveriesShown = 50
	jobsShown       = 50
	chartUsers      = 5 // with a colour of their own
)

// shownDelivery is a delivery that did not arrive, without what it says.
type shownDelivery struct {
	User                                         core.UserID
	ID                                           core.DeliveryID
	Who, Channel, Kind, State, Class, Error, Age string
}

func (v *visit) undelivered(users []core.User) ([]shownDelivery, error) {
	all, err := v.Admin.Store.Deliveries(v.ctx(), core.DeliveryQuery{Limit: deliveriesShown,
		States: []core.DeliveryState{core.DeliveryFailed, core.DeliveryUnknown, core.DeliveryParked, core.DeliveryExpired}})
	if err != nil {
		return nil, fmt.Errorf("read deliveries: %w", err)
	}
	var out []shownDelivery
	for _, d := range all {
		state := v.words.States[string(d.State)]
		if d.State == core.DeliveryParked {
			state = v.words.Admin.Parked
		}
		out = append(out, shownDelivery{d.User, d.ID, called(users, d.User), v.channelName(d.To.Channel),
			v.words.Admin.Kinds[string(d.Kind)], state, string(d.State), d.Error, v.ago(d.CreatedAt)})
	}
	return out, nil
}

// retryDelivery sends something again.
func (v *visit) retryDelivery() error {
	user, id, err := v.ofUser()
	if err != nil {
		return err
	}
	if err := v.Admin.Store.Redeliver(v.ctx(), user, core.DeliveryID(id), v.now); err != nil {
		return retried(err)
	}
	return v.back("/admin#deliveries", v.words.Admin.Resent)
}

// ofUser reads a user and the number of something of theirs.
func (v *visit) ofUser() (core.UserID, int64, error) {
	user, errUser := strconv.ParseInt(v.r.PathValue("user"), 10, 64)
	id, errID := strconv.ParseInt(v.r.PathValue("id"), 10, 64)
	if errUser != nil || errID != nil {
		return 0, 0, core.ErrNotFound
	}
	return core.UserID(user), id, nil
}

// retried is what is said of something that cannot be tried again.
func retried(err error) error {
	if isRefused(err) && !errors.Is(err, core.ErrNotFound) {
		return because(http.StatusConflict, func(w *texts) string { return w.ErrRefused })
	}
	return fmt.Errorf("try again: %w", err)
}

// shownQueue is how many jobs a queue holds.
type shownQueue struct {
	Name                                 string
	Ready, Running, Waiting, Dead, Since string
}

// shownJob is a job that gave up.
type shownJob struct {
	User                               core.UserID
	ID                                 core.JobID
	Who, Queue, Attempts, Error, Since string
}

func (v *visit) queues(users []core.User) ([]shownQueue, []shownJob, error) {
	stats, err := v.Admin.Store.QueueStats(v.ctx())
	if err != nil {
		return nil, nil, fmt.Errorf("read queues: %w", err)
	}
	jobs, err := v.Admin.Store.DeadJobs(v.ctx(), jobsShown)
	if err != nil {
		return nil, nil, fmt.Errorf("read jobs: %w", err)
	}
	var dead []shownJob
	for _, j := range jobs {
		dead = append(dead, shownJob{j.User, j.ID, called(users, j.User), v.queueName(j.Queue),
			words.Number(v.lang, max(j.Failures, j.Lease.Attempt)), j.Error, v.ago(j.Since)})
	}
	return v.byQueue(stats), dead, nil
}

// byQueue makes a row of the states of each queue.
func (v *visit) byQueue(stats []core.QueueStat) []shownQueue {
	rows := map[string]*shownQueue{}
	var names []string
	oldest := map[string]core.QueueStat{}
	for _, s := range stats {
		if rows[s.Queue] == nil {
			rows[s.Queue] = &shownQueue{Name: v.queueName(s.Queue), Ready: "0", Running: "0", Waiting: "0", Dead: "0"}
			names = append(names, s.Queue)
		}
		n := words.Number(v.lang, s.Depth)
		switch s.State {
		case core.JobReady:
			rows[s.Queue].Ready = n
		case core.JobRunning:
			rows[s.Queue].Running = n
		case core.JobWaiting:
			rows[s.Queue].Waiting = n
		case core.JobDead:
			rows[s.Queue].Dead = n
			continue
		}
		if o, ok := oldest[s.Queue]; s.Depth > 0 && (!ok || s.Oldest.Before(o.Oldest)) {
			oldest[s.Queue] = s
		}
	}
	slices.Sort(names)
	var out []shownQueue
	for _, name := range names {
		row := *rows[name]
		row.Since = "–"
		if o, ok := oldest[name]; ok && !o.Oldest.IsZero() {
			row.Since = v.ago(o.Oldest)
		}
		out = append(out, row)
	}
	return out
}

// queueName is what a queue is called.
func (v *visit) queueName(queue string) string {
	base, channel, ok := strings.Cut(queue, ":")
	name := cmp.Or(v.words.Admin.Queues[base], base)
	if ok {
		name += " · " + v.channelName(channel)
	}
	return name
}

// retryJob has a job done again.
func (v *visit) retryJob() error {
	user, id, err := v.ofUser()
	if err != nil {
		return err
	}
	if err := v.Admin.Store.Revive(v.ctx(), user, core.JobID(id), v.now); err != nil {
		return retried(err)
	}
	return v.back("/admin#jobs", v.words.Admin.Revived)
}

// adminUsage is what everybody used.
type adminUsage struct {
	Chart  chart
	People []adminUsed
	Sum    usageDay
	Cost   bool
	None   bool
}

// adminUsed is a row of the table by day and user.
type adminUsed struct {
	Day, Who, Tokens, Turns, Cost string
}

func (v *visit) adminUsage(used []core.UsageDay, users []core.User) adminUsage {
	page := adminUsage{Cost: v.Prices.known(), None: len(used) == 0}
	class := map[core.UserID]int{}
	var names []legend
	for i, u := range heaviest(used) {
		class[u] = min(i, chartUsers)
		switch {
		case i < chartUsers:
			names = append(names, legend{i, called(users, u)})
		case i == chartUsers:
			names = append(names, legend{i, v.words.Admin.Others})
		}
	}
	var sum core.UsageDay
	days := map[string][]core.UsageDay{}
	for _, d := range used {
		if days[d.Day] == nil {
			days[d.Day] = make([]core.UsageDay, chartUsers+1)
		}
		days[d.Day][class[d.User]] = plus(days[d.Day][class[d.User]], d)
		sum = plus(sum, d)
	}
	values := map[string][]int{}
	for _, day := range slices.Sorted(maps.Keys(days)) {
		for i, d := range days[day] {
			tokens := d.Usage.Prompt + d.Usage.Completion
			values[day] = append(values[day], tokens)
			if tokens > 0 {
				page.People = append(page.People, adminUsed{v.dayName(day), names[i].Name, words.Number(v.lang, tokens),
					words.Number(v.lang, d.Turns), v.money(d.Usage)})
			}
		}
	}
	page.Sum = v.usageRow(sum, v.words.WhyTotal)
	page.Chart = v.chart(v.usageFrom(), values, 0, v.words.Admin.Usage)
	page.Chart.Legend = names
	return page
}

// heaviest lists users, those first who used most.
func heaviest(used []core.UsageDay) []core.UserID {
	sums := map[core.UserID]int{}
	for _, d := range used {
		sums[d.User] += d.Usage.Prompt + d.Usage.Completion
	}
	var out []core.UserID
	for u := range sums {
		out = append(out, u)
	}
	slices.SortFunc(out, func(a, b core.UserID) int {
		if sums[a] != sums[b] {
			return sums[b] - sums[a]
		}
		return int(a - b)
	})
	return out
}

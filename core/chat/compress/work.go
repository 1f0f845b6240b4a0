package compress

import (
	"context"
	"fmt"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text/day"
)

// Store holds messages and pages.
type Store interface {
	store.PageStore
	Messages(ctx context.Context, user core.UserID, ids []core.MessageID) ([]core.Message, error)
}

// Settings bound the prompts of the strategy long.
type Settings struct {
	Budget    int     // tokens of a prompt
	Threshold float64 // share of it above which old messages are compressed
	Raw       int     // newest tokens that stay unchanged
}

// The least numbers of newest messages that stay unchanged.
const (
	rawUsers   = 20
	rawAnswers = 10
)

// Worker makes pages. All fields are required.
type Worker struct {
	Store      Store
	Jobs       *job.Worker
	Users      core.Users
	Compressor *Compressor
	Settings   Settings
	Calendar   day.Calendar
	Meter      core.Counter
	Now        func() time.Time
}

// Take claims a due job and runs it.
func (w *Worker) Take(ctx context.Context, ref store.JobRef) {
	w.Jobs.Yield(ctx)
	w.Jobs.Take(ctx, ref, func(ctx context.Context, j *store.Job) error {
		return (&round{Worker: w, job: j, thread: core.ThreadID(j.Ref)}).run(ctx)
	})
}

// round is the work of one job.
type round struct {
	*Worker
	job    *store.Job
	thread core.ThreadID
	user   core.User
	pages  []store.Page // all of the thread, in order
	edits  int64
	head   int // tokens of the prompt before its pages
	made   int // pages
}

func (r *round) run(ctx context.Context) error {
	var err error
	if r.user, err = r.Users.User(ctx, r.job.User); err != nil {
		return err
	}
	list, err := r.Store.Pages(ctx, r.job.User, r.thread)
	if err != nil {
		return err
	}
	r.pages, r.edits, r.head = list.Pages, list.Edits, list.Head
	if err := r.again(ctx); err != nil {
		return fmt.Errorf("make pages again: %w", err)
	}
	if err := r.onward(ctx); err != nil {
		return fmt.Errorf("make pages: %w", err)
	}
	tiers, err := r.tiers(ctx)
	if err != nil {
		return fmt.Errorf("weigh messages: %w", err)
	}
	return r.put(ctx, store.PutPages{Tiers: tiers, Done: true, Changed: r.made > 0 || len(tiers) > 0 ||
		r.job.Lease.Attempt > 1})
}

// put stores pages and tiers.
func (r *round) put(ctx context.Context, p store.PutPages) error {
	p.User, p.Thread, p.Lease, p.Edits, p.Now = r.job.User, r.thread, r.job.Lease, r.edits, r.Now()
	if err := r.Store.PutPages(ctx, p); err != nil {
		return err
	}
	r.made += len(p.Pages)
	r.Meter.Count("everthread_pages_total", float64(len(p.Pages)))
	if !p.Done {
		r.Jobs.Yield(ctx)
	}
	return nil
}

// again makes stale pages again.
func (r *round) again(ctx context.Context) error {
	for i := range r.pages {
		p := &r.pages[i]
		if !p.Stale {
			continue
		}
		ms, err := r.Store.Between(ctx, r.job.User, r.thread, p.Start, p.End+1, mostOfPage)
		if err != nil {
			return err
		}
		again, err := r.page(ctx, ms)
		if err != nil {
			return err
		}
		page := &again.Pages[0]
		page.ID, page.Tier, page.Segment, page.Start, page.End = p.ID, p.Tier, p.Segment, p.Start, p.End
		if err := r.put(ctx, again); err != nil {
			return err
		}
		*p = *page
	}
	return nil
}

// mostOfPage limits the messages to read for a stale page.
const mostOfPage = 1000

// onward puts the oldest messages on pages until the others have room, but never the newest.
func (r *round) onward(ctx context.Context) error {
	until, err := r.newest(ctx)
	if err != nil || until == 0 {
		return err
	}
	raw, err := r.weight(ctx)
	if err != nil {
		return err
	}
	over := raw - r.goal()
	for i := range r.pages {
		over += r.pages[i].Forms[store.TierOlder].Tokens + 1
	}
	for over > 0 {
		ms, err := r.Store.Between(ctx, r.job.User, r.thread, r.after(), until, pageMessages)
		if err != nil || len(ms) == 0 {
			return err
		}
		ms = r.first(ms)
		next, err := r.page(ctx, ms)
		if err != nil {
			return err
		}
		if err := r.put(ctx, next); err != nil {
			return err
		}
		page := next.Pages[0]
		r.pages = append(r.pages, page)
		over += page.Forms[store.TierOlder].Tokens + 1 - page.Original - 4*len(ms)
	}
	return nil
}

// Bounds of a page, which is of one day. A small budget makes pages smaller.
const (
	pageMessages = 60
	pageTokens   = 6000
	leastPage    = 400 // tokens
)

// first returns the messages of the first page.
func (r *round) first(ms []core.Message) []core.Message {
	most := min(max(r.Settings.Budget/25, leastPage), pageTokens)
	tokens := 0
	for i := range ms {
		tokens += ms[i].Tokens
		if i > 0 && (tokens > most || ms[i].Segment != ms[0].Segment) {
			return ms[:i]
		}
	}
	return ms
}

// filled is the share of the threshold that prompts take right after a compression. They
// can grow by the rest, so that caches hold for some time.
const filled = 0.85

// goal returns the tokens available for pages and the newest messages.
func (r *round) goal() int {
	return int(float64(r.Settings.Budget)*r.Settings.Threshold*filled) - r.head
}

// newest returns the position from which on messages stay unchanged: the newest, but no more than half of the goal.
func (r *round) newest(ctx context.Context) (int64, error) {
	return r.Store.RawFrom(ctx, r.job.User, r.thread, store.RawQuery{Tokens: r.Settings.Raw,
		Users: rawUsers, Answers: rawAnswers, Most: max(r.goal()/2, 1)})
}

// tiers returns the tiers to change so that all pages fit beside the messages after them.
func (r *round) tiers(ctx context.Context) (map[store.PageID]store.Tier, error) {
	raw, err := r.weight(ctx)
	out := map[store.PageID]store.Tier{}
	for i, tier := range Fit(r.pages, r.goal()-raw) {
		if p := &r.pages[i]; p.Tier != tier {
			out[p.ID] = tier
		}
	}
	return out, err
}

// weight returns the tokens of the messages after the last page.
func (r *round) weight(ctx context.Context) (int, error) {
	return r.Store.Weight(ctx, r.job.User, r.thread, r.after())
}

// after returns the position after the last page.
func (r *round) after() int64 {
	if n := len(r.pages); n > 0 {
		return r.pages[n-1].End + 1
	}
	return 1
}

// Fit returns the tier of each page, in order from the oldest, with which all pages
// take at most room tokens: the older the shorter, and none shorter than necessary. If
// they do not fit in the last tier, the builder of the prompt leaves some out.
func Fit(pages []store.Page, room int) []store.Tier {
	out := make([]store.Tier, len(pages))
	total := 0
	for i := range pages {
		out[i] = store.TierOlder
		total += pages[i].Forms[store.TierOlder].Tokens + 1
	}
	for tier := store.TierOlder + 1; tier <= store.MaxTier; tier++ {
		for i := range pages {
			if total <= room {
				return out
			}
			total -= pages[i].Forms[out[i]].Tokens - pages[i].Forms[tier].Tokens
			out[i] = tier
		}
	}
	return out
}

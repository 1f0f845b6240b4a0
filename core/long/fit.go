package long

import (
	"context"

	"github.com/everthread/everthread/core"
)

// filled is how much of the threshold prompts begin with when old messages were
// compressed: what is left is theirs to grow, so that caches hold for some time.
const filled = 0.85

// goal is how many tokens pages and newest messages are to take.
func (r *round) goal() int {
	return int(float64(r.Settings.Budget)*r.Settings.Threshold*filled) - r.head
}

// newest is the position from which on messages stay as they are: the newest that
// are to, but no more than half of what there is room for.
func (r *round) newest(ctx context.Context) (int64, error) {
	return r.Store.RawFrom(ctx, r.job.User, r.thread, core.RawQuery{Tokens: r.Settings.Raw,
		Users: rawUsers, Answers: rawAnswers, Most: max(r.goal()/2, 1)})
}

// tiers returns the tiers that change so that all pages fit beside the messages
// after them.
func (r *round) tiers(ctx context.Context) (map[core.PageID]core.Tier, error) {
	raw, err := r.weight(ctx)
	out := map[core.PageID]core.Tier{}
	for i, tier := range Fit(r.pages, r.goal()-raw) {
		if p := &r.pages[i]; p.Tier != tier {
			out[p.ID] = tier
		}
	}
	return out, err
}

// weight is what the messages after the last page take.
func (r *round) weight(ctx context.Context) (int, error) {
	return r.Store.Weight(ctx, r.job.User, r.thread, r.after())
}

// after is the position after the last page.
func (r *round) after() int64 {
	if n := len(r.pages); n > 0 {
		return r.pages[n-1].End + 1
	}
	return 1
}

// Fit returns the tier of each page, in order from the oldest, with which all of
// them take at most room tokens: the older the shorter, and none shorter than need
// be. What does not fit in the last tier is left to the builder of the prompt.
func Fit(pages []core.Page, room int) []core.Tier {
	out := make([]core.Tier, len(pages))
	total := 0
	for i := range pages {
		out[i] = core.TierOlder
		total += pages[i].Forms[core.TierOlder].Tokens + 1
	}
	for tier := core.TierOlder + 1; tier <= core.MaxTier; tier++ {
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

package long

import (
	"context"

	"github.com/everthread/everthread/core"
)

// filled is the share of the threshold that prompts take right after a compression. They
// can grow by the rest, so that caches hold for some time.
const filled = 0.85

// goal returns the tokens available for pages and the newest messages.
func (r *round) goal() int {
	return int(float64(r.Settings.Budget)*r.Settings.Threshold*filled) - r.head
}

// newest returns the position from which on messages stay unchanged: the newest, but
// no more than half of the goal.
func (r *round) newest(ctx context.Context) (int64, error) {
	return r.Store.RawFrom(ctx, r.job.User, r.thread, core.RawQuery{Tokens: r.Settings.Raw,
		Users: rawUsers, Answers: rawAnswers, Most: max(r.goal()/2, 1)})
}

// tiers returns the tiers to change so that all pages fit beside the messages after
// them.
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

package long

import (
	"github.com/everthread/everthread/core"
)

// headTokens is what a prompt holds besides pages and messages.
const headTokens = 4000

// tiers returns the tiers that change so that all pages fit beside the newest
// messages, with some room to grow.
func (r *round) tiers() map[core.PageID]core.Tier {
	s := r.Settings
	room := int(float64(s.Budget)*s.Threshold*0.95) - s.Raw - headTokens
	out := map[core.PageID]core.Tier{}
	for i, tier := range Fit(r.pages, room) {
		if p := &r.pages[i]; p.Tier != tier {
			out[p.ID] = tier
		}
	}
	return out
}

// Fit returns the tier of each page, in order from the oldest, with which all of
// them take at most room tokens: the older the shorter, and none shorter than need
// be. What does not fit in the last tier is left to who builds the prompt.
func Fit(pages []core.Page, room int) []core.Tier {
	out := make([]core.Tier, len(pages))
	total := 0
	for i := range pages {
		out[i] = core.TierOlder
		total += pages[i].Forms[core.TierOlder].Tokens + 1
	}
	for tier := core.TierVeryOld; tier <= core.MaxTier; tier++ {
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

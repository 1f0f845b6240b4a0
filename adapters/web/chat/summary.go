package chat

import (
	"fmt"
	"html/template"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/words"
)

// version is a displayed version of a summary.
type version struct {
	About, Covers string
	HTML          template.HTML
	Final         bool
}

// historyPage shows the versions of a day's summary.
func (r *Room) historyPage(v *web.Visit) error {
	g, err := r.Store.Day(v.Context(), v.User.ID, v.R.PathValue("label"))
	if err != nil {
		return err
	}
	var all []version
	if !g.Hidden {
		found, err := r.Store.Summaries(v.Context(), v.User.ID, g.ID, versions)
		if err != nil {
			return fmt.Errorf("read the summaries: %w", err)
		}
		for _, s := range found {
			all = append(all, version{About: aboutSummary(v, s), Final: s.Final,
				HTML:   r.markdown.summary(words.Headings(v.Lang, s.Markdown)),
				Covers: say(v.Lang).SummaryCovers.Of(s.Covers.Len())})
		}
	}
	title := say(v.Lang).History + " · " + v.DayName(g.Day.Label)
	return v.Page("history", title, map[string]any{"Title": title, "Back": "/day/" + g.Day.Label, "All": all,
		"Hidden": g.Hidden})
}

// regenerate requests a new summary of a day.
func (r *Room) regenerate(v *web.Visit) error {
	label := v.R.PathValue("label")
	g, err := r.Store.Day(v.Context(), v.User.ID, label)
	if err != nil {
		return err
	}
	return v.Act("summarize", "/day/"+label, say(v.Lang).SummaryComing,
		core.Summarize{Segment: g.ID, At: v.Now})
}

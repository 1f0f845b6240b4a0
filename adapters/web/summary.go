package web

import (
	"fmt"
	"html/template"
	"net/http"

	"github.com/everthread/everthread/core"
)

// version is an earlier summary as it is shown.
type version struct {
	About, Covers string
	HTML          template.HTML
	Final         bool
}

// historyPage shows the versions of a day's summary.
func (v *visit) historyPage() error {
	g, err := v.Store.Day(v.ctx(), v.user.ID, v.r.PathValue("label"))
	if err != nil {
		return err
	}
	var all []version
	if !g.Hidden {
		found, err := v.Store.Summaries(v.ctx(), v.user.ID, g.ID, versions)
		if err != nil {
			return fmt.Errorf("read the summaries: %w", err)
		}
		for _, s := range found {
			all = append(all, version{About: v.aboutSummary(s), HTML: v.markdown.summary(s.Markdown), Final: s.Final,
				Covers: v.words.SummaryCovers.Of(s.Covers.Len())})
		}
	}
	title := v.words.History + " · " + v.dayName(g.Day.Label)
	return v.page("history", title, map[string]any{"Title": title, "Back": "/day/" + g.Day.Label, "All": all,
		"Hidden": g.Hidden})
}

// regenerate asks for a new summary of a day.
func (v *visit) regenerate() error {
	label := v.r.PathValue("label")
	g, err := v.Store.Day(v.ctx(), v.user.ID, label)
	if err != nil {
		return err
	}
	if _, err := v.Gateway.Act(v.ctx(), v.user.ID, core.Summarize{Segment: g.ID, At: v.now}); err != nil {
		return refusal(fmt.Errorf("ask for a summary: %w", err))
	}
	return v.back("/day/"+label, v.words.SummaryComing)
}

// refusal is what a person is told when what they asked for changed meanwhile.
func refusal(err error) error {
	if isRefused(err) {
		return because(http.StatusConflict, func(w *texts) string { return w.ErrRefused })
	}
	return err
}

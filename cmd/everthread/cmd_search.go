package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/memory/recall"
	"github.com/everthread/everthread/core/search"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/trust"
)

type searchCmd struct {
	Words []string `arg:"" name:"words" help:"Words to search for."`
	whose
	Day      string  `placeholder:"DATE" help:"Only this day, such as 2026-11-19, monday or yesterday."`
	Recency  int     `name:"recency-days" placeholder:"N" help:"Only the last N days."`
	Limit    int     `default:"6" help:"Number of results, at most 20."`
	MinScore float64 `placeholder:"X" help:"Lowest score (0 to 1)."`
	Explain  bool    `help:"Explain each score."`
}

func (s searchCmd) Run(ctx context.Context, d *opened, u core.User) error {
	if s.Limit < 1 || s.Recency < 0 || !(s.MinScore >= 0 && s.MinScore <= 1) {
		return errUsage{errors.New("--limit and --recency-days are 1 or more, --min-score is from 0 to 1")}
	}
	var err error
	if s.Day != "" {
		if s.Day, err = d.label(u, s.Day); err != nil {
			return err
		}
	}
	searcher, _, err := d.searcher()
	if err != nil {
		return err
	}
	zone := d.zone(u)
	r, err := searcher.Search(ctx, search.Query{User: u.ID, Query: strings.Join(s.Words, " "), Day: s.Day,
		Recency: s.Recency, Limit: s.Limit, Matching: true, MinScore: s.MinScore, Now: clock()(), Location: zone,
		Names: recall.NamesOf(u)})
	if err != nil {
		return err
	}
	found := object{"mode", r.Mode, "note,omitempty", r.Note, "results", list(views(r.Hits, hitObject))}
	return d.show(found, func(w io.Writer) { s.write(w, d, r, zone) })
}

func hitObject(h search.Hit) object {
	out := object{"kind", h.Kind, "day_label", h.Label}
	switch h.Kind {
	case core.DocMessage:
		out = append(out, "message_id", h.Message.ID, "role", h.Message.Role, "channel,omitempty", h.Message.Channel,
			"sent_at", h.Message.SentAt, "score", h.Score)
	case core.DocFile:
		out = append(out, "message_id", h.Message.ID, "score", h.Score, "name,omitempty", h.Page.Name,
			"page,omitempty", h.Page.Number)
	default:
		out = append(out, "score", h.Score)
	}
	return append(out, "snippet", h.Snippet, "before,omitempty", besideObject(h.Before),
		"after,omitempty", besideObject(h.After), "explanation", h.Explain)
}

// besideObject is a neighbour of a hit in JSON; nil: there is none.
func besideObject(b search.Beside) any {
	if b.Message == 0 {
		return nil
	}
	return object{"message_id", b.Message, "role", b.Role, "snippet", b.Snippet}
}

func (s searchCmd) write(w io.Writer, d *opened, r search.Result, zone *time.Location) {
	t := d.words()
	beside := func(b search.Beside) {
		if b.Message != 0 {
			fmt.Fprintf(w, "     (%s: %s)\n", b.Role, trust.Line(b.Snippet))
		}
	}
	for i, h := range r.Hits {
		where := fmt.Sprintf(t.SearchSummary, h.Label)
		switch {
		case h.Kind == core.DocMessage:
			where = fmt.Sprintf("%s #%d %s", clockTime(h.Message.SentAt, zone), h.Message.ID, h.Message.Role)
		case h.Kind == core.DocFile && h.Page.Number > 0:
			where = fmt.Sprintf(t.SearchFile, h.Label, trust.Line(h.Page.Name), h.Page.Number)
		}
		fmt.Fprintf(w, "%d. %s  %.3f\n", i+1, where, h.Score)
		beside(h.Before)
		fmt.Fprintf(w, "   %s\n", trust.Line(h.Snippet))
		beside(h.After)
		if s.Explain {
			fmt.Fprintf(w, "   %s\n", explained(d.language(), h.Explain))
		}
	}
	if len(r.Hits) == 0 {
		fmt.Fprintln(w, t.SearchNothing)
	}
	if r.Note != "" {
		fmt.Fprintln(w, r.Note)
	}
}

// explained describes in one line how a score came about.
func explained(language string, e search.Explanation) string {
	t := sayOfTurns(language)
	decimal := func(format string, x float64, n int) string {
		return fmt.Sprintf(format, i18n.Decimal(language, x, n))
	}
	parts := []string{decimal(t.Lexical, e.Lexical, 3), decimal(t.Semantic, e.Semantic, 3)}
	for _, word := range slices.Sorted(maps.Keys(e.Terms)) {
		parts = append(parts, decimal(word+" %s", e.Terms[word], 2))
	}
	if e.Named == 1 { // the query names nobody
		e.Named = 0
	}
	formats := []string{t.Neighbours, t.Day, t.Named, t.Date}
	for i, value := range []float64{e.Neighbour, e.Day, e.Named, e.Date} {
		if value != 0 {
			parts = append(parts, decimal(formats[i], value, 2))
		}
	}
	if e.Covered {
		parts = append(parts, t.Covered)
	}
	return strings.Join(parts, ", ")
}

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
	"github.com/everthread/everthread/core/recall"
	"github.com/everthread/everthread/core/trust"
	"github.com/everthread/everthread/core/words"
)

type searchCmd struct {
	Words []string `arg:"" name:"words" help:"What to look for."`
	whose
	Day      string  `placeholder:"DATE" help:"Only this day, such as 2026-11-19, monday or yesterday."`
	Recency  int     `name:"recency-days" placeholder:"N" help:"Only the last N days."`
	Limit    int     `default:"6" help:"How many, at most 20."`
	MinScore float64 `placeholder:"X" help:"Leave out what scores less (0 to 1)."`
	Explain  bool    `help:"Say how each score came about."`
}

// hitView is something found, as commands show it.
type hitView struct {
	Kind    string           `json:"kind"`
	Day     string           `json:"day_label"`
	Message core.MessageID   `json:"message_id,omitempty"`
	Role    string           `json:"role,omitempty"`
	Channel string           `json:"channel,omitempty"`
	At      *time.Time       `json:"sent_at,omitempty"`
	Score   float64          `json:"score"`
	Name    string           `json:"name,omitempty"` // of a file
	Page    int              `json:"page,omitempty"`
	Snippet string           `json:"snippet"`
	Before  *besideView      `json:"before,omitempty"`
	After   *besideView      `json:"after,omitempty"`
	Explain core.Explanation `json:"explanation"`
}

// besideView is what was said right before or after something found.
type besideView struct {
	Message core.MessageID `json:"message_id"`
	Role    string         `json:"role"`
	Snippet string         `json:"snippet"`
}

func viewBeside(b core.Beside) *besideView {
	if b.Message == 0 {
		return nil
	}
	return &besideView{b.Message, string(b.Role), b.Snippet}
}

type searchView struct {
	Mode string    `json:"mode"`
	Note string    `json:"note,omitempty"`
	Hits []hitView `json:"results"`
	zone *time.Location
	full bool
}

// Run searches the conversation.
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
	v := searchView{zone: d.zone(u), full: s.Explain, Hits: []hitView{}}
	r, err := searcher.Search(ctx, core.SearchQuery{User: u.ID, Query: strings.Join(s.Words, " "), Day: s.Day,
		Recency: s.Recency, Limit: s.Limit, Matching: true, MinScore: s.MinScore, Now: clock()(), Location: v.zone,
		Names: recall.NamesOf(u)})
	if err != nil {
		return err
	}
	v.Mode, v.Note = r.Mode, r.Note
	for _, h := range r.Hits {
		v.Hits = append(v.Hits, viewHit(h))
	}
	return d.show(v, func(w io.Writer) { v.write(w, d.words(), d.language()) })
}

func viewHit(h core.Hit) hitView {
	v := hitView{Kind: string(h.Kind), Day: h.Label, Score: h.Score, Snippet: h.Snippet, Explain: h.Explain}
	v.Before, v.After = viewBeside(h.Before), viewBeside(h.After)
	if h.Kind == core.DocMessage {
		v.Message, v.Role, v.Channel, v.At = h.Message.ID, string(h.Message.Role), h.Message.Channel, &h.Message.SentAt
	}
	if h.Kind == core.DocFile {
		v.Message, v.Name, v.Page = h.Message.ID, h.Page.Name, h.Page.Number
	}
	return v
}

func (v searchView) write(w io.Writer, t *texts, language string) {
	for i, h := range v.Hits {
		where := fmt.Sprintf(t.SearchSummary, h.Day)
		if h.Page > 0 {
			where = fmt.Sprintf(t.SearchFile, h.Day, trust.Line(h.Name), h.Page)
		}
		if h.At != nil {
			where = fmt.Sprintf("%s #%d %s", clockTime(*h.At, v.zone), h.Message, h.Role)
		}
		fmt.Fprintf(w, "%d. %s  %.3f\n", i+1, where, h.Score)
		h.Before.write(w)
		fmt.Fprintf(w, "   %s\n", trust.Line(h.Snippet))
		h.After.write(w)
		if v.full {
			fmt.Fprintf(w, "   %s\n", explained(language, h.Explain))
		}
	}
	if len(v.Hits) == 0 {
		fmt.Fprintln(w, t.SearchNothing)
	}
	if v.Note != "" {
		fmt.Fprintln(w, v.Note)
	}
}

// write shows what was said beside something, set off from it.
func (b *besideView) write(w io.Writer) {
	if b != nil {
		fmt.Fprintf(w, "     (%s: %s)\n", b.Role, trust.Line(b.Snippet))
	}
}

// named is the factor for somebody named in the query; 0: nobody is.
func named(e core.Explanation) float64 {
	if e.Named == 1 {
		return 0
	}
	return e.Named
}

// explained says in one line how a score came about.
func explained(language string, e core.Explanation) string {
	t := sayOfTurns(language)
	decimal := func(format string, x float64, n int) string {
		return fmt.Sprintf(format, words.Decimal(language, x, n))
	}
	parts := []string{decimal(t.Lexical, e.Lexical, 3), decimal(t.Semantic, e.Semantic, 3)}
	for _, word := range slices.Sorted(maps.Keys(e.Terms)) {
		parts = append(parts, decimal(word+" %s", e.Terms[word], 2))
	}
	for _, x := range []struct {
		format string
		value  float64
	}{{t.Neighbours, e.Neighbour}, {t.Day, e.Day}, {t.Named, named(e)}, {t.Date, e.Date}} {
		if x.value != 0 {
			parts = append(parts, decimal(x.format, x.value, 2))
		}
	}
	if e.Covered {
		parts = append(parts, t.Covered)
	}
	return strings.Join(parts, ", ")
}

package recall

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/search"
)

// Target is the system under evaluation.
type Target interface {
	// Begin makes a user for a conversation, and returns the tool conversation_search for it.
	Begin(ctx context.Context, s Sample) (core.UserID, core.Tool, error)
	// People returns the hits of a search by a person, best first.
	People(ctx context.Context, user core.UserID, q search.Query) ([]search.Hit, error)
	// Load stores one session and returns the ids of its messages, in order.
	Load(ctx context.Context, user core.UserID, s Session) ([]core.MessageID, error)
}

// Report holds the scores of an evaluation.
type Report struct {
	All        Score         `json:"all"`
	Categories map[int]Score `json:"categories"`
	// Old and New are questions whose evidence is all older than 90 days, or of the newest 30, counted from the end of
	// the conversation. Ratio is Recall10 of Old by that of New: 1 if nothing is forgotten.
	Old     Score   `json:"old"`
	New     Score   `json:"new"`
	Ratio   float64 `json:"ratio"`
	Skipped int     `json:"skipped"` // questions without evidence
	Missed  []Miss  `json:"missed,omitempty"`
}

// Score is a mean over questions. Recall is the part of the evidence whose message is among the first 5, 10 or 20
// results; Found, the part of questions with any evidence there; Day, the part of the evidence whose day is that of any
// of the first ten. MRR is the mean reciprocal rank of the first evidence.
type Score struct {
	Questions int     `json:"questions"`
	Recall5   float64 `json:"recall_at_5"`
	Recall10  float64 `json:"recall_at_10"`
	Recall20  float64 `json:"recall_at_20"`
	Found10   float64 `json:"found_at_10"`
	Day10     float64 `json:"day_at_10"`
	MRR       float64 `json:"mrr"`
	// People10 is the part of evidence in the first ten messages of a person's search, 0 if it has no hits.
	People10 float64 `json:"people_precision_at_10"`
}

// Miss is a question without evidence among the first ten results.
type Miss struct {
	Sample   string           `json:"sample"`
	Question string           `json:"question"`
	Evidence []core.MessageID `json:"evidence"`
	Found    []core.MessageID `json:"found"`
}

const (
	evalLimit = 20
	evalDay   = 24 * time.Hour
)

// Evaluate stores every conversation in the target, asks each question through conversation_search itself a day after
// the last session, and scores strictly by the ids of messages.
func Evaluate(ctx context.Context, t Target, samples []Sample) (Report, error) {
	out := Report{Categories: map[int]Score{}}
	for _, s := range samples {
		if err := out.sample(ctx, t, s); err != nil {
			return out, fmt.Errorf("sample %s: %w", s.Name, err)
		}
	}
	out.All.mean()
	out.Old.mean()
	out.New.mean()
	for c, score := range out.Categories {
		score.mean()
		out.Categories[c] = score
	}
	if out.New.Recall10 > 0 {
		out.Ratio = out.Old.Recall10 / out.New.Recall10
	}
	return out, nil
}

type said struct {
	id core.MessageID
	at time.Time
}

func (r *Report) sample(ctx context.Context, t Target, s Sample) error {
	user, tool, err := t.Begin(ctx, s)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	loaded := map[string]said{}
	var end time.Time
	for _, session := range s.Sessions {
		ids, err := t.Load(ctx, user, session)
		if err != nil {
			return fmt.Errorf("load session of %s: %w", session.At.Format(time.DateOnly), err)
		}
		if len(ids) != len(session.Turns) {
			return fmt.Errorf("load session of %s: %d ids for %d turns", session.At.Format(time.DateOnly),
				len(ids), len(session.Turns))
		}
		for i, u := range session.Turns {
			loaded[u.Key] = said{ids[i], session.At}
		}
		end = session.At
	}
	for _, q := range s.Questions {
		if err := r.ask(ctx, t, tool, user, s.Name, s.Names, q, loaded, end); err != nil {
			return err
		}
	}
	return nil
}

// ask asks one question and scores the answer.
func (r *Report) ask(ctx context.Context, t Target, tool core.Tool, user core.UserID, sample string,
	names map[string]core.Role, q Question, loaded map[string]said, end time.Time) error {
	if len(q.Evidence) == 0 {
		r.Skipped++
		return nil
	}
	results, err := searchResults(ctx, tool, user, q.Text, end.Add(evalDay))
	if err != nil {
		return fmt.Errorf("question %q: %w", q.Text, err)
	}
	var wanted []said
	for _, key := range q.Evidence {
		wanted = append(wanted, loaded[key])
	}
	one := scored(results, wanted)
	found, err := t.People(ctx, user, search.Query{User: user, Query: q.Text, Matching: true, Limit: evalLimit,
		Now: end.Add(evalDay), Location: time.UTC, Names: names})
	if err != nil {
		return fmt.Errorf("search by a person for %q: %w", q.Text, err)
	}
	one.People10 = precision(found, wanted)
	r.All.add(one)
	category := r.Categories[q.Category]
	category.add(one)
	r.Categories[q.Category] = category
	some := func(of func(said) bool) bool { return slices.ContainsFunc(wanted, of) }
	if !some(func(s said) bool { return !s.at.Before(end.Add(-90 * evalDay)) }) {
		r.Old.add(one)
	}
	if !some(func(s said) bool { return s.at.Before(end.Add(-30 * evalDay)) }) {
		r.New.add(one)
	}
	if one.Found10 == 0 {
		miss := Miss{Sample: sample, Question: q.Text}
		for _, w := range wanted {
			miss.Evidence = append(miss.Evidence, w.id)
		}
		for _, h := range results[:min(len(results), 10)] {
			miss.Found = append(miss.Found, h.Message)
		}
		r.Missed = append(r.Missed, miss)
	}
	return nil
}

// searchResults calls the tool like a model.
func searchResults(ctx context.Context, tool core.Tool, user core.UserID, question string,
	now time.Time) ([]search.HitView, error) {
	arguments, err := json.Marshal(map[string]any{"query": question, "limit": evalLimit})
	if err != nil {
		return nil, fmt.Errorf("write arguments: %w", err)
	}
	result, err := tool.Use(ctx, core.ToolUse{User: user, Now: now, Location: time.UTC, Arguments: arguments})
	if err != nil {
		return nil, err
	}
	var out search.View
	if err := json.Unmarshal([]byte(result.Text), &out); err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	return out.Results, nil
}

func scored(results []search.HitView, wanted []said) Score {
	out := Score{Questions: 1}
	part := 1 / float64(len(wanted))
	first := len(results)
	for _, w := range wanted {
		rank := slices.IndexFunc(results, func(h search.HitView) bool { return h.Message == w.id })
		label := w.at.Format(time.DateOnly)
		if slices.ContainsFunc(results[:min(len(results), 10)], func(h search.HitView) bool { return h.Label == label }) {
			out.Day10 += part
		}
		if rank < 0 {
			continue
		}
		first = min(first, rank)
		for n, recall := range map[int]*float64{5: &out.Recall5, 10: &out.Recall10, 20: &out.Recall20} {
			if rank < n {
				*recall += part
			}
		}
	}
	if first < len(results) {
		out.MRR = 1 / float64(first+1)
	}
	if first < min(len(results), 10) {
		out.Found10 = 1
	}
	return out
}

// precision returns the part of the first ten messages that is wanted.
func precision(found []search.Hit, wanted []said) float64 {
	shown, right := 0.0, 0.0
	for _, h := range found {
		if h.Kind != core.DocMessage || shown == 10 {
			continue
		}
		shown++
		if slices.ContainsFunc(wanted, func(w said) bool { return w.id == h.Message.ID }) {
			right++
		}
	}
	return right / max(1, shown)
}

func (s *Score) values() []*float64 {
	return []*float64{&s.Recall5, &s.Recall10, &s.Recall20, &s.Found10, &s.Day10, &s.MRR, &s.People10}
}

func (s *Score) add(one Score) {
	s.Questions += one.Questions
	for i, v := range s.values() {
		*v += *one.values()[i]
	}
}

func (s *Score) mean() {
	for _, v := range s.values() {
		*v /= float64(max(1, s.Questions))
	}
}

// Write writes the report as a table.
func (r Report) Write(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "CATEGORY\tQUESTIONS\tRECALL@5\t@10\t@20\tMRR\tANY@10\tDAY@10\tPEOPLE@10\t")
	line := func(name string, s Score) {
		fmt.Fprintf(t, "%s\t%d\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t\n", name, s.Questions, s.Recall5, s.Recall10,
			s.Recall20, s.MRR, s.Found10, s.Day10, s.People10)
	}
	for _, c := range slices.Sorted(maps.Keys(r.Categories)) {
		line(fmt.Sprint(c), r.Categories[c])
	}
	line("all", r.All)
	line("older than 90 days", r.Old)
	line("newest 30 days", r.New)
	_ = t.Flush() // writing to a terminal that went away
	fmt.Fprintf(w, "Old against new: %.2f. %d questions have no evidence and are left out.\n", r.Ratio, r.Skipped)
	for _, m := range r.Missed {
		fmt.Fprintf(w, "missed in %s: %s (evidence %v)\n", m.Sample, m.Question, m.Evidence)
	}
}

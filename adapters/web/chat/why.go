package chat

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text/i18n"
	lookup "github.com/everthread/everthread/core/web"
)

type why struct {
	Back       string
	Known      bool
	Facts      []fact
	Parts      []shownPart
	Total, Cap int
	Share      int // of Cap, in percent
	Tools      string
	Days       []whyDay
	Summaries  []string
	LookedUp   []lookedUp
	LeftOut    string
	Prompt     []prompted
	NoPrompt   string
}

// lookedUp is a search, or a page that was read and can be opened.
type lookedUp struct{ Title, Path string }

type fact struct{ Name, Value string }

type shownPart struct {
	Name   string
	Tokens int
	Share  int // of the prompt, in percent
	Error  string
}

type whyDay struct{ Name, Path, Messages string }

type prompted struct{ Who, Text string }

func (r *Room) whyPage(v *web.Visit, m core.Message, path string) error {
	out := why{Back: path}
	if m.Turn != 0 && (m.Role == core.RoleAssistant || m.Task != nil) {
		t, s, err := r.Store.Turn(v.Context(), v.User.ID, m.Turn)
		if err != nil && !errors.Is(err, core.ErrNotFound) {
			return fmt.Errorf("read the turn: %w", err)
		}
		if err == nil && s != nil {
			out.Known = true
			if err := r.explain(v, &out, t, s); err != nil {
				return err
			}
		}
	}
	return v.Page("why", say(v.Lang).WhyTitle, out)
}

func (r *Room) explain(v *web.Visit, out *why, t core.Turn, s *store.Snapshot) error {
	w := say(v.Lang)
	out.Total, out.Cap = s.Total, s.Cap
	out.Share = percent(s.Total, s.Cap)
	for _, p := range s.Parts {
		out.Parts = append(out.Parts, shownPart{cmp.Or(w.Parts[p.Name], p.Name), p.Tokens,
			percent(p.Tokens, s.Total), p.Error})
	}
	if s.ToolTokens > 0 {
		out.Tools = fmt.Sprintf(w.WhyTools, i18n.Number(v.Lang, s.ToolTokens))
	}
	out.LeftOut = w.WhyNothingLeft
	if s.Dropped > 0 {
		out.LeftOut = i18n.Number(v.Lang, s.Dropped) + " " + w.WhyLeftOut
	}
	out.Facts = facts(v, s)
	if err := r.whyDays(v, out, t, s); err != nil {
		return err
	}
	if err := r.whySummaries(v, out, s); err != nil {
		return err
	}
	if err := r.lookedUp(v, out, t); err != nil {
		return err
	}
	r.prompted(v, out, s)
	return nil
}

// lookedUp adds what a turn looked up on the web.
func (r *Room) lookedUp(v *web.Visit, out *why, t core.Turn) error {
	all, err := lookup.Lookups(v.Context(), r.Store, t)
	for _, l := range all {
		one := lookedUp{fmt.Sprintf(say(v.Lang).WhySearched, l.Query, l.Provider), ""}
		if l.URL != "" {
			one = lookedUp{cmp.Or(l.Title, l.URL), l.URL}
		}
		out.LookedUp = append(out.LookedUp, one)
	}
	return err
}

func facts(v *web.Visit, s *store.Snapshot) []fact {
	w := say(v.Lang)
	n := func(x int) string { return i18n.Number(v.Lang, x) }
	began := w.WhyEpochOn
	if s.NewEpoch != "" {
		began = fmt.Sprintf(w.WhyEpochNew, cmp.Or(w.Epochs[s.NewEpoch], s.NewEpoch))
	}
	messages := fmt.Sprintf("%s %s · %s %s · %s %s · %s %s", w.WhyIncluded, n(s.Included), w.WhyShortened, n(s.Shortened),
		w.WhyCovered, n(s.LeftOut), w.WhyLoaded, n(s.Loaded))
	cached := ""
	if s.Usage.Cached > 0 {
		cached = " (" + fmt.Sprintf(w.WhyCached, n(s.Usage.Cached)) + ")"
	}
	usage := fmt.Sprintf(w.WhyUsage, n(s.Usage.Prompt), cached, n(s.Usage.Completion))
	facts := []fact{
		{w.WhyStrategy, cmp.Or(w.Strategies[s.Strategy], s.Strategy) + ". " + began},
		{w.WhyMessages, messages},
	}
	if h := s.History; h != nil && h.Pages > 0 {
		facts = append(facts, fact{w.WhyHistory, fmt.Sprintf(w.WhyHistoryIs, n(h.Messages), n(h.Pages), n(h.Raw),
			n(h.Summarized), n(h.References), n(h.Omitted), n(h.Original), n(h.Tokens), n(h.UserTotal))})
	}
	facts = append(facts, fact{w.WhyLoops, n(s.OpenLoops)},
		fact{w.WhyModel, cmp.Or(s.Model, w.WhyUnknown) + " · " + w.WhySteps.Of(s.Steps)})
	if len(s.Reduced) > 0 {
		facts = append(facts, fact{w.WhyReduced, i18n.Reduced(v.Lang, s.Reduced)})
	}
	return append(facts,
		fact{v.Words.Tokens, usage},
		fact{w.WhyTimeName, fmt.Sprintf(w.WhyTime, lasted(v, s.FirstTokenMS), lasted(v, s.TotalMS))},
		fact{w.WhyTrace, s.Trace},
	)
}

func lasted(v *web.Visit, ms int64) string {
	if ms < 1000 {
		return strconv.FormatInt(ms, 10) + "\u00a0ms"
	}
	return i18n.Decimal(v.Lang, float64(ms)/1000, 1) + "\u00a0s"
}

// mostIncluded bounds the messages of a prompt that are looked up.
const mostIncluded = 2000

// whyDays adds the days of a prompt's messages.
func (r *Room) whyDays(v *web.Visit, out *why, t core.Turn, s *store.Snapshot) error {
	ids := idsOf(s.Messages, mostIncluded)
	if len(ids) == 0 || t.Mode == core.ModeThread {
		return nil
	}
	ms, err := r.Store.Messages(v.Context(), v.User.ID, ids)
	if err != nil {
		return fmt.Errorf("read the messages of the prompt: %w", err)
	}
	var order []core.SegmentID
	by := map[core.SegmentID][]core.MessageID{}
	for _, m := range ms {
		if by[m.Segment] == nil {
			order = append(order, m.Segment)
		}
		by[m.Segment] = append(by[m.Segment], m.ID)
	}
	for _, id := range order {
		g, err := r.Store.Segment(v.Context(), v.User.ID, id)
		if errors.Is(err, core.ErrNotFound) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read a day of the prompt: %w", err)
		}
		all := by[id]
		out.Days = append(out.Days, whyDay{v.DayName(g.Day.Label), fmt.Sprintf("/day/%s?at=%d#m%d", g.Day.Label,
			all[0], all[0]), v.Words.Messages.Of(len(all))})
	}
	return nil
}

// whySummaries adds the summaries of a prompt.
func (r *Room) whySummaries(v *web.Visit, out *why, s *store.Snapshot) error {
	e, err := r.Store.Epoch(v.Context(), v.User.ID, s.Epoch)
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the epoch: %w", err)
	}
	for _, h := range e.Head {
		if h.Segment == 0 || h.Version == 0 {
			continue
		}
		g, err := r.Store.Segment(v.Context(), v.User.ID, h.Segment)
		if errors.Is(err, core.ErrNotFound) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read a day of the prompt: %w", err)
		}
		out.Summaries = append(out.Summaries, fmt.Sprintf(say(v.Lang).WhySummaryOf, v.DayName(g.Day.Label),
			i18n.Number(v.Lang, h.Version)))
	}
	return nil
}

// prompted adds the exact prompt, if it can be rebuilt.
func (r *Room) prompted(v *web.Visit, out *why, s *store.Snapshot) {
	out.NoPrompt = say(v.Lang).WhyMissing
	all, err := r.Rebuilder.Rebuild(v.Context(), v.User.ID, s)
	if err != nil {
		return
	}
	out.NoPrompt = ""
	for _, m := range all {
		text := m.Content
		for _, c := range m.ToolCalls {
			text = strings.TrimSpace(text + "\n[" + c.Name + " " + c.Arguments + "]")
		}
		out.Prompt = append(out.Prompt, prompted{cmp.Or(say(v.Lang).Roles[string(m.Role)], string(m.Role)), text})
	}
}

func percent(part, whole int) int {
	if whole <= 0 {
		return 0
	}
	return min(100, (part*100+whole/2)/whole)
}

func idsOf(s core.IDSet, most int) []core.MessageID {
	var out []core.MessageID
	for _, r := range s.Ranges() {
		for id := r[0]; id <= r[1] && len(out) < most; id++ {
			out = append(out, id)
		}
	}
	return out
}

package chat

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/memory/items"
	"github.com/everthread/everthread/core/search"
	"github.com/everthread/everthread/core/text/day"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/text/markup"
)

// searchBox is a search as the URL states it.
type searchBox struct {
	Query     string
	Who, Kind string // keys of sides and kinds; empty: all
	Channel   string
	From, To  string // YYYY-MM-DD
	Day       string // the day from whose page the person came; empty: none
	Only      bool   // only Day is searched; From and To are empty
	Narrowed  bool
}

// path returns the path of the search, with or without the limit to its day.
func (b searchBox) path(only bool) string {
	q := url.Values{}
	for name, value := range map[string]string{"q": b.Query, "who": b.Who, "kind": b.Kind, "channel": b.Channel,
		"from": b.From, "to": b.To, "day": b.Day} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if only {
		q.Set("scope", "day")
	}
	return "/search?" + q.Encode()
}

// limit is the chip that limits a search to a day, or takes the limit away.
type limit struct{ Name, Path string }

type option struct {
	Value, Name string
	Here        bool
}

type searchView struct {
	Box                 searchBox
	Who, Kinds, Sources []option
	Hits, Threads       []hit
	More                bool // not all threads were searched
	Count, Mode         string
	Asked               bool
	Wide                string // path of the search without filters
	Limit               *limit // nil: the person came from no day
	Memory              *limit // leads to what memory has of it; nil: nothing
	Empty               *web.Empty
}

type hit struct {
	N             int
	Title         string // of a summary
	Who, Channel  string // of a message
	Thread        string // title of the plain thread; empty: the continuous one
	Moment, Stamp string
	Snippet       []piece
	Path          string
	Before, After line
	Why           []fact
}

type line struct{ Who, Text string }

type piece struct {
	Text string
	Mark bool // it matches the query
}

const (
	maxQuery = 500 // characters
	maxHits  = 20
)

// Values of the filters for the speaker and the kind of result.
var (
	sides = map[string]core.Role{"me": core.RoleUser, "assistant": core.RoleAssistant}
	kinds = map[string]core.DocKind{"message": core.DocMessage, "summary": core.DocSummary,
		"file": core.DocFile}
)

func (r *Room) searchBox(v *web.Visit) (searchBox, error) {
	q := v.R.URL.Query()
	box := searchBox{Query: strings.TrimSpace(q.Get("q")), From: dateIn(q, "from"), To: dateIn(q, "to"),
		Channel: web.Short(q.Get("channel"), 60)}
	box.Day = dateIn(q, "day")
	box.Only = box.Day != "" && box.From+box.To == "" && q.Get("scope") == "day"
	if box.Who = q.Get("who"); sides[box.Who] == "" {
		box.Who = ""
	}
	if box.Kind = q.Get("kind"); kinds[box.Kind] == "" {
		box.Kind = ""
	}
	if box.From != "" && box.To != "" && box.From > box.To {
		box.From, box.To = box.To, box.From
	}
	box.Narrowed = box.Only || box.Who+box.Kind+box.Channel+box.From+box.To != ""
	return box, v.Within(maxQuery, box.Query)
}

// dateIn returns a date of a query, or "" if it is missing or invalid.
func dateIn(q url.Values, name string) string {
	if t, err := time.Parse(time.DateOnly, q.Get(name)); err == nil {
		return t.Format(time.DateOnly)
	}
	return ""
}

func (r *Room) searchPage(v *web.Visit) error {
	w := say(v.Lang)
	box, err := r.searchBox(v)
	if err != nil {
		return err
	}
	page := searchView{Box: box}
	page.Who = options(page.Box.Who, "", w.AnyOne, "me", w.FromMe, "assistant", w.FromAssistant)
	page.Kinds = options(page.Box.Kind, "", w.AnyKind, "message", w.OnlyMessages, "summary", w.OnlySummaries,
		"file", w.OnlyFiles)
	if page.Sources, err = r.sources(v, page.Box.Channel); err != nil {
		return err
	}
	if box := page.Box; box.Day != "" {
		page.Limit = &limit{fmt.Sprintf(w.OnlyDay, v.DayName(box.Day)), box.path(!box.Only)}
	}
	title := w.SearchTitle
	if page.Box.Query != "" {
		title += ": " + page.Box.Query
		err = r.search(v, &page)
	}
	if err != nil {
		return err
	}
	return v.Page("search", title, page)
}

// options returns the values of a filter with their names, in pairs. here is the present one.
func options(here string, pairs ...string) []option {
	var out []option
	for p := range slices.Chunk(pairs, 2) {
		out = append(out, option{p[0], p[1], p[0] == here})
	}
	return out
}

func (r *Room) sources(v *web.Visit, here string) ([]option, error) {
	all, err := r.Store.Identities(v.Context(), v.User.ID)
	if err != nil {
		return nil, fmt.Errorf("read identities: %w", err)
	}
	names := append(web.Each(all, func(i core.Identity) string { return i.Address.Channel }), here)
	slices.Sort(names)
	pairs := []string{"", say(v.Lang).AnyChannel}
	for _, name := range slices.Compact(names) {
		if name != "" {
			pairs = append(pairs, name, v.ChannelName(name))
		}
	}
	return options(here, pairs...), nil
}

func (r *Room) search(v *web.Visit, page *searchView) error {
	box := page.Box
	q := search.Query{User: v.User.ID, Query: box.Query, Matching: true,
		Limit: maxHits, Now: v.Now, Location: v.Zone, Names: map[string]core.Role{v.User.Name: core.RoleUser},
		From: box.From, To: box.To, Kind: kinds[box.Kind], Role: sides[box.Who], Channel: box.Channel}
	if box.Only {
		q.From, q.To = box.Day, box.Day
	}
	found, err := r.Search.Search(v.Context(), q)
	if err != nil {
		return fmt.Errorf("search: %w", err)
	}
	threads, err := r.Search.InThreads(v.Context(), q)
	if err != nil {
		return fmt.Errorf("search threads: %w", err)
	}
	for i, h := range found.Hits {
		page.Hits = append(page.Hits, r.hit(v, i+1, h, box.Query))
	}
	for i, h := range threads.Hits {
		page.Threads = append(page.Threads, r.threadHit(v, len(page.Hits)+i+1, h, box.Query))
	}
	if !box.Narrowed {
		known, err := r.Memory.Search(v.Context(), items.Query{User: v.User.ID, Words: box.Query, Now: v.Now})
		if err != nil {
			return fmt.Errorf("search memory: %w", err)
		}
		if n := len(slices.DeleteFunc(known.Hits, func(h items.Hit) bool { return !h.FTS })); n > 0 {
			page.Memory = &limit{say(v.Lang).InMemory.Of(n), "/memory?" + url.Values{"q": {box.Query}}.Encode()}
		}
	}
	w := say(v.Lang)
	page.Asked, page.Mode, page.Count = true, v.Words.SearchMode[found.Mode], w.HitCount.Of(len(page.Hits))
	if len(page.Hits) == maxHits {
		page.Count = fmt.Sprintf(w.HitsBest, i18n.Number(v.Lang, maxHits))
	}
	page.More = threads.More
	page.Wide = "/search?" + url.Values{"q": {box.Query}}.Encode()
	switch {
	case len(page.Hits)+len(page.Threads) > 0:
	case box.Narrowed:
		page.Empty = &web.Empty{Title: w.SearchNone, Hint: w.SearchNarrowHint, Link: page.Wide, Label: w.SearchWide}
	default:
		page.Empty = &web.Empty{Title: w.SearchNone, Hint: w.SearchNoneHint}
	}
	return nil
}

func (r *Room) hit(v *web.Visit, n int, h search.Hit, query string) hit {
	w := say(v.Lang)
	if h.Kind == core.DocSummary {
		return hit{N: n, Title: fmt.Sprintf(w.DaySummary, v.DayName(h.Label)), Path: "/day/" + h.Label + "#summary",
			Snippet: r.marked(web.OneLine(markup.Excerpt(h.Snippet)), query), Why: whyFound(v, h)}
	}
	if h.Kind == core.DocFile {
		out := r.said(v, n, h.Message, "", query)
		out.Title, out.Why = fmt.Sprintf(w.FilePage, h.Page.Name, h.Page.Number), whyFound(v, h)
		out.Snippet = r.marked(web.OneLine(h.Snippet), query)
		return out
	}
	out := r.said(v, n, h.Message, h.Snippet, query)
	out.Before, out.After, out.Why = beside(v, h.Before), beside(v, h.After), whyFound(v, h)
	return out
}

func (r *Room) threadHit(v *web.Visit, n int, h search.ThreadHit, query string) hit {
	out := r.said(v, n, h.Message, h.Snippet, query)
	out.Thread, out.Before, out.After = h.Thread.Title, beside(v, h.Before), beside(v, h.After)
	return out
}

func (r *Room) said(v *web.Visit, n int, m core.Message, snippet, query string) hit {
	at := shownAt(m).In(v.Zone)
	pieces := r.marked(plain(snippet), query)
	path := fmt.Sprintf("/m/%d", m.ID)
	if n := slices.IndexFunc(pieces, func(p piece) bool { return p.Mark }); n >= 0 && isLong(m) {
		words := pieces[n].Text
		if n+1 < len(pieces) {
			words += web.Short(pieces[n+1].Text, 30)
		}
		path += "?find=" + url.QueryEscape(words)
	}
	return hit{N: n, Who: say(v.Lang).Roles[string(m.Role)], Channel: v.ChannelName(m.Channel),
		Moment: day.Name(at.Format(time.DateOnly), v.Today.Label, v.Lang) + ", " + at.Format(web.HourMinute),
		Stamp:  at.Format(time.RFC3339),
		Path:   path, Snippet: pieces}
}

func whyFound(v *web.Visit, h search.Hit) []fact {
	w := say(v.Lang)
	yes := map[bool]string{true: w.Yes, false: w.No}
	held := cmp.Or(strings.Join(slices.Sorted(maps.Keys(h.Explain.Terms)), ", "), w.No)
	out := []fact{{w.HitScore, i18n.Decimal(v.Lang, h.Score, 2)}, {w.HitWords, held}, {w.HitMeaning, yes[h.Near]}}
	if h.Explain.Date > 0 {
		out = append(out, fact{w.HitDate, w.Yes})
	}
	if h.Kind == core.DocMessage {
		out = append(out, fact{w.HitCovered, yes[h.Message.Covered]})
	}
	return out
}

func beside(v *web.Visit, b search.Beside) line {
	return line{say(v.Lang).Roles[string(b.Role)], plain(b.Snippet)}
}

// plain returns the snippet of a message as one line without markup.
func plain(snippet string) string { return web.OneLine(markup.Plain(snippet)) }

// marked splits a snippet into pieces at the words of the query.
func (r *Room) marked(snippet, query string) []piece {
	var out []piece
	from := 0
	for _, m := range r.Search.Marks(snippet, query) {
		if m[0] > from {
			out = append(out, piece{Text: snippet[from:m[0]]})
		}
		out = append(out, piece{snippet[m[0]:m[1]], true})
		from = m[1]
	}
	if from < len(snippet) {
		out = append(out, piece{Text: snippet[from:]})
	}
	return out
}

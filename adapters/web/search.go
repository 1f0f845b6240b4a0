package web

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/words"
)

// searchBox is the search of the page of a day.
type searchBox struct {
	Query, Day, Scope string
	Off               bool
}

// hit is a result as it is shown.
type hit struct {
	N                int
	Kind, Day, Label string
	Score, Covered   string
	Snippet          []piece
	Who, Path        string
	Message          bool
	Before, After    line
}

// line is what was said beside a hit.
type line struct{ Who, Text string }

// piece is a bit of a snippet; Mark: it matched.
type piece struct {
	Text string
	Mark bool
}

// maxQuery is how long a query may be, in bytes.
const maxQuery = 500

func (v *visit) searchPage() error {
	q := v.r.URL.Query()
	box := searchBox{Query: strings.TrimSpace(short(q.Get("q"), maxQuery)), Day: q.Get("day"), Scope: "all",
		Off: v.Search == nil}
	if q.Get("scope") == "day" {
		box.Scope = "day"
	}
	if _, err := v.dayOf(box.Day); err != nil {
		box.Day = v.today.Label
	}
	data := map[string]any{"Box": box, "DayName": v.dayName(box.Day)}
	if box.Off {
		return v.render(http.StatusServiceUnavailable, "search", v.words.SearchTitle, data)
	}
	if box.Query != "" {
		if err := v.search(box, data); err != nil {
			return err
		}
	}
	return v.page("search", v.words.SearchTitle, data)
}

func (v *visit) search(box searchBox, data map[string]any) error {
	q := core.SearchQuery{User: v.user.ID, Query: box.Query, Matching: true, Limit: 20, Now: v.now, Location: v.zone,
		Names: map[string]core.Role{v.user.Name: core.RoleUser}}
	if box.Scope == "day" {
		q.Day = box.Day
	}
	found, err := v.Search.Search(v.ctx(), q)
	if err != nil {
		return fmt.Errorf("search: %w", err)
	}
	var hits []hit
	for i, h := range found.Hits {
		hits = append(hits, v.hit(i+1, h, box.Query))
	}
	data["Hits"], data["Mode"], data["Asked"] = hits, v.words.SearchMode[found.Mode], true
	return nil
}

func (v *visit) hit(n int, h core.Hit, query string) hit {
	out := hit{N: n, Kind: v.words.Kinds[string(h.Kind)], Day: v.dayName(h.Label), Label: h.Label,
		Score: words.Decimal(v.lang, h.Score, 2), Path: "/day/" + h.Label + "#summary"}
	if h.Kind == core.DocSummary {
		h.Snippet = plainly(h.Snippet)
	}
	if h.Kind == core.DocMessage {
		out.Message, out.Covered = true, v.words.No
		if h.Message.Covered {
			out.Covered = v.words.Yes
		}
		out.Path = fmt.Sprintf("/m/%d", h.Message.ID)
		out.Who = v.words.Roles[string(h.Message.Role)]
		out.Before, out.After = v.beside(h.Before), v.beside(h.After)
	}
	out.Snippet = marked(h.Snippet, query)
	return out
}

func (v *visit) beside(b core.Beside) line {
	return line{v.words.Roles[string(b.Role)], strings.Join(strings.Fields(b.Snippet), " ")}
}

// signs are those of headings, lists and references in the one line of a snippet.
var signs = regexp.MustCompile(`(^|\s)(?:#{1,6}|[-*]) |\s*\[#[0-9][0-9, #]*\]`)

// plainly is the snippet of a summary as it is read.
func plainly(snippet string) string {
	return strings.TrimSpace(signs.ReplaceAllStringFunc(snippet, func(s string) string {
		switch {
		case strings.Contains(s, "["):
			return ""
		case strings.Contains(s, "#"):
			return " "
		}
		return " · "
	}))
}

// marked cuts a snippet where words of the query begin and end.
func marked(snippet, query string) []piece {
	var asked []string
	for _, w := range strings.Fields(strings.ToLower(query)) {
		if w = strings.Trim(w, `"'.,;:!?()“”«»`); utf8.RuneCountInString(w) > 1 {
			asked = append(asked, w)
		}
	}
	lower := strings.ToLower(snippet)
	if len(lower) != len(snippet) || len(asked) == 0 { // letters of other lengths: nothing can be marked
		return []piece{{Text: snippet}}
	}
	var out []piece
	from := 0
	for at := 0; at < len(snippet); {
		n := 0
		for _, w := range asked {
			if strings.HasPrefix(lower[at:], w) {
				n = max(n, len(w))
			}
		}
		if n == 0 || at > 0 && wordBefore(lower[:at]) {
			_, size := utf8.DecodeRuneInString(lower[at:])
			at += size
			continue
		}
		if at > from {
			out = append(out, piece{Text: snippet[from:at]})
		}
		out = append(out, piece{snippet[at : at+n], true})
		at += n
		from = at
	}
	if from < len(snippet) {
		out = append(out, piece{Text: snippet[from:]})
	}
	return out
}

// wordBefore reports whether a text ends within a word.
func wordBefore(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r > 127
}

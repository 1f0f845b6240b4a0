package settings

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text/i18n"
)

// Bounds of the search for traces of a text.
const (
	tracesTime   = 5 * time.Minute // it reads everything
	tracesShort  = 2               // least characters
	tracesLong   = 500             // most characters
	tracesLinked = 30              // places of a kind that are linked one by one
)

type tracesView struct {
	Problem *problem
	Text    string
	Asked   bool
	Files   bool // the files of the database were searched
	Count   string
	Places  []tracePlace
}

type tracePlace struct {
	Name, Count string
	Links       []traceLink
	More        string
}

type traceLink struct{ Path, Name string }

// traces searches the visitor's data for a text. The text is in the form, so that it appears in no URL and no log.
func (r *Room) traces(v *web.Visit) error {
	w, page := say(v.Lang).Settings, tracesView{Text: strings.TrimSpace(v.R.PostForm.Get("text"))}
	switch n := utf8.RuneCountInString(page.Text); {
	case n < tracesShort:
		page.Problem = &problem{"data", "text", fmt.Sprintf(w.TracesShort, i18n.Number(v.Lang, tracesShort))}
	case n > tracesLong:
		page.Problem = &problem{"data", "text", fmt.Sprintf(w.TracesLong, i18n.Number(v.Lang, tracesLong))}
	}
	if page.Problem != nil {
		return v.Render(http.StatusUnprocessableEntity, "traces", w.Traces, page)
	}
	if !r.looks.take(v.User.ID) {
		return &web.Fault{Status: http.StatusTooManyRequests, Text: w.TracesBusy, After: 30 * time.Second}
	}
	defer r.looks.leave(v.User.ID)
	// A connection without deadlines does without.
	_ = http.NewResponseController(v.W).SetWriteDeadline(time.Now().Add(tracesTime))
	ctx, cancel := context.WithTimeout(v.Context(), tracesTime)
	defer cancel()
	found, files, err := r.Engine.Traces(ctx, v.User.ID, page.Text)
	if err != nil {
		return fmt.Errorf("search for traces: %w", err)
	}
	page.Asked, page.Files = true, files
	page.Count = w.TracesFound.Of(len(found))
	page.Places = r.tracePlaces(v, found)
	return v.Page("traces", w.Traces, page)
}

// tracePlaces groups the places by kind, in the order found.
func (r *Room) tracePlaces(v *web.Visit, found []store.Trace) []tracePlace {
	w := say(v.Lang).Settings
	var out []tracePlace
	at, counts := map[string]int{}, map[string]int{}
	for _, t := range found {
		kind, _, _ := strings.Cut(t.Where, ".")
		if strings.HasPrefix(t.Where, "file ") {
			kind = "file"
		}
		n, known := at[kind]
		if !known {
			n = len(out)
			at[kind], out = n, append(out, tracePlace{Name: cmp.Or(w.Places[kind], t.Where)})
		}
		counts[kind]++
		if counts[kind] <= tracesLinked {
			if link, ok := r.traceLink(v, kind, t.ID); ok && !slices.Contains(out[n].Links, link) {
				out[n].Links = append(out[n].Links, link)
			}
		}
	}
	for kind, n := range at {
		out[n].Count = i18n.Number(v.Lang, counts[kind])
		if more := counts[kind] - tracesLinked; more > 0 && len(out[n].Links) > 0 {
			out[n].More = fmt.Sprintf(w.TracesMore, i18n.Number(v.Lang, more))
		}
	}
	return out
}

// traceLink returns a link to the page that shows a place, if there is one.
func (r *Room) traceLink(v *web.Visit, kind string, id int64) (traceLink, bool) {
	w := say(v.Lang).Settings
	switch kind {
	case "messages", "revisions", "events", "index of message":
		return r.messageLink(v, core.MessageID(id))
	case "summaries", "segments", "index of summary":
		g, err := r.Store.Segment(v.Context(), v.User.ID, core.SegmentID(id))
		return traceLink{"/day/" + g.Day.Label, v.DayName(g.Day.Label)}, err == nil
	case "turns", "journal":
		t, _, err := r.Store.Turn(v.Context(), v.User.ID, core.TurnID(id))
		if err != nil || len(t.Inputs) == 0 {
			return traceLink{}, false
		}
		return r.messageLink(v, t.Inputs[len(t.Inputs)-1])
	case "threads":
		h, err := r.Store.Thread(v.Context(), v.User.ID, core.ThreadID(id))
		return traceLink{fmt.Sprintf("/threads/%d", h.ID), web.Short(h.Title, 60)}, err == nil &&
			h.Mode == core.ModeThread && h.Title != ""
	case "items", "themes", "index of item":
		return traceLink{"/memory?archived=1", say(v.Lang).Memory.Title}, true
	case "sessions":
		return traceLink{"/settings/sessions", w.Sessions}, true
	case "api_keys":
		return traceLink{"/settings/keys", w.Keys}, true
	}
	return traceLink{}, false
}

// messageLink returns a link to a message, named by its time and first words; false: the message is gone.
func (r *Room) messageLink(v *web.Visit, id core.MessageID) (traceLink, bool) {
	ms, err := r.Store.Messages(v.Context(), v.User.ID, []core.MessageID{id})
	if err != nil || len(ms) == 0 {
		return traceLink{}, false
	}
	name := v.Moment(ms[0].SentAt)
	if text := web.Short(web.OneLine(ms[0].Text), 60); text != "" {
		name += ": " + text
	}
	return traceLink{fmt.Sprintf("/m/%d", id), name}, true
}

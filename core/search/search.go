// Package search is the vocabulary of searches: what is asked, what is found and why, and the form of it for models and
// programs.
package search

import (
	"math"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// Query is a search of the continuous thread.
type Query struct {
	User    core.UserID
	Query   string
	Day     string // YYYY-MM-DD: only that day; empty: all
	Recency int    // search only this many recent days; 0: all
	// From and To are the first and last day to search; empty: no bound.
	From, To string
	// Kind, Role and Channel restrict the search to one kind of document, one side of the conversation, or one channel;
	// empty: all. A summary has neither role nor channel.
	Kind    core.DocKind
	Role    core.Role
	Channel string
	// Before leaves out this message and later ones: a question does not find itself. 0: none.
	Before core.MessageID
	// Thread is the one plain thread to search; 0: all. Only of the search of plain threads.
	Thread core.ThreadID
	// Hidden holds messages that are left out.
	Hidden core.IDSet
	// Matching: every hit holds a word of the query or matches by meaning, and neighbouring messages come as its
	// context, as people expect. Otherwise a neighbour may be a hit itself, which finds answers that repeat no word of
	// the question.
	Matching bool
	Limit    int // 0: the default
	MinScore float64
	Now      time.Time
	Location *time.Location
	// Names maps names in a query, such as the person's display name, to roles.
	Names map[string]core.Role
}

// Result holds the hits of a search, best first.
type Result struct {
	Hits []Hit
	Mode string // hybrid, or fts
	// Note says in plain words why Mode is fts, or why there are no hits.
	Note string
	// Below counts hits that scored below MinScore.
	Below int
	// Missing counts messages that are not searched by their words yet, as the index is being built.
	Missing int
}

// Hit is one result of a search.
type Hit struct {
	Kind    core.DocKind
	Segment core.SegmentID
	Label   string // of the day
	Message core.Message
	Summary core.Summary
	// Page is the matching page of a document that Message carried.
	Page    store.FilePage
	Snippet string
	Score   float64 // 0 to 1
	FTS     bool    // it holds a word of the query
	Near    bool    // it was found by its meaning
	// Neighbour: it was found only through adjacent hits. It never ranks above the best of those.
	Neighbour bool
	From, To  core.MessageID // the window in which a message was found by its meaning
	// Before and After are the adjacent messages, with Query.Matching. They are
	// zero if the adjacent message is a hit itself, or of another day.
	Before, After Beside
	Explain       Explanation
}

// ThreadHits holds the hits of a search of plain threads, best first.
type ThreadHits struct {
	Hits []ThreadHit
	More bool // some threads or messages were not searched
}

// ThreadHit is a message of a plain thread with words of the query, and its adjacent messages.
type ThreadHit struct {
	Thread        core.Thread
	Message       core.Message
	Snippet       string
	Score         float64 // 0 to 1
	Before, After Beside
}

// Beside is the message adjacent to a hit. The zero value is none.
type Beside struct {
	Message core.MessageID
	Role    core.Role
	Snippet string
	Foreign bool          // it has words that the user did not write
	Speaker *core.Speaker // of a group
}

// Explanation holds the components of a score.
type Explanation struct {
	Terms     map[string]float64 `json:"terms,omitempty"` // BM25 of each word of the query
	Neighbour float64            `json:"neighbour,omitempty"`
	Day       float64            `json:"day,omitempty"`
	Named     float64            `json:"named,omitempty"` // factor for a named person, role or channel
	Date      float64            `json:"date,omitempty"`
	Lexical   float64            `json:"lexical"`  // 0 to 1
	Semantic  float64            `json:"semantic"` // 0 to 1
	Covered   bool               `json:"covered,omitempty"`
}

// ItemSignal holds the signals by which a memory search found one item.
type ItemSignal struct {
	ID       core.ItemID
	FTS      bool
	Lexical  float64 // BM25, above 0 if FTS
	Near     bool
	Distance float64 // cosine, 0 to 2, if Near
}

// ItemSignals holds the candidates of a memory search by each signal, unweighted, in no order.
type ItemSignals struct {
	Signals []ItemSignal
	Mode    string // hybrid, or fts
	Note    string // why Mode is fts
}

// View is the form of a Result for models and programs.
type View struct {
	Results []HitView `json:"results"`
	Mode    string    `json:"mode"`
	Note    string    `json:"note,omitempty"`
	Missing int       `json:"not_indexed_yet,omitempty"`
}

// HitView is a hit of a View.
type HitView struct {
	Kind    core.DocKind   `json:"kind"`
	Label   string         `json:"day_label"`
	Segment core.SegmentID `json:"day_segment_id,omitempty"` // 0 in plain threads
	Score   float64        `json:"score"`
	Message core.MessageID `json:"message_id,omitempty"`
	From    core.MessageID `json:"from_message_id,omitempty"`
	To      core.MessageID `json:"to_message_id,omitempty"`
	Role    core.Role      `json:"role,omitempty"`
	Speaker string         `json:"speaker,omitempty"` // in a group: the number and the name of its writer
	SentAt  string         `json:"sent_at,omitempty"`
	Snippet string         `json:"snippet,omitempty"`
	Covered *bool          `json:"covered_by_summary,omitempty"`
	Summary string         `json:"summary_snippet,omitempty"`
	// Attachment, Name and Page describe a page of a file that Message carried.
	Attachment string      `json:"attachment,omitempty"`
	Name       string      `json:"name,omitempty"`
	Page       int         `json:"page,omitempty"`
	Foreign    bool        `json:"foreign,omitempty"` // it has words that the user did not write
	Signals    SignalsView `json:"signals"`
}

// SignalsView holds the signals that found a hit.
type SignalsView struct {
	FTS       bool `json:"fts"`
	Semantic  bool `json:"semantic"`
	Neighbour bool `json:"neighbour,omitempty"`
}

// View returns the result as a View, with times in a zone (nil: UTC).
func (r Result) View(zone *time.Location) View {
	out := View{Results: make([]HitView, 0, len(r.Hits)), Mode: r.Mode, Note: r.Note, Missing: r.Missing}
	for _, h := range r.Hits {
		out.Results = append(out.Results, h.view(zone))
	}
	return out
}

// Foreign reports whether the hit, or what is shown around it, has words that the user did not write.
func (h Hit) Foreign() bool {
	switch h.Kind {
	case core.DocSummary:
		return h.Summary.Tainted
	case core.DocFile:
		return true
	}
	return h.Message.Foreign() || h.Before.Foreign || h.After.Foreign
}

func (h Hit) view(zone *time.Location) HitView {
	v := HitView{Kind: h.Kind, Label: h.Label, Segment: h.Segment, Score: Thousandths(h.Score), Foreign: h.Foreign(),
		Signals: SignalsView{h.FTS, h.Near, h.Neighbour}}
	if h.Kind == core.DocSummary {
		v.Summary = h.Snippet
		return v
	}
	if h.Kind == core.DocFile {
		v.Message, v.SentAt, v.Snippet = h.Message.ID, core.Stamp(h.Message.SentAt, zone), h.Snippet
		v.Attachment, v.Name, v.Page = h.Page.File.String(), h.Page.Name, h.Page.Number
		return v
	}
	covered := h.Message.Covered
	v.From, v.To, v.Speaker = h.From, h.To, h.Message.Speaker.String()
	v.Message, v.Role, v.SentAt, v.Snippet, v.Covered = h.Message.ID, h.Message.Role, core.Stamp(h.Message.SentAt, zone),
		h.Snippet, &covered
	return v
}

// Thousandths rounds a score for display.
func Thousandths(f float64) float64 { return math.Round(f*1000) / 1000 }

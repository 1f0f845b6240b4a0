package core

import (
	"math"
	"time"
)

// SearchView is the form of a SearchResult for models and programs.
type SearchView struct {
	Results []HitView `json:"results"`
	Mode    string    `json:"mode"`
	Note    string    `json:"note,omitempty"`
}

// HitView is a hit of a SearchView.
type HitView struct {
	Kind    DocKind   `json:"kind"`
	Label   string    `json:"day_label"`
	Segment SegmentID `json:"day_segment_id"`
	Score   float64   `json:"score"`
	Message MessageID `json:"message_id,omitempty"`
	From    MessageID `json:"from_message_id,omitempty"`
	To      MessageID `json:"to_message_id,omitempty"`
	Role    Role      `json:"role,omitempty"`
	SentAt  string    `json:"sent_at,omitempty"`
	Snippet string    `json:"snippet,omitempty"`
	Covered *bool     `json:"covered_by_summary,omitempty"`
	Summary string    `json:"summary_snippet,omitempty"`
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

// View returns the result as a SearchView, with times in a zone (nil: UTC).
func (r SearchResult) View(zone *time.Location) SearchView {
	out := SearchView{Results: make([]HitView, 0, len(r.Hits)), Mode: r.Mode, Note: r.Note}
	for _, h := range r.Hits {
		out.Results = append(out.Results, h.view(zone))
	}
	return out
}

func (h Hit) view(zone *time.Location) HitView {
	v := HitView{Kind: h.Kind, Label: h.Label, Segment: h.Segment, Score: Thousandths(h.Score),
		Signals: SignalsView{h.FTS, h.Near, h.Neighbour}}
	if h.Kind == DocSummary {
		v.Summary, v.Foreign = h.Snippet, h.Summary.Tainted
		return v
	}
	if h.Kind == DocFile {
		v.Message, v.SentAt, v.Snippet, v.Foreign = h.Message.ID, Stamp(h.Message.SentAt, zone), h.Snippet, true
		v.Attachment, v.Name, v.Page = h.Page.File.String(), h.Page.Name, h.Page.Number
		return v
	}
	covered := h.Message.Covered
	v.From, v.To, v.Foreign = h.From, h.To, h.Message.Foreign()
	v.Message, v.Role, v.SentAt, v.Snippet, v.Covered = h.Message.ID, h.Message.Role, Stamp(h.Message.SentAt, zone),
		h.Snippet, &covered
	return v
}

// Thousandths rounds a score for display.
func Thousandths(f float64) float64 { return math.Round(f*1000) / 1000 }

// ItemView is the form of an Item for models and programs.
type ItemView struct {
	ID        ItemID         `json:"id"`
	Theme     string         `json:"theme"`
	Type      ItemType       `json:"type"`
	Content   string         `json:"content"`
	Tags      []string       `json:"tags"`
	Status    ItemStatus     `json:"status"`
	Embedding EmbeddingState `json:"embedding,omitempty"`
	Thread    ThreadID       `json:"source_thread_id,omitempty"`
	Message   MessageID      `json:"source_message_id,omitempty"`
	Created   string         `json:"created_at"`
	Updated   string         `json:"updated_at"`
	Foreign   bool           `json:"foreign,omitempty"` // it derives from words that the user did not write
}

// View returns the item as an ItemView, with times in a zone (nil: UTC).
func (i Item) View(zone *time.Location) ItemView {
	return ItemView{i.ID, i.Theme, i.Type, i.Content, append([]string{}, i.Tags...), i.Status, i.Embedding,
		i.SourceThread, i.SourceMessage, Stamp(i.CreatedAt, zone), Stamp(i.UpdatedAt, zone), i.Tainted}
}

package recall

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/search"
	"github.com/everthread/everthread/core/store"
)

const me core.UserID = 7

// world has messages in memory. It is a store itself, and can be copied into an SQL store.
type world struct {
	t         testing.TB
	a         *Analyzer
	messages  []core.Message
	segments  []core.Segment
	summaries []core.Summary
	items     []core.Item
	windows   []store.TextWindow
	vectors   map[core.WindowID][]float32
	means     func(text string) []float32
	failing   error // returned by every read
	asked     []store.MatchQuery
	names     map[string]core.Role
}

func newWorld(t testing.TB, languages ...string) *world {
	return &world{t: t, a: newAnalyzer(t, languages...), vectors: map[core.WindowID][]float32{}, means: meaning}
}

// say adds a message of user me on a day, shortly after noon.
func (w *world) say(label string, role core.Role, text string) core.MessageID {
	return w.sayAs(me, label, role, text)
}

func (w *world) sayAs(user core.UserID, label string, role core.Role, text string) core.MessageID {
	segment := w.day(user, label)
	day, err := time.Parse(time.DateOnly, label)
	if err != nil {
		w.t.Fatal(err)
	}
	id := core.MessageID(1)
	for _, m := range w.messages {
		if m.User == user {
			id = m.ID + 1
		}
	}
	at := day.Add(12*time.Hour + time.Duration(id)*time.Second)
	w.messages = append(w.messages, core.Message{User: user, ID: id, Thread: 1, Segment: segment, Identity: 1,
		Channel: "telegram", Role: role, Kind: core.KindChat, Text: text, Tokens: len(text)/4 + 1, SentAt: at,
		Position: at.UnixMicro()})
	return id
}

func (w *world) day(user core.UserID, label string) core.SegmentID {
	for _, s := range w.segments {
		if s.User == user && s.Day.Label == label {
			return s.ID
		}
	}
	id := core.SegmentID(100 + len(w.segments))
	w.segments = append(w.segments, core.Segment{User: user, ID: id, Day: core.Day{Label: label, Zone: "UTC"},
		State: core.SegmentFinal})
	return id
}

// message returns the stored message with an id, which the caller may change.
func (w *world) message(id core.MessageID) *core.Message {
	for i := range w.messages {
		if w.messages[i].User == me && w.messages[i].ID == id {
			return &w.messages[i]
		}
	}
	w.t.Fatalf("no message #%d", id)
	return nil
}

// summarize adds a summary of a day.
func (w *world) summarize(label, markdown string) core.SegmentID {
	id := w.day(me, label)
	w.summaries = append(w.summaries, core.Summary{User: me, Segment: id, Label: label, Version: 1, Markdown: markdown,
		CreatedAt: saturday})
	return id
}

// embed cuts every day into windows with vectors.
func (w *world) embed() {
	for _, s := range w.segments {
		var day []core.Message
		for _, m := range w.messages {
			if m.User == s.User && m.Segment == s.ID && !m.Redacted && m.Role != core.RoleTool {
				day = append(day, m)
			}
		}
		windows, _ := Windows{}.Cut(day, 0, true)
		for _, window := range windows {
			window.ID = core.WindowID(len(w.windows) + 1)
			w.windows = append(w.windows, window)
			var text []core.Message
			for _, m := range day {
				if window.First <= m.ID && m.ID <= window.Last {
					text = append(text, m)
				}
			}
			w.vectors[window.ID] = padded(w.means(Windows{}.Text(text)))
			w.windows[len(w.windows)-1].Passages = w.passages(text)
		}
	}
}

// passages returns the passages of a window's messages with their vectors.
func (w *world) passages(messages []core.Message) []store.PassageVector {
	var out []store.PassageVector
	for _, p := range (Windows{}).Passages(messages) {
		out = append(out, store.PassageVector{Message: p.Message, From: p.From, To: p.To,
			Values: store.Direction(w.means(p.Text))})
	}
	return out
}

// found reports whether a message is in the full-text index.
func found(m core.Message, user core.UserID) bool {
	return m.User == user && m.Kind == core.KindChat && m.Segment > 0 && !m.Redacted && m.Text != "" &&
		m.Role != core.RoleTool
}

func (w *world) Directory(_ context.Context, user core.UserID) (*store.Directory, error) {
	d := &store.Directory{Channels: []string{"telegram", "signal"}}
	places := map[core.SegmentID]int32{}
	for _, s := range w.segments {
		if s.User == user {
			places[s.ID] = int32(len(d.Segments))
			d.Segments = append(d.Segments, store.DirectorySegment{ID: s.ID, Label: s.Day.Label})
		}
	}
	for _, m := range w.messages {
		if !found(m, user) {
			continue
		}
		e := store.DirectoryEntry{ID: m.ID, Segment: places[m.Segment], Tokens: uint16(m.Tokens)}
		e.Channel = uint8(slices.Index(d.Channels, m.Channel))
		if m.Role == core.RoleAssistant {
			e.Role = 1
		}
		d.Tokens += int64(m.Tokens)
		d.Messages = append(d.Messages, e)
	}
	return d, w.failing
}

func (w *world) Match(_ context.Context, q store.MatchQuery) ([]store.Posting, error) {
	w.asked = append(w.asked, q)
	docs := map[int64]string{}
	for _, m := range w.messages {
		if q.Kind == core.DocMessage && found(m, q.User) {
			docs[int64(m.ID)] = m.Text
		}
	}
	for _, s := range w.summaries {
		if q.Kind == core.DocSummary && s.User == q.User {
			docs[int64(s.Segment)] = s.Markdown
		}
	}
	for _, i := range w.items {
		if q.Kind == core.DocItem && i.User == q.User {
			docs[int64(i.ID)] = i.Content
		}
	}
	postings := map[string]*store.Posting{}
	for id, text := range docs {
		if id < q.From || q.To > 0 && id > q.To {
			continue
		}
		for term, n := range w.a.Index(text) {
			if postings[term] == nil {
				postings[term] = &store.Posting{Term: term}
			}
			if postings[term].IDs = append(postings[term].IDs, id); n > 1 {
				postings[term].Often = append(postings[term].Often, id)
			}
		}
	}
	var out []store.Posting
	for _, term := range q.Terms {
		if p := postings[term]; p != nil {
			slices.Sort(p.IDs)
			slices.Sort(p.Often)
			out = append(out, *p)
		}
	}
	return out, w.failing
}

func (w *world) Messages(_ context.Context, user core.UserID, ids []core.MessageID) ([]core.Message, error) {
	var out []core.Message
	for _, m := range w.messages {
		if m.User == user && slices.Contains(ids, m.ID) {
			out = append(out, m)
		}
	}
	return out, w.failing
}

func (w *world) SummariesOf(_ context.Context, user core.UserID, ids []core.SegmentID) ([]core.Summary, error) {
	var out []core.Summary
	for _, s := range w.summaries {
		if s.User == user && slices.Contains(ids, s.Segment) {
			out = append(out, s)
		}
	}
	return out, w.failing
}

func (w *world) Nearest(_ context.Context, q store.NearestQuery) ([]store.Neighbour, error) {
	var out []store.Neighbour
	for _, window := range w.windows {
		if v := w.vectors[window.ID]; window.User == q.User && q.Kind == core.VectorWindow && q.Config == "test" && v != nil {
			out = append(out, store.Neighbour{ID: int64(window.ID), Distance: 1 - dot(v, q.Vector)})
		}
	}
	for _, i := range w.items {
		if i.User == q.User && q.Kind == core.VectorItem {
			out = append(out, store.Neighbour{ID: int64(i.ID), Distance: 1 - dot(meaning(i.Content), q.Vector)})
		}
	}
	slices.SortFunc(out, func(a, b store.Neighbour) int { return cmp.Compare(a.Distance, b.Distance) })
	return out[:min(len(out), q.K)], w.failing
}

func (w *world) Windows(_ context.Context, user core.UserID, ids []core.WindowID) ([]store.TextWindow, error) {
	var out []store.TextWindow
	for _, window := range w.windows {
		if window.User == user && slices.Contains(ids, window.ID) {
			out = append(out, window)
		}
	}
	return out, w.failing
}

func (w *world) Segment(_ context.Context, user core.UserID, id core.SegmentID) (core.Segment, error) {
	for _, s := range w.segments {
		if s.User == user && s.ID == id {
			return s, w.failing
		}
	}
	return core.Segment{}, cmp.Or(w.failing, core.ErrNotFound)
}

func (w *world) DayMessages(_ context.Context, user core.UserID, id core.SegmentID, after core.MessageID,
	limit int) ([]core.Message, error) {
	var out []core.Message
	for _, m := range w.messages {
		if m.User == user && m.Segment == id && m.ID > after && m.Kind == core.KindChat && len(out) < limit {
			out = append(out, m)
		}
	}
	return out, w.failing
}

func (w *world) Summaries(_ context.Context, user core.UserID, id core.SegmentID, _ int) ([]core.Summary, error) {
	out, err := w.SummariesOf(context.Background(), user, []core.SegmentID{id})
	return out, err
}

// searcher returns a searcher for the world itself.
func (w *world) searcher() *Searcher {
	return &Searcher{Store: w, Days: w, Analyzer: w.a, Tokens: tokens.New(), Settings: Default(), Log: zap.NewNop()}
}

// search searches the messages of user me on saturday.
func (w *world) search(query string) search.Result {
	w.t.Helper()
	return w.searchWith(search.Query{Query: query})
}

func (w *world) searchWith(q search.Query) search.Result {
	w.t.Helper()
	q.User, q.Now, q.Location, q.Names = me, saturday, time.UTC, w.names
	got, err := w.searcher().Search(context.Background(), q)
	if err != nil {
		w.t.Fatal(err)
	}
	return got
}

// sameMeaning replaces synonyms, for the test's embedder.
var sameMeaning = strings.NewReplacer("automobile", "car", "vehicle", "car", "physician", "doctor", "feline", "cat")

// meaning returns a vector of a text's words, in which synonyms are equal.
func meaning(text string) []float32 {
	v := make([]float32, core.VectorSize)
	for _, w := range strings.FieldsFunc(sameMeaning.Replace(strings.ToLower(text)),
		func(r rune) bool { return !isWordRune(r) }) {
		h := fnv.New32a()
		h.Write([]byte(w))
		v[h.Sum32()%core.VectorSize]++
	}
	norm := math.Sqrt(dot(v, v))
	for i := range v {
		v[i] /= float32(max(norm, 1e-9))
	}
	return v
}

func dot(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// embedder embeds texts by means, fails with err, or blocks until ctx ends.
type embedder struct {
	err   error
	slow  bool
	means func(text string) []float32 // nil: meaning
}

func (e embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if e.slow {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if e.means == nil {
		e.means = meaning
	}
	var out [][]float32
	for _, t := range texts {
		out = append(out, e.means(t))
	}
	return out, e.err
}

// ids lists hits: #12 for a message, and the label for a summary.
func ids(hits []search.Hit) string {
	var out []string
	for _, h := range hits {
		if h.Kind == core.DocSummary {
			out = append(out, h.Label)
			continue
		}
		out = append(out, fmt.Sprintf("#%d", h.Message.ID))
	}
	return strings.Join(out, " ")
}

// postgresDSN returns the address of a PostgreSQL for tests; empty if there is none.
func postgresDSN() string { return os.Getenv("TEST_POSTGRES_DSN") }

func read(t testing.TB, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// only returns the same embedder for all users.
func only(e core.Embedder) core.EmbedderOf {
	return func(context.Context, core.UserID) (core.Embedder, string, error) { return e, "test", nil }
}

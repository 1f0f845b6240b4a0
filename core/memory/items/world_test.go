package items_test

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/memory/items"
	"github.com/everthread/everthread/core/search"
	"github.com/everthread/everthread/core/store"
)

// noon is Thursday 19 November 2026, 13:00 in Paris.
func noon() time.Time { return time.Date(2026, 11, 19, 12, 0, 0, 0, time.UTC) }

// shelf is an in-memory store of memory items that applies effects as a store does.
type shelf struct {
	t      testing.TB
	items  []core.Item
	digest map[core.ItemID]string
	themes map[core.UserID][]core.Theme
	last   int64
	err    error
}

func newShelf(t testing.TB) *shelf {
	return &shelf{t: t, digest: map[core.ItemID]string{}, themes: map[core.UserID][]core.Theme{}}
}

func (s *shelf) Themes(_ context.Context, user core.UserID, limit int) ([]core.Theme, error) {
	out := slices.Clone(s.themes[user])
	for i := range out {
		for _, x := range s.items {
			if x.User == user && x.Theme == out[i].Slug && x.Status == core.ItemActive {
				out[i].Active++
			}
		}
	}
	slices.SortFunc(out, func(a, b core.Theme) int { return cmp.Or(b.Active-a.Active, strings.Compare(a.Slug, b.Slug)) })
	return out[:min(limit, len(out))], s.err
}

func (s *shelf) Item(_ context.Context, user core.UserID, id core.ItemID) (core.Item, error) {
	for _, x := range s.items {
		if x.User == user && x.ID == id {
			return x, s.err
		}
	}
	return core.Item{}, cmp.Or(s.err, core.ErrNotFound)
}

func (s *shelf) Items(_ context.Context, q store.ItemQuery) ([]core.Item, error) {
	var out []core.Item
	for _, x := range s.items {
		if x.User == q.User && (q.IDs == nil || slices.Contains(q.IDs, x.ID)) && (q.Theme == "" || q.Theme == x.Theme) &&
			(q.Types == nil || slices.Contains(q.Types, x.Type)) && !x.CreatedAt.Before(q.Since) &&
			(q.Status == "" || q.Status == x.Status) {
			out = append(out, x)
		}
	}
	slices.SortFunc(out, func(a, b core.Item) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt),
			cmp.Compare(b.ID, a.ID))
	})
	return out[:min(q.Limit, len(out))], s.err
}

func (s *shelf) SameItem(_ context.Context, user core.UserID, digest string) (core.Item, error) {
	for _, x := range s.items {
		if x.User == user && x.Status == core.ItemActive && s.digest[x.ID] == digest {
			return x, s.err
		}
	}
	return core.Item{}, cmp.Or(s.err, core.ErrNotFound)
}

func (s *shelf) NewID(context.Context, core.UserID) (int64, error) {
	s.last++
	return s.last, s.err
}

func (s *shelf) apply(user core.UserID, effects ...core.Effect) {
	s.t.Helper()
	for _, e := range effects {
		switch e := e.(type) {
		case effect.AddItem:
			if _, err := s.SameItem(context.Background(), user, e.Digest); err == nil {
				continue
			}
			s.items = append(s.items, e.Item)
			s.digest[e.Item.ID] = e.Digest
			if !slices.ContainsFunc(s.themes[user], func(t core.Theme) bool { return t.Slug == e.Theme.Slug }) {
				s.themes[user] = append(s.themes[user], e.Theme)
			}
		case effect.ArchiveItem:
			n := slices.IndexFunc(s.items, func(x core.Item) bool { return x.User == user && x.ID == e.Item })
			if n < 0 {
				s.t.Fatalf("no item %d to archive", e.Item)
			}
			s.items[n].Status = core.ItemArchived
		default:
			s.t.Fatalf("effect %T", e)
		}
	}
}

// said is a fixed result of recall for every query.
type said struct {
	signals search.ItemSignals
	err     error
}

func (s *said) Items(context.Context, core.UserID, string) (search.ItemSignals, error) {
	return s.signals, s.err
}

type world struct {
	*shelf
	said
	memory *items.Memory
	now    time.Time
	user   core.UserID
}

func newWorld(t testing.TB) *world {
	w := &world{shelf: newShelf(t), now: noon(), user: 1}
	w.memory = &items.Memory{Store: w.shelf, Signals: &w.said}
	return w
}

// use calls a tool, applies its effects and returns its output.
func (w *world) use(name, arguments string) (string, error) {
	w.t.Helper()
	for _, tool := range w.memory.Tools() {
		if tool.Spec().Name != name {
			continue
		}
		r, err := tool.Use(w.t.Context(), core.ToolUse{User: w.user, Thread: 3, Inputs: []core.MessageID{41, 42}, Now: w.now,
			Location: paris(w.t), Arguments: json.RawMessage(arguments)})
		w.apply(w.user, r.Effects...)
		return r.Text, err
	}
	w.t.Fatalf("no tool %s", name)
	return "", nil
}

func (w *world) must(name, arguments string) map[string]any {
	w.t.Helper()
	text, err := w.use(name, arguments)
	if err != nil {
		w.t.Fatalf("%s %s: %v", name, arguments, err)
	}
	var out map[string]any
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		w.t.Fatalf("%s: %v", text, err)
	}
	return out
}

func (w *world) keep(content, theme string) core.ItemID {
	w.t.Helper()
	arguments, _ := json.Marshal(map[string]any{"type": "fact", "content": content, "theme": theme})
	w.now = w.now.Add(time.Minute)
	return core.ItemID(w.must("memory_add", string(arguments))["id"].(float64))
}

func paris(t testing.TB) *time.Location {
	l, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

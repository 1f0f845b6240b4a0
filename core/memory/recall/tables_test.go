package recall

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/store"
)

// sqlStore is an SQL store that a world can be copied into.
type sqlStore interface {
	store.RecallStore
	store.IndexStore
	Days
	DB() *sql.DB
	Analyze(core.Analyzer)
}

// into copies the world into an SQL store and returns a searcher for it.
func (w *world) into(s sqlStore) *Searcher {
	ctx := context.Background()
	s.Analyze(w.a)
	exec := func(query string, args ...any) {
		if _, err := s.DB().Exec(query, args...); err != nil {
			w.t.Fatalf("%s: %v", query, err)
		}
	}
	last := map[core.UserID]core.MessageID{me: 0}
	for _, m := range w.messages {
		last[m.User] = m.ID
	}
	for user, id := range last {
		exec(
			`INSERT INTO users (id, name, role, last_message, last_id, indexed, index_version, created_at) VALUES ($1, 'u', 'member', $2, 100000, $2, 'older', 0)`, int64(user), int64(id))
		exec(`INSERT INTO threads (user_id, id, mode, title, created_at) VALUES ($1, 1, 'continuous', '', 0)`, int64(user))
	}
	for _, g := range w.segments {
		exec(
			`INSERT INTO segments (user_id, id, thread_id, label, zone, starts_at, ends_at, finalize_at, post_at, state, first_message, hidden, version)
			VALUES ($1, $2, 1, $3, 'UTC', 0, 0, 0, 0, 'final', 1, $4, 1)`, int64(g.User), int64(g.ID),
			g.Day.Label, flag(g.Hidden))
	}
	w.rows(exec)
	for n := 1; n > 0; {
		var err error
		if n, err = s.Index(ctx, 100, store.Share{}); err != nil {
			w.t.Fatal(err)
		}
	}
	if len(w.windows) > 0 {
		w.embedInto(ctx, s)
	}
	return &Searcher{Store: s, Days: s, Analyzer: w.a, Tokens: tokens.New(), Settings: Default(), Log: zap.NewNop()}
}

// rows inserts the messages and summaries into tables.
func (w *world) rows(exec func(string, ...any)) {
	for _, m := range w.messages {
		exec(
			`INSERT INTO messages (user_id, id, thread_id, segment_id, turn_id, identity_id, channel, role, kind, body, tokens, extra, position, shown, sent_at, platform_at, redacted, covered)
			VALUES ($1, $2, $3, $4, 0, 0, $5, $6, $7, $8, $9, '{}', $10, $10, $11, 0, $12, $13)`, int64(m.User), int64(m.ID),
			int64(m.Thread), int64(m.Segment), m.Channel, string(m.Role), string(m.Kind), m.Text, m.Tokens, m.Position,
			m.SentAt.UnixMilli(), flag(m.Redacted), flag(m.Covered))
	}
	for _, s := range w.summaries {
		covers, err := json.Marshal(s.Covers)
		if err != nil {
			w.t.Fatal(err)
		}
		exec(
			`INSERT INTO summaries (user_id, segment_id, version, label, body, tokens, covers, model, usage, ungrounded, final, created_at)
			VALUES ($1, $2, 1, $3, $4, 9, $5, 'm', '{}', 0, 1, $6)`, int64(s.User), int64(s.Segment), s.Label, s.Markdown,
			string(covers), s.CreatedAt.UnixMilli())
	}
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// embedInto cuts and embeds all messages as the worker does.
func (w *world) embedInto(ctx context.Context, s sqlStore) {
	for {
		day, err := s.Unwindowed(ctx, me, 1000)
		if errors.Is(err, core.ErrNotFound) {
			break
		}
		if err == nil {
			windows, through := Windows{}.Cut(day.Messages, day.Through, day.Closed)
			err = s.PutWindows(ctx, store.PutWindows{User: me, Segment: day.Segment, Windows: windows, Through: through,
				Read: day.Messages, Closed: day.Closed, Config: "test", Now: saturday})
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
	for {
		waiting, err := s.PendingEmbeddings(ctx, me, "test", 100)
		if err != nil {
			w.t.Fatal(err)
		}
		if len(waiting) == 0 {
			return
		}
		var results []store.EmbeddingResult
		for _, e := range waiting {
			results = append(results, store.EmbeddingResult{Kind: e.Kind, ID: e.ID, Revision: e.Revision,
				Vector: padded(w.means(Windows{}.Text(e.Messages))), Passages: w.passages(e.Messages)})
		}
		if err := s.PutVectors(ctx, me, "test", results, saturday); err != nil {
			w.t.Fatal(err)
		}
	}
}

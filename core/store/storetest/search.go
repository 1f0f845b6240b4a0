package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	ports "github.com/everthread/everthread/core/store"
)

// Searches describes the data and the queries that BenchSearch measures.
type Searches struct {
	Analyzer core.Analyzer
	// Terms returns the terms of a query, as the search makes them.
	Terms func(query string) []string
	// Mine is the number of messages of the searching user; Users is the number of other users,
	// with Each messages.
	Mine, Users, Each int

	queries []string
}

// talkSeed seeds the searching user's messages; the queries are words of the first of them.
const talkSeed = 1

// searcher is the searching user; other users have higher ids.
const searcher = 1_000_000

// BenchSearch measures the reads of a search: the directory, and the postings of 2 to 8 words.
// "first" is a process's first search, "warm" a later one.
func BenchSearch(b *testing.B, open Open, s Searches) {
	w := &bench{open: open(b), t: b, ctx: b.Context(), now: start()}
	w.Store = w.analyzed(s)
	s.queries = newTalk(talkSeed).queries(500)
	if _, err := w.User(w.ctx, searcher); errors.Is(err, core.ErrNotFound) {
		w.talk(s)
	}
	b.Run("first", func(b *testing.B) {
		w.times(b, 5, func(n int) time.Duration {
			fresh := w.analyzed(s)
			defer fresh.Close()
			w.must(fresh.Ping(w.ctx))
			from := time.Now()
			w.search(fresh, s, n)
			return time.Since(from)
		})
	})
	b.Run("warm", func(b *testing.B) {
		w.search(w.Store, s, 0)
		w.times(b, len(s.queries), func(n int) time.Duration {
			from := time.Now()
			w.search(w.Store, s, n)
			return time.Since(from)
		})
	})
}

// analyzed opens a store with a full-text index.
func (b *bench) analyzed(s Searches) Store {
	store := b.open()
	store.Analyze(s.Analyzer)
	return store
}

// times calls f at most `most` times, and reports the durations that it returns.
func (b *bench) times(bb *testing.B, most int, f func(n int) time.Duration) {
	var took []time.Duration
	for n := range min(bb.N, most) {
		took = append(took, f(n))
	}
	slices.Sort(took)
	bb.ReportMetric(0, "ns/op")
	bb.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	bb.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
}

// search reads everything that the n-th search reads.
func (b *bench) search(store Store, s Searches, n int) {
	if _, err := store.Directory(b.ctx, searcher); err != nil {
		b.t.Fatal(err)
	}
	terms := s.Terms(s.queries[n%len(s.queries)])
	postings, err := store.Match(b.ctx, ports.MatchQuery{User: searcher, Kind: core.DocMessage,
		Terms: terms, Limit: 20_000})
	if err != nil || len(postings) == 0 {
		b.t.Fatalf("got %d postings of %q, %v", len(postings), terms, err)
	}
}

// talk fills and indexes the store.
func (b *bench) talk(s Searches) {
	begin := time.Now()
	t := newTalk(talkSeed)
	b.talkOf(t, searcher, s.Mine)
	for n := range s.Users {
		b.talkOf(t, searcher+1+n, s.Each)
	}
	written := time.Now()
	docs := 0
	for n := -1; n != 0; docs += n {
		var err error
		n, err = b.Index(b.ctx, 100, ports.Share{})
		b.must(err)
	}
	b.t.Logf("%d messages written in %v, indexed in %v", s.Mine+s.Users*s.Each, written.Sub(begin), time.Since(written))
	if _, err := b.DB().Exec(`SELECT sqlite_version()`); err != nil {
		b.exec(`VACUUM ANALYZE users, segments, messages, message_terms`)
	}
}

// aDay is the number of messages of talk a day.
const aDay = 60

// talkOf writes n messages of a new user.
func (b *bench) talkOf(t *talk, user, n int) {
	b.exec(
		`INSERT INTO users (id, name, role, last_message, last_id, created_at) VALUES ($1, 'talker', 'member', $2, $3, 0)`,
		user, n, fillLast)
	b.exec(
		`INSERT INTO threads (user_id, id, mode, title, last_position, created_at) VALUES ($1, 1, 'continuous', '', $2, 0)`,
		user, int64(n)*1000)
	b.exec(
		`INSERT INTO segments (user_id, id, thread_id, label, zone, starts_at, ends_at, finalize_at, post_at, state, first_message, messages, version, post) ` +
			fillRange(user, user, (n+aDay-1)/aDay) + fmt.Sprintf(
			` SELECT u.i, %d + k.i, 1, CAST(100000000 + k.i AS text), 'UTC', 0, 0, 0, 0, 'final', 1, %d, 0, 'done' FROM u CROSS JOIN k`, fillSegments, aDay))
	const page = 500
	for from := 0; from < n; from += page {
		var rows []string
		var args []any
		for i := from; i < min(from+page, n); i++ {
			args = append(args, t.message())
			rows = append(rows, fmt.Sprintf(`(%d, %d, 1, %d, 0, 1, 'telegram', '%s', 'chat', $%d, 30, '{}', %d, %d, %d, 0)`,
				user, i+1, fillSegments+1+i/aDay,
				[]string{"user", "assistant"}[i%2], len(args), i*1000, i*1000, i))
		}
		b.exec(
			`INSERT INTO messages (user_id, id, thread_id, segment_id, turn_id, identity_id, channel, role, kind, body, tokens, extra, position, shown, sent_at, platform_at) VALUES `+
				strings.Join(rows, ", "), args...)
	}
}

func (b *bench) exec(query string, args ...any) {
	b.t.Helper()
	if _, err := b.DB().Exec(query, args...); err != nil {
		b.t.Fatalf("%.300s: %v", query, err)
	}
}

package recall

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/search"
)

// TestSearch_saysWhatIsNotIndexed searches while the index is being built: the messages that cannot be found are counted.
func TestSearch_saysWhatIsNotIndexed(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) sqlStore{"sqlite": onSQLite, "postgres": onPostgres} {
		if name == "postgres" && postgresDSN() == "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			w, day := newWorld(t), time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
			for id := core.MessageID(1); id <= 2003; id++ { // 2,000 are searched without the index
				segment := w.day(me, day.AddDate(0, 0, int(id)/50).Format(time.DateOnly))
				at := day.Add(time.Duration(id) * time.Minute)
				w.messages = append(w.messages, core.Message{User: me, ID: id, Thread: 1, Segment: segment, Identity: 1,
					Channel: "telegram", Role: core.RoleUser, Kind: core.KindChat, Text: fmt.Sprintf("heron %d", id), Tokens: 2,
					SentAt: at, Position: at.UnixMicro()})
			}
			st := open(t)
			s := w.into(st)
			search := func() search.Result {
				got, err := s.Search(context.Background(), search.Query{User: me, Query: "heron 7", Now: saturday})
				if err != nil || len(got.Hits) == 0 {
					t.Fatalf("got %+v, %v", got, err)
				}
				return got
			}
			if got := search(); got.Missing != 0 || strings.Contains(got.Note, "index") {
				t.Errorf("with a complete index: %d are missing, %q", got.Missing, got.Note)
			}
			if _, err := st.DB().Exec(`UPDATE users SET indexed = 0, unindexed = 1 WHERE id = $1`, int64(me)); err != nil {
				t.Fatal(err)
			}
			if got := search(); got.View(nil).Missing != 3 || !strings.Contains(got.Note, "the newest 3 messages are not in it yet") {
				t.Errorf("without an index: %d are missing, %q", got.Missing, got.Note)
			}
		})
	}
}

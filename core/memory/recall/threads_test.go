package recall

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	searchs "github.com/everthread/everthread/core/search"
)

// shelf is an in-memory store of plain threads, newest first.
type shelf struct {
	threads []core.Thread
	said    map[core.ThreadID][]core.Message
}

func (s *shelf) say(thread core.ThreadID, role core.Role, day int, text string) {
	if s.said == nil {
		s.said = map[core.ThreadID][]core.Message{}
	}
	if _, known := s.said[thread]; !known {
		s.threads = append([]core.Thread{{User: me, ID: thread, Title: fmt.Sprint("t", thread)}}, s.threads...)
	}
	id := core.MessageID(int(thread)*1000 + len(s.said[thread]))
	s.said[thread] = append(s.said[thread], core.Message{User: me, ID: id, Thread: thread, Role: role, Text: text,
		Channel: "telegram", SentAt: time.Date(2026, 5, day, 12, 0, 0, 0, time.UTC), Redacted: text == ""})
}

func (s *shelf) Threads(_ context.Context, user core.UserID, limit int) ([]core.Thread, error) {
	all := slices.DeleteFunc(slices.Clone(s.threads), func(t core.Thread) bool { return t.User != user })
	return all[:min(limit, len(all))], nil
}

func (s *shelf) History(_ context.Context, user core.UserID, id core.ThreadID, before core.MessageID,
	limit int) ([]core.Message, error) {
	all := slices.DeleteFunc(slices.Clone(s.said[id]), func(m core.Message) bool {
		return m.User != user || before != 0 && m.ID >= before
	})
	return all[max(0, len(all)-limit):], nil
}

type query = searchs.Query

func TestInThreads_plainThreads(t *testing.T) {
	t.Parallel()
	s := &shelf{}
	s.say(1, core.RoleUser, 1, "Which soup goes with the salmon?")
	s.say(1, core.RoleAssistant, 1, "A soup of leeks.")
	s.say(1, core.RoleUser, 1, "")
	s.say(2, core.RoleUser, 3, "The soups of "+strings.Repeat("winter ", 60))
	s.say(2, core.RoleTool, 3, "soup")
	search := &Searcher{Plain: s, Analyzer: newAnalyzer(t, "en"), Settings: Default()}
	for name, c := range map[string]struct {
		q    searchs.Query
		want []core.MessageID
	}{
		"rare words first":     {query{Query: "salmon soup"}, []core.MessageID{1000, 2000, 1001}},
		"at most so many":      {query{Query: "salmon soup", Limit: 1}, []core.MessageID{1000}},
		"the assistant":        {query{Query: "soup", Role: core.RoleAssistant}, []core.MessageID{1001}},
		"days":                 {query{Query: "soup", From: "2026-05-02", To: "2026-05-03"}, []core.MessageID{2000}},
		"another channel":      {query{Query: "soup", Channel: "matrix"}, nil},
		"summaries only":       {query{Query: "soup", Kind: core.DocSummary}, nil},
		"no words":             {query{Query: " ?! "}, nil},
		"of somebody else":     {query{Query: "soup", User: me + 1}, nil},
		"a word nobody said":   {query{Query: "xylophone"}, nil},
		"another form of it":   {query{Query: "leek"}, []core.MessageID{1001}},
		"what an operator has": {query{Query: `"leek" AND (`}, []core.MessageID{1001}},
	} {
		if c.q.User == 0 {
			c.q.User = me
		}
		found, err := search.InThreads(t.Context(), c.q)
		var got []core.MessageID
		for _, h := range found.Hits {
			got = append(got, h.Message.ID)
			if len(h.Snippet) > 2*search.Settings.Snippet || h.Thread.ID != h.Message.Thread {
				t.Errorf("%s: got %+v", name, h)
			}
		}
		if err != nil || !slices.Equal(got, c.want) || found.More {
			t.Errorf("%s: got %v, more %v, %v; want %v", name, got, found.More, err, c.want)
		}
	}
	found, err := search.InThreads(t.Context(), query{User: me, Query: "salmon"})
	if err != nil || found.Hits[0].Before.Snippet != "" || found.Hits[0].After.Snippet != "A soup of leeks." {
		t.Errorf("got neighbours %+v, %v", found, err)
	}
}

func TestInThreads_isBounded(t *testing.T) {
	t.Parallel()
	s := &shelf{}
	for thread := core.ThreadID(1); thread <= 4; thread++ {
		for day := range 5 {
			s.say(thread, core.RoleUser, day+1, fmt.Sprintf("soup %d of %d", day, thread))
		}
	}
	search := &Searcher{Plain: s, Analyzer: newAnalyzer(t, "en"), Settings: Default()}
	for _, c := range []struct {
		threads, messages, want int
		more                    bool
	}{{4, 20, 20, false}, {3, 20, 15, true}, {4, 19, 19, true}, {4, 7, 7, true}, {4, 5, 5, true}, {4, 100, 20, false}} {
		search.Settings.Threads, search.Settings.ThreadMessages = c.threads, c.messages
		found, err := search.InThreads(t.Context(), query{User: me, Query: "soup", Limit: 20})
		if err != nil || len(found.Hits) != c.want || found.More != c.more {
			t.Errorf("%+v: got %d, more %v, %v", c, len(found.Hits), found.More, err)
		}
	}
}

// TestInThreads_longThreadToItsBeginning checks that a thread is read page by page, within bounded
// memory.
func TestInThreads_longThreadToItsBeginning(t *testing.T) {
	t.Parallel()
	s := &shelf{}
	s.say(1, core.RoleUser, 1, "the first word was marzipan")
	for n := range 950 {
		s.say(1, core.RoleUser, 2, fmt.Sprint("word ", n))
	}
	search := &Searcher{Plain: s, Analyzer: newAnalyzer(t, "en"), Settings: Default()}
	found, err := search.InThreads(t.Context(), query{User: me, Query: "marzipan"})
	if err != nil || len(found.Hits) != 1 || found.More || found.Hits[0].After.Snippet != "word 0" {
		t.Errorf("got %+v, %v", found, err)
	}
	for range 50 {
		s.say(1, core.RoleUser, 3, strings.Repeat("long ", 50_000))
	}
	found, err = search.InThreads(t.Context(), query{User: me, Query: "marzipan"})
	if err != nil || len(found.Hits) != 0 || !found.More {
		t.Errorf("before 12 MB: got %+v, %v", found, err)
	}
}

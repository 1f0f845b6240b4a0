package recall

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/search"
)

// inMemory is a Target with a new world for each sample.
type inMemory struct {
	t   testing.TB
	set Settings
	w   *world
}

func (m *inMemory) Begin(_ context.Context, s Sample) (core.UserID, core.Tool, error) {
	m.w = newWorld(m.t)
	search := m.w.searcher()
	search.Settings = m.set
	names := func(context.Context, core.UserID) map[string]core.Role { return s.Names }
	return me, Tools(search, names)[0], nil
}

func (m *inMemory) People(ctx context.Context, _ core.UserID, q search.Query) ([]search.Hit, error) {
	search := m.w.searcher()
	search.Settings = m.set
	got, err := search.Search(ctx, q)
	return got.Hits, err
}

func (m *inMemory) Load(_ context.Context, _ core.UserID, s Session) ([]core.MessageID, error) {
	var ids []core.MessageID
	for _, u := range s.Turns {
		ids = append(ids, m.w.say(s.At.Format(time.DateOnly), u.Role, u.Text))
	}
	return ids, nil
}

// samples returns the conversations of friends, or those of EVERTHREAD_LOCOMO.
func samples(t testing.TB) []Sample {
	file := "testdata/friends.json"
	if other := os.Getenv("EVERTHREAD_LOCOMO"); other != "" {
		file = other
	}
	got, err := ReadLoCoMo(strings.NewReader(read(t, file)))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestFriends_areFound checks that messages of friends are found, whether old or new.
func TestFriends_areFound(t *testing.T) {
	t.Parallel()
	got, err := Evaluate(t.Context(), &inMemory{t: t, set: Default()}, samples(t))
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	got.Write(&table)
	t.Logf("\n%s", &table)
	if got.All.Recall10 < 0.8 || got.Skipped != 1 || got.All.Questions != 95 {
		t.Errorf("got %+v", got.All)
	}
}

// TestPeople_precisionAndRecall checks precision and recall of people's searches.
func TestPeople_precisionAndRecall(t *testing.T) {
	t.Parallel()
	list, err := ReadLoCoMo(strings.NewReader(read(t, "testdata/people.json")))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Evaluate(t.Context(), &inMemory{t: t, set: Default()}, list)
	if err != nil || got.All.Questions != 16 || got.All.People10 < 0.95 || got.All.Recall10 < 0.95 {
		t.Errorf("got %+v, %v", got.All, err)
	}
	t.Logf("%+v", got.All)
}

func TestReadLoCoMo(t *testing.T) {
	t.Parallel()
	got, err := ReadLoCoMo(strings.NewReader(`[{"sample_id":"s","conversation":{"speaker_a":"Ana","speaker_b":"Ben",
		"session_2_date_time":"12:09 am on 13 September, 2023","session_2":[{"speaker":"Ben","dia_id":"D2:1","text":"Look","blip_caption":"a boat"}],
		"session_1_date_time":"1:56 pm on 8 May, 2023","session_1":[{"speaker":"Ana","dia_id":"D1:1","text":"Hi"},{"speaker":"Ben","dia_id":"D1:2","text":"Hi"}],
		"session_3_date_time":"1:56 pm on 9 May, 2023"},
		"qa":[{"question":"Who?","answer":2022,"evidence":["D1:01; D2:1","D:1:2","D9:9","D","D1:1"],"category":1},{"question":"Never?","adversarial_answer":"x","evidence":[],"category":5}]}]`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Sample{{
		Name:  "s",
		Names: map[string]core.Role{"Ana": core.RoleUser, "Ben": core.RoleAssistant},
		Sessions: []Session{
			{time.Date(2023, 5, 8, 13, 56, 0, 0, time.UTC), []Utterance{{"D1:1", core.RoleUser, "Hi"},
				{"D1:2", core.RoleAssistant, "Hi"}}},
			{time.Date(2023, 9, 13, 0, 9, 0, 0, time.UTC), []Utterance{{"D2:1", core.RoleAssistant, "Look [photo: a boat]"}}},
		},
		Questions: []Question{{"Who?", "2022", []string{"D1:1", "D2:1", "D1:2"}, 1}, {"Never?", "", nil, 5}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"", "{}", `[{"conversation":{"session_1":[{}],"session_1_date_time":"yesterday"}}]`,
		`[{"conversation":{"session_1":7}}]`} {
		if _, err := ReadLoCoMo(strings.NewReader(bad)); err == nil {
			t.Errorf("%s: got no error", bad)
		}
	}
}

func FuzzReadLoCoMo(f *testing.F) {
	f.Add(
		`[{"conversation":{"session_1":[{"dia_id":"D1:1"}],"session_1_date_time":"1:56 pm on 8 May, 2023"},"qa":[{"evidence":["D1:1"]}]}]`)
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ReadLoCoMo(strings.NewReader(s))
		if err == nil {
			for _, sample := range got {
				for _, session := range sample.Sessions {
					if len(session.Turns) == 0 {
						t.Fatal("got an empty session")
					}
				}
			}
		}
	})
}

func TestScores(t *testing.T) {
	t.Parallel()
	day := time.Date(2023, 5, 8, 0, 0, 0, 0, time.UTC)
	results := []search.HitView{{Message: 4, Label: "2023-05-07"}, {Kind: core.DocSummary, Label: "2023-05-08"},
		{Message: 9, Label: "2023-05-09"}}
	for len(results) < 12 {
		results = append(results, search.HitView{Message: core.MessageID(100 + len(results)), Label: "2023-01-01"})
	}
	got := scored(results, []said{{9, day.AddDate(0, 0, 1)}, {111, day}, {5, day}, {6, day.AddDate(0, 1, 0)}})
	want := Score{Questions: 1, Recall5: 0.25, Recall10: 0.25, Recall20: 0.5, Found10: 1, Day10: 0.75, MRR: 1.0 / 3}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	edges := scored(results, []said{{results[5].Message, day}})
	if edges.Recall5 != 0 || edges.Recall10 != 1 || scored(results, []said{{results[10].Message, day}}).Recall10 != 0 {
		t.Errorf("the sixth of the results: got %+v", edges)
	}
	if got := scored(nil, []said{{1, day}}); got != (Score{Questions: 1}) {
		t.Errorf("nothing found: got %+v", got)
	}
}

// failing is a Target whose sessions cannot be loaded.
type failing struct{ inMemory }

func (*failing) Load(context.Context, core.UserID, Session) ([]core.MessageID, error) {
	return nil, errors.New("disk on fire")
}

func TestEvaluate_fails(t *testing.T) {
	t.Parallel()
	_, err := Evaluate(t.Context(), &failing{inMemory{t: t, set: Default()}}, samples(t))
	if err == nil || !strings.Contains(err.Error(), "load session of 2023-05-08: disk on fire") {
		t.Errorf("got %v", err)
	}
}

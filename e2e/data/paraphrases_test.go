//go:build e2e

package data

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/everthread/everthread/e2e/e2etest"
)

// saidOnce is a message with a question for it in other words.
type saidOnce struct{ Lang, Day, Role, Text, Ask, Holds string }

// otherWords returns forty of them in four languages, and groups of synonyms.
func otherWords(t *testing.T) (says []saidOnce, synonyms map[string][][]string) {
	t.Helper()
	var set struct {
		Synonyms map[string][][]string
		Says     []saidOnce
	}
	readJSON(t, "../../core/memory/recall/testdata/paraphrases.json", &set)
	return set.Says, set.Synonyms
}

func readJSON(t *testing.T, file string, into any) {
	t.Helper()
	b, err := os.ReadFile(file)
	e2etest.Must(t, err)
	e2etest.Must(t, json.Unmarshal(b, into))
}

// knowing returns the vectors of a model that only knows synonyms: each meaning has its own
// direction, and all other words are hashed and count a quarter.
func knowing(synonyms map[string][][]string) func(text, model, fault string) []float32 {
	const size, meanings = 768, 128
	same, n := map[string]int{}, 0
	for _, language := range slices.Sorted(maps.Keys(synonyms)) {
		for _, group := range synonyms[language] {
			for _, word := range group {
				same[word] = n
			}
			n++
		}
	}
	return func(text, _, _ string) []float32 {
		v := make([]float32, size)
		v[meanings-1] = 0.001 // no text has a zero vector
		for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
			return !unicode.IsLetter(r) &&
				!unicode.IsDigit(r)
		}) {
			if to, ok := same[w]; ok {
				v[to]++
				continue
			}
			h := fnv.New64a()
			_, _ = h.Write([]byte(w))
			v[meanings+h.Sum64()%(size-meanings)] += 0.25
		}
		return v
	}
}

// busyDays writes a Telegram export in which each message is among thirty others of its day.
func busyDays(t *testing.T, says []saidOnce) string {
	t.Helper()
	var set struct {
		Templates map[string]map[string][]string
	}
	readJSON(t, "../../core/memory/recall/testdata/hard.json", &set)
	var messages []map[string]any
	add := func(day, role, text string) {
		noon, err := time.Parse(time.DateOnly, day)
		e2etest.Must(t, err)
		at := noon.Add(10*time.Hour + time.Duration(len(messages)%100)*time.Minute).Unix()
		messages = append(messages, map[string]any{"id": len(messages) + 1, "type": "message",
			"date_unixtime": fmt.Sprint(at), "from": "x", "from_id": map[string]string{"user": "user5",
				"assistant": "user7"}[role], "text": text})
	}
	for k, s := range says {
		template := set.Templates[s.Lang]
		for i := range 30 {
			text := template["say"][(k+i)%len(template["say"])]
			for j, name := range slices.Sorted(maps.Keys(template)) {
				text = strings.ReplaceAll(text, "{"+name+"}", template[name][(7*k+i*(j+1)+i/3)%len(template[name])])
			}
			add(s.Day, []string{"user", "assistant"}[i%2], text)
			if i == 14 {
				add(s.Day, s.Role, s.Text)
			}
		}
	}
	b, err := json.Marshal(map[string]any{"name": "Bot", "type": "bot_chat", "id": 7, "messages": messages})
	e2etest.Must(t, err)
	file := filepath.Join(t.TempDir(), "result.json")
	e2etest.Must(t, os.WriteFile(file, b, 0o600))
	return file
}

// The answering message is shown although it shares no word with the question.
func TestSearch_answerWithoutSharedWord(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		says, synonyms := otherWords(t)
		w, vectors := e2etest.NewClock(t, database(t)), e2etest.NewVectorServer(t)
		vectors.Vector = knowing(synonyms)
		w.Env = append(append(w.Env, "EVERTHREAD_SUMMARIES_POST_FORWARD=off", "EVERTHREAD_RECALL_LANGUAGES=en,fr,de,es"),
			vectors.Env("knowing")...)
		w.Env = append(w.Env, "EVERTHREAD_EMBEDDINGS_DIMENSIONS=768", "EVERTHREAD_RECALL_EMBED_TIMEOUT=30s")
		g := w.Start()
		l := w.Ledger()
		w.Ask("hello")
		w.MustRun("import", "telegram", busyDays(t, says), "--user", "Ada", "--no-summaries")
		l.Until(`SELECT COUNT(*) FROM segments WHERE unwindowed = 1 AND state <> 'open'`, 0, g)
		l.Until(e2etest.Waiting, 0, g)
		if n := l.Count(e2etest.Ready); n < 40 {
			t.Fatalf("%d windows", n)
		}
		right := 0
		for _, s := range says {
			got := w.Search(s.Ask)
			if got.Mode == "hybrid" && strings.Contains(got.First(), s.Holds) {
				right++
				continue
			}
			t.Errorf("%q: got %q (%s), want %q", s.Ask, got.First(), got.Mode, s.Holds)
		}
		t.Logf("%d of %d", right, len(says))
		type hitJSON struct {
			Results []struct {
				ID   int64 `json:"message_id"`
				From int64 `json:"from_message_id"`
				To   int64 `json:"to_message_id"`
			} `json:"results"`
		}
		hit := result[hitJSON](t, w.Ask(`call conversation_search {"query":"When does the ship leave?"}`).Text).Results[0]
		if hit.From == 0 || hit.ID < hit.From || hit.ID > hit.To {
			t.Errorf("the model got %+v", hit)
		}
	})
}

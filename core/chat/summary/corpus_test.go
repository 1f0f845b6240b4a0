package summary_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/llm/llmtest"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/memory/loops"
	"github.com/everthread/everthread/core/memory/recall"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text/i18n"
)

var update = flag.Bool("update", false, "write the results in testdata/answers again")

// said is the day that the answers of a language summarise; #1, #3 and so on are the person's messages. The first text
// is that of the open loop 57.
var said = map[string][]string{
	"en": {"Choose between sage green and white matt tiles",
		"We redo the kitchen before Christmas, with a budget of 8000 euros.", "White matt tiles everywhere, that is decided.",
		"The plumber Karim comes on Thursday 3 December at 9.", "I still wait for the quote of the electrician.",
		"Tomorrow I order the lamps at Lumio."},
	"fr": {"Choisir entre carrelage vert sauge et blanc mat",
		"On refait la cuisine avant Noël, avec un budget de 8000 euros.", "Carrelage : blanc mat partout, c'est décidé.",
		"Le plombier Karim vient le jeudi 3 décembre à 9 h.", "J'attends toujours le devis de l'électricien.",
		"Demain je commande les lampes chez Lumio."},
	"de": {"Zwischen Fliesen in Salbeigrün und mattem Weiß wählen",
		"Wir renovieren die Küche vor Weihnachten, mit einem Budget von 8000 Euro.", "Überall mattweiße Fliesen, das ist entschieden.",
		"Der Klempner Karim kommt am Donnerstag, 3. Dezember, um 9 Uhr.", "Ich warte noch auf das Angebot der Elektrikerin.",
		"Morgen bestelle ich die Lampen bei Lumio."},
}

// corpusCase is an answer of a file, and what becomes of it.
type corpusCase struct {
	name   string
	parts  map[string]string
	finish core.Finish
}

// corpus reads a file of answers. A line of "=== " and a name begins a case, one of "--- " and a name a part of it: the
// answer, the repaired answer (missing: the same), and the results. "--- answer length" was cut off.
func corpus(t *testing.T, file string) []corpusCase {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	var out []corpusCase
	for part := range strings.SplitSeq("\n"+string(text), "\n=== ") {
		name, rest, _ := strings.Cut(part, "\n")
		if strings.TrimSpace(name) == "" {
			continue
		}
		c := corpusCase{name: name, parts: map[string]string{}, finish: core.FinishStop}
		for section := range strings.SplitSeq("\n"+rest, "\n--- ") {
			title, body, _ := strings.Cut(section, "\n")
			title, how, _ := strings.Cut(title, " ")
			if how != "" {
				c.finish = core.Finish(how)
			}
			c.parts[title] = strings.TrimRight(body, "\n")
		}
		out = append(out, c)
	}
	return out
}

// outcome writes the summary of a day with the answers of a case, closes the day and posts it.
func (c corpusCase) outcome(t *testing.T, language string) map[string]string {
	t.Helper()
	n := newNight(t)
	n.sum.Settings.Language = language
	analyzer, err := recall.NewAnalyzer(i18n.Languages())
	must(t, err)
	n.sum.Grounds = &recall.Searcher{Analyzer: analyzer, Settings: recall.Default()}
	n.sum.Tokens = tokens.New()
	n.sum.SameLoop = func(text string, open []core.Loop) (core.LoopID, bool) { return loops.Match(analyzer, text, open) }
	n.sum.Due = func(s core.Settings, said time.Time, text, language string) time.Time {
		return loops.Due(n.sum.Calendar, s, said, text, language)
	}
	_, err = n.store.Note(t.Context(), store.Note{User: n.user.ID, Now: n.now, Effects: []core.Effect{
		effect.OpenLoop{Loop: core.Loop{ID: 57, Text: said[language][0]}, At: n.now.AddDate(0, 0, -1)}}})
	must(t, err)
	n.exchange(said[language][1:]...)
	calls := 0
	n.model.Script(func(core.ModelRequest) llmtest.Reply {
		calls++
		if again, ok := c.parts["repaired"]; ok && calls > 1 {
			return llmtest.Say(again)
		}
		return llmtest.Reply{Text: c.parts["answer"], Finish: c.finish}
	})
	n.now = time.Date(2026, 11, 20, 8, 1, 0, 0, time.UTC)
	n.tick()
	g := n.segment(first)
	out := map[string]string{"calls": fmt.Sprint(calls)}
	if calls > 1 {
		asked := n.model.Requests()[1].Messages
		out["repair"], _, _ = strings.Cut(asked[len(asked)-1].Content, " Write the whole")
	}
	if g.SummaryVersion > 0 {
		out["stored"] = n.newest(first).Markdown
		out["page"] = i18n.Headings(language, out["stored"])
		if out["page"] == out["stored"] {
			delete(out, "page")
		}
	} else {
		out["failed"] = g.SummaryError
	}
	var open []string
	list, err := n.store.Loops(t.Context(), n.user.ID, 10)
	must(t, err)
	for _, l := range list {
		text := l.Text
		if !l.Due.IsZero() {
			text += " <" + l.Due.Add(-time.Nanosecond).Format(time.DateOnly) + ">"
		}
		open = append(open, text)
	}
	out["open"], out["posted"] = strings.Join(open, "\n"), strings.Join(n.sent(core.DeliverPost), "\n")
	return out
}

// results are the parts of a case in a file that the test writes, in their order.
var results = []string{"calls", "repair", "stored", "page", "failed", "open", "posted"}

func (c corpusCase) write(b *strings.Builder, got map[string]string) {
	fmt.Fprintf(b, "=== %s\n", c.name)
	answer := "answer"
	if c.finish != core.FinishStop {
		answer += " " + string(c.finish)
	}
	fmt.Fprintf(b, "--- %s\n%s\n", answer, c.parts["answer"])
	if again, ok := c.parts["repaired"]; ok {
		fmt.Fprintf(b, "--- repaired\n%s\n", again)
	}
	for _, name := range results {
		if got[name] != "" {
			fmt.Fprintf(b, "--- %s\n%s\n", name, got[name])
		}
	}
}

// TestAnswers checks what becomes of answers as models give them: which are stored and in which form, what a page shows
// where that differs, which loops they leave open, and what is posted of them.
func TestAnswers(t *testing.T) {
	t.Parallel()
	total := 0
	for language := range said {
		file := filepath.Join("testdata", "answers", language+".txt")
		cases := corpus(t, file)
		total += len(cases)
		written := &strings.Builder{}
		for _, c := range cases {
			got := c.outcome(t, language)
			c.write(written, got)
			for _, name := range results {
				if d := cmp.Diff(c.parts[name], got[name]); d != "" && !*update {
					t.Errorf("%s, %s: %s (-want +got): %s", file, c.name, name, d)
				}
			}
		}
		if *update {
			must(t, os.WriteFile(file, []byte(written.String()), 0o600))
		}
	}
	if total < 120 {
		t.Errorf("there are %d answers, want at least 120", total)
	}
}

package importer_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/archive/export"
	"github.com/everthread/everthread/core/archive/importer"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text"
)

// give exports the world and returns the path and the contents of the archive.
func (w *world) give() (string, map[string]string) {
	w.t.Helper()
	zone, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		w.t.Fatal(err)
	}
	var b bytes.Buffer
	x := &export.Exporter{Store: w.st, Media: os.DirFS(w.media), Zone: zone, Now: func() time.Time { return now }}
	if err := x.Write(w.t.Context(), &b, w.u.ID, nil); err != nil {
		w.t.Fatal(err)
	}
	file := filepath.Join(w.t.TempDir(), "export.zip")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		w.t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		w.t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			w.t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			w.t.Fatal(err)
		}
		out[f.Name] = string(text)
	}
	return file, out
}

// live fills a world with the contents of an export and with plans in all states.
func (w *world) live() {
	w.t.Helper()
	w.bring("jsonl", "testdata/jsonl/export", "")
	at := now.Add(-72 * time.Hour)
	note := func(effects ...core.Effect) {
		w.t.Helper()
		if _, err := w.st.Note(w.t.Context(), store.Note{User: w.u.ID, Now: now, Effects: effects}); err != nil {
			w.t.Fatal(err)
		}
	}
	for n, text := range []string{"still open", "closed since"} {
		note(effect.OpenLoop{Loop: core.Loop{ID: core.LoopID(9000 + n), Text: text, Sources: []core.MessageID{1, 2}}, At: at})
	}
	note(effect.CloseLoop{Loop: 9001, At: now})
	for n, text := range []string{"answer in one sentence", "call me Ada"} {
		i := core.Instruction{Text: text, Tokens: 9, Source: core.MessageID(n), Noted: n == 1, CreatedAt: at}
		note(effect.AddInstruction{Instruction: i, Digest: fmt.Sprint("digest ", n)})
	}
	for n, text := range []string{"tea", "called off", "every week"} {
		r := core.Plan{Kind: core.PlanReminder, ID: core.PlanID(9100 + n), Text: text, DueAt: now.Add(48 * time.Hour),
			Zone: "Europe/Paris", State: core.PlanActive, Source: 1}
		if n == 2 {
			r.Cron = "0 9 * * 1"
		}
		note(effect.SetPlan{Plan: r, At: at})
	}
	note(effect.CancelPlan{Plan: 9101, At: now})
	for n, text := range []string{"tell the news", "called off", "stands still"} {
		note(effect.SetPlan{Plan: core.Plan{Kind: core.PlanTask, ID: core.PlanID(9200 + n), Text: text,
			DueAt: now.Add(48 * time.Hour), Cron: "30 7 * * 1-5", Zone: "Europe/Paris", Source: 1}, At: at})
	}
	note(effect.CancelPlan{Plan: 9201, At: now}, effect.PausePlan{Plan: 9202, At: now})
	for n, status := range []core.ItemStatus{core.ItemArchived, core.ItemActive} { // the same, archived and active
		item := core.Item{User: w.u.ID, ID: core.ItemID(9300 + n), Theme: "garden", Type: "fact", Content: "has a plum tree",
			Status: core.ItemActive, CreatedAt: at.Add(time.Duration(n) * time.Hour),
			History: []core.Wording{{Content: "has a tree", Until: at}}}
		note(effect.AddItem{Item: item, Digest: text.Digest(item.Content), Theme: core.Theme{User: w.u.ID, Slug: "garden",
			Name: "Garden", CreatedAt: at}, At: at})
		if status == core.ItemArchived {
			note(effect.ArchiveItem{Item: item.ID, At: now})
		}
	}
	note(effect.AddItem{Item: core.Item{User: w.u.ID, Theme: "garden", Type: "fact", Content: "likes roses",
		Tags: []string{"flowers"}, SourceMessage: 1, Status: core.ItemActive, CreatedAt: at},
		Digest: text.Digest("likes roses"), Theme: core.Theme{User: w.u.ID, Slug: "garden", Name: "Garden", CreatedAt: at},
		At: at})
}

// own matches what a store assigns: the ids of threads, items, loops and reminders, and the paths
// of imported files.
var own = regexp.MustCompile(`^\{"id":\d+,|"thread":\d+,|"path":"[^"]*"`)

// sorted returns lines of JSON, without what a store assigns, in order.
func sorted(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		out = append(out, own.ReplaceAllString(strings.TrimSpace(line), ""))
	}
	sort.Strings(out)
	return out
}

func TestImport_roundTrip(t *testing.T) {
	t.Parallel()
	first := newWorld(t)
	first.live()
	file, before := first.give()
	second := newWorld(t)
	out := second.bring("jsonl", file, "")
	if out.Loops != 3 || out.Reminders != 3 || out.Tasks != 3 || len(out.Proposed) != 2 || out.Files != 1 ||
		!slices.Equal(out.Paused, []string{"tell the news"}) || out.AskedOn != "telegram" {
		t.Errorf("got %+v", out)
	}
	second.agree()
	again, after := second.give()
	for _, name := range []string{"messages.jsonl", "summaries.jsonl", "memory.jsonl", "loops.jsonl", "reminders.jsonl",
		"standing.jsonl", "tasks.jsonl"} {
		if len(before[name]) < 10 {
			t.Errorf("%s is empty", name)
		}
		if diff := cmp.Diff(sorted(before[name]), sorted(after[name])); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	if !strings.Contains(before["messages.jsonl"], `"unfinished":"length"`) ||
		!strings.Contains(before["days/2026-11-18.md"], "\n*… The answer got too long and was cut off here.*\n") {
		t.Errorf("an answer that was cut off became whole:\n%s", before["days/2026-11-18.md"])
	}
	for name, text := range before {
		was, is := own.ReplaceAllString(text, ""), own.ReplaceAllString(after[name], "")
		if strings.HasPrefix(name, "days/") && was != is {
			t.Errorf("%s is %q, was %q", name, is, was)
		}
	}
	if a, b := digest(t, file), digest(t, again); a != b || len(a) != 64 {
		t.Errorf("digest %q, then %q", a, b)
	}
	if a, b := media(before), media(after); a != b || a == "" {
		t.Errorf("files %q, then %q", a, b)
	}
	none := func(r importer.Result) bool {
		return r.Fresh+r.Loops+r.Reminders+r.Tasks+len(r.Proposed)+r.Items+r.Summaries == 0
	}
	if out := second.bring("jsonl", again, ""); !none(out) {
		t.Errorf("importing its own export: %+v", out)
	}
	if out := first.bring("jsonl", again, ""); !none(out) {
		t.Errorf("importing it where it came from: %+v", out)
	}
}

// agree says yes to the proposals of an import of a world that lived, and resumes its task.
func (w *world) agree() {
	w.t.Helper()
	list, err := w.st.OpenPlans(w.t.Context(), w.u.ID, core.PlanTask, 100)
	if err != nil {
		w.t.Fatal(err)
	}
	var effects []core.Effect
	for _, k := range list {
		if k.Text == "tell the news" && k.State == core.PlanPaused {
			effects = append(effects, effect.ResumePlan{Plan: k.ID, Due: k.DueAt, At: now})
		}
	}
	if len(effects) != 1 || !slices.Equal(w.proposed, []string{"export.zip: answer in one sentence",
		"export.zip: call me Ada"}) {
		w.t.Errorf("%+v, proposed %q", effects, w.proposed)
	}
	for n, text := range []string{"answer in one sentence", "call me Ada"} {
		i := core.Instruction{Text: text, Tokens: 9, Source: core.MessageID(n), Noted: n == 1,
			CreatedAt: now.Add(-72 * time.Hour)}
		effects = append(effects, effect.AddInstruction{Instruction: i, Digest: fmt.Sprint("digest ", n)})
	}
	if _, err := w.st.Note(w.t.Context(), store.Note{User: w.u.ID, Now: now, Effects: effects}); err != nil {
		w.t.Fatal(err)
	}
}

func digest(t *testing.T, file string) string {
	t.Helper()
	d, err := importer.Digest(open(t, file))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestDigest_seesEveryChange checks that any change of an export changes its digest.
func TestDigest_seesEveryChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.live()
	file, files := w.give()
	whole := digest(t, file)
	if got := digest(t, pack(t, files)); got != whole {
		t.Errorf("packed again: got %s, want %s", got, whole)
	}
	for name, was := range files {
		for _, c := range []struct{ old, new string }{{`"text":"`, `"text":"x`}, {`"content":"`, `"content":"x`},
			{"A key", "B key"}, {`"state":"active"`, `"state":"done"`}, {`"zone":"Europe/Paris"`, `"zone":"UTC"`},
			{`"noted":true`, `"noted":false`}, {`"status":"archived"`, `"status":"active"`}, {`"name":"`, `"name":"x`}} {
			changed := strings.Replace(was, c.old, c.new, 1)
			known := []string{"messages.jsonl", "summaries.jsonl", "memory.jsonl", "standing.jsonl", "loops.jsonl",
				"reminders.jsonl", "tasks.jsonl"}
			if changed == was || !slices.Contains(known, name) {
				continue
			}
			files[name] = changed
			if digest(t, pack(t, files)) == whole {
				t.Errorf("%s: %s does not change the digest", name, c.new)
			}
			files[name] = was
		}
		if strings.HasPrefix(name, "media/") {
			files[name] = was + "x"
			if digest(t, pack(t, files)) == whole {
				t.Errorf("another %s does not change the digest", name)
			}
			files[name] = was
		}
	}
	for _, no := range []string{"testdata/jsonl/export/messages.jsonl", "testdata/letta/agent"} {
		if got := digest(t, no); got != "" {
			t.Errorf("%s: %s", no, got)
		}
	}
}

// media returns the contents of all attachments of an export.
func media(files map[string]string) string {
	var out []string
	for name, text := range files {
		if strings.HasPrefix(name, "media/") {
			out = append(out, text)
		}
	}
	sort.Strings(out)
	return fmt.Sprintf("%q", out)
}

func TestImport_forgottenPlansStayAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.live()
	file, _ := w.give()
	if _, err := w.st.Note(t.Context(), store.Note{User: w.u.ID, Now: now,
		Effects: []core.Effect{effect.Redact{Message: 1, At: now}}}); err != nil {
		t.Fatal(err)
	}
	if out := w.bring("jsonl", file, ""); out.Loops+out.Reminders+out.Tasks != 0 {
		t.Errorf("redacted plans were imported: %+v", out)
	}
}

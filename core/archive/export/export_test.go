package export_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/archive/export"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/store/sqlite"
	"github.com/everthread/everthread/core/store/sqlite/sqlitetest"
	"github.com/everthread/everthread/core/store/sqlstore"
)

var noon = time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)

type world struct {
	t  *testing.T
	st *sqlite.Store
	n  int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{t: t, st: sqlitetest.Open(t, t.TempDir())}
}

func (w *world) person(name string) (core.User, core.Identity) {
	w.t.Helper()
	a := core.Address{Channel: "telegram", Account: "1", External: name}
	u, err := w.st.AddUserAt(w.t.Context(), core.User{Name: name, Role: core.RoleMember, CreatedAt: noon,
		Settings: core.Settings{Zone: "Europe/Paris",
			Embeddings: core.OwnEmbeddings{Provider: "openai", Sealed: "a secret"}}},
		core.Identity{Address: a, Name: name + " from the woods", LastUsed: noon})
	if err != nil {
		w.t.Fatal(err)
	}
	ids, err := w.st.Identities(w.t.Context(), u.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	return u, ids[0]
}

func (w *world) say(i core.Identity, at time.Time, m core.NewMessage) {
	w.t.Helper()
	w.n++
	m.Role, m.Kind, m.SentAt = core.RoleUser, core.KindChat, at
	day := at.Truncate(24 * time.Hour)
	m.Day = core.Day{Label: at.Format(time.DateOnly), Zone: "Europe/Paris", Start: day, End: day.Add(24 * time.Hour),
		Finalize: day.Add(27 * time.Hour), Post: day.Add(30 * time.Hour)}
	e := core.Inbound{Address: i.Address, EventID: fmt.Sprint(w.n), NativeID: fmt.Sprint(w.n), Kind: core.InMessage}
	if _, err := w.st.Append(w.t.Context(), store.Append{User: i.User, Identity: i.ID, Events: []core.Inbound{e},
		Messages: []core.NewMessage{m}, Now: at, RunAt: at}); err != nil {
		w.t.Fatal(err)
	}
}

// export returns the files of an export.
func (w *world) export(user core.UserID, media string) map[string]string {
	w.t.Helper()
	var out bytes.Buffer
	x := &export.Exporter{Store: w.st, Media: os.DirFS(media), Zone: time.UTC, Now: func() time.Time { return noon }}
	if err := x.Write(w.t.Context(), &out, user, nil); err != nil {
		w.t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		w.t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			w.t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			w.t.Fatal(err)
		}
		files[f.Name] = string(b)
	}
	return files
}

func TestWrite_onlyAndAllOfAUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	media := t.TempDir()
	ada, at := w.person("Ada")
	_, bob := w.person("Bob")
	path := fmt.Sprintf("%d/1-0", ada.ID)
	if err := os.MkdirAll(filepath.Dir(filepath.Join(media, path)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(media, path), []byte("picture"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.say(at, noon, core.NewMessage{Text: "first <day>", Attachments: []core.Attachment{
		{Kind: "photo", Name: "a [b].jpg", Path: path}, {Kind: "photo", Name: "gone.jpg",
			Path: fmt.Sprintf("%d/9-9", ada.ID)}}})
	w.say(bob, noon, core.NewMessage{Text: "bob's words"})
	for n := range 1100 { // more than two pages
		w.say(at, noon.Add(24*time.Hour+time.Duration(n)*time.Second), core.NewMessage{Text: fmt.Sprint("second day ", n),
			Quote: &core.Quote{Text: "first\nday"}})
	}
	if _, err := w.st.Note(t.Context(), store.Note{User: ada.ID, Now: noon, Effects: []core.Effect{
		effect.AddItem{Item: core.Item{Theme: "garden", Type: core.ItemFact, Content: "likes roses"}, Digest: "d",
			Theme: core.Theme{Slug: "garden", Name: "Garden"}, At: noon},
		effect.OpenLoop{Loop: core.Loop{Text: "buy seeds"}, At: noon},
		effect.AddInstruction{Instruction: core.Instruction{Text: "answer in one sentence", Tokens: 9}, Digest: "d", At: noon},
		effect.SetPlan{Plan: core.Plan{Kind: core.PlanReminder, Text: "tea", DueAt: noon.Add(time.Hour)}, At: noon},
		effect.OpenThread{Identity: at.ID, Title: "../../etc/pass*wd", At: noon}}}); err != nil {
		t.Fatal(err)
	}
	w.say(at, noon.Add(time.Hour), core.NewMessage{Text: "in the thread"})

	if err := w.st.Spend(t.Context(), ada.ID, "2026-11-18", core.SpentOn(core.ForAnswer, "large", core.Usage{Prompt: 7, Completion: 2})); err != nil {
		t.Fatal(err)
	}
	files := w.export(ada.ID, media)
	for name, want := range map[string][]string{
		"README.md": {"everything of Ada", "18 November 2026, 13:00 CET"},
		"days/2026-11-18.md": {"# Wednesday 18 November 2026", "**13:00, Ada** (#1)", "first <day>",
			"[a (b).jpg](<../media/" + path + ">)"},
		"days/2026-11-19.md": {"second day 0\n", "second day 1099", "> first\n> day"},
		"messages.jsonl":     {`"text":"first <day>"`, `"day":"2026-11-18"`, `"text":"second day 1099"`, "in the thread"},
		"memory.jsonl":       {"likes roses", `"theme":"garden"`},
		"themes.jsonl":       {"Garden"},
		"loops.jsonl":        {"buy seeds"},
		"standing.jsonl":     {`"text":"answer in one sentence"`},
		"reminders.jsonl":    {`"text":"tea"`},
		"usage.jsonl":        {`{"day":"2026-11-18","model":"large","purpose":"answer","calls":1,"prompt":7,"cached":0,"completion":2}`},
		"profile.json":       {`"zone": "Europe/Paris"`, `"provider": "openai"`, `"channel": "telegram"`},
		"media/" + path:      {"picture"},
		"missing.txt":        {fmt.Sprintf("%d/9-9\n", ada.ID)},
	} {
		for _, text := range want {
			if !strings.Contains(files[name], text) {
				t.Errorf("%s lacks %q: %.300s", name, text, files[name])
			}
		}
	}
	if n := strings.Count(files["messages.jsonl"], "\n"); n != 1102 {
		t.Errorf("%d messages", n)
	}
	for line := range strings.Lines(files["messages.jsonl"]) {
		if !json.Valid([]byte(line)) {
			t.Fatalf("not JSON: %q", line)
		}
	}
	for name, text := range files {
		if strings.Contains(text, "bob's words") || strings.Contains(text, "a secret") || strings.Contains(name, "..") {
			t.Errorf("%s contains something it must not", name)
		}
	}
	if got := files["threads/"+threadOf(files)+".md"]; !strings.Contains(got, "in the thread") ||
		!strings.Contains(got, "# ../../etc/pass*wd") {
		t.Errorf("the thread is %q of %v", got, threadOf(files))
	}
}

// TestWrite_everyTableOfWords checks exports against the registry of tables: a table's file
// contains all words of the table.
func TestWrite_everyTableOfWords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ada, at := w.person("Ada")
	w.fill(at)
	files := w.export(ada.ID, t.TempDir())
	for _, table := range sqlstore.Tables() {
		if table.Export == "" || strings.HasPrefix(table.Export, "-") {
			continue
		}
		var text string
		for name, content := range files {
			if slices.Contains(strings.Fields(table.Export), name) ||
				strings.HasSuffix(table.Export, "/") && strings.HasPrefix(name, table.Export) {
				text += content
			}
		}
		words := w.words(ada.ID, table)
		if len(words) == 0 {
			t.Errorf("%s has no rows with words: fill must add some to check its export", table.Name)
		}
		for _, word := range words {
			if !strings.Contains(text, word) {
				t.Errorf("%q of %s is not in %s", word, table.Name, table.Export)
			}
		}
	}
}

// fill writes a row with words into every exported table.
func (w *world) fill(at core.Identity) {
	w.t.Helper()
	w.say(at, noon, core.NewMessage{Text: "a heffalump came", ForwardedFrom: "Pooh", Quote: &core.Quote{Text: "a woozle"}})
	edit := core.Inbound{Address: at.Address, EventID: "e", Target: "1", Kind: core.InEdit}
	if err := w.st.Edit(w.t.Context(), at.User, at.ID, edit, core.NewMessage{Text: "two heffalumps came", SentAt: noon},
		noon); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.st.DB().Exec(
		`INSERT INTO summaries (user_id, segment_id, version, label, body, tokens, covers, model, usage, ungrounded, final, created_at)
		SELECT user_id, id, 1, label, '## Heffalumps', 3, '[]', 'm', '{}', 0, 0, 0 FROM segments`); err != nil {
		w.t.Fatal(err)
	}
	w.document(at)
	if _, err := w.st.Note(w.t.Context(), store.Note{User: at.User, Now: noon, Effects: []core.Effect{
		effect.AddItem{Item: core.Item{Theme: "garden", Type: core.ItemFact, Content: "likes roses", Tags: []string{"flowers"}},
			Digest: "d", Theme: core.Theme{Slug: "garden", Name: "Garden", Description: "what grows"}, At: noon},
		effect.AddInstruction{Instruction: core.Instruction{Text: "speak of honey first"}, Digest: "h", At: noon},
		effect.OpenLoop{Loop: core.Loop{Text: "buy seeds"}, At: noon},
		effect.SetPlan{Plan: core.Plan{Kind: core.PlanReminder, Text: "tea", DueAt: noon.Add(time.Hour)}, At: noon},
		effect.SetPlan{Plan: core.Plan{Kind: core.PlanTask, Text: "look for honey", DueAt: noon.Add(time.Hour), Zone: "UTC"},
			At: noon},
		effect.OpenThread{Identity: at.ID, Title: "Honey", At: noon}}}); err != nil {
		w.t.Fatal(err)
	}
}

// document stores a sent file and its text.
func (w *world) document(at core.Identity) {
	w.t.Helper()
	ctx := w.t.Context()
	w.say(at, noon, core.NewMessage{Text: "a file", Attachments: []core.Attachment{{Kind: "document", Name: "honey.pdf",
		Path: "1/h", Document: &core.Document{Kind: "pdf", State: core.DocumentReading}}}})
	refs, _, err := w.st.Due(ctx, []string{core.QueueDocument}, noon.Add(time.Hour), 1, store.Share{})
	if err != nil || len(refs) != 1 {
		w.t.Fatalf("%d files to be read, %v", len(refs), err)
	}
	j, err := w.st.Claim(ctx, refs[0], store.Claim{Worker: "w", Now: noon, Until: noon.Add(time.Hour)})
	if err != nil {
		w.t.Fatal(err)
	}
	file := store.FileRef{Message: core.MessageID(j.Ref)}
	err = errors.Join(w.st.PutFilePages(ctx, store.PutFilePages{User: at.User, File: file, Lease: j.Lease, Now: noon,
		Pages: []store.FilePage{{Number: 1, Name: "honey.pdf", Kind: "pdf", Title: "Bees", Text: "nectar of lime"}}}),
		w.st.SetAttachment(ctx, store.Fetched{User: at.User, Message: file.Message, Lease: j.Lease,
			Attachment: core.Attachment{Kind: "document", Name: "honey.pdf",
				Document: &core.Document{Kind: "pdf", State: core.DocumentRead, Pages: 1}}}))
	if err != nil {
		w.t.Fatal(err)
	}
}

// words returns the columns of words in a user's rows of a table; strings within JSON are listed
// individually, encoded as in JSON.
func (w *world) words(user core.UserID, table sqlstore.Table) (out []string) {
	w.t.Helper()
	owner := table.Owner
	if owner == "" {
		owner = "id"
	}
	for _, column := range table.Words {
		rows, err := w.st.DB().Query(`SELECT `+column+` FROM `+table.Name+` WHERE `+owner+` = $1`, user)
		if err != nil {
			w.t.Fatal(err)
		}
		for rows.Next() {
			var text string
			if err := rows.Scan(&text); err != nil {
				w.t.Fatal(err)
			}
			out = append(out, leaves(text)...)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			w.t.Fatal(err)
		}
	}
	return out
}

func leaves(text string) (out []string) {
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		value = text
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			if v != "" {
				out = append(out, v)
			}
		case []any:
			for _, x := range v {
				walk(x)
			}
		case map[string]any:
			for key, x := range v {
				if key != "sealed" { // a secret key, which is never exported
					walk(x)
				}
			}
		}
	}
	walk(value)
	return out
}

func threadOf(files map[string]string) string {
	for name := range files {
		if rest, ok := strings.CutPrefix(name, "threads/"); ok {
			return strings.TrimSuffix(rest, ".md")
		}
	}
	return ""
}

// In the days of a group nothing that a member writes, or is called, looks like words of another or of the assistant.
func TestWrite_aGroupsHeadings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	u, at := w.person("Club")
	w.say(at, noon, core.NewMessage{Text: "I pay\n\n**13:01, Bo** (#9)\n\nNo, I pay", Speaker: &core.Speaker{Key: "7", Name: "Ann"}})
	w.say(at, noon, core.NewMessage{Text: "done", Speaker: &core.Speaker{Key: "8", Name: "Assistant"}})
	w.say(at, noon, core.NewMessage{Text: "really", Speaker: &core.Speaker{Key: "9", Name: "Bo** (#1)"}})
	day := w.export(u.ID, t.TempDir())["days/2026-11-18.md"]
	for _, want := range []string{"**13:00, Ann** (#1)\n\nI pay\n\n\\**13:01, Bo** (#9)\n", "**13:00, Assistant (2)** (#2)\n\ndone",
		`**13:00, Bo\*\* (\#1)** (#3)`} {
		if !strings.Contains(day, want) {
			t.Errorf("%q is not in\n%s", want, day)
		}
	}
}

package items_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/agent"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/memory/items"
	"github.com/everthread/everthread/core/search"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (rewrite it with -update):\n%s", file, d)
	}
}

// embedded is one configuration for all users.
type embedded string

func (e embedded) Name(context.Context, core.UserID) (string, error) { return string(e), nil }

// TestTools runs a sequence of calls and compares their results and effects.
func TestTools(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.memory.Embed = embedded("ollama/nomic/768")
	w.signals = search.ItemSignals{Mode: "fts", Note: "no embeddings are configured",
		Signals: []search.ItemSignal{{ID: 1, FTS: true, Lexical: 3}}}
	var b strings.Builder
	for _, call := range []struct{ name, arguments string }{
		{"memory_list_themes", `{}`},
		{"memory_search", `{"query":"*"}`},
		{"memory_add",
			`{"type":"fact","content":"Ana's birthday is on 3 June.","theme":"Family & Friends","tags":["ana","birthday","ana",""]}`},
		{"memory_add", `{"type":"fact","content":"ANA’s birthday is on 3 June!"}`},
		{"memory_add", `{"type":"fact","content":"Ana's birthday is on 4 June","theme":"family friends"}`},
		{"memory_add", `{"type":"preference","content":"Prefers tea to coffee"}`},
		{"memory_search", `{"query":"birthday","limit":"5","theme":null,"types":"fact"}`},
		{"memory_search", `{"query":"birthday","theme":"work"}`},
		{"memory_search", `{"query":"","status":"any","limit":2}`},
		{"memory_get", `{"item_id":1}`},
		{"memory_get", `{"item_id":"3"}`},
		{"memory_archive", `{"item_id":2}`},
		{"memory_archive", `{"item_id":2}`},
		{"memory_search", `{"query":"*","status":"archived"}`},
		{"memory_list_themes", `{}`},
		// Wrong arguments.
		{"memory_add", `{"type":"rumour","content":"x"}`},
		{"memory_add", `{"type":"fact","content":"   "}`},
		{"memory_add", `{"type":"fact","content":"🎂🎉"}`},
		{"memory_add", `{"type":"fact","content":"x","theme":"` + strings.Repeat("long", 75) + `"}`},
		{"memory_add", `{"type":"fact","content":"x","theme":"🎂"}`},
		{"memory_add", `{"type":"fact","content":"` + strings.Repeat("é", 2001) + `"}`},
		{"memory_add", `{"type":"fact","content":"x","tags":["1","2","3","4","5","6","7","8","9","10","11"]}`},
		{"memory_search", `{"query":"x","types":["fact","rumour"]}`},
		{"memory_search", `{"query":"x","status":"deleted"}`},
		{"memory_search", `{"query":"x","limit":-1}`},
		{"memory_search", `{"query":"x","recency_days":-3}`},
		{"memory_search", `{"query":"x","limit":"many"}`},
		{"memory_search", `[]`},
		{"memory_get", `{"item_id":99}`},
		{"memory_get", `{}`},
		{"memory_archive", `{"item_id":99}`},
	} {
		w.now = w.now.Add(time.Minute)
		if len(call.arguments) > 300 {
			fmt.Fprintf(&b, "==== %s %s… (%d bytes)\n", call.name, call.arguments[:60], len(call.arguments))
		} else {
			fmt.Fprintf(&b, "==== %s %s\n", call.name, call.arguments)
		}
		text, err := w.use(call.name, call.arguments)
		if err != nil {
			text = "Error: " + err.Error()
		}
		b.WriteString(text + "\n")
	}
	golden(t, "story.txt", b.String())
}

// TestTools_itemsOfOthers checks that an item of another user is not found, with the same words as for an
// item that never existed.
func TestTools_itemsOfOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	theirs := w.keep("Bo's secret is safe", "")
	w.user = 2
	for _, tool := range []string{"memory_get", "memory_archive"} {
		_, others := w.use(tool, fmt.Sprintf(`{"item_id":%d}`, theirs))
		_, none := w.use(tool, `{"item_id":77}`)
		if others == nil || none == nil || strings.ReplaceAll(others.Error(), fmt.Sprint(theirs), "77") != none.Error() {
			t.Errorf("%s: %v, %v", tool, others, none)
		}
	}
	w.signals = search.ItemSignals{Mode: "fts", Signals: []search.ItemSignal{{ID: theirs, FTS: true, Lexical: 1}}}
	for _, query := range []string{"*", "secret"} {
		if got := w.must("memory_search", `{"query":"`+query+`","status":"any"}`); len(got["results"].([]any)) != 0 {
			t.Errorf("%s: %v", query, got)
		}
	}
	if got := w.must("memory_add", `{"type":"fact","content":"Bo's secret is safe"}`); got["status"] != "added" {
		t.Errorf("an item of another user counts as a duplicate: %v", got)
	}
}

// TestSource checks that an item is based on the last message that the turn answers.
func TestSource(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.keep("Ana is a nurse", "people")
	if i := w.items[0]; i.SourceMessage != 42 || i.SourceThread != 3 || i.Theme != "people" || i.Embedding != "" {
		t.Errorf("got %+v", i)
	}
}

// TestArchive_twice checks that an archived item does not change again.
func TestArchive_twice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.keep("Ana is a nurse", "")
	for n := range 2 {
		for _, tool := range w.memory.Tools() {
			if tool.Spec().Name != "memory_archive" {
				continue
			}
			r, err := tool.Use(t.Context(), core.ToolUse{User: 1, Now: w.now,
				Arguments: json.RawMessage(fmt.Sprintf(`{"item_id":%d}`, id))})
			if err != nil || len(r.Effects) != 1-n {
				t.Errorf("call %d: got %+v, %v", n, r, err)
			}
			w.apply(1, r.Effects...)
		}
	}
}

func TestStoreFailures(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shelf.err = errors.New("the disk is full")
	for tool, arguments := range map[string]string{"memory_search": `{"query":"*"}`, "memory_add": `{"content":"x y"}`,
		"memory_get": `{"item_id":1}`, "memory_archive": `{"item_id":1}`, "memory_list_themes": `{}`} {
		if text, err := w.use(tool, arguments); err == nil || !strings.Contains(err.Error(), "disk is full") || text != "" {
			t.Errorf("%s: %q, %v", tool, text, err)
		}
	}
	w.shelf.err, w.said.err = nil, errors.New("the index is broken")
	if _, err := w.use("memory_search", `{"query":"tea"}`); err == nil ||
		!strings.Contains(err.Error(), "index is broken") {
		t.Errorf("got %v", err)
	}
}

func TestSpecs(t *testing.T) {
	t.Parallel()
	r, err := agent.NewRegistry(newWorld(t).memory.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range r.Specs() {
		names = append(names, s.Name)
	}
	want := []string{"memory_add", "memory_archive", "memory_get", "memory_list_themes", "memory_search"}
	if d := cmp.Diff(want, names); d != "" {
		t.Error(d)
	}
	if n := r.Tokens(tokens.New()); n > 550 {
		t.Errorf("the schemas take %d tokens, want at most 550", n)
	}
}

func FuzzTools(f *testing.F) {
	for _, tool := range []string{"memory_search", "memory_add", "memory_get", "memory_archive"} {
		f.Add(tool,
			`{"query":"*","content":"a b","item_id":1,"theme":"x","types":["fact"],"status":"any","limit":3,"tags":"t"}`)
	}
	f.Add("memory_add", `{"content":"\u0000é","theme":"a\u0300"}`)
	f.Fuzz(func(t *testing.T, tool, arguments string) {
		if !strings.HasPrefix(tool, "memory_") || len(tool) > 20 {
			t.Skip("not a name of a tool")
		}
		w := newWorld(t)
		for _, x := range w.memory.Tools() {
			if x.Spec().Name == tool {
				if text, err := w.use(tool, arguments); (text == "") == (err == nil) {
					t.Errorf("%q, %v", text, err)
				}
			}
		}
		for _, i := range w.items {
			if slug, err := items.Slug(i.Theme); err != nil || slug != i.Theme {
				t.Errorf("slug %q: %q, %v", i.Theme, slug, err)
			}
		}
	})
}

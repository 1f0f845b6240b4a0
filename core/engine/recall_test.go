package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/llm/llmtest"
	"github.com/everthread/everthread/core/memory/recall"
	"github.com/everthread/everthread/core/search"
	"github.com/everthread/everthread/core/store"
)

// asks completes a turn whose model makes one call, and returns the result and the descriptions of the tools.
func (w *wisher) asks(text string, thread core.ThreadID, call core.ToolCall) (result string,
	offered map[string]string) {
	w.t.Helper()
	w.n++
	w.now = w.now.Add(time.Minute)
	ctx, id := w.t.Context(), fmt.Sprint("m", w.n)
	c := store.Claim{Worker: "w", Now: w.now, Until: w.now.Add(time.Minute)}
	out, err := w.store.Append(ctx, store.Append{User: w.user.ID, Identity: w.at.ID, Now: w.now, RunAt: w.now, Claim: &c,
		Thread: thread, Events: []core.Inbound{{Address: w.at.Address, EventID: id, NativeID: id, Kind: core.InMessage,
			Text: text, SentAt: w.now}},
		Messages: []core.NewMessage{{Role: core.RoleUser, Kind: core.KindChat, Text: text, Tokens: 5, SentAt: w.now,
			Day: w.turns.Calendar.Day(w.user.Settings, w.now)}}})
	w.must(err)
	p, err := w.turns.Prompt(ctx, out.Turn, w.user, w.now)
	w.must(err)
	offered = map[string]string{}
	w.model.Script(func(r core.ModelRequest) llmtest.Reply {
		for _, tool := range r.Tools {
			offered[tool.Name] = tool.Description
		}
		if last := r.Messages[len(r.Messages)-1]; last.Role == core.RoleTool {
			result = last.Content
			return llmtest.Say("I could not find it.")
		}
		return llmtest.Call(call)
	})
	a, err := w.turns.Answer(ctx, out.Turn, w.user, p, core.Progress{Text: func(string) {}})
	w.must(err)
	_, err = w.store.Commit(ctx, store.Reply{Turn: out.Turn, State: core.TurnDone, Now: w.now, Snapshot: &p.Snapshot,
		Epoch: p.Epoch, News: p.News, Told: p.Told, Messages: a.Messages}, nil)
	w.must(err)
	return result, offered
}

// indexes lets the store find messages by their words.
func (w *wisher) indexes() {
	w.t.Helper()
	analyzer, err := recall.NewAnalyzer(nil)
	w.must(err)
	w.store.(interface{ Analyze(core.Analyzer) }).Analyze(analyzer)
}

func calls(name string, arguments any) core.ToolCall {
	b, _ := json.Marshal(arguments) // it consists of strings and numbers
	return core.ToolCall{ID: "1", Name: name, Arguments: string(b)}
}

// TestRecall_plainThread checks that the tools of a plain thread read what its prompt no longer shows, and nothing else.
func TestRecall_plainThread(t *testing.T) {
	t.Parallel()
	w := newWisher(t, "")
	w.indexes()
	w.turn("the heron of the main conversation", 0, nil)
	w.effect(effect.OpenThread{Identity: w.at.ID, Title: "apart", At: w.now})
	plain, err := w.store.Threads(t.Context(), w.user.ID, 1)
	w.must(err)
	apart := plain[0].ID
	w.turn("hello", apart, nil) // the first message stays in the prompt
	w.turn("the heron of this thread has a nest in the old mill", apart, nil)
	for range 40 {
		w.turn("something else", apart, nil)
	}
	found, offered := w.asks("where is the heron?", apart, calls("conversation_search", map[string]any{"query": "heron"}))
	var got search.View
	w.must(json.Unmarshal([]byte(found), &got))
	if len(got.Results) != 1 || !strings.Contains(got.Results[0].Snippet, "old mill") || got.Results[0].Score <= 0 {
		t.Fatalf("found %s", found)
	}
	if want := "Search everything said in this thread. "; !strings.HasPrefix(offered["conversation_search"], want) {
		t.Errorf("described as %q", offered["conversation_search"])
	}
	read, _ := w.asks("and exactly?", apart, calls("conversation_get",
		map[string]any{"message_id": got.Results[0].Message}))
	if !strings.Contains(read, "has a nest in the old mill") {
		t.Errorf("read %s", read)
	}
	read, _ = w.asks("and the other?", apart, calls("conversation_get", map[string]any{"message_id": 1}))
	if !strings.Contains(read, "there is no message #1") {
		t.Errorf("a message of the main conversation: read %s", read)
	}
	found, _ = w.asks("the heron again", apart, calls("conversation_search", map[string]any{"query": "heron"}))
	w.must(json.Unmarshal([]byte(found), &got))
	if len(got.Results) != 1 {
		t.Errorf("asked again: found %s", found)
	}
	w.effect(effect.UseThread{Identity: w.at.ID})
	found, offered = w.asks("a bird", 0, calls("conversation_search", map[string]any{"query": "mill"}))
	if strings.Contains(found, "old mill") || !strings.HasPrefix(offered["conversation_search"], "Search everything said with the user") {
		t.Errorf("the main conversation found %s", found)
	}
}

// TestRecall_noEchoes checks that a search finds what was said, and neither its prompt nor earlier searches of the day.
func TestRecall_noEchoes(t *testing.T) {
	t.Parallel()
	w := newWisher(t, "truncate")
	w.indexes()
	w.turn("hello", 0, nil)
	w.turn("the heron has a nest in the old mill", 0, nil)
	search := calls("conversation_search", map[string]any{"query": "heron nest", "limit": 20})
	if found, _ := w.asks("where is the heron?", 0, search); strings.Contains(found, "snippet") {
		t.Errorf("found what the prompt shows: %s", found)
	}
	for range 40 {
		w.turn("something else", 0, nil)
	}
	for range 3 {
		found, _ := w.asks("where is the nest of the heron?", 0, search)
		if !strings.Contains(found, "old mill") || strings.Contains(found, "where is") ||
			strings.Contains(found, "could not") {
			t.Errorf("found %s", found)
		}
	}
}

// TestEmbeddings_anotherModelAsks checks that after a change of the model the log says how many texts wait, that they
// wait for a confirmation, and that it is asked for once.
func TestEmbeddings_anotherModelAsks(t *testing.T) {
	t.Parallel()
	w := newWisher(t, "")
	ctx := t.Context()
	w.effect(effect.AddItem{Item: core.Item{User: w.user.ID, Theme: "general", Type: core.ItemFact, Content: "Likes herons",
		Status: core.ItemActive}, Digest: "herons", Theme: core.Theme{Slug: "general", Name: "general"},
		Embed: "ollama/old@0", At: w.now})
	embedded := func(config string) {
		waiting, err := w.store.PendingEmbeddings(ctx, w.user.ID, config, 10)
		w.must(err)
		if len(waiting) != 1 {
			t.Fatalf("%d texts wait for %s", len(waiting), config)
		}
		w.must(w.store.PutVectors(ctx, w.user.ID, config, []store.EmbeddingResult{{Kind: waiting[0].Kind, ID: waiting[0].ID,
			Revision: waiting[0].Revision, Vector: make([]float32, core.VectorSize)}}, w.now))
	}
	embedded("ollama/old@0")
	begin := func(model string) (*Embedders, string) {
		c := configs.Default()
		c.Embeddings.Provider, c.Embeddings.Model = "ollama", model
		logs, seen := observer.New(zap.WarnLevel)
		e, err := NewEmbedders(NewProcess(c, w.store, zap.New(logs), func() time.Time { return w.now }, WayOut(c), nil), nil)
		w.must(err)
		w.must(e.warn(ctx))
		if seen.Len() == 0 {
			return e, ""
		}
		return e, seen.All()[0].Message
	}
	if e, said := begin("old"); said != "" || must(e.Outdated(ctx)) != 0 {
		t.Errorf("the same model: logged %q", said)
	}
	e, said := begin("new")
	if !strings.HasPrefix(said, "1 texts will be embedded again with new (Ollama) once the owner confirms it") {
		t.Errorf("another model: logged %q", said)
	}
	if waiting, err := w.store.PendingEmbeddings(ctx, w.user.ID, "ollama/new@0", 10); err != nil || len(waiting) != 0 {
		t.Errorf("before the confirmation %d texts wait, %v", len(waiting), err)
	}
	if n := must(e.Outdated(ctx)); n != 1 {
		t.Errorf("asks about %d texts", n)
	}
	if n := must(e.RebuildOutdated(ctx)); n != 1 || must(e.Outdated(ctx)) != 0 {
		t.Errorf("embeds %d texts again, and asks once more about %d", n, must(e.Outdated(ctx)))
	}
	embedded("ollama/new@0")
	if _, said = begin("new"); said != "" {
		t.Errorf("after the rebuild: logged %q", said)
	}
}

func must(n int, err error) int {
	if err != nil {
		panic(err)
	}
	return n
}

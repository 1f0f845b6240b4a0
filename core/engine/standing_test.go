package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/agent"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/llm/llmtest"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/store/sqlite/sqlitetest"
)

// wisher is a user of an embedded store whose prompts are built as by the gateway.
type wisher struct {
	t     *testing.T
	store Store
	turns *Turns
	model *llmtest.Model
	user  core.User
	at    core.Identity
	now   time.Time
	n     int
	reads int // of standing instructions
}

// Instructions reads the instructions and counts the reads.
func (w *wisher) Instructions(ctx context.Context, user core.UserID) ([]core.Instruction, error) {
	w.reads++
	return w.store.Instructions(ctx, user)
}

func newWisher(t *testing.T, strategy string) *wisher {
	t.Helper()
	now := time.Date(2026, 11, 19, 8, 0, 0, 0, time.UTC)
	w := &wisher{t: t, store: sqlitetest.Open(t, t.TempDir()), now: now, model: llmtest.Replies(llmtest.Say("done"))}
	c := configs.Default()
	c.DataDir = t.TempDir()
	e, err := New(NewProcess(c, w.store, zap.NewNop(), func() time.Time { return w.now }, WayOut(c), nil),
		Options{Ticks: Ticks{Usual: "* * * * *", Reminders: "* * * * *", Embeddings: "* * * * *"}})
	w.must(err)
	o := e.Turns.TurnOptions
	o.Model, o.Standing.Store = w.model, w
	w.turns, err = NewTurns(o)
	w.must(err)
	w.user, err = w.store.AddUserAt(t.Context(), core.User{Name: "Ada", Role: core.RoleMember, CreatedAt: now,
		Settings: core.Settings{Strategy: strategy}}, core.Identity{Name: "Ada", LastUsed: now,
		Address: core.Address{Channel: "line", Account: "1", External: "7"}})
	w.must(err)
	ids, err := w.store.Identities(t.Context(), w.user.ID)
	w.must(err)
	w.at = ids[0]
	return w
}

func (w *wisher) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// effect applies effects, as a command does.
func (w *wisher) effect(effects ...core.Effect) {
	w.t.Helper()
	_, err := w.store.Note(w.t.Context(), store.Note{User: w.user.ID, Now: w.now, Effects: effects})
	w.must(err)
	w.user, err = w.store.User(w.t.Context(), w.user.ID)
	w.must(err)
}

// wants adds a standing instruction.
func (w *wisher) wants(text string) {
	w.t.Helper()
	add, _, err := w.turns.Standing.Add(w.t.Context(), w.user.ID, "en", text, w.now)
	w.must(err)
	w.effect(*add)
}

// wantsNoLonger removes the first standing instruction.
func (w *wisher) wantsNoLonger() {
	w.t.Helper()
	list, err := w.store.Instructions(w.t.Context(), w.user.ID)
	w.must(err)
	w.effect(effect.RemoveInstruction{Instruction: list[0].ID, At: w.now})
}

// turn completes a turn with a message, and returns its prompt.
func (w *wisher) turn(text string, thread core.ThreadID, r *core.Request) store.Prompt {
	w.t.Helper()
	w.n++
	w.now = w.now.Add(time.Minute)
	ctx, id := w.t.Context(), fmt.Sprint("m", w.n)
	c := store.Claim{Worker: "w", Now: w.now, Until: w.now.Add(time.Minute)}
	out, err := w.store.Append(ctx, store.Append{User: w.user.ID, Identity: w.at.ID, Now: w.now, RunAt: w.now, Claim: &c,
		Thread: thread, Events: []core.Inbound{{Address: w.at.Address, EventID: id, NativeID: id, Kind: core.InMessage,
			Text: text, SentAt: w.now}},
		Messages: []core.NewMessage{{Role: core.RoleUser, Kind: core.KindChat, Text: text, Tokens: 5, SentAt: w.now,
			Request: r, Day: w.turns.Calendar.Day(w.user.Settings, w.now)}}})
	w.must(err)
	p, err := w.turns.Prompt(ctx, out.Turn, w.user, w.now)
	w.must(err)
	_, err = w.store.Commit(ctx, store.Reply{Turn: out.Turn, State: core.TurnDone, Now: w.now, Snapshot: &p.Snapshot,
		Epoch: p.Epoch, News: p.News, Told: p.Told, Messages: []core.NewMessage{{Role: core.RoleAssistant,
			Kind: core.KindChat, Text: "So be it.", Tokens: 4, SentAt: w.now}}}, nil)
	w.must(err)
	return p
}

// standingIn returns the standing instructions in a request, and their position.
func standingIn(ms []core.ModelMessage) (text string, at int) {
	at = slices.IndexFunc(ms, func(m core.ModelMessage) bool {
		return m.Role == core.RoleSystem && strings.HasPrefix(m.Content, "Standing instructions:")
	})
	if at < 0 {
		return "", at
	}
	return ms[at].Content, at
}

// grew reports whether a prompt begins with an earlier one.
func grew(before, after []core.ModelMessage) bool {
	return len(after) >= len(before) && slices.EqualFunc(before, after[:len(before)],
		func(x, y core.ModelMessage) bool { return x.Role == y.Role && x.Content == y.Content })
}

// TestStanding_inEveryPrompt checks that standing instructions are in each prompt of
// every strategy, after the tool hints, and removed ones in none. Prompts keep their beginning
// unless the instructions changed, and nothing is added for users without any.
func TestStanding_inEveryPrompt(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"continuous", "truncate", "long"} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			w := newWisher(t, strategy)
			const wish = "answer in one sentence"
			var before []core.ModelMessage
			reused := 0
			for n := range 40 {
				switch n {
				case 10:
					if w.reads != 0 {
						t.Errorf("%d reads for a user without instructions", w.reads)
					}
					w.wants(wish)
					w.wants("call me Ada")
					w.reads = 0
				case 20:
					if w.reads > 2 {
						t.Errorf("%d reads in ten turns of one epoch", w.reads)
					}
					w.wantsNoLonger()
				case 30:
					w.wantsNoLonger()
				}
				p := w.turn(fmt.Sprint("message ", n), 0, nil)
				text, at := standingIn(p.Messages)
				want := map[int][2]bool{0: {}, 1: {true, true}, 2: {false, true}, 3: {}}[n/10]
				if got := [2]bool{strings.Contains(text, `- "`+wish+`"`), strings.Contains(text, `- "call me Ada"`)}; got != want {
					t.Errorf("turn %d contains %v: %q", n, got, text)
				}
				if n >= 10 && !strings.Contains(strings.ToLower(p.Messages[at-1].Content), "memory_") {
					t.Errorf("turn %d: it follows %q", n, p.Messages[at-1].Content)
				}
				if n >= 30 && !strings.Contains(text, "none") {
					t.Errorf("turn %d: %q", n, text)
				}
				for _, part := range p.Snapshot.Parts {
					if part.Name == core.PartStanding && (part.Tokens > 200 || part.Tokens == 0) {
						t.Errorf("turn %d: it takes %d tokens", n, part.Tokens)
					}
				}
				if before != nil && grew(before, p.Messages) {
					reused++
				}
				before = p.Messages
			}
			if reused < 39*80/100 {
				t.Errorf("%d of 39 prompts kept their beginning", reused)
			}
		})
	}
}

// TestStanding_inEveryKindOfTurn checks a plain thread, a program with its own
// instructions and strategy, memory switched off, and a regenerated reply.
func TestStanding_inEveryKindOfTurn(t *testing.T) {
	t.Parallel()
	w := newWisher(t, "")
	w.wants("answer in one sentence")
	has := func(what string, ms []core.ModelMessage) {
		t.Helper()
		if text, _ := standingIn(ms); !strings.Contains(text, `- "answer in one sentence"`) {
			t.Errorf("%s: %+v", what, ms)
		}
	}
	has("a turn", w.turn("hello", 0, nil).Messages)
	p := w.turn("hello", 0, &core.Request{Instructions: "Write JSON.", Strategy: "long"})
	has("a program's turn", p.Messages)
	_, at := standingIn(p.Messages)
	if p.Messages[at+1].Content != "Write JSON." {
		t.Errorf("it is followed by %q", p.Messages[at+1].Content)
	}
	w.effect(effect.OpenThread{Identity: w.at.ID, Title: "apart", At: w.now})
	plain, err := w.store.Threads(t.Context(), w.user.ID, 1)
	w.must(err)
	has("a plain thread", w.turn("hello", plain[0].ID, nil).Messages)
	s := w.user.Settings
	s.MemoryOff = true
	w.effect(effect.SetSettings{Settings: s})
	has("a turn without memory", w.turn("hello", plain[0].ID, nil).Messages)
}

// TestStanding_outsideConversations checks a helper, and a program's own request
// outside a conversation.
func TestStanding_outsideConversations(t *testing.T) {
	t.Parallel()
	w := newWisher(t, "")
	ask := func() [][]core.ModelMessage {
		before := len(w.model.Requests())
		_, err := w.turns.Direct(t.Context(), w.user.ID, core.ModelRequest{User: w.user.ID, Messages: []core.ModelMessage{
			{Role: core.RoleSystem, Content: "Find a title."}, {Role: core.RoleUser, Content: "hello"}}})
		w.must(err)
		called := false
		w.model.Script(func(core.ModelRequest) llmtest.Reply {
			if called {
				return llmtest.Say("2")
			}
			called = true
			return llmtest.Call(core.ToolCall{ID: "1", Name: "delegate", Arguments: `{"task":"add 1 and 1"}`})
		})
		_, err = agent.Run(t.Context(), agent.Request{Model: w.model,
			Tools:   w.turns.tools.of(w.user, core.ModeContinuous).Tools(),
			Journal: w.turns.Store, Permit: permit, MaxSteps: 2, ToolTokens: 1000, ResultTokens: 1000, ToolTimeout: time.Minute,
			Window:   10_000,
			Messages: []core.ModelMessage{{Role: core.RoleUser, Content: "hello"}}, Call: core.ToolUse{User: w.user.ID},
			Tokenizer: tokens.New(), Now: time.Now})
		w.must(err)
		all := w.model.Requests()[before:]
		if len(all) != 4 {
			t.Fatalf("%d requests", len(all))
		}
		w.model.Script(nil)
		return [][]core.ModelMessage{all[0].Messages, all[2].Messages}
	}
	for _, ms := range ask() {
		if text, at := standingIn(ms); at >= 0 {
			t.Errorf("a user without instructions: %q", text)
		}
	}
	w.wants("answer in one sentence")
	for _, ms := range ask() {
		if text, at := standingIn(ms); at != 1 || !strings.Contains(text, `- "answer in one sentence"`) || len(ms) != 3 {
			t.Errorf("%+v", ms)
		}
	}
}

// TestRebuild_standingOfItsTime checks that a rebuilt prompt has the
// instructions of its time; those removed since are blank.
func TestRebuild_standingOfItsTime(t *testing.T) {
	t.Parallel()
	w := newWisher(t, "")
	w.wants("answer in one sentence")
	w.wants("call me Ada")
	p := w.turn("hello", 0, nil)
	rebuilt := func() []core.ModelMessage {
		ms, err := Rebuild(t.Context(), w.store, w.turns.Config, tokens.New(), w.user.ID, &p.Snapshot)
		w.must(err)
		return ms
	}
	if ms := rebuilt(); !grew(p.Messages, ms) {
		t.Errorf("rebuilt\n%+v\nwant\n%+v", ms, p.Messages)
	}
	w.wantsNoLonger()
	text, _ := standingIn(rebuilt())
	if !strings.Contains(text, core.RemovedInstruction) || !strings.Contains(text, "call me Ada") ||
		strings.Contains(text, "one sentence") {
		t.Errorf("rebuilt with %q", text)
	}
}

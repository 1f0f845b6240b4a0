package prompt_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/prompt"
	"github.com/everthread/everthread/core/store"
)

// anyText draws a text of any size, mostly short.
func anyText(t *rapid.T, name string) string {
	n := rapid.OneOf(rapid.IntRange(0, 120), rapid.IntRange(0, 2000), rapid.Just(40000)).Draw(t, name)
	unit := rapid.SampledFrom([]string{"word and ", "é漢字🙂 ", "x", "line\n", "</forwarded> ", "> "}).Draw(t, name+" of")
	return strings.Repeat(unit, n/len(unit)+1)[:n/len(unit)*len(unit)]
}

func anyCalls(t *rapid.T) []core.ToolCall {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) core.ToolCall {
		return core.ToolCall{ID: rapid.SampledFrom([]string{"a", "b", "c", ""}).Draw(t, "call"), Name: "look_up",
			Arguments: `{"q":"` + strings.Repeat("x", rapid.IntRange(0, 400).Draw(t, "arguments")) + `"}`}
	}), 1, 3).Draw(t, "calls")
}

// anyMessage draws any message, meaningful or not.
func anyMessage(t *rapid.T) core.Message {
	m := core.Message{
		Role: rapid.SampledFrom([]core.Role{core.RoleUser, core.RoleUser, core.RoleAssistant, core.RoleAssistant,
			core.RoleTool, core.RoleSystem}).Draw(t, "role"),
		Kind: rapid.SampledFrom([]core.MessageKind{core.KindChat, core.KindChat, core.KindChat, core.KindChat,
			core.KindDaySummary, core.KindCommand}).Draw(t, "kind"),
		Text: anyText(t, "text"), Covered: rapid.Bool().Draw(t, "covered"),
		Revision: rapid.IntRange(0, 1).Draw(t, "revision"), Turn: core.TurnID(rapid.IntRange(0, 20).Draw(t, "turn")),
		Segment: core.SegmentID(rapid.IntRange(1, 3).Draw(t, "segment")),
		SentAt:  time.Unix(1795000000+rapid.Int64Range(0, 500000).Draw(t, "sent"), 0).UTC(),
	}
	switch m.Role {
	case core.RoleAssistant:
		if rapid.Bool().Draw(t, "asks tools") {
			m.ToolCalls = anyCalls(t)
		}
	case core.RoleTool:
		m.ToolCallID = rapid.SampledFrom([]string{"a", "b", "c", "d", ""}).Draw(t, "result of")
	case core.RoleUser:
		if rapid.IntRange(0, 5).Draw(t, "quotes") == 0 {
			m.Quote = &core.Quote{Text: anyText(t, "quote"), Mine: rapid.Bool().Draw(t, "mine")}
		}
		if rapid.IntRange(0, 5).Draw(t, "forwards") == 0 {
			m.ForwardedFrom = rapid.SampledFrom([]string{"Anna", "\"><x", strings.Repeat("n", 500)}).Draw(t, "from")
		}
	}
	if rapid.IntRange(0, 9).Draw(t, "redacted") == 0 {
		m.Redacted, m.Text = true, ""
	}
	return m
}

func measure(m core.Message) int {
	n := bytes4{}.Count(m.Text)
	for _, c := range m.ToolCalls {
		n += bytes4{}.Count(c.Name) + bytes4{}.Count(c.Arguments)
	}
	return n
}

// anyWindow draws a window for a new epoch, with any history.
func anyWindow(t *rapid.T) store.Window {
	w := store.Window{Edits: 3, More: rapid.Bool().Draw(t, "more"),
		Today: core.Segment{ID: 3, Day: core.Day{Label: "2026-11-19"}}}
	w.Messages = rapid.SliceOfN(rapid.Custom(anyMessage), 0, 60).Draw(t, "messages")
	if rapid.Bool().Draw(t, "today is summarised") {
		w.TodaySummary = &core.Summary{Version: 2, Markdown: summaryText(anyText(t, "today's topic"))}
	}
	if rapid.Bool().Draw(t, "there was a day before") {
		w.Last = core.Segment{ID: 2, Day: core.Day{Label: rapid.SampledFrom([]string{"2026-11-18", "2026-10-01"}).Draw(t,
			"label")}}
	}
	if w.Last.ID != 0 && rapid.Bool().Draw(t, "it is summarised") {
		w.LastSummary = &core.Summary{Version: 1, Markdown: anyText(t, "last summary")}
	}
	for n := range rapid.IntRange(0, 8).Draw(t, "loops") {
		w.Loops = append(w.Loops, core.Loop{ID: core.LoopID(n + 1), Text: anyText(t, "loop"),
			OpenedAt: time.Unix(1794000000, 0)})
	}
	return w
}

// anyPages draws pages of old messages, some of them stale.
func anyPages(t *rapid.T) []store.Page {
	var out []store.Page
	for n := range rapid.IntRange(0, 12).Draw(t, "pages") {
		p := store.Page{ID: store.PageID(n + 1), Start: int64(n - 100), First: core.MessageID(10*n + 1),
			Last: core.MessageID(10*n + 9), Messages: 3, Original: 4000,
			Tier: store.Tier(rapid.IntRange(1, int(store.MaxTier)).Draw(t, "tier"))}
		if p.Stale = rapid.IntRange(0, 9).Draw(t, "stale") == 0; !p.Stale {
			text := fmt.Sprintf("## Day %d\n#%d you: %s", n, n, anyText(t, "page"))
			p.Forms[p.Tier] = store.PageForm{Text: text, Tokens: bytes4{}.Count(text), UserTokens: 3, Summarized: 3}
		}
		out = append(out, p)
	}
	return out
}

func anyInput(t *rapid.T) prompt.Input {
	in := prompt.Input{Nonce: func() string { return "k3v9x2mqtw" }, Window: anyWindow(t),
		Now: time.Unix(1795500000, 0).UTC(), Zone: time.UTC, Tokens: bytes4{},
		Turn:     core.Turn{ID: 21, Mode: core.ModeContinuous, Segment: 3},
		Strategy: rapid.SampledFrom([]string{"continuous", "truncate", "long"}).Draw(t, "strategy"),
		Static: []prompt.Static{{Name: "instructions", Text: anyText(t, "instructions")},
			{Name: "policy", Text: prompt.Policy(nil, false)}, {Name: "memory", Text: anyText(t, "memory")},
			{Name: "themes", Text: rapid.SampledFrom([]string{"", `{"is":"themes of memory","themes":["boat (1)"]}`}).Draw(t,
				"themes")}}}
	if rapid.Bool().Draw(t, "small window") {
		in.Budgets = prompt.Budgets{ContextWindow: rapid.IntRange(3000, 9000).Draw(t, "window"), MaxOutput: 1000,
			ToolSchemaTokens: 800}
	}
	if in.Strategy == "long" {
		in.Budgets.LongBudget, in.Budgets.LongRaw = 7000, 1500
		in.Window.Pages = anyPages(t)
		in.Window.PagesBefore = rapid.IntRange(0, 3).Draw(t, "older pages")
	}
	for n := range rapid.IntRange(1, 4).Draw(t, "inputs") {
		in.Window.Messages = append(in.Window.Messages, core.Message{Role: core.RoleUser, Kind: core.KindChat,
			Turn: 21, Segment: 3, Text: fmt.Sprint("input ", n, anyText(t, "input")), SentAt: in.Now})
	}
	ms := in.Window.Messages
	for i := range ms {
		ms[i].ID, ms[i].Position, ms[i].Tokens = core.MessageID(i+1), int64(i+1), measure(ms[i])
		if ms[i].Turn == 21 {
			in.Turn.Inputs = append(in.Turn.Inputs, ms[i].ID)
		}
	}
	return in
}

// TestBuild_anyHistory checks that the rules of a prompt hold for any history.
func TestBuild_anyHistory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		before := text([]core.ModelMessage{{Content: fmt.Sprintf("%+v", in.Window.Messages)}})
		p, err := prompt.Build(in)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := prompt.Build(in)
		if text(p.Messages) != text(again.Messages) {
			t.Fatal("building twice gives different prompts")
		}
		if before != text([]core.ModelMessage{{Content: fmt.Sprintf("%+v", in.Window.Messages)}}) {
			t.Fatal("the window was changed")
		}
		checkSize(t, in, p)
		checkShape(t, in, p)
		checkTail(t, in, p)
		checkNoGap(t, in, p)
		checkRebuild(t, in, p, p.Epoch)
		checkHistory(t, in, p)
	})
}

// checkHistory checks that the newest pages are shown, whole, in order and as words of the
// conversation, and that those left out are counted.
func checkHistory(t *rapid.T, in prompt.Input, p prompt.Prompt) {
	h := p.Snapshot.History
	if in.Strategy != "long" {
		if h != nil {
			t.Fatal("history in another strategy")
		}
		return
	}
	shown := 0
	for i, m := range p.Messages {
		if p.Sources[i] == 0 && strings.Contains(m.Content, "\n[Earlier conversation, oldest first") {
			if m.Role != core.RoleUser {
				t.Fatalf("history has the role %s", m.Role)
			}
			shown = strings.Count(m.Content, "\n\n## Day ")
		}
	}
	missing := false
	for i := range in.Window.Pages {
		page := in.Window.Pages[len(in.Window.Pages)-1-i]
		there := strings.Contains(text(p.Messages), strings.TrimSpace(fmt.Sprintf("## Day %d\n#", page.ID-1)))
		if there && (missing || page.Stale) {
			t.Fatalf("page %d is shown although it is stale or a newer one is not shown", page.ID)
		}
		missing = missing || !there && !page.Stale
	}
	if h.Pages != shown || h.LeftOut != in.Window.PagesBefore+len(in.Window.Pages)-shown {
		t.Fatalf("%d pages are shown, the snapshot has %+v", shown, *h)
	}
}

func hardCap(in prompt.Input) int {
	hard := 6150
	switch in.Strategy {
	case "truncate":
		hard = 6000
	case "long":
		hard = 7000
	}
	if b := in.Budgets; b.ContextWindow > 0 {
		hard = min(hard, b.ContextWindow-b.ToolSchemaTokens-b.MaxOutput)
	}
	return hard
}

func checkSize(t *rapid.T, in prompt.Input, p prompt.Prompt) {
	s := p.Snapshot
	if s.Cap != hardCap(in) || s.Total > s.Cap {
		t.Fatalf("%d tokens with a cap of %d, want a cap of %d", s.Total, s.Cap, hardCap(in))
	}
	if got := cost(p.Messages, in.Tokens); got > s.Total {
		t.Fatalf("the snapshot has %d tokens, the prompt %d", s.Total, got)
	}
	sum := 0
	for _, part := range s.Parts {
		sum += part.Tokens
	}
	if sum != s.Total {
		t.Fatalf("the parts have %d tokens, want %d", sum, s.Total)
	}
}

// checkShape checks that roles are in order, and that calls have results and results have calls.
func checkShape(t *rapid.T, in prompt.Input, p prompt.Prompt) {
	if len(p.Sources) != len(p.Messages) {
		t.Fatal("sources are not parallel")
	}
	open := map[string]bool{}
	var ids []core.MessageID
	head, marks := true, 0
	for i, m := range p.Messages {
		head = head && m.Role == core.RoleSystem
		if m.Role == core.RoleSystem && (!head || p.Sources[i] != 0) {
			t.Fatal("a system message in the conversation")
		}
		if strings.TrimSpace(m.Content) == "" && len(m.ToolCalls) == 0 && m.Role != core.RoleTool {
			t.Fatalf("message %d is empty", i)
		}
		if m.Content == truncated(in, p) {
			marks++
		}
		if m.Role == core.RoleTool {
			if !open[m.ToolCallID] {
				t.Fatalf("a result without its call: %q", m.ToolCallID)
			}
			delete(open, m.ToolCallID)
		} else if len(open) > 0 {
			t.Fatalf("calls without results: %v", open)
		}
		for _, c := range m.ToolCalls {
			if open[c.ID] || !json.Valid([]byte(c.Arguments)) {
				t.Fatalf("call %+v", c)
			}
			open[c.ID] = true
		}
		if id := p.Sources[i]; id != 0 {
			ids = append(ids, id)
			stored := in.Window.Messages[slices.IndexFunc(in.Window.Messages, func(m core.Message) bool { return m.ID == id })]
			if stored.Kind != core.KindChat || stored.Redacted || stored.Role != m.Role {
				t.Fatalf("%+v is shown", stored)
			}
		}
	}
	if len(open) > 0 || marks > 1 || !slices.IsSorted(ids) || !slices.Equal(ids, flat(p.Snapshot.Messages)) {
		t.Fatalf("open %v, %d marks, sources %v, snapshot %v", open, marks, ids, p.Snapshot.Messages)
	}
	if (marks == 1) != (in.Window.More || missing(in, ids)) {
		t.Fatalf("%d marks with more %v and %d of %d shown", marks, in.Window.More, len(ids), len(in.Window.Messages))
	}
}

// truncated returns the mark of earlier messages. In long prompts it names the first message that
// is shown.
func truncated(in prompt.Input, p prompt.Prompt) string {
	if in.Strategy != "long" {
		return "[Earlier messages truncated]"
	}
	return fmt.Sprintf("[What stands before message #%d is left out; conversation_search finds it.]",
		flat(p.Snapshot.Messages)[0])
}

func flat(s core.IDSet) []core.MessageID {
	var ids []core.MessageID
	for _, r := range s.Ranges() {
		for id := r[0]; id <= r[1]; id++ {
			ids = append(ids, id)
		}
	}
	return ids
}

// plain reports whether a message may always be in a prompt.
func plain(m core.Message) bool {
	return m.Kind == core.KindChat && !m.Redacted && (m.Role == core.RoleUser || m.Role == core.RoleAssistant &&
		strings.TrimSpace(m.Text) != "")
}

func missing(in prompt.Input, ids []core.MessageID) bool {
	for i, m := range in.Window.Messages {
		if slices.Contains(ids, m.ID) {
			continue
		}
		if plain(m) {
			return true
		}
		// A call followed by its result may be shown as well.
		if m.Kind == core.KindChat && !m.Redacted && m.Role == core.RoleAssistant && paired(in.Window.Messages[i:]) {
			return true
		}
	}
	return false
}

func paired(ms []core.Message) bool {
	for _, m := range ms[1:] {
		if m.Role != core.RoleTool {
			return false
		}
		for _, c := range ms[0].ToolCalls {
			if m.Kind == core.KindChat && !m.Redacted && m.ToolCallID != "" && c.ID == m.ToolCallID {
				return true
			}
		}
	}
	return false
}

// checkTail checks that the inputs are shown, and last, and that the four newest messages are
// shown.
func checkTail(t *rapid.T, in prompt.Input, p prompt.Prompt) {
	if last := p.Messages[len(p.Messages)-1]; last.Role != core.RoleUser ||
		p.Sources[len(p.Sources)-1] != in.Turn.Inputs[len(in.Turn.Inputs)-1] {
		t.Fatalf("the prompt ends with %+v", last)
	}
	for _, id := range in.Turn.Inputs {
		i := slices.IndexFunc(in.Window.Messages, func(m core.Message) bool { return m.ID == id })
		if !plain(in.Window.Messages[i]) {
			continue
		}
		if !slices.Contains(p.Sources, id) {
			t.Fatalf("input %d is missing", id)
		}
	}
	n := 0
	for _, m := range slices.Backward(in.Window.Messages) {
		if !plain(m) {
			if m.Role == core.RoleAssistant && m.Kind == core.KindChat || m.Role == core.RoleTool {
				return // whether these are shown depends on their pairs
			}
			continue
		}
		if n++; n > 4 {
			return
		}
		if !slices.Contains(p.Sources, m.ID) {
			t.Fatalf("message %d of %d is missing", m.ID, len(in.Window.Messages))
		}
	}
}

// checkNoGap checks that an uncovered message is missing only if its turn does not fit.
func checkNoGap(t *rapid.T, in prompt.Input, p prompt.Prompt) {
	shown := p.Snapshot.Messages
	uncovered, behind := 0, false
	for i, m := range slices.Backward(in.Window.Messages) {
		if in.Strategy == "long" && m.Covered && plain(m) && !shown.Has(m.ID) {
			behind = true // long prompts have no gap: a message that is too large ends them, covered or not
		}
		if shown.Has(m.ID) || m.Covered || !plain(m) {
			if m.Role == core.RoleAssistant && !m.Covered && !shown.Has(m.ID) && m.Kind == core.KindChat && !m.Redacted &&
				strings.TrimSpace(m.Text) != "" && paired(in.Window.Messages[i:]) {
				uncovered++
			}
			continue
		}
		if uncovered++; uncovered > 1 || behind || in.Strategy == "truncate" {
			continue
		}
		size := 0
		for _, other := range in.Window.Messages {
			if other.Turn == m.Turn {
				size += other.Tokens + 250
			}
		}
		if p.Snapshot.Total+size <= p.Snapshot.Cap*11/12 {
			t.Fatalf("uncovered message %d of %d tokens is missing at %d of %d tokens", m.ID, m.Tokens,
				p.Snapshot.Total, p.Snapshot.Cap)
		}
	}
	if p.Snapshot.Dropped != uncovered {
		t.Fatalf("%d uncovered messages are missing, the snapshot has %d", uncovered, p.Snapshot.Dropped)
	}
	if uncovered > 0 && !p.Pressure {
		t.Fatal("no summary is requested")
	}
}

// loaded returns the messages of a window, with the thread's first one.
func loaded(in prompt.Input) []core.Message {
	if first := in.Window.Opener; first != nil {
		return slices.Concat([]core.Message{*first}, in.Window.Messages)
	}
	return in.Window.Messages
}

// checkRebuild checks that the prompt can be rebuilt from its references.
func checkRebuild(t fatal, in prompt.Input, p prompt.Prompt, e *store.Epoch) {
	var stored store.Epoch
	var snapshot store.Snapshot
	for from, to := range map[any]any{e: &stored, &p.Snapshot: &snapshot} {
		data, err := json.Marshal(from)
		if err != nil {
			t.Fatalf("%v", err)
		}
		if err := json.Unmarshal(data, to); err != nil {
			t.Fatalf("%v", err)
		}
	}
	var shown []core.Message
	for _, m := range loaded(in) {
		if p.News != nil && p.News.Message == m.ID {
			m.News = &p.News.News
		}
		if p.Snapshot.Messages.Has(m.ID) {
			shown = append(shown, m)
		}
	}
	slices.Reverse(shown)
	got := prompt.Rebuild(stored, snapshot, shown, in.Window.Pages, in.Budgets, in.Tokens)
	if want := text(p.Messages); text(got) != want {
		n := common(text(got), want)
		t.Fatalf("the rebuilt prompt differs at byte %d:\n%.300s\nwant:\n%.300s", n, text(got)[n:], want[n:])
	}
}

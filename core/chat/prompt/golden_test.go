package prompt_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/prompt"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/store"
)

var update = flag.Bool("update", false, "rewrite the golden files")

type scene struct {
	Now             time.Time
	Zone            string
	Instructions    string
	Tools           []string
	Memory          string
	MemoryError     string `json:"memory_error"`
	Turn            core.TurnID
	More            bool
	UncoveredBefore int `json:"uncovered_before"`
	Today, Last     struct {
		ID    core.SegmentID
		Label string
	}
	LastSummary  *core.Summary `json:"last_summary"`
	TodaySummary *core.Summary `json:"today_summary"`
	Loops        []struct {
		ID                core.LoopID
		Text              string
		Opened, Mentioned time.Time
		Sources           []core.MessageID
	}
	Messages []line
}

type line struct {
	ID            core.MessageID
	Turn          core.TurnID
	At            time.Time
	Covered       bool
	User          *string
	Assistant     *string
	Tool          *string
	Calls         []core.ToolCall
	ResultOf      string `json:"result_of"`
	Quote         string
	Mine          bool
	ForwardedFrom string `json:"forwarded_from"`
}

func (l line) message(s scene) core.Message {
	m := core.Message{ID: l.ID, Turn: l.Turn, Kind: core.KindChat, SentAt: l.At, Position: l.At.UnixMicro(),
		Covered: l.Covered, Segment: s.Last.ID, ToolCalls: l.Calls, ToolCallID: l.ResultOf, ForwardedFrom: l.ForwardedFrom}
	for role, text := range map[core.Role]*string{core.RoleUser: l.User, core.RoleAssistant: l.Assistant,
		core.RoleTool: l.Tool} {
		if text != nil {
			m.Role, m.Text = role, *text
		}
	}
	if l.Quote != "" {
		m.Quote = &core.Quote{Text: l.Quote, Mine: l.Mine}
	}
	if l.Turn == s.Turn {
		m.Segment = s.Today.ID
	}
	return m
}

func (s scene) input(t *testing.T) prompt.Input {
	in := prompt.Input{Nonce: func() string { return "k3v9x2mqtw" }, Now: s.Now, Zone: location(t, s.Zone),
		Tokens: tokens.New(), Turn: core.Turn{ID: s.Turn, Mode: core.ModeContinuous, Segment: s.Today.ID},
		Static: []prompt.Static{{Name: "instructions", Text: s.Instructions},
			{Name: "policy", Text: prompt.Policy(s.Tools, false)},
			{Name: "themes", Text: s.Memory, Error: s.MemoryError}},
		Window: store.Window{More: s.More, UncoveredBefore: s.UncoveredBefore, LastSummary: s.LastSummary,
			TodaySummary: s.TodaySummary, Today: core.Segment{ID: s.Today.ID, Day: core.Day{Label: s.Today.Label}},
			Last: core.Segment{ID: s.Last.ID, Day: core.Day{Label: s.Last.Label}}}}
	for _, l := range s.Loops {
		in.Window.Loops = append(in.Window.Loops, core.Loop{ID: l.ID, Text: l.Text, OpenedAt: l.Opened,
			Mentioned: l.Mentioned, Sources: l.Sources})
	}
	for _, l := range s.Messages {
		in.Window.Messages = append(in.Window.Messages, l.message(s))
		if l.Turn == s.Turn {
			in.Turn.Inputs = append(in.Turn.Inputs, l.ID)
		}
	}
	return in
}

// readable formats a prompt and its snapshot for a golden file.
func readable(p prompt.Prompt) string {
	var out strings.Builder
	for i, m := range p.Messages {
		fmt.Fprintf(&out, "──── %s", m.Role)
		if id := p.Sources[i]; id != 0 {
			fmt.Fprintf(&out, " #%d", id)
		}
		if m.ToolCallID != "" {
			fmt.Fprintf(&out, " for %s", m.ToolCallID)
		}
		fmt.Fprintf(&out, "\n%s\n", m.Content)
		for _, c := range m.ToolCalls {
			fmt.Fprintf(&out, "→ %s %s %s\n", c.ID, c.Name, c.Arguments)
		}
	}
	data, _ := json.MarshalIndent(p.Snapshot, "", "  ")
	fmt.Fprintf(&out, "════ snapshot, pressure %v\n%s\n", p.Pressure, data)
	return out.String()
}

func TestOpen_golden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var s scene
			if err := json.Unmarshal(data, &s); err != nil {
				t.Fatal(err)
			}
			p, err := prompt.Build(s.input(t))
			if err != nil {
				t.Fatal(err)
			}
			golden(t, strings.TrimSuffix(name, ".json")+".txt", readable(p))
		})
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
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
		t.Error(d)
	}
}

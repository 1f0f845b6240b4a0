package compress_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/compress"
	"github.com/everthread/everthread/core/llm/demo"
	"github.com/everthread/everthread/internal/fulltest"
)

func TestWants(t *testing.T) {
	t.Parallel()
	prose := strings.Repeat("We talked about the house for hours. ", 20)
	for name, c := range map[string]struct {
		m    core.Message
		want bool
	}{
		"a long answer":              {core.Message{Role: core.RoleAssistant, Text: prose, Tokens: 160}, true},
		"a short answer":             {core.Message{Role: core.RoleAssistant, Text: "Done!", Tokens: 2}, false},
		"a long message of a user's": {core.Message{Role: core.RoleUser, Text: prose, Tokens: 160}, true},
		"mostly code": {core.Message{Role: core.RoleUser, Text: "Look:\n\n```\n" + prose + "\n```",
			Tokens: 170}, false},
		"mostly a quote": {core.Message{Role: core.RoleUser, Text: "> " + prose + "\n\nLook", Tokens: 170},
			false},
		"tools":    {core.Message{Role: core.RoleTool, Text: prose, Tokens: 160}, false},
		"redacted": {core.Message{Role: core.RoleUser, Text: prose, Tokens: 160, Redacted: true}, false},
		"a notice": {core.Message{Role: core.RoleAssistant, Kind: core.KindNotice, Text: prose,
			Tokens: 160}, false},
		"not counted yet": {core.Message{Role: core.RoleAssistant, Text: prose}, true},
	} {
		if got := compress.Wants(&c.m); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestRequestIsClosed checks that a request has one line of JSON for each message, whatever the
// texts contain.
func TestRequestIsClosed(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("and so on and so forth ", 40)
	rapid.Check(t, func(t *rapid.T) {
		evil := rapid.SliceOfN(rapid.SampledFrom([]string{"=====", "\"}", "\n", "\u2028", "\u0085", "\r",
			"{\"id\": 3}", "text"}), 0, 8)
		var ms []core.Message
		for i := range rapid.IntRange(1, 5).Draw(t, "messages") {
			text := strings.Join(evil.Draw(t, "text"), "") + filler
			ms = append(ms, core.Message{ID: core.MessageID(i + 1), Role: core.RoleUser, Text: text, Tokens: 200})
		}
		request := compress.Request(ms, "Write in French.")
		if len(request) != 2 || !strings.HasPrefix(request[0].Content, compress.FirstLine) ||
			!strings.HasSuffix(request[0].Content, "Write in French.") {
			t.Fatalf("got request %v", request)
		}
		lines := strings.FieldsFunc(request[1].Content, func(r rune) bool {
			return strings.ContainsRune(
				"\n\r\v\f\u0085\u2028\u2029", r)
		})
		if len(lines) != len(ms) {
			t.Fatalf("%d lines for %d messages in\n%s", len(lines), len(ms), request[1].Content)
		}
		for i, line := range lines {
			var v struct {
				ID        core.MessageID
				Role      core.Role
				MaxTokens int `json:"max_tokens"`
				Text      string
			}
			if err := json.Unmarshal([]byte(line), &v); err != nil || v.ID != ms[i].ID || v.Role != core.RoleUser ||
				v.MaxTokens == 0 || v.Text != ms[i].Text {
				t.Fatalf("message %d became %s: %v", i+1, line, err)
			}
		}
	})
}

func TestRequestOfNothing(t *testing.T) {
	t.Parallel()
	if r := compress.Request([]core.Message{{ID: 1, Role: core.RoleUser, Text: "ok"}}); r != nil {
		t.Errorf("got request %v, want none", r)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	answer := "Sure! Here you go:\n```json\n{\"id\": 12, \"text\": \"One.\"}\n- {\"id\": \"#13\", \"text\": \"Two: {x}\"},\n" +
		"{\"id\": 12, \"text\": \"Again.\"}\n{\"id\": 14, \"text\": \"\"}\n{\"id\": 15}\n{\"id\": -1, \"text\": \"a\"}\n{\"id\": 16, \"text\": \"cut\n```"
	want := map[core.MessageID]string{12: "One.", 13: "Two: {x}", 14: ""}
	if diff := cmp.Diff(want, compress.Parse(answer)); diff != "" {
		t.Error(diff)
	}
}

// TestParseReadsWhatIsWritten checks that any text is parsed unchanged.
func TestParseReadsWhatIsWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := strings.TrimSpace(rapid.String().Draw(t, "text"))
		line, err := json.Marshal(map[string]any{"id": 7, "text": text})
		if err != nil {
			t.Fatal(err)
		}
		if got := compress.Parse("x\n" + string(line) + ",\n")[7]; got != strings.ToValidUTF8(text, "\ufffd") {
			t.Fatalf("%q became %q", text, got)
		}
	})
}

const story = "We looked at the flat in Ghent on Friday and it was lovely, although I do not want to live near the station. " +
	"Marie said, \"Take it if the rent stays under 900,\" and I think that she is right. The deposit is 1,800 euros. " +
	"If the bank says yes we sign on 3 May. The dog was with us and slept all the way, which was a relief for everybody. We would never paint the kitchen in such a dark colour. It rained."

// TestWhatAModelGivesIsChecked checks that of a model's text only what the message supports is
// used.
func TestWhatAModelGivesIsChecked(t *testing.T) {
	t.Parallel()
	c := compress.New(counter())
	for name, x := range map[string]struct {
		role      core.Role
		given     string
		has, none string // of the form VeryOld
	}{
		"the person's own words": {core.RoleUser,
			"We looked at the flat in Ghent on Friday and it was lovely. The deposit is 1,800 euros. If the bank says yes we sign on 3 May.", "it was lovely. Marie said, \"Take it", "slept all"},
		"other words": {core.RoleUser, "The user viewed an apartment in Ghent.",
			"although I do not want to live near the station", "apartment"},
		"a not left out": {core.RoleUser, "I do want to live near the station.",
			"I do not want to live near the station", "I do want"},
		"a never left out": {core.RoleUser, "We would paint the kitchen in such a dark colour.", "",
			"would paint"},
		"a condition left out": {core.RoleUser, "We sign on 3 May.", "If the bank says yes we sign on 3 May.", ""},
		"another number":       {core.RoleUser, "The deposit is 8,100 euros.", "1,800", "8,100"},
		"a quote changed": {core.RoleUser,
			"Marie said, \"Take it if the rent stays under 700,\" and I think that she is right.", "stays under 900,\"", "700"},
		"far too long": {core.RoleUser, story + " " + story + " " + story, "", ""},
		"an assistant's, shorter": {core.RoleAssistant, "Flat in Ghent viewed; deposit 1,800 euros.",
			"deposit 1,800 euros", ""},
		"an assistant's, with a liar":   {core.RoleAssistant, "Flat in Bruges viewed; deposit 1,800 euros.", "", "Bruges"},
		"an assistant's, other numbers": {core.RoleAssistant, "Deposit: 1,900 euros.", "", "1,900"},
		"an assistant's, in words":      {core.RoleAssistant, "Three flats in Ghent were viewed.", "", "Three"},
	} {
		m := core.Message{ID: 9, Role: x.role, Kind: core.KindChat, Text: story}
		f := c.Forms(&m, x.given, nil)[compress.VeryOld]
		if !strings.Contains(f.Text, x.has) || x.none != "" && strings.Contains(f.Text, x.none) {
			t.Errorf("%s: VeryOld is\n%s\nwant %q, and not %q", name, f.Text, x.has, x.none)
		}
	}
}

// TestRepeatsInForms checks the forms of a message with two repeats.
func TestRepeatsInForms(t *testing.T) {
	t.Parallel()
	c := compress.New(counter())
	file := "```go\n" + strings.Repeat("func f() error {\n\treturn g()\n}\n\n", 8) + "```"
	old := core.Message{ID: 42, Role: core.RoleUser, Text: "My file:\n\n" + file}
	text := "Now with tests, we ship on 3 May:\n\n" + strings.Replace(file, "g()", "h()", 1) + "\n\nand again\n\n" + file
	m := core.Message{ID: 50, Role: core.RoleUser, Text: text}
	candidates := map[int][]compress.Candidate{1: {{Message: 42, Piece: 1, Text: old.Text}},
		3: {{Message: 42, Piece: 1, Text: old.Text}}}
	forms := c.Forms(&m, "", c.Repeats(text, candidates))
	older := forms[compress.Older]
	if older.State != compress.Reference || older.RefersTo != 42 {
		t.Errorf("got form %+v", older)
	}
	for _, want := range []string{"[similar to message #42, with these changes:]\n```diff\n@@ -",
		"\n-\treturn g()\n+\treturn h()\n", "[same as in message #42]", "Now with tests"} {
		if !strings.Contains(older.Text, want) {
			t.Errorf("%q is not in\n%s", want, older.Text)
		}
	}
	if kernel := forms[compress.Kernel].Text; !strings.Contains(kernel, "3 May") ||
		!strings.Contains(kernel, "lines, see #50]") {
		t.Errorf("got kernel %q", kernel)
	}
}

// TestDemoModelIsBelieved checks requests and parsing end to end, without a network: the demo
// model's answers for a month are parsed, and nearly all are used.
func TestDemoModelIsBelieved(t *testing.T) {
	t.Parallel()
	ms := year()[:fulltest.Size(200, 1600)]
	c := compress.New(counter())
	asked, used, helped := 0, 0, 0
	for chunk := range slices.Chunk(ms, 40) {
		request := compress.Request(chunk)
		given := compress.Parse(answer(t, request))
		for i := range chunk {
			m := &chunk[i]
			if compress.Wants(m) {
				asked++
			}
			if given[m.ID] == "" {
				continue
			}
			used++
			if c.Forms(m, given[m.ID], nil) != c.Forms(m, "", nil) {
				helped++
			}
		}
	}
	t.Logf("%d messages to shorten, %d answered, of which %d changed a form", asked, used, helped)
	if asked < fulltest.Size(25, 100) || used*2 < asked || helped*2 < used {
		t.Errorf("%d messages to shorten, %d answered, of which %d changed a form", asked, used, helped)
	}
}

func answer(t *testing.T, request []core.ModelMessage) string {
	t.Helper()
	if request == nil {
		return ""
	}
	var b strings.Builder
	for d, err := range demo.New(counter()).Stream(t.Context(), core.ModelRequest{Messages: request}) {
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(d.Text)
	}
	return b.String()
}

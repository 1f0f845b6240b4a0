package demo

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/everthread/everthread/core"
)

type words10 struct{}

func (words10) Count(text string) int { return len(strings.Fields(text)) }

var search = core.ToolSpec{Name: "conversation_search", Schema: json.RawMessage(`{}`)}

func ask(t *testing.T, req core.ModelRequest) (string, core.Delta) {
	t.Helper()
	var text strings.Builder
	var last core.Delta
	for d, err := range New(words10{}).Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString(d.Text)
		last = d
	}
	return text.String(), last
}

func user(text string) core.ModelMessage {
	return core.ModelMessage{Role: core.RoleUser, Content: text}
}
func assistant(text string) core.ModelMessage {
	return core.ModelMessage{Role: core.RoleAssistant, Content: text}
}
func system(text string) core.ModelMessage {
	return core.ModelMessage{Role: core.RoleSystem, Content: text}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	notes := user("[Notes]\n<notes-k3>\n" + core.DataLine(map[string]string{"is": "summary of yesterday",
		"text": "## Decisions\n- The dentist is on Thursday at nine [#12]\n"}) + "\n</notes-k3>")
	cases := []struct {
		name     string
		messages []core.ModelMessage
		want     []string // parts of the answer
	}{
		{"greets and says what it is", []core.ModelMessage{user("[Thu 19 Nov 08:10] Hello!")},
			[]string{"Hello!", "demo model", "llm.provider"}},
		{"greets in French", []core.ModelMessage{user("Bonjour, ça va ?")}, []string{"Modèle de démonstration"}},
		{"repeats back", []core.ModelMessage{user("[Thu 19 Nov 08:10] My dog is called Biscuit.")},
			[]string{"Demo model", "“My dog is called Biscuit”."}},
		{"quotes what was said", []core.ModelMessage{
			user("[Thu 19 Nov 08:10] My dog is called Biscuit."), assistant("ok"), user("My car is red"), assistant("ok"),
			user("What is my dog's name?"),
		}, []string{"you said: “My dog is called Biscuit.”"}},
		{"quotes in French", []core.ModelMessage{
			user("Mon chien s'appelle Biscuit."), assistant("ok"), user("Comment s'appelle mon chien ?"),
		}, []string{"vous avez dit : « Mon chien s'appelle Biscuit. »"}},
		{"quotes in German", []core.ModelMessage{
			user("Mein Hund heißt Biscuit."), assistant("ok"), user("Wie heißt mein Hund?"),
		}, []string{"du gesagt hast: „Mein Hund heißt Biscuit.“"}},
		{"quotes the newest of two", []core.ModelMessage{
			user("The meeting is at nine"), assistant("ok"), user("The meeting is at ten"), assistant("ok"),
			user("When is the meeting?"),
		}, []string{"at ten"}},
		{"quotes a summary, not the instructions", []core.ModelMessage{system("Never call a dentist at night."),
			notes, user("When is the dentist?")},
			[]string{"notes", "“The dentist is on Thursday at nine”"}},
		{"admits that it does not know", []core.ModelMessage{user("Why is the sky blue?")},
			[]string{"nothing I can see"}},
		{"cannot see another day", []core.ModelMessage{user("What did we talk about yesterday?")},
			[]string{"only see today's messages and the summaries"}},
		{"cannot see another day, in French", []core.ModelMessage{user("De quoi avons-nous parlé hier ?")},
			[]string{"que les messages d'aujourd'hui"}},
	}
	for _, c := range cases {
		got, last := ask(t, core.ModelRequest{Messages: c.messages})
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q lacks %q", c.name, got, want)
			}
		}
		if last.Finish != core.FinishStop || last.Model != "demo" || last.Usage.Prompt == 0 || last.Usage.Completion == 0 {
			t.Errorf("%s: %+v", c.name, last)
		}
	}
}

func TestAnswers_searchForAnotherDay(t *testing.T) {
	t.Parallel()
	cases := []struct{ question, arguments string }{
		{"What did I say about the dentist last week?", `{"query":"dentist"}`},
		{"What did I say about the dentist on 2026-11-18?", `{"query":"dentist","day":"2026-11-18"}`},
		{"Qu'est-ce que j'ai dit hier sur l'hôtel ?", `{"query":"hotel"}`},
		{"Was habe ich gestern über das Hotel gesagt?", `{"query":"hotel"}`},
		{"What is my dog's name?", `{"query":"dog"}`},
		{"What is the rent?\n[Files of this message: data]\n<files-k3>\n{\"name\":\"lease.pdf\"}\n</files-k3>", `{"query":"rent"}`},
		{"What did we talk about yesterday?", `{"query":"What did we talk about yesterday?"}`},
	}
	for _, c := range cases {
		req := core.ModelRequest{Messages: []core.ModelMessage{user(c.question)}, Tools: []core.ToolSpec{search}}
		_, last := ask(t, req)
		if last.Finish != core.FinishTools || len(last.ToolCalls) != 1 || last.ToolCalls[0].Arguments != c.arguments {
			t.Errorf("%s: %+v", c.question, last)
		}
	}
}

func TestAnswers_fromTheSearch(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, result, want string }{
		{"hits",
			`{"results":[{"kind":"summary","day_label":"2026-11-18","summary_snippet":"Biscuit came."},{"kind":"message","day_label":"2026-11-18","message_id":12,"role":"user","snippet":"My dog is called Biscuit."}]}`, "Demo model: I searched our conversation and found:\n- 2026-11-18, from the summary: “Biscuit came.”\n- 2026-11-18, you said: “My dog is called Biscuit.”"},
		{"a file", `{"results":[{"kind":"file","day_label":"2026-11-18","message_id":12,"role":"user","name":"lease.pdf","page":3,"snippet":"Rent 930"}]}`,
			"Demo model: I searched our conversation and found:\n- lease.pdf, page 3: “Rent 930”"},
		{"nothing", `{"results":[]}`, "Demo model: I searched our conversation and found nothing about it."},
		{"an error", `Error: no store`, "Demo model: the search returned no list of results but: “Error: no store”"},
	}
	for _, c := range cases {
		req := core.ModelRequest{Tools: []core.ToolSpec{search}, Messages: []core.ModelMessage{
			user("What is my dog's name?"),
			{Role: core.RoleAssistant, ToolCalls: []core.ToolCall{{ID: "1", Name: "conversation_search"}}},
			{Role: core.RoleTool, ToolCallID: "1", Content: c.result},
		}}
		if got, last := ask(t, req); got != c.want || last.Finish != core.FinishStop {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

// line returns one line of a request for a summary.
func line(id int, role, text string) string {
	return core.DataLine(struct {
		ID   int    `json:"id"`
		Role string `json:"role"`
		At   string `json:"at"`
		Text string `json:"text"`
	}{id, role, "Thu 19 Nov 08:10", text})
}

func transcript() string {
	return strings.Join([]string{`{"day":"2026-11-19"}`,
		line(12, "user", "Good morning! My dog is called Biscuit.\nHe is two."),
		line(13, "assistant", "What a nice name. I will remember it."),
		line(14, "user", "I want to learn Italian. I still have to call the vet."),
		line(15, "user", "Tomorrow I'll buy a book."),
		"Write the summary of these lines now."}, "\n")
}

func TestSummary(t *testing.T) {
	t.Parallel()
	ordered := system(summaryRequest + ".\nUse this format: …")
	got, _ := ask(t, core.ModelRequest{Messages: []core.ModelMessage{ordered, user(transcript())}})
	want := `## Summary
The person began with “Good morning! My dog is called Biscuit. He is two”. Later came “Tomorrow I'll buy a book”.

## Goals
- I want to learn Italian. [#14]

## Decisions
- My dog is called Biscuit. [#12]

## Open loops
- I still have to call the vet. [#14]

## Next steps
- Tomorrow I'll buy a book. [#15]`
	if got != want {
		t.Errorf("got\n%s", got)
	}
	more := core.DataLine(map[string]string{"day": "2026-11-19", "summary_so_far": got}) + "\n" + line(20, "user",
		"We decided to take the train.")
	got, _ = ask(t, core.ModelRequest{Messages: []core.ModelMessage{ordered, user(more)}})
	for _, want := range []string{"- My dog is called Biscuit. [#12]\n- We decided to take the train. [#20]",
		"began with “Good morning!", "Later came “We decided to take the train”", "[#15]"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if strings.Contains(got, "buy a book”") {
		t.Errorf("the former last message is repeated in\n%s", got)
	}
}

func TestSummary_frenchAndEmpty(t *testing.T) {
	t.Parallel()
	got, _ := ask(t, core.ModelRequest{Messages: []core.ModelMessage{system(summaryRequest),
		user(line(3, "user", "Bonjour, il pleut sur la ville"))}})
	if want := "## Summary\nLa personne a commencé par « Bonjour, il pleut sur la ville ».\n\n## Decisions\n- Bonjour, il pleut sur la ville [#3]"; got != want {
		t.Errorf("got\n%s", got)
	}
	got, _ = ask(t, core.ModelRequest{Messages: []core.ModelMessage{system(summaryRequest), user(`{"day":"2026-11-19"}`)}})
	if got != "## Summary\nNothing was said." {
		t.Errorf("got\n%s", got)
	}
}

var bullet = regexp.MustCompile(`^- .* \[#\d+\]$`)

func TestSummary_everyBulletHasAReference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOf(rapid.String()).Draw(t, "texts")
		var b strings.Builder
		for _, text := range texts {
			b.WriteString(line(7, "user", "I want "+text) + "\n")
		}
		got := summarize([]core.ModelMessage{system(summaryRequest), user(b.String())})
		for line := range strings.Lines(got) {
			if strings.HasPrefix(line, "- ") && !bullet.MatchString(strings.TrimSpace(line)) {
				t.Fatalf("bullet %q", line)
			}
		}
	})
}

func TestAnswers_sameForTheSameRequest(t *testing.T) {
	t.Parallel()
	req := core.ModelRequest{Messages: []core.ModelMessage{system(summaryRequest), user(transcript())}}
	first, _ := ask(t, req)
	for range 5 {
		if again, _ := ask(t, req); again != first {
			t.Fatal("got a different answer")
		}
	}
}

func FuzzReply(f *testing.F) {
	f.Add("hello", "What did I say yesterday?", `{"results":[{}]}`)
	f.Add(summaryRequest, transcript(), "")
	f.Fuzz(func(t *testing.T, first, question, result string) {
		messages := []core.ModelMessage{system(first), user(question)}
		if result != "" {
			messages = append(messages, core.ModelMessage{Role: core.RoleTool, Content: result})
		}
		r := reply(core.ModelRequest{Messages: messages, Tools: []core.ToolSpec{search}})
		if r.Content == "" && r.ToolCalls == nil {
			t.Error("got an empty reply")
		}
		if utf8.ValidString(first+question+result) && !utf8.ValidString(r.Content) {
			t.Error("a rune was cut")
		}
	})
}

// TestAnswers_setReminders calls reminder_set for what the page proposes to write, and tells the result.
func TestAnswers_setReminders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ said, text, tells string }{
		{"[Thu 19 Nov 08:10] Remind me tomorrow at 9 to call Ana", "tomorrow at 9 to call Ana", "set for Friday at 9: “call Ana”"},
		{"Rappelle-moi demain à 9 h d'appeler Ana", "demain à 9 h d'appeler Ana", "prévu pour Friday at 9 : « call Ana »"},
		{"Erinnere mich morgen um 9 daran, Ana anzurufen", "morgen um 9 daran, Ana anzurufen", "gestellt für Friday at 9: „call Ana“"},
		{"/remind in a fortnight call Ana", "in a fortnight call Ana", "set for Friday at 9"},
	} {
		req := core.ModelRequest{Messages: []core.ModelMessage{user(c.said)}, Tools: []core.ToolSpec{{Name: "reminder_set"}}}
		_, last := ask(t, req)
		if len(last.ToolCalls) != 1 || last.ToolCalls[0].Arguments != core.DataLine(map[string]string{"text": c.text}) {
			t.Errorf("%s: %+v", c.said, last.ToolCalls)
			continue
		}
		call := core.ModelMessage{Role: core.RoleAssistant, ToolCalls: last.ToolCalls}
		for result, want := range map[string]string{`{"local":"Friday at 9","text":"call Ana"}`: c.tells, "no such time": "no such time"} {
			after := req
			after.Messages = append(slices.Clone(req.Messages), call, core.ModelMessage{Role: core.RoleTool, Content: result})
			if got, _ := ask(t, after); !strings.Contains(got, want) {
				t.Errorf("%s: %q lacks %q", c.said, got, want)
			}
		}
	}
}

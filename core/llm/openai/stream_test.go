package openai

import (
	"fmt"
	"strings"
	"testing"

	"github.com/everthread/everthread/core"
)

// answering returns the answer of a server that sends events.
func answering(t *testing.T, events ...string) answer {
	t.Helper()
	body := "data: " + strings.Join(events, "\n\ndata: ") + "\n\ndata: [DONE]\n\n"
	s := asking(t, func(sent, int) (int, string) { return 200, body })
	return ask(t.Context(), s.model, prompt())
}

func choosing(choice string) string { return `{"choices":[{` + choice + `}]}` }

func TestStream_messageBesidePieces(t *testing.T) {
	t.Parallel()
	const boat = "The boat is blue."
	for name, events := range map[string][]string{
		"Perplexity": {choosing(`"delta":{"role":"assistant","content":"The"},"message":{"content":"The"}`),
			choosing(`"delta":{"content":" boat"},"message":{"content":"The boat"}`),
			choosing(`"delta":{"content":" is blue."},"message":{"content":"The boat is blue."},"finish_reason":"stop"`)},
		"the message at last": {choosing(`"delta":{"content":"The boat"}`), choosing(`"delta":{"content":" is blue."}`),
			choosing(`"message":{"content":"The boat is blue."},"finish_reason":"stop"`)},
		"an empty piece at last": {choosing(`"delta":{"content":"The boat is blue."},"message":{"content":"The boat is blue."}`),
			choosing(`"delta":{},"message":{"content":"The boat is blue."},"finish_reason":"stop"`)},
		"an empty piece at first": {choosing(`"delta":{"role":"assistant","content":""},"message":{"content":""}`),
			choosing(`"delta":{"content":"The boat is blue."},"message":{"content":"The boat is blue."},"finish_reason":"stop"`)},
		"the message alone": {choosing(`"delta":{},"message":{"content":"The boat is blue."},"finish_reason":"stop"`)},
	} {
		if a := answering(t, events...); a.err != nil || a.text != boat {
			t.Errorf("%s: %q, %v", name, a.text, a.err)
		}
	}
}

func TestStream_partsOfCalls(t *testing.T) {
	t.Parallel()
	part := func(s string) string { return choosing(`"delta":{"tool_calls":[{` + s + `}]}`) }
	for name, c := range map[string]struct {
		events []string
		want   string
	}{
		"the second begins under the first's number": {[]string{
			part(`"index":0,"id":"a","function":{"name":"search","arguments":"{\"q\":1}"}`),
			part(`"index":0,"id":"b","function":{"name":"read","arguments":""}`),
			part(`"index":1,"function":{"arguments":"{\"q\":"}`), part(`"index":1,"function":{"arguments":"2}"}`)},
			`search({"q":1})#a read({"q":2})#b`},
		"an id for each piece": {[]string{part(`"index":0,"id":"a","function":{"name":"search","arguments":"{\"q\""}`),
			part(`"index":0,"id":"b","function":{"arguments":":"}`), part(`"index":0,"id":"c","function":{"arguments":"1}"}`)},
			`search({"q":1})#c`},
		"an id and the name in each piece": {[]string{
			part(`"index":0,"id":"a","function":{"name":"search","arguments":"{\"q\""}`),
			part(`"index":0,"id":"b","function":{"name":"search","arguments":":1}"}`)}, `search({"q":1})#b`},
		"ids for pieces of two": {[]string{part(`"index":0,"id":"a","function":{"name":"search","arguments":"{\"q\":"}`),
			part(`"index":1,"id":"b","function":{"name":"read","arguments":"{"}`),
			part(`"index":0,"id":"c","function":{"arguments":"1}"}`), part(`"index":1,"id":"d","function":{"arguments":"}"}`)},
			`search({"q":1})#c read({})#d`},
		"two of the same name": {[]string{part(`"index":0,"id":"a","function":{"name":"search","arguments":"{\"q\":1}"}`),
			part(`"index":0,"id":"b","function":{"name":"search","arguments":"{\"q\":2}"}`)},
			`search({"q":1})#a search({"q":2})#b`},
	} {
		a := answering(t, append(c.events, choosing(`"delta":{},"finish_reason":"tool_calls"`))...)
		var got []string
		for _, call := range a.last.ToolCalls {
			got = append(got, fmt.Sprintf("%s(%s)#%s", call.Name, call.Arguments, call.ID))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

// TestStream_besideTheText: what an answer rests on stands below it, a picture is reported, and no character is cut.
func TestStream_besideTheText(t *testing.T) {
	t.Parallel()
	say := func(s string) string { return choosing(`"delta":{"content":"` + s + `"},"finish_reason":"stop"`) }
	for name, c := range map[string]struct {
		events   []string
		text     string
		pictured bool
	}{
		"citations": {[]string{`{"citations":["https://a.example/x","https://b.example"],"choices":[{"delta":{"content":"Blue [1]"}}]}`,
			`{"citations":["https://a.example/x","https://b.example"],"choices":[{"delta":{"content":"."},"finish_reason":"stop"}]}`},
			"Blue [1].\n\n[1] https://a.example/x", false},
		"citations without numbers": {[]string{`{"citations":["https://a.example","https://b.example"],"choices":[{"delta":{"content":"Blue."},"finish_reason":"stop"}]}`},
			"Blue.\n\n[1] https://a.example\n[2] https://b.example", false},
		"objects": {[]string{`{"citations":[{"url":"https://a.example","title":"A"}],"choices":[{"delta":{"content":"Blue."},"finish_reason":"stop"}]}`},
			"Blue.\n\n[1] https://a.example", false},
		"annotations": {[]string{say("Blue."), choosing(`"delta":{"annotations":[{"type":"url_citation","url_citation":{"url":"https://a.example","title":"A"}}]},"finish_reason":"stop"`)},
			"Blue.\n\n[1] https://a.example", false},
		"annotations that the text names": {[]string{choosing(`"message":{"content":"Blue ([A](https://a.example)).","annotations":[{"type":"url_citation","url_citation":{"url":"https://a.example"}}]},"finish_reason":"stop"`)},
			"Blue ([A](https://a.example)).", false},
		"citations in an odd form": {[]string{`{"citations":[7,null,{"url":[]}],"choices":[{"delta":{"content":"Blue."},"finish_reason":"stop"}]}`}, "Blue.", false},
		"a picture":                {[]string{say("Here is Snoopy:"), choosing(`"delta":{"images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]},"finish_reason":"stop"`)}, "Here is Snoopy:", true},
		"a picture alone":          {[]string{choosing(`"message":{"content":"","images":[{"type":"image_url"}]},"finish_reason":"stop"`)}, "", true},
		"halves":                   {[]string{say(`hi \ud83d`), say(`\ude00 there`)}, "hi 😀 there", false},
		"halves alone":             {[]string{say(`\uD83D`), say(`\uDE00`), say(`\ud83d`), say(`\ude00`)}, "😀😀", false},
		"a half without the other": {[]string{say(`hi \ud83d`), say(`there \ude00`)}, "hi \ufffdthere \ufffd", false},
		"an escaped backslash":     {[]string{say(`hi \\ud83d`), say(`퟿힣`)}, `hi \ud83d` + "\ud7ff힣", false},
	} {
		a := answering(t, c.events...)
		if a.err != nil || a.text != c.text || a.last.Pictured != c.pictured || a.last.Finish != core.FinishStop {
			t.Errorf("%s: got %q, pictured %t, %v, want %q", name, a.text, a.last.Pictured, a.err, c.text)
		}
	}
}

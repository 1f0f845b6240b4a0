// Package demo is the built-in chat model, for trying everything out without a key. It understands nothing, and says
// so: it quotes what its prompt and conversation_search show. The same request always has the same answer.
package demo

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/text/times"
)

// model is a core.Model.
type model struct{ tokens core.Tokenizer }

// New returns the model. It estimates usage with tokens.
func New(tokens core.Tokenizer) core.Model { return &model{tokens: tokens} }

// Stream answers word by word.
func (m *model) Stream(ctx context.Context, req core.ModelRequest) iter.Seq2[core.Delta, error] {
	return func(yield func(core.Delta, error) bool) {
		r := reply(req)
		for word := range strings.SplitAfterSeq(r.Content, " ") {
			if err := ctx.Err(); err != nil {
				yield(core.Delta{}, err)
				return
			}
			if word != "" && !yield(core.Delta{Text: word}, nil) {
				return
			}
		}
		usage := &core.Usage{Completion: m.tokens.Count(r.Content)}
		for _, message := range req.Messages {
			usage.Prompt += m.tokens.Count(message.Content)
		}
		last := core.Delta{Finish: core.FinishStop, Usage: usage, Model: "demo", ToolCalls: r.ToolCalls}
		for _, call := range r.ToolCalls {
			usage.Completion += m.tokens.Count(call.Arguments)
			last.Finish = core.FinishTools
		}
		yield(last, nil)
	}
}

// summaryRequest begins the system message that requests the summary of a day.
const summaryRequest = "You write the summary of one day of a conversation"

// reply returns an answer or a tool call.
func reply(req core.ModelRequest) core.ModelMessage {
	first := ""
	if len(req.Messages) > 0 {
		first = req.Messages[0].Content
	}
	if strings.HasPrefix(first, summaryRequest) {
		return core.ModelMessage{Content: summarize(req.Messages)}
	}
	return answer(look(req))
}

// phrases are the texts of the model in one language. The comments name their verbs.
type phrases struct {
	Hello, Unknown, OnlyToday, Found, FoundNothing, NothingSaid string
	Heard, YouSaid, Noted, SearchFailed, Began, Ended           string // text
	HitYours, HitMine, HitSummary                               string // day, text
	HitFile                                                     string // name, page, text
	Remind                                                      []string
	Reminded                                                    string // time, text
	NotReminded                                                 string // why
}

var say = i18n.In[phrases]("demo")

var (
	question = text.OneOf("demo", "questions") // begins one that has no question mark
	recalls  = text.OneOf("demo", "recalls")   // asks for an earlier day
	said     = text.OneOf("demo", "said")      // says nothing about what was said
	greeting = text.OneOf("demo", "greeting")
)

// language returns the language with most of the small words in a text, English if in doubt.
func language(s string) string {
	found, most := i18n.English, 0
	for _, l := range i18n.Languages() {
		n := 0
		for _, word := range text.Words(s) {
			if text.Small(l)[word] {
				n++
			}
		}
		if n > most {
			found, most = l, n
		}
	}
	return found
}

// contentWords returns the words of a text that carry meaning in a language, each once.
func contentWords(language, s string) []string {
	var out []string
	for _, w := range text.Words(s) {
		w = strings.TrimSuffix(w, "'s")
		if utf8.RuneCountInString(w) > 1 && !text.Small(language)[w] && !said(w) && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// stems returns the stems of words.
func stems(words []string) map[string]bool {
	out := map[string]bool{}
	for _, w := range words {
		out[text.Stem(strings.TrimRight(w, "sx"))] = true
	}
	return out
}

// earlier returns a text without the words that name a day, and reports whether it asks for an earlier one.
func earlier(s string) (rest string, ok bool) {
	var all, others []string
	for w := range strings.FieldsSeq(text.Fold(s)) {
		all = append(all, strings.Trim(w, ".,;:!?()\"«»"))
	}
	spans, parts := times.Spans(all, time.Time{}.AddDate(2000, 0, 0))
	for i, w := range all {
		ok = ok || recalls(w)
		if _, date := parts[i]; !date {
			others = append(others, w)
		}
	}
	return strings.Join(others, " "), ok || len(spans) > 0
}

// excerpt returns a text in one line of at most 240 characters.
func excerpt(s string) string { return text.Within(text.OneLine(s), 240) }

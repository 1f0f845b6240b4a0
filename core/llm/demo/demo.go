// Package demo is the built-in chat model, for trying everything out without a key. It understands nothing, and says
// so: it quotes what its prompt and conversation_search show. The same request always has the same answer.
package demo

import (
	"context"
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/words"
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

// The beginnings of the system messages that request the summary of a day, and shorter forms of old messages.
const (
	summaryRequest = "You write the summary of one day of a conversation"
	shortenRequest = "You shorten what was said long ago in a conversation"
)

// reply returns an answer or a tool call.
func reply(req core.ModelRequest) core.ModelMessage {
	first := ""
	if len(req.Messages) > 0 {
		first = req.Messages[0].Content
	}
	switch {
	case strings.HasPrefix(first, summaryRequest):
		return core.ModelMessage{Content: summarize(req.Messages)}
	case strings.HasPrefix(first, shortenRequest):
		return core.ModelMessage{Content: compress(req.Messages)}
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

var say = words.In[phrases]("demo")

// questionWords begin questions that have no question mark.
const questionWords = ` what what's who who's whom whose when where where's why how which do does did can could remember tell que quoi quel quelle quels quelles qui quand où pourquoi comment combien est-ce qu'est-ce rappelle-moi dis-moi was wer wen wem wann wo warum wieso wie welche welcher welches weißt erinnerst `

// smallWords are the commonest words of a language, unless they mean something in another.
var smallWords = [...]struct{ language, words string }{
	{words.English, ` a about after all am an and any are as at be been but by can could did do does don't for from get had has have he her here him his how i i'm if in into is it it's its just let like me more my no not now of on one or our out please say said she should so some tell than that the their them then there they this to today told up us was we were what what's when where which who why will with would yes you your know talk talked discuss discussed mention mentioned remember call called name again still `},
	{"fr", ` à ai aller alors as au aussi aux avait avec avez avons bien ça ce ces cet cette c'est dans de des dit dites donc du elle en es est et été être fait hier il ils j'ai je la le les leur lui ma mais me mes moi mon même ne non nos notre nous on ont ou où par parlé pas peux plus pour quand que quel quelle quels quelles qu qui quoi sa sais sans se ses si son sont suis sur ta te tes toi ton tu un une va vos votre vous y était appelle appelé comment combien pourquoi bonjour merci oui veux l d j m n s t c `},
	{"de", ` aber auch auf aus bei bist da danke das dass dein deine dem der du ein eine einen einer er es euch für gesagt gestern habe haben hast heißt heute ich ihm ihn ihr im in ist ja kann kannst kein keine mein meine meinen mich mir mit nach nein nicht noch oder sein sind sie so über um und uns vom von vor wann warum was weil weißt wenn wer wie wir wird wo zu zum zur `},
}

func holds(list, word string) bool { return word != "" && strings.Contains(list, " "+word+" ") }

func isSmall(word string) bool {
	for _, l := range smallWords {
		if holds(l.words, word) {
			return true
		}
	}
	return false
}

// language returns the language with most of the commonest words in text, English if in doubt.
func language(text string) string {
	found, most := words.English, 0
	for _, l := range smallWords {
		n := 0
		for _, word := range wordsOf(text) {
			if holds(l.words, word) {
				n++
			}
		}
		if n > most {
			found, most = l.language, n
		}
	}
	return found
}

// wordsOf returns the words of a text in lower case, apostrophes and hyphens kept.
func wordsOf(text string) []string {
	text = strings.ReplaceAll(strings.ToLower(text), "’", "'")
	return strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' && r != '-'
	})
}

// contentWords returns the words that carry meaning, without endings, each once.
func contentWords(text string) []string {
	var out []string
	for _, word := range wordsOf(text) {
		for part := range strings.SplitSeq(word, "-") {
			if stem := stemOf(strings.Trim(part, "'")); stem != "" && !slices.Contains(out, stem) {
				out = append(out, stem)
			}
		}
	}
	return out
}

// stemOf returns a word without elision and plural ending, empty if it carries no meaning.
func stemOf(word string) string {
	if isSmall(word) {
		return ""
	}
	if before, after, ok := strings.Cut(word, "'"); ok {
		word = after
		if len(before) > 2 || after == "" { // dog's, not l'hôtel
			word = before
		}
	}
	if utf8.RuneCountInString(word) > 3 {
		word = strings.TrimRight(word, "sx")
	}
	if utf8.RuneCountInString(word) < 2 || isSmall(word) {
		return ""
	}
	return word
}

// excerpt returns a text in one line of at most 240 characters.
func excerpt(s string) string { return text.Within(text.OneLine(s), 240) }

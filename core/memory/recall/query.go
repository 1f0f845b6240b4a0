package recall

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/text/times"
)

const (
	maxWords = 100      // content words of a query
	maxQuery = 64 << 10 // bytes of a query that are read
)

// Word is one word of a query. A message that holds any of Terms holds it.
type Word struct {
	Text   string // folded
	Terms  []string
	Weight float64 // 1, less for a piece of a word
	Name   bool    // it names a speaker
	token  int     // of Query.tokens
}

// Query is the reading of a query's text.
type Query struct {
	Words []Word // content words in order, distinct
	Stops []Word // the others
	// Phrases are quoted, as folded words.
	Phrases [][]string
	tokens  []token
}

// token is one run of a query, from which dates and names are read.
type token struct {
	text string // folded, without elision and possessive
}

// kanaWeight is the weight of pairs that are only Japanese grammar.
const kanaWeight = 0.3

// Query reads the text of a query. There is no syntax: AND, * and brackets are text.
func (a *Analyzer) Query(said string) Query {
	said = cutTo(said, maxQuery)
	q := Query{Phrases: phrases(said)}
	pieces(said, func(run string, c class, _ int) bool {
		q.add(a, run, c)
		return len(q.Words) < maxWords && len(q.tokens) < 4*maxWords
	})
	q.Words = q.Words[:min(len(q.Words), maxWords)]
	q.Stops = q.Stops[:min(len(q.Stops), maxWords)]
	return q
}

func (q *Query) add(a *Analyzer, run string, c class) {
	switch c {
	case dense, thai:
		q.addDense(a, run, c)
		return
	case emoji:
		for _, t := range emojiTerms(run) {
			q.Words = appendWord(q.Words, Word{Text: t, Terms: []string{t}, Weight: 1, token: -1})
		}
		return
	}
	run, _ = trim(run)
	if run == "" {
		return
	}
	bare := text.Unelided(strings.Map(apostrophe, cutTo(run, 4*maxTerm)))
	bare = strings.TrimSuffix(strings.TrimSuffix(bare, "'s"), "'S")
	q.tokens = append(q.tokens, token{text: cut(fold(bare))})
	content := false
	for _, p := range a.parts(run) {
		w := Word{Text: p.text, Terms: p.terms, Weight: p.weight, token: len(q.tokens) - 1}
		switch {
		case len(w.Terms) == 0:
		case a.stops[p.text], len(p.text) == 1 && !isDigits(p.text), p.weight == wholeOfWords && !content:
			q.Stops = appendWord(q.Stops, w)
		default:
			content = true
			q.Words = appendWord(q.Words, w)
		}
	}
}

func (q *Query) addDense(a *Analyzer, run string, c class) {
	u := units(run, c)
	q.tokens = append(q.tokens, token{text: cut(strings.Join(u, ""))})
	if len(u) == 1 {
		q.Words = appendWord(q.Words, Word{Text: u[0], Terms: u, Weight: 1, token: len(q.tokens) - 1})
		return
	}
	for i := 1; i < len(u) && len(q.Words) < maxWords; i++ {
		w := Word{Text: u[i-1] + u[i], Terms: []string{u[i-1] + u[i]}, Weight: 1, token: len(q.tokens) - 1}
		if !strings.ContainsFunc(w.Text, func(r rune) bool { return r < 0x3041 || r > 0x309F }) {
			w.Weight = kanaWeight
		}
		if a.stops[w.Text] {
			q.Stops = appendWord(q.Stops, w)
			continue
		}
		q.Words = appendWord(q.Words, w)
	}
}

// appendWord appends a word. If there is one of the same terms, that gets the higher weight.
func appendWord(words []Word, w Word) []Word {
	for i := range words {
		if slices.Equal(words[i].Terms, w.Terms) {
			words[i].Weight = max(words[i].Weight, w.Weight)
			return words
		}
	}
	return append(words, w)
}

// asked returns the words to search for: the content words, or the others if there are none.
func (q *Query) asked() []Word {
	if len(q.Words) > 0 {
		return q.Words
	}
	return q.Stops
}

// phrases returns the quoted phrases of at least two words, as folded words.
func phrases(text string) [][]string {
	var out [][]string
	closing := map[rune]rune{'"': '"', '“': '”', '«': '»', '„': '“'}
	for i := 0; i < len(text) && len(out) < 10; {
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		end, ok := closing[r]
		if !ok {
			continue
		}
		n := strings.IndexRune(text[i:], end)
		if n < 0 {
			continue
		}
		if words := foldedWords(text[i:i+n], maxWords); len(words) > 1 {
			out = append(out, words)
		}
		i += n + utf8.RuneLen(end)
	}
	return out
}

// foldedWords returns the first n words of a text, folded, without punctuation.
func foldedWords(text string, n int) []string {
	var out []string
	pieces(text, func(run string, c class, _ int) bool {
		if c == word {
			run, _ = trim(run)
		}
		if run != "" {
			out = append(out, fold(strings.Map(apostrophe, cutTo(run, 4*maxTerm))))
		}
		return len(out) < n
	})
	return out
}

// intent is the meaning of a query: words, days, speakers.
type intent struct {
	words    []Word
	phrases  [][]string
	spans    []times.Span
	speakers speakers
	common   bool // the query has only common words
	days     bool // the query names only days, and speakers
}

// understand reads a query. The words of dates are not searched for if any day that they name is among days, nor are
// words that then ask for no more than the day; names of speakers count little.
func (a *Analyzer) understand(text string, names map[string]core.Role, dir *store.Directory, now time.Time,
	location *time.Location, set *Settings) intent {
	q := a.Query(text)
	in := intent{phrases: q.Phrases, speakers: namedIn(q.tokens, names, dir.Channels)}
	spans, parts := dates(q.tokens, now, location)
	if slices.ContainsFunc(dir.Segments, func(s store.DirectorySegment) bool { return within(spans, s.Label) }) {
		in.spans = spans
	}
	in.days = len(in.spans) > 0
	for _, w := range q.Words {
		_, dated := parts[w.token]
		switch {
		case in.spans != nil && (dated || dayWords(w.Text)):
			continue
		case in.speakers.tokens[w.token]:
			w.Weight *= set.NameWord
			w.Name = true
		default:
			in.days = false
		}
		in.words = append(in.words, w)
	}
	if len(in.words) == 0 && len(in.spans) == 0 {
		in.common = len(q.Stops) > 0
		in.words = q.Stops
	}
	return in
}

// dayWords are the words of questions for all that was said on a day: what happened, was war los, qu'avons-nous fait.
var dayWords = text.OneOf("recall", "days")

// within reports whether any of the spans has a day.
func within(spans []times.Span, label string) bool {
	return slices.ContainsFunc(spans, func(s times.Span) bool { return s.Has(label) })
}

// dates returns the days that tokens name, and for each token of a date whether a message may hold it too.
func dates(tokens []token, now time.Time, location *time.Location) (spans []times.Span, parts map[int]bool) {
	y, m, d := now.In(cmp.Or(location, time.UTC)).Date()
	var words []string
	for _, t := range tokens {
		words = append(words, t.text)
	}
	return times.Spans(words, time.Date(y, m, d, 0, 0, 0, 0, time.UTC))
}

// speakers holds the speakers and channels that a query names.
type speakers struct {
	roles    [3]bool // user, assistant, tool, as in store.DirectoryEntry
	channels []string
	tokens   map[int]bool // the tokens that name them
}

// Words that mean a speaker only in "what did I say", "what did you tell me".
var (
	speechWord   = text.OneOf("recall", "speech")
	firstPerson  = text.OneOf("recall", "first_person")
	secondPerson = text.OneOf("recall", "second_person")
	userWord     = text.OneOf("recall", "user")
	botWord      = text.OneOf("recall", "assistant")
	article      = text.OneOf("recall", "articles")
	channelName  = text.OneOf("recall", "channels") // that are no other words
	via          = text.OneOf("recall", "via")
)

// speechReach is the greatest distance of a verb from its subject before it, in words.
const speechReach = 4

// namedIn returns the speakers and channels that a query names. Channels are those of the user's messages.
func namedIn(tokens []token, names map[string]core.Role, channels []string) speakers {
	s := speakers{tokens: map[int]bool{}}
	for name, role := range names {
		s.person(tokens, foldedWords(name, 5), role)
	}
	for i, t := range tokens {
		switch {
		case userWord(t.text) && addressed(tokens, i):
			s.say(core.RoleUser, i)
		case botWord(t.text) && addressed(tokens, i):
			s.say(core.RoleAssistant, i)
		case speechWord(t.text):
			s.subject(tokens, i)
		}
		s.channel(tokens, i, channels)
	}
	return s
}

// addressed reports whether a word such as user means the speaker: first, or after "the".
func addressed(tokens []token, i int) bool { return i == 0 || article(tokens[i-1].text) }

func (s *speakers) say(role core.Role, tokens ...int) {
	switch role {
	case core.RoleUser:
		s.roles[0] = true
	case core.RoleAssistant:
		s.roles[1] = true
	case core.RoleTool:
		s.roles[2] = true
	}
	for _, i := range tokens {
		s.tokens[i] = true
	}
}

// person finds a name, or its first word, of at least two letters.
func (s *speakers) person(tokens []token, name []string, role core.Role) {
	if len(name) == 0 || len(name[0]) < 2 {
		return
	}
	for i := range tokens {
		if tokens[i].text != name[0] {
			continue
		}
		s.say(role, i)
		for k := 1; k < len(name) && i+k < len(tokens) && tokens[i+k].text == name[k]; k++ {
			s.say(role, i+k)
		}
	}
}

// subject finds the speaker before the verb at i.
func (s *speakers) subject(tokens []token, i int) {
	for k := i - 1; k >= 0 && k >= i-speechReach; k-- {
		t := tokens[k].text
		switch {
		case s.tokens[k]: // a person named already
			s.tokens[i] = true
			return
		case firstPerson(t), strings.HasSuffix(t, "-je"):
			s.say(core.RoleUser, i)
			return
		case secondPerson(t), strings.HasSuffix(t, "-tu"), strings.HasSuffix(t, "-vous"):
			s.say(core.RoleAssistant, i)
			return
		}
	}
}

// channel finds the name of a channel: ambiguous ones only after "on", "via" and the like.
func (s *speakers) channel(tokens []token, i int, channels []string) {
	t := tokens[i].text
	if !slices.Contains(channels, t) {
		return
	}
	if channelName(t) || i > 0 && via(tokens[i-1].text) {
		s.channels = append(s.channels, t)
		s.tokens[i] = true
	}
}

// of returns the factor of a message: the boost for its speaker times that for its channel.
func (s *speakers) of(e store.DirectoryEntry, channels []string, boost float64) float64 {
	factor := 1.0
	if int(e.Role) < len(s.roles) && s.roles[e.Role] {
		factor *= boost
	}
	if len(s.channels) > 0 && int(e.Channel) < len(channels) && slices.Contains(s.channels, channels[e.Channel]) {
		factor *= boost
	}
	return factor
}

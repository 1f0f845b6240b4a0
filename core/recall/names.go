package recall

import (
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
)

// speakers holds the speakers and channels that a query names.
type speakers struct {
	roles    [3]bool // user, assistant, tool, as in core.DirectoryEntry
	channels []string
	tokens   map[int]bool // the tokens that name them
}

// Words that mean a speaker only in "what did I say", "what did you tell me".
const (
	speechWords = "say said tell told ask asked mention mentioned write wrote promise promised explain explained suggest suggested recommend recommended talk talked " +
		"dit demande parle raconte mentionne ecrit promis explique suggere propose recommande conseille " +
		"gesagt gefragt erzahlt erwahnt geschrieben versprochen vorgeschlagen empfohlen dije dijiste dicho pregunte preguntado conte contado"
	firstPerson  = "i je ai ich yo he"
	secondPerson = "you tu vous as avez du sie has"
	userWords    = "user utilisateur utilisatrice benutzer nutzer usuario"
	botWords     = "assistant assistante assistent asistente bot ai"
	articles     = "the le la l der die el"
)

// speechReach is the greatest distance of a verb from its subject before it, in words.
const speechReach = 4

// namedIn returns the speakers and channels that a query names. Channels are those of
// the user's messages.
func namedIn(tokens []token, names map[string]core.Role, channels []string) speakers {
	s := speakers{tokens: map[int]bool{}}
	for name, role := range names {
		s.person(tokens, foldedWords(name, 5), role)
	}
	for i, t := range tokens {
		switch {
		case has(userWords, t.text) && addressed(tokens, i):
			s.say(core.RoleUser, i)
		case has(botWords, t.text) && addressed(tokens, i):
			s.say(core.RoleAssistant, i)
		case has(speechWords, t.text):
			s.subject(tokens, i)
		}
		s.channel(tokens, i, channels)
	}
	return s
}

// has reports whether a list of words, separated by blanks, holds a word.
func has(list, word string) bool { return slices.Contains(strings.Fields(list), word) }

// addressed reports whether a word such as user means the speaker: at the beginning,
// or after "the".
func addressed(tokens []token, i int) bool { return i == 0 || has(articles, tokens[i-1].text) }

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
		case has(firstPerson, t), strings.HasSuffix(t, "-je"):
			s.say(core.RoleUser, i)
			return
		case has(secondPerson, t), strings.HasSuffix(t, "-tu"), strings.HasSuffix(t, "-vous"):
			s.say(core.RoleAssistant, i)
			return
		}
	}
}

// channel finds the name of a channel: ambiguous ones only after "on", "via" and the
// like.
func (s *speakers) channel(tokens []token, i int, channels []string) {
	t := tokens[i].text
	if !slices.Contains(channels, t) {
		return
	}
	if has("telegram whatsapp", t) || i > 0 && has("on via in over through by from sur par en uber auf im por desde",
		tokens[i-1].text) {
		s.channels = append(s.channels, t)
		s.tokens[i] = true
	}
}

// of returns the factor of a message: the boost for its speaker times that for its
// channel.
func (s *speakers) of(e core.DirectoryEntry, channels []string, boost float64) float64 {
	factor := 1.0
	if int(e.Role) < len(s.roles) && s.roles[e.Role] {
		factor *= boost
	}
	if len(s.channels) > 0 && int(e.Channel) < len(channels) && slices.Contains(s.channels, channels[e.Channel]) {
		factor *= boost
	}
	return factor
}

package compresstest

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
)

// year builds a conversation.
type year struct {
	rand    *rand.Rand
	tongues [2]grammar
	files   []string    // as they were last pasted
	paste   [2][]string // paragraphs as they were last pasted
	needles map[core.MessageID]Needle
	tokens  core.Tokenizer
	at      time.Time
	out     []core.Message
}

// exchange adds a message of the user and the assistant's reply.
func (y *year) exchange() {
	id := core.MessageID(len(y.out) + 1)
	tongue := 0
	if y.rand.IntN(5) < 2 {
		tongue = 1
	}
	for _, at := range []core.MessageID{id, id + 1} {
		if n, ok := y.needles[at]; ok {
			tongue = 0
			if n.french {
				tongue = 1
			}
		}
	}
	said, answer := y.talk(y.tongues[tongue], tongue, id)
	y.add(core.RoleUser, said, time.Duration(20+y.rand.IntN(2600))*time.Second)
	y.add(core.RoleAssistant, answer, 6*time.Second)
}

func (y *year) talk(g grammar, tongue int, id core.MessageID) (said, answer string) {
	_, userSays := y.needles[id]
	_, assistantSays := y.needles[id+1]
	switch n := y.rand.IntN(100); {
	case userSays && n < 60, !userSays && !assistantSays && n >= 66 && n < 78:
		said, answer = y.diary(g)
	case !assistantSays && n < 35:
		said, answer = y.smallTalk(g)
	case n < 66 || assistantSays && n < 80:
		said, answer = y.question(g)
	case n < 88:
		said, answer = y.say(g, "task"), y.letter(g)
	case n < 97:
		said, answer = y.program(g)
	default:
		said, answer = y.pasted(g, tongue)
	}
	if userSays {
		said = y.hide(said, y.needles[id].text)
	}
	if assistantSays {
		answer = y.hide(answer, y.needles[id+1].text)
	}
	return said, answer
}

// hide puts a sentence somewhere in a text: at its beginning, its end, or
// between two paragraphs or sentences.
func (y *year) hide(text, sentence string) string {
	if y.rand.IntN(4) == 0 {
		return sentence + "\n" + text
	}
	var places []int
	inCode := false
	for i := range len(text) {
		if strings.HasPrefix(text[i:], "```") {
			inCode = !inCode
		}
		if !inCode && (strings.HasPrefix(text[i:], ". ") || strings.HasPrefix(text[i:], "! ")) {
			places = append(places, i+1)
		}
	}
	if len(places) == 0 {
		return text + "\n" + sentence
	}
	at := places[y.rand.IntN(len(places))]
	if !strings.ContainsAny(sentence[len(sentence)-1:], ".!?") {
		sentence += "."
	}
	return text[:at] + " " + sentence + text[at:]
}

func (y *year) smallTalk(g grammar) (said, answer string) {
	return y.sentences(g, "smalltalk", 1, 3), y.sentences(g, "ashort", 1, 2)
}

func (y *year) diary(g grammar) (said, answer string) {
	said = y.sentences(g, "diary", 2, 6)
	if y.rand.IntN(3) == 0 {
		said += " " + y.say(g, "smallfact")
	}
	if y.rand.IntN(3) == 0 {
		said += " " + y.sentences(g, "diary", 1, 2)
	}
	answer = y.say(g, "ashort") + " " + y.sentences(g, "body", 1, 3)
	if y.rand.IntN(8) == 0 {
		answer += " " + y.say(g, "asmallfact")
	}
	return said, answer
}

func (y *year) question(g grammar) (said, answer string) {
	said = y.say(g, "question")
	if y.rand.IntN(4) == 0 {
		said = y.say(g, "smalltalk") + " " + said
	}
	parts := []string{y.say(g, "intro")}
	if y.rand.IntN(12) == 0 {
		parts[0] += " " + y.say(g, "history")
	}
	for range 2 + y.rand.IntN(3) {
		if y.rand.IntN(2) == 0 {
			parts = append(parts, y.say(g, "header"))
		}
		parts = append(parts, y.sentences(g, "body", 3, 6))
		if y.rand.IntN(2) == 0 {
			var list []string
			for range 2 + y.rand.IntN(4) {
				list = append(list, "- "+y.say(g, "bullet"))
			}
			parts = append(parts, strings.Join(list, "\n"))
		}
	}
	return said, strings.Join(append(parts, y.say(g, "outro")), "\n\n")
}

func (y *year) letter(g grammar) string {
	out := []string{y.say(g, "areaction") + "!"}
	draft := g["draft"]
	for i, line := range draft {
		if i < 2 || i == len(draft)-1 || y.rand.IntN(3) > 0 {
			out = append(out, slot.ReplaceAllStringFunc(line, func(s string) string { return y.fill(g, strings.Trim(s, "{}")) }))
		}
	}
	return strings.Join(append(out, y.say(g, "outro")), "\n\n")
}

// program pastes an earlier file again with a few changes.
func (y *year) program(g grammar) (said, answer string) {
	n := y.rand.IntN(len(y.files))
	if y.rand.IntN(4) > 0 {
		y.files[n] = y.edit(y.files[n])
	}
	fence := []string{"go", "python", "yaml", "sql", "js", "sh"}[n]
	block := "```" + fence + "\n" + y.files[n] + "```"
	said = y.say(g, "codeintro") + "\n\n" + block
	answer = y.say(g, "intro") + " " + y.sentences(g, "codeanswer", 2, 5)
	if y.rand.IntN(2) == 0 {
		answer += "\n\n" + block + "\n\n" + y.say(g, "outro")
	}
	return said, answer
}

// edit changes, drops or repeats one to three lines.
func (y *year) edit(file string) string {
	lines := strings.SplitAfter(strings.TrimSuffix(file, "\n"), "\n")
	for range 1 + y.rand.IntN(3) {
		i := y.rand.IntN(len(lines))
		switch y.rand.IntN(4) {
		case 0:
			if len(lines) > 10 {
				lines = slices.Delete(lines, i, i+1)
			}
		case 1:
			lines = slices.Insert(lines, i, lines[y.rand.IntN(len(lines))])
		default:
			lines[i] = strings.Replace(lines[i], y.name(), y.name(), 1)
			if y.rand.IntN(2) == 0 {
				lines[i] = strings.Replace(lines[i], " ", " "+y.name()+"_", 1)
			}
		}
	}
	text := strings.TrimSuffix(strings.Join(lines, ""), "\n") + "\n"
	if len(text) > 6000 {
		return text[:strings.LastIndexByte(text[:5000], '\n')+1]
	}
	return text
}

func (y *year) name() string {
	names := []string{"name", "row", "total", "err", "limit", "value", "key", "data", "path", "log", "item",
		"size", "wait", "dst"}
	return names[y.rand.IntN(len(names))]
}

// pasted quotes an earlier paragraph again with a few words changed.
func (y *year) pasted(g grammar, tongue int) (said, answer string) {
	all := y.paste[tongue]
	n := y.rand.IntN(len(all))
	if y.rand.IntN(3) > 0 {
		words := strings.Split(all[n], " ")
		i := y.rand.IntN(len(words))
		words[i] = []string{"perhaps", "maintenant", "again", "aussi", "soon"}[y.rand.IntN(5)]
		all[n] = strings.Join(words, " ")
	}
	return y.say(g, "pasteintro") + "\n\n" + all[n], y.say(g, "intro") + " " + y.sentences(g, "body", 1, 3)
}

// add appends a message after a pause; the pauses are stretched so that the year
// is full at the end.
func (y *year) add(role core.Role, text string, after time.Duration) {
	n := len(y.out)
	start := time.Date(2025, time.March, 1, 7, 0, 0, 0, time.UTC)
	day := n * Days / Messages
	if dawn := start.AddDate(0, 0, day); y.at.Before(dawn) {
		y.at = dawn
	}
	if dusk := start.AddDate(0, 0, day).Add(15*time.Hour + 50*time.Minute); y.at.Add(after).Before(dusk) {
		y.at = y.at.Add(after)
	} else {
		y.at = y.at.Add(7 * time.Second)
	}
	m := core.Message{User: 1, ID: core.MessageID(n + 1), Thread: 1, Segment: core.SegmentID(day + 1),
		Turn: core.TurnID(n/2 + 1), Identity: 1, Channel: "web", Role: role, Kind: core.KindChat, Text: text,
		Position: y.at.UnixMicro(), SentAt: y.at, Covered: true}
	if y.tokens != nil {
		m.Tokens = y.tokens.Count(text)
	}
	y.out = append(y.out, m)
}

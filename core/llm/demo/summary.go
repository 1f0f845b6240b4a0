package demo

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/everthread/everthread/core"
)

// A summary is made of sentences of the transcript. What the summary before it
// said in a bullet stays, and new bullets come after.
const (
	mostBullets  = 5
	longestPoint = 140
)

var (
	references  = regexp.MustCompile(`(\s*\[#\d+(\s*,\s*#?\d+)*\])+\s*$`)
	sentenceEnd = regexp.MustCompile(`[.!?…]+\s+|\n+`)
	// fenced is code, which tells nothing.
	fenced = regexp.MustCompile("(?ms)^\\s*```.*?(^\\s*```[^\n]*$|\\z)")
)

// sections in their fixed order, after the narrative.
var sections = []string{"Goals", "Decisions", "Open loops", "Next steps"}

// signs of what belongs where. A sentence belongs to the first section whose signs it shows.
var signs = []struct {
	section string
	shown   *regexp.Regexp
}{
	{"Open loops", regexp.MustCompile(
		`(?i)\b(not yet|still (have|need)|remind me|waiting for|don't know|pas encore|il reste|rappelle|j['’]attends|je ne sais pas|noch nicht|ich muss noch|erinnere mich|ich warte|weiß nicht)`)},
	{"Decisions", regexp.MustCompile(
		`(?i)\b(decided|decide|agreed|chose|chosen|let's|booked|moved|is called|is named|my [\pL ]{2,20} is|d[ée]cid[ée]|choisi|convenu|r[ée]serv[ée]|s['’]appelle|mon [\pL ]{2,20} est|ma [\pL ]{2,20} est|entschieden|beschlossen|gebucht|heißt|meine? [\pL ]{2,20} ist)`)},
	{"Goals", regexp.MustCompile(
		`(?i)\b(i want|i'd like|i would like|we want|my goal|i hope|i plan|je veux|je voudrais|j['’]aimerais|mon but|j['’]esp[eè]re|je compte|on veut|ich will|ich möchte|ich hoffe|mein ziel)`)},
	{"Next steps", regexp.MustCompile(
		`(?i)\b(i will|i'll|we will|we'll|going to|tomorrow|next (week|month)|must|have to|je vais|on va|nous allons|demain|semaine prochaine|je dois|il faut|ich werde|ich muss|nächste woche)`)},
}

// sectionOf is the section of a sentence; empty: none.
func sectionOf(sentence string) string {
	for _, s := range signs {
		if s.shown.MatchString(sentence) {
			return s.section
		}
	}
	return ""
}

// dataLine is what a line of a request may hold: a message, a note, or the summary so far.
type dataLine struct {
	SoFar string      `json:"summary_so_far"`
	Is    string      `json:"is"`
	ID    json.Number `json:"id"`
	Role  core.Role   `json:"role"`
	Text  string      `json:"text"`
	Most  int         `json:"max_tokens"`
}

func dataLines(messages []core.ModelMessage) []dataLine {
	var out []dataLine
	for _, m := range messages {
		for line := range strings.Lines(m.Content) {
			var l dataLine
			if m.Role == core.RoleUser && json.Unmarshal([]byte(line), &l) == nil {
				out = append(out, l)
			}
		}
	}
	return out
}

// digest is a summary in the making.
type digest struct {
	said      []dataLine // by the person
	narrative string     // of the summary before
	bullets   map[string][]string
}

func summarize(messages []core.ModelMessage) string {
	d := &digest{bullets: map[string][]string{}}
	all := ""
	for _, l := range dataLines(messages) {
		if l.Role == core.RoleUser && strings.TrimSpace(l.Text) != "" {
			d.said = append(d.said, l)
			all += l.Text + " "
		}
		d.keep(l.SoFar)
	}
	d.sort()
	out := "## Summary\n" + d.story(say(language(all+d.narrative))) + "\n"
	for _, section := range sections {
		if bullets := d.bullets[section]; len(bullets) > 0 {
			newest := bullets[max(0, len(bullets)-mostBullets):]
			out += "\n## " + section + "\n- " + strings.Join(newest, "\n- ") + "\n"
		}
	}
	return strings.TrimSpace(out)
}

// keep takes over what an earlier summary says.
func (d *digest) keep(markdown string) {
	heading := ""
	for line := range strings.Lines(markdown) {
		line = strings.TrimSpace(line)
		title, isTitle := strings.CutPrefix(line, "## ")
		point, isBullet := strings.CutPrefix(line, "- ")
		switch {
		case isTitle:
			heading = title
		case heading == "Summary" && line != "" && d.narrative == "":
			d.narrative = line
		case isBullet && slices.Contains(sections, heading) && references.MatchString(point):
			d.add(heading, point)
		}
	}
}

func (d *digest) add(section, bullet string) {
	if !slices.Contains(d.bullets[section], bullet) {
		d.bullets[section] = append(d.bullets[section], bullet)
	}
}

// sort puts each sentence in its section. If none has one, what came first is kept.
func (d *digest) sort() {
	point := func(sentence string, l dataLine) string {
		return fmt.Sprintf("%s [#%s]", shorten(sentence, longestPoint), l.ID)
	}
	for _, l := range d.said {
		for _, sentence := range sentences(l.Text) {
			if section := sectionOf(sentence); section != "" {
				d.add(section, point(sentence, l))
			}
		}
	}
	if len(d.bullets) > 0 {
		return
	}
	for _, l := range d.said[:min(len(d.said), 3)] {
		d.add("Decisions", point(l.Text, l))
	}
}

func sentences(text string) []string {
	var out []string
	for len(text) > 0 {
		end := len(text)
		if at := sentenceEnd.FindStringIndex(text); at != nil {
			end = at[1]
		}
		if s := strings.TrimSpace(text[:end]); s != "" {
			out = append(out, s)
		}
		text = text[end:]
	}
	return out
}

// story tells how the day began, from the earlier summary if there is one, and
// what came last.
func (d *digest) story(p *phrases) string {
	moment := func(l dataLine) string { return strings.TrimRight(shorten(l.Text, 100), ". ") }
	said, begin := d.said, d.narrative
	switch {
	case len(said) == 0 && begin == "":
		return p.NothingSaid
	case begin == "":
		begin, said = fmt.Sprintf(p.Began, moment(said[0])), said[1:]
	default:
		begin, _, _ = strings.Cut(begin, " "+strings.Split(p.Ended, "%s")[0])
	}
	if len(said) == 0 {
		return begin
	}
	return begin + " " + fmt.Sprintf(p.Ended, moment(said[len(said)-1]))
}

// compress answers with a JSON object in a line for each message: its sentences that
// tell something, word for word.
func compress(messages []core.ModelMessage) string {
	var lines []string
	for _, l := range dataLines(messages) {
		if l.ID != "" {
			lines = append(lines, core.DataLine(struct {
				ID   json.Number `json:"id"`
				Text string      `json:"text"`
			}{l.ID, telling(l.Text, l.Most)}))
		}
	}
	return strings.Join(lines, "\n")
}

// telling returns the sentences of text that tell something, of about so many tokens.
func telling(text string, tokens int) string {
	var kept []string
	for _, s := range sentences(fenced.ReplaceAllString(text, "")) {
		// About three letters of a sentence are a token, at the worst.
		if need := len(s)/3 + 1; need <= tokens && tells(s) {
			kept, tokens = append(kept, s), tokens-need
		}
	}
	return strings.Join(kept, " ")
}

// tells reports whether a sentence shows a fact: a digit, a capital within, a word of
// decisions and plans.
func tells(sentence string) bool {
	for i, word := range strings.Fields(sentence) {
		if strings.ContainsFunc(word, unicode.IsDigit) || i > 0 && unicode.IsUpper([]rune(word)[0]) && word != "I" {
			return true
		}
	}
	return sectionOf(sentence) != ""
}

package demo

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

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
)

// sections in their fixed order, after the narrative.
var sections = []string{"Goals", "Decisions", "Open loops", "Next steps"}

// signs of what belongs where, in English or French.
var signs = map[string]*regexp.Regexp{
	"Goals": regexp.MustCompile(
		`(?i)\b(i want|i'd like|i would like|we want|my goal|i hope|i plan|je veux|je voudrais|j['’]aimerais|mon but|j['’]esp[eè]re|je compte|on veut)`),
	"Decisions": regexp.MustCompile(
		`(?i)\b(decided|decide|agreed|chose|chosen|let's|booked|moved|is called|is named|my [\pL ]{2,20} is|d[ée]cid[ée]|choisi|convenu|r[ée]serv[ée]|s['’]appelle|mon [\pL ]{2,20} est|ma [\pL ]{2,20} est)`),
	"Open loops": regexp.MustCompile(
		`(?i)\b(not yet|still (have|need)|remind me|waiting for|don't know|pas encore|il reste|rappelle|j['’]attends|je ne sais pas)`),
	"Next steps": regexp.MustCompile(
		`(?i)\b(i will|i'll|we will|we'll|going to|tomorrow|next (week|month)|must|have to|je vais|on va|nous allons|demain|semaine prochaine|je dois|il faut)`),
}

// dataLine is what a line of a request may hold: a message, or the summary so far.
type dataLine struct {
	SoFar string      `json:"summary_so_far"`
	ID    json.Number `json:"id"`
	Role  string      `json:"role"`
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
		if l.Role == string(core.RoleUser) && strings.TrimSpace(l.Text) != "" {
			d.said = append(d.said, l)
			all += l.Text + " "
		}
		d.keep(l.SoFar)
	}
	d.sort()
	if isFrench(all + d.narrative) {
		return d.write(french)
	}
	return d.write(english)
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
	for _, l := range d.said {
		for _, sentence := range sentences(l.Text) {
			if section := sectionOf(sentence); section != "" {
				d.add(section, point(sentence, l.ID.String()))
			}
		}
	}
	if len(d.bullets) > 0 {
		return
	}
	for _, l := range d.said[:min(len(d.said), 3)] {
		d.add("Decisions", point(l.Text, l.ID.String()))
	}
}

// sectionOf is the first section whose signs a sentence shows; empty: none.
func sectionOf(sentence string) string {
	for _, section := range []string{"Open loops", "Decisions", "Goals", "Next steps"} {
		if signs[section].MatchString(sentence) {
			return section
		}
	}
	return ""
}

func point(sentence, id string) string {
	return fmt.Sprintf("%s [#%s]", shorten(sentence, longestPoint), id)
}

func sentences(text string) []string {
	var out []string
	for len(text) > 0 {
		end := sentenceEnd.FindStringIndex(text)
		if end == nil {
			end = []int{len(text), len(text)}
		}
		if s := strings.TrimSpace(text[:end[1]]); s != "" {
			out = append(out, s)
		}
		text = text[end[1]:]
	}
	return out
}

func (d *digest) write(p phrases) string {
	var b strings.Builder
	b.WriteString("## Summary\n" + d.story(p) + "\n")
	for _, section := range sections {
		bullets := d.bullets[section]
		if len(bullets) == 0 {
			continue
		}
		b.WriteString("\n## " + section + "\n")
		for _, bullet := range bullets[max(0, len(bullets)-mostBullets):] {
			b.WriteString("- " + bullet + "\n")
		}
	}
	return strings.TrimSpace(b.String())
}

// story tells how the day began, from the earlier summary if there is one, and
// what came last.
func (d *digest) story(p phrases) string {
	said := d.said
	if len(said) == 0 && d.narrative == "" {
		return p.nothingSaid
	}
	begin := d.narrative
	if begin == "" {
		begin = fmt.Sprintf(p.began, moment(said[0]))
		said = said[1:]
	} else if before, _, ok := strings.Cut(begin, " "+strings.Split(p.ended, "%s")[0]); ok {
		begin = before
	}
	if len(said) == 0 {
		return begin
	}
	return begin + " " + fmt.Sprintf(p.ended, moment(said[len(said)-1]))
}

// moment is what one message said, to stand in a sentence.
func moment(l dataLine) string { return strings.TrimRight(shorten(l.Text, 100), ". ") }

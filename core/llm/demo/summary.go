package demo

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
)

const mostBullets = 5 // of a section

var references = text.Pattern(`(\s*\[#\d+(\s*,\s*#?\d+)*\])+\s*$`)

// sections are in their fixed order, after the narrative.
var sections = []string{"Goals", "Decisions", "Open loops", "Next steps"}

// signs are the phrases of a sentence of a section, in the order in which they decide.
var signs = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	for section, list := range map[string]string{"Open loops": "open", "Decisions": "decided", "Goals": "wanted",
		"Next steps": "next"} {
		out[section] = text.Phrases("demo", list)()
	}
	return out
})

// sectionOf returns the section of a sentence, empty if it has none.
func sectionOf(sentence string) string {
	plain := " " + strings.Join(text.Words(sentence), " ") + " "
	for _, section := range []string{"Open loops", "Decisions", "Goals", "Next steps"} {
		if slices.ContainsFunc(signs()[section], func(p string) bool { return strings.Contains(plain, " "+p+" ") }) {
			return section
		}
	}
	return ""
}

// dataLine is a message, a note or the summary so far, in a line of a request.
type dataLine struct {
	SoFar string      `json:"summary_so_far"`
	ID    json.Number `json:"id"`
	Role  core.Role   `json:"role"`
	Text  string      `json:"text"`
}

// bullet returns text and a reference to the message.
func (l dataLine) bullet(s string) string {
	return fmt.Sprintf("%s [#%s]", text.Within(text.OneLine(s), 140), l.ID)
}

// dataLines returns the lines of the user's messages that are JSON objects.
func dataLines(messages ...core.ModelMessage) []dataLine {
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
	said      []dataLine // by the user
	narrative string     // of the summary so far
	bullets   map[string][]string
}

// summarize makes a summary of transcript sentences, after the bullets of the summary so far.
func summarize(messages []core.ModelMessage) string {
	d := &digest{bullets: map[string][]string{}}
	all := ""
	for _, l := range dataLines(messages...) {
		if l.Role == core.RoleUser && strings.TrimSpace(l.Text) != "" {
			d.said = append(d.said, l)
			all += l.Text + " "
		}
		d.keep(l.SoFar)
	}
	for _, l := range d.said {
		for _, sentence := range sentences(l.Text) {
			d.add(sectionOf(sentence), l.bullet(sentence))
		}
	}
	if delete(d.bullets, ""); len(d.bullets) == 0 {
		for _, l := range d.said[:min(len(d.said), 3)] {
			d.add("Decisions", l.bullet(l.Text))
		}
	}
	out := "## Summary\n" + d.story(say(language(all+d.narrative))) + "\n"
	for _, section := range sections {
		if bullets := d.bullets[section]; len(bullets) > 0 {
			newest := bullets[max(0, len(bullets)-mostBullets):]
			out += "\n## " + section + "\n- " + strings.Join(newest, "\n- ") + "\n"
		}
	}
	return strings.TrimSpace(out)
}

// keep adds the summary so far.
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
		case isBullet && slices.Contains(sections, heading) && references().MatchString(point):
			d.add(heading, point)
		}
	}
}

func (d *digest) add(section, bullet string) {
	if !slices.Contains(d.bullets[section], bullet) {
		d.bullets[section] = append(d.bullets[section], bullet)
	}
}

func sentences(s string) (out []string) {
	for line := range strings.Lines(s) {
		text.Sentences(line, func(start, end int) { out = append(out, line[start:end]) })
	}
	return out
}

// story returns the narrative: the first message, or the beginning of the summary so far, and the last message.
func (d *digest) story(p *phrases) string {
	moment := func(l dataLine) string { return strings.TrimRight(text.Within(text.OneLine(l.Text), 100), ". ") }
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

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

// entry is one message of the transcript.
type entry struct {
	id, role, text string
}

// digest is a summary in the making.
type digest struct {
	entries   []entry
	narrative string // of the summary before
	bullets   map[string][]string
}

func summarize(messages []core.ModelMessage) string {
	d := &digest{bullets: map[string][]string{}}
	for _, m := range messages {
		if m.Role == core.RoleUser {
			d.read(m.Content)
		}
	}
	d.sort()
	p := english
	if d.inFrench() {
		p = french
	}
	return d.write(p)
}

// read takes the lines of a request apart: the summary so far, and messages.
func (d *digest) read(content string) {
	for line := range strings.Lines(content) {
		var v struct {
			SoFar string      `json:"summary_so_far"`
			ID    json.Number `json:"id"`
			Role  string      `json:"role"`
			Text  string      `json:"text"`
		}
		if json.Unmarshal([]byte(line), &v) != nil {
			continue
		}
		if v.ID != "" {
			d.entries = append(d.entries, entry{v.ID.String(), v.Role, v.Text})
		}
		d.readSummary(v.SoFar)
	}
}

// readSummary keeps what an earlier summary says.
func (d *digest) readSummary(markdown string) {
	heading := ""
	for line := range strings.Lines(markdown) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "## "); ok {
			heading = strings.TrimSpace(title)
			continue
		}
		d.keep(heading, line)
	}
}

// keep takes a line of the earlier summary.
func (d *digest) keep(heading, line string) {
	point, isBullet := strings.CutPrefix(line, "- ")
	switch {
	case heading == "Summary" && line != "" && d.narrative == "":
		d.narrative = line
	case isBullet && slices.Contains(sections, heading) && references.MatchString(point):
		d.add(heading, point)
	}
}

func (d *digest) add(section, bullet string) {
	if !slices.Contains(d.bullets[section], bullet) {
		d.bullets[section] = append(d.bullets[section], bullet)
	}
}

// sort puts each sentence of the person's in the first section whose signs it
// shows. If none does, the longest sentences are the key moments.
func (d *digest) sort() {
	order := []string{"Open loops", "Decisions", "Goals", "Next steps"}
	for _, e := range d.entries {
		if e.role != string(core.RoleUser) {
			continue
		}
		for _, sentence := range sentences(e.text) {
			for _, section := range order {
				if signs[section].MatchString(sentence) {
					d.add(section, point(sentence, e.id))
					break
				}
			}
		}
	}
	if len(d.bullets) == 0 {
		d.keyMoments()
	}
}

func (d *digest) keyMoments() {
	said := d.said()
	slices.SortStableFunc(said, func(a, b entry) int { return len(b.text) - len(a.text) })
	for _, e := range said[:min(len(said), 3)] {
		d.add("Decisions", point(e.text, e.id))
	}
}

// said returns what the person said.
func (d *digest) said() []entry {
	return slices.DeleteFunc(slices.Clone(d.entries), func(e entry) bool {
		return e.role != string(core.RoleUser) || strings.TrimSpace(e.text) == ""
	})
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

func (d *digest) inFrench() bool {
	var all strings.Builder
	for _, e := range d.said() {
		all.WriteString(e.text + " ")
	}
	return isFrench(all.String() + d.narrative)
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
	said := d.said()
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
func moment(e entry) string { return strings.TrimRight(shorten(e.text, 100), ". ") }

package summary

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/everthread/everthread/core"
)

// draft is a model's summary in the fixed format, parsed.
type draft struct {
	narrative string
	bullets   []bullet
}

// bullet is one fact of a summary, with the messages that it rests on.
type bullet struct {
	section string
	text    string // without references
	refs    []core.MessageID
	unsure  bool // the model marked it as resting on none
}

const (
	narrative = "Summary"
	openLoops = "Open loops"
	unsure    = "[?]" // ends a bullet without messages
)

var (
	refGroup   = regexp.MustCompile(`\s*\[#\d+(?:\s*,\s*#?\d+)*\]`)
	refID      = regexp.MustCompile(`\d+`)
	unsureMark = regexp.MustCompile(`\s*\[\?\]`)
)

// sections are the fixed headings, in order.
var sections = []string{narrative, "Goals", "Decisions", openLoops, "Next steps"}

// ground parses a model's summary. It removes references to messages that are not allowed. Text before the first
// heading is narrative, and unknown headings are part of the section before them.
func ground(text string, allowed map[core.MessageID]bool) draft {
	var d draft
	var story []string
	current := narrative
	for line := range strings.Lines(text) {
		b := strip(line, allowed)
		if name, ok := heading(b.text); ok {
			current = name
			continue
		}
		if current == narrative {
			story = append(story, b.text)
			continue
		}
		b.section, b.text = current, strings.TrimLeft(b.text, "-*• \t")
		if b.text != "" {
			d.bullets = append(d.bullets, b)
		}
	}
	d.narrative = strings.TrimSpace(strings.Join(story, "\n"))
	return d
}

// heading parses one of the fixed headings.
func heading(line string) (string, bool) {
	if !strings.HasPrefix(line, "#") {
		return "", false
	}
	name := strings.Trim(strings.TrimLeft(line, "#"), " *:")
	i := slices.IndexFunc(sections, func(s string) bool { return strings.EqualFold(s, name) })
	if i < 0 {
		return "", false
	}
	return sections[i], true
}

// strip removes the references from a line, and returns those that are allowed.
func strip(line string, allowed map[core.MessageID]bool) (b bullet) {
	for refGroup.MatchString(line) || unsureMark.MatchString(line) { // removing one may form another
		for _, n := range refID.FindAllString(strings.Join(refGroup.FindAllString(line, -1), " "), -1) {
			id, err := strconv.ParseInt(n, 10, 64)
			if m := core.MessageID(id); err == nil && allowed[m] && !slices.Contains(b.refs, m) {
				b.refs = append(b.refs, m)
			}
		}
		b.unsure = b.unsure || unsureMark.MatchString(line)
		line = unsureMark.ReplaceAllString(refGroup.ReplaceAllString(line, ""), "")
	}
	b.text = strings.TrimSpace(line)
	return b
}

// loose returns the indexes of bullets without references.
func (d draft) loose() []int {
	var out []int
	for i := range d.bullets {
		if len(d.bullets[i].refs) == 0 {
			out = append(out, i)
		}
	}
	return out
}

// loops returns the open loops that rest on messages, and those messages.
func (d draft) loops() (texts []string, sources [][]core.MessageID) {
	for _, b := range d.bullets {
		if b.section == openLoops && len(b.refs) > 0 {
			texts, sources = append(texts, b.text), append(sources, b.refs)
		}
	}
	return texts, sources
}

// markdown returns the sections with content, in the fixed order.
func (d draft) markdown() string {
	var parts []string
	for _, s := range sections {
		var lines []string
		if s == narrative && d.narrative != "" {
			lines = []string{d.narrative}
		}
		for _, b := range d.bullets {
			if b.section == s {
				lines = append(lines, "- "+b.text+" "+cite(b.refs))
			}
		}
		if len(lines) > 0 {
			parts = append(parts, "## "+s+"\n"+strings.Join(lines, "\n"))
		}
	}
	return strings.Join(parts, "\n\n")
}

func cite(ids []core.MessageID) string {
	if len(ids) == 0 {
		return unsure
	}
	parts := make([]string, len(ids))
	for i, id := range ids {
		parts[i] = "#" + strconv.FormatInt(int64(id), 10)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// certain returns a stored summary without the bullets that rest on no message.
func certain(markdown string) string {
	var parts []string
	for part := range strings.SplitSeq(markdown, "\n\n## ") {
		lines := slices.DeleteFunc(strings.Split(part, "\n"), func(l string) bool {
			return strings.HasPrefix(l, "- ") && strings.HasSuffix(l, unsure)
		})
		if len(lines) > 1 {
			parts = append(parts, strings.TrimPrefix(strings.Join(lines, "\n"), "## "))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "## " + strings.Join(parts, "\n\n## ")
}

// careless reports whether the model omitted references without marking that.
func (d draft) careless() bool {
	return slices.ContainsFunc(d.bullets, func(b bullet) bool { return len(b.refs) == 0 && !b.unsure })
}

package words

import "strings"

// Headings returns a day's summary with its headings in a language. Stored summaries
// have English headings, by which they are parsed.
func Headings(language, markdown string) string {
	from, to := say("en"), say(language)
	if *from == *to {
		return markdown
	}
	lines := strings.Split(markdown, "\n")
	for i, line := range lines {
		title, ok := strings.CutPrefix(strings.TrimRight(line, " \r"), "## ")
		for n, heading := range from.all() {
			if ok && title == heading {
				lines[i] = "## " + to.all()[n]
			}
		}
	}
	return strings.Join(lines, "\n")
}

type headings struct{ Narrative, Goals, Decisions, OpenLoops, NextSteps string }

func (h *headings) all() []string {
	return []string{h.Narrative, h.Goals, h.Decisions, h.OpenLoops, h.NextSteps}
}

var say = In[headings]("headings")

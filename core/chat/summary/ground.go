package summary

import (
	"slices"
	"strconv"
	"strings"

	"github.com/everthread/everthread/core"
)

// draft is a model's summary, parsed.
type draft struct {
	narrative string
	rests     bool // the narrative rests on a message
	bullets   []bullet
	headings  int    // of the answer
	answer    string // as the model gave it
	fault     string // what is wrong with it, for the model; empty: nothing
	usable    bool   // it may be stored
}

// bullet is one fact of a summary, with the messages that it rests on.
type bullet struct {
	section string
	text    string // without references
	refs    []core.MessageID
	unsure  bool        // the model marked it as resting on none
	loop    core.LoopID // the listed open loop that it names; 0: none
}

const (
	narrative = "Summary"
	decisions = "Decisions"
	openLoops = "Open loops"
	settled   = "Settled"
	unsure    = "[?]" // ends a bullet without messages
)

// sections are the headings of an answer, in order.
var sections = []string{narrative, "Goals", decisions, openLoops, settled, "Next steps"}

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

// careless returns the numbers of the bullets whose references the model omitted without marking that.
func (d draft) careless() []string {
	var out []string
	for i, b := range d.bullets {
		if len(b.refs) == 0 && !b.unsure {
			out = append(out, strconv.Itoa(i+1))
		}
	}
	return out
}

// grounded reports whether anything in the summary rests on a message.
func (d draft) grounded() bool { return d.rests || len(d.loose()) < len(d.bullets) }

// better reports whether a repaired summary replaces the one before.
func (d draft) better(than draft) bool {
	return d.usable && (!than.usable || len(d.bullets) >= len(than.bullets) && len(d.loose()) < len(than.loose()))
}

// shorten removes the last bullets of the longest sections, but one, until the summary has at most a number of tokens.
func (d *draft) shorten(most int, t core.Tokenizer) {
	for len(d.bullets) > 1 && t.Count(d.markdown()) > most {
		of := map[string]int{}
		for _, b := range d.bullets {
			of[b.section]++
		}
		cut := 0
		for i, b := range d.bullets {
			if of[b.section] >= of[d.bullets[cut].section] {
				cut = i
			}
		}
		d.bullets = slices.Delete(d.bullets, cut, cut+1)
	}
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
				lines = append(lines, "- "+b.numbered()+" "+cite(b.refs))
			}
		}
		if len(lines) > 0 {
			parts = append(parts, "## "+s+"\n"+strings.Join(lines, "\n"))
		}
	}
	return strings.Join(parts, "\n\n")
}

// numbered returns the text of a bullet, of a settled loop with its number: the person can open it again by that.
func (b bullet) numbered() string {
	if b.section == settled && b.loop != 0 {
		return "(" + strconv.FormatInt(int64(b.loop), 10) + ") " + b.text
	}
	return b.text
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

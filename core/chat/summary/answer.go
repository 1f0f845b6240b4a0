package summary

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/text/i18n"
)

// The forms in which models write what the instructions do not ask for.
var (
	thinking = regexp.MustCompile(`(?is)<(?:think|thinking|thought|reasoning|analysis)>.*?(?:</(?:think|thinking|thought|reasoning|analysis)>|\z)|\[think\].*?(?:\[/think\]|\z)`)
	thought  = regexp.MustCompile(`(?is)\A.*(?:</(?:think|thinking|thought|reasoning|analysis)>|\[/think\]|<\|channel\|>final<\|message\|>)`)
	control  = regexp.MustCompile(`<\|[a-z_]+\|>`)
	fence    = regexp.MustCompile("^\\s*(?:```|~~~)")
	quoted   = regexp.MustCompile(`^\s*(?:>\s?)+`)
	rule     = regexp.MustCompile(`^\s*(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,}|(?:=\s*){3,})$`)
	mark     = regexp.MustCompile(`^(?:[-*+•‣◦▪–—]\s+|\d{1,2}[.)]\s+|\[[ xX]\]\s+)+`)
	numbered = regexp.MustCompile(`^(?:\d{1,2}|[ivxIVX]{1,4})[.)]\s*`)
	strong   = regexp.MustCompile(`^(?:\*{1,3}|_{2,3})(.+?)(?:\*{1,3}|_{2,3})\s*:?\s*(.*)$`)
	loopMark = regexp.MustCompile(`^(?:\*\*)?(?:\(#?(\d{1,18})\)|\[(\d{1,18})\])(?:\*\*)?[:.]?\s*`)
	refGroup = regexp.MustCompile(`\s*(?:\[#\d+(?:\s*[,;]\s*#?\d+)*\]|\(#\d+(?:\s*[,;]\s*#?\d+)*\))`)
	// refEnd matches spellings that are references only at the end of a line.
	refEnd     = regexp.MustCompile(`\s*(?:\[\d+(?:\s*[,;]\s*\d+)*\]|#\d+(?:\s*[,;]\s*#\d+)*)([.!?]?)$`)
	refID      = regexp.MustCompile(`\d+`)
	unsureMark = regexp.MustCompile(`\s*\[\?\]`)
)

// phrases are the words of answers in a language.
type phrases struct {
	Summary, Goals, Decisions, OpenLoops, Settled, NextSteps []string // spellings of the headings
	Nothing                                                  []string // bullets that say that there is none
	Remarks                                                  []string // beginnings of remarks beside the summary
}

// vocabulary holds the folded phrases of all languages: a model may answer in another one than it was asked in.
type vocabulary struct {
	headings map[string]string // section by the spelling of its heading
	nothing  map[string]bool
	remarks  []string
}

var phrasesIn = i18n.In[phrases]("answers")

var known = sync.OnceValue(func() *vocabulary {
	v := &vocabulary{headings: map[string]string{}, nothing: map[string]bool{}}
	for _, language := range i18n.Languages() {
		p := phrasesIn(language)
		for i, spellings := range [][]string{p.Summary, p.Goals, p.Decisions, p.OpenLoops, p.Settled, p.NextSteps} {
			for _, s := range spellings {
				v.headings[text.Fold(s)] = sections[i]
			}
		}
		for _, s := range p.Nothing {
			v.nothing[text.Fold(s)] = true
		}
		for _, s := range p.Remarks {
			v.remarks = append(v.remarks, text.Fold(s))
		}
	}
	return v
})

// empty reports whether a text only says that there is none.
func (v *vocabulary) empty(s string) bool {
	s = strings.TrimFunc(text.Fold(s), func(r rune) bool { return !unicode.IsLetter(r) })
	return s == "" || v.nothing[s] || v.nothing[s+"."]
}

// remark reports whether a text begins like a remark to the reader.
func (v *vocabulary) remark(s string) bool {
	s = strings.TrimLeft(text.Fold(s), "*_ ")
	return slices.ContainsFunc(v.remarks, func(r string) bool { return strings.HasPrefix(s, r) })
}

// parser reads an answer line by line.
type parser struct {
	allowed map[core.MessageID]bool
	loops   map[core.LoopID]bool // listed in the request
	d       draft
	section string // of the last heading; empty: before the first
	story   []string
	listed  bool // the section has bullets with marks
	blank   bool // the line before was blank
	ended   bool // a remark or a rule ended the section
}

// parse reads a model's answer in whatever form it has. It removes references to messages that are not allowed, and
// what is no part of a summary: thinking, code fences, text before the first heading, remarks, and bullets that only
// say that there is none. Bullets below an unknown heading are decisions. Without any heading, only bullets with
// references remain.
func parse(answer string, allowed map[core.MessageID]bool, loops map[core.LoopID]bool) draft {
	p := &parser{allowed: allowed, loops: loops}
	answer = control.ReplaceAllString(thought.ReplaceAllString(thinking.ReplaceAllString(answer, ""), ""), "")
	for line := range strings.Lines(answer) {
		p.line(strings.TrimRight(line, "\r\n"))
	}
	for n := len(p.story); n > 0 && (p.story[n-1] == "" || known().remark(p.story[n-1])); n-- {
		p.story = p.story[:n-1]
	}
	p.d.narrative = strings.TrimSpace(strings.Join(p.story, "\n"))
	if known().empty(p.d.narrative) {
		p.d.narrative = ""
	}
	return p.d
}

func (p *parser) line(line string) {
	line = quoted.ReplaceAllString(line, "")
	switch {
	case strings.TrimSpace(line) == "":
		p.blank = true
		if p.section == narrative && len(p.story) > 0 {
			p.story = append(p.story, "")
		}
		return
	case fence.MatchString(line):
		return
	case rule.MatchString(line):
		p.blank, p.ended = true, true
		return
	}
	if name, rest, ok := heading(line); ok {
		p.section, p.listed, p.ended, p.d.headings = name, false, false, p.d.headings+1
		if rest != "" {
			p.content(rest)
		}
	} else {
		p.content(line)
	}
	p.blank = false
}

// content reads a line below a heading.
func (p *parser) content(line string) {
	line = strings.TrimSpace(line)
	bare := mark.ReplaceAllString(line, "")
	marked := bare != line
	b := bullet{section: p.section}
	if p.section == openLoops || p.section == settled {
		b.loop, bare = p.loop(bare)
	}
	b.cite(bare, p.allowed)
	bold := strong.FindStringSubmatch(b.text)
	if bold != nil && bold[2] == "" && !strings.Contains(bold[1], "*") {
		b.text = bold[1]
	}
	switch {
	case p.section == "" && (!marked || len(b.refs) == 0): // a preamble
	case p.ended && !marked && len(b.refs) == 0:
	case p.section == narrative:
		if !p.ended {
			p.story, p.d.rests = append(p.story, b.text), p.d.rests || len(b.refs) > 0
		}
	case known().empty(b.text):
		p.join(b, false)
	case !marked && len(b.refs) == 0 && known().remark(b.text), !marked && p.listed && p.blank && len(b.refs) == 0:
		p.ended = true
	case !marked && p.listed && !p.blank:
		p.join(b, true)
	default:
		p.add(b, marked)
	}
}

// add adds a bullet, once.
func (p *parser) add(b bullet, marked bool) {
	if b.section == "" {
		b.section = decisions
	}
	p.listed, p.ended = p.listed || marked, false
	same := func(x bullet) bool { return x.section == b.section && strings.EqualFold(x.text, b.text) }
	if !slices.ContainsFunc(p.d.bullets, same) {
		p.d.bullets = append(p.d.bullets, b)
	}
}

// join adds a line to the bullet before it, perhaps only its references.
func (p *parser) join(b bullet, words bool) {
	n := len(p.d.bullets) - 1
	if n < 0 || p.d.bullets[n].section != p.section || !words && len(b.refs) == 0 {
		return
	}
	last := &p.d.bullets[n]
	if words {
		last.text = strings.TrimSpace(last.text + " " + b.text)
	}
	last.unsure = last.unsure || b.unsure
	for _, id := range b.refs {
		if !slices.Contains(last.refs, id) {
			last.refs = append(last.refs, id)
		}
	}
}

// loop returns the number of a listed loop that begins a bullet, and the rest of the bullet. A number that is not listed
// is removed.
func (p *parser) loop(s string) (core.LoopID, string) {
	m := loopMark.FindStringSubmatch(s)
	if m == nil {
		return 0, s
	}
	n, _ := strconv.ParseInt(m[1]+m[2], 10, 64) // at most 18 digits
	if !p.loops[core.LoopID(n)] {
		n = 0
	}
	return core.LoopID(n), s[len(m[0]):]
}

// cite sets the text of a bullet from a line, without its references, and those of them that are allowed.
func (b *bullet) cite(line string, allowed map[core.MessageID]bool) {
	take := func(found string) (any bool) {
		for _, n := range refID.FindAllString(found, -1) {
			id, err := strconv.ParseInt(n, 10, 64)
			if m := core.MessageID(id); err == nil && allowed[m] {
				if any = true; !slices.Contains(b.refs, m) {
					b.refs = append(b.refs, m)
				}
			}
		}
		return any
	}
	for again := true; again; { // removing one may form another
		again = refGroup.MatchString(line) || unsureMark.MatchString(line)
		take(strings.Join(refGroup.FindAllString(line, -1), " "))
		b.unsure = b.unsure || unsureMark.MatchString(line)
		line = strings.TrimSpace(unsureMark.ReplaceAllString(refGroup.ReplaceAllString(line, ""), ""))
		if m := refEnd.FindStringSubmatchIndex(line); m != nil && take(line[m[0]:m[1]]) {
			line, again = line[:m[0]]+line[m[2]:m[3]], true
		}
	}
	b.text = strings.TrimSpace(line)
}

// heading parses a heading: hashes, bold text, or one of the known names alone or before a colon. rest is the text
// behind it. An unknown heading is one of decisions.
func heading(line string) (section, rest string, ok bool) {
	s := strings.TrimSpace(line)
	bare := strings.TrimLeft(s, "#")
	hashed := bare != s
	if !hashed && strings.HasPrefix(mark.ReplaceAllString(s, ""), "**") {
		bare = mark.ReplaceAllString(s, "")
	}
	listed := !hashed && bare != s
	bare = numbered.ReplaceAllString(strings.TrimSpace(bare), "")
	if hashed { // pictures
		bare = strings.TrimLeftFunc(bare, func(r rune) bool { return !unicode.IsLetter(r) && r != '*' && r != '_' })
	}
	title := bare
	bold := strong.FindStringSubmatch(bare)
	if bold != nil {
		title, rest = bold[1], bold[2]
	} else if before, after, cut := strings.Cut(bare, ":"); cut {
		title, rest = before, strings.TrimSpace(after)
	}
	title = numbered.ReplaceAllString(title, "")
	section, found := known().headings[strings.Trim(text.Fold(title), " *_:.")]
	switch {
	case found && (!listed || rest == ""):
		return section, rest, true
	case hashed:
		return decisions, "", true
	case bold != nil && rest == "" && !listed && strings.HasSuffix(strings.TrimRight(bare, "*_ "), ":"):
		return decisions, "", true
	}
	return "", "", false
}

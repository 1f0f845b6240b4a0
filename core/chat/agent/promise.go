package agent

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/text/i18n"
)

// promiseNudge is the message to a model that promised something without a tool.
const promiseNudge = "[You told the person that you will come back to this later, but nothing will make you: between messages you do nothing, " +
	"and no reminder was set and no loop opened for it. The person has not seen your answer yet. If reminder_set fits, call it now, " +
	"or loops_open if no time is known; then write your whole answer again. If no tool fits, write your whole answer again without the promise " +
	"and say what the person can do instead. Do not mention this note.]"

// Promise finds promises in an answer, by the catalogues: to remind, to follow up, to get back to the
// person, to check later; and the claim that a reminder was set. If there is one and no tool of used keeps it
// (reminder_set, task_set, loops_open), it returns the nudge for Request.Guard, else nothing. Offers, conditions,
// questions, quotations and reports of earlier actions are not promises.
func Promise(answer string, used []string) string {
	if slices.ContainsFunc(used, func(name string) bool {
		return name == "reminder_set" || name == "loops_open" || name == "task_set"
	}) {
		return ""
	}
	listed := slices.ContainsFunc(used, func(name string) bool { return strings.HasPrefix(name, "reminder_") })
	for _, s := range sentences(answer) {
		for _, l := range languages() {
			if l.promises(s) || !listed && l.claims(s) {
				return promiseNudge
			}
		}
	}
	return ""
}

// sentence is one sentence, folded.
type sentence struct {
	text     string
	question bool
}

var (
	quoted   = text.Pattern("(?s)```.*?(```|$)|`[^`\n]*`" + `|"[^"\n]*"|“[^”\n]*”|«[^»\n]*»|„[^“”\n]*[“”]|(?m:^\s*>.*$)`)
	numbered = text.Pattern(`(\d)\.\s`) // a clause ends there even in 3. Juni
	marks    = strings.NewReplacer("*", "", "_", "")
)

// sentences returns the sentences and clauses of an answer, without its quotations.
func sentences(answer string) []sentence {
	if strings.ContainsAny(answer, "`\"“«„>") {
		answer = quoted().ReplaceAllString(answer, " ")
	}
	var out []sentence
	answer = numbered().ReplaceAllString(answer, "$1.\n")
	for line := range strings.FieldsFuncSeq(answer, func(r rune) bool { return r == '\n' || r == ';' }) {
		text.Sentences(line, func(start, end int) {
			s := marks.Replace(text.Fold(line[start:end]))
			bare := strings.TrimRight(s, ".!?) ")
			if bare != "" {
				out = append(out, sentence{bare, strings.Contains(s[len(bare):], "?")})
			}
		})
	}
	return out
}

// phrases are regular expressions about the sentences of a language, which are folded. {name} in one stands for the part
// of that name, {name with} for the part with "with" in the place of its %s.
type phrases struct {
	Parts      []string // name, blank, expression
	Marks      []string // texts of which every match of Promises has one
	Promises   []string
	ClaimMarks []string // texts of which every match of Claims has one
	Claims     []string // that a reminder was set
	NotNew     []string // words of a report of an earlier action
	Before     []string // conditions and offers before a promise
	After      []string // and after it
	Tag        []string // the question after a promise: ok?
	Reminds    []string // the sentence itself reminds of something
	NotReminds []string // and looks as if it did
}

// language finds the promises of one language. Most sentences have none of its marks, and searching for those takes a
// tenth of the time.
type language struct {
	marks, claimMarks                                           []string
	promise, claim, notNew, before, after, tag, reminds, exempt *regexp.Regexp
}

var languages = sync.OnceValue(func() (out []language) {
	for _, p := range i18n.Read[phrases]("promises") {
		out = append(out, language{marks: p.Marks, claimMarks: p.ClaimMarks, promise: p.pattern("%s", p.Promises),
			claim: p.pattern("%s", p.Claims), notNew: p.pattern(`\b(?:%s)\b`, p.NotNew),
			before: p.pattern(`\b(?:%s)\b`, p.Before), after: p.pattern(`\b(?:%s)\b`, p.After),
			tag: p.pattern(", ?(?:%s) ?$", p.Tag), reminds: p.pattern("^.*?(?:%s)", p.Reminds),
			exempt: p.pattern("^.*?(?:%s)", p.NotReminds)})
	}
	return out
})

var placed = text.Pattern(`\{(\w+)(?: ([^{}]*))?\}`)

// pattern compiles expressions, of which one must match, within a form; nil if there is none.
func (p *phrases) pattern(form string, list []string) *regexp.Regexp {
	if len(list) == 0 {
		return nil
	}
	return regexp.MustCompile(placed().ReplaceAllStringFunc(strings.Replace(form, "%s", strings.Join(list, "|"), 1),
		func(place string) string {
			m := placed().FindStringSubmatch(place)
			for _, part := range p.Parts {
				if name, expression, _ := strings.Cut(part, " "); name == m[1] {
					return strings.ReplaceAll(expression, "%s", m[2])
				}
			}
			return place // such as {0,4}
		}))
}

// promises reports whether a sentence promises something for later.
func (l language) promises(s sentence) bool {
	tagged := slices.ContainsFunc(languages(), func(l language) bool { return l.tag.MatchString(s.text) })
	if s.question && !tagged || !has(s, l.marks) {
		return false
	}
	return slices.ContainsFunc(l.promise.FindAllStringIndex(s.text, -1), func(at []int) bool {
		rest := s.text[at[0]:]
		reminding := l.reminds.MatchString(rest) && (l.exempt == nil || !l.exempt.MatchString(rest))
		conditional := slices.ContainsFunc(languages(), func(l language) bool {
			return l.before.MatchString(s.text[:at[0]]) || l.after.MatchString(rest)
		})
		return !reminding && !conditional
	})
}

// has reports whether a sentence contains one of some texts.
func has(s sentence, marks []string) bool {
	return slices.ContainsFunc(marks, func(mark string) bool { return strings.Contains(s.text, mark) })
}

// claims reports whether a sentence says that a reminder was set just now.
func (l language) claims(s sentence) bool {
	return !s.question && has(s, l.claimMarks) && l.claim.MatchString(s.text) && !l.notNew.MatchString(s.text)
}

// reconsider gives the model one more chance with tools if Guard objects to the answer. The
// first answer stays if the model fails. Errors are those of the context and the journal.
func (r *run) reconsider(ctx context.Context, first answer) (answer, error) {
	if r.Guard == nil || first.text == "" {
		return first, nil
	}
	nudge := r.Guard(first.text, r.used)
	if nudge == "" {
		return first, nil
	}
	if ok, err := r.affordable(ctx, r.specs); err != nil || !ok {
		return first, err
	}
	r.note(core.RoleAssistant, first.text)
	r.note(core.RoleUser, nudge)
	second, err := r.converse(ctx, max(1, r.MaxSteps-(r.step-r.firstStep)))
	if err == nil && second.finish != core.FinishRefused && second.finish != core.FinishCut {
		return second, nil
	}
	if r.OnText != nil {
		r.OnText(first.text)
	}
	var m *core.ModelError
	if ctx.Err() == nil && errors.As(err, &m) {
		err = nil
	}
	return first, err
}

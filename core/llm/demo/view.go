package demo

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
)

const searchTool = "conversation_search"

// view is what the model sees in a prompt.
type view struct {
	phrases  phrases
	question string   // the last message of the user
	before   []string // earlier messages of the user, oldest first
	notes    []string // lines of the system parts: summaries, open loops
	result   string   // of the search that the question led to
	search   bool     // the tool is offered
}

func look(req core.ModelRequest) *view {
	v := &view{}
	for _, m := range req.Messages {
		switch m.Role {
		case core.RoleUser:
			v.heard(m)
		case core.RoleTool:
			v.result = m.Content
		case core.RoleSystem:
			v.notes = append(v.notes, noteLines(m.Content)...)
		}
	}
	v.search = slices.ContainsFunc(req.Tools, func(s core.ToolSpec) bool { return s.Name == searchTool })
	v.phrases = english
	if isFrench(v.question) {
		v.phrases = french
	}
	return v
}

// limitNote is what the agent adds at its step limit; it is nobody's question.
const limitNote = "[No more tools can be used"

func (v *view) heard(m core.ModelMessage) {
	if strings.HasPrefix(m.Content, limitNote) {
		return
	}
	if v.question == "" && strings.Contains(m.Content, "\n<notes-") {
		v.notes = append(v.notes, dataNotes(m.Content)...)
		return
	}
	if v.question != "" {
		v.before = append(v.before, v.question)
	}
	v.question, v.result = withoutTime(withoutFiles(m.Content)), ""
}

var timeMark = regexp.MustCompile(`^\[\pL{2,5}\.? \d{1,2} \pL{3,5}\.?( \d{4})? \d{1,2}:\d{2}\]\s*`)

// filesMark stands before what the gateway shows of the files of a message.
const filesMark = "\n[Files of this message"

// withoutFiles leaves what the person said themselves.
func withoutFiles(text string) string {
	said, _, _ := strings.Cut(text, filesMark)
	return said
}

// withoutTime takes the local time off the front of a message.
func withoutTime(text string) string { return strings.TrimSpace(timeMark.ReplaceAllString(text, "")) }

var noteHeading = regexp.MustCompile(
	`(?i)^#* ?(summary|goals|decisions|open loops|next steps|today|yesterday|last conversation)\b`)

// noteLines returns the lines of a summary or list in a system part: what the
// instructions say is not the person's.
func noteLines(part string) []string {
	var lines []string
	inside := false
	for line := range strings.Lines(part) {
		line = strings.TrimSpace(line)
		bullet, isBullet := strings.CutPrefix(line, "- ")
		switch {
		case noteHeading.MatchString(line):
			inside = true
		case strings.HasPrefix(line, "#"):
			inside = false
		case isBullet && references.MatchString(bullet):
			lines = append(lines, bullet)
		case inside && line != "":
			lines = append(lines, strings.TrimPrefix(line, "- "))
		}
	}
	return lines
}

// dataNotes returns the lines of the notes that a message of the gateway's holds.
func dataNotes(content string) []string {
	var lines []string
	for line := range strings.Lines(content) {
		var n struct{ Is, Text string }
		switch {
		case json.Unmarshal([]byte(line), &n) != nil || n.Text == "":
		case n.Is == "open loop":
			lines = append(lines, n.Text)
		default:
			lines = append(lines, noteLines(n.Text)...)
		}
	}
	return lines
}

func (v *view) asks() bool {
	if strings.Contains(v.question, "?") {
		return true
	}
	first, _, _ := strings.Cut(strings.ToLower(v.question), " ")
	return slices.Contains(questionWords, first)
}

var earlierDay = regexp.MustCompile(
	`(?i)\b(yesterday|last (week|month|year|time|night|monday|tuesday|wednesday|thursday|friday|saturday|sunday)|the other day|(days?|weeks?|months?) ago|(on|in) (monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|may|june|july|august|september|october|november|december)|remember|earlier this (week|month|year)|\d{4}-\d{2}-\d{2})\b` +
		`|(?i)\b(hier|avant-hier|l['’]autre jour|(semaine|fois|nuit) derni[eè]re|(mois|an) dernier|(lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)|il y a|souviens|souvenez|rappelles|en (janvier|f[ée]vrier|mars|avril|mai|juin|juillet|ao[uû]t|septembre|octobre|novembre|d[ée]cembre))\b`)

// earlier reports whether the question is about another day.
func (v *view) earlier() bool { return earlierDay.MatchString(v.question) }

var shortGreeting = regexp.MustCompile(
	`(?i)^(/start|hello|hi|hey|good (morning|afternoon|evening)|bonjour|bonsoir|salut|coucou)\b`)

func (v *view) greets() bool {
	return len(v.question) < 40 && shortGreeting.MatchString(v.question)
}

// recall searches, if it can, for what was said on another day.
func (v *view) recall() said {
	if v.search {
		return said{call: v.searchCall()}
	}
	text := v.phrases.onlyToday
	if found := v.find(); found != "" {
		text += " " + found
	}
	return said{text: text}
}

// answer quotes what the person said, else searches, else admits that it does not
// know.
func (v *view) answer() said {
	if found := v.find(); found != "" {
		return said{text: found}
	}
	if v.search && len(contentWords(v.question)) > 0 {
		return said{call: v.searchCall()}
	}
	return said{text: v.phrases.unknown}
}

var isoDate = regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}\b`)

func (v *view) searchCall() *core.ToolCall {
	query := strings.Join(contentWords(earlierDay.ReplaceAllString(v.question, " ")), " ")
	if query == "" {
		query = v.question
	}
	arguments, _ := json.Marshal(struct { // strings always encode
		Query string `json:"query"`
		Day   string `json:"day,omitempty"`
	}{query, isoDate.FindString(v.question)})
	return &core.ToolCall{ID: "demo_search", Name: searchTool, Arguments: string(arguments)}
}

// find quotes the earlier message or note that shares most words with the question.
func (v *view) find() string {
	wanted := contentWords(v.question)
	said, saidScore := best(wanted, v.before)
	note, noteScore := best(wanted, v.notes)
	switch {
	case saidScore == 0 && noteScore == 0:
		return ""
	case saidScore >= noteScore:
		return fmt.Sprintf(v.phrases.youSaid, excerpt(said))
	}
	return fmt.Sprintf(v.phrases.noted, excerpt(strings.TrimSpace(references.ReplaceAllString(note, ""))))
}

// best returns the latest of the texts that share most words with wanted.
func best(wanted, texts []string) (text string, score int) {
	for _, t := range texts {
		if s := shared(wanted, contentWords(t)); s > 0 && s >= score {
			text, score = t, s
		}
	}
	return text, score
}

func (v *view) repeat() string {
	if v.question == "" {
		return v.phrases.hello
	}
	return fmt.Sprintf(v.phrases.heard, excerpt(v.question))
}

// found is a result of conversation_search as far as it is shown.
type found struct {
	Day     string `json:"day_label"`
	Kind    string `json:"kind"`
	Name    string `json:"name"` // of a file
	Page    int    `json:"page"` // of a file
	Role    string `json:"role"`
	Snippet string `json:"snippet"`
	Summary string `json:"summary_snippet"`
}

// fromResult answers with the first hits of a search.
func (v *view) fromResult() string {
	var hits struct{ Results []found }
	if json.Unmarshal([]byte(v.result), &hits) != nil {
		return fmt.Sprintf(v.phrases.searchFailed, excerpt(v.result))
	}
	var lines []string
	for _, hit := range hits.Results[:min(len(hits.Results), 3)] {
		lines = append(lines, v.hit(hit))
	}
	if len(lines) == 0 {
		return v.phrases.foundNothing
	}
	return v.phrases.found + "\n" + strings.Join(lines, "\n")
}

func (v *view) hit(f found) string {
	switch {
	case f.Summary != "":
		return fmt.Sprintf(v.phrases.hitSummary, f.Day, excerpt(f.Summary))
	case f.Kind == "file":
		return fmt.Sprintf(v.phrases.hitFile, f.Name, f.Page, excerpt(f.Snippet))
	case f.Role == string(core.RoleAssistant):
		return fmt.Sprintf(v.phrases.hitMine, f.Day, excerpt(f.Snippet))
	}
	return fmt.Sprintf(v.phrases.hitYours, f.Day, excerpt(f.Snippet))
}

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
	phrases  *phrases
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
	v.phrases = say(language(v.question))
	return v
}

const (
	// limitNote is what the agent adds at its step limit; it is nobody's question.
	limitNote = "[No more tools can be used"
	// filesMark stands before what the gateway shows of the files of a message.
	filesMark = "\n[Files of this message"
)

var timeMark = regexp.MustCompile(`^\[\pL{2,5}\.? \d{1,2} \pL{3,5}\.?( \d{4})? \d{1,2}:\d{2}\]\s*`)

func (v *view) heard(m core.ModelMessage) {
	switch {
	case strings.HasPrefix(m.Content, limitNote):
		return
	case v.question == "" && strings.Contains(m.Content, "\n<notes-"):
		v.notes = append(v.notes, dataNotes(m)...)
		return
	case v.question != "":
		v.before = append(v.before, v.question)
	}
	said, _, _ := strings.Cut(m.Content, filesMark)
	v.question, v.result = strings.TrimSpace(timeMark.ReplaceAllString(said, "")), ""
}

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
		case strings.HasPrefix(line, "#") || noteHeading.MatchString(line):
			inside = noteHeading.MatchString(line)
		case isBullet && references.MatchString(bullet), inside && line != "":
			lines = append(lines, bullet)
		}
	}
	return lines
}

// dataNotes returns the lines of the notes that a message of the gateway's holds.
func dataNotes(m core.ModelMessage) []string {
	var lines []string
	for _, n := range dataLines([]core.ModelMessage{m}) {
		switch {
		case n.Is == "open loop" && n.Text != "":
			lines = append(lines, n.Text)
		default:
			lines = append(lines, noteLines(n.Text)...)
		}
	}
	return lines
}

var (
	earlierDay = regexp.MustCompile(
		`(?i)\b(yesterday|last (week|month|year|time|night|monday|tuesday|wednesday|thursday|friday|saturday|sunday)|the other day|(days?|weeks?|months?) ago|(on|in) (monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|may|june|july|august|september|october|november|december)|remember|earlier this (week|month|year)|\d{4}-\d{2}-\d{2})\b` +
			`|(?i)\b(hier|avant-hier|l['’]autre jour|(semaine|fois|nuit) derni[eè]re|(mois|an) dernier|(lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)|il y a|souviens|souvenez|rappelles|en (janvier|f[ée]vrier|mars|avril|mai|juin|juillet|ao[uû]t|septembre|octobre|novembre|d[ée]cembre))\b` +
			`|(?i)\b(gestern|vorgestern|neulich|letzte[nrs]? (woche|monat|jahr|mal|nacht)|vor \pL+ (tagen|wochen|monaten)|am (montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)|erinnerst|im (januar|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember))\b`)
	shortGreeting = regexp.MustCompile(
		`(?i)^(/start|hello|hi|hey|good (morning|afternoon|evening)|bonjour|bonsoir|salut|coucou|hallo|guten (morgen|tag|abend))\b`)
	isoDate = regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}\b`)
)

func (v *view) reply() said {
	first, _, _ := strings.Cut(strings.ToLower(v.question), " ")
	switch {
	case v.result != "":
		return said{text: v.fromResult()}
	case strings.Contains(v.question, "?") || first != "" && strings.Contains(questionWords, " "+first+" "):
		return v.answer()
	case v.question == "" || len(v.question) < 40 && shortGreeting.MatchString(v.question):
		return said{text: v.phrases.Hello}
	}
	return said{text: fmt.Sprintf(v.phrases.Heard, excerpt(v.question))}
}

// answer quotes what the person said. If that does not answer, or another day is meant,
// it searches; else it admits that it does not know.
func (v *view) answer() said {
	found, earlier := v.find(), earlierDay.MatchString(v.question)
	switch {
	case v.search && (earlier || found == "" && len(contentWords(v.question)) > 0):
		return said{call: v.searchCall()}
	case earlier:
		return said{text: strings.TrimSpace(v.phrases.OnlyToday + " " + found)}
	case found == "":
		return said{text: v.phrases.Unknown}
	}
	return said{text: found}
}

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
		return fmt.Sprintf(v.phrases.YouSaid, excerpt(said))
	}
	return fmt.Sprintf(v.phrases.Noted, excerpt(strings.TrimSpace(references.ReplaceAllString(note, ""))))
}

// best returns the latest of the texts that share most words with wanted.
func best(wanted, texts []string) (text string, score int) {
	for _, t := range texts {
		have, n := contentWords(t), 0
		for _, word := range wanted {
			if slices.Contains(have, word) {
				n++
			}
		}
		if n > 0 && n >= score {
			text, score = t, n
		}
	}
	return text, score
}

// fromResult answers with the first hits of a search.
func (v *view) fromResult() string {
	var found struct {
		Results []struct {
			Day     string    `json:"day_label"`
			Kind    string    `json:"kind"`
			Name    string    `json:"name"` // of a file
			Page    int       `json:"page"` // of a file
			Role    core.Role `json:"role"`
			Snippet string    `json:"snippet"`
			Summary string    `json:"summary_snippet"`
		}
	}
	if json.Unmarshal([]byte(v.result), &found) != nil {
		return fmt.Sprintf(v.phrases.SearchFailed, excerpt(v.result))
	}
	if len(found.Results) == 0 {
		return v.phrases.FoundNothing
	}
	lines := v.phrases.Found
	for _, f := range found.Results[:min(len(found.Results), 3)] {
		switch {
		case f.Summary != "":
			lines += "\n" + fmt.Sprintf(v.phrases.HitSummary, f.Day, excerpt(f.Summary))
		case f.Kind == "file":
			lines += "\n" + fmt.Sprintf(v.phrases.HitFile, f.Name, f.Page, excerpt(f.Snippet))
		case f.Role == core.RoleAssistant:
			lines += "\n" + fmt.Sprintf(v.phrases.HitMine, f.Day, excerpt(f.Snippet))
		default:
			lines += "\n" + fmt.Sprintf(v.phrases.HitYours, f.Day, excerpt(f.Snippet))
		}
	}
	return lines
}

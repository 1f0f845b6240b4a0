package demo

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/text/i18n"
)

const (
	searchTool   = "conversation_search"
	reminderTool = "reminder_set"
	// limitNote begins the message that the agent adds at its step limit.
	limitNote = "[No more tools can be used"
	// filesMark precedes the files of a message.
	filesMark = "\n[Files of this message"
)

var (
	timeMark = text.Pattern(`^\[\pL{2,5}\.? \d{1,2} \pL{3,5}\.?( \d{4})? \d{1,2}:\d{2}\]\s*`)
	isoDate  = text.Pattern(`\b\d{4}-\d{2}-\d{2}\b`)
)

// view is what the model sees in a prompt.
type view struct {
	*phrases
	language string
	question string  // the last message of the user
	seen     []quote // notes, then earlier messages of the user, oldest first
	result   string  // of the call for the question
	called   string  // the tool of that call
	search   bool    // conversation_search is offered
	remind   bool    // reminder_set is offered
}

type quote struct {
	text  string
	noted bool // in the notes: summaries, open loops
}

func look(req core.ModelRequest) *view {
	v := &view{}
	for _, tool := range req.Tools {
		v.search, v.remind = v.search || tool.Name == searchTool, v.remind || tool.Name == reminderTool
	}
	for _, m := range req.Messages {
		if len(m.ToolCalls) > 0 {
			v.called = m.ToolCalls[0].Name
		}
		switch {
		case m.Role == core.RoleTool:
			v.result = m.Content
		case m.Role != core.RoleUser || strings.HasPrefix(m.Content, limitNote):
		case v.question == "" && strings.Contains(m.Content, "\n<notes-"):
			v.seen = append(v.seen, notes(m)...)
		default:
			if v.question != "" {
				v.seen = append(v.seen, quote{text: v.question})
			}
			text, _, _ := strings.Cut(m.Content, filesMark)
			v.question, v.result = strings.TrimSpace(timeMark().ReplaceAllString(text, "")), ""
		}
	}
	v.language = language(v.question)
	v.phrases = say(v.language)
	return v
}

// first returns the first word of a text.
func first(s string) string {
	if all := text.Words(s); len(all) > 0 {
		return all[0]
	}
	return ""
}

// notes returns the lines of the notes in a message, without headings.
func notes(m core.ModelMessage) []quote {
	var out []quote
	for _, note := range dataLines(m) {
		for line := range strings.Lines(note.Text) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				out = append(out, quote{references().ReplaceAllString(strings.TrimPrefix(line, "- "), ""), true})
			}
		}
	}
	return out
}

// answer quotes what fits the question. It searches if nothing does, or if another
// day is meant, and else admits that it does not know.
func answer(v *view) core.ModelMessage {
	isQuestion := strings.Contains(v.question, "?") || question(first(v.question))
	asked, past := earlier(v.question)
	found := v.find()
	text := found
	wish, wished := v.wish()
	switch {
	case v.result != "" && v.called == reminderTool:
		text = v.reminded()
	case v.result != "":
		text = v.hits()
	case wished:
		return core.ModelMessage{ToolCalls: []core.ToolCall{{ID: "demo_remind", Name: reminderTool,
			Arguments: core.DataLine(map[string]string{"text": wish})}}}
	case v.question == "" || !isQuestion && len(v.question) < 40 && greeting(first(v.question)):
		text = v.Hello
	case !isQuestion:
		text = fmt.Sprintf(v.Heard, strings.TrimSuffix(excerpt(v.question), "."))
	case v.search && (past || found == "" && len(contentWords(v.language, asked)) > 0):
		return core.ModelMessage{ToolCalls: []core.ToolCall{v.searchCall()}}
	case past:
		text = strings.TrimSpace(v.OnlyToday + " " + found)
	case found == "":
		text = v.Unknown
	}
	return core.ModelMessage{Content: text}
}

// wish returns what the person wants to be reminded of, with its time.
func (v *view) wish() (string, bool) {
	if !v.remind {
		return "", false
	}
	for _, language := range i18n.Languages() {
		for _, phrase := range say(language).Remind {
			if n := len(phrase); len(v.question) > n && strings.EqualFold(v.question[:n], phrase) {
				return strings.TrimSpace(v.question[n:]), true
			}
		}
	}
	return "", false
}

// reminded tells the result of reminder_set.
func (v *view) reminded() string {
	var set struct {
		Text  string `json:"text"`
		Local string `json:"local"`
	}
	if json.Unmarshal([]byte(v.result), &set) != nil || set.Local == "" {
		return fmt.Sprintf(v.NotReminded, strings.TrimPrefix(excerpt(v.result), "Error: "))
	}
	return fmt.Sprintf(v.Reminded, set.Local, excerpt(set.Text))
}

func (v *view) searchCall() core.ToolCall {
	asked, _ := earlier(v.question)
	query := cmp.Or(strings.Join(contentWords(v.language, asked), " "), v.question)
	arguments := core.DataLine(struct {
		Query string `json:"query"`
		Day   string `json:"day,omitempty"`
	}{query, isoDate().FindString(v.question)})
	return core.ToolCall{ID: "demo_search", Name: searchTool, Arguments: arguments}
}

// find quotes the latest of the texts that share most words with the question, if any.
func (v *view) find() string {
	wanted := stems(contentWords(v.language, v.question))
	var best quote
	most := 1
	for _, q := range v.seen {
		n := 0
		for stem := range stems(contentWords(v.language, q.text)) {
			if wanted[stem] {
				n++
			}
		}
		if n >= most {
			best, most = q, n
		}
	}
	switch {
	case best.text == "":
		return ""
	case best.noted:
		return fmt.Sprintf(v.Noted, excerpt(best.text))
	}
	return fmt.Sprintf(v.YouSaid, excerpt(best.text))
}

// hits quotes the first hits of the search.
func (v *view) hits() string {
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
		return fmt.Sprintf(v.SearchFailed, excerpt(v.result))
	}
	if len(found.Results) == 0 { // a search leaves out what the prompt shows
		return cmp.Or(v.find(), v.FoundNothing)
	}
	lines := v.Found
	for _, f := range found.Results[:min(len(found.Results), 3)] {
		hit := fmt.Sprintf(v.HitYours, f.Day, excerpt(f.Snippet))
		switch {
		case f.Summary != "":
			hit = fmt.Sprintf(v.HitSummary, f.Day, excerpt(f.Summary))
		case f.Kind == "file":
			hit = fmt.Sprintf(v.HitFile, f.Name, f.Page, excerpt(f.Snippet))
		case f.Role == core.RoleAssistant:
			hit = fmt.Sprintf(v.HitMine, f.Day, excerpt(f.Snippet))
		}
		lines += "\n" + hit
	}
	return lines
}

package gateway

import (
	"fmt"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/trust"
)

// told is what a tainted turn did in our own store: it is said below the answer,
// with how to take it back.
type told struct {
	lines   []string
	buttons []core.Button
}

// did lists the effects of a turn that had read words of others when it wanted them.
func did(language string, effects []core.Effect) (t told) {
	w := say(language)
	for _, e := range effects {
		switch e := e.(type) {
		case core.AddItem:
			t.add(w, e.Item.Tainted, w.ToldItem, int64(e.Item.ID), e.Item.Content)
		case core.OpenLoop:
			t.add(w, e.Loop.Tainted, w.ToldLoop, int64(e.Loop.ID), e.Loop.Text)
		case core.SetReminder:
			t.add(w, e.Reminder.Tainted, w.ToldReminder, int64(e.Reminder.ID), e.Reminder.Text)
		case core.ArchiveItem:
			t.add(w, e.Tainted, w.ToldArchived, int64(e.Item), e.Text)
		case core.CloseLoop:
			t.add(w, e.Tainted, w.ToldClosed, int64(e.Loop), e.Text)
		case core.CancelReminder:
			t.add(w, e.Tainted, w.ToldCancelled, int64(e.Reminder), e.Text)
		}
	}
	return t
}

func (t *told) add(w *texts, tainted bool, what string, id int64, text string) {
	if !tainted || id == 0 {
		return
	}
	const longest = 120
	quoted := []rune(strings.ReplaceAll(trust.Line(text), "`", "'"))
	if len(quoted) > longest {
		quoted = append(quoted[:longest-1], '…')
	}
	t.lines = append(t.lines, fmt.Sprintf("- "+what, "`"+string(quoted)+"`")+" "+fmt.Sprintf(w.ToldUndo, id))
	t.buttons = append(t.buttons, core.Button{Label: fmt.Sprintf(w.ToldButton, id), Command: fmt.Sprintf("/undo %d", id)})
}

// maxUndoButtons is how many things can be taken back with a tap; all can by words.
const maxUndoButtons = 6

// tellCut says below an answer how much of the person's words had no room in the prompt.
func tellCut(language string, c core.Cut, a *core.Answer) {
	n := len(a.Messages) - 1
	if c.Percent() == 0 || n < 0 || a.Messages[n].Role != core.RoleAssistant || len(a.Messages[n].ToolCalls) > 0 {
		return
	}
	m := &a.Messages[n]
	m.Text, m.Tokens = strings.TrimSpace(m.Text+"\n\n"+fmt.Sprintf(say(language).ToldCut, c.Percent())), 0
}

// tell adds what was done to the last words of an answer.
func (t *told) tell(language string, a *core.Answer) {
	if len(t.lines) == 0 {
		return
	}
	text := say(language).ToldTitle + "\n" + strings.Join(t.lines, "\n")
	for i := len(a.Messages) - 1; i >= 0; i-- {
		if m := &a.Messages[i]; m.Role == core.RoleAssistant {
			m.Text, m.Tokens, m.Tainted = strings.TrimSpace(m.Text+"\n\n"+text), 0, true
			return
		}
	}
	a.Messages = append(a.Messages, core.NewMessage{Role: core.RoleAssistant, Text: text, Tainted: true})
}

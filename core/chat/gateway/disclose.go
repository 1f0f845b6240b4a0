package gateway

import (
	"fmt"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/trust"
)

// disclosure lists the changes that a tainted turn made in our own store. It is added
// below the answer, with the commands that undo them.
type disclosure struct {
	lines   []string
	buttons []core.Button
}

// disclose lists those effects of a turn that are tainted.
func disclose(language string, effects []core.Effect) (t disclosure) {
	w := say(language)
	for _, e := range effects {
		switch e := e.(type) {
		case effect.AddItem:
			t.add(w, e.Item.Tainted, w.ToldItem, int64(e.Item.ID), e.Item.Content)
		case effect.OpenLoop:
			t.add(w, e.Loop.Tainted, w.ToldLoop, int64(e.Loop.ID), e.Loop.Text)
		case effect.SetPlan: // only reminders are set without a yes
			t.add(w, e.Plan.Tainted, w.ToldReminder, int64(e.Plan.ID), e.Plan.Text)
		case effect.ArchiveItem:
			t.add(w, e.Tainted, w.ToldArchived, int64(e.Item), e.Text)
		case effect.CloseLoop:
			t.add(w, e.Tainted, w.ToldClosed, int64(e.Loop), e.Text)
		case effect.CancelPlan:
			t.add(w, e.Tainted, w.ToldCancelled, int64(e.Plan), e.Text)
		}
	}
	return t
}

func (t *disclosure) add(w *texts, tainted bool, what string, id int64, content string) {
	if !tainted || id == 0 {
		return
	}
	t.lines = append(t.lines, fmt.Sprintf("- "+what, quote(clipped(trust.Line(content))))+" "+fmt.Sprintf(w.ToldUndo, id))
	t.buttons = append(t.buttons, core.Button{Label: fmt.Sprintf(w.ToldButton, id), Command: fmt.Sprintf("/undo %d", id)})
}

// clipped returns the beginning of a line, if it is long.
func clipped(line string) string {
	const longest = 120
	if r := []rune(line); len(r) > longest {
		return string(r[:longest-1]) + "…"
	}
	return line
}

// maxUndoButtons bounds the undo buttons; every change can be undone by command.
const maxUndoButtons = 6

// tell adds the disclosed changes to the end of an answer.
func (t *disclosure) tell(language string, a *core.Answer) {
	if len(t.lines) > 0 {
		sayAlso(a, say(language).ToldTitle+"\n"+strings.Join(t.lines, "\n"), true)
	}
}

// tellSearched adds to an answer which words were sent to a search service in a turn that had read words of others.
func tellSearched(language string, a *core.Answer) {
	var lines []string
	for _, query := range a.Searched {
		if line := fmt.Sprintf(say(language).ToldSearched, quote(trust.Line(query))); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	if len(lines) > 0 {
		sayAlso(a, strings.Join(lines, "\n"), true)
	}
}

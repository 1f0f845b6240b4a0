package chat

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
)

// doable holds the actions that only some entries offer.
type doable struct {
	Edit     bool           // the visitor's newest message, if it can be edited
	Unsend   bool           // the visitor's newest message
	Again    core.MessageID // the message that can be answered again; 0: none
	Answered *variants      // nil: the message has at most one answer
}

type variants struct {
	Message        core.MessageID // the message they answer
	Label          string
	Previous, Next core.TurnID // 0: none
	Note           string      // actions of the answers that are not shown
}

// doable sets the actions of the entries of a stretch.
func (r *Room) doable(v *web.Visit, s stretch, all []*entry) error {
	if err := r.newest(v, s, all); err != nil {
		return err
	}
	ids := idsWhere(s.messages, func(m core.Message) bool {
		return m.Role == core.RoleUser && m.Kind == core.KindChat && m.Turn != 0
	})
	if len(ids) > 0 {
		answered, err := r.Store.Answers(v.Context(), v.User.ID, ids)
		if err != nil {
			return fmt.Errorf("read answers: %w", err)
		}
		for _, a := range answered {
			if err := r.variants(v, s, all, a); err != nil {
				return err
			}
		}
	}
	for _, e := range all {
		if e.Edit || e.Unsend || e.Again != 0 || e.Answered != nil {
			e.Version = hashed(e.Version, e.Edit, e.Unsend, e.Again, *cmp.Or(e.Answered, &variants{}))
		}
	}
	return nil
}

// newest sets the actions that only the visitor's newest message and its answer offer.
func (r *Room) newest(v *web.Visit, s stretch, all []*entry) error {
	said := func(m core.Message) bool { return m.Role == core.RoleUser && m.Kind == core.KindChat }
	last := newestOf(s.messages, said)
	if s.later > 0 || last == nil || last.Redacted {
		return nil
	}
	ms, _, err := r.Store.Timeline(v.Context(), core.TimelineQuery{User: v.User.ID, Thread: last.Thread, Limit: liveSize})
	if err != nil {
		return fmt.Errorf("read the newest messages: %w", err)
	}
	if newest := newestOf(ms, said); newest == nil || newest.ID != last.ID {
		return nil
	}
	own := find(all, func(e *entry) bool { return e.Number == last.ID })
	if own == nil {
		return nil
	}
	own.Unsend = true
	if last.Turn == 0 {
		return nil
	}
	t, _, err := r.Store.Turn(v.Context(), v.User.ID, last.Turn)
	if err != nil {
		return fmt.Errorf("read the turn: %w", err)
	}
	if t.State != core.TurnDone && t.State != core.TurnStopped {
		return nil
	}
	_, own.Edit = editing(*last)
	if answer := answerOf(all, last.Turn); answer != nil {
		own = answer
	}
	own.Again = last.ID
	return nil
}

// newestOf returns the latest message for which meant is true, or nil.
func newestOf(ms []core.Message, meant func(core.Message) bool) *core.Message {
	var last *core.Message
	for i := range ms {
		if meant(ms[i]) && (last == nil || ms[i].ID > last.ID) {
			last = &ms[i]
		}
	}
	return last
}

// find returns the last entry for which meant is true, or nil.
func find(all []*entry, meant func(*entry) bool) *entry {
	for _, e := range slices.Backward(all) {
		if meant(e) {
			return e
		}
	}
	return nil
}

// answerOf returns the entry of a turn's last answer, or nil.
func answerOf(all []*entry, turn core.TurnID) *entry {
	return find(all, func(e *entry) bool { return e.Answer && e.Kind == "said" && e.Turn == turn })
}

// variants links an answer, or a message whose chosen answer has no entry, to the other answers.
func (r *Room) variants(v *web.Visit, s stretch, all []*entry, a core.Answered) error {
	n := slices.Index(a.Turns, a.Chosen)
	if n < 0 {
		return nil
	}
	at := answerOf(all, a.Chosen)
	if at == nil {
		t, _, err := r.Store.Turn(v.Context(), v.User.ID, a.Chosen)
		if err != nil {
			return fmt.Errorf("read the turn: %w", err)
		}
		at = find(all, func(e *entry) bool { return e.Number == a.Message })
		if at == nil || t.State == core.TurnRunning {
			return nil
		}
	}
	w := say(v.Lang).Act
	one := &variants{Message: a.Message, Label: fmt.Sprintf(w.AnswerOf, n+1, len(a.Turns))}
	if n > 0 {
		one.Previous = a.Turns[n-1]
	}
	if n+1 < len(a.Turns) {
		one.Next = a.Turns[n+1]
	}
	done, err := r.doneBy(v, s, a)
	if len(done) > 0 {
		one.Note = fmt.Sprintf(w.Stays, strings.Join(done, ", "))
	}
	at.Answered = one
	return err
}

// doneBy names the lasting actions of the answers that are not shown.
func (r *Room) doneBy(v *web.Visit, s stretch, a core.Answered) ([]string, error) {
	n := slices.IndexFunc(s.messages, func(m core.Message) bool { return m.ID == a.Message })
	if n < 0 {
		return nil, nil
	}
	ms, _, err := r.Store.Timeline(v.Context(), core.TimelineQuery{User: v.User.ID, Thread: s.messages[n].Thread,
		After: a.Message, Answers: true, Limit: besides})
	if err != nil {
		return nil, fmt.Errorf("read the other answers: %w", err)
	}
	var done []string
	for _, m := range ms {
		if m.Kind != core.KindAnswer || !slices.Contains(a.Turns, m.Turn) {
			continue
		}
		for _, c := range m.ToolCalls {
			title := call(v, c.Name, c.Arguments, "").Title
			if !slices.Contains(looking(), c.Name) && !slices.Contains(done, title) {
				done = append(done, title)
			}
		}
	}
	return done, nil
}

// looking lists the tools that only read.
func looking() []string {
	return []string{"conversation_get", "conversation_search", "memory_get", "memory_list_themes", "memory_search",
		"reminder_list", "task_list", "time_now"}
}

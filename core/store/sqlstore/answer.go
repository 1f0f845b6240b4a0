package sqlstore

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

// regenerate makes the inputs of a thread's newest turn pending again; see effect.Regenerate.
func (t *tx) regenerate(e effect.Regenerate) {
	m, turn := t.answeredTurn(e.Message)
	if turn.State != core.TurnDone && turn.State != core.TurnStopped {
		t.fail(fmt.Errorf("it is being answered: %w", core.ErrRefused))
		return
	}
	newer := valueOf[bool](t, `SELECT EXISTS (SELECT 1 FROM jobs WHERE user_id = $1 AND key = $2 AND state IN ('ready', 'running')) OR EXISTS (SELECT 1 FROM messages
		WHERE user_id = $1 AND thread_id = $3 AND position > $4 AND position > 0 AND turn_id <> $5) OR EXISTS (SELECT 1 FROM messages
		WHERE user_id = $1 AND thread_id = $3 AND `+unread+`)`, t.user, threadKey(turn.Thread), turn.Thread, m.Position,
		turn.ID)
	if newer {
		t.fail(fmt.Errorf("something newer was said: %w", core.ErrRefused))
		return
	}
	if e.Text != nil && *e.Text != m.Text {
		t.rewrite(m, core.NewMessage{Text: *e.Text, Tokens: e.Tokens}, e.At)
	}
	t.shelve(m, turn)
	t.exec(`UPDATE approvals SET state = 'no' WHERE user_id = $1 AND turn_id = $2 AND turn_id > 0 AND state = 'open'`,
		t.user, turn.ID)
	t.unreadAgain(turn, false)
	t.turnIfPending(turn.Thread, e.At)
}

// answeredTurn returns a person's message with the turn that read it.
func (t *tx) answeredTurn(id core.MessageID) (core.Message, core.Turn) {
	m := rowOf(t, scanMessage, `SELECT `+messageColumns+` FROM messages WHERE user_id = $1 AND id = $2 AND role = 'user'
		AND kind = 'chat' AND redacted = 0`, t.user, id)
	if m.Turn == 0 {
		t.fail(fmt.Errorf("no turn has read it: %w", core.ErrRefused))
	}
	return m, t.turn(m.Turn)
}

// shelve removes the answer of a turn from the conversation: it becomes a core.KindAnswer, to
// which only the table answers refers.
func (t *tx) shelve(m core.Message, turn core.Turn) {
	// Tool calls and results, then the answer.
	said := listOf(t, scanMessage,
		`SELECT `+messageColumns+` FROM messages WHERE user_id = $1 AND thread_id = $2 AND position > $3
		AND position > 0 AND turn_id = $4 AND role <> 'user' ORDER BY position`, t.user, turn.Thread, m.Position, turn.ID)
	if t.err != nil || len(said) == 0 {
		return
	}
	t.exec(`INSERT INTO answers (user_id, message_id, turn_id, first_message, last_message) VALUES ($1, $2, $3, $4, $5)`,
		t.user, slices.Max(turn.Inputs), turn.ID, said[0].ID, said[len(said)-1].ID)
	for _, m := range said {
		t.unindex(core.DocMessage, int64(m.ID))
		t.exec(`UPDATE messages SET kind = 'answer', position = 0, covered = 0 WHERE user_id = $1 AND id = $2`, t.user, m.ID)
	}
	t.exchanged(turn.Segment, said, -1)
}

// exchanged updates everything that rests on messages of a segment after they left the
// conversation (by -1), or joined it again (by 1).
func (t *tx) exchanged(segment core.SegmentID, said []core.Message, by int) {
	n := 0
	for _, m := range said {
		if m.Role == core.RoleAssistant && m.Text != "" {
			n += by
		}
		t.reembedMessage(m)
		m.Kind = core.KindChat // its kind when others came to rest on it
		t.invalidate(m)
	}
	if segment != 0 {
		t.exec(`UPDATE segments SET messages = messages + $3, unwindowed = 1, since_summary = (SELECT COUNT(*) FROM messages
			WHERE user_id = $1 AND segment_id = $2 AND segment_id > 0 AND kind = 'chat' AND covered = 0
			AND (role = 'user' OR role = 'assistant' AND body <> '')) WHERE user_id = $1 AND id = $2`, t.user, segment, n)
	}
}

// chooseAnswer replaces the current answer with an earlier one; see effect.ChooseAnswer.
func (t *tx) chooseAnswer(e effect.ChooseAnswer) {
	m, turn := t.answeredTurn(e.Message)
	if t.err != nil {
		return
	}
	if turn.State == core.TurnRunning || m.ID != slices.Max(turn.Inputs) {
		t.fail(fmt.Errorf("it is being answered: %w", core.ErrRefused))
		return
	}
	var first, last core.MessageID
	t.getOr(core.ErrNotFound, columns{&first, &last}, `SELECT first_message, last_message FROM answers WHERE user_id = $1 AND message_id = $2 AND turn_id = $3`,
		t.user, m.ID, e.Turn)
	t.shelve(m, turn)
	t.exec(`DELETE FROM answers WHERE user_id = $1 AND message_id = $2 AND turn_id = $3`, t.user, m.ID, e.Turn)
	for _, id := range turn.Inputs {
		t.exec(`UPDATE messages SET turn_id = $3 WHERE user_id = $1 AND id = $2 AND turn_id = $4`, t.user, id, e.Turn, turn.ID)
	}
	t.unshelve(m, e.Turn, first, last)
}

// unshelve returns the answer of a turn to the conversation, directly after the message m.
func (t *tx) unshelve(m core.Message, turn core.TurnID, first, last core.MessageID) {
	said := listOf(t, scanMessage,
		`SELECT `+messageColumns+` FROM messages WHERE user_id = $1 AND id BETWEEN $2 AND $3 AND turn_id = $4
		AND kind = 'answer' ORDER BY id`, t.user, first, last, turn)
	// The next message does not move.
	next := valueOf[int64](t, `SELECT COALESCE(MIN(position), $4) FROM messages WHERE user_id = $1 AND thread_id = $2 AND position > $3
		AND position > 0`, t.user, m.Thread, m.Position, int64(math.MaxInt64))
	if m.Position+int64(len(said)) >= next {
		t.fail(fmt.Errorf("what was said next leaves no place for it: %w", core.ErrRefused))
		return
	}
	for n := range said {
		a := &said[n]
		a.Kind, a.Position = core.KindChat, m.Position+1+int64(n)
		t.exec(`UPDATE messages SET kind = 'chat', position = $3 WHERE user_id = $1 AND id = $2`, t.user, a.ID, a.Position)
		if a.Text != "" && !a.Redacted && (a.Role != core.RoleTool || a.Outside) {
			t.reindex(*a, a.Text)
		}
	}
	t.exchanged(m.Segment, said, 1)
}

// redactAnswers redacts the shelved answers of a message. They can no longer be chosen, as their
// calls and results no longer match.
func (t *tx) redactAnswers(turn core.Turn, at time.Time, out *store.Noted) {
	type answer struct {
		turn        core.TurnID
		first, last core.MessageID
	}
	input := slices.Max(turn.Inputs)
	answers := listOf(t, fields(func(a *answer) []any { return []any{&a.turn, &a.first, &a.last} }),
		`SELECT turn_id, first_message, last_message FROM answers WHERE user_id = $1 AND message_id = $2`, t.user, input)
	var shown []core.MessageID
	for _, a := range answers {
		shown = append(shown, listOf(t, column[core.MessageID],
			`SELECT id FROM messages WHERE user_id = $1 AND id BETWEEN $2 AND $3 AND turn_id = $4
			AND redacted = 0`, t.user, a.first, a.last, a.turn)...)
	}
	for _, id := range shown {
		t.redact(effect.Redact{Message: id, At: at}, out)
	}
	if len(answers) > 0 {
		t.exec(`DELETE FROM answers WHERE user_id = $1 AND message_id = $2`, t.user, input)
	}
}

// Answers lists messages with more than one answer; see store.TimelineStore.
func (s *Store) Answers(ctx context.Context, user core.UserID, ids []core.MessageID) ([]effect.Answered, error) {
	by := map[core.MessageID]*effect.Answered{}
	err := s.readRanges(ctx, "list answers", `SELECT a.message_id, a.turn_id, m.turn_id FROM answers a
		JOIN messages m ON m.user_id = $1 AND m.id = a.message_id
		WHERE a.user_id = $1 AND a.message_id BETWEEN $2 AND $3`, user, ids, func(row Row) error {
		var id core.MessageID
		var turn, chosen core.TurnID
		if err := row.Scan(&id, &turn, &chosen); err != nil {
			return err
		}
		if by[id] == nil {
			by[id] = &effect.Answered{Message: id, Chosen: chosen}
			if chosen != 0 {
				by[id].Turns = []core.TurnID{chosen}
			}
		}
		by[id].Turns = append(by[id].Turns, turn)
		return nil
	})
	var out []effect.Answered
	for _, id := range slices.Sorted(maps.Keys(by)) {
		slices.Sort(by[id].Turns)
		out = append(out, *by[id])
	}
	return out, err
}

// readRanges runs a query for each range of messages ($2 to $3) of a user ($1), and reads every row with all.
func (s *Store) readRanges(ctx context.Context, op, query string, user core.UserID, ids []core.MessageID,
	all func(row Row) error) error {
	var reads []Statement
	for _, r := range core.NewIDSet(ids...).Ranges() {
		reads = append(reads, Statement{Query: query, Args: []any{user, r[0], r[1]}, All: all})
	}
	if len(reads) == 0 {
		return nil
	}
	return s.reads(ctx, op, reads...)
}

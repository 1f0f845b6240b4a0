package sqlstore

import (
	"context"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

const standingColumns = `user_id, id, body, tokens, message_id, noted, created_at`

func scanInstruction(r scanner) (i core.Instruction, err error) {
	var noted int64
	err = r.Scan(&i.User, &i.ID, &i.Text, &i.Tokens, &i.Source, &noted, asTime(&i.CreatedAt))
	i.Noted = noted != 0
	return i, found(err)
}

// Instructions lists a user's standing instructions; see store.StandingStore.
func (s *Store) Instructions(ctx context.Context, user core.UserID) ([]core.Instruction, error) {
	list, err := instructionsOf(s.one(ctx), user)
	return list, wrap("list standing instructions", err)
}

func instructionsOf(q reader, user core.UserID) ([]core.Instruction, error) {
	return list(q, scanInstruction, `SELECT `+standingColumns+` FROM standing WHERE user_id = $1 ORDER BY id`, user)
}

// addInstruction adds an instruction that does not exist yet, if there is room.
func (t *tx) addInstruction(e effect.AddInstruction) {
	t.refuseGroup()
	same := valueOf[bool](t, `SELECT EXISTS (SELECT 1 FROM standing WHERE user_id = $1 AND digest = $2)`, t.user, e.Digest)
	if same {
		return
	}
	here, err := instructionsOf(t, t.user)
	t.fail(err)
	i, tokens := e.Instruction, e.Instruction.Tokens
	for _, o := range here {
		tokens += o.Tokens
	}
	if len(here) >= core.MaxInstructions || e.Max > 0 && len(here) >= e.Max || e.MaxTokens > 0 && tokens > e.MaxTokens {
		t.fail(core.ErrRefused)
		return
	}
	if i.ID == 0 {
		i.ID = core.InstructionID(t.nextID())
	}
	if i.CreatedAt.IsZero() {
		i.CreatedAt = e.At
	}
	t.exec(`INSERT INTO standing (user_id, id, body, digest, tokens, message_id, noted, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		t.user, i.ID, i.Text, e.Digest, i.Tokens, i.Source, flag(i.Noted), ms(i.CreatedAt))
	t.standingChanged()
}

// standingChanged ends the epochs of all threads with their next turn, as the system message changes.
func (t *tx) standingChanged() {
	t.exec(`UPDATE users SET standing = standing + 1 WHERE id = $1`, t.user)
}

func (t *tx) removeInstruction(e effect.RemoveInstruction) {
	t.dropInstructions(rowOf(t, scanInstruction, `SELECT `+standingColumns+
		` FROM standing WHERE user_id = $1 AND id = $2`, t.user, e.Instruction))
}

// redactInstructions removes the standing instructions requested by a message.
func (t *tx) redactInstructions(m core.Message) {
	if made := listOf(t, scanInstruction, `SELECT `+standingColumns+
		` FROM standing WHERE user_id = $1 AND message_id = $2 AND message_id > 0`, t.user, m.ID); len(made) > 0 {
		t.dropInstructions(made...)
	}
}

// dropInstructions removes instructions, and their lines from stored prompts. It checks only
// epochs that began after the first of them was added.
func (t *tx) dropInstructions(gone ...core.Instruction) {
	lines, first := map[string]bool{}, gone[0].ID
	for _, i := range gone {
		first = min(first, i.ID)
		lines[core.InstructionLine(i.Text)] = true
		t.removed(i.Text)
		t.exec(`DELETE FROM standing WHERE user_id = $1 AND id = $2`, t.user, i.ID)
	}
	t.standingChanged()
	epochs := listOf(t, fields(func(e *store.Epoch) []any { return []any{asJSON(e)} }),
		`SELECT data FROM epochs WHERE user_id = $1 AND id > $2 AND data LIKE '%"name":"`+core.PartStanding+`"%'`, t.user, first)
	for _, e := range epochs {
		if withoutLines(&e, func(line string) bool { return lines[line] }) {
			t.exec(`UPDATE epochs SET data = $3 WHERE user_id = $1 AND id = $2`, t.user, e.ID, text(e))
		}
	}
}

// stillStanding returns an epoch without the lines of instructions that were removed while its turn ran.
func (t *tx) stillStanding(e store.Epoch) store.Epoch {
	if !slices.ContainsFunc(e.Head, func(h store.HeadPart) bool { return h.Name == core.PartStanding }) {
		return e
	}
	here, err := instructionsOf(t, t.user)
	t.fail(err)
	e.Head = slices.Clone(e.Head)
	there := map[string]bool{}
	for _, i := range here {
		there[core.InstructionLine(i.Text)] = true
	}
	withoutLines(&e, func(line string) bool { return strings.HasPrefix(line, "- ") && !there[line] })
	return e
}

// withoutLines replaces the lines of removed standing instructions in the head of an epoch, and
// reports whether there were any.
func withoutLines(e *store.Epoch, gone func(line string) bool) (changed bool) {
	for n := range e.Head {
		h := &e.Head[n]
		if h.Name != core.PartStanding {
			continue
		}
		lines := strings.Split(h.Text, "\n")
		for i, line := range lines {
			if gone(line) {
				lines[i], changed = core.RemovedInstruction, true
			}
		}
		h.Text = strings.Join(lines, "\n")
	}
	return changed
}

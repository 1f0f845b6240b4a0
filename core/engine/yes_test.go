package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/llm/llmtest"
	"github.com/everthread/everthread/core/store"
)

// mailer is an outside tool that changes something, and counts its calls.
type mailer struct {
	tool
	calls *int
}

func (mailer) Outside() bool                   { return true }
func (mailer) Standing() (allowed, reads bool) { return false, false }
func (m mailer) Use(context.Context, core.ToolUse) (core.ToolResult, error) {
	*m.calls++
	return core.ToolResult{Text: "sent"}, nil
}

// mortal is a store whose process dies before the result of a call is recorded, while dies is set.
type mortal struct {
	TurnStore
	dies bool
}

var errDead = errors.New("the process is dead")

func (m *mortal) Record(ctx context.Context, u core.UserID, r store.CallRecord) error {
	if m.dies && r.Text != "" {
		return errDead
	}
	return m.TurnStore.Record(ctx, u, r)
}

// yes is a person who has said yes to a call.
type yes struct {
	*wisher
	mortal *mortal
	runs   int             // of the call
	said   store.Append    // the yes
	id     core.MessageID  // of its message
	told   map[string]bool // results that the model has read
}

func newYes(t *testing.T) *yes {
	y := &yes{wisher: newWisher(t, ""), told: map[string]bool{}}
	o := y.turns.TurnOptions
	y.mortal = &mortal{TurnStore: o.Store}
	o.Store, o.Tools = y.mortal, append(o.Tools, mailer{tool{"mail"}, &y.runs})
	var err error
	y.turns, err = NewTurns(o)
	y.must(err)
	ask := effect.Approval{Code: "T1", Kind: effect.ApproveCall, Identity: y.at.ID, AskedAt: y.now,
		Subject: `{"call":{"id":"1","name":"mail","arguments":"{}"}}`, Expires: y.now.Add(time.Hour)}
	_, err = y.store.Note(t.Context(), store.Note{User: y.user.ID, Identity: y.at.ID, Now: y.now,
		Effects:  []core.Effect{effect.AskApproval{Approval: ask}},
		Messages: []core.NewMessage{{Role: core.RoleAssistant, Kind: core.KindNotice, Text: "may I?", SentAt: y.now}}})
	y.must(err)
	open, _, err := y.store.OpenApprovals(t.Context(), y.user.ID, y.at.ID, y.now)
	y.must(err)
	y.said = store.Append{User: y.user.ID, Identity: y.at.ID, Now: y.now, RunAt: y.now,
		Events: []core.Inbound{{Address: y.at.Address, EventID: "yes", NativeID: "yes", Kind: core.InMessage,
			Text: "Yes.", SentAt: y.now}},
		Messages: []core.NewMessage{{Role: core.RoleUser, Kind: core.KindChat, Text: "Yes.", Tokens: 1, SentAt: y.now,
			Solo: true, Decides: &core.Decision{Approval: open[0].ID, Yes: true},
			Day: y.turns.Calendar.Day(y.user.Settings, y.now)}}}
	out, err := y.store.Append(t.Context(), y.said)
	y.must(err)
	y.id = out.Messages[0]
	return y
}

// take claims the turn that is due; nil: none.
func (y *yes) take() *core.Turn {
	y.t.Helper()
	y.now = y.now.Add(2 * time.Minute)
	refs, _, err := y.store.Due(y.t.Context(), []string{core.QueueTurn}, y.now, 10, store.Share{})
	y.must(err)
	for _, ref := range refs {
		turn, _, err := y.store.ClaimTurn(y.t.Context(), ref,
			store.Claim{Worker: "w", Now: y.now, Until: y.now.Add(time.Minute)}, store.Budget{})
		y.must(err)
		if turn != nil {
			return turn
		}
	}
	return nil
}

// runTurn runs the turn that is due, if any, and ends it in a way.
func (y *yes) runTurn(how int) {
	y.t.Helper()
	turn := y.take()
	if turn == nil {
		return
	}
	y.model.Script(func(r core.ModelRequest) llmtest.Reply {
		y.told[r.Messages[len(r.Messages)-1].Content] = true
		if how == 1 || how == 2 {
			return llmtest.Fail(&core.ModelError{Kind: core.ModelDown, Err: errDead})
		}
		return llmtest.Say("done")
	})
	y.mortal.dies = how == 3
	p, err := y.turns.Prompt(y.t.Context(), turn, y.user, y.now)
	y.must(err)
	a, err := y.turns.Answer(y.t.Context(), turn, y.user, p, core.Progress{Text: func(string) {}})
	state := core.TurnDone
	switch {
	case how == 3 && err != nil: // nobody learns of it until the lease has run out
		return
	case how == 1:
		y.must(y.store.RetryTurn(y.t.Context(), turn, y.now, "down"))
		return
	case how == 2:
		state = core.TurnFailed
	case how == 4:
		state = core.TurnStopped
	default:
		y.must(err)
	}
	_, err = y.store.Commit(y.t.Context(), store.Reply{Turn: turn, State: state, Now: y.now, Snapshot: &p.Snapshot,
		Epoch: p.Epoch, News: p.News, Told: p.Told, Messages: a.Messages}, nil)
	if !errors.Is(err, core.ErrChanged) {
		y.must(err)
	}
}

// does applies an effect that may be refused.
func (y *yes) does(e core.Effect) {
	y.t.Helper()
	_, err := y.store.Note(y.t.Context(), store.Note{User: y.user.ID, Now: y.now, Effects: []core.Effect{e}})
	if !errors.Is(err, core.ErrRefused) && !errors.Is(err, core.ErrNotFound) {
		y.must(err)
	}
}

// TestApproval_yesRunsOnce checks that no sequence of failures, stops, deaths, retries, regenerations and edits runs an
// approved call more than once.
func TestApproval_yesRunsOnce(t *testing.T) {
	t.Parallel()
	ran, told := 0, map[string]bool{}
	for seed := range uint64(40) {
		y, random, edited := newYes(t), rand.New(rand.NewPCG(seed, 1)), "yes, thanks"
		var ops []int
		for range 8 {
			op := random.IntN(9)
			switch ops = append(ops, op); op {
			case 5:
				y.does(effect.Regenerate{Message: y.id, At: y.now})
			case 6:
				y.does(effect.Regenerate{Message: y.id, Text: &edited, Tokens: 3, At: y.now})
			case 7:
				y.does(effect.RetryTurn{At: y.now})
			case 8:
				y.does(effect.StopTurn{})
			default:
				y.runTurn(op)
			}
		}
		if y.runs > 1 {
			t.Errorf("seed %d, steps %v: one yes ran %d calls", seed, ops, y.runs)
		}
		ran += y.runs
		for text := range y.told {
			told[text] = true
		}
	}
	if ran < 20 || !told["sent"] || len(told) < 2 {
		t.Errorf("%d of 40 calls ran, the model read %v", ran, told)
	}
}

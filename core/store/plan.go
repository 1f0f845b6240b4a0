package store

import (
	"context"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
)

// PlanStore keeps plans and open loops. Effects and FirePlan change them.
type PlanStore interface {
	// OpenPlans lists the active and paused plans of a kind, soonest first.
	OpenPlans(ctx context.Context, user core.UserID, kind core.PlanKind, limit int) ([]core.Plan, error)
	// Plan returns a plan in any state, or core.ErrNotFound.
	Plan(ctx context.Context, user core.UserID, id core.PlanID) (core.Plan, error)
	// DuePlans lists due active plans of all users, oldest first.
	DuePlans(ctx context.Context, now time.Time, limit int) ([]core.Plan, error)
	// FirePlan claims one occurrence of a plan and stores its run. core.ErrChanged if the plan is no longer active or no
	// longer due at f.Due; core.ErrRefused if the day has too few tokens left.
	FirePlan(ctx context.Context, f FirePlan) error
	// Runs lists the runs of a plan, newest first.
	Runs(ctx context.Context, user core.UserID, plan core.PlanID, limit int) ([]core.Run, error)
	// Loops lists open loops, newest mention first, at most limit.
	Loops(ctx context.Context, user core.UserID, limit int) ([]core.Loop, error)
	// Undoable returns the change that the effect Undo would revert, by the id of the item, loop or reminder, or
	// core.ErrNotFound. A cancelled reminder is not undoable once its time has passed.
	Undoable(ctx context.Context, user core.UserID, id int64, now time.Time) (effect.Undoable, error)
}

// FirePlan is one occurrence of a plan. Message is what a reminder says. Of a task either Instruction is stored in the
// continuous thread with its token reservation, for a turn to answer; or Run says why not.
type FirePlan struct {
	User     core.UserID
	Due      time.Time // Plan.DueAt as it was read
	Next     time.Time // zero: the plan is done
	Run      core.Run
	Identity core.IdentityID // where the turn answers
	// Instruction has a TaskMark; nil: no turn begins.
	Instruction *core.NewMessage
	Budget      Budget
	// Message is sent to the person by Deliveries: a reminder, or a notice about a task; nil: none.
	Message    *core.NewMessage
	Deliveries []core.NewDelivery
	// Effects are applied last, such as the question that the notice asks. Pause pauses the task.
	Effects []core.Effect
	Pause   bool
	Now     time.Time
}

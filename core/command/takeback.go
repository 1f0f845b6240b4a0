package command

import (
	"context"
	"fmt"

	"github.com/everthread/everthread/core"
)

// takeBack undoes changes of tainted turns, by the numbers below their answers.
func (c *Commands) takeBack(ctx context.Context, r *request, ids []int64) (core.Outcome, error) {
	return r.each(ids, r.words.TakenNothing, func(id int64) (string, core.Effect, error) {
		x, err := c.Store.Undoable(ctx, r.user.ID, id, r.now)
		said := r.words.TakenBack[x.Kind].Made
		if x.Ended {
			said = r.words.TakenBack[x.Kind].Ended
		}
		return fmt.Sprintf(said, plainLine(x.Text)), core.Undo{X: x, At: r.now}, err
	})
}

package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/everthread/everthread/core"
)

// takeBack undoes what answers did that had read words of others, by the numbers
// that stand below them.
func (c *Commands) takeBack(ctx context.Context, r *request, ids []int64) (core.Outcome, error) {
	var out core.Outcome
	var lines []string
	for _, id := range ids {
		x, err := c.Store.Undoable(ctx, r.user.ID, id, r.now)
		switch {
		case missing(err):
			lines = append(lines, fmt.Sprintf(r.words.TakenNothing, id))
			continue
		case err != nil:
			return core.Outcome{}, err
		}
		said := r.words.TakenBack[x.Kind].Made
		if x.Ended {
			said = r.words.TakenBack[x.Kind].Ended
		}
		lines = append(lines, fmt.Sprintf(said, plainLine(x.Text)))
		out.Effects = append(out.Effects, core.Undo{X: x, At: r.now})
	}
	out.Text = strings.Join(lines, "\n")
	return out, nil
}

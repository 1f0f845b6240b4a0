package command

import (
	"context"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/trust"
)

// Audits reads the audit.
type Audits interface {
	Audit(ctx context.Context, q core.AuditQuery) ([]core.AuditRow, error)
}

// mineShown bounds the rows of /mine.
const mineShown = 20

// mine shows the audit of the person's account, newest first.
func (c *Commands) mine(ctx context.Context, r *request) (core.Outcome, error) {
	rows, err := c.Store.Audit(ctx, core.AuditQuery{User: r.user.ID, Limit: mineShown})
	if err != nil {
		return core.Outcome{}, err
	}
	if len(rows) == 0 {
		return r.say(r.words.MineNone), nil
	}
	ids, err := c.Store.Identities(ctx, r.user.ID)
	if err != nil {
		return core.Outcome{}, err
	}
	names := map[int64]string{}
	for _, i := range ids {
		names[int64(i.ID)] = placeName(i)
	}
	lines := []string{r.words.MineTitle, ""}
	for _, row := range rows {
		at := row.At.In(c.location(r)).Format("2006-01-02 15:04")
		lines = append(lines, "- "+at+" · "+trust.AuditLine(r.lang, row)+" · "+trust.Through(r.lang, row, names[row.ViaID]))
	}
	return core.Outcome{Text: strings.Join(lines, "\n")}, nil
}

package office

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/trust"
)

// auditShown is how many rows a page of the audit shows.
const auditShown = 100

// auditView is a page of what was done.
type auditView struct {
	Rows  []shownAudit
	Older string // where the next page is; empty: there is none
	Newer bool   // this is not the first
}

type shownAudit struct{ When, Who, What, Through string }

// auditPage shows the owner what was done, by ids and fixed words.
func (r *Room) auditPage(v *web.Visit) error {
	rows, err := r.Store.Audit(v.Context(), core.AuditQuery{All: true,
		Before: auditCursor(v.R.URL.Query().Get("before")), Limit: auditShown + 1})
	if err != nil {
		return fmt.Errorf("read the audit: %w", err)
	}
	called := r.names(v)
	page := auditView{Newer: v.R.URL.Query().Get("before") != ""}
	if len(rows) > auditShown {
		rows = rows[:auditShown]
		last := rows[auditShown-1]
		page.Older = fmt.Sprintf("/admin/audit?before=%d-%d-%d", last.At.UnixMilli(), last.User, last.ID)
	}
	for _, r := range rows {
		page.Rows = append(page.Rows, shownAudit{When: r.At.In(v.Zone).Format(time.DateTime), Who: called(r.User),
			What:    strings.ReplaceAll(trust.AuditLine(v.Lang, r), "`", ""),
			Through: trust.Through(v.Lang, r, fmt.Sprintf(say(v.Lang).Admin.AuditIdentity, strconv.FormatInt(r.ViaID, 10)))})
	}
	return v.Page("audit", say(v.Lang).Admin.Audit, page)
}

// auditCursor reads where a page begins.
func auditCursor(text string) (r core.AuditRow) {
	var at int64
	if n, _ := fmt.Sscanf(text, "%d-%d-%d", &at, &r.User, &r.ID); n != 3 {
		return core.AuditRow{}
	}
	r.At = time.UnixMilli(at)
	return r
}

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

// auditShown is the number of rows on a page of the audit.
const auditShown = 100

// auditView is a page of the audit.
type auditView struct {
	Rows  []shownAudit
	Older string // path of the next page; empty: none
	Newer bool   // not the first page
}

type shownAudit struct{ When, Who, What, Through string }

// auditPage shows the audit to the owner, with ids and fixed texts only.
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

// auditCursor parses the start of a page.
func auditCursor(text string) (r core.AuditRow) {
	var at int64
	if n, _ := fmt.Sscanf(text, "%d-%d-%d", &at, &r.User, &r.ID); n != 3 {
		return core.AuditRow{}
	}
	r.At = time.UnixMilli(at)
	return r
}

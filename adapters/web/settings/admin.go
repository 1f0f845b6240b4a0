package settings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/people"
	"github.com/everthread/everthread/core/audit"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/trust"
)

func (r *Room) adminRoutes() []web.Route {
	all := []web.Route{
		{Pattern: "GET /admin", Serve: r.adminPage, Tab: &web.Tab{
			Name: func(lang string) string { return say(lang).Admin.Title }, Key: "g", InMenu: true, Waits: r.waits}},
		{Pattern: "GET /admin/audit", Serve: r.auditPage},
		{Pattern: "GET /admin/{section}", Serve: r.adminPage},
		{Pattern: "POST /admin/requests", Serve: r.decide},
		{Pattern: "GET /admin/users/{id}/usage", Serve: r.usageOfPerson},
		{Pattern: "POST /admin/users/{id}/link", Serve: r.signInLink},
		{Pattern: "POST /admin/deliveries/{user}/{id}/retry", Serve: r.retryDelivery},
		{Pattern: "POST /admin/jobs/{user}/{id}/retry", Serve: r.retryJob},
		{Pattern: "POST /admin/check", Serve: r.checkAll},
		{Pattern: "POST /admin/channels/{channel}/check", Serve: r.checkChannel},
	}
	for i := range all {
		all[i].Owner = true
	}
	return all
}

type adminView struct {
	Sections   []section
	Here       string // id of the section shown
	Requests   []shownRequest
	Users      []shownUser
	People     peoplePage
	Channels   []shownChannel
	Kept       []core.Finding
	KeptSizes  string
	Deliveries []shownDelivery
	Queues     []shownQueue
	Dead       []shownJob
	Usage      adminUsage
}

// sections returns the sections of the owner's page, first those that need attention.
func (p *adminView) sections(v *web.Visit) []section {
	w, failed, kept := say(v.Lang).Admin, 0, 0
	for _, c := range p.Channels {
		if c.Wrong != "" {
			failed++
		}
	}
	for _, f := range p.Kept {
		if !f.OK && !f.None {
			kept++
		}
	}
	all := []section{{ID: "users", Name: w.Users}, {ID: "requests", Name: w.Requests, Count: len(p.Requests)},
		{ID: "channels", Name: w.Channels, Count: failed},
		{ID: "deliveries", Name: w.Deliveries, Count: len(p.Deliveries)}, {ID: "jobs", Name: w.Jobs, Count: len(p.Dead)},
		{ID: "kept", Name: w.Kept, Count: kept}, {ID: "usage", Name: w.Usage},
		{ID: "check", Name: w.Check}, {ID: "audit", Name: w.Audit}}
	slices.SortStableFunc(all, func(a, b section) int { return min(b.Count, 1) - min(a.Count, 1) })
	return all
}

func (r *Room) adminPage(v *web.Visit) error {
	page, called := adminView{}, r.names(v)
	var bills map[core.UserID]core.Bill
	var err error
	if page.Usage, bills, err = r.adminUsage(v, called); err != nil {
		return err
	}
	var shown []core.User
	if shown, page.People, err = r.somePeople(v); err != nil {
		return err
	}
	if page.Users, err = r.shownUsers(v, shown, bills); err != nil {
		return err
	}
	if page.Requests, err = r.requests(v, shown); err != nil {
		return err
	}
	page.Channels = r.health(v)
	page.Kept, page.KeptSizes = r.Inspector.Kept(v.Context(), v.Lang), r.keptSizes(v)
	if page.Deliveries, err = r.undelivered(v, called); err != nil {
		return err
	}
	if page.Queues, page.Dead, err = r.queues(v, called); err != nil {
		return err
	}
	page.Sections = page.sections(v)
	if page.Here, err = mark(page.Sections, "/admin", v.R.PathValue("section")); err != nil {
		return err
	}
	return v.Page("admin", say(v.Lang).Admin.Title, page)
}

// called returns a user's name on the owner's page.
func called(u core.User) string { return cmp.Or(u.Name, fmt.Sprintf("#%d", u.ID)) }

// names returns a function that returns users' names and reads each user once.
func (r *Room) names(v *web.Visit) func(core.UserID) string {
	known := map[core.UserID]string{0: "–"}
	return func(id core.UserID) string {
		if known[id] == "" {
			u, err := r.Store.User(v.Context(), id)
			if err != nil {
				u = core.User{ID: id}
			}
			known[id] = called(u)
		}
		return known[id]
	}
}

// shownChannel is a channel of this process; Checks reports whether it can be checked.
type shownChannel struct {
	Key, Name, Account, Wrong string
	Checks                    bool
}

func (r *Room) health(v *web.Visit) []shownChannel {
	var out []shownChannel
	for name, err := range r.Engine.Health() {
		key, account, _ := strings.Cut(name, ":")
		c := shownChannel{Key: key, Name: v.ChannelName(key), Account: account, Checks: account == "" && !people.Own(key)}
		if err != nil {
			c.Wrong = channel.Said(err, v.Lang)
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b shownChannel) int {
		return strings.Compare(a.Name+"\x00"+a.Account, b.Name+"\x00"+b.Account)
	})
	return out
}

// checkAllTime bounds the check of the configuration, which calls every service.
const checkAllTime = 80 * time.Second

// mostFiles bounds the number of attachments that the page measures.
const mostFiles = 100_000

// keptSizes describes the disk usage of the stored data.
func (r *Room) keptSizes(v *web.Visit) string {
	var files int64
	n := 0
	_ = filepath.WalkDir(r.MediaDir, func(_ string, d fs.DirEntry, err error) error { // the folder may not exist
		if n++; n > mostFiles {
			return fs.SkipAll
		}
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			files += info.Size()
		}
		return nil
	})
	w := say(v.Lang).Admin
	if database := r.Inspector.DatabaseSize(); database > 0 {
		return fmt.Sprintf(w.KeptSizes, web.Size(v.Lang, database), web.Size(v.Lang, files))
	}
	return fmt.Sprintf(w.KeptFiles, web.Size(v.Lang, files))
}

func (r *Room) checkAll(v *web.Visit) error {
	return r.check(v, "/admin/check", func(ctx context.Context) ([]core.Finding, error) {
		return r.Inspector.Check(ctx, v.Lang), nil
	})
}

func (r *Room) checkChannel(v *web.Visit) error {
	name := v.R.PathValue("channel")
	again := "/admin/channels/" + url.PathEscape(name) + "/check"
	return r.check(v, again, func(ctx context.Context) ([]core.Finding, error) {
		return r.Inspector.CheckChannel(ctx, name, v.Lang)
	})
}

// mostTyped bounds an answer to a channel's field, in characters.
const mostTyped = 2000

// alone runs do within checkAllTime. Only one check that calls other services runs at a time.
func (r *Room) alone(v *web.Visit, do func(context.Context) error) error {
	if !r.checks.take(v.User.ID) {
		return &web.Fault{Status: http.StatusTooManyRequests, Text: say(v.Lang).Admin.CheckRuns,
			After: 30 * time.Second}
	}
	defer r.checks.leave(v.User.ID)
	ctx, cancel := context.WithTimeout(v.Context(), checkAllTime)
	defer cancel()
	return do(ctx)
}

// check shows the findings of a check, which again repeats.
func (r *Room) check(v *web.Visit, again string, find func(context.Context) ([]core.Finding, error)) error {
	return r.alone(v, func(ctx context.Context) error {
		found, err := find(ctx)
		if err != nil {
			return err
		}
		wrong := 0
		for _, f := range found {
			if !f.OK {
				wrong++
			}
		}
		said := say(v.Lang).Admin.CheckFine
		if wrong > 0 {
			said = say(v.Lang).Admin.CheckWrong.Of(wrong)
		}
		return v.Page("check", say(v.Lang).Admin.Check, map[string]any{"Findings": found, "Said": said, "Wrong": wrong,
			"Again": again, "Late": errors.Is(ctx.Err(), context.DeadlineExceeded)})
	})
}

const auditShown = 100

type auditView struct {
	Rows  []shownAudit
	Older string // path of the next page; empty: none
	Newer bool   // not the first page
}

type shownAudit struct{ When, Who, What, Through string }

// auditPage shows the audit to the owner, with ids and fixed texts only.
func (r *Room) auditPage(v *web.Visit) error {
	rows, err := r.Store.Audit(v.Context(), store.AuditQuery{All: true,
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
	page.Rows = web.Each(rows, func(r audit.Row) shownAudit {
		return shownAudit{When: r.At.In(v.Zone).Format(time.DateTime), Who: called(r.User),
			What:    strings.ReplaceAll(trust.AuditLine(v.Lang, r), "`", ""),
			Through: trust.Through(v.Lang, r, fmt.Sprintf(say(v.Lang).Admin.AuditIdentity, strconv.FormatInt(r.ViaID, 10)))}
	})
	return v.Page("audit", say(v.Lang).Admin.Audit, page)
}

// auditCursor parses the start of a page.
func auditCursor(text string) (r audit.Row) {
	var at int64
	if n, _ := fmt.Sscanf(text, "%d-%d-%d", &at, &r.User, &r.ID); n != 3 {
		return audit.Row{}
	}
	r.At = time.UnixMilli(at)
	return r
}

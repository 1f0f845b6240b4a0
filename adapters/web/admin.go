package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
)

// Admin is what the owner's page needs. All fields are required.
type Admin struct {
	Store Works
	// NewWebLink makes a link that signs a user in, and what is to be stored of it.
	NewWebLink func(user core.UserID) (url string, code core.Code, err error)
	// Health says of each channel what is wrong with it, or nil; of personal agents
	// one by one, as channel:account.
	Health func() map[string]error
	// Check checks the configuration as `everthread doctor` does, until ctx ends.
	Check func(ctx context.Context) []core.Finding
}

// Works is what the owner's page reads and changes. None of it holds what other
// people wrote.
type Works interface {
	Users(ctx context.Context) ([]core.User, error)
	Identities(ctx context.Context, user core.UserID) ([]core.Identity, error)
	Codes(ctx context.Context, kind core.CodeKind, now time.Time) ([]core.Code, error)
	PutCode(ctx context.Context, c core.Code) error
	UsageDays(ctx context.Context, user core.UserID, from, through string) ([]core.UsageDay, error)
	Deliveries(ctx context.Context, q core.DeliveryQuery) ([]core.Delivery, error)
	Redeliver(ctx context.Context, user core.UserID, id core.DeliveryID, now time.Time) error
	QueueStats(ctx context.Context) ([]core.QueueStat, error)
	DeadJobs(ctx context.Context, limit int) ([]core.Job, error)
	Audit(ctx context.Context, q core.AuditQuery) ([]core.AuditRow, error)
	Revive(ctx context.Context, user core.UserID, id core.JobID, now time.Time) error
}

func (c *Channel) adminRoutes() []route {
	if c.Admin == nil {
		return nil
	}
	all := []route{
		{Pattern: "GET /admin", Serve: (*visit).adminPage, Tab: func(w *texts) string { return w.Admin.Title }},
		{Pattern: "GET /admin/audit", Serve: (*visit).auditPage},
		{Pattern: "GET /admin/{section}", Serve: (*visit).adminSection},
		{Pattern: "POST /admin/requests", Serve: (*visit).decide},
		{Pattern: "POST /admin/users/{id}/link", Serve: (*visit).signInLink},
		{Pattern: "POST /admin/deliveries/{user}/{id}/retry", Serve: (*visit).retryDelivery},
		{Pattern: "POST /admin/jobs/{user}/{id}/retry", Serve: (*visit).retryJob},
		{Pattern: "POST /admin/check", Serve: (*visit).checkAll},
	}
	for i := range all {
		all[i].Owner = true
	}
	return all
}

// adminView is the owner's page.
type adminView struct {
	Sections   []section
	Requests   []shownRequest
	Users      []shownUser
	People     peoplePage
	Channels   []shownChannel
	Deliveries []shownDelivery
	Queues     []shownQueue
	Dead       []shownJob
	Usage      adminUsage
}

func (v *visit) adminSections() []section {
	w := v.words.Admin
	return []section{{"requests", w.Requests}, {"users", w.Users}, {"channels", w.Channels}, {"deliveries", w.Deliveries},
		{"jobs", w.Jobs}, {"usage", w.Usage}, {"check", w.Check}}
}

// adminSection leads to a part of the page.
func (v *visit) adminSection() error {
	for _, s := range v.adminSections() {
		if s.ID == v.r.PathValue("section") {
			return v.back("/admin#"+s.ID, "")
		}
	}
	return core.ErrNotFound
}

func (v *visit) adminPage() error {
	users, err := v.Admin.Store.Users(v.ctx())
	if err != nil {
		return fmt.Errorf("read users: %w", err)
	}
	page := adminView{Sections: v.adminSections()}
	used, err := v.Admin.Store.UsageDays(v.ctx(), 0, v.usageFrom(), v.today.Label)
	if err != nil {
		return fmt.Errorf("read usage: %w", err)
	}
	page.Usage = v.adminUsage(used, users)
	var shown []core.User
	shown, page.People = v.somePeople(users)
	if page.Users, err = v.shownUsers(shown, used); err != nil {
		return err
	}
	if page.Requests, err = v.requests(shown); err != nil {
		return err
	}
	page.Channels = v.health()
	if page.Deliveries, err = v.undelivered(users); err != nil {
		return err
	}
	if page.Queues, page.Dead, err = v.queues(users); err != nil {
		return err
	}
	return v.page("admin", v.words.Admin.Title, page)
}

// called is what a user is called on the owner's page.
func called(users []core.User, id core.UserID) string {
	for _, u := range users {
		if u.ID == id && u.Name != "" {
			return u.Name
		}
	}
	if id == 0 {
		return "–"
	}
	return fmt.Sprintf("#%d", id)
}

// shownChannel is a channel with what is wrong with it.
type shownChannel struct {
	Name, Account, Wrong string
}

func (v *visit) health() []shownChannel {
	var out []shownChannel
	for name, err := range v.Admin.Health() {
		channel, account, _ := strings.Cut(name, ":")
		c := shownChannel{Name: v.channelName(channel), Account: account}
		if err != nil {
			c.Wrong = err.Error()
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b shownChannel) int {
		return strings.Compare(a.Name+"\x00"+a.Account, b.Name+"\x00"+b.Account)
	})
	return out
}

// checkAllTime bounds the check of the configuration: it calls every service.
const checkAllTime = 80 * time.Second

// checkAll checks the configuration, one at a time.
func (v *visit) checkAll() error {
	select {
	case v.checks <- struct{}{}:
		defer func() { <-v.checks }()
	default:
		return &fault{status: http.StatusTooManyRequests, text: func(w *texts) string { return w.Admin.CheckRuns },
			after: 30 * time.Second}
	}
	ctx, cancel := context.WithTimeout(v.ctx(), checkAllTime)
	defer cancel()
	found := v.Admin.Check(ctx)
	wrong := 0
	for _, f := range found {
		if !f.OK {
			wrong++
		}
	}
	said := v.words.Admin.CheckFine
	if wrong > 0 {
		said = v.words.Admin.CheckWrong.Of(wrong)
	}
	return v.page("check", v.words.Admin.Check, map[string]any{"Findings": found, "Said": said, "Wrong": wrong,
		"Late": errors.Is(ctx.Err(), context.DeadlineExceeded)})
}

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/everthread/everthread/core/audit"
	ports "github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/trust"
)

type auditCmd struct {
	anyone
	Since string  `placeholder:"WHEN" help:"Earliest time: a date such as 2026-11-19, or an age such as 24h."`
	Limit howMany `default:"50" help:"Number of entries, the newest."`
}

func (a auditCmd) Run(ctx context.Context, d *opened) error {
	q := ports.AuditQuery{All: a.User == "", Limit: int(a.Limit)}
	if !q.All {
		u, err := d.user(ctx, a.User)
		if err != nil {
			return err
		}
		q.User = u.ID
	}
	var err error
	if q.Since, err = since(a.Since, clock()()); err != nil {
		return errUsage{err}
	}
	found, err := d.store.Audit(ctx, q)
	if err != nil {
		return err
	}
	return table(d.console, found, d.words().AuditHeader, d.words().AuditNone, func(r audit.Row) (any, []any) {
		through := trust.Through(d.language(), r, fmt.Sprintf("#%d", r.ViaID))
		return r, []any{r.At, r.User, trust.AuditLine(d.language(), r), through}
	})
}

// since parses a date or an age.
func since(text string, now time.Time) (time.Time, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	day, err := time.ParseInLocation(time.DateOnly, text, time.Local)
	if err != nil {
		return day, errors.New("--since is a date such as 2026-11-19 or how long ago, such as 24h")
	}
	return day, nil
}

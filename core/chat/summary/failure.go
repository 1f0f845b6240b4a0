package summary

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/text/markup"
)

// The times of further attempts after a failure. They do not depend on the job, which ends: the day stays due in the
// store, and no day of a user waits behind another that fails.
const (
	firstRetry = time.Minute
	mostRetry  = 15 * time.Minute
	often      = 48 * time.Hour // since the first failure; then daily
	daily      = 24 * time.Hour
	// tellAfter is how long a day that is over fails before the owner is told, unless only the owner can help.
	tellAfter = time.Hour
)

// failed decides how a job ends after an error. A failure of the model ends it, and the day stays due.
func (s *Summarizer) failed(ctx context.Context, j *store.Job, w *work, cause error) error {
	if len(w.spent) > 0 {
		if err := s.Store.Spend(ctx, j.User, w.today, w.spent); err != nil {
			return err
		}
	}
	m, _ := errors.AsType[*core.ModelError](cause)
	bad, _ := errors.AsType[*badAnswer](cause)
	imported := j.Key == core.ImportKey
	switch {
	case errors.Is(cause, core.ErrFenced), errors.Is(cause, core.ErrChanged), errors.Is(cause, context.Canceled):
		return cause
	case errors.Is(cause, core.ErrNotFound): // the day is gone
		return s.Jobs.Finish(ctx, j)
	case errors.Is(cause, errBudget) && imported:
		return &job.Later{At: s.Calendar.Day(w.user.Settings, s.Now()).End}
	case m != nil && imported:
		return cause // the other imported days wait with it
	case m == nil && bad == nil && !errors.Is(cause, errBudget) && !errors.Is(cause, errTooLarge):
		return cause
	}
	return s.fail(ctx, j, w, m, cause)
}

// operators reports whether only the owner can fix the cause of an error.
func operators(m *core.ModelError) bool {
	return m != nil && (m.Kind == core.ModelAuth || m.Kind == core.ModelConfig)
}

// fail records a failure and when the summary is tried again. The person reads why on the day's page.
func (s *Summarizer) fail(ctx context.Context, j *store.Job, w *work, m *core.ModelError, cause error) error {
	now, g := s.Now(), w.segment
	f := store.FailedSummary{User: j.User, Segment: g.ID, Lease: j.Lease, Cause: plain(m, cause), Config: s.Settings.Config,
		Since: g.FailedAt, Post: s.wanted(w), Now: now}
	if f.Since.IsZero() {
		f.Since = now
	}
	switch failing := now.Sub(f.Since); {
	case errors.Is(cause, errBudget):
		f.RetryAt = s.Calendar.Day(w.user.Settings, now).End
	case errors.Is(cause, errTooLarge), operators(m), failing >= often:
		f.RetryAt = now.Add(daily)
	default:
		f.RetryAt = now.Add(s.Jobs.Jitter(min(max(failing, firstRetry), mostRetry)))
		if m != nil && now.Add(m.After).After(f.RetryAt) {
			f.RetryAt = now.Add(m.After)
		}
	}
	s.Meter.Count("everthread_summaries_total", 1, "failed")
	s.Log.Warn("summary not written", zap.Int64("user", int64(j.User)), zap.Int64("segment", j.Ref),
		zap.Time("retry", f.RetryAt), zap.Error(cause))
	if err := s.Store.FailSummary(ctx, f); err != nil {
		return err
	}
	if failing := now.Sub(f.Since); w.final && failing < often && !errors.Is(cause, errBudget) &&
		(operators(m) || failing >= tellAfter) {
		return s.tellOwner(ctx, f.Cause)
	}
	return nil
}

// tellOwner notifies the owner, once a day and quietly, that days are closed without their final summaries.
func (s *Summarizer) tellOwner(ctx context.Context, cause string) error {
	owner, err := s.Users.Owner(ctx)
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	targets, err := s.Planner.Plan(ctx, owner, false)
	if err != nil {
		return err
	}
	now := s.Now()
	said := fmt.Sprintf(say(s.language(owner)).OwnerFailed, text.Shorten(markup.Plain(cause), 300))
	told := s.notice(said, now)
	told.Rings = core.Unreached(targets)
	n := store.Note{User: owner.ID, Once: "summaries:" + s.Calendar.Day(owner.Settings, now).Label, Now: now,
		Messages: []core.NewMessage{told}, Deliveries: s.deliveries(targets, core.DeliverNotice, said)}
	_, err = s.Store.Note(ctx, n)
	return err
}

func (s *Summarizer) language(u core.User) string {
	return cmp.Or(u.Settings.Language, s.Settings.Language)
}

func (s *Summarizer) notice(said string, now time.Time) core.NewMessage {
	return core.NewMessage{Role: core.RoleAssistant, Kind: core.KindNotice, Text: said, Tokens: s.Tokens.Count(said),
		SentAt: now}
}

// deliveries returns silent deliveries of a text.
func (s *Summarizer) deliveries(targets []core.Target, kind core.DeliveryKind, said string) []core.NewDelivery {
	var out []core.NewDelivery
	for _, t := range targets {
		parts := markup.Parts(said, s.Channels.Capabilities(t.Identity.Address.Channel))
		for i := range parts { // folded where a channel can
			parts[i].Quiet, parts[i].Fold = true, kind == core.DeliverPost
		}
		out = append(out, t.Delivery(kind, parts))
	}
	return out
}

// plain returns why there is no summary, for the person.
func plain(m *core.ModelError, cause error) string {
	if m == nil {
		return strings.TrimSuffix(cause.Error(), ".")
	}
	return fmt.Sprintf("the summary model did not answer: %v", m.Err)
}

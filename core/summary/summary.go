// Package summary writes the summaries of days, closes days at night and posts their summaries the morning after.
//
// A summary is written in the background, never in the path of a reply: a job per segment, one at a time per user, that
// yields while replies are written. It is incremental (the previous summary and new messages), or from the transcript
// if the segment is stale. A failed or empty result never replaces a good summary.
package summary

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/day"
	"github.com/everthread/everthread/core/job"
)

// Store is the part of a store that a Summarizer uses.
type Store interface {
	core.SummaryStore
	Enqueue(ctx context.Context, jobs ...core.NewJob) error
	SummarizeImported(ctx context.Context, now time.Time, limit int) (int, error)
	core.UsageStore
	core.DayStore
}

// Grounds finds the messages that claims rest on.
type Grounds interface {
	// Support returns for each claim about a day the messages of said that support it, or none.
	Support(claims []string, said []core.Message) [][]core.MessageID
}

// Settings configure a Summarizer.
type Settings struct {
	Window       int // of the summary model, in tokens
	MaxOutput    int // tokens that are kept free for its answer
	Limit        int // of its answer; 0: none
	TokensPerDay int // 0: no limit
	Attempts     int
	PostForward  string // home, all or off
	PostMin      int    // fewest messages of a day that is posted
	PostExpires  time.Duration
	Language     string // of users who chose none
}

// Summarizer writes summaries. All fields are required.
type Summarizer struct {
	Store    Store
	Jobs     *job.Worker
	Users    core.Users
	Planner  core.Planner
	Model    core.Model
	Tokens   core.Tokenizer
	Settings Settings
	Calendar day.Calendar
	Channels core.Channels
	Grounds  Grounds
	// SameLoop returns the open loop that a text names again; nil: none does.
	SameLoop func(text string, open []core.Loop) (core.LoopID, bool)
	Meter    core.Counter
	Log      *zap.Logger
	Now      func() time.Time
}

// Take claims a due summary job and runs it.
func (s *Summarizer) Take(ctx context.Context, ref core.JobRef) {
	s.Jobs.Yield(ctx)
	s.Jobs.Take(ctx, ref, s.do)
}

// Run runs a claimed summary job.
func (s *Summarizer) Run(ctx context.Context, j *core.Job) { s.Jobs.Run(ctx, j, s.do) }

// work is the state of one summary job.
type work struct {
	job      *core.Job
	user     core.User
	segment  core.Segment
	previous *core.Summary  // nil: from the transcript
	messages []core.Message // in the order of their positions
	readTo   core.MessageID // the greatest id of the messages read
	whole    []core.Message // all messages of the day, with those of previous; nil: not read yet
	final    bool
	today    string
	usage    core.Usage
	model    string
}

// do writes the summary of a claimed job, or decides how the job ends after an error.
func (s *Summarizer) do(ctx context.Context, j *core.Job) error {
	w, err := s.read(ctx, j)
	if err == nil {
		err = s.write(ctx, w)
	}
	if err == nil {
		s.Meter.Count("everthread_summaries_total", 1, "stored")
		if w.final && !s.Now().Before(w.segment.Day.Post) { // it is late: post it immediately
			return s.Post(ctx)
		}
		return nil
	}
	return s.failed(context.WithoutCancel(ctx), j, w, err)
}

// read loads the input of a summary.
func (s *Summarizer) read(ctx context.Context, j *core.Job) (*work, error) {
	w := &work{job: j}
	var err error
	if w.user, err = s.Users.User(ctx, j.User); err != nil {
		return w, err
	}
	if w.segment, err = s.Store.Segment(ctx, j.User, core.SegmentID(j.Ref)); err != nil {
		return w, err
	}
	now := s.Now()
	w.final = w.segment.State == core.SegmentFinal || !now.Before(w.segment.Day.Finalize)
	w.today = s.Calendar.Day(w.user.Settings, now).Label
	g := w.segment
	after := core.MessageID(0)
	if !g.Stale && !g.Hidden && g.SummaryVersion > 0 {
		versions, err := s.Store.Summaries(ctx, j.User, g.ID, 1)
		if err != nil {
			return w, err
		}
		if len(versions) > 0 {
			w.previous = &versions[0]
			after = last(w.previous.Covers)
		}
	}
	w.messages, err = s.transcript(ctx, g, after)
	w.readTo = after
	if n := len(w.messages); n > 0 {
		w.readTo = w.messages[n-1].ID
	}
	core.InTime(w.messages)
	return w, err
}

// last returns the greatest id of a set, or 0.
func last(s core.IDSet) core.MessageID {
	r := s.Ranges()
	if len(r) == 0 {
		return 0
	}
	return r[len(r)-1][1]
}

// transcript reads all messages of a segment after one, by id.
func (s *Summarizer) transcript(ctx context.Context, g core.Segment, after core.MessageID) ([]core.Message, error) {
	const page = 500
	var out []core.Message
	for {
		ms, err := s.Store.DayMessages(ctx, g.User, g.ID, after, page)
		if err != nil {
			return nil, err
		}
		out = append(out, ms...)
		if len(ms) < page {
			return out, nil
		}
		after = ms[len(ms)-1].ID
	}
}

// write generates the summary and stores it.
func (s *Summarizer) write(ctx context.Context, w *work) error {
	p := core.PutSummary{SameLoop: s.SameLoop, Lease: w.job.Lease, Final: w.final, Edits: w.segment.Edits, Day: w.today,
		Now: s.Now(), Post: core.PostDue}
	if s.forward(w.user) == "off" || w.segment.Messages < s.Settings.PostMin {
		p.Post = core.PostSkipped
	}
	p.Summary = core.Summary{User: w.user.ID, Segment: w.segment.ID, Label: w.segment.Day.Label, Final: w.final}
	p.ReadTo = w.readTo
	if slices.ContainsFunc(w.messages, spoken) {
		if err := s.reserve(ctx, w); err != nil {
			return err
		}
		d, err := s.generate(ctx, w)
		if err != nil {
			return err
		}
		m := &p.Summary
		m.Markdown, m.Ungrounded, m.Covers = d.markdown(), len(d.loose()) > 0, covers(w)
		m.Tokens, m.Tainted = s.Tokens.Count(m.Markdown), foreign(w)
		p.Opened, p.Sources = d.loops()
		p.Entry = core.NewMessage{Role: core.RoleSystem, Kind: core.KindDaySummary, Text: m.Markdown,
			Tokens: m.Tokens, SentAt: p.Now}
	}
	p.Summary.Usage, p.Summary.Model = w.usage, w.model
	return s.Store.PutSummary(ctx, p)
}

// spoken reports whether a message has words of the person or the assistant.
func spoken(m core.Message) bool {
	return !m.Redacted && m.Text != "" && (m.Role == core.RoleUser || m.Role == core.RoleAssistant)
}

// foreign reports whether foreign words went into a summary.
func foreign(w *work) bool {
	return w.previous != nil && w.previous.Tainted ||
		slices.ContainsFunc(w.messages, func(m core.Message) bool { return spoken(m) && m.Foreign() })
}

func covers(w *work) core.IDSet {
	var ids []core.MessageID
	for _, m := range w.messages {
		ids = append(ids, m.ID)
	}
	out := core.NewIDSet(ids...)
	if w.previous != nil {
		out = out.Union(w.previous.Covers)
	}
	return out
}

// errBudget means that the day's tokens are used up.
var errBudget = errors.New("the day's budget is used up")

// errTooLarge means that an imported day needs more than a day's tokens.
var errTooLarge = errors.New("the day is larger than limits.tokens_per_day")

// reserve reserves the tokens of the calls in the day's budget.
func (s *Summarizer) reserve(ctx context.Context, w *work) error {
	if s.Settings.TokensPerDay <= 0 {
		return nil
	}
	n, limit := s.Settings.MaxOutput+500, s.Settings.TokensPerDay
	for _, m := range w.messages {
		n += m.Tokens*5/4 + 32 // an estimate of its line in a request
	}
	if w.job.Key == core.ImportKey {
		if n > limit {
			return errTooLarge
		}
		limit = max(limit/2, n) // the other half is for today's conversation
	}
	ok, err := s.Store.Reserve(ctx, w.user.ID, w.job.Lease, w.today, n, limit)
	if err == nil && !ok {
		err = errBudget
	}
	return err
}

// failed postpones or retries a job, or gives it up after the last attempt.
func (s *Summarizer) failed(ctx context.Context, j *core.Job, w *work, cause error) error {
	if w.usage != (core.Usage{}) {
		if err := s.Store.Spend(ctx, j.User, w.today, w.usage); err != nil {
			return err
		}
	}
	m, _ := errors.AsType[*core.ModelError](cause)
	switch {
	case errors.Is(cause, core.ErrFenced), errors.Is(cause, core.ErrChanged), errors.Is(cause, context.Canceled):
		return cause
	case errors.Is(cause, errBudget):
		return &job.Later{At: s.Calendar.Day(w.user.Settings, s.Now()).End}
	case errors.Is(cause, errTooLarge):
		return s.giveUp(ctx, j, plain(nil, cause), nil)
	case errors.Is(cause, core.ErrNotFound):
		return s.giveUp(ctx, j, "the day is gone", nil)
	case j.Failures+1 >= s.Settings.Attempts, m != nil && (m.Kind == core.ModelAuth || m.Kind == core.ModelConfig):
		return s.giveUp(ctx, j, plain(m, cause), cause)
	}
	return cause
}

// giveUp ends a job without a summary. The person reads why.
func (s *Summarizer) giveUp(ctx context.Context, j *core.Job, why string, cause error) error {
	s.Meter.Count("everthread_summaries_total", 1, "failed")
	s.Log.Warn("summary not written", zap.Int64("user", int64(j.User)), zap.Int64("segment", j.Ref),
		zap.String("why", why), zap.Error(cause))
	return s.Store.FailSummary(ctx, j.User, core.SegmentID(j.Ref), j.Lease, why, s.Now())
}

// plain returns why there is no summary, for the person.
func plain(m *core.ModelError, cause error) string {
	if m == nil {
		return fmt.Sprintf("the summary could not be written: %v", cause)
	}
	return fmt.Sprintf("the summary model did not answer: %v", m.Err)
}

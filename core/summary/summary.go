// Package summary writes the summaries of days, closes days at night and posts
// their summaries forward (SPEC 6 and 7).
//
// Policy. A summary is written in the background, never in the path of a reply:
// a job per segment, one at a time per user, that yields while replies are
// written. It is incremental (the previous one and what is new), or from the
// transcript if the segment is stale. A failed or empty result never replaces a
// good summary.
package summary

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
)

// Store is what summaries are made from and kept in.
type Store interface {
	core.SummaryStore
	SummarizeImported(ctx context.Context, now time.Time, limit int) (int, error)
	core.UsageStore
	Segment(ctx context.Context, user core.UserID, id core.SegmentID) (core.Segment, error)
	DayMessages(ctx context.Context, user core.UserID, id core.SegmentID, after core.MessageID, limit int) ([]core.Message, error)
	Summaries(ctx context.Context, user core.UserID, id core.SegmentID, limit int) ([]core.Summary, error)
}

// Jobs is what the work of the queue needs.
type Jobs interface {
	Claim(ctx context.Context, ref core.JobRef, c core.Claim) (*core.Job, error)
	RetryJob(ctx context.Context, user core.UserID, l core.Lease, at time.Time, cause string) error
	Extend(ctx context.Context, user core.UserID, l core.Lease, until time.Time) error
	Enqueue(ctx context.Context, jobs ...core.NewJob) error
}

// Users tells who a user is.
type Users interface {
	User(ctx context.Context, id core.UserID) (core.User, error)
}

// Planner picks where something proactive goes (SPEC 7).
type Planner interface {
	Plan(ctx context.Context, u core.User, all bool) ([]Target, error)
}

// Target is where something proactive goes, and why there.
type Target = core.Target

// Settings are the numbers of SPEC 6 and 7.
type Settings struct {
	Window       int // of the summary model, in tokens
	MaxOutput    int
	TokensPerDay int // 0: no limit
	Attempts     int
	Lease        time.Duration
	PostForward  string // home, all or off
	PostMin      int    // messages that a day must have to be posted
	PostExpires  time.Duration
	Language     string // of users who chose none
	Zone         *time.Location
}

// Summarizer writes summaries. All fields but Busy are required.
type Summarizer struct {
	Store    Store
	Jobs     Jobs
	Users    Users
	Planner  Planner
	Model    core.Model
	Tokens   core.Tokenizer
	Settings Settings
	// Day tells the local day of a moment; Title names a day on another one.
	Day   func(s core.Settings, t time.Time) core.Day
	Title func(label, today, language string) string
	// Parts renders Markdown for a channel; StripRefs takes references out.
	Parts     func(markdown, channel string) []core.Part
	StripRefs func(markdown string) string
	// Support finds for claims about a day the messages that they can be traced to
	// among those that were said; none for one that nobody said.
	Support func(claims []string, said []core.Message) [][]core.MessageID
	// SameLoop recognises a loop that is open already; nil: none is.
	SameLoop func(text string, open []core.Loop) (core.LoopID, bool)
	Busy     func() bool // replies are being written
	Count    func(name string, n float64, labels ...string)
	Log      *zap.Logger
	Now      func() time.Time
	Worker   string
}

// Take claims a due summary job and does it.
func (s *Summarizer) Take(ctx context.Context, ref core.JobRef) {
	s.yield(ctx)
	now := s.Now()
	j, err := s.Jobs.Claim(ctx, ref, core.Claim{Worker: s.Worker, Now: now, Until: now.Add(s.Settings.Lease)})
	if err == nil && j != nil {
		err = s.do(ctx, j)
	}
	if err != nil && ctx.Err() == nil {
		s.Log.Warn("summary not written", zap.Int64("user", int64(ref.User)), zap.Int64("segment", ref.Ref), zap.Error(err))
	}
}

// longestYield is how long a summary holds back for replies.
const longestYield = 5 * time.Second

func (s *Summarizer) yield(ctx context.Context) {
	for waited := time.Duration(0); s.Busy != nil && s.Busy() && waited < longestYield; waited += 100 * time.Millisecond {
		wait(ctx, 100*time.Millisecond)
	}
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// work is one summary on its way.
type work struct {
	job      *core.Job
	user     core.User
	segment  core.Segment
	previous *core.Summary  // nil: from the transcript
	messages []core.Message // in the order of their positions
	readTo   core.MessageID // the greatest number of what was read
	whole    []core.Message // the day's messages, also those of previous; nil: not read yet
	final    bool
	today    string
	usage    core.Usage
	model    string
}

// do writes the summary of a claimed job, and decides what becomes of the job if
// it cannot.
func (s *Summarizer) do(ctx context.Context, j *core.Job) error {
	stop := s.hold(ctx, j)
	defer stop()
	w, err := s.read(ctx, j)
	if err == nil {
		err = s.write(ctx, w)
	}
	if err == nil {
		s.Count("everthread_summaries_total", 1, "stored")
		if w.final && !s.Now().Before(w.segment.Day.Post) { // it is late: its post does not wait for the next look
			return s.Post(ctx)
		}
		return nil
	}
	return errors.Join(err, s.failed(context.WithoutCancel(ctx), j, w, err))
}

// hold renews the lease of a job until the returned function is called.
func (s *Summarizer) hold(ctx context.Context, j *core.Job) func() {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			wait(ctx, s.Settings.Lease/3)
			if ctx.Err() != nil {
				return
			}
			if err := s.Jobs.Extend(ctx, j.User, j.Lease, s.Now().Add(s.Settings.Lease)); err != nil && ctx.Err() == nil {
				s.Log.Warn("extend lease of summary", zap.Int64("user", int64(j.User)), zap.Error(err))
			}
		}
	}()
	return func() { cancel(); <-done }
}

// read loads what a summary is written from.
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
	w.today = s.Day(w.user.Settings, now).Label
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

// last is the greatest id of a set, or 0.
func last(s core.IDSet) core.MessageID {
	r := s.Ranges()
	if len(r) == 0 {
		return 0
	}
	return r[len(r)-1][1]
}

// transcript reads a segment's messages after one, all of them, by their numbers.
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

// write makes the summary and stores it.
func (s *Summarizer) write(ctx context.Context, w *work) error {
	p := core.PutSummary{SameLoop: s.SameLoop, Lease: w.job.Lease, Final: w.final, Edits: w.segment.Edits, Day: w.today, Now: s.Now(), Post: s.postState(w)}
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
		p.Entry = core.NewMessage{Role: core.RoleSystem, Kind: core.KindDaySummary, Text: m.Markdown, Tokens: m.Tokens, SentAt: p.Now}
	}
	p.Summary.Usage, p.Summary.Model = w.usage, w.model
	return s.Store.PutSummary(ctx, p)
}

// spoken tells whether a message is somebody's words.
func spoken(m core.Message) bool {
	return !m.Redacted && m.Text != "" && (m.Role == core.RoleUser || m.Role == core.RoleAssistant)
}

// foreign reports whether words that the person did not write went into a summary.
func foreign(w *work) bool {
	return w.previous != nil && w.previous.Tainted || slices.ContainsFunc(w.messages, func(m core.Message) bool { return spoken(m) && m.Foreign() })
}

// covers is the set of messages that a summary rests on.
func covers(w *work) core.IDSet {
	var ids []core.MessageID
	if w.previous != nil {
		for _, r := range w.previous.Covers.Ranges() {
			for id := r[0]; id <= r[1]; id++ {
				ids = append(ids, id)
			}
		}
	}
	for _, m := range w.messages {
		ids = append(ids, m.ID)
	}
	return core.NewIDSet(ids...)
}

// errBudget means that the day's tokens are used up.
var errBudget = errors.New("the day's budget is used up")

// errTooLarge means that no day's tokens are enough for an imported day.
var errTooLarge = errors.New("the day is larger than limits.tokens_per_day")

// reserve takes what the calls may cost out of the day's budget.
func (s *Summarizer) reserve(ctx context.Context, w *work) error {
	if s.Settings.TokensPerDay <= 0 {
		return nil
	}
	n, limit := s.Settings.MaxOutput+500, s.Settings.TokensPerDay
	for _, m := range w.messages {
		n += lineTokens(m)
	}
	if w.job.Key == core.ImportKey {
		if n > limit {
			return errTooLarge
		}
		limit = max(limit/2, n) // what is said today has the other half
	}
	ok, err := s.Store.Reserve(ctx, w.user.ID, w.job.Lease, w.today, n, limit)
	if err != nil {
		return err
	}
	if !ok {
		return errBudget
	}
	return nil
}

// failed puts a job off, or gives it up after the last attempt.
func (s *Summarizer) failed(ctx context.Context, j *core.Job, w *work, cause error) error {
	now := s.Now()
	if w != nil && w.usage != (core.Usage{}) {
		if err := s.Store.Spend(ctx, j.User, w.today, w.usage); err != nil {
			return err
		}
	}
	switch {
	case errors.Is(cause, core.ErrFenced):
		return nil
	case errors.Is(cause, errTooLarge):
		s.Count("everthread_summaries_total", 1, "failed")
		return s.Store.FailSummary(ctx, j.User, core.SegmentID(j.Ref), j.Lease, plain(nil, cause), now)
	case errors.Is(cause, core.ErrNotFound):
		return s.Store.FailSummary(ctx, j.User, core.SegmentID(j.Ref), j.Lease, "the day is gone", now)
	case errors.Is(cause, core.ErrChanged):
		return s.Jobs.RetryJob(ctx, j.User, j.Lease, now, "")
	case errors.Is(cause, errBudget):
		return s.Jobs.RetryJob(ctx, j.User, j.Lease, s.Day(w.user.Settings, now).End, "")
	case errors.Is(cause, context.Canceled):
		return s.Jobs.RetryJob(ctx, j.User, j.Lease, now, "")
	}
	var m *core.ModelError
	errors.As(cause, &m)
	if j.Failures+1 >= s.Settings.Attempts || m != nil && (m.Kind == core.ModelAuth || m.Kind == core.ModelConfig) {
		s.Count("everthread_summaries_total", 1, "failed")
		return s.Store.FailSummary(ctx, j.User, core.SegmentID(j.Ref), j.Lease, plain(m, cause), now)
	}
	return s.Jobs.RetryJob(ctx, j.User, j.Lease, now.Add(backoff(j.Failures+1, m)), cause.Error())
}

// plain is what a person is told about why there is no summary.
func plain(m *core.ModelError, cause error) string {
	if m == nil {
		return fmt.Sprintf("the summary could not be written: %v", cause)
	}
	return fmt.Sprintf("the summary model did not answer: %v", m.Err)
}

// backoff is how long a job waits after its n-th attempt.
func backoff(n int, m *core.ModelError) time.Duration {
	if m != nil && m.After > 0 {
		return m.After
	}
	return min(5*time.Second<<min(n, 10), 15*time.Minute)
}

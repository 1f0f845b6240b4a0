// Package summary writes the summaries of days, closes days at night and posts their summaries the morning after.
//
// A summary is written in the background, never in the path of a reply: a job per segment, one at a time per user, that
// yields while replies are written. It is incremental (the previous summary and new messages), or from the transcript
// if the segment is stale. A failed or empty result never replaces a good summary.
package summary

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text/day"
)

// Store is the part of a store that a Summarizer uses.
type Store interface {
	store.SummaryStore
	// Loops lists open loops, newest mention first.
	Loops(ctx context.Context, user core.UserID, limit int) ([]core.Loop, error)
	Note(ctx context.Context, n store.Note) (store.Noted, error)
	Enqueue(ctx context.Context, jobs ...store.NewJob) error
	SummarizeImported(ctx context.Context, now time.Time, limit int) (int, error)
	store.UsageStore
	store.DayStore
}

// Grounds finds the messages that claims rest on.
type Grounds interface {
	// Support returns for each claim about a day the messages of said that support it, or none.
	Support(claims []string, said []core.Message) [][]core.MessageID
}

// Settings configure a Summarizer.
type Settings struct {
	Window       int    // of the summary model, in tokens
	MaxOutput    int    // tokens that are kept free for its answer
	Model        string // its name, where it does not name itself
	Limit        int    // of its answer; 0: none
	TokensPerDay core.DailyTokens
	Config       string // identifies the configuration of Model
	PostForward  string // home, all or off
	PostMin      int    // fewest messages of a day that is posted
	PostExpires  time.Duration
	Language     string // of users who chose none
}

// People looks up users.
type People interface {
	core.Users
	// Owner returns the owner, or core.ErrNotFound.
	Owner(ctx context.Context) (core.User, error)
}

// Ahead knows what people have ahead.
type Ahead interface {
	// Users lists the users who have a calendar or a mailbox.
	Users(ctx context.Context) ([]core.User, error)
	// Today returns the day of a user as Markdown with a heading, and whether it has words of others; empty: nothing is
	// ahead. It takes a bounded time, whatever a calendar does.
	Today(ctx context.Context, u core.User, now time.Time) (said string, foreign bool, err error)
}

// Summarizer writes summaries. All fields are required.
type Summarizer struct {
	Store    Store
	Jobs     *job.Worker
	Users    People
	Planner  core.Planner
	Model    core.Model
	Tokens   core.Tokenizer
	Settings Settings
	Calendar day.Calendar
	Channels core.Channels
	Grounds  Grounds
	Ahead    Ahead
	// SameLoop returns the open loop that a text names again, if there is one.
	SameLoop func(text string, open []core.Loop) (core.LoopID, bool)
	// Due returns the end of the day ahead that the text of a loop names, for a user with these settings; zero: it names
	// none. said is when it was written.
	Due   func(s core.Settings, said time.Time, text, language string) time.Time
	Meter core.Counter
	Log   *zap.Logger
	Now   func() time.Time
}

// Take claims a due summary job and runs it.
func (s *Summarizer) Take(ctx context.Context, ref store.JobRef) {
	s.Jobs.Yield(ctx)
	s.Jobs.Take(ctx, ref, s.do)
}

// Run runs a claimed summary job.
func (s *Summarizer) Run(ctx context.Context, j *store.Job) { s.Jobs.Run(ctx, j, s.do) }

// work is the state of one summary job.
type work struct {
	job      *store.Job
	user     core.User
	segment  core.Segment
	previous *core.Summary        // nil: from the transcript
	messages []core.Message       // in the order of their positions
	readTo   core.MessageID       // the greatest id of the messages read
	whole    []core.Message       // all messages of the day, with those of previous; nil: not read yet
	loops    []core.Loop          // listed in the request
	closed   map[core.LoopID]bool // settled in previous
	final    bool
	today    string
	spent    core.Bill
	model    string
}

// do writes the summary of a claimed job, or decides how the job ends after an error.
func (s *Summarizer) do(ctx context.Context, j *store.Job) error {
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
func (s *Summarizer) read(ctx context.Context, j *store.Job) (*work, error) {
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
	if err == nil {
		err = s.readLoops(ctx, w)
	}
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
	p := store.PutSummary{SameLoop: s.SameLoop, Lease: w.job.Lease, Final: w.final, Edits: w.segment.Edits, Day: w.today,
		Now: s.Now(), Post: s.wanted(w)}
	p.Summary = core.Summary{User: w.user.ID, Segment: w.segment.ID, Label: w.segment.Day.Label, Final: w.final}
	p.ReadTo = w.readTo
	if slices.ContainsFunc(w.messages, spoken) {
		if err := s.reserve(ctx, w); err != nil {
			return err
		}
		d, err := s.generate(ctx, w)
		if err == nil {
			p.Settled, err = s.settle(ctx, w, &d)
		}
		if err != nil {
			return err
		}
		m := &p.Summary
		m.Markdown, m.Ungrounded, m.Covers = d.markdown(), len(d.loose()) > 0, covers(w)
		m.Tokens, m.Tainted = s.Tokens.Count(m.Markdown), foreign(w)
		p.Loops = s.named(w, d)
		p.Entry = core.NewMessage{Role: core.RoleSystem, Kind: core.KindDaySummary, Text: m.Markdown,
			Tokens: m.Tokens, SentAt: p.Now}
	}
	p.Summary.Usage, p.Summary.Model, p.Spent = w.spent.Total(), w.model, w.spent
	return s.Store.PutSummary(ctx, p)
}

// wanted returns whether the day of a summary is to be posted.
func (s *Summarizer) wanted(w *work) core.PostState {
	if s.forward(w.user) == "off" || w.segment.Messages < s.Settings.PostMin {
		return core.PostSkipped
	}
	return core.PostDue
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
	n, limit := s.Settings.MaxOutput+500, s.Settings.TokensPerDay.Of(w.user)
	if limit <= 0 {
		return nil
	}
	for _, m := range w.messages {
		n += m.Tokens*5/4 + 32 // an estimate of its line in a request
	}
	if w.job.Key == core.ImportKey && n > limit {
		return errTooLarge
	}
	if w.job.Key == core.ImportKey || !w.segment.RetryAt.IsZero() {
		limit = max(limit/2, min(n, limit)) // the other half is for today's conversation
	}
	ok, err := s.Store.Reserve(ctx, w.user.ID, w.job.Lease, w.today, n, limit)
	if err == nil && !ok {
		err = errBudget
	}
	return err
}

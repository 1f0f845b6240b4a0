package embed

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/store"
)

const ada = core.UserID(7)

// item is a text that can have a vector.
type item struct {
	store.Embeddable
	config string
	state  core.EmbeddingState
	vector []float32
	cause  string

	passages []store.PassageVector
}

// world is an in-memory store and queue of one user.
type world struct {
	mu      sync.Mutex
	days    [][]core.Message // by segment - 1
	closed  map[core.SegmentID]bool
	through map[core.SegmentID]core.MessageID
	done    map[core.SegmentID]bool // nothing new since the last cut
	windows []store.TextWindow
	items   []*item
	queue   []*store.Job
	next    core.JobID
	ended   []string // causes of jobs that ended
	extends int

	onPut    func(p store.PutWindows) error // nil: nothing happens
	onExtend func() error
	broken   error // of every read
}

func newWorld() *world {
	return &world{closed: map[core.SegmentID]bool{}, through: map[core.SegmentID]core.MessageID{},
		done: map[core.SegmentID]bool{}}
}

// say adds messages to a day; ids continue from day to day.
func (w *world) say(segment core.SegmentID, texts ...string) {
	for len(w.days) < int(segment) {
		w.days = append(w.days, nil)
	}
	for _, text := range texts {
		id := core.MessageID(1)
		for _, day := range w.days {
			id += core.MessageID(len(day))
		}
		w.days[segment-1] = append(w.days[segment-1], core.Message{User: ada, ID: id, Segment: segment,
			Text: text, Tokens: 1})
		w.done[segment] = false
	}
}

// remember adds a pending memory item.
func (w *world) remember(texts ...string) {
	for _, text := range texts {
		e := store.Embeddable{Kind: core.VectorItem, ID: int64(len(w.items) + 1000), Text: text}
		w.items = append(w.items, &item{Embeddable: e, config: "c", state: core.EmbeddingPending})
	}
}

func (w *world) Unwindowed(ctx context.Context, _ core.UserID, limit int) (store.Unwindowed, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := first(ctx.Err(), w.broken); err != nil {
		return store.Unwindowed{}, err
	}
	for i, day := range w.days {
		segment := core.SegmentID(i + 1)
		if w.done[segment] {
			continue
		}
		var out []core.Message
		for _, m := range day {
			if m.ID >= w.through[segment] && len(out) < limit {
				out = append(out, m)
			}
		}
		return store.Unwindowed{Segment: segment, Messages: out, Through: w.through[segment],
			Closed: w.closed[segment] && len(out) < limit}, nil
	}
	return store.Unwindowed{}, core.ErrNotFound
}

func (w *world) PutWindows(ctx context.Context, p store.PutWindows) error {
	if w.onPut != nil {
		if err := w.onPut(p); err != nil {
			return err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, win := range p.Windows {
		win.ID, win.Segment = core.WindowID(len(w.windows)+1), p.Segment
		w.windows = append(w.windows, win)
		e := store.Embeddable{Kind: core.VectorWindow, ID: int64(win.ID)}
		for _, m := range w.days[p.Segment-1] {
			if m.ID >= win.First && m.ID <= win.Last {
				e.Messages = append(e.Messages, m)
			}
		}
		w.items = append(w.items, &item{Embeddable: e, config: p.Config, state: core.EmbeddingPending})
	}
	w.through[p.Segment] = max(w.through[p.Segment], p.Through)
	day := w.days[p.Segment-1]
	w.done[p.Segment] = len(p.Read) == 0 || len(p.Windows) == 0 && day[len(day)-1].ID == p.Read[len(p.Read)-1].ID ||
		p.Through == day[len(day)-1].ID
	return ctx.Err()
}

func (w *world) PendingEmbeddings(ctx context.Context, _ core.UserID, config string,
	limit int) ([]store.Embeddable, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []store.Embeddable
	for _, it := range w.items {
		if it.state == core.EmbeddingPending && it.config == config && len(out) < limit {
			out = append(out, it.Embeddable)
		}
	}
	return out, ctx.Err()
}

func (w *world) PutVectors(ctx context.Context, _ core.UserID, config string, results []store.EmbeddingResult,
	_ time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range results {
		for _, it := range w.items {
			if it.Kind != r.Kind || it.ID != r.ID || it.Revision != r.Revision {
				continue
			}
			it.state, it.vector, it.cause, it.config, it.passages = core.EmbeddingReady, r.Vector, r.Error, config, r.Passages
			if r.Error != "" {
				it.state, it.config = core.EmbeddingError, r.Tried
			}
		}
	}
	return ctx.Err()
}

func (w *world) FailEmbeddings(_ context.Context, _ core.UserID, tried, reason string, _ time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, it := range w.items {
		if it.state == core.EmbeddingPending {
			it.state, it.cause, it.config = core.EmbeddingError, reason, "!"+tried
		}
	}
	return w.broken
}

func (w *world) RetryEmbeddings(_ context.Context, _ core.UserID, tried string, _ time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, it := range w.items {
		if it.state == core.EmbeddingError && it.config != tried {
			it.state, it.cause, it.config = core.EmbeddingPending, "", "c"
		}
	}
	return nil
}

func (w *world) Reembed(_ context.Context, _ core.UserID, config string, dry bool, _ time.Time) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, it := range w.items {
		if !dry {
			it.state, it.config, it.Revision = core.EmbeddingPending, config, it.Revision+1
		}
	}
	return len(w.items), w.broken
}

func (w *world) Enqueue(_ context.Context, jobs ...store.NewJob) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range jobs {
		if n.Unique && len(w.queue) > 0 && w.queue[len(w.queue)-1].State != store.JobRunning {
			continue
		}
		w.next++
		w.queue = append(w.queue, &store.Job{ID: w.next, User: n.User, Queue: n.Queue, Key: n.Key, Ref: n.Ref,
			State: store.JobReady, RunAt: n.RunAt})
	}
	return nil
}

func (w *world) Claim(_ context.Context, ref store.JobRef, c store.Claim) (*store.Job, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 || w.queue[0].ID != ref.ID || w.queue[0].State == store.JobRunning ||
		w.queue[0].RunAt.After(c.Now) {
		return nil, nil
	}
	j := w.queue[0]
	j.State, j.Worker = store.JobRunning, c.Worker
	j.Lease = core.Lease{Job: j.ID, Key: j.Key, Attempt: j.Lease.Attempt + 1, Until: c.Until}
	out := *j
	return &out, nil
}

func (w *world) Extend(context.Context, core.UserID, core.Lease, time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.extends++
	if w.onExtend != nil {
		return w.onExtend()
	}
	return nil
}

func (w *world) Finish(ctx context.Context, _ core.UserID, l core.Lease, cause string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue, w.ended = w.queue[1:], append(w.ended, cause)
	return nil
}

func (w *world) RetryJob(ctx context.Context, _ core.UserID, l core.Lease, at time.Time, cause string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue[0].State, w.queue[0].RunAt, w.queue[0].Error = store.JobReady, at, cause
	if cause != "" {
		w.queue[0].Failures++
	}
	return nil
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// states counts the items by state.
func (w *world) states() map[core.EmbeddingState]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[core.EmbeddingState]int{}
	for _, it := range w.items {
		out[it.state]++
	}
	return out
}

// provider is an embedder that calls do.
type provider struct {
	mu    sync.Mutex
	calls [][]string
	do    func(ctx context.Context, texts []string) ([][]float32, error) // nil: length, 1
}

func (p *provider) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	p.mu.Lock()
	p.calls = append(p.calls, texts)
	do := p.do
	p.mu.Unlock()
	if do != nil {
		return do(ctx, texts)
	}
	return lengths(texts), ctx.Err()
}

func lengths(texts []string) [][]float32 {
	var out [][]float32
	for _, text := range texts {
		out = append(out, []float32{float32(len(text)), 1})
	}
	return out
}

// byThrees cuts windows of three messages, each of which shares one with the window before.
func byThrees(messages []core.Message, closed bool) (out []store.TextWindow, through core.MessageID) {
	at := 0
	for ; at+3 <= len(messages); at += 2 {
		out = append(out, store.TextWindow{First: messages[at].ID, Last: messages[at+2].ID, Tokens: 3})
		through = messages[at+2].ID
	}
	if closed && len(messages) > 0 && messages[len(messages)-1].ID > through {
		out = append(out, store.TextWindow{First: messages[at].ID, Last: messages[len(messages)-1].ID})
		through = messages[len(messages)-1].ID
	}
	return out, through
}

func joined(messages []core.Message) string {
	var texts []string
	for _, m := range messages {
		if m.Text != "" {
			texts = append(texts, m.Text)
		}
	}
	return strings.Join(texts, " ")
}

// each returns a passage for each message.
func each(messages []core.Message) []store.Passage {
	var out []store.Passage
	for _, m := range messages {
		if m.Text != "" {
			out = append(out, store.Passage{Message: m.ID, To: len(m.Text), Text: m.Text})
		}
	}
	return out
}

// threes cuts windows of three messages with one passage each, or uses its functions.
type threes struct {
	cut      func(messages []core.Message, closed bool) ([]store.TextWindow, core.MessageID)
	passages func(messages []core.Message) []store.Passage
}

func (t threes) Cut(messages []core.Message, _ core.MessageID, closed bool) ([]store.TextWindow, core.MessageID) {
	if t.cut != nil {
		return t.cut(messages, closed)
	}
	return byThrees(messages, closed)
}

func (threes) Text(messages []core.Message) string { return joined(messages) }

func (t threes) Passages(messages []core.Message) []store.Passage {
	if t.passages != nil {
		return t.passages(messages)
	}
	return each(messages)
}

// worker returns a worker on w with p, and its log.
func worker(w *world, p *provider) (*Worker, *observer.ObservedLogs) {
	logs, seen := observer.New(zap.DebugLevel)
	return &Worker{
		Store: w, Embedders: fixed(p, "c"), Windows: threes{}, Meter: uncounted{},
		Log: zap.New(logs), Now: time.Now,
		Jobs: &job.Worker{Store: w, Name: "w", Lease: 30 * time.Second, Now: time.Now, Rand: func() float64 { return 0.5 },
			Log: zap.New(logs)},
	}, seen
}

// run enqueues a job, and runs it and its successors until none is due.
func (w *world) run(t *testing.T, wk *Worker) {
	t.Helper()
	if err := w.Enqueue(t.Context(), store.NewJob{User: ada, Queue: core.QueueEmbed, Key: core.EmbedKey, RunAt: wk.Now(),
		Unique: true}); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if len(w.queue) == 0 || w.queue[0].RunAt.After(wk.Now()) {
			return
		}
		wk.Take(t.Context(), store.JobRef{User: ada, ID: w.queue[0].ID, Queue: core.QueueEmbed, Key: core.EmbedKey})
	}
	t.Error("the job did not end")
}

// once enqueues a job and runs it once.
func (w *world) once(t *testing.T, wk *Worker) {
	t.Helper()
	if err := w.Enqueue(t.Context(), store.NewJob{User: ada, Queue: core.QueueEmbed, Key: core.EmbedKey,
		RunAt: wk.Now()}); err != nil {
		t.Fatal(err)
	}
	wk.Take(t.Context(), store.JobRef{User: ada, ID: w.queue[0].ID})
}

// fixed returns the same embedder for all users.
func fixed(e core.Embedder, config string) core.EmbedderOf {
	return func(context.Context, core.UserID) (core.Embedder, string, error) { return e, config, nil }
}

type uncounted struct{}

func (uncounted) Count(string, float64, ...string) {}

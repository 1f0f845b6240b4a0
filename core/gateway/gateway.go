// Package gateway is the main road: an adapter's message is stored, a turn
// answers it, and the answer is delivered. What is true after each step if the
// process dies there is a table in docs/architecture.md.
package gateway

import (
	"cmp"
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/day"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/markup"
	"github.com/everthread/everthread/core/words"
)

// Store is what the road needs of a store.
type Store interface {
	core.InboundStore
	core.RefStore
	core.TurnStore
	core.DeliveryStore
	core.JobStore
}

// People decides about senders that nobody knows yet.
type People interface {
	// Stranger handles a message of an unknown address. If the address is
	// somebody's from now on, known is true and the message is received again.
	Stranger(ctx context.Context, in core.Inbound) (known bool, err error)
	// ClaimOwner makes the address of a known person the owner's, if the message
	// brings the owner code; it is then received again.
	ClaimOwner(ctx context.Context, in core.Inbound, i core.Identity) (moved bool, err error)
	// User returns a user.
	User(ctx context.Context, id core.UserID) (core.User, error)
	// AskLinks asks the users of codes that were used; each once.
	AskLinks(ctx context.Context) error
	// Owner returns the owner, or core.ErrNotFound.
	Owner(ctx context.Context) (core.User, error)
	Identities
}

// Files are attachments, by their names.
type Files interface {
	Read(name string) ([]byte, error)
	Remove(names []string) error
}

// Commander answers slash commands. ok is false if the text is none.
type Commander interface {
	Command(ctx context.Context, u core.User, i core.Identity, in core.Inbound,
		now time.Time) (out core.Outcome, ok bool, err error)
	// Answers reports whether a text may answer a question: Command decides.
	Answers(text string) bool
}

// Prompter builds the prompt of a turn. ErrNotFound: nothing is left to answer.
type Prompter interface {
	Prompt(ctx context.Context, t *core.Turn, u core.User, now time.Time) (core.Prompt, error)
}

// Agent runs the model and its tools. onText is called with all the text of the
// answer so far.
type Agent interface {
	Answer(ctx context.Context, t *core.Turn, u core.User, p core.Prompt, onText func(string)) (core.Answer, error)
}

// Limiter bounds sending. Take reserves the next slot and says how long to wait
// for it; Push makes everybody wait.
type Limiter interface {
	Take(ctx context.Context, key string, every time.Duration, burst int, now time.Time) (time.Duration, error)
	Push(ctx context.Context, key string, until time.Time) error
}

// Meter counts and measures. Names and labels are those of docs/operations.md.
type Meter interface {
	Count(name string, n float64, labels ...string)
	Observe(name string, v float64, labels ...string)
}

// Budgets bounds turns by what they may take of the tokens of a day.
type Budgets interface {
	// Reserve is how many tokens are reserved for a turn of a user, and for one that
	// must do without tools, where there are no more.
	Reserve(s core.Settings) (full, least int)
	// Closed is until when nobody's turn begins, as the tokens of all are used up; zero:
	// they are not.
	Closed(s core.Settings) time.Time
}

// Tasks says what people are told of tasks of theirs that came to nothing.
type Tasks interface {
	// Late reports whether the turn of a task would begin later than tasks may.
	Late(t *core.Turn, now time.Time) bool
	// Failed is what is told of the turn of a task that failed, or began too late, and
	// what follows from that. server is what the model's server said, for its owner.
	Failed(ctx context.Context, u core.User, t *core.Turn, cause core.RunCause, server string,
		now time.Time) (core.Outcome, error)
	// When says when a task comes next, and how it recurs.
	When(k core.Task, language string) string
}

// Previews is told all that is written of an answer so far.
type Previews interface {
	Preview(t *core.Turn, soFar string)
}

// Settings are the numbers of the road; package configs has their defaults.
type Settings struct {
	Debounce       time.Duration
	GiveUpAfter    time.Duration
	Poll           time.Duration // the net under wake-ups
	TokensPerDay   int
	TurnsPerMinute int
	SummarizeAfter int
	Language       string // of users who chose none
	Speaks         bool   // answers can be spoken
	// LongestVoice is how long a voice note may be that is written down; 0: any.
	LongestVoice time.Duration
}

// Options are what a gateway is made of. All but Meter and Crash are required.
type Options struct {
	Store Store
	Wakes core.Waker
	// Jobs leases turns and deliveries.
	Jobs *job.Worker
	// Share is what this process takes first; nil: it takes everything.
	Share    func() core.Share
	Files    Files
	People   People
	Commands Commander
	Prompts  Prompter
	Agent    Agent
	Tasks    Tasks
	Calendar day.Calendar
	Limiter  Limiter
	Tokens   core.Tokenizer
	// Channels are those that this process serves; what they carry besides comes with them.
	Channels Channels
	// Slots are the turns that may run at once.
	Slots    job.Slots
	Settings Settings
	Budgets  Budgets  // nil: there is no bound
	Previews Previews // nil: nobody is told
	Meter    Meter
	Log      *zap.Logger
	Now      func() time.Time
	Rand     *rand.Rand // jitter of back-offs
	Crash    core.Crash
}

// Gateway runs the road. It implements core.Receiver.
type Gateway struct {
	Options
	planner  Planner
	work     sync.WaitGroup
	ctx      context.Context // of running turns and deliveries; set by Run
	halt     context.CancelFunc
	started  chan struct{}
	stopping atomic.Bool

	mu      sync.Mutex
	running map[turnKey]*running
	doing   map[jobKey]bool           // turns and deliveries
	unsure  map[core.UserID]time.Time // when a write of theirs failed that may have claimed some
	held    map[string]bool           // channels of one process that this one runs
	// reserved are slots of rates that were taken for the next delivery of an address.
	reserved map[core.Address]time.Time
	rnd      sync.Mutex
}

type turnKey struct {
	user core.UserID
	turn core.TurnID
}

type jobKey struct {
	user core.UserID
	job  core.JobID
}

var _ core.Receiver = (*Gateway)(nil)

// New returns a gateway. It receives at once, and works from Run on.
func New(o Options) *Gateway {
	if o.Meter == nil {
		o.Meter = noMeter{}
	}
	return &Gateway{Options: o, planner: Planner{People: o.People, Channels: o.Channels, Now: o.Now},
		started: make(chan struct{}), running: map[turnKey]*running{}, doing: map[jobKey]bool{},
		unsure:   map[core.UserID]time.Time{},
		reserved: map[core.Address]time.Time{}, held: map[string]bool{}}
}

// Run takes turns and deliveries until ctx ends, then lets what runs
// finish for at most grace, and hands back the rest.
func (g *Gateway) Run(ctx context.Context, grace time.Duration) error {
	g.ctx, g.halt = context.WithCancel(context.WithoutCancel(ctx))
	defer g.halt()
	close(g.started)
	defer context.AfterFunc(ctx, func() { // whatever waits for a service gets this long
		g.stopping.Store(true)
		time.AfterFunc(grace, g.halt)
	})()
	deliver := g.queues()
	runners := []*job.Runner{
		g.runner([]string{core.QueueTurn}, cap(g.Slots), g.takeTurn, g.Share),
		g.runner(deliver, 256, g.takeDelivery, g.Share),
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { g.dispatch(ctx, runners); return nil })
	for _, r := range runners {
		group.Go(func() error { return r.Run(ctx) })
	}
	err := group.Wait()
	g.drain(grace)
	return err
}

func (g *Gateway) queues() (deliver []string) {
	for name := range g.Channels {
		if !g.Channels.Capabilities(name).OneProcess {
			deliver = append(deliver, core.QueueDeliver+name)
		}
	}
	return deliver
}

// Deliver takes the deliveries of channels that only one process may send on,
// until ctx ends: it is for the process that runs them. It begins once Run has.
func (g *Gateway) Deliver(ctx context.Context, channels ...string) error {
	select {
	case <-g.started:
	case <-ctx.Done():
		return nil
	}
	var queues []string
	for _, name := range channels {
		queues = append(queues, core.QueueDeliver+name)
	}
	g.hold(channels, true)
	defer g.hold(channels, false)
	r := g.runner(queues, 64, g.takeDelivery, nil) // nobody else may send there
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { g.dispatch(ctx, []*job.Runner{r}); return nil })
	group.Go(func() error { return r.Run(ctx) })
	return group.Wait()
}

func (g *Gateway) hold(channels []string, held bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, name := range channels {
		g.held[name] = held
	}
}

// sends reports whether this process may send on a channel now.
func (g *Gateway) sends(channel string) bool {
	if g.Channels[channel] == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.Channels.Capabilities(channel).OneProcess || g.held[channel]
}

func (g *Gateway) runner(queues []string, workers int, take func(context.Context, core.JobRef),
	share func() core.Share) *job.Runner {
	return &job.Runner{Jobs: g.Store, Queues: queues, Workers: workers, Share: share, Take: take, Poll: g.Settings.Poll,
		Now: g.Now, Log: g.Log}
}

// dispatch passes wake-ups to those they concern.
func (g *Gateway) dispatch(ctx context.Context, runners []*job.Runner) {
	for topic := range g.Wakes.Wakes(ctx) {
		for _, r := range runners {
			r.Wake(topic)
		}
		g.flagged(topic)
	}
}

// drain waits for running work, and interrupts what is not done in time: an
// interrupted turn is handed back.
func (g *Gateway) drain(grace time.Duration) {
	done := make(chan struct{})
	go func() { g.work.Wait(); close(done) }()
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
		g.halt()
		<-done
	}
}

// budget bounds the next turn of a user.
func (g *Gateway) budget(s core.Settings, now time.Time) core.Budget {
	b := core.Budget{TokensPerDay: g.Settings.TokensPerDay, TurnsPerMinute: g.Settings.TurnsPerMinute}
	if g.Budgets == nil {
		return b
	}
	b.Closed = g.Budgets.Closed(s)
	if b.TokensPerDay > 0 {
		d := g.Calendar.Day(s, now)
		b.Reserve, b.Least = g.Budgets.Reserve(s)
		b.Day, b.NextDay = d.Label, d.End
	}
	return b
}

func (g *Gateway) language(s core.Settings) string {
	return cmp.Or(s.Language, g.Settings.Language)
}

// languageOf is the language of a user; of one who cannot be read just now, the
// gateway's.
func (g *Gateway) languageOf(ctx context.Context, user core.UserID) string {
	u, err := g.People.User(ctx, user)
	if err != nil {
		return g.Settings.Language
	}
	return g.language(u.Settings)
}

// parts renders Markdown for a channel. Where a part may have to be sent again
// each leaves room for the mark of a repeat.
func (g *Gateway) parts(markdown, channel string) []core.Part {
	return markup.Parts(markdown, g.room(channel))
}

// room is what fits into a part of a channel.
func (g *Gateway) room(channel string) core.Capabilities {
	c := g.Channels.Capabilities(channel)
	if c.MaxText > 0 && !c.Idempotent {
		mark := 0
		for _, language := range words.Languages() {
			mark = max(mark, len("\n\n"+say(language).Repeat)) // in bytes: no unit makes it longer
		}
		c.MaxText = max(c.MaxText-mark, 1)
	}
	return c
}

// jitter is d, give or take a fifth.
func (g *Gateway) jitter(d time.Duration) time.Duration {
	g.rnd.Lock()
	defer g.rnd.Unlock()
	return time.Duration(float64(d) * (0.8 + 0.4*g.Rand.Float64()))
}

type noMeter struct{}

// Count counts nothing.
func (noMeter) Count(string, float64, ...string) {}

// Observe observes nothing.
func (noMeter) Observe(string, float64, ...string) {}

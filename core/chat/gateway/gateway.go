// Package gateway takes a message from channel to reply: it stores the message, runs the turn that answers it, and
// delivers the answer. A table in docs/architecture.md states what holds if the process dies after any step.
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
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text/day"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/text/markup"
)

// Store is the part of a store that the gateway uses.
type Store interface {
	store.InboundStore
	store.RefStore
	store.SpeakerStore
	store.TurnStore
	store.DeliveryStore
	store.JobStore
	Approvals(ctx context.Context, user core.UserID, before core.ApprovalID, limit int) ([]effect.Approval, error)
}

// People decides about unknown senders, and reads users.
type People interface {
	// Stranger handles a message from an unknown address. It returns true if the address
	// has a user from now on; the caller then receives the message again.
	Stranger(ctx context.Context, in core.Inbound) (known bool, err error)
	// ClaimOwner moves the address of a known user to the owner if the message contains
	// the owner code; the caller then receives the message again.
	ClaimOwner(ctx context.Context, in core.Inbound, i core.Identity) (moved bool, err error)
	// User returns a user.
	User(ctx context.Context, id core.UserID) (core.User, error)
	// AskLinks asks users, once per code, whether an address that used their code is theirs.
	AskLinks(ctx context.Context) error
	// Owner returns the owner, or core.ErrNotFound.
	Owner(ctx context.Context) (core.User, error)
	// Group handles an event of a group that nobody approved yet. It returns true if it is a user from now on; the caller
	// then receives the event again.
	Group(ctx context.Context, in core.Inbound) (known bool, err error)
	Identities
}

// Files reads and removes attachments, by their names.
type Files interface {
	Read(name string) ([]byte, error)
	Remove(names []string) error
}

// Commander answers slash commands.
type Commander interface {
	// Command runs the command in a message; ok is false if there is none.
	Command(ctx context.Context, u core.User, i core.Identity, in core.Inbound,
		now time.Time) (out core.Outcome, ok bool, err error)
	// Answers reports whether a text may answer a question; Command decides whether it does.
	Answers(text string) bool
}

// Prompter builds the prompt of a turn. It returns core.ErrNotFound if nothing is left to answer.
type Prompter interface {
	Prompt(ctx context.Context, t *core.Turn, u core.User, now time.Time) (store.Prompt, error)
}

// Agent runs the model and its tools.
type Agent interface {
	// Answer answers a prompt.
	Answer(ctx context.Context, t *core.Turn, u core.User, p store.Prompt, on core.Progress) (core.Answer, error)
}

// Limiter bounds the rate of sending. Take reserves the next slot and returns the wait for
// it; Push blocks a key until a time.
type Limiter interface {
	Take(ctx context.Context, key string, every time.Duration, burst int, now time.Time) (time.Duration, error)
	Push(ctx context.Context, key string, until time.Time) error
}

// Meter counts and measures. Names and labels are those of docs/operations.md.
type Meter interface {
	Count(name string, n float64, labels ...string)
	Observe(name string, v float64, labels ...string)
}

// Budgets bounds the tokens of a day that turns may use.
type Budgets interface {
	// Reserve returns the tokens to reserve for a turn of a user, and the fewest with which it may run, without tools.
	Reserve(s core.Settings) (full, least int)
	// Closed returns until when no turn begins because the tokens of all users are used up; zero: they are not.
	Closed(s core.Settings) time.Time
}

// Tasks reports on tasks that were not done.
type Tasks interface {
	// Late reports whether it is too late to begin the turn of a task.
	Late(t *core.Turn, now time.Time) bool
	// Failed returns the message about a task's turn that failed or began too late, and
	// its effects. server is the error of the model's server; empty for members.
	Failed(ctx context.Context, u core.User, t *core.Turn, cause core.RunCause, server string,
		now time.Time) (core.Outcome, error)
	// When describes the next time of a task and its recurrence.
	When(k core.Plan, language string) string
}

// Previews receives the whole answer so far, each time it grows.
type Previews interface {
	// Followed reports whether somebody sees previews of a user's answers.
	Followed(user core.UserID) bool
	Preview(t *core.Turn, soFar string)
}

// Summaries runs summaries that this process claims with the reply that makes them due.
type Summaries interface {
	// Free reports whether a summary would begin immediately.
	Free() bool
	// Begin runs a claimed summary.
	Begin(j *store.Job)
}

// Settings configure a gateway; package configs has their defaults.
type Settings struct {
	Debounce       time.Duration
	Join           time.Duration // after the start of a turn, in which later messages join it
	GiveUpAfter    time.Duration
	Poll           time.Duration // in case a wake-up is lost
	TokensPerDay   core.DailyTokens
	TurnsPerMinute int
	SummarizeAfter int
	Language       string // of users who chose none
	Speaks         bool   // answers can be spoken
	Groups         Groups
	// LongestVoice bounds the voice notes that are transcribed; 0: no bound.
	LongestVoice time.Duration
}

// Options are the dependencies of a gateway. All are required unless they say otherwise.
type Options struct {
	Store Store
	Wakes store.Waker
	// Jobs leases turns and deliveries.
	Jobs *job.Worker
	// Share returns the users whose work this process takes first; nil: it takes everything.
	Share    func() store.Share
	Files    Files
	People   People
	Commands Commander
	Prompts  Prompter
	Agent    Agent
	Tasks    Tasks
	Calendar day.Calendar
	Limiter  Limiter
	Tokens   core.Tokenizer
	Channels Channels  // that this process serves
	Slots    job.Slots // bounds the turns that run at the same time
	Settings Settings
	Budgets  Budgets  // nil: there is no bound
	Previews Previews // nil: there are no previews
	// Summaries writes summaries with the conversation in this process's memory; nil: they wait for any process.
	Summaries Summaries
	Meter     Meter // nil: nothing is counted
	Log       *zap.Logger
	Now       func() time.Time
	Rand      *rand.Rand // jitter of back-offs
	Crash     core.Crash // nil outside tests
}

// Gateway implements core.Receiver, and runs turns and deliveries.
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
	doing   map[jobKey]bool           // turns and deliveries that this process works on
	unsure  map[core.UserID]time.Time // of the last failed write that may have claimed a job
	held    map[string]bool           // OneProcess channels that this process runs
	// arriving holds the events of groups that wait while earlier ones of the same group are stored.
	arriving map[core.Address][]arrival
	// reserved holds the slots of an address's rate that were taken for later deliveries to it.
	reserved map[core.Address][]time.Time
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

// New returns a gateway. It can receive immediately; turns and deliveries wait for Run.
func New(o Options) *Gateway {
	if o.Meter == nil {
		o.Meter = noMeter{}
	}
	return &Gateway{Options: o, planner: Planner{People: o.People, Channels: o.Channels, Now: o.Now},
		started: make(chan struct{}), running: map[turnKey]*running{}, doing: map[jobKey]bool{},
		unsure: map[core.UserID]time.Time{}, arriving: map[core.Address][]arrival{},
		reserved: map[core.Address][]time.Time{}, held: map[string]bool{}}
}

// Run takes turns and deliveries until ctx ends. Running ones then have grace to finish; the rest is handed back.
func (g *Gateway) Run(ctx context.Context, grace time.Duration) error {
	g.ctx, g.halt = context.WithCancel(context.WithoutCancel(ctx))
	defer g.halt()
	close(g.started)
	defer context.AfterFunc(ctx, func() { // calls to services end after grace, too
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

// Deliver takes the deliveries of OneProcess channels until ctx ends. Only the process
// that runs these channels calls it. It starts once Run has started.
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
	r := g.runner(queues, 64, g.takeDelivery, nil) // no share: no other process may send there
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

func (g *Gateway) runner(queues []string, workers int, take func(context.Context, store.JobRef),
	share func() store.Share) *job.Runner {
	return &job.Runner{Jobs: g.Store, Queues: queues, Workers: workers, Share: share, Take: take, Poll: g.Settings.Poll,
		Now: g.Now, Log: g.Log}
}

// dispatch passes wake-ups to the runners and to running turns.
func (g *Gateway) dispatch(ctx context.Context, runners []*job.Runner) {
	for topic := range g.Wakes.Wakes(ctx) {
		for _, r := range runners {
			r.Wake(topic)
		}
		g.flagged(topic)
	}
}

// drain waits for running work, and interrupts it after grace: an interrupted turn is handed back.
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

// budget returns the bounds of a user's next turn.
func (g *Gateway) budget(u core.User, now time.Time) store.Budget {
	s := u.Settings
	b := store.Budget{TokensPerDay: g.Settings.TokensPerDay.Of(u), TurnsPerMinute: g.Settings.TurnsPerMinute}
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

// languageOf returns the language of a user, or the gateway's if the user cannot be read.
func (g *Gateway) languageOf(ctx context.Context, user core.UserID) string {
	u, err := g.People.User(ctx, user)
	if err != nil {
		return g.Settings.Language
	}
	return g.language(u.Settings)
}

// parts renders Markdown for a channel.
func (g *Gateway) parts(markdown, channel string) []core.Part {
	return markup.Parts(markdown, g.room(channel))
}

// room returns the capabilities of a channel, with the largest text of a part reduced by
// the mark of a repeat where parts may be sent twice.
func (g *Gateway) room(channel string) core.Capabilities {
	c := g.Channels.Capabilities(channel)
	if c.MaxText > 0 && !c.Idempotent {
		mark := 0
		for _, language := range i18n.Languages() {
			mark = max(mark, len("\n\n"+say(language).Repeat)) // bytes: an upper bound in any unit
		}
		c.MaxText = max(c.MaxText-mark, 1)
	}
	return c
}

// jitter returns d, give or take a fifth.
func (g *Gateway) jitter(d time.Duration) time.Duration {
	g.rnd.Lock()
	defer g.rnd.Unlock()
	return time.Duration(float64(d) * (0.8 + 0.4*g.Rand.Float64()))
}

// noMeter measures nothing.
type noMeter struct{}

// Count does nothing.
func (noMeter) Count(string, float64, ...string) {}

// Observe does nothing.
func (noMeter) Observe(string, float64, ...string) {}

// Channels holds the channels of a process and those that they carry, by name. It implements core.Channels.
type Channels map[string]core.Channel

// NewChannels returns the channels of a list and those that they carry.
func NewChannels(list ...core.Channel) Channels {
	out := Channels{}
	for _, c := range list {
		out[c.Name()] = c
		if carrier, ok := c.(core.Carrier); ok {
			for _, other := range carrier.Carries() {
				out[other.Name()] = other
			}
		}
	}
	return out
}

// Capabilities returns those of a channel; none if the channel is unknown.
func (c Channels) Capabilities(channel string) core.Capabilities {
	if d, ok := c[channel].(core.Describer); ok {
		return d.Capabilities()
	}
	return core.Capabilities{}
}

// say returns the gateway's texts in a language.
var say = i18n.In[texts]("gateway")

// texts are the messages of the gateway itself to people.
type texts struct {
	GaveUp                         string
	GaveUpOwner                    string // %s: what the model's server said
	GaveUpSetup                    string
	GaveUpRefused, GaveUpDropped   string
	GaveUpThought, GaveUpEmpty     string
	GaveUpThoughtOwner             string
	MembersUnanswered              string // %s: what the model's server said
	NotDelivered, NotReached       string // %s: where, what
	Budget                         string // %s: when it goes on
	Group, OpenRoom, PlainInSecret string
	Refused                        string
	VoiceLong                      string // %s: minutes and seconds
	VoiceSilent, VoiceFailed       string
	File                           string // what stands for the name of a file without one
	FileLarge, FileGone, FileRoom  string // %s: the name of a file
	FileFailed, FileComing         string // likewise
	Repeat                         string // what ends a part that may have arrived before
	AskCall                        string // %s: the tool
	AskTainted, AskYes, AskNowhere string
	AskCode                        string // %s: the code of the question, twice
	AskLonger                      string // %s: the code
	AskElsewhere                   string // %s: where
	AskFrom                        string // %s: the program or file
	AskAlways                      string // %s: what is proposed
	AskAlwaysYes                   string
	AskTask                        string // %s: what is proposed, and when
	AskTaskYes                     string
	ToldTask                       string // %s: what, when; %d: its number
	AskByName                      string // %s: the code of the question, twice
	DecidedYes, DecidedNo          string // what a yes or no is stored as

	ToldTitle                               string
	ToldItem, ToldLoop, ToldReminder        string // %s: its text
	ToldArchived, ToldClosed, ToldCancelled string // %s: its text
	ToldUndo, ToldButton                    string // %d: its number
	ToldCut                                 string // %d: how much of a hundred
	ToldInstead                             string // %s, %s: the model that was chosen, and the one that answered
	ToldSearched                            string // %s: the words
}

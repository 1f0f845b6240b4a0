// Package storetest is the conformance suite of store.Store, which every engine passes. Each case is
// named as a sentence of the contract, and after each one Check verifies the invariants of the raw
// tables.
package storetest

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/internal/fulltest"
)

// Store is a store under test, with access to its tables.
type Store interface {
	store.Store
	// DB returns the writing pool.
	DB() *sql.DB
	// Commits returns the number of committed writing transactions.
	Commits() int64
	// Trace passes every statement to f before it runs.
	Trace(f func(query string, args []any))
	// Analyze makes the store keep a full-text index.
	Analyze(a core.Analyzer)
	// Listen relays wake-ups of other processes until ctx ends.
	Listen(ctx context.Context) error
}

// Open creates an empty, migrated database that is removed with the test, and returns a function
// that opens stores on it, which are closed with the test.
type Open func(t testing.TB) (store func() Store)

// testCase is one case; its name is a sentence of the contract.
type testCase struct {
	name string
	run  func(b *bench)
}

// Test runs the suite, and then explains every statement that it ran.
func Test(t *testing.T, open Open) {
	ran := &statements{all: map[string][]any{}}
	t.Run("contract", func(t *testing.T) {
		testContract(t, func(t testing.TB) func() Store {
			store := open(t)
			return func() Store {
				s := store()
				s.Trace(ran.note)
				s.Analyze(words{"1"})
				return s
			}
		})
	})
	t.Run("plans", func(t *testing.T) { testPlans(t, open, ran) })
	t.Run("users", func(t *testing.T) { testUsersNamed(t, ran, !fulltest.Named()) })
}

// TestSpread runs the suite on a store whose users are distributed over servers. It checks no
// plans, as each server makes its own.
func TestSpread(t *testing.T, open Open) {
	testContract(t, func(t testing.TB) func() Store {
		store := open(t)
		return func() Store {
			s := store()
			s.Analyze(words{"1"})
			return s
		}
	})
}

func testContract(t *testing.T, open Open) {
	cases := slices.Concat(roadCases(), inboundCases(), editCases(), redactionCases(), turnCases(), answerCases(),
		askCases(), windowCases(), deliveryCases(), receiptCases(), troubleCases(), jobCases(), dayCases(),
		summaryCases(), noteCases(), peopleCases(), keepCases(), wakeCases(), isolationCases(), recallCases(),
		embeddingCases(), memoryCases(), standingCases(), reminderCases(), taskCases(),
		linkCases(), mergeCases(), webCases(), serviceCases(), clientCases(),
		timelineCases(), importCases(), pageCases(), approvalCases(), auditCases(), documentCases(), speechCases(),
		userCases(), failingCases(), quoteCases(), placeCases(), tableCases())
	for _, c := range cases {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, open)
			c.run(b)
			Check(t, b.DB())
		})
	}
	t.Run("random", func(t *testing.T) { t.Parallel(); testMachine(t, open) })
	t.Run("together", func(t *testing.T) { t.Parallel(); testTogether(t, open) })
}

// start returns the time at which every test begins.
func start() time.Time { return time.Date(2026, 11, 19, 9, 0, 0, 0, time.UTC) }

// bench is a store with a user.
type bench struct {
	Store
	open func() Store // another store on the same database
	t    testing.TB
	ctx  context.Context
	user core.User
	at   core.Identity
	now  time.Time
	n    int
}

func newBench(t testing.TB, open Open) *bench {
	stores := open(t)
	b := &bench{Store: stores(), open: stores, t: t, ctx: t.Context(), now: start()}
	b.user, b.at = b.person("Ada", core.RoleOwner, "111")
	return b
}

// person creates a user with one Telegram identity.
func (b *bench) person(name string, role core.UserRole, external string) (core.User, core.Identity) {
	b.t.Helper()
	u := one(b, b.AddUser, core.User{Name: name, Role: role, CreatedAt: b.now})
	return u, b.identity(u.ID, name, external)
}

// identity adds an identity to a user.
func (b *bench) identity(user core.UserID, name, external string) core.Identity {
	b.t.Helper()
	return one(b, b.AddIdentity, core.Identity{User: user, Name: name, LastUsed: b.now,
		Address: core.Address{Channel: "telegram", Account: "42", External: external}})
}

// as returns the bench for another user.
func (b *bench) as(u core.User, i core.Identity) *bench {
	other := *b
	other.user, other.at, other.n = u, i, 1000*int(i.User)+100*int(i.ID)
	return &other
}

// one returns the result of a method that must not fail.
func one[A, R any](b *bench, f func(context.Context, A) (R, error), a A) R {
	b.t.Helper()
	r, err := f(b.ctx, a)
	b.must(err)
	return r
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// equal compares got with want.
func equal[T comparable](b *bench, what string, got, want T) {
	b.t.Helper()
	if got != want {
		b.t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// inbound returns a message of the bench's user with its event.
func (b *bench) inbound(text string) (core.Inbound, core.NewMessage) {
	b.n++
	id := fmt.Sprintf("m%d-%d", b.at.User, b.n)
	return core.Inbound{Address: b.at.Address, EventID: id, Kind: core.InMessage, NativeID: id, Text: text, SentAt: b.now,
			Raw: []byte(`{"t":"` + text + `"}`)},
		core.NewMessage{Role: core.RoleUser, Kind: core.KindChat, Text: text, Tokens: len(text)/4 + 1,
			SentAt: b.now, Day: dayOf(b.now)}
}

func dayOf(t time.Time) core.Day { return dayIn(t, time.UTC) }

// dayIn returns the day of t in a zone.
func dayIn(t time.Time, zone *time.Location) core.Day {
	t = t.In(zone)
	s := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, zone)
	e := s.AddDate(0, 0, 1)
	return core.Day{Label: s.Format(time.DateOnly), Zone: zone.String(), Start: s, End: e, Finalize: e.Add(3 * time.Hour),
		Post: e.Add(8 * time.Hour)}
}

func (b *bench) claim() store.Claim {
	return store.Claim{Worker: "w1", Now: b.now, Until: b.now.Add(time.Minute)}
}

// batch returns an Append of messages with these texts.
func (b *bench) batch(claim bool, texts ...string) store.Append {
	a := store.Append{User: b.user.ID, Identity: b.at.ID, Now: b.now, RunAt: b.now}
	for _, text := range texts {
		e, m := b.inbound(text)
		a.Events, a.Messages = append(a.Events, e), append(a.Messages, m)
	}
	if claim {
		c := b.claim()
		a.Claim = &c
	}
	return a
}

// say appends messages; with claim, their turn is claimed in the same call.
func (b *bench) say(claim bool, texts ...string) store.Appended {
	b.t.Helper()
	return one(b, b.Append, b.batch(claim, texts...))
}

// turn appends a message and claims its turn.
func (b *bench) turn(texts ...string) *core.Turn {
	b.t.Helper()
	out := b.say(true, texts...)
	if out.Turn == nil {
		b.t.Fatalf("got no turn for %q: %+v", texts, out)
	}
	return out.Turn
}

// reply returns a reply with one delivery of these parts.
func (b *bench) reply(t *core.Turn, parts ...string) store.Reply {
	text := strings.Join(parts, " ")
	d := core.NewDelivery{To: t.Address, Identity: t.Identity, Kind: core.DeliverReply}
	for _, p := range parts {
		d.Parts = append(d.Parts, core.Part{Text: p})
	}
	return store.Reply{Turn: t, State: core.TurnDone, Now: b.now, Day: dayOf(b.now).Label,
		Snapshot:   &store.Snapshot{Strategy: "continuous"},
		Messages:   []core.NewMessage{{Role: core.RoleAssistant, Kind: core.KindChat, Text: text, Tokens: 5, SentAt: b.now}},
		Deliveries: []core.NewDelivery{d}}
}

// answer commits a reply to a turn; its delivery is claimed.
func (b *bench) answer(t *core.Turn, parts ...string) store.Committed {
	b.t.Helper()
	c := b.claim()
	out, err := b.Commit(b.ctx, b.reply(t, parts...), &c)
	b.must(err)
	return out
}

// sent confirms all parts of a claimed delivery.
func (b *bench) sent(d *core.Delivery) {
	b.t.Helper()
	for n, p := range d.Parts {
		if p.State != core.DeliverySending && p.State != core.DeliveryUnknown {
			continue
		}
		_, err := b.FinishPart(b.ctx, d, n, store.PartResult{State: core.DeliverySent,
			Receipt: core.Receipt{NativeID: fmt.Sprintf("n%d-%d", d.ID, n)}}, b.now)
		b.must(err)
	}
}

// exchange runs a complete turn, and returns the ids of its input and its reply.
func (b *bench) exchange(question, answer string) (core.MessageID, core.MessageID) {
	b.t.Helper()
	t := b.turn(question)
	out := b.answer(t, answer)
	b.sent(out.Delivery)
	b.now = b.now.Add(time.Millisecond)
	return t.Inputs[0], out.Messages[0]
}

const (
	turns      = core.QueueTurn
	deliveries = core.QueueDeliver + "telegram"
)

// due lists the due jobs.
func (b *bench) due(queues ...string) []store.JobRef {
	b.t.Helper()
	refs, _, err := b.Due(b.ctx, queues, b.now, 100, store.Share{})
	b.must(err)
	return refs
}

// only returns the only due job of a queue.
func (b *bench) only(queue string) store.JobRef {
	b.t.Helper()
	refs := b.due(queue)
	if len(refs) != 1 {
		b.t.Fatalf("got %d due jobs of %s, want 1: %v", len(refs), queue, refs)
	}
	return refs[0]
}

// take claims the only due turn.
func (b *bench) take() *core.Turn {
	b.t.Helper()
	turn, _, err := b.ClaimTurn(b.ctx, b.only(turns), b.claim(), store.Budget{})
	b.must(err)
	return turn
}

// takeDelivery claims the only due delivery.
func (b *bench) takeDelivery() *core.Delivery {
	b.t.Helper()
	d, err := b.ClaimDelivery(b.ctx, b.only(deliveries), b.claim())
	b.must(err)
	return d
}

// effects applies effects in a note.
func (b *bench) effects(effects ...core.Effect) store.Noted {
	b.t.Helper()
	return one(b, b.Note, store.Note{User: b.user.ID, Identity: b.at.ID, Effects: effects, Now: b.now})
}

// texts lists the texts of a thread in the order of display.
func (b *bench) texts() []string {
	b.t.Helper()
	h, err := b.History(b.ctx, b.user.ID, 0, 0, 1000)
	b.must(err)
	var out []string
	for _, m := range h {
		out = append(out, m.Text)
	}
	return out
}

func (b *bench) wantTexts(want ...string) {
	b.t.Helper()
	if got := b.texts(); !slices.Equal(got, want) {
		b.t.Errorf("got transcript %q, want %q", got, want)
	}
}

// message reads one message.
func (b *bench) message(id core.MessageID) core.Message {
	b.t.Helper()
	ms, err := b.Messages(b.ctx, b.user.ID, []core.MessageID{id})
	b.must(err)
	if len(ms) != 1 {
		b.t.Fatalf("got %d messages #%d", len(ms), id)
	}
	return ms[0]
}

// query returns a window query without tight bounds.
func query() store.WindowQuery { return store.WindowQuery{Tokens: 100_000, Limit: 1000} }

func roadCases() []testCase {
	return []testCase{{"a message is answered in three commits", func(b *bench) {
		before := b.Commits()
		out := b.say(true, "hello", "are you there?")
		if out.Turn == nil || len(out.Turn.Inputs) != 2 {
			b.t.Fatalf("got %+v, want a claimed turn with two inputs", out)
		}
		w, err := b.Window(b.ctx, out.Turn, query())
		b.must(err)
		equal(b, "messages", len(w.Messages), 2)
		equal(b, "segment", w.Today.ID, out.Turn.Segment)
		done := b.answer(out.Turn, "yes")
		if done.Delivery == nil || done.Delivery.Parts[0].State != core.DeliverySending {
			b.t.Fatalf("got %+v, want a claimed delivery", done)
		}
		b.sent(done.Delivery)
		equal(b, "commits", b.Commits()-before, 3)
		equal(b, "due jobs", len(b.due(turns, deliveries)), 0)
		b.wantTexts("hello", "are you there?", "yes")
	}}, {"with a debounce a message is answered in four commits", func(b *bench) {
		before := b.Commits()
		a := b.batch(false, "hello")
		a.RunAt = b.now.Add(time.Second)
		one(b, b.Append, a)
		b.now = b.now.Add(time.Second)
		b.sent(b.answer(b.take(), "yes").Delivery)
		equal(b, "commits", b.Commits()-before, 4)
	}}}
}

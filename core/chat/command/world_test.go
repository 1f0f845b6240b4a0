package command_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the zones, on every system

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/command"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/memory/items"
	"github.com/everthread/everthread/core/memory/standing"
	"github.com/everthread/everthread/core/plan"
	"github.com/everthread/everthread/core/search"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/store/sqlite"
	"github.com/everthread/everthread/core/store/sqlite/sqlitetest"
	"github.com/everthread/everthread/core/text/day"
	"github.com/everthread/everthread/core/trust"
)

// morning is Thursday 19 November 2026, 09:00 in Paris.
func morning() time.Time { return time.Date(2026, 11, 19, 8, 0, 0, 0, time.UTC) }

// world is an embedded store with users, and commands over it.
type world struct {
	*sqlite.Store
	t        testing.TB
	dir      string
	ctx      context.Context
	now      time.Time
	options  command.Options
	language string
	ada, bo  core.Address // the owner and a member
	n        int
	quote    *core.Quote  // the message that the next command replies to
	budget   store.Budget // of claimed turns
}

func newWorld(t testing.TB, language string) *world {
	dir := t.TempDir()
	s := sqlitetest.Open(t, dir)
	w := &world{Store: s, t: t, dir: dir, ctx: context.WithoutCancel(t.Context()), now: morning(), language: language}
	w.options = command.Options{
		Models: func(core.UserID) []core.ModelChoice { return []core.ModelChoice{{Model: "gpt-5_x"}} },
		Store:  s, Calendar: calendar(), Channels: telegram{}, Ahead: ahead(""), Services: &services{},
		Search: &finder{w, "fts"}, Memory: &items.Memory{Store: s, Signals: &finder{w, "fts"}},
		Plans: &plan.Plans{Store: s, Settings: plan.Settings{MaxTasks: 2, Language: "en"}},
		Standing: &standing.Standing{Store: s, Tokens: tokens.New(),
			Settings: standing.Settings{MaxActive: 3, MaxTokens: 200}},
		Defaults: command.Defaults{Language: "en", PostForward: "home"}}
	w.ada = w.person("Ada", core.RoleOwner, "telegram", "111")
	w.bo = w.person("Bo", core.RoleMember, "telegram", "222")
	return w
}

// ahead is what everybody has ahead.
type ahead string

func (a ahead) Show(context.Context, core.User, time.Time) (string, bool, error) {
	return string(a), a != "", nil
}

// services are those that everybody may connect; of those in unsure the end is not confirmed.
type services struct {
	now    time.Time
	all    []store.Service
	unsure string
}

func (s *services) Of(context.Context, core.User) ([]store.Service, error) { return s.all, nil }

func (s *services) Link(u core.User, name string) (string, effect.Code, error) {
	return "ABCD", effect.Code{Kind: effect.CodeConnect, Hash: trust.CodeHash("ABCD"), User: u.ID, Name: name,
		Expires: s.now.Add(10 * time.Minute)}, nil
}

func (s *services) Disconnect(_ context.Context, _ core.User, name string) (bool, error) {
	for i := range s.all {
		if s.all[i].Name == name && !s.all[i].Since.IsZero() {
			s.all[i].Since = time.Time{}
			return name != s.unsure, nil
		}
	}
	return false, core.ErrNotFound
}

func calendar() day.Calendar {
	paris, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		panic(err)
	}
	return day.Calendar{Zone: paris, Finalize: 3 * time.Hour, Post: 8 * time.Hour}
}

func dayOf(s core.Settings, t time.Time) core.Day { return calendar().Day(s, t) }

// telegram makes Telegram the only channel for unprompted messages.
type telegram struct{}

func (telegram) Capabilities(channel string) core.Capabilities {
	return core.Capabilities{Push: channel == "telegram"}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) person(name string, role core.UserRole, channel, external string) core.Address {
	w.t.Helper()
	u, err := w.AddUser(w.ctx, core.User{Name: name, Role: role, Settings: core.Settings{Language: w.language},
		CreatedAt: w.now})
	must(w.t, err)
	a := core.Address{Channel: channel, Account: "42", External: external}
	_, err = w.AddIdentity(w.ctx, core.Identity{User: u.ID, Name: name, Address: a, LastUsed: w.now})
	must(w.t, err)
	return a
}

func (w *world) identify(a core.Address) (core.Identity, core.User) {
	w.t.Helper()
	i, u, err := w.Identify(w.ctx, a)
	must(w.t, err)
	return i, u
}

func (w *world) event(a core.Address, text string) core.Inbound {
	w.n++
	id := fmt.Sprintf("m%d", w.n)
	return core.Inbound{Address: a, EventID: id, NativeID: id, Kind: core.InMessage, Text: text, SentAt: w.now,
		ReceivedAt: w.now, Raw: []byte(text)}
}

// say appends a message, and with claim also claims its turn.
func (w *world) say(a core.Address, text string, claim bool) store.Appended {
	w.t.Helper()
	i, u := w.identify(a)
	e := w.event(a, text)
	in := store.Append{User: u.ID, Identity: i.ID, Events: []core.Inbound{e}, Now: w.now, RunAt: w.now,
		Paused: u.Settings.Paused, Budget: w.budget, Messages: []core.NewMessage{{Role: core.RoleUser, Kind: core.KindChat,
			Text: text, Tokens: 5, SentAt: w.now, Day: dayOf(u.Settings, w.now)}}}
	if claim {
		in.Claim = &store.Claim{Worker: "w", Now: w.now, Until: w.now.Add(time.Minute)}
	}
	out, err := w.Append(w.ctx, in)
	must(w.t, err)
	return out
}

// spends stores what one call of a person took on a day. Speech took 95 seconds.
func (w *world) spends(a core.Address, day string, p core.Purpose, model string, u core.Usage) {
	w.t.Helper()
	_, user := w.identify(a)
	bill := core.SpentOn(p, model, u)
	if p == core.ForHeard {
		bill[0].Amount = 95
	}
	must(w.t, w.Spend(w.ctx, user.ID, day, bill))
}

// talk stores a message and its delivered reply with the same text, and returns the reply's native
// id.
func (w *world) talk(a core.Address, text string) string {
	w.t.Helper()
	turn := w.say(a, text, true).Turn
	_, err := w.Commit(w.ctx, store.Reply{Turn: turn, State: core.TurnDone, Now: w.now, Day: "2026-11-19",
		Spent: core.SpentOn(core.ForAnswer, "small-1", core.Usage{Prompt: 12000, Completion: 345}),
		Messages: []core.NewMessage{{Role: core.RoleAssistant, Kind: core.KindChat, Text: "You said: " + text,
			Tokens: 5, SentAt: w.now}},
		Deliveries: []core.NewDelivery{{To: turn.Address, Identity: turn.Identity, Kind: core.DeliverReply,
			Parts: []core.Part{{Text: "You said: " + text}}}}}, nil)
	must(w.t, err)
	return w.deliver()
}

// deliver sends pending deliveries, and returns the native id of the last part.
func (w *world) deliver() (native string) {
	w.t.Helper()
	refs, _, err := w.Due(w.ctx, []string{core.QueueDeliver + "telegram", core.QueueDeliver + "terminal"}, w.now,
		100, store.Share{})
	must(w.t, err)
	for _, ref := range refs {
		d, err := w.ClaimDelivery(w.ctx, ref, store.Claim{Worker: "w", Now: w.now, Until: w.now.Add(time.Minute)})
		must(w.t, err)
		native = fmt.Sprintf("n%d", w.n)
		_, err = w.FinishPart(w.ctx, d, 0, store.PartResult{State: core.DeliverySent, Receipt: core.Receipt{NativeID: native}},
			w.now)
		must(w.t, err)
	}
	return native
}

// summarize stores a summary of all messages of a day.
func (w *world) summarize(a core.Address, label, markdown string, opened ...string) {
	w.t.Helper()
	_, u := w.identify(a)
	g, err := w.Day(w.ctx, u.ID, label)
	must(w.t, err)
	g, err = w.Segment(w.ctx, u.ID, g.ID)
	must(w.t, err)
	read, err := w.DayMessages(w.ctx, u.ID, g.ID, 0, 1000)
	must(w.t, err)
	p := store.PutSummary{Edits: g.Edits, Now: w.now, Day: label, ReadTo: read[len(read)-1].ID,
		Lease: w.job(u.ID, int64(g.ID)), Entry: core.NewMessage{Role: core.RoleSystem, Kind: core.KindDaySummary,
			Text: markdown, SentAt: w.now}}
	var ids []core.MessageID
	for _, m := range read {
		ids = append(ids, m.ID)
	}
	for _, text := range opened {
		p.Loops = append(p.Loops, store.NamedLoop{Text: text, Sources: ids[:1]})
	}
	p.Summary = core.Summary{User: u.ID, Segment: g.ID, Label: label, Markdown: markdown, Tokens: 10,
		Covers: core.NewIDSet(ids...)}
	must(w.t, w.PutSummary(w.ctx, p))
}

// job enqueues and claims a summary job.
func (w *world) job(u core.UserID, segment int64) core.Lease {
	w.t.Helper()
	must(w.t, w.Enqueue(w.ctx, store.NewJob{User: u, Queue: core.QueueSummarize, Key: core.SummaryKey, Ref: segment,
		RunAt: w.now, Unique: true}))
	refs, _, err := w.Due(w.ctx, []string{core.QueueSummarize}, w.now, 10, store.Share{})
	must(w.t, err)
	for _, ref := range refs {
		if ref.User != u {
			continue
		}
		j, err := w.Claim(w.ctx, ref, store.Claim{Worker: "w", Now: w.now, Until: w.now.Add(time.Minute)})
		must(w.t, err)
		return j.Lease
	}
	w.t.Fatal("the summary job is not due")
	return core.Lease{}
}

// stranger holds a message of a stranger, who was given a code.
func (w *world) stranger(name, external, code string) {
	w.t.Helper()
	a := core.Address{Channel: "telegram", Account: "42", External: external}
	e := w.event(a, "let me in, says "+name)
	e.Name = name
	_, err := w.Hold(w.ctx, store.Hold{Event: e, Keep: true, Now: w.now,
		Code: &effect.Code{Kind: effect.CodePair, Hash: trust.CodeHash(code), Hint: code,
			Address: a, Name: name, Created: w.now, Expires: w.now.Add(time.Hour)}})
	must(w.t, err)
}

// ask answers a command without storing anything.
func (w *world) ask(a core.Address, text string) (core.Outcome, bool) {
	w.t.Helper()
	i, u := w.identify(a)
	e := w.event(a, text)
	e.Quote = w.quote
	out, ok, err := command.New(w.options).Command(w.ctx, u, i, e, w.now)
	if err != nil {
		w.t.Fatalf("%s: %v", text, err)
	}
	return out, ok
}

// send answers and stores a command, as the gateway does.
func (w *world) send(a core.Address, text string) (core.Outcome, store.Noted) {
	w.t.Helper()
	out, ok := w.ask(a, text)
	if !ok || strings.TrimSpace(out.Text) == "" {
		w.t.Fatalf("%q is not a command, or has no answer: %+v", text, out)
	}
	i, u := w.identify(a)
	e := w.event(a, text)
	if e.Quote = w.quote; e.Quote != nil {
		e.Raw = []byte(text + e.Quote.Text)
	}
	w.quote = nil
	noted, err := w.Note(w.ctx, store.Note{User: u.ID, Identity: i.ID, Event: &e, Effects: out.Effects, Now: w.now,
		Command:  &core.NewMessage{Role: core.RoleUser, Kind: core.KindCommand, Text: text, Quote: e.Quote, SentAt: w.now},
		Messages: []core.NewMessage{{Role: core.RoleAssistant, Kind: core.KindNotice, Text: out.Text, SentAt: w.now}},
		Deliveries: []core.NewDelivery{{To: a, Identity: i.ID, Kind: core.DeliverNotice,
			Parts: []core.Part{{Text: out.Text}}}}})
	if err != nil {
		w.t.Fatalf("%s: note: %v", text, err)
	}
	w.deliver()
	return out, noted
}

// finder finds messages that contain all words of a query, newest first.
type finder struct {
	*world
	mode string
}

func (f *finder) Search(ctx context.Context, q search.Query) (search.Result, error) {
	all, err := f.History(ctx, q.User, 0, 0, 1000)
	out := search.Result{Mode: f.mode}
	for i, m := range slices.Backward(all) {
		if m.Kind == core.KindChat && strings.Contains(strings.ToLower(m.Text), strings.ToLower(q.Query)) {
			out.Hits = append(out.Hits, search.Hit{Kind: core.DocMessage, Label: dayOf(core.Settings{}, m.SentAt).Label,
				Message: m, Snippet: m.Text, FTS: true})
			if h := &out.Hits[len(out.Hits)-1]; q.Matching && i > 0 && !strings.Contains(strings.ToLower(all[i-1].Text),
				strings.ToLower(q.Query)) {
				h.Before = search.Beside{Message: all[i-1].ID, Role: all[i-1].Role, Snippet: all[i-1].Text,
					Foreign: all[i-1].Foreign()}
			}
			if h := &out.Hits[len(out.Hits)-1]; q.Matching && i+1 < len(all) && !strings.Contains(strings.ToLower(all[i+1].Text),
				strings.ToLower(q.Query)) {
				h.After = search.Beside{Message: all[i+1].ID, Role: all[i+1].Role, Snippet: all[i+1].Text,
					Foreign: all[i+1].Foreign()}
			}
		}
	}
	days, more := f.Days(ctx, q.User, "", 100)
	for _, g := range days {
		versions, e := f.Summaries(ctx, q.User, g.ID, 1)
		more = errors.Join(more, e)
		if len(versions) > 0 && strings.Contains(versions[0].Markdown, q.Query) {
			out.Hits = append([]search.Hit{{Kind: core.DocSummary, Label: g.Day.Label, Summary: versions[0],
				Snippet: versions[0].Markdown}}, out.Hits...)
		}
	}
	return out, errors.Join(err, more)
}

func (f *finder) Items(ctx context.Context, user core.UserID, query string) (search.ItemSignals, error) {
	all, err := f.Store.Items(ctx, store.ItemQuery{User: user, Limit: 1000})
	out := search.ItemSignals{Mode: f.mode}
	for _, i := range all {
		if strings.Contains(strings.ToLower(i.Content), strings.ToLower(query)) {
			out.Signals = append(out.Signals, search.ItemSignal{ID: i.ID, FTS: true, Lexical: 1})
		}
	}
	return out, err
}

func (w *world) later(d time.Duration) *world {
	w.now = w.now.Add(d)
	return w
}

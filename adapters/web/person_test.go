package web

import (
	"crypto/rand"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
)

// said is what may be asked of what somebody says.
type said struct {
	quote   *core.Quote
	forward string
	files   []core.Attachment
	thread  core.ThreadID
	at      core.Identity
}

// says stores a message of the person.
func (p *person) says(text string, more ...func(*said)) core.MessageID {
	p.t.Helper()
	s := said{at: p.chat}
	for _, f := range more {
		f(&s)
	}
	now := p.clock.now()
	m := core.NewMessage{Role: core.RoleUser, Kind: core.KindChat, Text: text, Tokens: 5, Quote: s.quote,
		ForwardedFrom: s.forward, Attachments: s.files, SentAt: now, Day: dayOf(p.user.Settings, now)}
	id := rand.Text()
	e := core.Inbound{Address: s.at.Address, EventID: id, NativeID: id, Kind: core.InMessage, Text: text,
		SentAt: now, ReceivedAt: now}
	out, err := p.store.Append(p.ctx, core.Append{User: p.user.ID, Identity: s.at.ID, Events: []core.Inbound{e},
		Messages: []core.NewMessage{m}, Now: now, RunAt: now, Thread: s.thread})
	p.must(err)
	return out.Messages[0]
}

// turn claims the turn that waits.
func (p *person) turn() *core.Turn {
	p.t.Helper()
	claim := core.Claim{Worker: "test", Now: p.clock.now(), Until: p.clock.now().Add(time.Minute)}
	refs, _, err := p.store.Due(p.ctx, []string{core.QueueTurn}, p.clock.now(), 10)
	p.must(err)
	for _, ref := range refs {
		if ref.User != p.user.ID {
			continue
		}
		t, _, err := p.store.ClaimTurn(p.ctx, ref, claim, core.Budget{})
		p.must(err)
		if t != nil {
			return t
		}
	}
	p.t.Fatal("no turn is due")
	return nil
}

// answers commits a reply to what waits; earlier messages are calls of tools.
func (p *person) answers(text string, before ...core.NewMessage) core.MessageID {
	p.t.Helper()
	return p.replies(p.turn(), text, before...)
}

func (p *person) replies(t *core.Turn, text string, before ...core.NewMessage) core.MessageID {
	p.t.Helper()
	now := p.clock.now()
	ms := append(before, core.NewMessage{Role: core.RoleAssistant, Kind: core.KindChat, Text: text,
		Tokens: 7, SentAt: now})
	for i := range ms {
		ms[i].Kind, ms[i].SentAt = core.KindChat, now
	}
	s := &core.Snapshot{Strategy: "continuous", Epoch: t.ID, NewEpoch: "first", Messages: core.NewIDSet(t.Inputs...),
		Parts: []core.PartTokens{{Name: "instructions", Tokens: 310}, {Name: "policy", Tokens: 140},
			{Name: "last", Tokens: 96}, {Name: "messages", Tokens: 640}}, Thread: 812, Loaded: 12, Included: 9, LeftOut: 3,
		Truncated: 1, OpenLoops: 2, ToolTokens: 1240, Total: 1186, Cap: 6150, Model: "demo",
		Usage: core.Usage{Prompt: 2431, Cached: 1800, Completion: 64}, FirstTokenMS: 410, TotalMS: 1850, Steps: 1}
	r := core.Reply{Turn: t, State: core.TurnDone, Now: now, Messages: ms, Snapshot: s,
		Day: dayOf(p.user.Settings, now).Label, Epoch: &core.Epoch{ID: t.ID, StartedAt: now, Zone: "Europe/Paris",
			Strategy: "continuous", Head: []core.HeadPart{{Name: "instructions", Text: "Be kind.", Tokens: 310}}},
		Deliveries: []core.NewDelivery{{To: t.Address, Identity: t.Identity, Kind: core.DeliverReply,
			Parts: []core.Part{{Text: text}}}}}
	out, err := p.store.Commit(p.ctx, r, nil)
	p.must(err)
	return out.Messages[len(out.Messages)-1]
}

// talks is an exchange.
func (p *person) talks(question, reply string) (q, a core.MessageID) {
	p.t.Helper()
	q = p.says(question)
	p.clock.pass(20 * time.Second)
	return q, p.answers(reply)
}

// sums stores a summary of today.
func (p *person) sums(markdown string, final bool, covers ...core.MessageID) {
	p.t.Helper()
	p.sumsOf(dayOf(p.user.Settings, p.clock.now()).Label, markdown, final, covers...)
}

func (p *person) sumsOf(label, markdown string, final bool, covers ...core.MessageID) {
	p.t.Helper()
	g, err := p.store.Day(p.ctx, p.user.ID, label)
	p.must(err)
	g, err = p.store.Segment(p.ctx, p.user.ID, g.ID)
	p.must(err)
	now := p.clock.now()
	p.must(p.store.Enqueue(p.ctx, core.NewJob{User: p.user.ID, Queue: core.QueueSummarize, Key: core.SummaryKey,
		Ref: int64(g.ID), RunAt: now, Unique: true}))
	refs, _, err := p.store.Due(p.ctx, []string{core.QueueSummarize}, now, 10)
	p.must(err)
	j, err := p.store.Claim(p.ctx, refs[0], core.Claim{Worker: "test", Now: now, Until: now.Add(time.Minute)})
	p.must(err)
	ms, err := p.store.DayMessages(p.ctx, p.user.ID, g.ID, 0, 1000)
	p.must(err)
	put := core.PutSummary{Summary: core.Summary{User: p.user.ID, Segment: g.ID, Markdown: markdown, Tokens: 40,
		Covers: core.NewIDSet(covers...), Model: "demo"}, ReadTo: ms[len(ms)-1].ID,
		Edits: g.Edits, Lease: j.Lease, Final: final, Post: core.PostSkipped, Day: label, Now: now,
		Entry: core.NewMessage{Role: core.RoleSystem, Kind: core.KindDaySummary, Text: markdown, SentAt: now}}
	p.must(p.store.PutSummary(p.ctx, put))
}

// deliver settles what is on its way to the person's chat.
func (p *person) deliver(state core.DeliveryState, why string) {
	p.t.Helper()
	refs, _, err := p.store.Due(p.ctx, []string{core.QueueDeliver + "telegram"}, p.clock.now(), 100)
	p.must(err)
	for _, ref := range refs {
		d, err := p.store.ClaimDelivery(p.ctx, ref, core.Claim{Worker: "test", Now: p.clock.now(),
			Until: p.clock.now().Add(time.Minute)})
		p.must(err)
		if d == nil {
			continue
		}
		_, err = p.store.FinishPart(p.ctx, d, 0, core.PartResult{State: state, Receipt: core.Receipt{NativeID: rand.Text()},
			Error: why}, p.clock.now())
		p.must(err)
	}
}

// wants checks that an answer holds texts.
func (a answer) wants(t *testing.T, status int, texts ...string) {
	t.Helper()
	if a.status != status {
		t.Errorf("got status %d, want %d: %s", a.status, status, short(a.body, 400))
	}
	for _, text := range texts {
		if !strings.Contains(a.body, text) {
			_, main, _ := strings.Cut(a.body, "<main")
			t.Errorf("%q is not in the page:\n%s", text, short(main, 6000))
		}
	}
}

func (a answer) lacks(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(a.body, text) {
			t.Errorf("%q is in the page", text)
		}
	}
}

func decode(t *testing.T, s string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(s), into); err != nil {
		t.Fatalf("%v: %s", err, s)
	}
}

package webtest

import (
	"crypto/rand"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// Said holds options of a message.
type Said struct {
	Quote   *core.Quote
	Forward string
	Files   []core.Attachment
	Thread  core.ThreadID
	At      core.Identity
	Speaker *core.Speaker // of a group, who addresses nobody
}

// Says stores a message of the person.
func (p *Person) Says(text string, more ...func(*Said)) core.MessageID {
	p.T.Helper()
	s := Said{At: p.Chat}
	for _, f := range more {
		f(&s)
	}
	now := p.Clock.Now()
	m := core.NewMessage{Role: core.RoleUser, Kind: core.KindChat, Text: text, Tokens: 5, Quote: s.Quote,
		ForwardedFrom: s.Forward, Attachments: s.Files, SentAt: now, Day: DayOf(p.User.Settings, now)}
	id := rand.Text()
	if s.Speaker != nil {
		m.Speaker = &core.Speaker{Key: s.Speaker.Key, Name: s.Speaker.Name, Native: id}
	}
	e := core.Inbound{Address: s.At.Address, EventID: id, NativeID: id, Kind: core.InMessage, Text: text,
		SentAt: now, ReceivedAt: now}
	out, err := p.Store.Append(p.Context, store.Append{User: p.User.ID, Identity: s.At.ID, Events: []core.Inbound{e},
		Messages: []core.NewMessage{m}, Now: now, RunAt: now, Thread: s.Thread, Heard: s.Speaker != nil})
	p.Must(err)
	return out.Messages[0]
}

// Turn claims the waiting turn.
func (p *Person) Turn() *core.Turn {
	p.T.Helper()
	claim := store.Claim{Worker: "test", Now: p.Clock.Now(), Until: p.Clock.Now().Add(time.Minute)}
	refs, _, err := p.Store.Due(p.Context, []string{core.QueueTurn}, p.Clock.Now(), 10, store.Share{})
	p.Must(err)
	for _, ref := range refs {
		if ref.User != p.User.ID {
			continue
		}
		t, _, err := p.Store.ClaimTurn(p.Context, ref, claim, store.Budget{})
		p.Must(err)
		if t != nil {
			return t
		}
	}
	p.T.Fatal("no turn is due")
	return nil
}

// Answers commits a reply to the waiting messages, after tool calls.
func (p *Person) Answers(text string, before ...core.NewMessage) core.MessageID {
	p.T.Helper()
	return p.Replies(p.Turn(), text, before...)
}

// Replies is Answers for a claimed turn.
func (p *Person) Replies(t *core.Turn, text string, before ...core.NewMessage) core.MessageID {
	p.T.Helper()
	now := p.Clock.Now()
	ms := append(before, core.NewMessage{Role: core.RoleAssistant, Kind: core.KindChat, Text: text,
		Tokens: 7, SentAt: now})
	for i := range ms {
		ms[i].Kind, ms[i].SentAt = core.KindChat, now
	}
	s := &store.Snapshot{Strategy: "continuous", Epoch: t.ID, NewEpoch: "first", Messages: core.NewIDSet(t.Inputs...),
		Parts: []store.PartTokens{{Name: "instructions", Tokens: 310}, {Name: "policy", Tokens: 140},
			{Name: "last", Tokens: 96}, {Name: "messages", Tokens: 640}}, Thread: 812, Loaded: 12, Included: 9, LeftOut: 3,
		Session: 1, Trace: "4bf92f3577b34da6a3ce929d0e0e4736",
		Shortened: 1, OpenLoops: 2, ToolTokens: 1240, Total: 1186, Cap: 6150, Model: "demo",
		Usage: core.Usage{Prompt: 2431, Cached: 1800, Completion: 64}, FirstTokenMS: 410, TotalMS: 1850, Steps: 1}
	r := store.Reply{Turn: t, State: core.TurnDone, Now: now, Messages: ms, Snapshot: s,
		Day: DayOf(p.User.Settings, now).Label, Epoch: &store.Epoch{ID: t.ID, StartedAt: now, Zone: "Europe/Paris",
			Strategy: "continuous", Head: []store.HeadPart{{Name: "instructions", Text: "Be kind.", Tokens: 310}}},
		Deliveries: []core.NewDelivery{{To: t.Address, Identity: t.Identity, Kind: core.DeliverReply,
			Parts: []core.Part{{Text: text}}}}}
	out, err := p.Store.Commit(p.Context, r, nil)
	p.Must(err)
	return out.Messages[len(out.Messages)-1]
}

// Talks stores a message and its answer.
func (p *Person) Talks(question, reply string) (q, a core.MessageID) {
	p.T.Helper()
	q = p.Says(question)
	p.Clock.Pass(20 * time.Second)
	return q, p.Answers(reply)
}

// Sums stores a summary of today.
func (p *Person) Sums(markdown string, final bool, covers ...core.MessageID) {
	p.T.Helper()
	p.SumsOf(DayOf(p.User.Settings, p.Clock.Now()).Label, markdown, final, covers...)
}

// SumsOf stores a summary of a day.
func (p *Person) SumsOf(label, markdown string, final bool, covers ...core.MessageID) {
	p.T.Helper()
	g, err := p.Store.Day(p.Context, p.User.ID, label)
	p.Must(err)
	g, err = p.Store.Segment(p.Context, p.User.ID, g.ID)
	p.Must(err)
	now := p.Clock.Now()
	p.Must(p.Store.Enqueue(p.Context, store.NewJob{User: p.User.ID, Queue: core.QueueSummarize, Key: core.SummaryKey,
		Ref: int64(g.ID), RunAt: now, Unique: true}))
	refs, _, err := p.Store.Due(p.Context, []string{core.QueueSummarize}, now, 10, store.Share{})
	p.Must(err)
	j, err := p.Store.Claim(p.Context, refs[0], store.Claim{Worker: "test", Now: now, Until: now.Add(time.Minute)})
	p.Must(err)
	ms, err := p.Store.DayMessages(p.Context, p.User.ID, g.ID, 0, 1000)
	p.Must(err)
	put := store.PutSummary{Summary: core.Summary{User: p.User.ID, Segment: g.ID, Markdown: markdown, Tokens: 40,
		Covers: core.NewIDSet(covers...), Model: "demo"}, ReadTo: ms[len(ms)-1].ID,
		Edits: g.Edits, Lease: j.Lease, Final: final, Post: core.PostSkipped, Day: label, Now: now,
		Entry: core.NewMessage{Role: core.RoleSystem, Kind: core.KindDaySummary, Text: markdown, SentAt: now}}
	p.Must(p.Store.PutSummary(p.Context, put))
}

// Deliver completes the pending deliveries to the person's chat.
func (p *Person) Deliver(state core.DeliveryState, why string) {
	p.T.Helper()
	refs, _, err := p.Store.Due(p.Context, []string{core.QueueDeliver + "telegram"}, p.Clock.Now(), 100, store.Share{})
	p.Must(err)
	for _, ref := range refs {
		d, err := p.Store.ClaimDelivery(p.Context, ref, store.Claim{Worker: "test", Now: p.Clock.Now(),
			Until: p.Clock.Now().Add(time.Minute)})
		p.Must(err)
		if d == nil {
			continue
		}
		_, err = p.Store.FinishPart(p.Context, d, 0, store.PartResult{State: state, Error: why,
			Receipt: core.Receipt{NativeID: rand.Text()}}, p.Clock.Now())
		p.Must(err)
	}
}

// Wants checks that an answer contains all texts.
func (a Answer) Wants(t *testing.T, status int, texts ...string) {
	t.Helper()
	if a.Status != status {
		t.Errorf("got status %d, want %d: %s", a.Status, status, web.Short(a.Body, 400))
	}
	for _, text := range texts {
		if !strings.Contains(a.Body, text) {
			_, main, _ := strings.Cut(a.Body, "<main")
			t.Errorf("%q is not in the page:\n%s", text, web.Short(main, 6000))
		}
	}
}

// Lacks checks that an answer contains none of the texts.
func (a Answer) Lacks(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(a.Body, text) {
			t.Errorf("%q is in the page", text)
		}
	}
}

// Decode reads JSON.
func Decode(t *testing.T, s string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(s), into); err != nil {
		t.Fatalf("%v: %s", err, s)
	}
}

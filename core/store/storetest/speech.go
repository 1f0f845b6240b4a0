package storetest

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

func speechCases() []testCase {
	return []testCase{
		{"an answer is spoken once, and the recording goes where the answer went", testSpoken},
		{"an answer without speech has no job", testNotSpoken},
		{"an answer that could not be spoken says why until one is spoken", testUnspoken},
		{"a redacted answer loses its recording", testSpokenForgotten},
		{"an answer redacted meanwhile is not spoken", testSpokenGone},
		{"a merge copies the jobs of answers to speak", testSpokenMerged},
		{"answers of another user are not spoken", testSpokenForeign},
	}
}

// voiced commits a reply that is to be spoken.
func (b *bench) voiced(question, answer string) core.MessageID {
	b.t.Helper()
	t := b.turn(question)
	r := b.reply(t, answer)
	r.Speak = true
	c := b.claim()
	out, err := b.Commit(b.ctx, r, &c)
	b.must(err)
	b.sent(out.Delivery)
	return out.Messages[len(out.Messages)-1]
}

// speaking claims the job of the next reply to be spoken, with its result.
func (b *bench) speaking(at core.Address) (*store.Job, store.Spoken) {
	b.t.Helper()
	refs := b.due(core.QueueSpeak)
	refs = slices.DeleteFunc(refs, func(r store.JobRef) bool { return r.User != b.user.ID })
	if len(refs) == 0 {
		b.t.Fatal("no reply is waiting to be spoken")
	}
	j, err := b.Claim(b.ctx, refs[0], b.claim())
	b.must(err)
	a := core.Attachment{Kind: "voice", Name: "voice.ogg", MIME: "audio/ogg", Path: "1/speech", Size: 9,
		Duration: 2 * time.Second}
	return j, store.Spoken{User: b.user.ID, Message: core.MessageID(j.Ref), Attachment: a, Lease: j.Lease, Now: b.now,
		Delivery: core.NewDelivery{To: at, Kind: core.DeliverVoice, Parts: []core.Part{{Attachment: &a}}}}
}

func testSpoken(b *bench) {
	m := b.voiced("what is for lunch?", "soup")
	j, s := b.speaking(b.at.Address)
	equal(b, "of which message", j.Ref, int64(m))
	payload, err := json.Marshal(b.at.Address)
	b.must(err)
	equal(b, "where", string(j.Payload), string(payload))
	b.must(b.Spoken(b.ctx, s))
	got := b.message(m)
	equal(b, "attachments", len(got.Attachments), 1)
	equal(b, "the recording", got.Attachments[0].Path, "1/speech")
	equal(b, "its text", got.Text, "soup")
	equal(b, "its revision", got.Revision, 0)
	d, err := b.ClaimDelivery(b.ctx, b.only(core.QueueDeliver+b.at.Address.Channel), b.claim())
	b.must(err)
	equal(b, "kind", d.Kind, core.DeliverVoice)
	equal(b, "of", d.Message, m)
	equal(b, "to", d.Identity, b.at.ID)
	equal(b, "part", d.Parts[0].Part.Attachment.Path, "1/speech")
	b.sent(d)
	equal(b, "jobs after it", len(b.due(core.QueueSpeak)), 0)
	if err := b.Store.Spoken(b.ctx, s); !errors.Is(err, core.ErrFenced) {
		b.t.Errorf("a second time: %v", err)
	}
	equal(b, "deliveries after it", len(b.due(core.QueueDeliver+b.at.Address.Channel)), 0)
}

func testNotSpoken(b *bench) {
	b.exchange("hello", "hello")
	equal(b, "jobs", len(b.due(core.QueueSpeak)), 0)
	t := b.turn("and now?")
	r := b.reply(t, "never")
	r.Speak, r.State, r.Messages, r.Deliveries = true, core.TurnStopped, nil, nil
	b.must(second(b.Commit(b.ctx, r, nil)))
	equal(b, "jobs of a stopped turn", len(b.due(core.QueueSpeak)), 0)
}

func testUnspoken(b *bench) {
	trouble := func() string {
		cause, _, err := b.SpeechTrouble(b.ctx, b.user.ID)
		b.must(err)
		return cause
	}
	equal(b, "before", trouble(), "")
	for _, cause := range []string{"the key was refused", "it is silent"} {
		b.voiced("what?", "soup")
		j, _ := b.speaking(b.at.Address)
		b.must(b.Unspoken(b.ctx, b.user.ID, j.Lease, cause))
		equal(b, "then", trouble(), cause)
		if err := b.Unspoken(b.ctx, b.user.ID, j.Lease, cause); !errors.Is(err, core.ErrFenced) {
			b.t.Errorf("after the job: %v", err)
		}
	}
	dead, err := b.DeadJobs(b.ctx, 10)
	b.must(err)
	equal(b, "dead jobs", len(dead), 1)
	b.voiced("and now?", "cake")
	_, s := b.speaking(b.at.Address)
	b.must(b.Spoken(b.ctx, s))
	equal(b, "after one was spoken", trouble(), "")
}

func testSpokenForgotten(b *bench) {
	m := b.voiced("what is for lunch?", "soup")
	_, s := b.speaking(b.at.Address)
	b.must(b.Spoken(b.ctx, s))
	out, err := b.Note(b.ctx, store.Note{User: b.user.ID, Now: b.now,
		Effects: []core.Effect{effect.Redact{Message: m, At: b.now}}})
	b.must(err)
	equal(b, "files that go", slices.Contains(out.Files, "1/speech"), true)
	j, err := b.Claim(b.ctx, b.only(core.QueueRemove), b.claim())
	b.must(err)
	equal(b, "and go though the process dies", string(j.Payload), `["1/speech"]`)
	equal(b, "attachments", len(b.message(m).Attachments), 0)
	d, err := b.ClaimDelivery(b.ctx, b.only(core.QueueDeliver+b.at.Address.Channel), b.claim())
	b.must(err)
	equal(b, "to be delivered", d == nil, true)
}

func testSpokenGone(b *bench) {
	m := b.voiced("what is for lunch?", "soup")
	_, s := b.speaking(b.at.Address)
	b.must(second(b.Note(b.ctx, store.Note{User: b.user.ID, Now: b.now,
		Effects: []core.Effect{effect.Redact{Message: m, At: b.now}}})))
	if err := b.Store.Spoken(b.ctx, s); !errors.Is(err, core.ErrNotFound) {
		b.t.Errorf("got %v", err)
	}
	equal(b, "attachments", len(b.message(m).Attachments), 0)
	equal(b, "jobs after it", len(b.due(core.QueueSpeak)), 0)
	equal(b, "deliveries", len(b.due(core.QueueDeliver+b.at.Address.Channel)), 0)
}

func testSpokenMerged(b *bench) {
	o := b.second("Mallory", "666")
	o.voiced("what is for lunch?", "soup from over there")
	to := o.at.Address
	b.carryMerge(o.merge(b.user.ID))
	j, s := b.speaking(to)
	equal(b, "its message", b.message(core.MessageID(j.Ref)).Text, "soup from over there")
	b.must(b.Spoken(b.ctx, s))
	d, err := b.ClaimDelivery(b.ctx, b.only(core.QueueDeliver+to.Channel), b.claim())
	b.must(err)
	equal(b, "to", d.To, to)
}

func testSpokenForeign(b *bench) {
	v := b.second("Vera", "222")
	m := v.voiced("secret?", "secret")
	j, s := v.speaking(v.at.Address)
	o := b.second("Mallory", "666")
	s.User = o.user.ID
	equal(b, "spoken", o.Store.Spoken(o.ctx, s) != nil, true)
	equal(b, "given up", o.Unspoken(o.ctx, o.user.ID, j.Lease, "x") != nil, true)
	equal(b, "attachments", len(v.message(m).Attachments), 0)
	v.must(v.Unspoken(v.ctx, v.user.ID, j.Lease, "a secret cause"))
	cause, _, err := o.SpeechTrouble(o.ctx, o.user.ID)
	b.must(err)
	equal(b, "cause", cause, "")
	v.must(second(v.DeleteUser(v.ctx, v.user.ID)))
	v.gone(v.user.ID)
}

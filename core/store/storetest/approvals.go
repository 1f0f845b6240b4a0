package storetest

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/audit"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

func approvalCases() []testCase {
	return []testCase{
		{"an approval is answered once, in time, where it was asked", testApproval},
		{"whatever is said or sent after a question passes it", testPassed},
		{"a message answers a question and starts the turn that continues", testDecision},
		{"an answered question follows a merge, an open one does not", testApprovalMerge},
		{"unlinking ends the sessions that came through it", testUnlinkSessions},
		{"the subject of an approval is redacted with its message", testApprovalRedacted},
		{"a yes to an account change counts once, for a limited time", testUseYes},
		{"a yes to a call is spent when the call begins, and keeps its result", testUseCall},
		{"effects end keys and sessions of their own user only", testEndEffects},
		{"a change of two users is made for both or for neither", testAlso},
	}
}

// ask stores a question with a notice and returns its approval.
func (b *bench) ask(code, subject string) effect.Approval {
	b.t.Helper()
	_, err := b.Note(b.ctx, store.Note{User: b.user.ID, Identity: b.at.ID, Now: b.now,
		Effects: []core.Effect{effect.AskApproval{Approval: effect.Approval{Code: code, Kind: effect.ApproveCall,
			Identity: b.at.ID, Subject: subject, AskedAt: b.now, Expires: b.now.Add(time.Hour)}}},
		Messages: []core.NewMessage{{Role: core.RoleAssistant, Kind: core.KindNotice, Text: "may I?", SentAt: b.now}}})
	b.must(err)
	open, _, err := b.OpenApprovals(b.ctx, b.user.ID, b.at.ID, b.now)
	b.must(err)
	return open[len(open)-1]
}

func (b *bench) decide(a effect.Approval, at core.IdentityID, when time.Time) bool {
	b.t.Helper()
	_, err := b.Note(b.ctx, store.Note{User: b.user.ID, Now: when,
		Effects: []core.Effect{effect.Decide{Approval: a.ID, Identity: at, Yes: true, At: when}}})
	if !errors.Is(err, core.ErrRefused) {
		b.must(err)
	}
	return err == nil
}

func testApproval(b *bench) {
	a := b.ask("T1", `{"call":{}}`)
	open, passed, err := b.OpenApprovals(b.ctx, b.user.ID, b.at.ID, b.now)
	b.must(err)
	equal(b, "open", len(open), 1)
	equal(b, "nothing newer", passed, false)
	b.exchange("by the way", "well")
	_, passed, err = b.OpenApprovals(b.ctx, b.user.ID, b.at.ID, b.now)
	b.must(err)
	equal(b, "newer message", passed, true)
	elsewhere := b.identity(b.user.ID, "Ada", "112")
	v := b.second("Vera", "222")
	equal(b, "from another app", b.decide(a, elsewhere.ID, b.now), false)
	equal(b, "by another person", v.decide(a, v.at.ID, b.now), false)
	equal(b, "after its time", b.decide(a, b.at.ID, a.Expires), false)
	equal(b, "in its time", b.decide(a, b.at.ID, b.now), true)
	equal(b, "twice", b.decide(a, b.at.ID, b.now), false)
	got, err := b.Approval(b.ctx, b.user.ID, a.ID)
	b.must(err)
	equal(b, "state", got.State, effect.ApprovalYes)
	_, err = b.Approval(b.ctx, v.user.ID, a.ID)
	b.notFound("of another person", err)
}

func testPassed(b *bench) {
	elsewhere := b.identity(b.user.ID, "Ada", "112")
	sent := func(to core.Identity) store.Note {
		return store.Note{Deliveries: []core.NewDelivery{{To: to.Address, Identity: to.ID, Kind: core.DeliverNotice,
			Parts: []core.Part{{Text: "news"}}}}}
	}
	said := func(kind core.MessageKind) store.Note {
		return store.Note{Messages: []core.NewMessage{{Role: core.RoleAssistant, Kind: kind, Text: "news", SentAt: b.now}}}
	}
	for _, c := range []struct {
		what   string
		note   store.Note
		passed bool
	}{
		{"nothing", store.Note{}, false},
		{"a message sent to another app", sent(elsewhere), false},
		{"a message sent there", sent(b.at), true},
		{"a notice", said(core.KindNotice), true},
		{"a reminder", said(core.KindReminder), true},
		{"a summary of a day", said(core.KindDayPost), true},
	} {
		a := b.ask("T1", `{}`)
		c.note.User, c.note.Now = b.user.ID, b.now
		_, err := b.Note(b.ctx, c.note)
		b.must(err)
		_, passed, err := b.OpenApprovals(b.ctx, b.user.ID, b.at.ID, b.now)
		b.must(err)
		equal(b, c.what, passed, c.passed)
		equal(b, "answered", b.decide(a, b.at.ID, b.now), true)
	}
	b.ask("T9", `{}`)
	b.effects(effect.OpenThread{Identity: b.at.ID, Title: "work", At: b.now})
	b.answer(b.turn("shall we?"), "shall we book it?")
	_, passed, err := b.OpenApprovals(b.ctx, b.user.ID, b.at.ID, b.now)
	b.must(err)
	equal(b, "an answer in another thread", passed, true)
}

func testDecision(b *bench) {
	a := b.ask("T1", `{"call":{}}`)
	yes := b.batch(true, "Yes.")
	yes.Messages[0].Decides = &core.Decision{Approval: a.ID, Yes: true}
	out := one(b, b.Append, yes)
	equal(b, "a turn", out.Turn != nil, true)
	ms, err := b.Messages(b.ctx, b.user.ID, out.Messages)
	b.must(err)
	equal(b, "the message says so", *ms[0].Decides, core.Decision{Approval: a.ID, Yes: true})
	equal(b, "a repeated event", one(b, b.Append, yes).Duplicates, 1)
	again := b.batch(true, "Yes.")
	again.Messages[0].Decides = &core.Decision{Approval: a.ID, Yes: true}
	_, err = b.Append(b.ctx, again)
	equal(b, "another yes", errors.Is(err, core.ErrRefused), true)
}

func testApprovalMerge(b *bench) {
	v := b.second("Vera", "222")
	b.ask("T0", `{"mine":0}`)
	done, open := v.ask("T1", `{"a":1}`), v.ask("T2", `{"b":2}`)
	yes := v.batch(false, "Yes.")
	yes.Messages[0].Decides = &core.Decision{Approval: done.ID, Yes: true}
	one(v, v.Append, yes)
	b.carryMerge(v.merge(b.user.ID))
	list, err := b.Approvals(b.ctx, b.user.ID, 0, 10)
	b.must(err)
	equal(b, "approvals", len(list), 2)
	all, _, err := b.Timeline(b.ctx, store.TimelineQuery{User: b.user.ID, Limit: 100})
	b.must(err)
	i := slices.IndexFunc(all, func(m core.Message) bool { return m.Decides != nil })
	equal(b, "what the yes answers", all[i].Decides.Approval, list[0].ID)
	equal(b, "subject", list[0].Subject, done.Subject)
	equal(b, "open is gone", list[0].Code != open.Code, true)
	ms, err := b.Messages(b.ctx, b.user.ID, []core.MessageID{list[0].Message})
	b.must(err)
	equal(b, "its question", ms[0].Text, "may I?")
}

func testApprovalRedacted(b *bench) {
	a := b.ask("T1", `{"call":"ghostly words"}`)
	trace, err := b.Traces(b.ctx, b.user.ID, "ghostly")
	b.must(err)
	equal(b, "traces", len(trace), 1)
	b.effects(effect.Redact{Message: a.Message, At: b.now})
	b.must(b.Scrub(b.ctx))
	trace, err = b.Traces(b.ctx, b.user.ID, "ghostly")
	b.must(err)
	equal(b, "traces after", len(trace), 0)
	equal(b, "answered after", b.decide(a, b.at.ID, b.now), false)
}

// askAccount stores a question about a change to the account.
func (b *bench) askAccount(code string) effect.Approval {
	b.t.Helper()
	b.effects(effect.AskApproval{Approval: effect.Approval{Code: code, Kind: effect.ApproveAccount, Identity: b.at.ID,
		Subject: `{}`, AskedAt: b.now, Expires: b.now.Add(time.Hour)}})
	open, _, err := b.OpenApprovals(b.ctx, b.user.ID, b.at.ID, b.now)
	b.must(err)
	return open[len(open)-1]
}

// uses reports whether an approval could be used.
func (b *bench) uses(a effect.Approval) bool {
	b.t.Helper()
	_, err := b.Note(b.ctx, store.Note{User: b.user.ID, Now: b.now,
		Effects: []core.Effect{effect.UseYes{Approval: a.ID, At: b.now}}})
	if !errors.Is(err, core.ErrRefused) {
		b.must(err)
	}
	return err == nil
}

func testUseYes(b *bench) {
	v := b.second("Vera", "222")
	first, second, call := b.askAccount("A1"), b.askAccount("A2"), b.ask("T1", `{}`)
	equal(b, "before the answer", b.uses(first), false)
	for _, a := range []effect.Approval{first, second, call} {
		equal(b, "answered", b.decide(a, b.at.ID, b.now), true)
	}
	equal(b, "by another person", v.uses(first), false)
	equal(b, "a yes to something else", b.uses(call), false)
	equal(b, "once", b.uses(first), true)
	equal(b, "twice", b.uses(first), false)
	b.now = b.now.Add(core.AccountLife)
	equal(b, "after its time", b.uses(second), false)
}

func testUseCall(b *bench) {
	a := b.ask("T1", `{"call":{"id":"1","name":"mail","arguments":"{}"}}`)
	yes := b.batch(true, "Yes.")
	begins := func(x *bench) bool {
		err := x.Record(x.ctx, x.user.ID, store.CallRecord{Approval: a.ID, Tool: "mail", At: x.now})
		if !errors.Is(err, core.ErrRefused) {
			b.must(err)
		}
		return err == nil
	}
	ends := func(text string) {
		b.must(b.Record(b.ctx, b.user.ID, store.CallRecord{Approval: a.ID, Tool: "mail", Text: text, At: b.now}))
	}
	now := func() (effect.ApprovalState, string) {
		got, err := b.Approval(b.ctx, b.user.ID, a.ID)
		b.must(err)
		var s effect.CallSubject
		b.must(json.Unmarshal([]byte(got.Subject), &s))
		return got.State, s.Result
	}
	equal(b, "before the yes", begins(b), false)
	yes.Messages[0].Decides = &core.Decision{Approval: a.ID, Yes: true}
	out := one(b, b.Append, yes)
	equal(b, "by another person", begins(b.second("Vera", "222")), false)
	equal(b, "after the yes", begins(b), true)
	equal(b, "again", begins(b), false)
	ends("sent to ghosts")
	state, result := now()
	equal(b, "state", state, effect.ApprovalUsed)
	equal(b, "result", result, "sent to ghosts")
	b.effects(effect.Redact{Message: out.Messages[0], At: b.now})
	ends("sent to ghosts")
	state, result = now()
	equal(b, "state after the yes was redacted", state, effect.ApprovalUsed)
	equal(b, "result after it", result, "")
	a = b.ask("T2", `{"call":{"id":"2","name":"mail","arguments":"{}"}}`)
	yes = b.batch(false, "Yes.")
	yes.Messages[0].Decides = &core.Decision{Approval: a.ID, Yes: true, Always: true}
	one(b, b.Append, yes)
	equal(b, "allowed", must2(b.User(b.ctx, b.user.ID)).Settings.Allows("mail", b.now.Add(29*24*time.Hour)), true)
	equal(b, "for good", must2(b.User(b.ctx, b.user.ID)).Settings.Allows("mail", b.now.Add(31*24*time.Hour)), false)
	m := yes.Messages[0]
	m.Text = "no, wait"
	b.must(b.Edit(b.ctx, b.user.ID, b.at.ID, core.Inbound{Address: b.at.Address, EventID: "edit", Kind: core.InEdit,
		Edited: yes.Events[0].EventID, Target: yes.Events[0].NativeID}, m, b.now))
	equal(b, "after the yes was changed", begins(b), false)
	equal(b, "allowed after it", must2(b.User(b.ctx, b.user.ID)).Settings.Allows("mail", b.now), false)
}

func testEndEffects(b *bench) {
	v := b.second("Vera", "222")
	k := one(b, b.AddAPIKey, core.APIKey{User: b.user.ID, Name: "n", Hash: "h", CreatedAt: b.now})
	s := b.signIn("token")
	for _, e := range []core.Effect{effect.RevokeKey{Key: k.ID}, effect.EndSession{Session: s.ID}} {
		_, err := v.Note(b.ctx, store.Note{User: v.user.ID, Now: b.now, Effects: []core.Effect{e}})
		b.notFound("of another person", err)
		b.effects(e)
		_, err = b.Note(b.ctx, store.Note{User: b.user.ID, Now: b.now, Effects: []core.Effect{e}})
		b.notFound("twice", err)
	}
	_, _, err := b.APIKey(b.ctx, "h")
	b.notFound("the key", err)
	_, _, err = b.Session(b.ctx, "token", b.now)
	b.notFound("the session", err)
}

func testAlso(b *bench) {
	v := b.second("Vera", "222")
	yes := b.askAccount("A1")
	equal(b, "answered", b.decide(yes, b.at.ID, b.now), true)
	code := effect.Code{Kind: effect.CodeWeb, Hash: "link", Created: b.now, Expires: b.now.Add(time.Hour)}
	theirs := store.Note{User: v.user.ID, Now: b.now, Effects: []core.Effect{effect.NewWebLink{Code: code}},
		Messages: []core.NewMessage{{Role: core.RoleAssistant, Kind: core.KindNotice,
			Text: "a link was made", SentAt: b.now}},
		Deliveries: []core.NewDelivery{{To: v.at.Address, Kind: core.DeliverNotice,
			Parts: []core.Part{{Text: "a link was made"}}}}}
	change := func(user core.UserID) error {
		theirs.User = user
		_, err := b.Note(b.acting(core.ViaSession, 7), store.Note{User: b.user.ID, Now: b.now, Effects: []core.Effect{
			effect.UseYes{Approval: yes.ID, At: b.now}, effect.AddKey{Key: core.APIKey{Name: "n", Hash: "h", CreatedAt: b.now}},
			store.Also{Note: theirs}}})
		return err
	}
	b.notFound("for nobody", change(987654))
	keys, err := b.APIKeys(b.ctx, b.user.ID)
	b.must(err)
	equal(b, "keys after a failure", len(keys), 0)
	b.must(change(v.user.ID))
	k, u, err := b.APIKey(b.ctx, "h")
	b.must(err)
	equal(b, "whose key", u.ID, b.user.ID)
	equal(b, "the key has a number", k.ID > 0, true)
	u, _, err = b.SignsIn(b.ctx, "link", b.now)
	b.must(err)
	equal(b, "user of the link", u.ID, v.user.ID)
	equal(b, "Vera's notice", v.texts()[0], "a link was made")
	sent, err := b.Deliveries(b.ctx, store.DeliveryQuery{User: v.user.ID, Limit: 10})
	b.must(err)
	equal(b, "deliveries to Vera", len(sent), 1)
	equal(b, "whose address it is", sent[0].Identity, v.at.ID)
	for user, what := range map[core.UserID]audit.What{b.user.ID: audit.KeyMade, v.user.ID: audit.SignInLink} {
		rows, err := b.Audit(b.ctx, store.AuditQuery{User: user, Limit: 1})
		b.must(err)
		equal(b, "the newest row", rows[0].What, what)
		equal(b, "through what", rows[0].ViaID, int64(7))
	}
	if err := change(v.user.ID); !errors.Is(err, core.ErrRefused) {
		b.t.Errorf("with a used approval: %v", err)
	}
}

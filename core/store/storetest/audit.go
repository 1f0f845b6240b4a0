package storetest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/audit"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

func auditCases() []testCase {
	return []testCase{
		{"an action on an account is audited in its transaction", testAudit},
		{"an action that failed is not audited as done", testAuditRefused},
		{"approvals are audited until they are answered or expire", testAuditQuestions},
		{"calls that may change something are audited", testAuditCalls},
		{"the audit is listed page by page", testAuditPages},
		{"the audit follows a merge with the new ids", testAuditMerge},
		{"an account deletion leaves only its own audit row", testAuditDeleted},
		{"audits of users are separate, and old rows are swept", testAuditSweep},
	}
}

// rows returns the account's audit entries, oldest first, as text.
func (b *bench) rows() string {
	b.t.Helper()
	all, err := b.Audit(b.ctx, store.AuditQuery{User: b.user.ID, Limit: 1000})
	b.must(err)
	var out []string
	for n := range all {
		r := all[len(all)-1-n]
		out = append(out, strings.TrimRight(fmt.Sprintf("%s:%d %s %s %s %s", r.Via, r.ViaID, r.What, r.Result,
			r.Object, r.Tool), " "))
	}
	return strings.Join(out, "; ")
}

// acting returns a context with an actor.
func (b *bench) acting(via core.Via, id int64) context.Context {
	return core.WithActor(b.ctx, core.Actor{Via: via, ID: id, At: b.now})
}

func testAudit(b *bench) {
	_, err := b.Note(b.ctx, store.Note{User: b.user.ID, Identity: b.at.ID, Now: b.now,
		Effects: []core.Effect{effect.SetSettings{}, effect.NewLink{Code: effect.Code{Hash: "h", Expires: b.now.Add(time.Hour)}}}})
	b.must(err)
	id := int64(b.at.ID)
	want := fmt.Sprintf("identity:%d settings done; identity:%d link_code done", id, id)
	equal(b, "by an identity", b.rows(), want)
	session := b.acting(core.ViaSession, 7)
	_, err = b.Note(session, store.Note{User: b.user.ID, Now: b.now, Effects: []core.Effect{effect.SetName{Name: "Ada"}}})
	b.must(err)
	want += "; session:7 name done"
	equal(b, "by a browser", b.rows(), want)
	k, err := b.AddAPIKey(b.acting(core.ViaOperator, 0),
		core.APIKey{User: b.user.ID, Name: "n", Hash: "h", CreatedAt: b.now})
	b.must(err)
	b.must(b.RevokeAPIKey(b.acting(core.ViaOperator, 0), b.user.ID, k.ID))
	want += "; operator:0 key_made done key; operator:0 key_revoked done key"
	equal(b, "by the operator", b.rows(), want)
	b.must(b.RevokeAPIKey(b.ctx, b.user.ID, one(b, b.AddAPIKey, core.APIKey{User: b.user.ID, Name: "n", Hash: "i",
		CreatedAt: b.now}).ID))
	equal(b, "by the gateway itself", b.rows(), want)
	s := b.signIn("token")
	b.must(b.EndSession(session, b.user.ID, 0))
	want += fmt.Sprintf(
		"; identity:%d sign_in_link done user; session:%d sign_in done session; session:7 sign_out done session", id, s.ID)
	equal(b, "of sessions", b.rows(), want)
	first, second := b.say(false, "one").Messages[0], b.say(false, "two").Messages[0]
	b.effects(effect.Redact{Message: first, At: b.now}, effect.Redact{Message: second, At: b.now})
	all, err := b.Audit(b.ctx, store.AuditQuery{User: b.user.ID, Limit: 1})
	b.must(err)
	equal(b, "forgotten", fmt.Sprint(all[0].What, all[0].IDs), fmt.Sprint("forget", []core.MessageID{first, second}))
}

func testAuditRefused(b *bench) {
	ctx := b.acting(core.ViaSession, 7)
	b.notFound("a key of nobody", b.RevokeAPIKey(ctx, b.user.ID, 999))
	b.must(b.EndSession(ctx, b.user.ID, 999))
	_, err := b.Note(ctx, store.Note{User: b.user.ID, Now: b.now, Effects: []core.Effect{effect.SetName{Name: "Eve"},
		effect.Unlink{Identity: 999}}})
	b.notFound("an identity of nobody", err)
	equal(b, "rows", b.rows(), "")
}

func testAuditQuestions(b *bench) {
	a := b.ask("T1", `{"call":{"name":"mail","arguments":"{\"to\":\"ghostly\"}"}}`)
	equal(b, "answered", b.decide(a, b.at.ID, b.now), true)
	late := b.ask("T2", `{"call":{"name":"mail","arguments":"{}"}}`)
	id := int64(b.at.ID)
	want := fmt.Sprintf(
		"identity:%d question asked question mail; identity:%d question yes question mail; identity:%d question asked question mail", id, id, id)
	equal(b, "rows", b.rows(), want)
	n, err := b.ExpireApprovals(b.ctx, late.Expires.Add(-time.Second))
	b.must(err)
	equal(b, "before its time is over", n, 0)
	n, err = b.ExpireApprovals(b.ctx, late.Expires)
	b.must(err)
	equal(b, "expired", n, 1)
	got, err := b.Approval(b.ctx, b.user.ID, late.ID)
	b.must(err)
	equal(b, "state", got.State, effect.ApprovalLate)
	n, err = b.ExpireApprovals(b.ctx, late.Expires)
	b.must(err)
	equal(b, "expired twice", n, 0)
	equal(b, "rows", b.rows(), want+"; gateway:0 question expired question mail")
	if dump := Dump(b.t, b.DB()); strings.Count(dump, "ghostly") != 1 { // the question itself
		b.t.Errorf("the audit contains message text: %s", dump)
	}
}

func testAuditCalls(b *bench) {
	t := b.turn("send a mail")
	for n, result := range []audit.Result{"", audit.Begun, audit.Done} {
		b.must(b.Record(b.ctx, b.user.ID, store.CallRecord{Turn: t.ID, Index: n / 2, Tool: "mail", Text: "secret",
			At: b.now, Result: result}))
	}
	want := "gateway:0 call begun turn mail; gateway:0 call done turn mail"
	equal(b, "of a turn without an actor", b.rows(), want)
	for n, by := range []core.Actor{{Via: core.ViaIdentity, ID: int64(t.Identity)}, {Via: core.ViaKey, ID: 7}} {
		b.must(b.Record(b.ctx, b.user.ID, store.CallRecord{Turn: t.ID, By: by, Step: 1, Index: n, Tool: "mail", At: b.now,
			Result: audit.Done}))
		want += fmt.Sprintf("; %s:%d call done turn mail", by.Via, by.ID)
	}
	equal(b, "of turns with an actor", b.rows(), want)
}

func testAuditPages(b *bench) {
	v := b.second("Vera", "222")
	for n := range 25 {
		x := []*bench{b, v}[n%2]
		at := b.now.Add(time.Duration(n/5) * time.Second)
		b.must(x.PutAudit(core.WithActor(b.ctx, core.Actor{Via: core.ViaOperator, At: at}), x.user.ID,
			audit.Row{What: audit.Export}))
	}
	for _, q := range []store.AuditQuery{{All: true}, {User: b.user.ID}} {
		seen := map[string]bool{}
		q.Limit = 4
		for {
			page, err := b.Audit(b.ctx, q)
			b.must(err)
			for i, r := range page {
				key := fmt.Sprint(r.User, r.ID)
				if seen[key] || i > 0 && page[i-1].At.Before(r.At) || !q.All && r.User != b.user.ID {
					b.t.Errorf("row %+v", r)
				}
				seen[key] = true
				q.Before = r
			}
			if len(page) < q.Limit {
				break
			}
		}
		equal(b, "rows", len(seen), map[bool]int{true: 25, false: 13}[q.All])
	}
	newest, err := b.Audit(b.ctx, store.AuditQuery{All: true, Since: b.now.Add(4 * time.Second), Limit: 100})
	b.must(err)
	equal(b, "since", len(newest), 5)
}

func testAuditMerge(b *bench) {
	v := b.second("Vera", "222")
	a := v.ask("T1", `{"call":{"name":"mail"}}`)
	equal(b, "answered", v.decide(a, v.at.ID, v.now), true)
	v.effects(effect.Redact{Message: v.say(false, "one").Messages[0], At: v.now})
	b.must(v.PutAudit(v.acting(core.ViaIdentity, int64(v.at.ID)), v.user.ID,
		audit.Row{What: audit.Call, Tool: "mail"}))
	before := b.rows()
	b.carryMerge(v.merge(b.user.ID))
	rows, err := b.Audit(b.ctx, store.AuditQuery{User: b.user.ID, Limit: 100})
	b.must(err)
	if before != "" {
		b.t.Errorf("rows before: %s", before)
	}
	ids, err := b.Identities(b.ctx, b.user.ID)
	b.must(err)
	theirs := int64(0)
	for _, i := range ids {
		if i.Address == v.at.Address {
			theirs = int64(i.ID)
		}
	}
	found := map[audit.What]bool{}
	for _, r := range rows {
		found[r.What] = true
		switch {
		case r.What == audit.Question && r.Result == audit.Yes:
			got, err := b.Approval(b.ctx, b.user.ID, core.ApprovalID(r.IDs[0]))
			b.must(err)
			equal(b, "its question", got.Code, a.Code)
		case r.What == audit.Question:
			equal(b, "asked at", r.ViaID, theirs)
		case r.What == audit.Call:
			equal(b, "called through", r.ViaID, theirs)
		case r.What == audit.Forget:
			ms, err := b.Messages(b.ctx, b.user.ID, []core.MessageID{core.MessageID(r.IDs[0])})
			b.must(err)
			equal(b, "the forgotten message", ms[0].Redacted, true)
		}
	}
	equal(b, "all came along", found[audit.Question] && found[audit.Forget] && found[audit.Call], true)
}

func testAuditDeleted(b *bench) {
	v := b.second("Vera", "222")
	ctx := b.acting(core.ViaOperator, 0)
	b.must(v.PutAudit(ctx, v.user.ID, audit.Row{What: audit.Export}))
	_, err := v.DeleteUser(ctx, v.user.ID)
	b.must(err)
	rows, err := b.Audit(b.ctx, store.AuditQuery{User: v.user.ID, Limit: 10})
	b.must(err)
	equal(b, "of theirs", len(rows), 0)
	rows, err = b.Audit(b.ctx, store.AuditQuery{All: true, Limit: 10})
	b.must(err)
	equal(b, "left", fmt.Sprint(len(rows), rows[0].User, rows[0].What, rows[0].IDs),
		fmt.Sprint(1, 0, audit.UserDeleted, []core.UserID{v.user.ID}))
}

func testAuditSweep(b *bench) {
	v := b.second("Vera", "222")
	ctx := b.acting(core.ViaSession, 1)
	b.must(b.PutAudit(ctx, b.user.ID, audit.Row{What: audit.Export}))
	equal(b, "of another", v.rows(), "")
	n, err := b.SweepAudit(b.ctx, b.now)
	b.must(err)
	equal(b, "swept too early", n, 0)
	n, err = b.SweepAudit(b.ctx, b.now.Add(time.Second))
	b.must(err)
	equal(b, "swept", n, 1)
	equal(b, "left", b.rows(), "")
}

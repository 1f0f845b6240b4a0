package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/audit"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

// maxAuditIDs bounds the ids of a row.
const maxAuditIDs = 100

// by sets who acts in the transaction, unless the caller's context says it.
func (t *tx) by(a core.Actor) {
	if known, ok := core.ActorOf(t.ctx); ok {
		a.Via, a.ID = known.Via, known.ID
	}
	t.actor = a
}

// acts returns who acts, as set by by or by the caller's context.
func (t *tx) acts() (core.Actor, bool) {
	if t.actor.Via != "" {
		return t.actor, true
	}
	return core.ActorOf(t.ctx)
}

// auditAction writes a row for an action. If no actor is known, the gateway acted by itself, and nothing is written.
func (t *tx) auditAction(r audit.Row) {
	a, ok := t.acts()
	if !ok {
		return
	}
	if r.At.IsZero() {
		r.At = a.At
	}
	if r.Via == "" {
		r.Via, r.ViaID = a.Via, a.ID
	}
	t.audit(r)
}

// audit writes a row of the transaction's user.
func (t *tx) audit(r audit.Row) {
	ids := r.IDs[:min(len(r.IDs), maxAuditIDs)]
	if ids == nil {
		ids = []int64{}
	}
	t.exec(putAudit, t.user, t.nextID(), ms(r.At), string(r.Via), r.ViaID, string(r.What), r.Object, text(ids),
		r.Tool, string(cmp.Or(r.Result, audit.Done)))
}

const putAudit = `INSERT INTO audit (` + auditColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`

// did is auditAction for objects of one kind.
func (t *tx) did(what audit.What, object string, ids ...int64) {
	t.auditAction(audit.Row{What: what, Object: object, IDs: ids})
}

// auditAs writes a row of another user. With user 0, no other user may be locked after it.
func (t *tx) auditAs(user core.UserID, r audit.Row) {
	if t.user == user {
		t.auditAction(r)
	} else if _, ok := t.acts(); ok {
		t.asUser(user, func(other *tx) { other.auditAction(r) })
	}
}

// auditUserMade writes the first row of a new user.
func (t *tx) auditUserMade(user core.UserID) {
	t.auditAs(user, audit.Row{What: audit.UserMade, Object: "user", IDs: []int64{int64(user)}})
}

const auditColumns = `user_id, id, at, via, via_id, what, object, ids, tool, result`

func scanAudit(row scanner) (r audit.Row, err error) {
	return r, found(row.Scan(&r.User, &r.ID, asTime(&r.At), &r.Via, &r.ViaID, &r.What, &r.Object, asJSON(&r.IDs), &r.Tool,
		&r.Result))
}

// Audit lists rows; see store.AuditStore.
func (s *Store) Audit(ctx context.Context, q store.AuditQuery) ([]audit.Row, error) {
	before := ms(q.Before.At)
	if q.Before.ID == 0 {
		before, q.Before.User, q.Before.ID = 1<<62, 1<<62, 1<<62
	}
	query, args := `SELECT `+auditColumns+
		` FROM audit WHERE at >= $1 AND (at, user_id, id) < ($2, $3, $4) ORDER BY at DESC, user_id DESC, id DESC LIMIT $5`,
		[]any{ms(q.Since), before, q.Before.User, q.Before.ID, q.Limit}
	if !q.All {
		query, args = `SELECT `+auditColumns+
			` FROM audit WHERE user_id = $1 AND at >= $2 AND (at, id) < ($3, $4) ORDER BY at DESC, id DESC LIMIT $5`,
			[]any{q.User, ms(q.Since), before, q.Before.ID, q.Limit}
	}
	return list(s.one(ctx), scanAudit, query, args...)
}

// PutAudit writes a row; see store.AuditStore.
func (s *Store) PutAudit(ctx context.Context, user core.UserID, r audit.Row) error {
	return s.update(ctx, "write the audit", user, func(t *tx) { t.auditAction(r) })
}

// SweepAudit removes old rows; see store.AuditStore.
func (s *Store) SweepAudit(ctx context.Context, before time.Time) (int, error) {
	var n int64
	err := s.writeShared(ctx, "sweep the audit", func(t *transaction) {
		n = t.count(`DELETE FROM audit WHERE at < $1`, ms(before))
	})
	return int(n), err
}

// ExpireApprovals closes expired approvals; see store.AuditStore.
func (s *Store) ExpireApprovals(ctx context.Context, now time.Time) (int, error) {
	late, err := list(s.one(ctx), scanApproval, `SELECT `+approvalColumns+
		` FROM approvals WHERE state = 'open' AND expires_at <= $1 ORDER BY expires_at LIMIT 500`, ms(now))
	n := 0
	for _, a := range late {
		if err != nil {
			return n, err
		}
		done := false
		err = s.update(ctx, "close a late question", a.User, func(t *tx) {
			if done = t.count(
				`UPDATE approvals SET state = 'expired' WHERE user_id = $1 AND id = $2 AND state = 'open' AND expires_at <= $3`,
				t.user, a.ID, ms(now)) > 0; done {
				t.audit(audit.Row{At: a.Expires, Via: core.ViaGateway, What: audit.Question, Object: "question",
					IDs: []int64{int64(a.ID)}, Tool: toolOf(a), Result: audit.Expired})
			}
		})
		if errors.Is(err, core.ErrNotFound) {
			err = nil // the user is gone, and the approval with them
		}
		if done && err == nil {
			n++
		}
	}
	return n, wrap("close late questions", err)
}

// toolOf returns the tool that an approval is about, or "".
func toolOf(a effect.Approval) string {
	var s effect.CallSubject
	if a.Kind != effect.ApproveCall || json.Unmarshal([]byte(a.Subject), &s) != nil {
		return ""
	}
	return s.Call.Name
}

// changedSettings returns the names of the settings that differ from those at the start of the transaction.
func (t *tx) changedSettings(now core.Settings) string {
	var was, is map[string]json.RawMessage
	_ = json.Unmarshal([]byte(t.settings), &was) // what cannot be read has no names
	_ = json.Unmarshal([]byte(text(now)), &is)
	names := map[string]bool{}
	for _, all := range []map[string]json.RawMessage{was, is} {
		for name := range all {
			if string(was[name]) != string(is[name]) {
				names[name] = true
			}
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), ",")
}

// auditEffects audits effects that change an account or redact. Approvals are audited where they are stored.
func (t *tx) auditEffects(effects []core.Effect) {
	var forgotten []int64
	for _, e := range effects {
		switch e := e.(type) {
		case effect.Redact:
			forgotten = append(forgotten, int64(e.Message))
		case effect.SetSettings:
			t.auditAction(audit.Row{What: audit.Settings, Tool: t.changedSettings(e.Settings)})
		case effect.SetName:
			t.did(audit.Name, "")
		case effect.Deny:
			t.did(audit.Deny, "")
		case effect.NewLink:
			t.did(audit.LinkCode, "")
		case effect.NewWebLink:
			t.did(audit.SignInLink, "user", int64(t.user))
		case effect.UseLink:
			t.did(audit.LinkTry, "identity", int64(e.Identity))
		case effect.WrongLink:
			t.auditAction(audit.Row{What: audit.LinkTry, Result: audit.Refused})
		case effect.Unlink:
			t.did(audit.Unlink, "identity", int64(e.Identity))
		case effect.Tell:
			t.auditAction(e.Row)
		}
	}
	if len(forgotten) > 0 {
		t.did(audit.Forget, "message", forgotten...)
	}
}

// auditApproval writes a row for a step of an approval.
func (t *tx) auditApproval(a effect.Approval, at time.Time, result audit.Result) {
	by, ok := t.acts()
	if !ok {
		by.Via, by.ID = core.ViaIdentity, int64(a.Identity) // the only place to ask and answer it
	}
	t.audit(audit.Row{At: at, Via: by.Via, ViaID: by.ID, What: audit.Question, Object: "question",
		IDs: []int64{int64(a.ID)}, Tool: toolOf(a), Result: result})
}

package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/everthread/everthread/core"
)

// maxAuditIDs bounds the ids of a row.
const maxAuditIDs = 100

// by says who acts in the transaction, where the caller's context does not.
func (t *tx) by(a core.Actor) {
	if known, ok := core.ActorOf(t.ctx); ok {
		a.Via, a.ID = known.Via, known.ID
	}
	t.actor = a
}

// acts reports who acts: as by has it, else as the caller's context has it.
func (t *tx) acts() (core.Actor, bool) {
	if t.actor.Via != "" {
		return t.actor, true
	}
	return core.ActorOf(t.ctx)
}

// exercised writes down what was done. Where nobody is known to act, the gateway
// did it by itself, and no row is written.
func (t *tx) exercised(r core.AuditRow) error {
	a, ok := t.acts()
	if !ok {
		return nil
	}
	if r.At.IsZero() {
		r.At = a.At
	}
	if r.Via == "" {
		r.Via, r.ViaID = a.Via, a.ID
	}
	return t.audit(r)
}

// audit writes a row of the transaction's user.
func (t *tx) audit(r core.AuditRow) error {
	ids := r.IDs[:min(len(r.IDs), maxAuditIDs)]
	if ids == nil {
		ids = []int64{}
	}
	return t.exec(
		`INSERT INTO audit (user_id, id, at, via, via_id, what, object, ids, tool, result) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		t.user, t.nextID(), ms(r.At), string(r.Via), r.ViaID, string(r.What), r.Object, text(ids), r.Tool,
		string(cmp.Or(r.Result, core.ResultDone)))
}

// did is exercised for what is named by ids of one kind.
func (t *tx) did(what core.AuditWhat, object string, ids ...int64) error {
	return t.exercised(core.AuditRow{What: what, Object: object, IDs: ids})
}

// exercisedBy0 writes a row of user 0, after whom nobody else is locked: of a user
// who is gone.
func (t *tx) exercisedBy0(r core.AuditRow) error {
	if t.user == 0 {
		return t.exercised(r)
	}
	if _, ok := t.acts(); !ok {
		return nil
	}
	if err := t.send(); err != nil {
		return err
	}
	zero := t.beside()
	if err := zero.ask(zero.lock()); err != nil {
		return err
	}
	if err := zero.exercised(r); err != nil {
		return err
	}
	return zero.flushAll()
}

// born writes down that a user was made, as the first row of theirs.
func (t *tx) born(user core.UserID) error {
	if _, ok := t.acts(); !ok {
		return nil
	}
	if err := t.send(); err != nil {
		return err
	}
	theirs := t.beside()
	theirs.user = user
	if err := theirs.ask(theirs.lock()); err != nil {
		return err
	}
	if err := theirs.did(core.AuditUserMade, "user", int64(user)); err != nil {
		return err
	}
	return theirs.flushAll()
}

const auditColumns = `user_id, id, at, via, via_id, what, object, ids, tool, result`

func scanAudit(row scanner) (r core.AuditRow, err error) {
	var when int64
	var ids string
	err = row.Scan(&r.User, &r.ID, &when, (*string)(&r.Via), &r.ViaID, (*string)(&r.What), &r.Object, &ids, &r.Tool,
		(*string)(&r.Result))
	if err != nil {
		return r, found(err)
	}
	r.At = at(when)
	return r, unjson(ids, &r.IDs)
}

// Audit lists rows; see core.AuditStore.
func (s *Store) Audit(ctx context.Context, q core.AuditQuery) ([]core.AuditRow, error) {
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
	rows, err := s.one(ctx).rows(query, args...)
	return collect(rows, err, scanAudit)
}

// PutAudit writes a row; see core.AuditStore.
func (s *Store) PutAudit(ctx context.Context, user core.UserID, r core.AuditRow) error {
	return s.updateFrozen(ctx, "write the audit", user, func(t *tx) error { return t.exercised(r) })
}

// SweepAudit removes old rows; see core.AuditStore.
func (s *Store) SweepAudit(ctx context.Context, before time.Time) (int, error) {
	var n int64
	err := s.writeShared(ctx, "sweep the audit", func(q querier) error {
		res, err := q.exec(`DELETE FROM audit WHERE at < $1`, ms(before))
		if err != nil {
			return err
		}
		n, err = res.RowsAffected()
		return err
	})
	return int(n), err
}

// ExpireApprovals closes questions whose time is over; see core.AuditStore.
func (s *Store) ExpireApprovals(ctx context.Context, now time.Time) (int, error) {
	rows, err := s.one(ctx).rows(`SELECT `+approvalColumns+
		` FROM approvals WHERE state = 'open' AND expires_at <= $1 ORDER BY expires_at LIMIT 500`, ms(now))
	late, err := collect(rows, err, scanApproval)
	n := 0
	for _, a := range late {
		if err != nil {
			return n, err
		}
		done := false
		err = s.update(ctx, "close a late question", a.User, func(t *tx) error {
			changed, err := t.count(
				`UPDATE approvals SET state = 'expired' WHERE user_id = $1 AND id = $2 AND state = 'open' AND expires_at <= $3`,
				t.user, a.ID, ms(now))
			if done = changed > 0; err != nil || !done {
				return err
			}
			return t.audit(core.AuditRow{At: a.Expires, Via: core.ViaGateway, What: core.AuditQuestion, Object: "question",
				IDs: []int64{int64(a.ID)}, Tool: toolOf(a), Result: core.ResultExpired})
		})
		if errors.Is(err, core.ErrMoving) || errors.Is(err, core.ErrNotFound) {
			err = nil // the move keeps or drops it
		}
		if done && err == nil {
			n++
		}
	}
	return n, wrap("close late questions", err)
}

// toolOf is the tool that a question is about.
func toolOf(a core.Approval) string {
	var s core.CallSubject
	if a.Kind != core.ApproveCall || json.Unmarshal([]byte(a.Subject), &s) != nil {
		return ""
	}
	return s.Call.Name
}

// copyAudit copies what was done, with the numbers that things have from now on.
// Nothing goes with a split: what was done to an account stays told there.
func (p pair) copyAudit(m *move, g keyRange) error {
	rows, err := p.rows(`SELECT `+auditColumns+` FROM audit WHERE user_id = $1 AND id > $2 AND id <= $3`, m.From,
		g.after[0], g.through[0])
	list, err := collect(rows, err, scanAudit)
	for _, r := range list {
		if err != nil {
			return err
		}
		if r.Via == core.ViaIdentity {
			r.ViaID = g.numbers.other(r.ViaID)
		}
		for i, id := range r.IDs {
			switch r.Object {
			case "message":
				r.IDs[i] = int64(g.numbers.messageID(core.MessageID(id)))
			case "identity", "turn", "question":
				r.IDs[i] = g.numbers.other(id)
			}
		}
		err = p.exec(
			`INSERT INTO audit (user_id, id, at, via, via_id, what, object, ids, tool, result) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
			m.Into, p.into.nextID(), ms(r.At), string(r.Via), r.ViaID, string(r.What), r.Object, text(r.IDs),
			r.Tool, string(r.Result))
	}
	return err
}

// told writes down what effects did that change an account, forget or decide. A
// question and its answer are written down where they are stored.
func (t *tx) told(effects []core.Effect) error {
	var forgotten []int64
	for _, e := range effects {
		var err error
		switch e := e.(type) {
		case core.Redact:
			forgotten = append(forgotten, int64(e.Message))
		case core.SetSettings:
			err = t.did(core.AuditSettings, "")
		case core.SetName:
			err = t.did(core.AuditName, "")
		case core.Deny:
			err = t.did(core.AuditDeny, "")
		case core.NewLink:
			err = t.did(core.AuditLinkCode, "")
		case core.NewWebLink:
			err = t.did(core.AuditSignInLink, "user", int64(t.user))
		case core.UseLink:
			err = t.did(core.AuditLinkTry, "identity", int64(e.Identity))
		case core.WrongLink:
			err = t.exercised(core.AuditRow{What: core.AuditLinkTry, Result: core.ResultRefused})
		case core.Unlink:
			err = t.did(core.AuditUnlink, "identity", int64(e.Identity))
		case core.Split:
			err = t.did(core.AuditSplit, "identity", int64(e.Identity))
		case core.Tell:
			err = t.exercised(e.Row)
		}
		if err != nil {
			return err
		}
	}
	if len(forgotten) == 0 {
		return nil
	}
	return t.did(core.AuditForget, "message", forgotten...)
}

// question writes down what became of a question.
func (t *tx) question(a core.Approval, at time.Time, result core.AuditResult) error {
	by, ok := t.acts()
	if !ok {
		by.Via, by.ID = core.ViaIdentity, int64(a.Identity) // it is asked and answered there only
	}
	return t.audit(core.AuditRow{At: at, Via: by.Via, ViaID: by.ID, What: core.AuditQuestion, Object: "question",
		IDs: []int64{int64(a.ID)}, Tool: toolOf(a), Result: result})
}

package sqlstore

import (
	"context"
	"encoding/json"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/audit"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

const approvalColumns = `user_id, id, code, kind, state, identity_id, message_id, turn_id, word, subject, asked_at, expires_at, decided_at`

func scanApproval(row scanner) (a effect.Approval, err error) {
	return a, found(row.Scan(&a.User, &a.ID, &a.Code, &a.Kind, &a.State, &a.Identity, &a.Message, &a.Turn, &a.Word,
		&a.Subject, asTime(&a.AskedAt), asTime(&a.Expires), asTime(&a.DecidedAt)))
}

// Approval returns an approval; see store.ApprovalReader.
func (s *Store) Approval(ctx context.Context, user core.UserID, id core.ApprovalID) (effect.Approval, error) {
	a, err := scanApproval(s.one(ctx).row(`SELECT `+approvalColumns+` FROM approvals WHERE user_id = $1 AND id = $2`, user,
		id))
	return a, wrap("read approval", err)
}

// Approvals lists a user's approvals, newest first.
func (s *Store) Approvals(ctx context.Context, user core.UserID, before core.ApprovalID,
	limit int) ([]effect.Approval, error) {
	if before == 0 {
		before = 1 << 62
	}
	return list(s.one(ctx), scanApproval, `SELECT `+approvalColumns+
		` FROM approvals WHERE user_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3`, user, before, limit)
}

// OpenApprovals lists approvals that an identity may answer; see store.ApprovalReader.
func (s *Store) OpenApprovals(ctx context.Context, user core.UserID, identity core.IdentityID,
	now time.Time) (open []effect.Approval, passed bool, err error) {
	err = s.view(ctx, "read approvals", func(q querier) error {
		if open, err = list(q, scanApproval, `SELECT `+approvalColumns+
			` FROM approvals WHERE user_id = $1 AND identity_id = $2 AND state = 'open' AND expires_at > $3 ORDER BY id`, user, identity, ms(now)); err != nil || len(open) == 0 {
			return err
		}
		last := open[len(open)-1]
		return q.row(`SELECT EXISTS (SELECT 1 FROM messages WHERE user_id = $1 AND id > $2 AND role = 'assistant' AND body <> '')
			OR EXISTS (SELECT 1 FROM deliveries WHERE user_id = $1 AND id > $3 AND identity_id = $4 AND message_id <> $2)`,
			user, last.Message, last.ID, identity).Scan(&passed)
	})
	return open, passed, err
}

// askApproval stores an approval, whose question is the last stored message.
func (t *tx) askApproval(a effect.Approval) {
	a.ID = core.ApprovalID(t.nextID())
	t.auditApproval(a, a.AskedAt, audit.Asked)
	t.exec(`INSERT INTO approvals (user_id, id, kind, state, identity_id, message_id, turn_id, word, subject, asked_at, expires_at, code)
		VALUES ($1, $2, $3, 'open', $4, $5, $6, $7, $8, $9, $10, $11)`, t.user, a.ID, string(a.Kind), a.Identity,
		t.lastMessage, a.Turn, a.Word, a.Subject, ms(a.AskedAt), ms(a.Expires), a.Code)
}

// decide answers an approval, once.
func (t *tx) decide(e effect.Decide) {
	state, result := effect.ApprovalNo, audit.No
	if e.Yes {
		state, result = effect.ApprovalYes, audit.Yes
	}
	a, err := scanApproval(t.row(`UPDATE approvals SET state = $3, decided_at = $4 WHERE user_id = $1 AND id = $2 AND identity_id = $5 AND state = 'open' AND expires_at > $4
		RETURNING `+approvalColumns, t.user, e.Approval, string(state), ms(e.At), e.Identity))
	if err != nil {
		t.fail(core.ErrRefused)
	}
	t.auditApproval(a, e.At, result)
}

// allowTool lets the tool of a question run without one until a time; zero: it asks again.
func (t *tx) allowTool(question core.ApprovalID, until, now time.Time) (tool string) {
	var s effect.CallSubject
	t.fail(unjson(valueOf[string](t, `SELECT COALESCE(MAX(subject), '{}') FROM approvals WHERE user_id = $1 AND id = $2 AND kind = 'call'`,
		t.user, question), &s))
	t.settings = text(t.ownSettings().Allow(s.Call.Name, until, now))
	t.exec(`UPDATE users SET settings = $2 WHERE id = $1`, t.user, t.settings)
	return s.Call.Name
}

// useYes spends a yes to an account change.
func (t *tx) useYes(e effect.UseYes) {
	t.execOr(core.ErrRefused,
		`UPDATE approvals SET state = 'used' WHERE user_id = $1 AND id = $2 AND kind = 'account' AND state = 'yes' AND decided_at > $3`,
		t.user, e.Approval, ms(e.At.Add(-core.AccountLife)))
}

// recordApproved uses up the yes to a call that begins, or keeps the result of a call that has ended.
func (t *tx) recordApproved(c store.CallRecord) {
	if c.Text == "" {
		t.execOr(core.ErrRefused, `UPDATE approvals SET state = 'used' WHERE user_id = $1 AND id = $2 AND kind = 'call'
			AND state = 'yes' AND subject <> '{}'`, t.user, c.Approval)
		return
	}
	for _, a := range listOf(t, scanApproval, `SELECT `+approvalColumns+
		` FROM approvals WHERE user_id = $1 AND id = $2 AND state = 'used' AND subject <> '{}'`, t.user, c.Approval) {
		var s effect.CallSubject
		t.fail(json.Unmarshal([]byte(a.Subject), &s))
		s.Result = c.Text
		t.exec(`UPDATE approvals SET subject = $3 WHERE user_id = $1 AND id = $2`, t.user, a.ID, text(s))
	}
}

// withdraw takes back a yes to a call that has not begun, as its message changed, and what it allowed for longer.
func (t *tx) withdraw(m core.Message, now time.Time) {
	if m.Decides != nil && m.Decides.Always {
		t.allowTool(m.Decides.Approval, time.Time{}, now)
	}
	if m.Decides != nil {
		t.exec(`UPDATE approvals SET state = 'no' WHERE user_id = $1 AND id = $2 AND kind = 'call' AND state = 'yes'`, t.user,
			m.Decides.Approval)
	}
}

// redactApprovals empties the approvals requested or answered by a message, or requested by the turn that read it. Open
// ones are closed.
func (t *tx) redactApprovals(m core.Message) {
	const empty = `UPDATE approvals SET subject = '{}', state = CASE WHEN state = 'open' THEN 'no' ELSE state END WHERE user_id = $1 AND `
	t.exec(empty+`message_id = $2`, t.user, m.ID)
	if m.Decides != nil {
		t.exec(empty+`id = $2`, t.user, m.Decides.Approval)
	}
	if m.Turn != 0 {
		t.exec(empty+`turn_id = $2 AND turn_id > 0`, t.user, m.Turn)
	}
}

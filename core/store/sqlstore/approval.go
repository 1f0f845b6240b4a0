package sqlstore

import (
	"context"
	"errors"
	"time"

	"github.com/everthread/everthread/core"
)

const approvalColumns = `user_id, id, code, kind, state, identity_id, message_id, turn_id, word, subject, asked_at, expires_at, decided_at`

func scanApproval(row scanner) (core.Approval, error) {
	var a core.Approval
	var subject string
	var asked, expires, decided int64
	err := row.Scan(&a.User, &a.ID, &a.Code, (*string)(&a.Kind), (*string)(&a.State), &a.Identity, &a.Message, &a.Turn,
		&a.Word, &subject, &asked, &expires, &decided)
	a.Subject, a.AskedAt, a.Expires, a.DecidedAt = subject, at(asked), at(expires), at(decided)
	return a, found(err)
}

// Approval returns a question; see core.ApprovalReader.
func (s *Store) Approval(ctx context.Context, user core.UserID, id core.ApprovalID) (core.Approval, error) {
	a, err := scanApproval(s.one(ctx).row(`SELECT `+approvalColumns+` FROM approvals WHERE user_id = $1 AND id = $2`, user,
		id))
	return a, wrap("read approval", err)
}

// Approvals lists a user's questions, newest first.
func (s *Store) Approvals(ctx context.Context, user core.UserID, before core.ApprovalID,
	limit int) ([]core.Approval, error) {
	if before == 0 {
		before = 1 << 62
	}
	rows, err := s.one(ctx).rows(`SELECT `+approvalColumns+
		` FROM approvals WHERE user_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3`, user, before, limit)
	return collect(rows, err, scanApproval)
}

// OpenApprovals lists what an identity may answer; see core.ApprovalReader.
func (s *Store) OpenApprovals(ctx context.Context, user core.UserID, identity core.IdentityID, thread core.ThreadID,
	now time.Time) (open []core.Approval, newest core.MessageID, err error) {
	err = s.view(ctx, "read approvals", func(q querier) error {
		rows, err := q.rows(`SELECT `+approvalColumns+
			` FROM approvals WHERE user_id = $1 AND identity_id = $2 AND state = 'open' AND expires_at > $3 ORDER BY id`,
			user, identity, ms(now))
		if open, err = collect(rows, err, scanApproval); err != nil || len(open) == 0 {
			return err
		}
		if thread, err = threadThere(q, user, thread); err != nil {
			return err
		}
		rows, err = q.rows(
			`SELECT id, role, kind FROM messages WHERE user_id = $1 AND thread_id = $2 ORDER BY shown DESC, id DESC LIMIT 20`,
			user, thread)
		_, err = collect(rows, err, func(r scanner) (struct{}, error) {
			var id core.MessageID
			var role core.Role
			var kind core.MessageKind
			err := r.Scan(&id, (*string)(&role), (*string)(&kind))
			if role == core.RoleAssistant && kind == core.KindChat {
				newest = max(newest, id)
			}
			return struct{}{}, err
		})
		return err
	})
	return open, newest, err
}

// askApproval stores a question, which is the last message stored so far.
func (t *tx) askApproval(a core.Approval) error {
	a.ID = core.ApprovalID(t.nextID())
	if err := t.question(a, a.AskedAt, core.ResultAsked); err != nil {
		return err
	}
	return t.exec(
		`INSERT INTO approvals (user_id, id, kind, state, identity_id, message_id, turn_id, word, subject, asked_at, expires_at, code)
		VALUES ($1, $2, $3, 'open', $4, $5, $6, $7, $8, $9, $10, $11)`, t.user, a.ID, string(a.Kind), a.Identity,
		t.lastMessage, a.Turn, a.Word, a.Subject, ms(a.AskedAt), ms(a.Expires), a.Code)
}

// decide answers a question, once.
func (t *tx) decide(e core.Decide) error {
	state, result := core.ApprovalNo, core.ResultNo
	if e.Yes {
		state, result = core.ApprovalYes, core.ResultYes
	}
	a, err := scanApproval(
		t.row(
			`UPDATE approvals SET state = $3, decided_at = $4 WHERE user_id = $1 AND id = $2 AND identity_id = $5 AND state = 'open' AND expires_at > $4
		RETURNING `+approvalColumns, t.user, e.Approval, string(state), ms(e.At), e.Identity))
	if errors.Is(err, core.ErrNotFound) {
		return core.ErrRefused
	}
	if err != nil {
		return err
	}
	return t.question(a, e.At, result)
}

// useYes uses a yes to an account change up.
func (t *tx) useYes(e core.UseYes) error {
	n, err := t.count(
		`UPDATE approvals SET state = 'used' WHERE user_id = $1 AND id = $2 AND kind = 'account' AND state = 'yes' AND decided_at > $3`,
		t.user, e.Approval, ms(e.At.Add(-core.AccountLife)))
	if err == nil && n == 0 {
		return core.ErrRefused
	}
	return err
}

// redactApprovals empties the questions that a message, or the turn that read it,
// asked. An open one is closed.
func (t *tx) redactApprovals(m core.Message) error {
	const empty = `UPDATE approvals SET subject = '{}', state = CASE WHEN state = 'open' THEN 'no' ELSE state END WHERE user_id = $1 AND `
	if err := t.exec(empty+`message_id = $2`, t.user, m.ID); err != nil || m.Turn == 0 {
		return err
	}
	return t.exec(empty+`turn_id = $2 AND turn_id > 0`, t.user, m.Turn)
}

package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/everthread/everthread/core"
)

// speakJob enqueues the job that speaks the answer of a turn, if requested.
func (t *tx) speakJob(r core.Reply, ids []core.MessageID) error {
	if !r.Speak || r.State != core.TurnDone || len(ids) == 0 || len(r.Messages) == 0 {
		return nil
	}
	return t.enqueue(core.NewJob{Queue: core.QueueSpeak, Key: core.SpeakKey, Ref: int64(ids[len(ids)-1]),
		Payload: json.RawMessage(text(r.Turn.Address)), RunAt: r.Now})
}

// Spoken adds a recording to a message; see core.SpeechStore.
func (s *Store) Spoken(ctx context.Context, x core.Spoken) error {
	gone := false
	err := s.update(ctx, "keep speech", x.User, func(t *tx) error {
		if err := t.holds(x.Lease); err != nil {
			return err
		}
		m, err := t.message(x.Message)
		if err != nil {
			return err
		}
		if gone = m.Redacted || m.Kind != core.KindChat; gone {
			return t.end(x.Lease, "")
		}
		m.Attachments = append(m.Attachments, x.Attachment)
		if err := t.putExtra(m); err != nil {
			return err
		}
		if _, err := t.deliver(m.ID, x.Delivery, nil, x.Now); err != nil {
			return err
		}
		return errors.Join(t.dropFailedSpeech(), t.refresh(m.Thread), t.end(x.Lease, ""))
	})
	if err == nil && gone {
		return core.ErrNotFound
	}
	return err
}

// Unspoken ends the job of an answer that could not be spoken; see core.SpeechStore. Only the
// last failed job is kept.
func (s *Store) Unspoken(ctx context.Context, user core.UserID, l core.Lease, cause string) error {
	return s.update(ctx, "give speech up", user, func(t *tx) error {
		if err := t.holds(l); err != nil {
			return err
		}
		return errors.Join(t.dropFailedSpeech(), t.end(l, cause))
	})
}

// dropFailedSpeech removes the job of an earlier answer that could not be spoken.
func (t *tx) dropFailedSpeech() error {
	return t.exec(`DELETE FROM jobs WHERE user_id = $1 AND key = $2 AND state = 'dead'`, t.user, core.SpeakKey)
}

// SpeechTrouble returns why the last answer was not spoken; see core.SpeechStore.
func (s *Store) SpeechTrouble(ctx context.Context, user core.UserID) (cause string, since time.Time, err error) {
	err = s.one(ctx).row(`SELECT error, since FROM jobs WHERE user_id = $1 AND key = $2 AND state = 'dead'
		ORDER BY id DESC LIMIT 1`, user, core.SpeakKey).Scan(&cause, asTime(&since))
	return cause, since, wrap("read speech", optional(err))
}

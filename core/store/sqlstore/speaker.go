package sqlstore

import (
	"context"
	"regexp"

	"github.com/everthread/everthread/core"
)

// speaker returns who wrote a message of a group, with their number, and notes that it is their newest. A name that others
// have there ends in the number.
func (t *tx) speaker(s core.Speaker, message core.MessageID) *core.Speaker {
	if !t.find(&s.Number, `UPDATE speakers SET name = $3, last_message = $4 WHERE user_id = $1 AND key = $2 RETURNING id`,
		t.user, s.Key, s.Name, message) {
		t.get(&s.Number, `INSERT INTO speakers (user_id, id, key, name, last_message)
			VALUES ($1, COALESCE((SELECT MAX(id) FROM speakers WHERE user_id = $1), 0) + 1, $2, $3, $4) RETURNING id`,
			t.user, s.Key, s.Name, message)
	}
	// In a RETURNING clause SQLite would read all members for it.
	if valueOf[bool](t, `SELECT EXISTS (SELECT 1 FROM speakers WHERE user_id = $1 AND name = $2 AND id <> $3)`, t.user, s.Name,
		s.Number) || numbered.MatchString(s.Name) {
		s.Name = s.Numbered()
	}
	return &s
}

// numbered matches names that look like one with the number of a member, which somebody may have chosen.
var numbered = regexp.MustCompile(`\(\d+\)$`)

// Speaker returns a member of a group; see store.SpeakerStore.
func (s *Store) Speaker(ctx context.Context, group core.UserID, key string) (number int64, last core.MessageID,
	err error) {
	err = s.one(ctx).row(`SELECT id, last_message FROM speakers WHERE user_id = $1 AND key = $2`, group, key).Scan(&number,
		&last)
	return number, last, found(err)
}

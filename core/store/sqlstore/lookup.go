package sqlstore

import (
	"context"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/audit"
	"github.com/everthread/everthread/core/effect"
)

// Rows are keyed by user first. Values from outside name no user: addresses, tokens, event ids.
// The tables addresses, tokens and event_ids map them to their user, and keep them unique; they
// change in the transaction of the rows that they lead to.

// Kinds of tokens, besides the kinds of codes.
const (
	tokenSession = "session"
	tokenKey     = "key"
)

// bearerOf returns the user of the hash of a secret, and the id of the session or key.
func bearerOf(q reader, kind, hash string) (user core.UserID, id int64, err error) {
	err = found(q.row(`SELECT user_id, id FROM tokens WHERE kind = $1 AND hash = $2`, kind, hash).Scan(&user, &id))
	return user, id, err
}

// codeOf returns a code of any user by its kind and hash.
func codeOf(q reader, kind effect.CodeKind, hash string) (effect.Code, error) {
	user, _, err := bearerOf(q, string(kind), hash)
	if err != nil {
		return effect.Code{}, err
	}
	return scanCode(q.row(`SELECT `+codeColumns+` FROM codes WHERE user_id = $1 AND kind = $2 AND hash = $3`, user,
		string(kind), hash))
}

// putToken maps the hash of a secret to the user; id identifies the session or key.
func (t *tx) putToken(kind, hash string, id int64) {
	t.exec(`INSERT INTO tokens (kind, hash, user_id, id) VALUES ($1, $2, $3, $4)`, kind, hash, t.user, id)
}

// dropTokens removes the tokens of the sessions or keys of a table that match where. The caller
// deletes these next. $1 is the user.
func (t *tx) dropTokens(kind, table, where string, args ...any) {
	t.exec(`DELETE FROM tokens WHERE kind = '`+kind+`'
		AND hash IN (SELECT hash FROM `+table+` WHERE user_id = $1`+where+`)`, append([]any{t.user}, args...)...)
}

// dropCodes removes the codes of a kind of a user, or of strangers, that match where. $1 is the user and $2 the kind.
func (t *tx) dropCodes(user core.UserID, kind effect.CodeKind, where string, args ...any) {
	of := ` WHERE user_id = $1 AND kind = $2` + where
	args = append([]any{user, string(kind)}, args...)
	t.execEach([]string{`DELETE FROM tokens WHERE (kind, hash) IN (SELECT kind, hash FROM codes` + of + `)`,
		`DELETE FROM codes` + of}, args...)
}

// admission is the result of admitting an event: already known, new, or held until now.
type admission int

const (
	eventKnown admission = iota
	eventNew
	eventReleased
)

// admits returns the statement that admits an event for a user, unless it is known; keep stores the event itself.
func admits(user core.UserID, e core.Inbound, how *admission) Statement {
	return Statement{Query: `INSERT INTO event_ids (channel, account, event_id, user_id) VALUES ($1, $2, $3, $4)
		ON CONFLICT (channel, account, event_id) DO NOTHING RETURNING 1`, Args: []any{e.Address.Channel, e.Address.Account, e.EventID, user},
		Scan: func(r Row) error {
			var one int
			err := r.Scan(&one)
			if *how = eventKnown; err == nil {
				*how = eventNew
			}
			return optional(err)
		}}
}

// unhold gives a known event to the user, if it was held for its address.
func (t *tx) unhold(e core.Inbound) admission {
	if t.count(`UPDATE event_ids SET user_id = $4
		WHERE channel = $1 AND account = $2 AND event_id = $3 AND user_id = 0 AND EXISTS (SELECT 1 FROM events h
			WHERE h.user_id = 0 AND h.message_id = 0 AND h.channel = $1 AND h.account = $2 AND h.event_id = $3 AND h.state = 'held')`,
		e.Address.Channel, e.Address.Account, e.EventID, t.user) == 0 {
		return eventKnown
	}
	return eventReleased
}

// admit admits an event, held or not.
func (t *tx) admit(e core.Inbound, state string) (how admission) {
	if t.ask(admits(t.user, e, &how)); how == eventKnown && state != "held" {
		how = t.unhold(e)
	}
	return how
}

// keep stores an admitted event, with its message or 0. withDay: its payload is removed with the day of the message.
func (t *tx) keep(e core.Inbound, how admission, m core.MessageID, state string, withDay bool, now time.Time) {
	a := e.Address
	if how == eventReleased {
		t.get(columns{&a.External, asTime(&now)}, `DELETE FROM events WHERE user_id = 0 AND message_id = 0 AND channel = $1 AND account = $2 AND event_id = $3
			RETURNING external, received_at`, a.Channel, a.Account, e.EventID)
	}
	t.exec(`INSERT INTO events (user_id, message_id, channel, account, event_id, external, state, received_at, payload, with_day)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`, t.user, m, a.Channel, a.Account, e.EventID, a.External, state, ms(now),
		nullable(e.Raw), flag(withDay))
}

// takeIn admits and stores an event, and reports whether it is new.
func (t *tx) takeIn(e core.Inbound, m core.MessageID, state string, now time.Time) bool {
	how := t.admit(e, state)
	if how != eventKnown {
		t.keep(e, how, m, state, false, now)
	}
	return how != eventKnown
}

func nullable(b []byte) any {
	if len(b) == 0 {
		return nil
	}
	return b
}

// PutCode stores a code; of CodeOwner there is at most one.
func (s *Store) PutCode(ctx context.Context, c effect.Code) error {
	if c.Kind == effect.CodeWeb {
		return s.update(ctx, "put code", c.User, func(t *tx) {
			t.newWebLink(c)
			t.did(audit.SignInLink, "user", int64(t.user))
		})
	}
	if c.Kind == effect.CodeConnect || c.Kind == effect.CodeConsent {
		return s.update(ctx, "put code", c.User, func(t *tx) {
			t.requirePerson()
			t.putCode(c)
		})
	}
	if c.Kind != effect.CodeOwner {
		return s.transact(ctx, "put code", tx{unlocked: true}, func(t *tx) { t.putCode(c) })
	}
	return s.update(ctx, "put code", 0, func(t *tx) {
		t.dropCodes(0, effect.CodeOwner, "")
		t.putCode(c)
	})
}

func (t *tx) putCode(c effect.Code) {
	t.exec(`INSERT INTO tokens (kind, hash, user_id) VALUES ($1, $2, $3)`, string(c.Kind), c.Hash, c.User)
	t.exec(`INSERT INTO codes (user_id, kind, hash, hint, channel, account, external, name, created_at, expires_at, grouped)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`, c.User, string(c.Kind), c.Hash, c.Hint, c.Address.Channel, c.Address.Account, c.Address.External, c.Name, ms(c.Created), ms(c.Expires), flag(c.Group))
}

const codeColumns = `kind, hash, hint, user_id, channel, account, external, name, created_at, expires_at, grouped`

func scanCode(row scanner) (c effect.Code, err error) {
	return c, found(row.Scan(&c.Kind, &c.Hash, &c.Hint, &c.User, &c.Address.Channel, &c.Address.Account,
		&c.Address.External, &c.Name, asTime(&c.Created), asTime(&c.Expires), &c.Group))
}

// Codes lists valid codes of a kind, oldest first.
func (s *Store) Codes(ctx context.Context, kind effect.CodeKind, now time.Time) ([]effect.Code, error) {
	return list(s.one(ctx), scanCode, `SELECT `+codeColumns+
		` FROM codes WHERE kind = $1 AND (expires_at = 0 OR expires_at > $2) ORDER BY created_at`, string(kind), ms(now))
}

// Code returns a valid code of a kind without using it; see store.CodeStore.
func (s *Store) Code(ctx context.Context, kind effect.CodeKind, hash string, now time.Time) (c effect.Code, err error) {
	err = s.view(ctx, "read code", func(q querier) (err error) {
		c, err = validCode(q, kind, hash, now)
		return err
	})
	return c, err
}

// UseCode uses up a code and returns it.
func (s *Store) UseCode(ctx context.Context, kind effect.CodeKind, hash string, now time.Time) (effect.Code, error) {
	var c effect.Code
	err := s.transact(ctx, "use code", tx{unlocked: true}, func(t *tx) { c = t.useCode(kind, hash, now) })
	return c, err
}

// useCode uses up a code of the transaction. core.ErrRefused if it is not valid.
func (t *tx) useCode(kind effect.CodeKind, hash string, now time.Time) effect.Code {
	var user core.UserID
	t.getOr(core.ErrRefused, &user, `DELETE FROM tokens WHERE kind = $1 AND hash = $2 RETURNING user_id`, string(kind), hash)
	c, err := scanCode(t.row(`DELETE FROM codes WHERE user_id = $4 AND kind = $1 AND hash = $2 AND (expires_at = 0 OR expires_at > $3) RETURNING `+codeColumns,
		string(kind), hash, ms(now), user))
	if err != nil {
		t.fail(core.ErrRefused)
	}
	return c
}

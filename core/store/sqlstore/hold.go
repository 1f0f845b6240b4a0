package sqlstore

import (
	"context"
	"encoding/json"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// Hold keeps an event of a stranger; see store.InboundStore.
func (s *Store) Hold(ctx context.Context, h store.Hold) (bool, error) {
	var duplicate bool
	err := s.update(ctx, "hold", 0, func(t *tx) {
		state := "done"
		if h.Keep {
			state = "held"
			h.Event.Raw = []byte(text(h.Event))
		}
		if duplicate = !t.takeIn(h.Event, 0, state, t.heldAfter(h)); duplicate {
			return
		}
		t.changeHeld(h)
		if h.Code != nil {
			t.pushOut(h)
			if t.fullOfCodes(h) {
				return
			}
			t.putCode(*h.Code)
		}
		if h.Delivery != nil {
			t.deliver(0, *h.Delivery, nil, h.Now)
		}
	})
	return duplicate, err
}

// heldAfter returns the time to store as the receipt of an event. A kept one comes after those
// already kept of its address, so that they are released in order.
func (t *tx) heldAfter(h store.Hold) time.Time {
	if !h.Keep {
		return h.Now
	}
	last := valueOf[int64](t, `SELECT COALESCE(MAX(received_at), 0) FROM events WHERE user_id = 0 AND channel = $1 AND account = $2 AND external = $3 AND state = 'held'`,
		h.Event.Address.Channel, h.Event.Address.Account, h.Event.Address.External)
	return at(max(ms(h.Now), last+1))
}

// changeHeld applies an edit or a deletion to a stranger's held messages.
func (t *tx) changeHeld(h store.Hold) {
	e := h.Event
	if e.Kind != core.InEdit && e.Kind != core.InRedaction {
		return
	}
	held := listOf(t, scanHeld,
		`SELECT payload FROM events WHERE user_id = 0 AND channel = $1 AND account = $2 AND external = $3 AND state = 'held' AND payload IS NOT NULL`,
		e.Address.Channel, e.Address.Account, e.Address.External)
	for _, old := range held {
		if old.NativeID != e.Target {
			continue
		}
		state, payload := "done", any(nil)
		if e.Kind == core.InEdit {
			old.Text, old.Raw = e.Text, nil
			state, payload = "held", []byte(text(old))
		}
		t.exec(`UPDATE events SET state = $4, payload = $5 WHERE user_id = 0 AND message_id = 0 AND channel = $1 AND account = $2 AND event_id = $3`,
			e.Address.Channel, e.Address.Account, old.EventID, state, payload)
	}
}

// pushOut removes the oldest codes of an origin to make room for one.
func (t *tx) pushOut(h store.Hold) {
	if h.Origin == "" {
		return
	}
	type code struct{ hash, external string }
	there := listOf(t, fields(func(c *code) []any { return []any{&c.hash, &c.external} }),
		`SELECT hash, external FROM codes WHERE user_id = 0 AND kind = $1 AND channel = $2 AND account = $3 AND substr(external, length(external) - length(CAST($4 AS text)) + 1) = CAST($4 AS text)
		ORDER BY created_at DESC, hash`, string(h.Code.Kind), h.Code.Address.Channel, h.Code.Address.Account, h.Origin)
	for n, c := range there {
		if n >= h.MaxOrigin-1 && c.external != h.Code.Address.External {
			t.dropCodes(0, h.Code.Kind, ` AND hash = $3`, c.hash)
		}
	}
}

// fullOfCodes reports whether an address has a code, or its channel has the most allowed, of people or of groups.
func (t *tx) fullOfCodes(h store.Hold) bool {
	var channel, own int
	a := h.Code.Address
	t.get(columns{&channel, &own}, `SELECT COUNT(*), COALESCE(SUM(CASE WHEN account = $3 AND external = $4 THEN 1 ELSE 0 END), 0) FROM codes
		WHERE user_id = 0 AND kind = $1 AND channel = $2 AND (expires_at = 0 OR expires_at > $5) AND grouped = $6`, string(h.Code.Kind),
		a.Channel, a.Account, a.External, ms(h.Now), flag(h.Code.Group))
	return own > 0 || h.MaxCodes > 0 && channel >= h.MaxCodes
}

// Approved lists held events whose address has come to belong to a user.
func (s *Store) Approved(ctx context.Context, limit int) ([]core.Inbound, error) {
	var out []core.Inbound
	err := s.view(ctx, "read what was held", func(q querier) error {
		list, err := approvedAt(q)
		for a := range until(&err, list) {
			err = addTo(&out, q, scanHeld, `SELECT payload FROM events WHERE user_id = 0 AND channel = $1 AND account = $2 AND external = $3
				AND state = 'held' AND payload IS NOT NULL ORDER BY received_at LIMIT $4`, a.Channel, a.Account, a.External,
				limit-len(out))
		}
		return err
	})
	return out, err
}

// approvedAt lists addresses of users for which events are held.
func approvedAt(q querier) ([]core.Address, error) {
	scan := fields(func(a *core.Address) []any { return []any{&a.Channel, &a.Account, &a.External} })
	return list(q, scan, `SELECT channel, account, external FROM addresses WHERE (channel, account, external) IN
		(SELECT channel, account, external FROM events WHERE user_id = 0 AND state = 'held' AND payload IS NOT NULL)`)
}

func scanHeld(row scanner) (core.Inbound, error) {
	var in core.Inbound
	var raw []byte
	if err := row.Scan(&raw); err != nil {
		return in, err
	}
	in.Held = true
	return in, json.Unmarshal(raw, &in)
}

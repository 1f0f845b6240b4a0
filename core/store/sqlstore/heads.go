package sqlstore

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/everthread/everthread/core"
)

// heads caches texts that are known to be in the table heads, by their hashes. These are few,
// as they are the gateway's own.
type heads struct {
	mu    sync.Mutex
	texts map[string]string
}

// maxHeads bounds the cached texts.
const maxHeads = 256

func (h *heads) get(hash string) (body string, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	body, known = h.texts[hash]
	return body, known
}

func (h *heads) add(texts map[string]string) {
	if len(texts) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.texts == nil || len(h.texts)+len(texts) > maxHeads {
		h.texts = map[string]string{}
	}
	maps.Copy(h.texts, texts)
}

func hashOf(body string) string {
	sum := sha256.Sum256([]byte(body))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// apart returns a copy of an epoch without its shared texts, and these texts by hash.
func apart(e core.Epoch) (core.Epoch, map[string]string) {
	texts := map[string]string{}
	e.Head = slices.Clone(e.Head)
	for i := range e.Head {
		if h := &e.Head[i]; h.Shared() {
			h.Hash = hashOf(h.Text)
			texts[h.Hash], h.Text = h.Text, ""
		}
	}
	return e, texts
}

// putHeads stores texts that are not known to be stored. The order is the same for all, which
// avoids deadlocks as long as a database transaction does so for one user only.
func (t *tx) putHeads(texts map[string]string) {
	for _, hash := range slices.Sorted(maps.Keys(texts)) {
		if _, known := t.s.heads.get(hash); known {
			continue
		}
		t.exec(`INSERT INTO heads (hash, body) VALUES ($1, $2) ON CONFLICT (hash) DO NOTHING`, hash, texts[hash])
		if t.heads == nil {
			t.heads = map[string]string{}
		}
		t.heads[hash] = texts[hash]
	}
}

// putEpoch stores the epoch of a thread; whole while a process is alive that does not know shared texts.
func (t *tx) putEpoch(thread core.ThreadID, e core.Epoch) {
	whole := !t.s.allKnow(headsVersion)
	if !whole {
		var texts map[string]string
		e, texts = apart(e)
		t.putHeads(texts)
	}
	t.exec(`INSERT INTO epochs (user_id, id, thread_id, data, whole) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (user_id, id) DO UPDATE SET data = excluded.data, whole = excluded.whole`, t.user, e.ID, thread, text(e),
		flag(whole))
}

// complete puts the shared texts into the head of an epoch.
func (s *Store) complete(q querier, e *core.Epoch) error {
	for i := range e.Head {
		h := &e.Head[i]
		if h.Hash == "" {
			continue
		}
		body, known := s.heads.get(h.Hash)
		if !known {
			if err := q.row(`SELECT body FROM heads WHERE hash = $1`, h.Hash).Scan(&body); err != nil {
				return fmt.Errorf("read the %s of a prompt: %w", h.Name, err)
			}
			s.heads.add(map[string]string{h.Hash: body})
		}
		h.Text, h.Hash = body, ""
	}
	return nil
}

// ShareHeads stores the shared texts of whole epochs once; see core.Janitor.
func (s *Store) ShareHeads(ctx context.Context, limit int) (int, error) {
	if !s.allKnow(headsVersion) {
		return 0, nil
	}
	type row struct {
		user core.UserID
		id   core.TurnID
	}
	all, err := list(s.one(ctx), fields(func(e *row) []any { return []any{&e.user, &e.id} }),
		`SELECT user_id, id FROM epochs WHERE whole = 1 ORDER BY user_id, id LIMIT $1`, limit)
	moved := 0
	for err == nil && moved < len(all) {
		user, from := all[moved].user, moved
		for moved < len(all) && all[moved].user == user && moved-from < sharedAtOnce {
			moved++
		}
		err = s.update(ctx, "share heads", user, func(t *tx) {
			for _, e := range all[from:moved] {
				t.shareHead(e.id)
			}
		})
		if errors.Is(err, core.ErrMoving) || errors.Is(err, core.ErrNotFound) {
			err = nil
		}
	}
	return moved, err
}

// sharedAtOnce bounds the epochs of one transaction.
const sharedAtOnce = 50

// shareHead moves the shared texts out of an epoch, if it still exists.
func (t *tx) shareHead(id core.TurnID) {
	e, err := epochByID(t, t.user, id)
	if err != nil {
		if !errors.Is(err, core.ErrNotFound) {
			t.fail(err)
		}
		return
	}
	left, texts := apart(*e)
	t.putHeads(texts)
	t.exec(`UPDATE epochs SET data = $3, whole = 0 WHERE user_id = $1 AND id = $2`, t.user, id, text(left))
}

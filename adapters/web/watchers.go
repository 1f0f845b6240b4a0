package web

import (
	"context"
	"sync"

	"github.com/everthread/everthread/core"
)

// watchers tracks the open pages that receive live updates.
type watchers struct {
	mu     sync.Mutex
	ended  bool
	cancel map[core.UserID]map[*context.CancelFunc]struct{}
}

// stay registers a long answer, unless the user already has most of them (0: no limit).
// The returned context ends when the process stops. The caller must call leave.
func (w *watchers) stay(ctx context.Context, user core.UserID, most int) (_ context.Context, leave func(), ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended || most > 0 && len(w.cancel[user]) >= most {
		return ctx, nil, false
	}
	ctx, cancel := context.WithCancel(ctx)
	if w.cancel == nil {
		w.cancel = map[core.UserID]map[*context.CancelFunc]struct{}{}
	}
	if w.cancel[user] == nil {
		w.cancel[user] = map[*context.CancelFunc]struct{}{}
	}
	w.cancel[user][&cancel] = struct{}{}
	return ctx, func() { w.leave(user, &cancel) }, true
}

func (w *watchers) leave(user core.UserID, cancel *context.CancelFunc) {
	(*cancel)()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.cancel[user], cancel)
	if len(w.cancel[user]) == 0 {
		delete(w.cancel, user)
	}
}

// end ends all answers and refuses new ones.
func (w *watchers) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	for _, all := range w.cancel {
		for cancel := range all {
			(*cancel)()
		}
	}
}

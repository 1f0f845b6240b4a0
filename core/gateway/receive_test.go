package gateway

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
)

// holder records held events.
type holder struct {
	Store
	held []core.Hold
}

func (h *holder) Hold(_ context.Context, x core.Hold) (bool, error) {
	h.held = append(h.held, x)
	return false, nil
}

func TestWhatComesWhileAUserIsMovedIsHeld(t *testing.T) {
	t.Parallel()
	h := &holder{}
	g := &Gateway{}
	g.Store = h
	in := []core.Inbound{{EventID: "1"}, {EventID: "2"}}
	if err := g.waiting(t.Context(), fmt.Errorf("append: %w", core.ErrMoving), in, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if len(h.held) != 2 || !h.held[0].Keep || h.held[1].Event.EventID != "2" {
		t.Errorf("got %+v", h.held)
	}
	other := errors.New("other")
	if err := g.waiting(t.Context(), other, in, time.Unix(1, 0)); !errors.Is(err, other) || len(h.held) != 2 {
		t.Errorf("got %v, %d held", err, len(h.held))
	}
}

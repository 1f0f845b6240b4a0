package channel_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
)

// picky is a receiver that never stores the event "bad", and nothing at all for its first calls.
type picky struct {
	out    int // calls until the store works
	stored []string
}

func (p *picky) Receive(_ context.Context, in ...core.Inbound) error {
	if p.out--; p.out >= 0 {
		return errors.New("the store is away")
	}
	for _, e := range in {
		if e.EventID == "bad" && e.Kind == core.InMessage {
			return errors.New("it always fails")
		}
	}
	for _, e := range in {
		p.stored = append(p.stored, string(e.Kind)+" "+e.EventID)
	}
	return nil
}

func TestHand_oneBadEventStopsNothing(t *testing.T) {
	t.Parallel()
	good := []string{"message a", "message b"}
	for _, c := range []struct {
		ids    []string
		out    int
		want   []string
		failed int
	}{
		{[]string{"a", "b"}, 0, good, 0},
		{[]string{"a", "b"}, 1, good, 1},
		{[]string{"a", "b"}, 8, good, 4}, // nothing is set aside while the store is away
		{[]string{"a", "b"}, 6, []string{"unsupported a:raw", "message a", "message b"}, 3},
		{[]string{"a", "bad", "b"}, 0, []string{"message a", "unsupported bad:raw", "message b"}, 3},
		{nil, 0, nil, 0},
	} {
		p, failed := &picky{out: c.out}, 0
		var in []core.Inbound
		for _, id := range c.ids {
			in = append(in, core.Inbound{EventID: id, Kind: core.InMessage})
		}
		if err := channel.Hand(t.Context(), p, in, 2, func(error) { failed++ }); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(p.stored, c.want) || failed != c.failed {
			t.Errorf("%v, away for %d: stored %q, failed %d times", c.ids, c.out, p.stored, failed)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := channel.Hand(ctx, &picky{out: 1}, make([]core.Inbound, 1), 2, func(error) {})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

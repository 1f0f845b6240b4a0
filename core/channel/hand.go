package channel

import (
	"context"

	"github.com/everthread/everthread/core"
)

// Tries is how often Hand fails, in about half a minute, until it looks for the event that is to blame.
const Tries = 8

// Hand passes events to r until they are stored; an error means that ctx has ended. After some tries each event is
// passed alone, and one that fails although the store works is kept raw: it never stops its account. failed is called
// with each error.
func Hand(ctx context.Context, r core.Receiver, in []core.Inbound, tries int, failed func(error)) error {
	pause := Backoff{}
	for n := 1; len(in) > 0; n++ {
		err := r.Receive(ctx, in...)
		if err == nil {
			return nil
		}
		for n >= tries && len(in) > 0 && ctx.Err() == nil && handOne(ctx, r, in[0], failed) {
			in = in[1:]
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		failed(err)
		if len(in) > 0 {
			pause.Wait(ctx, 0)
		}
	}
	return nil
}

// handOne passes one event. If it fails it is kept raw, which shows that the store works, and tried once more. The result
// is false if the store does not work.
func handOne(ctx context.Context, r core.Receiver, e core.Inbound, failed func(error)) bool {
	if r.Receive(ctx, e) == nil {
		return true
	}
	raw := e
	raw.Kind, raw.EventID = core.InUnsupported, e.EventID+":raw"
	if r.Receive(ctx, raw) != nil {
		return false
	}
	if err := r.Receive(ctx, e); err != nil {
		failed(err)
	}
	return true
}

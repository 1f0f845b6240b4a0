package live

import (
	"context"

	"github.com/everthread/everthread/core"
)

// Door is a channel of the gateway itself, for people with a browser or programs that
// look for themselves: nothing is sent there.
type Door struct {
	Channel string // its name
	Can     core.Capabilities
}

var _ core.Describer = Door{}

// Name returns the channel's name.
func (d Door) Name() string { return d.Channel }

// Capabilities are what the core must know of the channel.
func (d Door) Capabilities() core.Capabilities { return d.Can }

// Run waits until ctx ends: what comes in comes over HTTP.
func (d Door) Run(ctx context.Context, _ core.Receiver) error {
	<-ctx.Done()
	return nil
}

// Send has nothing to do: the message is in the transcript, and who follows it is told.
func (d Door) Send(_ context.Context, _ core.Address, p core.Part) (core.Receipt, error) {
	return core.Receipt{NativeID: "sent-" + p.Key}, nil
}

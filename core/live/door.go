package live

import (
	"context"

	"github.com/everthread/everthread/core"
)

// Door is a channel of the gateway itself, for browsers or programs that read messages
// themselves: nothing is sent there.
type Door struct {
	Channel string // its name
	Can     core.Capabilities
}

var _ core.Describer = Door{}

// Name returns the channel's name.
func (d Door) Name() string { return d.Channel }

// Capabilities returns those of the channel.
func (d Door) Capabilities() core.Capabilities { return d.Can }

// Run waits until ctx ends: messages arrive over HTTP.
func (d Door) Run(ctx context.Context, _ core.Receiver) error {
	<-ctx.Done()
	return nil
}

// Send does nothing: the message is in the transcript, and its followers are notified.
func (d Door) Send(_ context.Context, _ core.Address, p core.Part) (core.Receipt, error) {
	return core.Receipt{NativeID: "sent-" + p.Key}, nil
}

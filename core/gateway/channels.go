package gateway

import "github.com/everthread/everthread/core"

// Channels holds the channels of a process and those that they carry, by name. It
// implements core.Channels.
type Channels map[string]core.Channel

// NewChannels returns the channels of a list and those that they carry.
func NewChannels(list ...core.Channel) Channels {
	out := Channels{}
	for _, c := range list {
		out[c.Name()] = c
		if carrier, ok := c.(core.Carrier); ok {
			for _, other := range carrier.Carries() {
				out[other.Name()] = other
			}
		}
	}
	return out
}

// Capabilities returns those of a channel; none if the channel is unknown.
func (c Channels) Capabilities(channel string) core.Capabilities {
	if d, ok := c[channel].(core.Describer); ok {
		return d.Capabilities()
	}
	return core.Capabilities{}
}

package gateway

import "github.com/everthread/everthread/core"

// Channels are those that a process serves, by their names, with those that they carry.
// It implements core.Channels.
type Channels map[string]core.Channel

// NewChannels are the channels of a list and those that they carry.
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

// Capabilities are those of a channel; of one that is not there, none.
func (c Channels) Capabilities(channel string) core.Capabilities {
	if d, ok := c[channel].(core.Describer); ok {
		return d.Capabilities()
	}
	return core.Capabilities{}
}

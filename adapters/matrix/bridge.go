package matrix

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text/i18n"
)

// bridged is the channel of one bridged network, with the rooms of the account. It receives through Channel.Run.
type bridged struct {
	core.Typer
	core.Fetcher
	account *Channel
	bridge  Bridge
}

var (
	_ core.Channel   = (*bridged)(nil)
	_ core.Describer = (*bridged)(nil)
	_ core.Checker   = (*bridged)(nil)
	_ core.Retractor = (*bridged)(nil)
)

func (b *bridged) Name() string { return b.bridge.Network }

// Account returns the MXID of the account that carries the network.
func (b *bridged) Account() string { return b.account.Account() }

func (b *bridged) Run(ctx context.Context, _ core.Receiver) error {
	<-ctx.Done()
	return nil
}

// Capabilities returns the limits of a bridge. Whether the network counts bytes or
// UTF-16 units is unknown, so the limit is in bytes, of which there are never fewer.
func (b *bridged) Capabilities() core.Capabilities {
	c := b.account.Capabilities()
	c.MaxText = bridgedText
	c.Voice = false // bridges convert OGG/Opus for their network only with ffmpeg
	return c
}

// Send delivers one part to the portal room of a person.
func (b *bridged) Send(ctx context.Context, to core.Address, p core.Part) (core.Receipt, error) {
	return b.account.send(ctx, to, p, &b.bridge)
}

// Retract deletes a message of ours; the bridge deletes it in the network.
func (b *bridged) Retract(ctx context.Context, to core.Address, native string) error {
	return b.account.Retract(ctx, to, native)
}

// Check returns the error of the account or the one that the bridge last reported, or nil.
func (b *bridged) Check() error {
	if err := b.account.Check(); err != nil {
		return err
	}
	login, _ := b.account.memory.logins.Get(b.bridge.Network)
	return b.bridge.problem(login, &say(i18n.English).Findings)
}

// problem returns an error that explains a login state and what to do about it, or nil.
func (b Bridge) problem(s loginState, w *findings) error {
	var what string
	switch s.State {
	case "BAD_CREDENTIALS", "LOGGED_OUT", "UNCONFIGURED":
		what = fmt.Sprintf(w.LoggedOut, b.Bot)
	case "UNKNOWN_ERROR":
		what = w.Sick
	case "BRIDGE_UNREACHABLE", "TRANSIENT_DISCONNECT":
		what = w.Away
	default:
		return nil
	}
	return errors.New(b.Network + ": " + strings.TrimSuffix(what+" ("+s.State+" "+s.Message, " ") + ")")
}

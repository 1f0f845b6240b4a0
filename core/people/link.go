package people

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/markup"
	"github.com/everthread/everthread/core/trust"
)

// LinkCodeSigns is the length of a code for /link.
const LinkCodeSigns = 8

// NewLinkCode returns a new code for /link.
func (p *People) NewLinkCode() (string, error) { return p.Code(LinkCodeSigns) }

// linkCode returns the argument of /link, and whether the text is that command.
func linkCode(text string) (string, bool) {
	f := strings.Fields(text)
	if len(f) < 2 {
		return "", false
	}
	word, _, _ := strings.Cut(strings.ToLower(f[0]), "@")
	return strings.Join(f[1:], ""), word == "/link" || word == "!link"
}

// link handles the /link CODE of a stranger, under every policy: it asks the code's user
// whether the address is theirs. It counts a wrong code, and answers that it is wrong.
func (p *People) link(ctx context.Context, in core.Inbound, code string) (known bool, err error) {
	now := p.Now()
	l, err := p.LinkCode(ctx, trust.CodeHash(code), in.Address, now)
	if err != nil {
		return false, err
	}
	language := cmp.Or(in.Language, p.Settings.Language)
	in.Text, in.Raw, in.Attachments, in.Quote = "", nil, nil, nil
	if l.State == core.LinkValid || l.State == core.LinkTaken {
		err := p.UseLink(ctx, trust.CodeHash(code), core.Hold{Event: in, Now: now,
			Delivery: p.toStranger(in, say(language).LinkAsked)})
		if !errors.Is(err, core.ErrRefused) {
			return false, cmp.Or(err, p.AskLinks(ctx))
		}
	}
	return false, p.TryLink(ctx, core.Hold{Event: in, Now: now, Delivery: p.toStranger(in, linkRefusal(language, l, now))})
}

// toStranger returns the delivery of a text to an address without a user.
func (p *People) toStranger(in core.Inbound, text string) *core.NewDelivery {
	return &core.NewDelivery{To: in.Address, Kind: core.DeliverNotice,
		Parts: markup.Parts(text, p.Channels.Capabilities(in.Address.Channel)), Expires: p.Now().Add(time.Hour)}
}

// linkRefusal returns the text that a code is wrong, or how long no code is accepted. It
// does not reveal why.
func linkRefusal(language string, l core.Link, now time.Time) string {
	locked := l.State == core.LinkLocked || l.Tries+1 >= core.LinkTries
	if !locked {
		return say(language).LinkWrong
	}
	wait := int(core.LinkLock.Minutes())
	if l.State == core.LinkLocked {
		wait = max(1, int(l.Until.Sub(now).Round(time.Minute).Minutes()))
	}
	return fmt.Sprintf(say(language).LinkLocked, wait)
}

package people

import (
	"context"
	"fmt"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/markup"
	"github.com/everthread/everthread/core/trust"
)

// changeNote returns the note that makes an account change, and notifies all identities of
// a user of it and of how to undo it.
func (p *People) changeNote(ctx context.Context, u core.User, c core.AccountSubject, now time.Time) (core.Note, error) {
	n := core.Note{User: u.ID, Now: now}
	text := changeMade(p.language(u), c)
	var err error
	if n.Deliveries, err = p.others(ctx, u, 0, text); err == nil && len(n.Deliveries) > 0 {
		n.Messages = []core.NewMessage{{Role: core.RoleAssistant, Kind: core.KindNotice, Text: text, SentAt: now}}
	}
	return n, err
}

// others returns deliveries of a text to all identities of a user on push channels, except
// one.
func (p *People) others(ctx context.Context, u core.User, but core.IdentityID,
	text string) ([]core.NewDelivery, error) {
	ids, err := p.Identities(ctx, u.ID)
	var out []core.NewDelivery
	for _, i := range ids {
		if i.ID != but && p.Channels.Capabilities(i.Address.Channel).Push {
			out = append(out, core.NewDelivery{To: i.Address, Identity: i.ID, Kind: core.DeliverNotice,
				Why: "told to all identities", Parts: markup.Parts(text, p.Channels.Capabilities(i.Address.Channel))})
		}
	}
	return out, err
}

// changeMade returns the text that an account change was made.
func changeMade(language string, c core.AccountSubject) string {
	switch w := say(language); c.Change {
	case core.ChangeAdminKey:
		return fmt.Sprintf(w.MadeAdminKey, plain(c.Name))
	case core.ChangeSignIn:
		return fmt.Sprintf(w.MadeSignIn, plain(c.Name))
	default:
		return w.MadeExport
	}
}

// deletionAsked returns the text that a deletion was requested, where it can be approved,
// and how to stop it.
func deletionAsked(language, browser string, at core.Identity) string {
	return fmt.Sprintf(say(language).DeletionAsked, plain(browser), trust.AddressName(at.Address, at.Name))
}

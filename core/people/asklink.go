package people

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/markup"
	"github.com/everthread/everthread/core/trust"
	"github.com/everthread/everthread/core/when"
)

// AskLinks asks the users of codes that were used whether the other side is
// theirs (docs/security.md, "Account changes"). It may run at any time, in any
// process: each question is asked once.
func (p *People) AskLinks(ctx context.Context) error {
	codes, err := p.Codes(ctx, core.CodeLinked, p.Now())
	if err != nil {
		return err
	}
	var errs []error
	for _, c := range codes {
		if err := p.askLink(ctx, c); err != nil && !errors.Is(err, core.ErrNotFound) && !errors.Is(err, core.ErrMoving) {
			errs = append(errs, fmt.Errorf("ask about a linked address: %w", err))
		}
	}
	return errors.Join(errs...)
}

func (p *People) askLink(ctx context.Context, c core.Code) error {
	u, err := p.User(ctx, c.User)
	if err != nil {
		return err
	}
	l := core.LinkSubject{Hash: c.Hash, Address: c.Address, Name: c.Name, Owner: u.Role == core.RoleOwner}
	switch i, other, err := p.Identify(ctx, c.Address); {
	case errors.Is(err, core.ErrNotFound):
	case err != nil:
		return err
	case other.ID == u.ID:
		return nil // it is theirs already
	default:
		l.User, l.Identity, l.Owner = other.ID, i.ID, l.Owner || other.Role == core.RoleOwner
	}
	at, err := p.askedAt(ctx, u, c)
	if err != nil {
		return err
	}
	now := p.Now()
	subject, err := json.Marshal(l)
	if err != nil {
		return err
	}
	a := core.Approval{Code: "L" + c.Hash[:8], Kind: core.ApproveLink, Identity: at.ID, Subject: string(subject), AskedAt: now, Expires: c.Expires}
	if l.Owner {
		a.Word = trust.OwnerWord
	}
	text := linkQuestion(p.language(u), l)
	n := core.Note{User: u.ID, Identity: at.ID, Once: "link:" + c.Hash, Now: now, Effects: []core.Effect{core.AskApproval{Approval: a}},
		Messages: []core.NewMessage{{Role: core.RoleAssistant, Kind: core.KindNotice, Text: text, SentAt: now}},
		Deliveries: []core.NewDelivery{{To: at.Address, Identity: at.ID, Kind: core.DeliverNotice, Why: "where the code was made",
			Parts: trust.WithButtons(markup.Parts(text, p.Channels.Capabilities(at.Address.Channel)), trust.YesNo(p.language(u), a.Code, l.Owner)), Expires: c.Expires}}}
	out, err := p.Store.Note(ctx, n)
	if err == nil && !out.Duplicate {
		p.Log.Info("asked whether an address is a user's", zap.Int64("user", int64(u.ID)), zap.String("channel", c.Address.Channel))
	}
	return err
}

// askedAt is the identity that is asked: where the code was made, or if that is a
// door of ours, where something proactive goes.
func (p *People) askedAt(ctx context.Context, u core.User, c core.Code) (core.Identity, error) {
	ids, err := p.Identities(ctx, u.ID)
	if err != nil {
		return core.Identity{}, err
	}
	made := slices.IndexFunc(ids, func(i core.Identity) bool { return core.AddressKey(i.Address) == c.Hint })
	if made >= 0 && !Own(ids[made].Address.Channel) {
		return ids[made], nil
	}
	for _, i := range ids {
		if !Own(i.Address.Channel) && (u.Settings.Home == 0 || u.Settings.Home == i.ID) {
			return i, nil
		}
	}
	if made < 0 {
		return core.Identity{}, core.ErrNotFound
	}
	return ids[made], nil
}

func (p *People) language(u core.User) string {
	return cmp.Or(u.Settings.Language, p.Settings.Language)
}

// linkQuestion asks whether the other side of a code is the user's.
func linkQuestion(language string, l core.LinkSubject) string {
	who := trust.AddressName(l.Address, l.Name)
	var lines []string
	if when.French(language) {
		lines = append(lines, "**Est-ce vous ?** "+who+" a utilisé votre code et veut devenir vous.")
		if l.User != 0 {
			lines = append(lines, "Il y a déjà une conversation là-bas : les deux n'en feront qu'une, et chaque côté lira tout ce qui a été dit de l'autre.")
		} else {
			lines = append(lines, "Qui s'en sert lira toute votre conversation et votre mémoire, et pourra tout ce que vous pouvez.")
		}
		if l.Owner {
			return strings.Join(append(lines, "**La passerelle elle-même change de mains** : qui s'en sert pourra la gérer, comme vous. Si c'est bien vous, écrivez `"+trust.OwnerWord+"`. Sinon, répondez « non »."), "\n\n")
		}
		return strings.Join(append(lines, "Répondez « oui » ou « non »."), "\n\n")
	}
	lines = append(lines, "**Is this you?** "+who+" used your code and wants to be you.")
	if l.User != 0 {
		lines = append(lines, "There is a conversation there already: both become one, and each side will read all that was said on the other.")
	} else {
		lines = append(lines, "Whoever uses it will read your whole conversation and memory, and may do all that you may.")
	}
	if l.Owner {
		return strings.Join(append(lines, "**The gateway itself changes hands**: whoever uses it can run it, as the owner. If this is you, type `"+trust.OwnerWord+"`. If not, say no."), "\n\n")
	}
	return strings.Join(append(lines, "Say yes or no."), "\n\n")
}

package people

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text/markup"
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
	if l.State == store.LinkValid || l.State == store.LinkTaken {
		err := p.UseLink(ctx, trust.CodeHash(code), store.Hold{Event: in, Now: now,
			Delivery: p.toStranger(in, say(language).LinkAsked)})
		if !errors.Is(err, core.ErrRefused) {
			return false, cmp.Or(err, p.AskLinks(ctx))
		}
	}
	return false, p.TryLink(ctx, store.Hold{Event: in, Now: now, Delivery: p.toStranger(in, linkRefusal(language, l, now))})
}

// toStranger returns the delivery of a text to an address without a user.
func (p *People) toStranger(in core.Inbound, text string) *core.NewDelivery {
	return &core.NewDelivery{To: in.Address, Kind: core.DeliverNotice,
		Parts: markup.Parts(text, p.Channels.Capabilities(in.Address.Channel)), Expires: p.Now().Add(time.Hour)}
}

// linkRefusal returns the text that a code is wrong, or how long no code is accepted. It does not reveal why.
func linkRefusal(language string, l store.Link, now time.Time) string {
	locked := l.State == store.LinkLocked || l.Tries+1 >= core.LinkTries
	if !locked {
		return say(language).LinkWrong
	}
	wait := int(core.LinkLock.Minutes())
	if l.State == store.LinkLocked {
		wait = max(1, int(l.Until.Sub(now).Round(time.Minute).Minutes()))
	}
	return fmt.Sprintf(say(language).LinkLocked, wait)
}

// AskLinks asks users whether the address that used their code is theirs (docs/security.md, "Account changes"). It may
// run at any time, in any process: each question is asked once.
func (p *People) AskLinks(ctx context.Context) error {
	codes, err := p.Codes(ctx, effect.CodeLinked, p.Now())
	if err != nil {
		return err
	}
	var errs []error
	for _, c := range codes {
		if err := p.askLink(ctx, c); err != nil && !errors.Is(err, core.ErrNotFound) {
			errs = append(errs, fmt.Errorf("ask about a linked address: %w", err))
		}
	}
	return errors.Join(errs...)
}

func (p *People) askLink(ctx context.Context, c effect.Code) error {
	u, err := p.User(ctx, c.User)
	if err != nil {
		return err
	}
	l := effect.LinkSubject{Hash: c.Hash, Address: c.Address, Name: c.Name, Owner: u.Role == core.RoleOwner}
	switch i, other, err := p.Identify(ctx, c.Address); {
	case errors.Is(err, core.ErrNotFound):
	case err != nil:
		return err
	case other.ID == u.ID:
		return nil // the address is theirs already
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
	a := effect.Approval{Code: "L" + c.Hash[:8], Kind: effect.ApproveLink, Identity: at.ID, Subject: string(subject),
		AskedAt: now, Expires: c.Expires}
	if l.Owner {
		a.Word = trust.OwnerWord
	}
	n := p.question(u, core.Target{Identity: at, Why: "where the code was made"}, a, linkQuestion(p.language(u), l))
	n.Once = "link:" + c.Hash
	out, err := p.Store.Note(ctx, n)
	if err == nil && !out.Duplicate {
		p.Log.Info("asked whether an address is a user's", zap.Int64("user", int64(u.ID)), zap.String("channel", c.Address.Channel))
	}
	return err
}

// question returns the note that asks a user about a at a target.
func (p *People) question(u core.User, to core.Target, a effect.Approval, text string) store.Note {
	parts := markup.Parts(text, p.Channels.Capabilities(to.Identity.Address.Channel))
	d := to.Delivery(core.DeliverNotice, trust.WithButtons(parts, trust.YesNo(p.language(u), a.Code, a.Word != "")))
	d.Expires = a.Expires
	return store.Note{User: u.ID, Identity: to.Identity.ID, Now: a.AskedAt, Deliveries: []core.NewDelivery{d},
		Effects: []core.Effect{effect.AskApproval{Approval: a}},
		Messages: []core.NewMessage{{Role: core.RoleAssistant, Kind: core.KindNotice, Text: text, SentAt: a.AskedAt,
			Rings: p.Channels.Capabilities(to.Identity.Address.Channel).Rings}}}
}

// askedAt returns the identity that is asked: the one that made the code, or if that is a
// door of ours, the home, else the one that was used last.
func (p *People) askedAt(ctx context.Context, u core.User, c effect.Code) (core.Identity, error) {
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

// linkQuestion returns the question whether an address is the user's.
func linkQuestion(language string, l effect.LinkSubject) string {
	w := say(language)
	lines := []string{fmt.Sprintf(w.LinkQuestion, trust.AddressName(l.Address, l.Name)), w.LinkShares, w.YesOrNo}
	if l.User != 0 {
		lines[1] = w.LinkJoins
	}
	if l.Owner {
		lines[2] = fmt.Sprintf(w.LinkOwner, trust.OwnerWord)
	}
	return strings.Join(lines, "\n\n")
}

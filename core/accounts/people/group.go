package people

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/trust"
)

// Group handles an event of a group that nobody approved yet. /approve by the owner makes it a user; otherwise the group
// is told once that the owner has to approve it, with a code. Nothing that is said there is kept.
func (p *People) Group(ctx context.Context, in core.Inbound) (known bool, err error) {
	if in.Kind == core.InMessage && approves(in.Text) {
		if u, err := p.Writer(ctx, in); err != nil || u.Role == core.RoleOwner {
			return err == nil, cmp.Or(err, p.addGroup(ctx, in, u))
		}
	}
	now := p.Now()
	in.Text, in.Raw, in.Attachments, in.Quote = "", nil, nil, nil
	h := store.Hold{Event: in, Now: now}
	codes, err := p.Codes(ctx, effect.CodePair, now)
	if err != nil {
		return false, err
	}
	if !slices.ContainsFunc(codes, func(c effect.Code) bool { return c.Address == in.Address.Chat() }) {
		if err := p.askGroup(&h); err != nil {
			return false, err
		}
	}
	_, err = p.Hold(ctx, h)
	return false, err
}

// approves reports whether a text is the command that approves a group.
func approves(text string) bool {
	f := strings.Fields(strings.ToLower(text))
	return len(f) > 0 && (f[0] == "/approve" || f[0] == "!approve")
}

// Writer returns the user who wrote an event of a group, by the direct chat with them; the zero value if none is known.
func (p *People) Writer(ctx context.Context, in core.Inbound) (core.User, error) {
	if in.Group == nil || in.Group.Hidden || in.Group.Program || in.ForwardedFrom != "" {
		return core.User{}, nil
	}
	_, u, err := p.Identify(ctx, core.Address{Channel: in.Address.Channel, Account: in.Address.Account,
		External: in.Group.Speaker})
	if errors.Is(err, core.ErrNotFound) {
		return core.User{}, nil
	}
	return u, err
}

// Attendance is a group in which a person has written.
type Attendance struct {
	Group   core.User
	Chat    core.Address
	Speaker string // the service's id of the person
}

// GroupsOf lists the groups in which a person has written, by name.
func (p *People) GroupsOf(ctx context.Context, user core.UserID) ([]Attendance, error) {
	own, err := p.Identities(ctx, user)
	if err != nil {
		return nil, err
	}
	groups, err := p.Groups(ctx)
	if err != nil {
		return nil, err
	}
	var out []Attendance
	for _, g := range groups {
		at, err := p.Identities(ctx, g.ID)
		if err != nil {
			return nil, err
		}
		for _, chat := range at {
			for _, i := range own {
				if chat.Address.Channel != i.Address.Channel || chat.Address.Account != i.Address.Account {
					continue
				}
				_, _, err := p.Speaker(ctx, g.ID, i.Address.External)
				if err == nil {
					out = append(out, Attendance{g, chat.Address.Chat(), i.Address.External})
				} else if !errors.Is(err, core.ErrNotFound) {
					return nil, err
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Attendance) int { return cmp.Compare(a.Group.Name, b.Group.Name) })
	return out, nil
}

// addGroup makes a group a user, with the zone and the language of its owner. Its days are not posted unless it asks.
func (p *People) addGroup(ctx context.Context, in core.Inbound, owner core.User) error {
	ctx = core.WithActor(ctx, core.Actor{Via: core.ViaGateway, At: p.Now()})
	_, err := p.AddUserAt(ctx, core.User{Name: groupName(in), Role: core.RoleGroup, Settings: core.Settings{Summaries: "off",
		Zone: owner.Settings.Zone, Language: owner.Settings.Language}, CreatedAt: p.Now()},
		core.Identity{Address: in.Address.Chat(), Name: groupName(in), LastUsed: p.Now()})
	if errors.Is(err, core.ErrExists) {
		return nil
	}
	return err
}

// groupName returns the title of a group as one line.
func groupName(in core.Inbound) string {
	return cmp.Or(trust.Line(in.Group.Title), in.Address.Channel+" "+in.Address.External)
}

// askGroup adds the request of a group to a held event, and the answer that tells how the owner approves it.
func (p *People) askGroup(h *store.Hold) error {
	code, err := p.Code(8)
	if err != nil {
		return err
	}
	in := h.Event
	h.MaxCodes = p.Settings.MaxCodes
	h.Code = &effect.Code{Kind: effect.CodePair, Hash: trust.CodeHash(code), Hint: code, Address: in.Address.Chat(),
		Name: groupName(in), Group: true, Created: h.Now, Expires: h.Now.Add(groupLife)}
	h.Delivery = p.toStranger(in, fmt.Sprintf(say(p.Settings.Language).Group, code))
	p.Log.Info("a group asks to be admitted; approve with `everthread groups approve CODE`",
		zap.String("channel", in.Address.Channel), zap.String("name", h.Code.Name), zap.String("code", code))
	return nil
}

// groupLife is how long the request of a group can be approved.
const groupLife = 7 * 24 * time.Hour

// Package people decides who may talk to the assistant: the owner's
// first code, pairing, allow lists and open doors.
package people

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/markup"
	"github.com/everthread/everthread/core/trust"
)

// Policy says what becomes of messages of strangers.
type Policy string

// Policies.
const (
	Pairing   Policy = "pairing"   // they get a code that the owner may approve
	Allowlist Policy = "allowlist" // they are ignored unless listed
	Open      Policy = "open"      // they become users at once
)

// Store is what people are kept in.
type Store interface {
	core.PeopleStore
	core.LinkStore
	Approvals(ctx context.Context, user core.UserID, before core.ApprovalID, limit int) ([]core.Approval, error)
	Identify(ctx context.Context, a core.Address) (core.Identity, core.User, error)
	Hold(ctx context.Context, h core.Hold) (duplicate bool, err error)
	Note(ctx context.Context, n core.Note) (core.Noted, error)
}

// Settings are the numbers of access; package configs has their defaults.
type Settings struct {
	Policy   Policy
	Allow    []string      // channel:external, such as telegram:123
	CodeLife time.Duration // of a pairing code
	MaxCodes int           // pending pairing codes per channel
	// MaxOrigin is how many may be pending of addresses that somebody makes for
	// nothing: those of one Matrix server. 0: no limit.
	MaxOrigin int
	Language  string // of people who chose none
}

// People keeps users and their addresses. It implements gateway.People.
type People struct {
	Store
	Settings Settings
	Channels core.Channels
	Log      *zap.Logger
	Now      func() time.Time
	Rand     io.Reader // of codes
	Crash    core.Crash
}

// alphabet of codes: no letter or digit that is easily taken for another. 32
// signs, so that a byte maps to one without bias.
const alphabet = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"

// Code returns a random code of n signs.
func (p *People) Code(n int) (string, error) {
	b := make([]byte, n)
	if _, err := io.ReadFull(p.Rand, b); err != nil {
		return "", fmt.Errorf("make a code: %w", err)
	}
	for i := range b {
		b[i] = alphabet[int(b[i])%len(alphabet)]
	}
	return string(b), nil
}

// EnsureOwner makes the owner at the first start. As long as no address is the
// owner's it also makes a new owner code and returns it; else "".
func (p *People) EnsureOwner(ctx context.Context) (core.User, string, error) {
	owner, err := p.Owner(ctx)
	if errors.Is(err, core.ErrNotFound) {
		owner, err = p.AddUser(ctx, core.User{Name: "Owner", Role: core.RoleOwner, CreatedAt: p.Now()})
		if errors.Is(err, core.ErrExists) { // another process was first
			owner, err = p.Owner(ctx)
		}
	}
	if err != nil {
		return owner, "", err
	}
	ids, err := p.Identities(ctx, owner.ID)
	if err != nil || slices.ContainsFunc(ids, func(i core.Identity) bool { return !Own(i.Address.Channel) }) {
		return owner, "", err
	}
	code, err := p.Code(10)
	if err != nil {
		return owner, "", err
	}
	return owner, code, p.PutCode(ctx, core.Code{Kind: core.CodeOwner, Hash: trust.CodeHash(code),
		User: owner.ID, Created: p.Now()})
}

// Owner returns the owner, or ErrNotFound before the first start.
func (p *People) Owner(ctx context.Context) (core.User, error) {
	users, err := p.Users(ctx)
	if err != nil {
		return core.User{}, err
	}
	for _, u := range users {
		if u.Role == core.RoleOwner {
			return u, nil
		}
	}
	return core.User{}, core.ErrNotFound
}

// Stranger handles a message of an unknown address: it may bring the owner code,
// be let in by the policy, or be held until the owner approves.
func (p *People) Stranger(ctx context.Context, in core.Inbound) (known bool, err error) {
	if in.For != 0 {
		return p.theirs(ctx, in)
	}
	if code, ok := startCode(in.Text); ok {
		if known, err := p.claimOwner(ctx, in, code); known || err != nil {
			return known, err
		}
	}
	if code, ok := linkCode(in.Text); ok && in.Kind == core.InMessage {
		return p.link(ctx, in, code)
	}
	if in.Kind != core.InMessage {
		_, err := p.Hold(ctx, core.Hold{Event: in, Now: p.Now()})
		return false, err
	}
	switch p.Settings.Policy {
	case Open:
		return p.letIn(ctx, in)
	case Allowlist:
		if p.allowed(in) {
			return p.letIn(ctx, in)
		}
		in.Text, in.Raw, in.Attachments, in.Quote = "", nil, nil, nil
		_, err := p.Hold(ctx, core.Hold{Event: in, Now: p.Now()})
		return false, err
	}
	return false, p.pair(ctx, in)
}

// theirs gives an address to whose account it is on: where they were merged since
// the account was last looked up, to whom they became.
func (p *People) theirs(ctx context.Context, in core.Inbound) (bool, error) {
	user := in.For
	switch now, err := p.Became(ctx, user); {
	case err == nil:
		user = now
	case !errors.Is(err, core.ErrNotFound):
		return false, err
	}
	_, err := p.AddIdentity(ctx, core.Identity{User: user, Address: in.Address, Name: in.Name, LastUsed: p.Now()})
	if errors.Is(err, core.ErrExists) {
		err = nil
	}
	return err == nil, err
}

// startCode returns the argument of /start.
func startCode(text string) (string, bool) {
	f := strings.Fields(text)
	if len(f) != 2 || f[0] != "/start" && f[0] != "!start" {
		return "", false
	}
	return f[1], true
}

// claimOwner makes the address the owner's if the code is the owner code. The
// identity is added first: a repeat after a crash finds it there.
func (p *People) claimOwner(ctx context.Context, in core.Inbound, code string) (bool, error) {
	codes, err := p.Codes(ctx, core.CodeOwner, p.Now())
	if err != nil || !slices.ContainsFunc(codes, func(c core.Code) bool { return c.Hash == trust.CodeHash(code) }) {
		return false, err
	}
	ctx = core.WithActor(ctx, core.Actor{Via: core.ViaGateway, At: p.Now()})
	_, err = p.AddIdentity(ctx, core.Identity{User: codes[0].User, Address: in.Address, Name: in.Name, LastUsed: p.Now()})
	if err != nil && !errors.Is(err, core.ErrExists) {
		return false, err
	}
	return p.claimed(ctx, in.Address, code)
}

// claimed uses up the code by which an address became the owner's.
func (p *People) claimed(ctx context.Context, a core.Address, code string) (bool, error) {
	_, err := p.UseCode(ctx, core.CodeOwner, trust.CodeHash(code), p.Now())
	if err != nil && !errors.Is(err, core.ErrRefused) {
		return false, err
	}
	p.Log.Info("an address is the owner's now", zap.String("channel", a.Channel), zap.String("address", a.External))
	return true, nil
}

// ClaimOwner makes a known address the owner's, if the message is /start with the
// owner code.
func (p *People) ClaimOwner(ctx context.Context, in core.Inbound, i core.Identity) (bool, error) {
	code, ok := startCode(in.Text)
	if !ok {
		return false, nil
	}
	codes, err := p.Codes(ctx, core.CodeOwner, p.Now())
	if err != nil || len(codes) == 0 || codes[0].Hash != trust.CodeHash(code) || codes[0].User == i.User {
		return false, err
	}
	i.LastUsed = p.Now()
	ctx = core.WithActor(ctx, core.Actor{Via: core.ViaGateway, At: i.LastUsed})
	if err := p.MoveIdentity(ctx, i, codes[0].User); err != nil && !errors.Is(err, core.ErrNotFound) {
		return false, err
	}
	return p.claimed(ctx, in.Address, code)
}

// allowed reports whether the list holds the sender by any of their addresses.
func (p *People) allowed(in core.Inbound) bool {
	return slices.ContainsFunc(append([]string{in.Address.External}, in.Aliases...), func(external string) bool {
		return slices.Contains(p.Settings.Allow, in.Address.Channel+":"+external)
	})
}

// letIn makes a stranger a user with this address.
func (p *People) letIn(ctx context.Context, in core.Inbound) (bool, error) {
	name := in.Name
	if name == "" {
		name = in.Address.Channel + " " + in.Address.External
	}
	_, err := p.AddUserAt(ctx, core.User{Name: name, Role: core.RoleMember, Settings: core.Settings{Language: in.Language},
		CreatedAt: p.Now()},
		core.Identity{Address: in.Address, Name: in.Name, LastUsed: p.Now()})
	if errors.Is(err, core.ErrExists) {
		err = nil
	}
	return err == nil, err
}

// pair holds a stranger's message and, at most once an hour and while few codes
// are pending, answers with a code for the owner to approve.
func (p *People) pair(ctx context.Context, in core.Inbound) error {
	now := p.Now()
	h := core.Hold{Event: in, Keep: true, Now: now}
	codes, err := p.Codes(ctx, core.CodePair, now)
	if err != nil {
		return err
	}
	pending := 0
	for _, c := range codes {
		if c.Address == in.Address {
			_, err := p.Hold(ctx, h)
			return err
		}
		if c.Address.Channel == in.Address.Channel {
			pending++
		}
	}
	if pending < p.Settings.MaxCodes {
		if err := p.withCode(&h, now); err != nil {
			return err
		}
	}
	_, err = p.Hold(ctx, h)
	return err
}

// withCode adds a pairing code and the message that tells it.
func (p *People) withCode(h *core.Hold, now time.Time) error {
	code, err := p.Code(8)
	if err != nil {
		return err
	}
	in := h.Event
	h.MaxCodes = p.Settings.MaxCodes
	if _, server, ok := strings.Cut(in.Address.External, ":"); ok && p.Settings.MaxOrigin > 0 &&
		strings.HasPrefix(in.Address.External, "@") {
		h.Origin, h.MaxOrigin = ":"+server, p.Settings.MaxOrigin
	}
	h.Code = &core.Code{Kind: core.CodePair, Hash: trust.CodeHash(code), Hint: code, Address: in.Address, Name: in.Name,
		Created: now, Expires: now.Add(p.Settings.CodeLife)}
	language := in.Language
	if language == "" {
		language = p.Settings.Language
	}
	h.Delivery = &core.NewDelivery{To: in.Address, Kind: core.DeliverNotice,
		Parts:   markup.Parts(fmt.Sprintf(say(language).Pairing, code), p.Channels.Capabilities(in.Address.Channel)),
		Expires: h.Code.Expires}
	p.Log.Info("somebody asks to be let in; approve with `everthread pair approve CODE`",
		zap.String("channel", in.Address.Channel), zap.String("name", in.Name), zap.String("code", code))
	return nil
}

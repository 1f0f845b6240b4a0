// Package people manages users and their addresses: who is admitted (owner code, pairing,
// allow list, open), linking, merges, account changes and account deletion.
package people

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/trust"
)

// Policy decides about messages of strangers.
type Policy string

// Policies.
const (
	Pairing   Policy = "pairing"   // they get a code that the owner may approve
	Allowlist Policy = "allowlist" // they are ignored unless listed
	Open      Policy = "open"      // they become users immediately
)

// Store is the part of a store that People uses.
type Store interface {
	store.PeopleStore
	store.CodeStore
	store.LinkStore
	store.SpeakerStore
	Approvals(ctx context.Context, user core.UserID, before core.ApprovalID, limit int) ([]effect.Approval, error)
	Identify(ctx context.Context, a core.Address) (core.Identity, core.User, error)
	Hold(ctx context.Context, h store.Hold) (duplicate bool, err error)
	Note(ctx context.Context, n store.Note) (store.Noted, error)
}

// Settings configure access; package configs has their defaults.
type Settings struct {
	Policy Policy
	Allow  []string // channel:external, such as telegram:123
	// Listed returns a person of a channel in the form that all spellings of an entry of Allow have; nil: as written.
	Listed   func(channel, who string) (string, error)
	CodeLife time.Duration // of a pairing code
	MaxCodes int           // pending pairing codes per channel
	// MaxOrigin bounds pending codes of a Matrix server, where addresses cost nothing. 0: no limit.
	MaxOrigin int
	Language  string // of people who chose none
	// SetupCode lets the owner in at the first start, beside the owner code; empty: there is none.
	SetupCode string
}

// People manages users and their addresses. It implements gateway.People.
type People struct {
	Store
	Settings Settings
	Channels core.Channels
	Log      *zap.Logger
	Now      func() time.Time
	Rand     io.Reader // of codes
	Crash    core.Crash
}

// alphabet has the characters of codes, without those that look alike. There are 32, so
// that a byte maps to one without bias.
const alphabet = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"

// Code returns a random code of n characters.
func (p *People) Code(n int) (string, error) {
	b := make([]byte, n)
	if _, err := io.ReadFull(p.Rand, b); err != nil {
		return "", fmt.Errorf("generate a code: %w", err)
	}
	for i := range b {
		b[i] = alphabet[int(b[i])%len(alphabet)]
	}
	return string(b), nil
}

// unnamed is the name of an owner who has not given one.
const unnamed = "Owner"

// EnsureOwner creates the owner at the first start. While the owner has no address it also
// stores and returns a new owner code; else "".
func (p *People) EnsureOwner(ctx context.Context) (core.User, string, error) {
	owner, err := p.Owner(ctx)
	if errors.Is(err, core.ErrNotFound) {
		owner, err = p.AddUser(ctx, core.User{Name: unnamed, Role: core.RoleOwner, CreatedAt: p.Now()})
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
	return owner, code, p.PutCode(ctx, effect.Code{Kind: effect.CodeOwner, Hash: trust.CodeHash(code),
		User: owner.ID, Created: p.Now()})
}

// Owner returns the owner, or core.ErrNotFound before the first start.
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

// Unclaimed reports whether a code lets the owner in on the page: they have no address yet, neither in an app nor on the
// page, and there is a code.
func (p *People) Unclaimed(ctx context.Context) (bool, error) {
	owner, err := p.Owner(ctx)
	if err != nil {
		return false, err
	}
	ids, err := p.Identities(ctx, owner.ID)
	if err != nil || slices.ContainsFunc(ids, func(i core.Identity) bool {
		return !Own(i.Address.Channel) || i.Address.Channel == "web"
	}) {
		return false, err
	}
	codes, err := p.Codes(ctx, effect.CodeOwner, p.Now())
	return len(codes) > 0 || p.Settings.SetupCode != "", err
}

// claimLife is how long the code of Claim is valid.
const claimLife = time.Minute

// Claim returns a code that signs the owner in to the web page, for the owner code or the setup code. If the owner has an
// address, or the code is neither, it returns core.ErrRefused.
func (p *People) Claim(ctx context.Context, code string) (string, error) {
	free, err := p.Unclaimed(ctx)
	if err != nil {
		return "", err
	}
	codes, err := p.Codes(ctx, effect.CodeOwner, p.Now())
	if err != nil {
		return "", err
	}
	code = strings.TrimSpace(code)
	given := slices.ContainsFunc(codes, func(c effect.Code) bool { return c.Hash == trust.CodeHash(strings.ToUpper(code)) })
	setup := p.Settings.SetupCode
	if setup != "" && subtle.ConstantTimeCompare([]byte(code), []byte(setup)) == 1 {
		given = true
	}
	if !free || !given {
		return "", core.ErrRefused
	}
	owner, err := p.Owner(ctx)
	if err != nil {
		return "", err
	}
	web, row, err := p.NewWebCode(owner.ID, claimLife)
	if err != nil {
		return "", err
	}
	return web, p.PutCode(ctx, row)
}

// Stranger handles a message from an unknown address: it may contain the owner code or a
// link code, be admitted by the policy, or be held until the owner approves.
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
		_, err := p.Hold(ctx, store.Hold{Event: in, Now: p.Now()})
		return false, err
	}
	switch p.Settings.Policy {
	case Open:
		return p.admit(ctx, in)
	case Allowlist:
		if p.allowed(in) {
			return p.admit(ctx, in)
		}
		in.Text, in.Raw, in.Attachments, in.Quote = "", nil, nil, nil
		_, err := p.Hold(ctx, store.Hold{Event: in, Now: p.Now()})
		return false, err
	}
	return false, p.pair(ctx, in)
}

// theirs adds an address to the user who owns its account, or to the target user if that one was merged meanwhile.
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

// claimOwner gives the address to the owner if the code is the owner code. It adds the
// identity before it uses the code up: a repeat after a crash finds it.
func (p *People) claimOwner(ctx context.Context, in core.Inbound, code string) (bool, error) {
	codes, err := p.Codes(ctx, effect.CodeOwner, p.Now())
	if err != nil || !slices.ContainsFunc(codes, func(c effect.Code) bool { return c.Hash == trust.CodeHash(code) }) {
		return false, err
	}
	ctx = core.WithActor(ctx, core.Actor{Via: core.ViaGateway, At: p.Now()})
	_, err = p.AddIdentity(ctx, core.Identity{User: codes[0].User, Address: in.Address, Name: in.Name, LastUsed: p.Now()})
	if err != nil && !errors.Is(err, core.ErrExists) {
		return false, err
	}
	return p.claimed(ctx, in, code)
}

// claimed uses up the code by which the owner got an address, and calls an owner without a name as the app does.
func (p *People) claimed(ctx context.Context, in core.Inbound, code string) (bool, error) {
	_, err := p.UseCode(ctx, effect.CodeOwner, trust.CodeHash(code), p.Now())
	if err != nil && !errors.Is(err, core.ErrRefused) {
		return false, err
	}
	owner, err := p.Owner(ctx)
	if err == nil && owner.Name == unnamed && in.Name != "" {
		_, err = p.Note(ctx, store.Note{User: owner.ID, Now: p.Now(), Effects: []core.Effect{effect.SetName{Name: in.Name}}})
	}
	p.Log.Info("owner got an address", zap.String("channel", in.Address.Channel),
		zap.String("address", in.Address.External))
	return err == nil, err
}

// ClaimOwner moves a known address to the owner if the message is /start with the owner code.
func (p *People) ClaimOwner(ctx context.Context, in core.Inbound, i core.Identity) (bool, error) {
	code, ok := startCode(in.Text)
	if !ok {
		return false, nil
	}
	codes, err := p.Codes(ctx, effect.CodeOwner, p.Now())
	if err != nil || len(codes) == 0 || codes[0].Hash != trust.CodeHash(code) || codes[0].User == i.User {
		return false, err
	}
	i.LastUsed = p.Now()
	ctx = core.WithActor(ctx, core.Actor{Via: core.ViaGateway, At: i.LastUsed})
	if err := p.MoveIdentity(ctx, i, codes[0].User); err != nil && !errors.Is(err, core.ErrNotFound) {
		return false, err
	}
	return p.claimed(ctx, in, code)
}

// allowed reports whether the list has any of the sender's addresses.
func (p *People) allowed(in core.Inbound) bool {
	return slices.ContainsFunc(append([]string{in.Address.External}, in.Aliases...), func(external string) bool {
		return slices.ContainsFunc(p.Settings.Allow, func(entry string) bool {
			channel, who, _ := strings.Cut(entry, ":")
			return channel == in.Address.Channel && p.listed(channel, who) == p.listed(channel, external)
		})
	})
}

// listed returns a person of a channel as the list compares them; one that can be nobody is left as it is.
func (p *People) listed(channel, who string) string {
	if p.Settings.Listed != nil {
		if same, err := p.Settings.Listed(channel, who); err == nil {
			return same
		}
	}
	return who
}

// admit makes a stranger a user with this address.
func (p *People) admit(ctx context.Context, in core.Inbound) (bool, error) {
	name := cmp.Or(in.Name, in.Address.Channel+" "+in.Address.External)
	_, err := p.AddUserAt(ctx, core.User{Name: name, Role: core.RoleMember, Settings: core.Settings{Language: in.Language},
		CreatedAt: p.Now()}, core.Identity{Address: in.Address, Name: in.Name, LastUsed: p.Now()})
	if errors.Is(err, core.ErrExists) {
		err = nil
	}
	return err == nil, err
}

// pair holds a stranger's message. Unless a code of theirs or too many codes of the channel
// are pending, it answers with a code for the owner to approve.
func (p *People) pair(ctx context.Context, in core.Inbound) error {
	now := p.Now()
	h := store.Hold{Event: in, Keep: true, Now: now}
	codes, err := p.Codes(ctx, effect.CodePair, now)
	if err != nil {
		return err
	}
	pending := 0
	for _, c := range codes {
		if c.Address == in.Address.Chat() {
			_, err := p.Hold(ctx, h)
			return err
		}
		if c.Address.Channel == in.Address.Channel && !c.Group {
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

// withCode adds a pairing code to a held message, and the answer with the code.
func (p *People) withCode(h *store.Hold, now time.Time) error {
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
	h.Code = &effect.Code{Kind: effect.CodePair, Hash: trust.CodeHash(code), Hint: code, Address: in.Address, Name: in.Name,
		Created: now, Expires: now.Add(p.Settings.CodeLife)}
	h.Delivery = p.toStranger(in, fmt.Sprintf(say(cmp.Or(in.Language, p.Settings.Language)).Pairing, code))
	h.Delivery.Expires = h.Code.Expires
	p.Log.Info("stranger asks to be admitted; approve with `everthread pair approve CODE`", zap.String("channel", in.Address.Channel), zap.String("name", in.Name), zap.String("code", code))
	return nil
}

// texts are the messages of this package to people, in one language.
type texts struct {
	LinkQuestion          string // who used the code
	LinkJoins, LinkShares string
	LinkOwner             string // the word to type
	YesOrNo               string
	LinkAsked             string
	LinkLocked            string // minutes
	LinkWrong             string
	Joined                string
	Pairing               string // code
	Group                 string // code

	AccountQuestion            string // browser, one of the next four
	WantsAdminKey, WantsSignIn string // name
	WantsDelete, WantsExport   string
	MadeAdminKey, MadeSignIn   string // name
	MadeKey, MadeAgent         string // browser, name
	MadeExport                 string
	DeletionAsked              string // browser, where the question is
	BrowserOn                  string // browser, system
	BrowserUnknown             string
}

var say = i18n.In[texts]("people")

// ownChannels are doors of the gateway itself. People see messages there only when they
// look, and an address there does not prove that it is the owner's.
var ownChannels = []string{"terminal", "web", "openai", "api"}

// Own reports whether a channel is a door of the gateway itself.
func Own(channel string) bool { return slices.Contains(ownChannels, channel) }

// Lengths of the random parts of addresses and links.
const (
	doorSigns = 16
	linkSigns = 24
)

// Door returns a user's identity on a channel of the gateway itself, and creates it if there is none.
func (p *People) Door(ctx context.Context, user core.UserID, channel string) (core.Identity, error) {
	if i, err := p.door(ctx, user, channel); !errors.Is(err, core.ErrNotFound) {
		return i, err
	}
	external, err := p.Code(doorSigns)
	if err != nil {
		return core.Identity{}, err
	}
	_, err = p.AddIdentity(ctx, core.Identity{User: user, Address: core.Address{Channel: channel, External: external},
		LastUsed: p.Now()})
	if err != nil {
		return core.Identity{}, fmt.Errorf("make a door on %s: %w", channel, err)
	}
	return p.door(ctx, user, channel) // concurrent callers get the same one
}

func (p *People) door(ctx context.Context, user core.UserID, channel string) (core.Identity, error) {
	ids, err := p.Identities(ctx, user)
	if err != nil {
		return core.Identity{}, err
	}
	ids = slices.DeleteFunc(ids, func(i core.Identity) bool { return i.Address.Channel != channel })
	if len(ids) == 0 {
		return core.Identity{}, core.ErrNotFound
	}
	return slices.MinFunc(ids, func(a, b core.Identity) int { return int(a.ID - b.ID) }), nil
}

// NewWebCode returns a code that signs a user in to the web page once, and the row to store.
func (p *People) NewWebCode(user core.UserID, life time.Duration) (string, effect.Code, error) {
	code, err := p.Code(linkSigns)
	now := p.Now()
	return code, effect.Code{Kind: effect.CodeWeb, Hash: trust.CodeHash(code), User: user, Created: now,
		Expires: now.Add(life)}, err
}

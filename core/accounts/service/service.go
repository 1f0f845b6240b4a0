// Package service connects people with services: servers of tools (MCP) whose address wants OAuth. Each person grants
// access for themselves, in a browser, and what they granted is used in their turns only.
//
// Connecting has three steps, and each continues with a code that is used once and belongs to the user who began:
//
//  1. Link makes a code of CodeConnect, which a page shows with the names of the service and of the user.
//  2. Begin uses it up when the person presses the button. It discovers the authorization server (RFC 9728, RFC 8414),
//     registers us there if need be (RFC 7591), and returns the address to open, with a state of CodeConsent and the
//     challenge of a secret that only we know (PKCE).
//  3. Complete uses the state up, trades the code of the authorization server for tokens and stores them encrypted.
//
// Access returns a token that is good now. It renews tokens before they expire, or when the service refuses one, at
// most once at a time among all processes: authorization servers take the repeated use of a refresh token for theft.
//
// The configured address of a service is the operator's. Addresses that it names are foreign, and reached by the policy
// of egress only.
package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"go.uber.org/zap"
	"golang.org/x/oauth2"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/text/markup"
	"github.com/everthread/everthread/core/trust"
	"github.com/everthread/everthread/core/trust/egress"
	"github.com/everthread/everthread/core/trust/secret"
)

// Errors of connecting. What is wrong in detail is in the log.
var (
	// ErrDenied: the person refused to grant access, or the authorization server did.
	ErrDenied = errors.New("access was not granted")
	// ErrAway: the service, or its authorization server, does not answer as it must.
	ErrAway = errors.New("the service does not say how to connect it")
	// ErrUnregistered: the authorization server wants a client_id, which the operator has to enter.
	ErrUnregistered = errors.New("the service wants programs to be registered by hand: set oauth.client_id")
)

// Service is a configured server with OAuth.
type Service struct {
	Name string
	URL  string
	// ClientID and ClientSecret are how we are known to its authorization server; empty: we register ourselves.
	ClientID, ClientSecret string
	Scopes                 []string // that people are asked to grant; none: what the service wants
	// May reports whether a user may use the service.
	May func(core.User) bool
}

// Host returns where the service is, for people.
func (s Service) Host() string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return s.Name
	}
	return u.Hostname()
}

// Store is the part of a store that Services use.
type Store interface {
	store.ServiceStore
	PutCode(ctx context.Context, c effect.Code) error
	Code(ctx context.Context, kind effect.CodeKind, hash string, now time.Time) (effect.Code, error)
	UseCode(ctx context.Context, kind effect.CodeKind, hash string, now time.Time) (effect.Code, error)
	User(ctx context.Context, id core.UserID) (core.User, error)
	State(ctx context.Context, account, key string) (string, error)
	SetState(ctx context.Context, account string, values map[string]string, f store.Fence) error
	Note(ctx context.Context, n store.Note) (store.Noted, error)
}

// Options are the dependencies of Services. All are required, but Planner and Channels are only to tell people.
type Options struct {
	Services []Service
	Store    Store
	Way      *egress.Gate
	Sealer   func() (*secret.Sealer, error)
	Planner  core.Planner // nil: people are not told
	Channels core.Channels
	Language string // of people who chose none
	// Connected is called when a user has connected a service; nil: nobody wants to know.
	Connected func(user core.UserID)
	Life      time.Duration // of a link that connects
	Log       *zap.Logger
	Now       func() time.Time
	Rand      io.Reader // safe for concurrent use
}

// Services connects people with services. It is safe for concurrent use.
type Services struct {
	Options
	dialers map[string]*dialer // by service
}

// New returns the services.
func New(o Options) *Services {
	s := &Services{Options: o, dialers: map[string]*dialer{}}
	for _, one := range o.Services {
		s.dialers[one.Name] = newDialer(o.Way, one.URL)
	}
	return s
}

// Of lists the services that a user may use, in their configured order.
func (s *Services) Of(ctx context.Context, u core.User) ([]store.Service, error) {
	if len(s.Services) == 0 {
		return nil, nil
	}
	grants, err := s.Store.ServiceGrants(ctx, u.ID)
	if err != nil {
		return nil, err
	}
	var out []store.Service
	for _, one := range s.Services {
		if !one.May(u) {
			continue
		}
		c := store.Service{Name: one.Name, Host: one.Host()}
		for _, g := range grants {
			if g.Service == one.Name {
				c.Since = g.CreatedAt
			}
		}
		out = append(out, c)
	}
	return out, nil
}

// find returns the service of a name in any case that a user may use, or core.ErrNotFound.
func (s *Services) find(u core.User, name string) (Service, error) {
	for _, one := range s.Services {
		if strings.EqualFold(one.Name, name) && one.May(u) {
			return one, nil
		}
	}
	return Service{}, core.ErrNotFound
}

// Link returns a code that begins to connect a service, and its stored form, which the caller stores. core.ErrNotFound
// if the user may use no such service.
func (s *Services) Link(u core.User, name string) (code string, stored effect.Code, err error) {
	one, err := s.find(u, name)
	if err != nil {
		return "", effect.Code{}, err
	}
	return s.code(effect.CodeConnect, u.ID, one.Name, s.Life)
}

// alphabet has the characters of codes: 32, so that a byte maps to one without bias.
const alphabet = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"

// code returns a random code of 160 bits and its stored form.
func (s *Services) code(kind effect.CodeKind, user core.UserID, name string,
	life time.Duration) (string, effect.Code, error) {
	b := make([]byte, 32)
	if _, err := io.ReadFull(s.Rand, b); err != nil {
		return "", effect.Code{}, fmt.Errorf("generate a code: %w", err)
	}
	for i := range b {
		b[i] = alphabet[int(b[i])%len(alphabet)]
	}
	now := s.Now()
	return string(b), effect.Code{Kind: kind, Hash: trust.CodeHash(string(b)), User: user, Name: name, Created: now,
		Expires: now.Add(life)}, nil
}

// Asked is what a link would connect.
type Asked struct {
	User    core.User
	Service Service
	Until   time.Time
}

// Asked returns what a code of Link would connect, and changes nothing. core.ErrNotFound if the code is not valid.
func (s *Services) Asked(ctx context.Context, code string) (Asked, error) {
	c, err := s.Store.Code(ctx, effect.CodeConnect, trust.CodeHash(code), s.Now())
	if err != nil {
		return Asked{}, err
	}
	return s.asked(ctx, c)
}

func (s *Services) asked(ctx context.Context, c effect.Code) (Asked, error) {
	u, err := s.Store.User(ctx, c.User)
	if err != nil {
		return Asked{}, err
	}
	one, err := s.find(u, c.Name)
	return Asked{User: u, Service: one, Until: c.Expires}, err
}

// consentLife is how long a person may take at the authorization server.
const consentLife = 15 * time.Minute

// consent is what Complete needs of Begin.
type consent struct {
	Verifier string `json:"verifier"`
	Issuer   string `json:"issuer"`
	SaysIss  bool   `json:"says_iss"` // the authorization server names itself in its answer
	Redirect string `json:"redirect"`
	Grant    tokens `json:"grant"` // without tokens
}

// tokens are those of a grant, with what is needed to renew and to revoke them.
type tokens struct {
	Access       string           `json:"access"`
	Refresh      string           `json:"refresh,omitempty"`
	URL          string           `json:"url"` // of the service: they are for no other
	Resource     string           `json:"resource"`
	TokenURL     string           `json:"token_url"`
	RevokeURL    string           `json:"revoke_url,omitempty"`
	ClientID     string           `json:"client_id"`
	ClientSecret string           `json:"client_secret,omitempty"`
	Style        oauth2.AuthStyle `json:"style"`
	Registration string           `json:"registration,omitempty"` // the key of its state; empty: it was configured
}

// config returns the configuration of a client that trades codes and tokens.
func (t tokens) config() *oauth2.Config {
	return &oauth2.Config{ClientID: t.ClientID, ClientSecret: t.ClientSecret,
		Endpoint: oauth2.Endpoint{TokenURL: t.TokenURL, AuthStyle: t.Style}}
}

// sealedConsent is the name under which what Complete needs is sealed.
func sealedConsent(service string) string { return "consent " + service }

// SealedAs returns the name under which the grants for a service are sealed.
func SealedAs(service string) string { return "grant " + service }

func (s *Services) seal(what string, v any) (string, error) {
	by, err := s.Sealer()
	if err != nil {
		return "", err
	}
	plain, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return by.Seal(what, string(plain))
}

func (s *Services) open(what, sealed string, v any) error {
	by, err := s.Sealer()
	if err != nil {
		return err
	}
	plain, err := by.Open(what, sealed)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return json.Unmarshal([]byte(plain), v)
}

// named is the Name of a code of CodeConsent.
type named struct {
	Service string `json:"service"`
	Sealed  string `json:"sealed"`
}

// Begin uses up a code of Link. It returns the address at which the person grants access, and its state, which the
// browser must prove to have begun with. base is the address of our page. Errors are ErrAway and ErrUnregistered,
// core.ErrNotFound and core.ErrRefused (the code is not valid), or of the store; asked is valid for the first two.
func (s *Services) Begin(ctx context.Context, code, base string) (address, state string, asked Asked, err error) {
	c, err := s.Store.UseCode(ctx, effect.CodeConnect, trust.CodeHash(code), s.Now())
	if err != nil {
		return "", "", Asked{}, err
	}
	if asked, err = s.asked(ctx, c); err != nil {
		return "", "", Asked{}, err
	}
	ctx, cancel := context.WithTimeout(egress.For(ctx, c.User), patience)
	defer cancel()
	redirect := strings.TrimRight(base, "/") + BackPath
	at, err := s.discover(ctx, asked.Service)
	if err == nil {
		err = s.register(ctx, asked.Service, at, redirect)
	}
	if err != nil {
		s.Log.Warn("a service cannot be connected", zap.String("service", asked.Service.Name),
			zap.Int64("user", int64(c.User)), zap.String("cause", told(err)))
		if !errors.Is(err, ErrUnregistered) {
			err = ErrAway
		}
		return "", "", asked, err
	}
	w := consent{Verifier: oauth2.GenerateVerifier(), Issuer: at.issuer, SaysIss: at.saysIss, Redirect: redirect,
		Grant: at.client}
	if address, state, err = s.ask(ctx, c.User, asked.Service, at, w); err != nil {
		return "", "", asked, err
	}
	return address, state, asked, nil
}

// BackPath is the path to which authorization servers send browsers back.
const BackPath = "/connect/back"

// ask stores what Complete needs, and returns the address to open and its state.
func (s *Services) ask(ctx context.Context, user core.UserID, one Service, at *place,
	w consent) (address, state string, err error) {
	sealed, err := s.seal(sealedConsent(one.Name), w)
	if err != nil {
		return "", "", err
	}
	name, err := json.Marshal(named{one.Name, sealed})
	if err != nil {
		return "", "", err
	}
	state, stored, err := s.code(effect.CodeConsent, user, string(name), consentLife)
	if err != nil {
		return "", "", err
	}
	if err := s.Store.PutCode(ctx, stored); err != nil {
		return "", "", err
	}
	c := w.Grant.config()
	c.Endpoint.AuthURL, c.RedirectURL, c.Scopes = at.authorize, w.Redirect, at.scopes
	return c.AuthCodeURL(state, oauth2.S256ChallengeOption(w.Verifier),
		oauth2.SetAuthURLParam("resource", w.Grant.Resource)), state, nil
}

// Answer is what an authorization server sent the browser back with.
type Answer struct{ State, Code, Issuer, Error string }

// Complete uses up the state of an answer and stores the grant. It returns for whom, and which service, whenever the
// state is valid. Errors are ErrDenied and ErrAway, core.ErrRefused (the state is not valid), core.ErrNotFound (the
// user may not use the service any more), or of the store.
func (s *Services) Complete(ctx context.Context, a Answer) (Asked, error) {
	c, err := s.Store.UseCode(ctx, effect.CodeConsent, trust.CodeHash(a.State), s.Now())
	if err != nil {
		return Asked{}, err
	}
	var n named
	if err := json.Unmarshal([]byte(c.Name), &n); err != nil {
		return Asked{}, core.ErrRefused
	}
	c.Name = n.Service
	asked, err := s.asked(ctx, c)
	if err != nil {
		return Asked{}, err
	}
	var w consent
	if err := s.open(sealedConsent(n.Service), n.Sealed, &w); err != nil {
		return asked, err
	}
	ctx, cancel := context.WithTimeout(egress.For(ctx, c.User), patience)
	defer cancel()
	err = s.complete(ctx, asked, w, a)
	if err == nil || !errors.Is(err, ErrDenied) && !errors.Is(err, ErrAway) {
		return asked, err
	}
	s.Log.Warn("a service was not connected", zap.String("service", asked.Service.Name),
		zap.Int64("user", int64(c.User)), zap.String("cause", told(err)))
	if errors.Is(err, ErrDenied) {
		return asked, ErrDenied
	}
	return asked, ErrAway
}

func (s *Services) complete(ctx context.Context, asked Asked, w consent, a Answer) error {
	switch {
	case w.Grant.URL != asked.Service.URL:
		return fmt.Errorf("%w: its address was changed meanwhile", ErrAway)
	case a.Issuer != "" && a.Issuer != w.Issuer, a.Issuer == "" && w.SaysIss:
		return fmt.Errorf("%w: the answer is of the authorization server %q, not %q", ErrAway, a.Issuer, w.Issuer)
	case a.Error != "" || a.Code == "":
		return fmt.Errorf("%w: %q", ErrDenied, cmp.Or(a.Error, "there is no code"))
	}
	d := s.dialers[asked.Service.Name]
	c := w.Grant.config()
	c.RedirectURL = w.Redirect
	got, err := c.Exchange(d.trading(ctx), a.Code, oauth2.VerifierOption(w.Verifier),
		oauth2.SetAuthURLParam("resource", w.Grant.Resource))
	if err != nil {
		s.unregister(ctx, asked.Service, w.Grant, err)
		return fmt.Errorf("%w: trade the code: %w", ErrAway, err)
	}
	t := w.Grant
	if err := t.take(got); err != nil {
		return fmt.Errorf("%w: %w", ErrAway, err)
	}
	sealed, err := s.seal(SealedAs(asked.Service.Name), t)
	if err != nil {
		return err
	}
	if _, err := s.Store.PutServiceGrant(ctx, store.ServiceGrant{User: asked.User.ID, Service: asked.Service.Name,
		Sealed: sealed, Expires: s.until(got), CreatedAt: s.Now()}); err != nil {
		return err
	}
	// A grant that this one replaces is not revoked: some authorization servers would end both.
	s.Log.Info("a service was connected", zap.String("service", asked.Service.Name),
		zap.Int64("user", int64(asked.User.ID)))
	if s.Connected != nil {
		s.Connected(asked.User.ID)
	}
	return nil
}

// take takes over the tokens of an answer.
func (t *tokens) take(got *oauth2.Token) error {
	if !strings.EqualFold(got.Type(), "Bearer") {
		return fmt.Errorf("tokens of the kind %q are not understood", got.TokenType)
	}
	const longest = 16 << 10
	if len(got.AccessToken)+len(got.RefreshToken) > longest || strings.ContainsFunc(got.AccessToken, unsendable) {
		return errors.New("the token cannot be sent in a header")
	}
	t.Access, t.Refresh = got.AccessToken, cmp.Or(got.RefreshToken, t.Refresh)
	return nil
}

// until returns when a token ends; zero: nobody said.
func (s *Services) until(got *oauth2.Token) time.Time {
	if got.ExpiresIn <= 0 {
		return time.Time{}
	}
	return s.Now().Add(time.Duration(min(got.ExpiresIn, longestLife)) * time.Second)
}

// longestLife bounds the life of a token, in seconds: ten years.
const longestLife = 10 * 365 * 24 * 3600

func unsendable(r rune) bool { return r <= ' ' || r > '~' }

// held is a grant that is to be revoked.
type held struct {
	service string
	tokens  tokens
	grant   store.ServiceGrant
}

// held returns a user's grants, or that for one service, which can be opened.
func (s *Services) held(ctx context.Context, user core.UserID, name string) (out []held) {
	grants, err := s.Store.ServiceGrants(ctx, user)
	if err != nil {
		s.Log.Warn("grants not read", zap.Int64("user", int64(user)), zap.Error(err))
	}
	for _, g := range grants {
		h := held{service: g.Service, grant: g}
		if name != "" && g.Service != name {
			continue
		}
		if err := s.open(SealedAs(g.Service), g.Sealed, &h.tokens); err != nil {
			s.Log.Warn("a grant cannot be read", zap.String("service", g.Service), zap.Error(err))
		}
		out = append(out, h)
	}
	return out
}

// Disconnect deletes a user's grant for a service and revokes it at its authorization server. revoked is false if that
// did not confirm it. core.ErrNotFound if there is no such grant.
func (s *Services) Disconnect(ctx context.Context, u core.User, name string) (revoked bool, err error) {
	for _, one := range s.Services {
		if strings.EqualFold(one.Name, name) {
			name = one.Name
		}
	}
	all := s.held(ctx, u.ID, name)
	if len(all) == 0 {
		return false, core.ErrNotFound
	}
	h := all[0]
	for range 10 { // it may be renewed at this moment
		dropped, err := s.Store.DropServiceGrant(ctx, h.grant)
		if err != nil {
			return false, err
		}
		if dropped {
			s.Log.Info("a service was disconnected", zap.String("service", name), zap.Int64("user", int64(u.ID)))
			return s.revoke(ctx, h) == nil, nil
		}
		if all = s.held(ctx, u.ID, name); len(all) == 0 {
			return false, core.ErrNotFound
		}
		h = all[0]
	}
	return false, core.ErrChanged
}

// Leaving prepares the deletion of a user: the returned function revokes what they granted, once they are gone.
func (s *Services) Leaving(ctx context.Context, user core.UserID) (revoke func(ctx context.Context)) {
	all := s.held(ctx, user, "")
	return func(ctx context.Context) {
		for _, h := range all {
			_ = s.revoke(ctx, h) // it was logged, and expires by itself
		}
	}
}

// tell tells a person once that a service no longer accepts what they granted.
func (s *Services) tell(ctx context.Context, g store.ServiceGrant) error {
	if s.Planner == nil {
		return nil
	}
	u, err := s.Store.User(ctx, g.User)
	if err != nil {
		return err
	}
	targets, err := s.Planner.Plan(ctx, u, false)
	if err != nil {
		return err
	}
	said := fmt.Sprintf(say(cmp.Or(u.Settings.Language, s.Language)).Ended, g.Service)
	now := s.Now()
	n := store.Note{User: u.ID, Once: fmt.Sprintf("service %s:%d", g.Service, g.ID), Now: now,
		Messages: []core.NewMessage{{Role: core.RoleAssistant, Kind: core.KindNotice, Text: said, SentAt: now, Rings: core.Unreached(targets)}}}
	for _, t := range targets {
		n.Deliveries = append(n.Deliveries, t.Delivery(core.DeliverNotice,
			markup.Parts(said, s.Channels.Capabilities(t.Identity.Address.Channel))))
	}
	_, err = s.Store.Note(ctx, n)
	return err
}

// texts are the words of this package.
type texts struct {
	Ended string // service
}

var say = i18n.In[texts]("services")

// List returns the kept list of tools of a service, "" if none is; see mcp.Grants.
func (s *Services) List(ctx context.Context, name string) (string, error) {
	return s.Store.State(ctx, account(name), listKey)
}

// SetList keeps the list of tools of a service.
func (s *Services) SetList(ctx context.Context, name, list string) error {
	return s.Store.SetState(ctx, account(name), map[string]string{listKey: list}, store.Fence{})
}

// account returns the account of the state of a service, and listKey the key of its list of tools.
func account(service string) string { return "service:" + service }

const listKey = "tools"

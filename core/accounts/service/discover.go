package service

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/trust/egress"
)

const (
	patience   = 40 * time.Second // for all requests of a step
	oneRequest = 10 * time.Second
	mostHops   = 3       // redirects of a request for metadata
	mostBytes  = 1 << 20 // of an answer
)

// dialer has the clients for a service and its authorization server: get follows a few redirects, by the policy, and
// post none, because secrets are in its requests.
type dialer struct{ get, post *http.Client }

func newDialer(way *egress.Gate, address string) *dialer {
	get := way.Client(address)
	get.Transport, get.Timeout = bounded{get.Transport}, oneRequest
	post := *get
	get.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if len(via) > mostHops || via[0].URL.Scheme == "https" && req.URL.Scheme != "https" {
			return errors.New("it redirects too often, or to an address without https")
		}
		return nil
	}
	post.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &dialer{get: get, post: &post}
}

// trading returns a context with which oauth2 sends its requests our way.
func (d *dialer) trading(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, d.post)
}

// bounded bounds the bodies of answers.
type bounded struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(req)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, mostBytes), resp.Body}
	}
	return resp, err
}

// place is the authorization server of a service.
type place struct {
	issuer    string
	saysIss   bool
	authorize string
	register  string // empty: it registers nobody
	methods   []string
	scopes    []string
	client    tokens // how we are known, without tokens
}

// discover asks a service for its authorization server, and that for its addresses.
func (s *Services) discover(ctx context.Context, one Service) (*place, error) {
	d := s.dialers[one.Name]
	resource, wanted, err := d.resource(ctx, one.URL)
	if err != nil {
		return nil, err
	}
	issuer := resource.AuthorizationServers[0]
	meta, err := auth.GetAuthServerMetadata(ctx, issuer, d.get)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read what the authorization server says of itself: %w", err)
	case meta == nil:
		return nil, fmt.Errorf("the authorization server %s says nothing of itself", issuer)
	case !slices.Contains(meta.CodeChallengeMethodsSupported, "S256"):
		return nil, errors.New("the authorization server does not know PKCE with S256")
	case meta.TokenEndpoint == "" || !web(meta.TokenEndpoint) || !web(meta.AuthorizationEndpoint):
		return nil, errors.New("the authorization server names no web addresses for its pages")
	}
	p := &place{issuer: meta.Issuer, saysIss: meta.AuthorizationResponseIssParameterSupported,
		authorize: meta.AuthorizationEndpoint, register: meta.RegistrationEndpoint,
		methods: meta.TokenEndpointAuthMethodsSupported, scopes: one.Scopes,
		client: tokens{URL: one.URL, Resource: resource.Resource, TokenURL: meta.TokenEndpoint}}
	if web(meta.RevocationEndpoint) {
		p.client.RevokeURL = meta.RevocationEndpoint
	}
	if len(p.scopes) == 0 {
		if p.scopes = wanted; len(p.scopes) == 0 {
			p.scopes = resource.ScopesSupported
		}
	}
	if slices.Contains(meta.ScopesSupported, offline) && !slices.Contains(p.scopes, offline) {
		p.scopes = append(slices.Clone(p.scopes), offline)
	}
	return p, nil
}

// Check looks for the authorization server of a service and returns its host, or why nobody can connect the service. It
// registers nothing.
func (s *Services) Check(ctx context.Context, one Service) (host string, err error) {
	p, err := s.discover(ctx, one)
	if err != nil {
		return "", errors.New(told(err))
	}
	if one.ClientID == "" && p.register == "" {
		return "", ErrUnregistered
	}
	u, err := url.Parse(p.authorize)
	if err != nil {
		return "", errors.New("the address of its page cannot be read")
	}
	return u.Hostname(), nil
}

// offline is the scope that refresh tokens need at some servers.
const offline = "offline_access"

// web reports whether an address is one of the web: https, or http on this machine.
func web(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || err == nil && ip.IsLoopback())
}

// resource asks a service for its metadata (RFC 9728), and for the scopes that it wants. A service that has none is, by
// an earlier version of the protocol, its own authorization server.
func (d *dialer) resource(ctx context.Context, address string) (m *oauthex.ProtectedResourceMetadata, scopes []string,
	err error) {
	at, scopes, err := d.challenge(ctx, address)
	if err != nil {
		return nil, nil, err
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, nil, errors.New("its address cannot be read")
	}
	root := url.URL{Scheme: u.Scheme, Host: u.Host}
	const known = "/.well-known/oauth-protected-resource"
	tries := [][2]string{{root.String() + known + strings.TrimRight(u.EscapedPath(), "/"), address},
		{root.String() + known, root.String()}}
	if at != "" {
		tries = append([][2]string{{at, address}}, tries...)
	}
	var lies error
	for _, t := range tries {
		m, err := oauthex.GetProtectedResourceMetadata(ctx, t[0], t[1], d.get)
		if err == nil && len(m.AuthorizationServers) == 0 {
			err = errors.New("it names no authorization server")
		}
		if err == nil {
			return m, scopes, nil
		}
		if !strings.Contains(err.Error(), "bad status 4") {
			lies = cmp.Or(lies, err)
		}
	}
	if lies != nil {
		return nil, nil, fmt.Errorf("read what the service says of itself: %w", lies)
	}
	return &oauthex.ProtectedResourceMetadata{Resource: address, AuthorizationServers: []string{root.String()}}, scopes, nil
}

// challenge asks a service without a token, and returns the address of its metadata and the scopes that it names.
func (d *dialer) challenge(ctx context.Context, address string) (metadata string, scopes []string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", nil, err
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := d.post.Do(req)
	if err != nil {
		return "", nil, fmt.Errorf("ask the service: %w", err)
	}
	_ = resp.Body.Close() // the header says it
	if resp.StatusCode != http.StatusUnauthorized {
		return "", nil, nil
	}
	all, err := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
	if err != nil {
		return "", nil, fmt.Errorf("read how the service wants to be asked: %w", err)
	}
	for _, c := range all {
		if c.Scheme == "bearer" {
			metadata = cmp.Or(metadata, c.Params["resource_metadata"])
			if len(scopes) == 0 {
				scopes = strings.Fields(c.Params["scope"])
			}
		}
	}
	return metadata, scopes, nil
}

// registration is how an authorization server knows us.
type registration struct {
	ID      string           `json:"id"`
	Secret  string           `json:"secret,omitempty"`
	Style   oauth2.AuthStyle `json:"style"`
	Expires time.Time        `json:"expires,omitzero"`
}

// register sets the client of a place: the configured one, the one that is registered, or a new one. A registration is
// of the installation, for one service, authorization server and address of ours.
func (s *Services) register(ctx context.Context, one Service, p *place, redirect string) error {
	if one.ClientID != "" {
		p.client.ClientID, p.client.ClientSecret = one.ClientID, one.ClientSecret
		p.client.Style = styleOf(one.ClientSecret, p.methods)
		return nil
	}
	sum := sha256.Sum256([]byte(p.issuer + "\n" + redirect))
	key := "secret client " + hex.EncodeToString(sum[:8])
	r, err := s.registered(ctx, one, key)
	if err != nil {
		return err
	}
	if r.ID == "" || !r.Expires.IsZero() && !s.Now().Before(r.Expires) {
		if p.register == "" {
			return ErrUnregistered
		}
		if r, err = s.dialers[one.Name].enrol(ctx, p, redirect); err != nil {
			return err
		}
		sealed, err := s.seal(account(one.Name)+" "+key, r)
		if err != nil {
			return err
		}
		if err := s.Store.SetState(ctx, account(one.Name), map[string]string{key: sealed}, store.Fence{}); err != nil {
			return err
		}
	}
	p.client.ClientID, p.client.ClientSecret, p.client.Style, p.client.Registration = r.ID, r.Secret, r.Style, key
	return nil
}

// registered returns the registration under a key; zero: there is none that can be read.
func (s *Services) registered(ctx context.Context, one Service, key string) (r registration, err error) {
	sealed, err := s.Store.State(ctx, account(one.Name), key)
	if err != nil || sealed == "" {
		return r, err
	}
	if s.open(account(one.Name)+" "+key, sealed, &r) != nil {
		return registration{}, nil
	}
	return r, nil
}

// unregister forgets a registration that the authorization server no longer knows.
func (s *Services) unregister(ctx context.Context, one Service, t tokens, cause error) {
	if said, ok := errors.AsType[*oauth2.RetrieveError](cause); ok && said.ErrorCode == "invalid_client" && t.Registration != "" {
		_ = s.Store.SetState(ctx, account(one.Name), map[string]string{t.Registration: ""}, store.Fence{}) // tried again
	}
}

// enrol registers us at an authorization server (RFC 7591).
func (d *dialer) enrol(ctx context.Context, p *place, redirect string) (registration, error) {
	wanted := &oauthex.ClientRegistrationMetadata{RedirectURIs: []string{redirect}, ClientName: "Everthread",
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		Scope: strings.Join(p.scopes, " "), TokenEndpointAuthMethod: "client_secret_basic", ApplicationType: "web"}
	for _, method := range []string{"none", "client_secret_basic", "client_secret_post"} {
		if slices.Contains(p.methods, method) {
			wanted.TokenEndpointAuthMethod = method
			break
		}
	}
	if strings.HasPrefix(redirect, "http:") {
		wanted.ApplicationType = "native" // on this machine
	}
	got, err := oauthex.RegisterClient(ctx, p.register, wanted, d.post)
	if err != nil {
		return registration{}, fmt.Errorf("register: %w", err)
	}
	r := registration{ID: got.ClientID, Secret: got.ClientSecret, Expires: got.ClientSecretExpiresAt}
	if r.Style = oauth2.AuthStyleInHeader; r.Secret == "" || got.TokenEndpointAuthMethod == "client_secret_post" {
		r.Style = oauth2.AuthStyleInParams
	}
	if got.TokenEndpointAuthMethod == "none" {
		r.Secret, r.Style = "", oauth2.AuthStyleInParams
	}
	return r, nil
}

// styleOf returns how a configured client names itself, given the methods that the authorization server knows.
func styleOf(secret string, methods []string) oauth2.AuthStyle {
	if secret == "" || slices.Contains(methods, "client_secret_post") && !slices.Contains(methods, "client_secret_basic") {
		return oauth2.AuthStyleInParams
	}
	return oauth2.AuthStyleInHeader
}

// told returns an error in one line, for the log. What an authorization server sent beside its error code is left out:
// it may repeat a token.
func told(err error) string {
	const longest = 300
	if said, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		out := "the authorization server answered"
		if said.Response != nil {
			out += " " + said.Response.Status
		}
		return text.Shorten(text.OneLine(out+" "+said.ErrorCode), longest)
	}
	var at *url.Error
	message := err.Error()
	if errors.As(err, &at) {
		message = strings.ReplaceAll(message, at.URL, host(at.URL))
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		message = "the answer is no JSON"
	}
	return text.Shorten(text.OneLine(message), longest)
}

// host returns the host of an address.
func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "its address"
	}
	return u.Host
}

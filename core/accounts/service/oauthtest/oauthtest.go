// Package oauthtest runs a service for tests: a server of tools (MCP) that wants OAuth, with a real authorization
// server in front of it, at one address on this machine.
package oauthtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// Options change a service. The zero value registers everybody.
type Options struct {
	NoRegistration bool
	// Account is the one as which every browser is signed in, without a question; empty: the page of the library asks.
	Account string
	// Metadata changes what the authorization server says of itself; nil: nothing.
	Metadata func(m map[string]any)
}

// Service is a running service. Its accounts are Ada and Bob.
type Service struct {
	URL string // of the server of tools

	o       Options
	origin  string
	storage *stored
	opened  http.Handler // the authorization server
	tools   http.Handler

	mu        sync.Mutex
	hits      map[string]int // by path
	resources []string       // of requests for tokens
	closed    atomic.Bool    // the server of tools refuses every token
}

// Accounts of the service, and the password of all.
const (
	Ada      = "test-user@127.0.0.1"
	Bob      = "test-user2"
	Password = "verysecure"
)

// New runs a service until the test ends.
func New(t testing.TB, o Options) *Service {
	t.Helper()
	s := &Service{o: o, hits: map[string]int{}}
	server := httptest.NewServer(s)
	s.origin, s.URL = server.URL, server.URL+"/mcp"
	s.storage = &stored{Storage: storage.NewStorageWithClients(storage.NewUserStore(server.URL), map[string]*storage.Client{}),
		clients: map[string]*storage.Client{}}
	before := slog.Default() // the library replaces it
	s.opened = exampleop.SetupServer(server.URL, s.storage, slog.New(slog.DiscardHandler), false, op.WithAllowInsecure())
	slog.SetDefault(before)
	s.tools = s.newTools(t)
	t.Cleanup(server.Close)
	return s
}

// stored is the storage of the library, with clients that register while it runs.
type stored struct {
	*storage.Storage
	mu      sync.Mutex
	clients map[string]*storage.Client
	secrets map[string]string
}

// GetClientByClientID returns a client.
func (s *stored) GetClientByClientID(_ context.Context, id string) (op.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.clients[id]; c != nil {
		return storage.RedirectGlobsClient(c), nil
	}
	return nil, errors.New("there is no such client")
}

// AuthorizeClientIDSecret checks the secret of a client.
func (s *stored) AuthorizeClientIDSecret(_ context.Context, id, secret string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clients[id] == nil || s.secrets[id] != secret {
		return errors.New("there is no such client")
	}
	return nil
}

// Register registers a client by hand, as the operator of the authorization server does.
func (s *Service) Register(id, secret string, redirects ...string) {
	s.storage.mu.Lock()
	defer s.storage.mu.Unlock()
	s.storage.clients[id] = storage.WebClient(id, secret, redirects...)
	if s.storage.secrets == nil {
		s.storage.secrets = map[string]string{}
	}
	s.storage.secrets[id] = secret
}

// Clients returns how many clients are registered.
func (s *Service) Clients() int {
	s.storage.mu.Lock()
	defer s.storage.mu.Unlock()
	return len(s.storage.clients)
}

// Hits returns how many requests a path had.
func (s *Service) Hits(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hits[path]
}

// Resources returns the resources that requests for tokens named.
func (s *Service) Resources() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.resources)
}

// Close has the server of tools refuse every token.
func (s *Service) Close(closed bool) { s.closed.Store(closed) }

// SignOut ends what a user of the service granted to all clients.
func (s *Service) SignOut(t testing.TB, id string) {
	t.Helper()
	s.storage.mu.Lock()
	clients := slices.Collect(maps.Keys(s.storage.clients))
	s.storage.mu.Unlock()
	for _, c := range clients {
		if err := s.storage.TerminateSession(t.Context(), id, c); err != nil {
			t.Error(err)
		}
	}
}

// ServeHTTP serves the tools, and the authorization server.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.mu.Lock()
	s.hits[r.URL.Path]++
	if form, err := url.ParseQuery(string(body)); err == nil && r.URL.Path == "/oauth/token" {
		s.resources = append(s.resources, form.Get("resource"))
	}
	s.mu.Unlock()
	switch r.URL.Path {
	case "/mcp":
		s.tools.ServeHTTP(w, r)
	case "/.well-known/oauth-protected-resource/mcp":
		auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{Resource: s.URL,
			AuthorizationServers: []string{s.origin}, ScopesSupported: []string{"openid"}}).ServeHTTP(w, r)
	case "/.well-known/openid-configuration":
		s.describe(w, r)
	case "/register":
		s.register(w, r)
	case "/login/username":
		if id := r.URL.Query().Get("authRequestID"); id != "" && s.o.Account != "" {
			form := url.Values{"id": {id}, "username": {s.o.Account}, "password": {Password}}
			r = httptest.NewRequestWithContext(r.Context(), http.MethodPost, s.origin+r.URL.Path, strings.NewReader(form.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		s.opened.ServeHTTP(w, r)
	default:
		s.opened.ServeHTTP(w, r)
	}
}

// describe answers with the library's metadata, and what Options add.
func (s *Service) describe(w http.ResponseWriter, r *http.Request) {
	rec := httptest.NewRecorder()
	s.opened.ServeHTTP(rec, r)
	m := map[string]any{}
	if err := json.Unmarshal(rec.Body.Bytes(), &m); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if !s.o.NoRegistration {
		m["registration_endpoint"] = s.origin + "/register"
	}
	if s.o.Metadata != nil {
		s.o.Metadata(m)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(m) // the client may be gone
}

// register registers a client (RFC 7591).
func (s *Service) register(w http.ResponseWriter, r *http.Request) {
	var m oauthex.ClientRegistrationMetadata
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil || len(m.RedirectURIs) == 0 || s.o.NoRegistration {
		http.Error(w, `{"error":"invalid_client_metadata"}`, http.StatusBadRequest)
		return
	}
	id := fmt.Sprintf("client-%d", s.Clients()+1)
	s.Register(id, "secret of "+id, m.RedirectURIs...)
	m.TokenEndpointAuthMethod = "client_secret_basic"
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(map[string]any{"client_id": id, "client_secret": "secret of " + id,
		"redirect_uris": m.RedirectURIs, "token_endpoint_auth_method": m.TokenEndpointAuthMethod}) // the client may be gone
}

// newTools returns the server of tools, which verifies tokens with the authorization server.
func (s *Service) newTools(t testing.TB) http.Handler {
	server := mcp.NewServer(&mcp.Implementation{Name: "tracker", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "whoami", Description: "Says whose account is used.",
		InputSchema: map[string]any{"type": "object", "properties": map[string]any{}},
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			said := "the account of " + r.Extra.TokenInfo.UserID
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: said}}}, nil
		})
	t.Cleanup(func() {
		for session := range server.Sessions() {
			_ = session.Close()
		}
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	return auth.RequireBearerToken(s.verify, &auth.RequireBearerTokenOptions{
		ResourceMetadataURL: s.origin + "/.well-known/oauth-protected-resource/mcp"})(handler)
}

// verify asks the authorization server whose token it is.
func (s *Service) verify(ctx context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	if s.closed.Load() {
		return nil, auth.ErrInvalidToken
	}
	req := httptest.NewRequestWithContext(ctx, http.MethodGet, s.origin+"/userinfo", nil)
	req.Header.Set("Authorization", "Bearer "+token)
	rec := httptest.NewRecorder()
	s.opened.ServeHTTP(rec, req)
	var who struct {
		Subject string `json:"sub"`
	}
	if rec.Code != http.StatusOK || json.Unmarshal(rec.Body.Bytes(), &who) != nil || who.Subject == "" {
		return nil, auth.ErrInvalidToken
	}
	return &auth.TokenInfo{UserID: who.Subject, Expiration: time.Now().Add(time.Minute)}, nil
}

// Browser is a browser of a person: it keeps cookies, and follows no redirect by itself.
type Browser struct {
	t testing.TB
	*http.Client
}

// NewBrowser returns a browser.
func NewBrowser(t testing.TB) *Browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &Browser{t, &http.Client{Jar: jar, Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// Open opens an address, or posts a form there, and returns the answer and its body.
func (b *Browser) Open(address string, form url.Values) (*http.Response, string) {
	b.t.Helper()
	method, body := http.MethodGet, io.Reader(nil)
	if form != nil {
		method, body = http.MethodPost, strings.NewReader(form.Encode())
	}
	req, err := http.NewRequestWithContext(b.t.Context(), method, address, body)
	if err != nil {
		b.t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := b.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp, string(text)
}

// Consent signs in at the service with an account, as a person does who was sent to address, and returns the address
// that the browser is then sent back to.
func (b *Browser) Consent(s *Service, address, account string) string {
	b.t.Helper()
	at, form := address, url.Values(nil)
	for range 10 {
		resp, body := b.Open(at, form)
		form = nil
		to := resp.Header.Get("Location")
		if to == "" {
			u, err := url.Parse(at)
			if err != nil || u.Query().Get("authRequestID") == "" {
				b.t.Fatalf("the service answered %s: %s", resp.Status, body)
			}
			at, form = s.origin+"/login/username", url.Values{"id": {u.Query().Get("authRequestID")},
				"username": {account}, "password": {Password}}
			continue
		}
		u, err := resp.Location()
		if err != nil {
			b.t.Fatal(err)
		}
		if at = u.String(); !strings.HasPrefix(at, s.origin) {
			return at
		}
	}
	b.t.Fatal("the service does not end")
	return ""
}

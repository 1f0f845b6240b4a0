// Package web looks things up: it searches the web with a provider that the operator chose, and reads pages.
//
// What it returns is its authors' words, never an instruction. Every connection is made by clients of the way out that
// the engine passes in, and every body is bounded in bytes and time. Errors are sentences for a model or a person, and
// contain no key.
package web

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/trust/egress"
)

// Agent is the user agent of every request, and its first word the name that robots.txt knows us by.
const Agent = robot + " (+https://github.com/everthread/everthread)"

const robot = "Everthread"

// Options configure a Web. All fields but Documents are required.
type Options struct {
	Provider Provider
	// Searching reaches the provider, Reading reaches pages: public addresses only.
	Searching, Reading *http.Client
	Documents          Documents // reads PDFs and office documents; nil: they are not read
	Tokens             core.Tokenizer
	ResultTokens       int   // of one result
	MaxFile            int64 // bytes of a document
}

// Documents extracts the text of a file.
type Documents interface {
	// Pages returns the text of a file, page by page, in order. The error says in plain words why pages are missing;
	// those read before are returned, too.
	Pages(ctx context.Context, name, media string, data []byte) ([]string, error)
}

// Web searches and reads. It is safe for concurrent use.
type Web struct {
	Options
	pages  *cache[pageKey, *page]
	robots *cache[string, rules]
	slots  chan struct{} // for pages that are converted at the same time
	files  chan struct{} // for documents that are held in memory at the same time
}

// New returns a Web.
func New(o Options) *Web {
	return &Web{Options: o, pages: newCache[pageKey, *page](cachedPages, cachedBytes),
		robots: newCache[string, rules](cachedRobots, cachedRobots), slots: make(chan struct{}, mostConversions),
		files: make(chan struct{}, mostConversions)}
}

// Result is one result of a search.
type Result struct {
	Title   string `json:"title"`
	URL     string `json:"url"`
	Date    string `json:"date,omitempty"` // as the provider writes it
	Excerpt string `json:"excerpt,omitempty"`
}

// Provider searches the web.
type Provider interface {
	// Name is the name of the service for people.
	Name() string
	// Search returns at most limit results, the best first. Its errors say what to do.
	Search(ctx context.Context, client *http.Client, query string, limit int) ([]Result, error)
}

// Bounds of one search.
const (
	longestAnswer = 2 << 20 // bytes
	searchTime    = 15 * time.Second
)

// answer is a provider's response.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// ask sends a provider a request and reads its response. key is left out of errors.
func ask(ctx context.Context, client *http.Client, name, key string, req *http.Request) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	req.Header.Set("User-Agent", Agent)
	client = staying(client)
	resp, err := client.Do(req.WithContext(ctx))
	if err != nil {
		return answer{}, fmt.Errorf("%s cannot be reached: %s", name, hide(trouble(ctx, err), key))
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, longestAnswer))
	if err != nil {
		return answer{}, fmt.Errorf("%s did not answer to the end: %s", name, hide(trouble(ctx, err), key))
	}
	return answer{resp.StatusCode, resp.Header, body}, nil
}

// staying returns a client that follows no redirects: a key must not go elsewhere, and pages are followed by rules.
func staying(client *http.Client) *http.Client {
	out := *client
	out.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &out
}

func get(ctx context.Context, address string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err == nil {
		req.Header.Set("Accept", "application/json")
	}
	return req, err
}

func post(ctx context.Context, address string, body any) (*http.Request, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(b))
	if err == nil {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json")
	}
	return req, err
}

// service is what the errors of a provider with a key need to know.
type service struct {
	name, setting string // such as Brave, web.brave_key
	key           string
	account       string // where the key is managed
}

// decode reads a response with a key's provider, or says what is wrong.
func (s service) decode(a answer, into any) error {
	switch code := a.status; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return s.refused()
	case code == http.StatusPaymentRequired:
		return fmt.Errorf("%s has no credit left for this key; top it up at %s, or set another provider in web.search",
			s.name, s.account)
	case code == http.StatusTooManyRequests:
		return s.busy(a)
	case code >= 500:
		return fmt.Errorf("%s has a fault of its own (HTTP %d); try again later", s.name, code)
	case code != http.StatusOK:
		return fmt.Errorf("%s refused the search (HTTP %d)", s.name, code)
	}
	if err := json.Unmarshal(a.body, into); err != nil {
		return fmt.Errorf("%s answered with something that is no list of results; try again later, and if it stays so, something between here and there answers in its place", s.name)
	}
	return nil
}

func (s service) refused() error {
	return fmt.Errorf("%s does not accept the key; check %s, which %s shows", s.name, s.setting, s.account)
}

func (s service) busy(a answer) error {
	return fmt.Errorf("%s allows no more searches now; %s, or raise the limit at %s", s.name, again(a), s.account)
}

// again says when a search may be repeated.
func again(a answer) string {
	value := a.header.Get("Retry-After")
	if seconds, err := strconv.Atoi(value); err == nil && seconds > 0 && seconds < 1e6 {
		return fmt.Sprintf("try again in %s", time.Duration(seconds)*time.Second)
	}
	if at, err := http.ParseTime(value); err == nil {
		return "try again after " + at.UTC().Format("2 Jan 15:04 MST")
	}
	return "try again later"
}

// hide removes a key from a text.
func hide(text, key string) string {
	if key == "" {
		return text
	}
	return strings.ReplaceAll(text, key, "***")
}

// trouble says in plain words why a request has no answer, without its address.
func trouble(ctx context.Context, err error) string {
	var unknown *net.DNSError
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var used *egress.QuotaError
	var network *net.OpError
	switch {
	case errors.Is(err, egress.ErrPrivate):
		return egress.ErrPrivate.Error()
	case errors.Is(err, egress.ErrUnlisted):
		return egress.ErrUnlisted.Error()
	case errors.As(err, &used):
		return used.Error()
	case errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.Is(err, context.DeadlineExceeded):
		return "no answer came in time"
	case ctx.Err() != nil:
		return "it was interrupted"
	case errors.As(err, &unknown) && unknown.IsNotFound:
		return "there is no such host"
	case errors.As(err, &unknown):
		return "the name of the host cannot be looked up now"
	case errors.As(err, &certificate):
		return "its certificate is not valid, so that nobody knows who would answer"
	case errors.As(err, &record), strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		return "it does not speak HTTPS there"
	case errors.As(err, &network) && network.Timeout():
		return "no answer came in time"
	case errors.As(err, &network):
		return "no connection can be made"
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return "the connection broke off"
	}
	return "the connection failed, or what came is no HTTP"
}

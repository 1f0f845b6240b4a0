// Package embed turns texts into vectors with llama.cpp, Ollama, any server with
// OpenAI's embeddings API, or a custom HTTP endpoint.
//
// Answers are checked: one vector for each text, all of one length that fits into the
// store, every number finite, and no vector all zero.
package embed

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm"
	"github.com/everthread/everthread/core/trust/egress"
)

// Providers.
const (
	LlamaCPP   = "llamacpp"    // llama-server --embeddings: /v1/embeddings, or /embedding of old ones
	Ollama     = "ollama"      // /api/embed
	OpenAI     = "openai"      // /v1/embeddings of OpenAI and of many others
	CustomHTTP = "custom_http" // POST BaseURL {"model", "input": [texts]}
)

const (
	batchTexts  = 64   // texts in one request
	longestText = 8000 // characters of a text that are read
	leastText   = 200  // characters below which a text is not shortened further
)

// Options name a model and its server.
type Options struct {
	Provider   string
	BaseURL    string // empty for Ollama: the one on this machine; for OpenAI: OpenAI's own
	APIKey     string // empty: none is sent
	Model      string
	Dimensions int           // required of vectors, and requested from OpenAI and Ollama; 0: the model's own
	Timeout    time.Duration // of one request
	// Written: the operator set BaseURL. A URL set by a user is subject to the policy:
	// requests may fail with egress.ErrPrivate, egress.ErrUnlisted or *egress.QuotaError.
	Written bool
	Way     *egress.Gate // nil: the policy alone
}

var (
	_ core.Embedder                     = (*client)(nil)
	_ interface{ Fingerprint() string } = (*client)(nil)
)

// client is a core.Embedder.
type client struct {
	Options
	root string // BaseURL without the paths that are appended
	http *http.Client
	old  atomic.Bool // llama.cpp has only /embedding
}

// New returns the embedder. Errors are about Options, in words for the operator. Embed reads the first 8,000 characters
// of each text, or as many as the model accepts.
func New(o Options) (core.Embedder, error) {
	if o.Dimensions < 0 || o.Dimensions > core.VectorSize {
		return nil, fmt.Errorf("embeddings.dimensions is %d; it must be between 1 and %d, or 0 for the model's own",
			o.Dimensions, core.VectorSize)
	}
	root, err := rootOf(o)
	if err != nil {
		return nil, err
	}
	way := o.Way.Client()
	if o.Written {
		way = o.Way.Client(root)
	}
	return &client{Options: o, root: root, http: llm.NewClient(way, 0)}, nil
}

// rootOf completes and checks the address.
func rootOf(o Options) (string, error) {
	standard, ok := map[string]string{LlamaCPP: "", CustomHTTP: "", Ollama: "http://127.0.0.1:11434",
		OpenAI: "https://api.openai.com/v1"}[o.Provider]
	if !ok {
		return "", fmt.Errorf("embeddings.provider is %q; it must be one of %s, %s, %s, %s", o.Provider, LlamaCPP,
			Ollama, OpenAI, CustomHTTP)
	}
	base := cmp.Or(o.BaseURL, standard)
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("embeddings.base_url is no web address; it looks like http://127.0.0.1:8081")
	}
	if o.Provider != CustomHTTP {
		base = strings.TrimRight(base, "/")
	}
	// The ends of an address that requests append and the operator may have included.
	ours := map[string][]string{LlamaCPP: {"/embeddings", "/embedding", "/v1"}, Ollama: {"/embed", "/api", "/v1"},
		OpenAI: {"/embeddings"}}
	for _, path := range ours[o.Provider] {
		base = strings.TrimSuffix(base, path)
	}
	return base, nil
}

// Config names the configuration of a vector; vectors of different ones are not comparable.
func Config(provider, model string, dimensions int) string {
	return fmt.Sprintf("%s/%s@%d", provider, model, dimensions)
}

// ModelOf returns the model of a configuration, or the provider if the model is not set.
func ModelOf(config string) string {
	provider, model, _ := strings.Cut(config, "/")
	if at := strings.LastIndexByte(model, '@'); at >= 0 {
		model = model[:at]
	}
	return cmp.Or(model, provider)
}

// Named returns the model of a configuration as people read it: nomic-embed-text (Ollama), or only the provider if the
// model is not set.
func Named(config string) string {
	provider, model, _ := strings.Cut(config, "/")
	if at := strings.LastIndexByte(model, '@'); at >= 0 {
		model = model[:at]
	}
	name := map[string]string{LlamaCPP: "llama.cpp", Ollama: "Ollama", OpenAI: "OpenAI", CustomHTTP: "HTTP"}[provider]
	if name = cmp.Or(name, provider); model == "" {
		return name
	}
	return model + " (" + name + ")"
}

// Fingerprint identifies the configuration with its address and key, without revealing these; see core.FingerprintOf.
func (c *client) Fingerprint() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{c.Provider, c.root, c.APIKey}, "\x00")))
	return fmt.Sprintf("%s %x", Config(c.Provider, c.Model, c.Dimensions), sum[:4])
}

// Embed returns a vector for each text. Errors are *core.ModelError, or the context's.
func (c *client) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, 0, len(texts))
	for batch := range slices.Chunk(texts, batchTexts) {
		short := make([]string, len(batch))
		for i, text := range batch {
			short[i] = head(text, longestText)
		}
		vectors, err := c.fit(ctx, short)
		if err != nil {
			return nil, err
		}
		out = append(out, vectors...)
	}
	if err := c.measure(out); err != nil {
		return nil, err
	}
	return out, nil
}

// fit embeds texts. If they are too long for the model, each half of them is sent alone,
// and of a single text only its first half, and so on.
func (c *client) fit(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := c.ask(ctx, texts)
	if refusal, ok := errors.AsType[*core.ModelError](err); !ok || refusal.Kind != core.ModelTooLong {
		return vectors, err
	}
	if n := len(texts); n > 1 {
		first, err := c.fit(ctx, texts[:n/2])
		if err != nil {
			return nil, err
		}
		second, err := c.fit(ctx, texts[n/2:])
		return append(first, second...), err
	}
	n := utf8.RuneCountInString(texts[0])
	if n <= leastText {
		return nil, err
	}
	return c.fit(ctx, []string{head(texts[0], n/2)})
}

// head returns the first n characters of text, as valid UTF-8.
func head(text string, n int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= n {
		return text
	}
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// Check tests an embedder with two sentences and returns the dimensions of its vectors.
func Check(ctx context.Context, e core.Embedder) (dimensions int, err error) {
	vectors, err := e.Embed(ctx, []string{"The cat sleeps on the sofa.", "Quarterly results exceeded expectations."})
	if err != nil {
		return 0, err
	}
	if slices.Equal(vectors[0], vectors[1]) {
		return 0, config(
			errors.New("two different sentences got the same vector; embeddings.model is probably no embedding model"))
	}
	return len(vectors[0]), nil
}

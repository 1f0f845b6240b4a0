package embed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/trust/egress"
)

// mostBytes bounds an answer: 64 vectors of 4,096 numbers in a verbose form.
const mostBytes = 16 << 20

// ask sends one request, or one for each text to an old llama.cpp.
func (c *client) ask(ctx context.Context, texts []string) ([][]float32, error) {
	if c.old.Load() {
		return c.oneByOne(ctx, texts)
	}
	vectors, err := c.request(ctx, c.address(), c.body(texts), len(texts))
	if c.Provider != LlamaCPP || !missing(err) {
		return vectors, err
	}
	vectors, errOld := c.oneByOne(ctx, texts)
	if missing(errOld) {
		return nil, err
	}
	c.old.Store(errOld == nil)
	return vectors, errOld
}

// missing reports whether the server does not have the path.
func missing(err error) bool {
	var r *refusal
	return errors.As(err, &r) && (r.status == http.StatusNotFound || r.status == http.StatusMethodNotAllowed)
}

// oneByOne uses /embedding of old llama.cpp servers.
func (c *client) oneByOne(ctx context.Context, texts []string) ([][]float32, error) {
	var out [][]float32
	for _, text := range texts {
		v, err := c.request(ctx, c.root+"/embedding", map[string]any{"content": text}, 1)
		if err != nil {
			return nil, err
		}
		out = append(out, v...)
	}
	return out, nil
}

// address returns the URL of requests.
func (c *client) address() string {
	return c.root + map[string]string{LlamaCPP: "/v1/embeddings", Ollama: "/api/embed", OpenAI: "/embeddings"}[c.Provider]
}

// body returns the body of a request. Ollama itself truncates texts that are too long.
func (c *client) body(texts []string) map[string]any {
	body := map[string]any{"input": texts, "model": c.Model}
	if c.Model == "" {
		delete(body, "model")
	}
	if c.Dimensions > 0 && (c.Provider == OpenAI || c.Provider == Ollama) {
		body["dimensions"] = c.Dimensions
	}
	if c.Provider == Ollama {
		body["truncate"] = true
	}
	return body
}

// request posts body and returns the n vectors of the answer, checked.
func (c *client) request(ctx context.Context, address string, body any, n int) ([][]float32, error) {
	timed, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	answer, err := c.post(timed, address, body)
	if err != nil {
		return nil, c.explain(ctx, timed, err)
	}
	vectors, err := parse(answer)
	if f := llm.ReadFailure(answer); err != nil && f.Message != "" { // an error with a good status
		f.Secret = c.APIKey
		return nil, reword(f.Error())
	}
	if err != nil {
		return nil, err
	}
	if len(vectors) != n {
		return nil, config(fmt.Errorf(
			"the embeddings server returned %d vectors for %d texts; check embeddings.base_url and embeddings.provider",
			len(vectors), n))
	}
	return vectors, c.measure(vectors)
}

// post returns the body of a successful answer.
func (c *client) post(ctx context.Context, address string, body any) ([]byte, error) {
	payload, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(payload))
	if err != nil {
		return nil, fmt.Errorf("build request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if c.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+c.APIKey)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return nil, c.refused(resp)
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, mostBytes+1))
	if err == nil && len(answer) > mostBytes {
		return nil, config(errors.New("the embeddings server's answer has no end; check embeddings.base_url"))
	}
	return answer, err
}

// refusal is a *core.ModelError with its HTTP status.
type refusal struct {
	*core.ModelError
	status int
}

// Unwrap makes a refusal count as its *core.ModelError.
func (r *refusal) Unwrap() error { return r.ModelError }

var (
	tooLarge = text.Pattern(
		`(?i)too large to process|too long|(exceeds?|larger than) .{0,40}(length|context|tokens|batch)|token limit`)
	aboutSize   = text.Pattern(`(?i)dimension|matryoshka`)
	noEmbedding = text.Pattern(`(?i)pooling|does not support embeddings|not an? embedding`)
)

// refused returns the error of an answer with a bad status.
func (c *client) refused(resp *http.Response) error {
	f := llm.Refusal(resp, c.APIKey)
	e := f.Error()
	switch {
	case noEmbedding().MatchString(f.Message):
		e = advise(core.ModelConfig,
			"the server makes no embeddings with this model; start llama-server with --embeddings --pooling mean, or use an embedding model", f.Status)
	case e.Kind == core.ModelTooLong, (f.Status == 400 || f.Status == 422 || f.Status == 500) &&
		tooLarge().MatchString(f.Message):
		e = advise(core.ModelTooLong, "a text is longer than the embedding model can read", f.Status)
	case e.Kind == core.ModelRejected && aboutSize().MatchString(f.Message):
		e = advise(core.ModelConfig,
			"the model cannot make vectors of that length; set embeddings.dimensions to 0, or use another model", f.Status)
	case f.Status == http.StatusNotImplemented:
		e.Kind = core.ModelConfig
	}
	return &refusal{ModelError: reword(e), status: f.Status}
}

func advise(kind core.ModelErrorKind, text string, status int) *core.ModelError {
	return &core.ModelError{Kind: kind, Err: fmt.Errorf("%s (HTTP %d)", text, status)}
}

// reword replaces the configuration keys of chat models by those of embeddings.
func reword(e *core.ModelError) *core.ModelError {
	words := strings.NewReplacer("llm.api_key", "embeddings.api_key", "llm.base_url", "embeddings.base_url",
		"llm.model", "embeddings.model", "llm.timeout", "embeddings.timeout", "the model server", "the embeddings server")
	return &core.ModelError{Kind: e.Kind, After: e.After, Err: errors.New(words.Replace(e.Err.Error()))}
}

// explain returns the error of a request without a complete answer.
func (c *client) explain(ctx, timed context.Context, err error) error {
	var known *core.ModelError
	var over *egress.QuotaError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &known):
		return err
	case errors.Is(err, egress.ErrPrivate):
		return config(egress.ErrPrivate)
	case errors.Is(err, egress.ErrUnlisted):
		return config(egress.ErrUnlisted)
	case errors.As(err, &over):
		return &core.ModelError{Kind: core.ModelBusy, After: min(over.After, time.Hour), Err: over}
	case timed.Err() != nil:
		return &core.ModelError{Kind: core.ModelDown, Err: fmt.Errorf(
			"the embeddings server did not answer within %s (embeddings.timeout)", c.Timeout)}
	}
	broken := llm.Broken(ctx, err)
	if errors.As(broken, &known) {
		return reword(known)
	}
	return broken
}

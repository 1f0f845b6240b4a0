package embed

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm"
	"github.com/everthread/everthread/core/trust/egress"
)

// refusal is a *core.ModelError with its HTTP status.
type refusal struct {
	*core.ModelError
	status int
}

// As makes a refusal count as its *core.ModelError.
func (r *refusal) As(target any) bool {
	e, ok := target.(**core.ModelError)
	if ok {
		*e = r.ModelError
	}
	return ok
}

// plain returns the *core.ModelError of a refusal, and other errors unchanged.
func plain(err error) error {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.ModelError
	}
	return err
}

var (
	tooLarge = regexp.MustCompile(
		`(?i)too large to process|too long|(exceeds?|larger than) .{0,40}(length|context|tokens|batch)|token limit`)
	aboutSize   = regexp.MustCompile(`(?i)dimension|matryoshka`)
	noEmbedding = regexp.MustCompile(`(?i)pooling|does not support embeddings|not an? embedding`)
)

// refused returns the error of an answer with a bad status.
func (c *client) refused(resp *http.Response) error {
	f := llm.Refusal(resp, c.APIKey)
	e := f.Error()
	switch {
	case noEmbedding.MatchString(f.Message):
		e = advise(core.ModelConfig,
			"the server makes no embeddings with this model; start llama-server with --embeddings --pooling mean, or use an embedding model", f.Status)
	case e.Kind == core.ModelTooLong, (f.Status == 400 || f.Status == 422 || f.Status == 500) &&
		tooLarge.MatchString(f.Message):
		e = advise(core.ModelTooLong, "a text is longer than the embedding model can read", f.Status)
	case e.Kind == core.ModelRejected && aboutSize.MatchString(f.Message):
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

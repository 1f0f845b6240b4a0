package llm

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/trust/egress"
)

// Audio is a server that has OpenAI's audio API.
type Audio struct {
	Base    string       // root of the API, with /v1; empty: OpenAI's
	Key     string       // empty: none is sent
	Section string       // of the configuration
	Way     *egress.Gate // nil: the policy alone
}

// AudioError is a refusal of such a server.
type AudioError struct {
	Kind core.ModelErrorKind // empty: it may pass
	text string
}

// Error returns the text, which says what to do.
func (e *AudioError) Error() string { return e.text }

// Post sends a request and returns the body of its answer. An error says what to do; a refusal is an *AudioError. op is
// the operation, what the object that is refused.
func (a Audio) Post(ctx context.Context, op, path, contentType string, body io.Reader,
	what string) (io.ReadCloser, error) {
	base := strings.TrimRight(cmp.Or(a.Base, "https://api.openai.com/v1"), "/")
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, base+path, body)
	if err != nil {
		return nil, fmt.Errorf("%s: check %s.base_url: %w", op, a.Section, err)
	}
	r.Header.Set("Content-Type", contentType)
	if a.Key != "" {
		r.Header.Set("Authorization", "Bearer "+a.Key)
	}
	resp, err := a.Way.Client(base).Do(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	if resp.StatusCode/100 != 2 {
		defer resp.Body.Close()
		kind, advice := a.refusal(resp, what)
		return nil, &AudioError{Kind: kind, text: op + ": " + advice}
	}
	return resp.Body, nil
}

// refusal returns the kind and the text of a refusal.
func (a Audio) refusal(resp *http.Response, what string) (core.ModelErrorKind, string) {
	said := cmp.Or(Refusal(resp, a.Key).said(), resp.Status)
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return core.ModelAuth, fmt.Sprintf("the key was refused, check %s.api_key: %s", a.Section, said)
	case http.StatusNotFound:
		return core.ModelConfig, fmt.Sprintf(
			"the server does not know the model or the address, check %s.model and %[1]s.base_url: %[2]s", a.Section, said)
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType,
		http.StatusUnprocessableEntity:
		return core.ModelRejected, fmt.Sprintf("the server refused %s: %s", what, said)
	}
	return "", fmt.Sprintf("the server has a problem (HTTP %d): %s", resp.StatusCode, said)
}

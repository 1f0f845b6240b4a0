package llm

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/sashabaranov/go-openai"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/trust/egress"
)

// NewAudio returns a client of a server with OpenAI's audio API. base is the root of the
// API, with /v1; empty: OpenAI's.
func NewAudio(base, key string, way *egress.Gate) *openai.Client {
	c := openai.DefaultConfig(key)
	if base != "" {
		c.BaseURL = strings.TrimRight(base, "/")
	}
	c.HTTPClient = way.Client(c.BaseURL)
	return openai.NewClientWithConfig(c)
}

// AudioError returns an error of such a server that says what to do, and its kind; empty: it
// may pass. op is the operation, section the one of the configuration, and refused what the
// server refused, if it does not take the call.
func AudioError(err error, op, section, refused string) (core.ModelErrorKind, error) {
	var api *openai.APIError
	var request *openai.RequestError
	status, said := 0, ""
	switch {
	case errors.As(err, &api):
		status, said = api.HTTPStatusCode, api.Message
	case errors.As(err, &request):
		status, said = request.HTTPStatusCode, fmt.Sprintf("the server answered %d", request.HTTPStatusCode)
	}
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return core.ModelAuth, fmt.Errorf("%s: the key was refused, check %s.api_key: %s", op, section, said)
	case http.StatusNotFound:
		return core.ModelConfig, fmt.Errorf(
			"%s: the server does not know the model or the address, check %s.model and %[2]s.base_url: %[3]s", op, section, said)
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType,
		http.StatusUnprocessableEntity:
		return core.ModelRejected, fmt.Errorf("%s: the server refused %s: %s", op, refused, said)
	}
	return "", fmt.Errorf("%s: %w", op, err)
}

package llm

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sashabaranov/go-openai"

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

// AudioStatus returns the status with which such a server refused a call, and its message;
// 0: it did not answer.
func AudioStatus(err error) (status int, said string) {
	var api *openai.APIError
	var request *openai.RequestError
	switch {
	case errors.As(err, &api):
		return api.HTTPStatusCode, api.Message
	case errors.As(err, &request):
		return request.HTTPStatusCode, fmt.Sprintf("the server answered %d", request.HTTPStatusCode)
	}
	return 0, err.Error()
}

package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/everthread/everthread/core"
)

// Exchange is a request to the server of a model, and its answer.
type Exchange struct {
	Client   *http.Client
	Endpoint string
	Header   http.Header // besides the types of the content
	Secret   string      // a key that no error contains; empty: none
	Body     any         // sent as JSON
	Answer   Answer
}

// Answer assembles an answer from its events.
type Answer interface {
	// Add adds an event and returns its text. An error ends the answer: ErrMalformed or a *core.ModelError.
	Add(event []byte) (text string, err error)
	// Whole reports whether the answer is complete; done is that of Events.
	Whole(done bool) bool
	// Last returns the last delta of a complete answer.
	Last() core.Delta
}

// errEnough ends the reading of an answer whose consumer stopped.
var errEnough = errors.New("enough")

// Run sends the request and yields the answer, as Client.Ask does.
func (x Exchange) Run(ctx context.Context, yield func(core.Delta, error) bool) {
	body, err := x.post(ctx)
	if err != nil {
		yield(core.Delta{}, err)
		return
	}
	defer body.Close()
	Read(ctx, body, x.Answer, yield)
}

// Read reads an answer into a, and yields its text and at last its end or an error.
func Read(ctx context.Context, body io.Reader, a Answer, yield func(core.Delta, error) bool) {
	done, err := Events(body, func(event []byte) error {
		text, err := a.Add(event)
		if err == nil && text != "" && !yield(core.Delta{Text: text}, nil) {
			return errEnough
		}
		return err
	})
	_, told := errors.AsType[*core.ModelError](err)
	switch {
	case errors.Is(err, errEnough):
	case told:
		yield(core.Delta{}, err)
	case a.Whole(done && err == nil):
		yield(a.Last(), nil)
	case done && err == nil:
		yield(core.Delta{}, Unreadable(ErrMalformed))
	case Unreadable(err) != nil:
		yield(core.Delta{}, Unreadable(err))
	case err != nil:
		yield(core.Delta{}, Broken(ctx, err))
	default:
		yield(core.Delta{}, CutOff())
	}
}

// post sends the request, and returns the body of an answer that is no refusal.
func (x Exchange) post(ctx context.Context) (io.ReadCloser, error) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(x.Body); err != nil {
		return nil, &core.ModelError{Kind: core.ModelRejected, Err: fmt.Errorf("encode request: %w", err)}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, x.Endpoint, &body)
	if err != nil {
		return nil, &core.ModelError{Kind: core.ModelConfig, Err: fmt.Errorf("build request: %w", err)}
	}
	r.Header = x.Header.Clone()
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream, application/json")
	resp, err := x.Client.Do(r)
	switch {
	case err != nil:
		return nil, Broken(ctx, err)
	case resp.StatusCode/100 != 2:
		defer resp.Body.Close()
		return nil, Refusal(resp, x.Secret).Error()
	}
	return resp.Body, nil
}

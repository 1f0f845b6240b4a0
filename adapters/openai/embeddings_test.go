package openai_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	sdk "github.com/sashabaranov/go-openai"

	"github.com/everthread/everthread/adapters/openai"
	"github.com/everthread/everthread/core"
)

// lengths embeds a text as its length.
type lengths struct{ err error }

func (l lengths) Embed(_ context.Context, texts []string) ([][]float32, error) {
	var out [][]float32
	for _, t := range texts {
		out = append(out, []float32{float32(len(t)), -0.5})
	}
	return out, l.err
}

// Count counts one token per byte.
func (lengths) Count(text string) int { return len(text) }

func embedding(err error) func(*openai.Options) {
	return func(o *openai.Options) { o.Embedder, o.EmbeddingModel, o.Tokens = lengths{err}, "small", lengths{} }
}

func TestEmbeddings(t *testing.T) {
	t.Parallel()
	w := newWorld(t, embedding(nil))
	c := sdk.DefaultConfig(w.key)
	c.BaseURL = w.server.URL + "/v1"
	cl := sdk.NewClientWithConfig(c)
	for _, format := range []sdk.EmbeddingEncodingFormat{"", sdk.EmbeddingEncodingFormatFloat,
		sdk.EmbeddingEncodingFormatBase64} {
		out, err := cl.CreateEmbeddings(t.Context(), sdk.EmbeddingRequestStrings{Input: []string{"ab", "abc"}, Model: "small",
			EncodingFormat: format})
		check(t, err)
		if len(out.Data) != 2 || out.Data[1].Index != 1 || out.Data[1].Embedding[0] != 3 ||
			out.Data[1].Embedding[1] != -0.5 || out.Usage.TotalTokens != 5 {
			t.Errorf("%q: %+v", format, out)
		}
	}
	if w.took.Prompt != 15 {
		t.Errorf("charged %+v for three calls of 5 tokens", w.took)
	}
	w.over = time.Now().Add(time.Hour)
	if _, err := cl.CreateEmbeddings(t.Context(), sdk.EmbeddingRequestStrings{Input: []string{"ab"},
		Model: "small"}); err == nil || !strings.Contains(err.Error(), "429") {
		t.Errorf("over the budget: %v", err)
	}
	w.over = time.Time{}
	if res, text := w.call("POST", "/v1/embeddings",
		`{"model":"small","input":"abcd","dimensions":2}`); res.StatusCode != 200 ||
		!strings.Contains(text, `"embedding":[4,-0.5]`) {
		t.Errorf("%d %s", res.StatusCode, text)
	}
	if _, text := w.call("GET", "/v1/models", ""); !strings.Contains(text, `"small"`) {
		t.Error(text)
	}
}

func TestEmbeddings_badRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t, embedding(nil))
	for body, c := range map[string]struct {
		status int
		param  string
	}{
		`{"model":"small","input":[1,2]}`:                        {400, "input"},
		`{"model":"small","input":[[1,2]]}`:                      {400, "input"},
		`{"model":"small","input":[]}`:                           {400, "input"},
		`{"model":"small","input":""}`:                           {400, "input"},
		`{"model":"small","input":["a",""]}`:                     {400, "input"},
		`{"model":"small"}`:                                      {400, "input"},
		`{"model":"large","input":"a"}`:                          {404, "model"},
		`{"input":"a"}`:                                          {400, "model"},
		`{"model":"small","input":"a","dimensions":3}`:           {400, "dimensions"},
		`{"model":"small","input":"a","encoding_format":"int8"}`: {400, "encoding_format"},
		`{"model":"small","input":"a","dimensions":"many"}`:      {400, "dimensions"},
	} {
		if res, text := w.call("POST", "/v1/embeddings", body); res.StatusCode != c.status ||
			readError(t, text).Param != c.param {
			t.Errorf("%s: %d %s", body, res.StatusCode, text)
		}
	}
	off := newWorld(t)
	if res, text := off.call("POST", "/v1/embeddings", `{"model":"small","input":"a"}`); res.StatusCode != 404 ||
		!strings.Contains(text, "embeddings.provider") {
		t.Errorf("not configured: %d %s", res.StatusCode, text)
	}
	down := newWorld(t, embedding(&core.ModelError{Kind: core.ModelDown, Err: errors.New("no answer")}))
	if res, _ := down.call("POST", "/v1/embeddings", `{"model":"small","input":"a"}`); res.StatusCode != 502 {
		t.Errorf("down: %d", res.StatusCode)
	}
}

func TestServer_unknownPaths(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, path := range []string{"GET /v1/chat/completions", "POST /v1/responses", "GET /v1/", "GET /v1/files/x",
		"OPTIONS /v1/chat/completions", "OPTIONS /v1/models"} {
		method, url, _ := strings.Cut(path, " ")
		if res, text := w.call(method, url, ""); res.StatusCode != 404 || readError(t, text).Code != "unknown_url" {
			t.Errorf("%s: %d %s", path, res.StatusCode, text)
		} else if allowed := res.Header.Get("Access-Control-Allow-Origin"); allowed != "" { // scripts of no page may call it
			t.Errorf("%s allows the pages of %q", path, allowed)
		}
	}
}

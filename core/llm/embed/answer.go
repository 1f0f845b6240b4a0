package embed

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/everthread/everthread/core"
)

// answer holds all forms of an answer: OpenAI's data, Ollama's embeddings, and the embedding or results of llama.cpp.
type answer struct {
	Data       []item            `json:"data"`
	Embeddings []json.RawMessage `json:"embeddings"`
	Results    []item            `json:"results"`
	Embedding  json.RawMessage   `json:"embedding"`
}

// item is one vector with its place.
type item struct {
	Index     *int            `json:"index"`
	Embedding json.RawMessage `json:"embedding"`
}

var errShape = errors.New(
	"the embeddings server answered with something else than vectors; check embeddings.base_url and embeddings.provider")

func config(err error) error { return &core.ModelError{Kind: core.ModelConfig, Err: err} }

// parse reads the vectors in an answer of any known form, in the order of the texts.
func parse(body []byte) ([][]float32, error) {
	body = bytes.TrimSpace(body)
	if bytes.HasPrefix(body, []byte("[")) {
		return parseList(body)
	}
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, config(errShape)
	}
	switch {
	case len(a.Data) > 0:
		return ordered(a.Data)
	case len(a.Embeddings) > 0:
		return vectors(a.Embeddings)
	case len(a.Results) > 0:
		return ordered(a.Results)
	case len(a.Embedding) > 0:
		return vectors([]json.RawMessage{a.Embedding})
	}
	return nil, config(errShape)
}

// parseList reads [[…]], ["base64"] or [{"embedding": …}].
func parseList(body []byte) ([][]float32, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal(body, &raw); err != nil || len(raw) == 0 {
		return nil, config(errShape)
	}
	if raw[0][0] != '{' {
		return vectors(raw)
	}
	var items []item
	if err := json.Unmarshal(body, &items); err != nil {
		return nil, config(errShape)
	}
	return ordered(items)
}

// ordered returns the vectors by their index, if items have one.
func ordered(items []item) ([][]float32, error) {
	raw := make([]json.RawMessage, len(items))
	for i, it := range items {
		at := i
		if it.Index != nil {
			at = *it.Index
		}
		if at < 0 || at >= len(raw) || raw[at] != nil || it.Embedding == nil {
			return nil, config(errShape)
		}
		raw[at] = it.Embedding
	}
	return vectors(raw)
}

func vectors(raw []json.RawMessage) ([][]float32, error) {
	out := make([][]float32, len(raw))
	var err error
	for i, r := range raw {
		if out[i], err = vector(r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// vector reads numbers, base64 of little-endian float32, or a list that holds one list of numbers.
func vector(raw json.RawMessage) ([]float32, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return fromBase64(text)
	}
	if bytes.Contains(raw, []byte("null")) { // stands for NaN
		return nil, errNumbers()
	}
	var rows [][]float32
	if json.Unmarshal(raw, &rows) == nil && len(rows) > 0 {
		if len(rows) > 1 {
			return nil,
				config(errors.New("the embeddings server returned a vector for each token; start llama-server with --pooling mean"))
		}
		return rows[0], nil
	}
	var v []float32
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, config(errShape)
	}
	return v, nil
}

func fromBase64(text string) ([]float32, error) {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(b)%4 != 0 {
		return nil, config(errShape)
	}
	v := make([]float32, len(b)/4)
	_, err = binary.Decode(b, binary.LittleEndian, v)
	return v, err
}

// errNumbers returns the error of an unusable vector. Its kind is not ModelConfig, since the text may be the cause.
func errNumbers() error {
	return &core.ModelError{Kind: core.ModelRejected,
		Err: errors.New("the embeddings server returned a useless vector: it is all zero, or has values that are no numbers")}
}

// measure checks that vectors are finite, not zero, and of one length that can be stored.
func (c *client) measure(vectors [][]float32) error {
	for _, v := range vectors {
		switch n := len(v); {
		case n == 0:
			return config(errShape)
		case n != len(vectors[0]):
			return config(errors.New("the embeddings server returned vectors of different lengths"))
		case c.Dimensions > 0 && n != c.Dimensions:
			return config(fmt.Errorf("vectors of the model have %d dimensions, not %d; set embeddings.dimensions to %s", n,
				c.Dimensions, settable(n)))
		case n > core.VectorSize:
			return config(
				fmt.Errorf(
					"vectors of the model have %d dimensions, and at most %d can be stored; use a smaller model, or set embeddings.dimensions to %d if the model can shorten its vectors", n, core.VectorSize, core.VectorSize))
		}
		if !usable(v) {
			return errNumbers()
		}
	}
	return nil
}

// settable returns the advice for a model whose vectors have n dimensions.
func settable(n int) string {
	if n > core.VectorSize {
		return "0 and use a smaller model"
	}
	return fmt.Sprintf("%d, or to 0", n)
}

// usable reports whether all of v are finite and not all zero.
func usable(v []float32) bool {
	some := false
	for _, x := range v {
		if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
			return false
		}
		some = some || x != 0
	}
	return some
}

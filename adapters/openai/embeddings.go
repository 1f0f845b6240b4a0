package openai

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"net/http"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/client"
	"github.com/everthread/everthread/core/ops/server"
	"github.com/everthread/everthread/core/trust/egress"
)

const (
	maxInputs = 2048
	maxInput  = 64 << 10 // bytes of one text
)

type embeddingBody struct {
	Model      string          `json:"model"`
	Input      json.RawMessage `json:"input"`
	Format     string          `json:"encoding_format"`
	Dimensions *int            `json:"dimensions"`
	User       *string         `json:"user"`
}

type embedding struct {
	Object string `json:"object"`
	Index  int    `json:"index"`
	Vector any    `json:"embedding"`
}

type embeddingUsage struct {
	Prompt int `json:"prompt_tokens"`
	Total  int `json:"total_tokens"`
}

func (c *Server) embed(w http.ResponseWriter, r *http.Request, who client.Caller) error {
	data, err := client.ReadJSON(w, r, maxBody)
	if err != nil {
		return err
	}
	var b embeddingBody
	if err := client.Decode(data, &b, "", false); err != nil {
		return err
	}
	texts, err := c.readTexts(b)
	if err != nil {
		return err
	}
	n := 0
	for _, t := range texts {
		n += c.Tokens.Count(t)
	}
	vectors, err := c.paid(r.Context(), who.User.ID, texts, n)
	if err != nil {
		return err
	}
	if d := b.Dimensions; d != nil && len(vectors) > 0 && *d != len(vectors[0]) {
		return invalid("dimensions", "invalid_value", "The vectors of %s have %d dimensions.", b.Model, len(vectors[0]))
	}
	out := make([]embedding, len(vectors))
	for n, v := range vectors {
		out[n] = embedding{Object: "embedding", Index: n, Vector: encode(v, b.Format)}
	}
	server.WriteJSON(w, http.StatusOK, map[string]any{"object": "list", "data": out, "model": b.Model,
		"usage": embeddingUsage{n, n}})
	return nil
}

// paid embeds texts on the budget of a user, with the tokens reserved first.
func (c *Server) paid(ctx context.Context, user core.UserID, texts []string, tokens int) ([][]float32, error) {
	settle, err := c.Director.Afford(ctx, user, tokens)
	if err != nil {
		return nil, err
	}
	vectors, err := c.Embedder.Embed(egress.For(ctx, user), texts)
	took := core.SpentOn(core.ForEmbedding, c.EmbeddingModel, core.Usage{Prompt: tokens})
	if err != nil {
		took = nil
	}
	return vectors, cmp.Or(err, settle(took))
}

func (c *Server) readTexts(b embeddingBody) ([]string, error) {
	switch {
	case c.Embedder == nil:
		return nil, &failure{status: http.StatusNotFound, kind: invalidRequest, code: "model_not_found", param: "model",
			message: "This server makes no embeddings: set embeddings.provider in its configuration."}
	case b.Model == "":
		return nil, invalid("model", "missing_required_parameter", "model is missing; send \"model\": %q.", c.EmbeddingModel)
	case b.Model != c.EmbeddingModel:
		return nil, &failure{status: http.StatusNotFound, kind: invalidRequest, code: "model_not_found", param: "model",
			message: "There is no such model for embeddings. There is " + c.EmbeddingModel + "."}
	case b.Format != "" && b.Format != "float" && b.Format != "base64":
		return nil, invalid("encoding_format", "invalid_value", "encoding_format must be float or base64.")
	case absent(b.Input):
		return nil, invalid("input", "missing_required_parameter", "input is missing.")
	}
	texts, err := inputs(b.Input)
	if err == nil && (len(texts) == 0 || len(texts) > maxInputs) {
		err = invalid("input", "invalid_value", "input has %d texts; it must have 1 to %d.", len(texts), maxInputs)
	}
	for _, t := range texts {
		if err == nil && (t == "" || len(t) > maxInput) {
			err = invalid("input", "invalid_value", "A text of input has %d bytes; it must have 1 to %d.", len(t), maxInput)
		}
	}
	return texts, err
}

func inputs(raw json.RawMessage) ([]string, error) {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}, nil
	}
	var many []string
	if json.Unmarshal(raw, &many) == nil {
		return many, nil
	}
	return nil, invalid("input", "invalid_type",
		"input must be a string or an array of strings; tokens are not taken, as they are another model's.")
}

// encode returns a vector as numbers, or as the base64 of its 32-bit numbers in little-endian order.
func encode(v []float32, format string) any {
	if format != "base64" {
		return v
	}
	out, _ := binary.Append(nil, binary.LittleEndian, v) // numbers always have a size
	return base64.StdEncoding.EncodeToString(out)
}

type modelInfo struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	Owner   string `json:"owned_by"`
}

func (c *Server) info(id string, who client.Caller) modelInfo {
	return modelInfo{ID: id, Object: "model", Created: who.User.CreatedAt.Unix(), Owner: "everthread"}
}

func (c *Server) models(w http.ResponseWriter, _ *http.Request, who client.Caller) error {
	all := []modelInfo{c.info(modelThread, who), c.info(modelLong, who), c.info(modelTask, who)}
	if c.Embedder != nil {
		all = append(all, c.info(c.EmbeddingModel, who))
	}
	server.WriteJSON(w, http.StatusOK, map[string]any{"object": "list", "data": all})
	return nil
}

func (c *Server) model(w http.ResponseWriter, r *http.Request, who client.Caller) error {
	id := r.PathValue("id")
	if c.Embedder == nil || id != c.EmbeddingModel {
		if _, _, err := readModel(id); id == "" || err != nil {
			return noModel(id)
		}
	}
	server.WriteJSON(w, http.StatusOK, c.info(id, who))
	return nil
}

package openai

import (
	"net/http"

	"github.com/everthread/everthread/core/client"
	"github.com/everthread/everthread/core/server"
)

// modelInfo is a listed model.
type modelInfo struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	Owner   string `json:"owned_by"`
}

func (c *Server) info(id string, who client.Caller) modelInfo {
	return modelInfo{ID: id, Object: "model", Created: who.User.CreatedAt.Unix(), Owner: "everthread"}
}

// models answers GET /v1/models.
func (c *Server) models(w http.ResponseWriter, _ *http.Request, who client.Caller) error {
	all := []modelInfo{c.info(modelThread, who), c.info(modelLong, who), c.info(modelTask, who)}
	if c.Embedder != nil {
		all = append(all, c.info(c.EmbeddingModel, who))
	}
	server.WriteJSON(w, http.StatusOK, map[string]any{"object": "list", "data": all})
	return nil
}

// model answers GET /v1/models/{id}.
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

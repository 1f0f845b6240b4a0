package mcp

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"

	"github.com/everthread/everthread/core/client"
)

// refuse answers a caller who is not let in.
func refuse(w http.ResponseWriter, e *client.Refusal) {
	h := w.Header()
	if e.After > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(e.After.Seconds()))))
	}
	if e.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(e.Status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"code": e.Code,
		"message": e.Message}}) // nobody to tell if the client is gone
}

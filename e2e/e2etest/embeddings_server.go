//go:build e2e

package e2etest

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/fnv"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"unicode"
)

// dimensions of the vectors of a vectorServer.
const dimensions = 256

// vectorServer is an OpenAI-compatible server of embeddings. A vector counts words;
// synonyms share a direction. Faults names the present faults: down, short and large
// (vectors), refused (all keys but one), unknown (the model), base64, and cursed, which
// returns no numbers for texts with that word.
type vectorServer struct {
	*httptest.Server
	Vector func(text, model, fault string) []float32
	fault  atomic.Value
	asked  atomic.Int64
}

func NewVectorServer(t *testing.T) *vectorServer {
	t.Helper()
	s := &vectorServer{Vector: vectorOf}
	s.Is("")
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

// Is sets the fault of the server.
func (s *vectorServer) Is(fault string) { s.fault.Store(fault) }

// Env returns the environment for a gateway that uses the server.
func (s *vectorServer) Env(model string) []string {
	return []string{"EVERTHREAD_EMBEDDINGS_PROVIDER=openai", "EVERTHREAD_EMBEDDINGS_BASE_URL=" + s.URL + "/v1",
		"EVERTHREAD_EMBEDDINGS_MODEL=" + model, "EVERTHREAD_EMBEDDINGS_DIMENSIONS=256"}
}

func (s *vectorServer) serve(w http.ResponseWriter, r *http.Request) {
	s.asked.Add(1)
	fault := s.fault.Load().(string)
	var in struct {
		Input []string `json:"input"`
		Model string   `json:"model"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || r.URL.Path != "/v1/embeddings" || in.Model == "" {
		http.Error(w, `{"error":{"message":"not understood"}}`, http.StatusBadRequest)
		return
	}
	if fault == "refused" && r.Header.Get("Authorization") != "Bearer right" {
		http.Error(w, `{"error":{"message":"Incorrect API key provided","type":"invalid_request_error"}}`,
			http.StatusUnauthorized)
		return
	}
	if fault == "unknown" {
		http.Error(w, `{"error":{"message":"The model does not exist","type":"invalid_request_error"}}`, http.StatusNotFound)
		return
	}
	if fault == "down" {
		http.Error(w, `{"error":{"message":"out of memory"}}`, http.StatusServiceUnavailable)
		return
	}
	data := []map[string]any{}
	for i, text := range in.Input {
		data = append(data, map[string]any{"object": "embedding", "index": i,
			"embedding": written64(s.Vector(text, in.Model, fault), fault)})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "model": in.Model, "data": data})
}

// written64 returns the base64 form of a vector.
func written64(v []float32, fault string) any {
	if fault != "base64" && fault != "cursed" {
		return v
	}
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(b)
}

// vectorOf counts the words of a text, in directions that depend on the model.
func vectorOf(text, model, fault string) []float32 {
	n := dimensions
	switch fault {
	case "short":
		n /= 2
	case "large":
		n *= 6
	}
	v := make([]float32, n)
	h := fnv.New32a()
	_, _ = h.Write([]byte(text))
	v[2+h.Sum32()%uint32(n-2)] = 0.01 // no vector is zero, and a text without counted words is like no other
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) }) {
		if fault == "cursed" && word == "cursed" {
			v[1] = float32(math.NaN())
		}
		if meaning, ok := meanings()[word]; ok {
			h := fnv.New32a()
			_, _ = h.Write([]byte(model + meaning))
			v[2+h.Sum32()%uint32(n-2)]++
		}
	}
	return v
}

// meanings are the counted words.
func meanings() map[string]string {
	out := map[string]string{}
	for _, same := range []string{"car automobile vehicle", "towed breakdown", "soup broth", "leek vegetable",
		"taxes levy", "declared filed", "bees hives", "cursed", "lake pond", "stir ladle", "office bureau"} {
		words := strings.Fields(same)
		for _, w := range words {
			out[w] = words[0]
		}
	}
	return out
}

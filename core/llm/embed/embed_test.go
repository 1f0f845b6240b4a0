package embed

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/everthread/everthread/core"
)

// asked is a request to any of the providers.
type asked struct {
	Path       string   `json:"-"`
	Key        string   `json:"-"`
	Input      []string `json:"input"`
	Content    string   `json:"content"`
	Model      *string  `json:"model"`
	Dimensions *int     `json:"dimensions"`
	Truncate   bool     `json:"truncate"`
}

func server(t *testing.T, do func(w http.ResponseWriter, r *http.Request, a asked)) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := asked{Path: r.URL.Path, Key: r.Header.Get("Authorization")}
		if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
			t.Errorf("request: %v", err)
		}
		do(w, r, a)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func embedder(t *testing.T, o Options) core.Embedder {
	t.Helper()
	o.Written = true
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second
	}
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// of returns the vector that all test servers give a text; its first value is the length.
func of(text string) []float32 { return []float32{float32(utf8.RuneCountInString(text)), 1, 0.5} }

func vectorsOf(texts ...string) [][]float32 {
	var out [][]float32
	for _, text := range texts {
		out = append(out, of(text))
	}
	return out
}

func write(w io.Writer, v any) { _ = json.NewEncoder(w).Encode(v) }

// openaiAnswer writes vectors in OpenAI's format, last one first.
func openaiAnswer(w io.Writer, texts []string) {
	var data []map[string]any
	for i, text := range texts {
		data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": of(text)})
	}
	slices.Reverse(data)
	write(w, map[string]any{"object": "list", "data": data, "model": "m", "usage": map[string]int{"prompt_tokens": 3}})
}

func TestEmbed_asksEachProviderInItsWay(t *testing.T) {
	t.Parallel()
	name, three := "m", 3
	cases := []struct {
		name  string
		o     Options
		want  asked
		reply func(w io.Writer, texts []string)
	}{
		{"openai", Options{Provider: OpenAI, BaseURL: "/v1", Model: "m", APIKey: "k", Dimensions: 3},
			asked{Path: "/v1/embeddings", Key: "Bearer k", Model: &name, Dimensions: &three}, openaiAnswer},
		{"openai with the whole address", Options{Provider: OpenAI, BaseURL: "/v1/embeddings/", Model: "m"},
			asked{Path: "/v1/embeddings", Model: &name}, openaiAnswer},
		{"llama.cpp", Options{Provider: LlamaCPP, BaseURL: "/"}, asked{Path: "/v1/embeddings"}, openaiAnswer},
		{"llama.cpp with the whole address", Options{Provider: LlamaCPP, BaseURL: "/v1/embeddings", Dimensions: 3},
			asked{Path: "/v1/embeddings"}, openaiAnswer},
		{"ollama", Options{Provider: Ollama, BaseURL: "/v1/", Model: "m", Dimensions: 3},
			asked{Path: "/api/embed", Model: &name, Dimensions: &three, Truncate: true},
			func(w io.Writer, texts []string) {
				write(w, map[string]any{"model": "m", "embeddings": vectorsOf(texts...), "total_duration": 1})
			}},
		{"custom with OpenAI's shape", Options{Provider: CustomHTTP, BaseURL: "/e/", Model: "m"},
			asked{Path: "/e/", Model: &name}, openaiAnswer},
		{"custom with embeddings", Options{Provider: CustomHTTP, BaseURL: "/e"}, asked{Path: "/e"},
			func(w io.Writer, texts []string) { write(w, map[string]any{"embeddings": vectorsOf(texts...)}) }},
		{"custom with a list", Options{Provider: CustomHTTP, BaseURL: "/e"}, asked{Path: "/e"},
			func(w io.Writer, texts []string) { write(w, vectorsOf(texts...)) }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			url := server(t, func(w http.ResponseWriter, _ *http.Request, got asked) {
				c.want.Input = []string{"four", "fünfs"}
				if d := cmp.Diff(c.want, got); d != "" {
					t.Error(d)
				}
				c.reply(w, got.Input)
			})
			c.o.BaseURL = url + c.o.BaseURL
			got, err := embedder(t, c.o).Embed(t.Context(), []string{"four", "fünfs"})
			if d := cmp.Diff(vectorsOf("four", "fünfs"), got); d != "" || err != nil {
				t.Error(err, d)
			}
		})
	}
}

func TestEmbed_oldLlamaServersOneByOne(t *testing.T) {
	t.Parallel()
	for name, shape := range map[string]func(v []float32) any{
		"old":   func(v []float32) any { return map[string]any{"embedding": v} },
		"newer": func(v []float32) any { return []any{map[string]any{"index": 0, "embedding": [][]float32{v}}} },
		"some": func(v []float32) any {
			return map[string]any{"results": []any{map[string]any{"embedding": v}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var tries atomic.Int32
			url := server(t, func(w http.ResponseWriter, _ *http.Request, a asked) {
				if a.Path != "/embedding" {
					tries.Add(1)
					http.Error(w, "Not Found", http.StatusNotFound)
					return
				}
				write(w, shape(of(a.Content)))
			})
			e := embedder(t, Options{Provider: LlamaCPP, BaseURL: url})
			for range 3 {
				got, err := e.Embed(t.Context(), []string{"one", "three"})
				if d := cmp.Diff(vectorsOf("one", "three"), got); d != "" || err != nil {
					t.Fatal(err, d)
				}
			}
			if tries.Load() != 1 {
				t.Errorf("%d requests to missing paths, want 1", tries.Load())
			}
		})
	}
}

func TestEmbed_base64Vectors(t *testing.T) {
	t.Parallel()
	encode := func(text string) string {
		var b []byte
		for _, x := range of(text) {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
		return base64.StdEncoding.EncodeToString(b)
	}
	url := server(t, func(w http.ResponseWriter, _ *http.Request, a asked) {
		write(w, map[string]any{"data": []any{map[string]any{"index": 0, "embedding": encode(a.Input[0])}}})
	})
	got, err := embedder(t, Options{Provider: OpenAI, BaseURL: url, Model: "m"}).Embed(t.Context(), []string{"hello"})
	if d := cmp.Diff(vectorsOf("hello"), got); d != "" || err != nil {
		t.Error(err, d)
	}
}

func TestEmbed_batchesAndCuts(t *testing.T) {
	t.Parallel()
	var sizes []int
	url := server(t, func(w http.ResponseWriter, _ *http.Request, a asked) {
		sizes = append(sizes, len(a.Input))
		openaiAnswer(w, a.Input)
	})
	texts := make([]string, 130)
	for i := range texts {
		texts[i] = strings.Repeat("é", i+1)
	}
	texts[129] = strings.Repeat("界", 9000)
	got, err := embedder(t, Options{Provider: OpenAI, BaseURL: url, Model: "m"}).Embed(t.Context(), texts)
	if err != nil || len(got) != 130 || got[128][0] != 129 || got[129][0] != 8000 {
		t.Fatalf("%d vectors, %v", len(got), err)
	}
	if d := cmp.Diff([]int{64, 64, 2}, sizes); d != "" {
		t.Error(d)
	}
	if got, err := embedder(t, Options{Provider: OpenAI, BaseURL: url, Model: "m"}).Embed(t.Context(), nil); err != nil ||
		len(got) != 0 {
		t.Errorf("nothing: %v, %v", got, err)
	}
}

func TestEmbed_shortensATooLongText(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]func(w http.ResponseWriter){
		"llama.cpp": func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprint(w,
				`{"error":{"code":500,"message":"input (734 tokens) is too large to process. increase the physical batch size (current batch size: 512)","type":"server_error"}}`)
		},
		"ollama": func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":"the input length exceeds the context length"}`)
		},
		"openai": func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w,
				`{"error":{"message":"This model's maximum context length is 8192 tokens, however you requested 10000","type":"invalid_request_error"}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := server(t, func(w http.ResponseWriter, _ *http.Request, a asked) {
				for _, text := range a.Input {
					if len(text) > 1000 {
						refuse(w)
						return
					}
				}
				openaiAnswer(w, a.Input)
			})
			e := embedder(t, Options{Provider: OpenAI, BaseURL: url, Model: "m"})
			got, err := e.Embed(t.Context(), []string{"short", strings.Repeat("x", 3000), "brief", "small"})
			if err != nil || len(got) != 4 || got[0][0] != 5 || got[1][0] != 750 || got[3][0] != 5 {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func TestEmbed_believesThatAllIsTooLong(t *testing.T) {
	t.Parallel()
	url := server(t, func(w http.ResponseWriter, _ *http.Request, _ asked) {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	})
	_, err := embedder(t, Options{Provider: OpenAI, BaseURL: url, Model: "m"}).Embed(t.Context(),
		[]string{strings.Repeat("x", 4000)})
	wantError(t, err, core.ModelTooLong, "longer than the embedding model can read")
}

func wantError(t *testing.T, err error, kind core.ModelErrorKind, words string) {
	t.Helper()
	var m *core.ModelError
	if !errors.As(err, &m) || m.Kind != kind || !strings.Contains(m.Err.Error(), words) {
		t.Errorf("got %v, want %s: %s", err, kind, words)
	}
}

func TestEmbed_failuresSayWhatToDo(t *testing.T) {
	t.Parallel()
	status := func(code int, body string) func(http.ResponseWriter, *http.Request, asked) {
		return func(w http.ResponseWriter, _ *http.Request, _ asked) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(code)
			fmt.Fprint(w, body)
		}
	}
	stall := func(w http.ResponseWriter, r *http.Request, _ asked) { <-r.Context().Done() }
	cases := []struct {
		name  string
		o     Options
		do    func(http.ResponseWriter, *http.Request, asked)
		kind  core.ModelErrorKind
		words string
	}{
		{"busy", Options{}, status(429, `{"error":{"message":"slow down"}}`), core.ModelBusy, "slow down"},
		{"a wrong key", Options{APIKey: "hunter2"}, status(401, `{"error":{"message":"bad key hunter2"}}`), core.ModelAuth,
			"embeddings.api_key"},
		{"an unknown model", Options{}, status(404, `{"error":"model \"m\" not found, try pulling it first"}`),
			core.ModelConfig, "try pulling it first"},
		{"a redirect", Options{}, status(308, ""), core.ModelConfig, "embeddings.base_url"},
		{"an error of the server", Options{}, status(503, "<html>"), core.ModelDown, "the embeddings server has a problem"},
		{"refused", Options{}, status(400, `{"detail":[{"msg":"no"}]}`), core.ModelRejected, "refused the request"},
		{"an error with a good status", Options{}, status(200, `{"error":{"message":"Internal server error"}}`),
			core.ModelDown, "Internal server error"},
		{"no embeddings", Options{},
			status(501, `{"error":{"message":"This server does not support embeddings. Start it with --embeddings"}}`),
			core.ModelConfig, "--pooling mean"},
		{"no pooling", Options{},
			status(400,
				`{"error":{"message":"Pooling type 'none' is not OAI compatible. Please use a different pooling type"}}`),
			core.ModelConfig, "--pooling mean"},
		{"dimensions refused", Options{Dimensions: 3}, status(400,
			`{"error":{"message":"Model does not support matryoshka representation"}}`), core.ModelConfig,
			"set embeddings.dimensions to 0"},
		{"a page", Options{}, status(200, "<!doctype html><title>Welcome</title>"), core.ModelConfig,
			"something else than vectors"},
		{"nothing", Options{}, status(200, ""), core.ModelConfig, "something else than vectors"},
		{"another JSON", Options{}, status(200, `{"choices":[]}`), core.ModelConfig, "something else than vectors"},
		{"too few", Options{}, status(200, `[[1,2,3]]`), core.ModelConfig, "1 vectors for 2 texts"},
		{"too many", Options{}, status(200, `[[1],[2],[3]]`), core.ModelConfig, "3 vectors for 2 texts"},
		{"one place twice", Options{}, status(200, `{"data":[{"index":1,"embedding":[1]},{"index":1,"embedding":[2]}]}`),
			core.ModelConfig, "something else than vectors"},
		{"different lengths", Options{}, status(200, `[[1,2,3],[1,2]]`), core.ModelConfig, "different lengths"},
		{"empty vectors", Options{}, status(200, `[[],[]]`), core.ModelConfig, "something else than vectors"},
		{"another dimension", Options{Dimensions: 4}, status(200, `[[1,2,3],[1,2,3]]`), core.ModelConfig,
			"have 3 dimensions, not 4; set embeddings.dimensions to 3, or to 0"},
		{"too many dimensions", Options{}, status(200, long(1025)), core.ModelConfig,
			"1025 dimensions, and at most 1024 can be stored; use a smaller model, or set embeddings.dimensions to 1024"},
		{"more than asked for", Options{Dimensions: 1024}, status(200, long(1536)), core.ModelConfig,
			"set embeddings.dimensions to 0 and use a smaller model"},
		{"a vector for each token", Options{}, status(200,
			`[{"index":0,"embedding":[[1],[2]]},{"index":1,"embedding":[[1],[2]]}]`), core.ModelConfig, "for each token"},
		{"null for NaN", Options{}, status(200, `[[1,null],[1,2]]`), core.ModelRejected, "has values that are no numbers"},
		{"NaN", Options{}, status(200, `{"embeddings":["AADAfw==","AACAPw=="]}`), core.ModelRejected,
			"has values that are no numbers"},
		{"all zero", Options{}, status(200, `[[0,0],[1,2]]`), core.ModelRejected, "all zero"},
		{"torn base64", Options{}, status(200, `["AAA=","AACAPw=="]`), core.ModelConfig, "something else than vectors"},
		{"slow", Options{Timeout: 20 * time.Millisecond}, stall, core.ModelDown,
			"did not answer within 20ms (embeddings.timeout)"},
		{"a stalled body", Options{Timeout: 20 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request, a asked) {
			fmt.Fprint(w, `{"data":[{"index":0,`)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, core.ModelDown, "did not answer within 20ms"},
		{"a torn body", Options{}, func(w http.ResponseWriter, _ *http.Request, _ asked) {
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, `[[1,2`)
		}, core.ModelDown, "connection to the embeddings server failed"},
		{"a flood", Options{}, func(w http.ResponseWriter, r *http.Request, _ asked) {
			for line := strings.Repeat("[", 1<<16); ; {
				if _, err := fmt.Fprint(w, line); err != nil {
					return
				}
			}
		}, core.ModelConfig, "has no end"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.o.Provider, c.o.Model, c.o.BaseURL = OpenAI, "m", server(t, c.do)
			got, err := embedder(t, c.o).Embed(t.Context(), []string{"a", "b"})
			if wantError(t, err, c.kind, c.words); got != nil {
				t.Errorf("got vectors %v with the error", got)
			}
			if strings.Contains(fmt.Sprint(err), "hunter2") || strings.Contains(fmt.Sprint(err), "llm.") {
				t.Errorf("error %v", err)
			}
			var m *core.ModelError
			if c.kind == core.ModelBusy && (!errors.As(err, &m) || m.After != 7*time.Second) {
				t.Errorf("wait %+v", m)
			}
		})
	}
}

// long returns a response with two vectors of n dimensions.
func long(n int) string {
	v := "[" + strings.TrimSuffix(strings.Repeat("1,", n), ",") + "]"
	return "[" + v + "," + v + "]"
}

func TestEmbed_serverThatIsDown(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	_, err := embedder(t, Options{Provider: Ollama, BaseURL: s.URL, Model: "m"}).Embed(t.Context(), []string{"a"})
	wantError(t, err, core.ModelDown, "check embeddings.base_url and that the server runs")
}

func TestEmbed_contextError(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	url := server(t, func(_ http.ResponseWriter, r *http.Request, _ asked) {
		cancel()
		<-r.Context().Done()
	})
	_, err := embedder(t, Options{Provider: OpenAI, BaseURL: url, Model: "m"}).Embed(ctx, []string{"a"})
	var m *core.ModelError
	if !errors.Is(err, context.Canceled) || errors.As(err, &m) {
		t.Errorf("got %v", err)
	}
}

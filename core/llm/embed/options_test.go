package embed

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
)

func TestCustomHTTP_refusesPrivateAddresses(t *testing.T) {
	t.Parallel()
	calls := 0
	url := server(t, func(http.ResponseWriter, *http.Request, asked) { calls++ })
	for _, base := range []string{url, strings.Replace(url, "127.0.0.1", "localhost", 1),
		strings.Replace(url, "127.0.0.1", "[::ffff:127.0.0.1]", 1)} {
		e, err := New(Options{Provider: CustomHTTP, BaseURL: base, Timeout: 30 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.Embed(t.Context(), []string{"a"})
		wantError(t, err, core.ModelConfig, "private network")
	}
	if calls != 0 {
		t.Error("the server was reached")
	}
}

func TestNew_saysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]Options{
		`embeddings.provider is "none"`:      {Provider: "none"},
		"embeddings.base_url is no web":      {Provider: LlamaCPP},
		"embeddings.base_url is no":          {Provider: OpenAI, BaseURL: "localhost:1"},
		"embeddings.dimensions is 1536":      {Provider: OpenAI, Dimensions: 1536},
		"embeddings.dimensions is -1; it mu": {Provider: OpenAI, Dimensions: -1},
	} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestConfig_distinguishes(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range []string{Config(OpenAI, "m", 0), Config(OpenAI, "m", 512), Config(Ollama, "m", 0),
		Config(OpenAI, "n", 0)} {
		seen[c] = true
	}
	if len(seen) != 4 || !seen["openai/m@0"] {
		t.Errorf("got %v", seen)
	}
}

func TestCheck_tellsTheDimension(t *testing.T) {
	t.Parallel()
	url := server(t, func(w http.ResponseWriter, _ *http.Request, a asked) { openaiAnswer(w, a.Input) })
	if n, err := Check(t.Context(), embedder(t, Options{Provider: LlamaCPP, BaseURL: url})); n != 3 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
	same := server(t, func(w http.ResponseWriter, _ *http.Request, _ asked) { fmt.Fprint(w, "[[1,2],[1,2]]") })
	_, err := Check(t.Context(), embedder(t, Options{Provider: CustomHTTP, BaseURL: same}))
	wantError(t, err, core.ModelConfig, "no embedding model")
}

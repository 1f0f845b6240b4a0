package setup_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/ops/setup"
	"github.com/everthread/everthread/core/store/postgres"
)

// TestTrier_tellsEachFailure: each failure of a trial has its own kind, and its text holds no
// secret.
func TestTrier_tellsEachFailure(t *testing.T) {
	t.Parallel()
	const key, away = "sk-secret-0123456789", "http://127.0.0.1:1"
	trier := setup.Trier{Given: configs.Default(), Ping: func(ctx context.Context, c configs.Config) error {
		st, err := postgres.Open(ctx, postgres.Options{URL: string(c.DatabaseURL)})
		if err != nil {
			return err
		}
		defer st.Close()
		return st.Ping(ctx)
	}}
	answers := func(status int, body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	ask := func(base string) error {
		_, err := trier.Model(t.Context(), setup.Model{Provider: "openai", BaseURL: base, Key: key, Name: "m"})
		return err
	}
	list := func(base string) error {
		_, err := trier.Models(t.Context(), setup.Model{Provider: "openai", BaseURL: base, Key: key})
		return err
	}
	database := func(address string) error { return trier.Database(t.Context(), address) }
	for name, c := range map[string]struct {
		err    error
		want   setup.Wrong
		reason setup.Reason
		kind   core.ModelErrorKind
	}{
		"no server of models": {list(away), setup.WrongUnreached, setup.ReasonRefused, core.ModelDown},
		"no machine": {list("http://nowhere.invalid"), setup.WrongUnreached,
			setup.ReasonNoHost, core.ModelDown},
		"a list for another key": {list(answers(401, "")), setup.WrongKey, "", core.ModelAuth},
		"a model that is away":   {ask(away), setup.WrongUnreached, setup.ReasonRefused, core.ModelDown},
		"a model for another key": {ask(answers(401, `{"error":{"message":"Incorrect API key `+key+`"}}`)), setup.WrongKey,
			"", core.ModelAuth},
		"a model that is not there": {ask(answers(404, `{"error":{"message":"no"}}`)), setup.WrongModel,
			"", core.ModelConfig},
		"a model without credit": {ask(answers(429, `{"error":{"code":"insufficient_quota"}}`)), setup.WrongModelBusy,
			"", core.ModelBusy},
		"a model that refuses": {ask(answers(400, `{"error":{"message":"no"}}`)), setup.WrongModelRefuses, "",
			core.ModelRejected},
		"a model with a problem": {ask(answers(503, "")), setup.WrongModelDown, "", core.ModelDown},
		"not a database address": {database("mysql://x"), setup.WrongDatabaseURL, "", ""},
		"no database": {database("postgres://u:" + key + "@127.0.0.1:1/d"), setup.WrongDatabase,
			setup.ReasonRefused, ""},
	} {
		var f *setup.Fault
		if !errors.As(c.err, &f) || f.Wrong != c.want || f.Reason != c.reason {
			t.Errorf("%s: got %+v (%v)", name, f, c.err)
			continue
		}
		var m *core.ModelError
		if errors.As(c.err, &m); c.kind != "" && (m == nil || m.Kind != c.kind) {
			t.Errorf("%s: the kind is %v", name, m)
		}
		if strings.Contains(c.err.Error(), key) {
			t.Errorf("%s: the secret is in %v", name, c.err)
		}
	}
	if dsn := os.Getenv("TEST_POSTGRES_DSN"); dsn != "" {
		user, rest, _ := strings.Cut(strings.TrimPrefix(dsn, "postgres://"), ":")
		_, rest, _ = strings.Cut(rest, "@")
		var f *setup.Fault
		if err := database("postgres://" + user + ":" + key + "@" + rest); !errors.As(err, &f) ||
			f.Reason != setup.ReasonPassword || strings.Contains(err.Error(), key) {
			t.Errorf("a wrong password: %v", err)
		}
	}
}

// TestTrier_windowOfServers: Ollama, llama-server, vLLM and OpenRouter do; servers
// that say nothing, or nonsense, are no obstacle.
func TestTrier_windowOfServers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path, body string
		want       int
	}{
		"Ollama": {"/api/ps",
			`{"models":[{"name":"other","context_length":1},{"name":"m:latest","context_length":4096}]}`, 4096},
		"llama-server":          {"/props", `{"default_generation_settings":{"n_ctx":8192},"total_slots":4}`, 8192},
		"vLLM":                  {"/v1/models", `{"data":[{"id":"x"},{"id":"m","max_model_len":40960}]}`, 40960},
		"OpenRouter":            {"/v1/models", `{"data":[{"id":"m","context_length":200000}]}`, 200000},
		"another's model":       {"/api/ps", `{"models":[{"name":"other","context_length":4096}]}`, 0},
		"a page":                {"/v1/models", `<!doctype html>`, 0},
		"a number as a text":    {"/props", `{"default_generation_settings":{"n_ctx":"8192"}}`, 0},
		"a negative number":     {"/props", `{"default_generation_settings":{"n_ctx":-1}}`, 0},
		"one that says nothing": {"/v1/models", `{"data":[{"id":"m"}]}`, 0},
	} {
		var keys []string
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			keys = append(keys, r.Header.Get("Authorization"))
			if r.URL.Path != c.path {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			_, _ = io.WriteString(w, c.body)
		}))
		t.Cleanup(s.Close)
		got := setup.Trier{}.Window(t.Context(), setup.Model{Provider: "openai", BaseURL: s.URL + "/v1", Key: "k", Name: "m"})
		if got != c.want || keys[0] != "Bearer k" {
			t.Errorf("%s: got %d, want %d; keys %q", name, got, c.want, keys)
		}
	}
	away := setup.Model{Provider: "openai", BaseURL: "http://127.0.0.1:1/v1"}
	if got := (setup.Trier{}).Window(t.Context(), away); got != 0 {
		t.Errorf("nobody there: %d", got)
	}
}

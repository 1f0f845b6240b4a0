//go:build e2e

package channels

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/agent/tooltest"
	"github.com/everthread/everthread/e2e/e2etest"
)

// strictModel is a model server that refuses every request with a tool that
// OpenAI's or Anthropic's rules do not allow.
func strictModel(t *testing.T, behind string) (base string, tools *atomic.Int64) {
	t.Helper()
	to, err := url.Parse(behind)
	e2etest.Must(t, err)
	proxy, seen := httputil.NewSingleHostReverseProxy(to), &atomic.Int64{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var in struct {
			Tools []struct {
				Function struct {
					Name, Description string
					Parameters        json.RawMessage
				}
			}
		}
		_ = json.Unmarshal(body, &in)
		for _, tool := range in.Tools {
			f := tool.Function
			if faults := tooltest.Faults(core.ToolSpec{Name: f.Name, Description: f.Description,
				Schema: f.Parameters}); len(faults) > 0 {
				http.Error(w, `{"error":{"message":"Invalid schema for function","type":"invalid_request_error"}}`,
					http.StatusBadRequest)
				t.Errorf("%s: %v", f.Name, faults)
				return
			}
		}
		seen.Add(int64(len(in.Tools)))
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, seen
}

// A model server with strict rules for tools still answers.
func TestModel_strictServerAnswers(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		base, tools := strictModel(t, w.Model)
		w.UseModel(base)
		w.Start()
		w.Telegram.Say(e2etest.Ada, "hello")
		if got := w.Sent(e2etest.Ada, 1)[0].Text; got != "echo: hello" {
			t.Errorf("got %q", got)
		}
		w.Telegram.Say(e2etest.Ada, `call memory_search {"query":"bees","status":"any"}`)
		if got := w.Sent(e2etest.Ada, 2)[1].Text; !strings.Contains(got, `"results"`) {
			t.Errorf("got %q", got)
		}
		if tools.Load() < 14 {
			t.Errorf("the server saw %d tools", tools.Load())
		}
	})
}

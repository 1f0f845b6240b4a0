//go:build e2e

package channels

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// A picture that the model's server refuses is left out, and prevents no answer, neither to its own
// message nor to later ones.
func TestPictures_refusedCostsNoAnswer(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		to, err := url.Parse(w.Model)
		e2etest.Must(t, err)
		proxy := httputil.NewSingleHostReverseProxy(to)
		refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if bytes.Contains(body, []byte("data:image/")) {
				http.Error(w, `{"error":{"message":"Invalid PNG image","type":"invalid_request_error"}}`, http.StatusBadRequest)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			proxy.ServeHTTP(w, r)
		}))
		t.Cleanup(refuses.Close)
		w.UseModel(refuses.URL)
		w.Telegram.AddFile("photo", "files/photo.png", e2etest.Picture)
		g := w.Start("EVERTHREAD_LLM_VISION=true")
		w.Telegram.Write(e2etest.Ada, map[string]any{"photo": e2etest.Photo("photo"), "caption": "what is this?"})
		if got := w.Sent(e2etest.Ada, 1)[0].Text; !strings.HasPrefix(got, "echo: [photo: what is this?]") ||
			!strings.Contains(got, "did not take the picture") {
			t.Errorf("got %q\n%s", got, g.Log)
		}
		w.Telegram.Say(e2etest.Ada, "and now?")
		if got := w.Sent(e2etest.Ada, 2)[1].Text; got != "echo: and now?" {
			t.Errorf("got %q\n%s", got, g.Log)
		}
	})
}

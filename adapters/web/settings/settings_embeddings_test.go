package settings

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// endpoint makes vectors of three dimensions for the right key, and counts requests.
type endpoint struct {
	*httptest.Server
	mu   sync.Mutex
	keys []string
}

func newEndpoint(t *testing.T) *endpoint {
	e := &endpoint{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		e.mu.Lock()
		e.keys = append(e.keys, key)
		e.mu.Unlock()
		if key != "right" {
			http.Error(w, `{"error": {"message": "no such key <script>"}}`, http.StatusUnauthorized)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"embeddings": [][]float32{{1, 0, 0}, {0, 1, 0}}})
	}))
	t.Cleanup(e.Close)
	return e
}

func (e *endpoint) asked() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.keys)
}

// TestEmbeddings_refusesPrivateAddresses checks that nobody can make the gateway call its own network.
func TestEmbeddings_refusesPrivateAddresses(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.Ana.SignedIn()
	e := newEndpoint(t)
	port := e.URL[strings.LastIndexByte(e.URL, ':'):]
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "0x7f000001",
		"2130706433", "127.1", "10.0.0.1", "192.168.1.1", "172.16.0.1", "169.254.169.254", "100.64.0.1", "[fe80::1]",
		"[fd00::1]", "[::]"} {
		for _, do := range []string{"test", "save"} {
			form := url.Values{"provider": {"custom_http"}, "base_url": {"http://" + host + port + "/embed"}, "key": {"right"},
				"model": {"m"}, "do": {do}}
			a := p.Post("/settings/embeddings", form)
			if a.Status != http.StatusUnprocessableEntity {
				t.Errorf("%s of %s answered %d", do, host, a.Status)
			}
			if !strings.Contains(a.Body, "own network, which") &&
				!strings.Contains(a.Body, "could not be reached") {
				t.Errorf("%s is not refused in words", host)
			}
		}
	}
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "169.254.169.254", "10.0.0.1"} {
		a := p.Post("/settings/embeddings", url.Values{"provider": {"custom_http"}, "base_url": {"http://" + host + port},
			"model": {"m"}, "do": {"test"}})
		a.Wants(t, http.StatusUnprocessableEntity, "own network, which", "No request was made")
	}
	if n := e.asked(); n > 0 {
		t.Errorf("%d requests were made", n)
	}
	if c := p.Settings().Settings.Embeddings; c.Provider != "" {
		t.Errorf("kept %+v", c)
	}
}

func TestEmbeddings_triedAndSaved(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	f.models.private = true
	p := f.Ana.SignedIn()
	p.Keeps("", core.ItemFact, "Likes herons")
	e := newEndpoint(t)
	form := func(do, key, sealed string) url.Values {
		return url.Values{"provider": {"custom_http"}, "base_url": {e.URL}, "model": {"m"}, "key": {key},
			"sealed": {sealed}, "do": {do}}
	}
	wrong := p.Post("/settings/embeddings", form("test", "wrong", ""))
	wrong.Wants(t, http.StatusUnprocessableEntity, "It rejects the key", "The key you typed is kept")
	wrong.Lacks(t, "<script>no", `value="wrong"`)
	tried := p.Post("/settings/embeddings", form("test", "right", ""))
	tried.Wants(t, 200, "It works: vectors of 3 dimensions", `value="`+e.URL+`"`)
	sealed := tried.Between(t, `name="sealed" value="`, `"`)
	if strings.Contains(sealed, "right") || p.Settings().Settings.Embeddings.Provider != "" {
		t.Fatal("a test keeps nothing, and shows no key")
	}
	asked := p.Post("/settings/embeddings", form("save", "", unquote(sealed)))
	asked.Wants(t, 200, "1 text will be embedded again with this model", `value="confirm"`, "Save and embed again")
	if p.Settings().Settings.Embeddings.Provider != "" {
		t.Fatal("the settings were saved before the question")
	}
	p.Post("/settings/embeddings", form("confirm", "", unquote(sealed))).Elsewhere(t, "/settings/embeddings")
	c := p.Settings().Settings.Embeddings
	if c.Provider != "custom_http" || c.Model != "m" || c.BaseURL != e.URL || c.Sealed == "" {
		t.Errorf("kept %+v", c)
	}
	pending, err := f.Store.PendingEmbeddings(f.Context, p.User.ID, "custom_http/m@0", 10)
	f.Must(err)
	refs, _, err := f.Store.Due(f.Context, []string{core.QueueEmbed}, f.Clock.Now(), 10, store.Share{})
	f.Must(err)
	if len(pending) != 1 || len(refs) != 1 {
		t.Errorf("%d texts wait, %d jobs", len(pending), len(refs))
	}
	p.Get("/settings/embeddings").Wants(t, 200, "Saved. 1 text will be embedded again.", "A key is stored", "0 ready, 1 waiting")
	p.Post("/settings/embeddings", form("save", "", "")).Elsewhere(t,
		"/settings/embeddings") // the same model needs no confirmation

	before := e.asked()
	elsewhere := newEndpoint(t)
	moved := form("test", "", "")
	moved.Set("base_url", elsewhere.URL)
	p.Post("/settings/embeddings", moved).Wants(t, http.StatusUnprocessableEntity, "It rejects the key")
	if elsewhere.keys[0] != "" || e.asked() != before {
		t.Errorf("the stored key was sent to another address: %q", elsewhere.keys)
	}
	p.Post("/settings/embeddings", url.Values{"do": {"clear"}}).Elsewhere(t, "/settings/embeddings")
	if c := p.Settings().Settings.Embeddings; c != (core.OwnEmbeddings{}) {
		t.Errorf("kept %+v", c)
	}
}

// unquote decodes the value of an attribute.
func unquote(s string) string { return strings.ReplaceAll(s, "&#43;", "+") }

func TestEmbeddings_choiceIsChecked(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.Ana.SignedIn()
	for _, c := range []struct {
		form url.Values
		want string
	}{
		{url.Values{}, "Choose a provider."},
		{url.Values{"provider": {"none"}}, "Choose a provider."},
		{url.Values{"provider": {"ollama"}}, "Enter the name of the model."},
		{url.Values{"provider": {"ollama"}, "model": {"m"}}, "Enter the address"},
		{url.Values{"provider": {"custom_http"}, "base_url": {"https://x.example"}, "dimensions": {"1025"}}, "at most 1,024"},
		{url.Values{"provider": {"custom_http"}, "base_url": {"https://x.example"}, "dimensions": {"many"}}, "at most 1,024"},
		{url.Values{"provider": {"custom_http"}, "base_url": {"file:///etc/passwd"}}, "no web address"},
		{url.Values{"provider": {"custom_http"}, "base_url": {"gopher://x"}}, "no web address"},
	} {
		p.Post("/settings/embeddings", c.form).Wants(t, http.StatusUnprocessableEntity, c.want)
	}
}

func TestEmbeddings_ownModelIsNotChanged(t *testing.T) {
	t.Parallel()
	f := newOffice(t, func(o *Options) { o.Embeddings.(*fakeModels).system = "ollama/m@0" })
	p := f.Ana.SignedIn()
	p.Get("/settings/embeddings").Wants(t, 200, "m (Ollama)")
	p.Post("/settings/embeddings", url.Values{"provider": {"ollama"}, "do": {"clear"}}).Wants(t,
		http.StatusMethodNotAllowed)
}

// TestEmbeddings_ownerConfirmsAnotherModel checks that only the owner is asked, once, after the gateway's model changed.
func TestEmbeddings_ownerConfirmsAnotherModel(t *testing.T) {
	t.Parallel()
	models := &fakeModels{}
	f := newOffice(t, func(o *Options) {
		models = o.Embeddings.(*fakeModels)
		models.system, models.outdated = "llamacpp/@0", 12
	})
	owner, member := f.Ana.SignedIn(), f.Bob.SignedIn()
	asked := owner.Get("/settings/embeddings")
	asked.Wants(t, 200, "12 texts, from memory and from the conversation, will be embedded again with this model", "everyone: llama.cpp.")
	asked.Lacks(t, "llamacpp/@0")
	member.Get("/settings/embeddings").Lacks(t, "will be embedded again")
	member.Post("/settings/embeddings/again", nil).Wants(t, http.StatusNotFound)
	owner.Post("/settings/embeddings/again", nil).Elsewhere(t, "/settings/embeddings")
	after := owner.Get("/settings/embeddings")
	after.Wants(t, 200, "Saved. 12 texts will be embedded again.")
	after.Lacks(t, "/settings/embeddings/again")
}

func TestEmbeddings_saysWhyThereIsNoVector(t *testing.T) {
	t.Parallel()
	f := newOffice(t, func(o *Options) { o.Embeddings.(*fakeModels).system = "ollama/m@0" })
	p := f.Ana.SignedIn()
	p.Keeps("", core.ItemFact, "Likes herons")
	p.Get("/settings/embeddings").Wants(t, 200, "1 waiting")
	if err := f.Store.FailEmbeddings(t.Context(), f.Ana.User.ID, "ollama/m@0", "the key is <refused>",
		time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{"/settings/embeddings", "/memory"} {
		p.Get(page).Wants(t, 200, "1 failed", "No vector for 1: the key is &lt;refused&gt;.")
	}
}

package doctor_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/configs/section"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/ops/doctor"
	"github.com/everthread/everthread/core/text/i18n"
)

// TestExamine_everyLanguage, for a gateway that was never started, with a channel
// that cannot be made.
func TestExamine_everyLanguage(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, language := range i18n.Languages() {
		d := newDoctor(t, language)
		found := d.Examine(t.Context())
		if doctor.Healthy(found) {
			t.Errorf("%s: a channel that cannot be made is no problem", language)
		}
		text := strings.Join(doctor.Lines(language, found), "\n")
		if !strings.Contains(text, "no account of this name") || seen[text] {
			t.Errorf("%s:\n%s", language, text)
		}
		seen[text] = true
	}
}

// TestExamine_storeThatDoesNotOpen is reported once, with what to do.
func TestExamine_storeThatDoesNotOpen(t *testing.T) {
	t.Parallel()
	for cause, want := range map[error]string{
		core.ErrNewerSchema:      "neueren Version",
		errors.New("it is torn"): "nicht benutzbar: it is torn",
	} {
		d := newDoctor(t, "de")
		if err := os.WriteFile(filepath.Join(d.Config.DataDir, "everthread.db"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		d.Opener = unopened{cause}
		found := d.Examine(t.Context())
		i := slices.IndexFunc(found, func(f core.Finding) bool { return f.Check == "database" })
		if i < 0 || found[i].OK || !strings.Contains(found[i].Detail, want) {
			t.Errorf("%v: %+v", cause, found)
		}
	}
}

// TestModel_whatItDoesNotTake: a server that refuses optional parameters is fine, one that refuses tools is a problem.
func TestModel_whatItDoesNotTake(t *testing.T) {
	t.Parallel()
	for refused, want := range map[string]core.Finding{
		"nothing": {OK: true, Detail: "answers ("}, "user": {OK: true, Detail: "optional settings"},
		"tools": {Detail: "does not use tools"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var body map[string]any
			if json.NewDecoder(r.Body).Decode(&body) != nil || body[refused] != nil ||
				refused == "user" && body["stream_options"] != nil {
				w.WriteHeader(400)
				_, _ = io.WriteString(w, `{"error":{"message":"nope"}}`)
				return
			}
			_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`)
		}))
		d := newDoctor(t, "en")
		d.Config.LLM.Provider, d.Config.LLM.BaseURL, d.Config.LLM.Model = "openai", server.URL, "some-model"
		found := d.Examine(t.Context())
		server.Close()
		i := slices.IndexFunc(found, func(f core.Finding) bool { return f.Check == "llm" })
		if i < 0 || found[i].OK != want.OK || !strings.Contains(found[i].Detail, want.Detail) {
			t.Errorf("%s: %+v", refused, found)
		}
	}
}

func newDoctor(t *testing.T, language string) *doctor.Doctor {
	c := configs.Default()
	c.Channels.Sections = []section.Section{made{key: "one", err: errors.New("no account of this name")},
		made{key: "other", err: channel.ErrNoStore}}
	c.DataDir, c.HTTP.Listen, c.HTTP.PublicURL = t.TempDir(), "127.0.0.1:0", "http://127.0.0.1:1"
	return &doctor.Doctor{Config: c, Language: language, Now: time.Now,
		Opener: unopened{errors.New("there is none to open")}}
}

// unopened is a store that does not open.
type unopened struct{ err error }

func (u unopened) Open(context.Context, configs.Config) (doctor.Store, error) { return nil, u.err }

// made is a channel that is on and cannot be made.
type made struct {
	channel.Config
	key string
	err error
}

func (m made) Key() string { return m.key }

func (m made) On() bool { return true }

func (m made) Open(context.Context, channel.Host) (core.Channel, error) { return nil, m.err }

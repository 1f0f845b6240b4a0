package web_test

import (
	"bytes"
	"encoding/json"
	"image/png"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/everthread/everthread/adapters/web"
)

func TestManifest_leadsToIcons(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.Bob.Get("/manifest.webmanifest?lang=fr")
	a.Wants(t, http.StatusOK, "dans toutes vos applications")
	if got := a.Header.Get("Content-Type"); got != "application/manifest+json" {
		t.Errorf("got %s", got)
	}
	var m struct {
		Icons []struct{ Src, Sizes, Type, Purpose string }
	}
	w.Must(json.Unmarshal([]byte(a.Body), &m))
	var sizes, masked int
	for _, i := range m.Icons {
		a := w.Bob.Get(i.Src)
		c, err := png.DecodeConfig(bytes.NewReader([]byte(a.Body)))
		if err != nil || a.Header.Get("Content-Type") != i.Type || !strings.HasPrefix(i.Sizes, "192") && c.Width != 512 {
			t.Errorf("%+v: %v, %+v, %v", i, err, c, a.Header)
		}
		if i.Purpose == "maskable" {
			masked++
		} else {
			sizes += c.Width
		}
	}
	if sizes != 192+512 || masked != 1 {
		t.Errorf("icons are %+v", m.Icons)
	}
	w.Bob.Get("/manifest.webmanifest?lang=xx").Wants(t, http.StatusOK, `"lang":"en"`)
}

func TestWorker_keepsTheOfflinePage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.Ana.SignedIn()
	a := p.Get("/worker.js?lang=de")
	a.Wants(t, http.StatusOK, `"page":"/offline?lang=de"`)
	if got := a.Header.Get("Content-Type"); !strings.HasPrefix(got, "text/javascript") {
		t.Errorf("got %s", got)
	}
	if a.Body == w.Bob.Get("/worker.js?lang=fr").Body {
		t.Error("languages are kept as one")
	}
	shown := p.Get("/offline?lang=de")
	shown.Wants(t, http.StatusOK, "Keine Verbindung", `lang="de"`)
	shown.Lacks(t, "Ana", "data-user", "/signout")
	for _, m := range regexp.MustCompile(`/static/[^"]+\.(?:js|css|svg)`).FindAllString(shown.Body, -1) {
		if !strings.Contains(a.Body, `"`+m+`"`) {
			t.Errorf("%s is not kept", m)
		}
		w.Bob.Get(m).Wants(t, http.StatusOK)
	}
}

func TestSignOut_leavesNothingInTheBrowser(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *web.Options) { o.PublicURL = "https://everthread.example" })
	k := w.Ana.Post("/signin", url.Values{"code": {w.Ana.Code()}}).Cookie("__Host-everthread")
	r := w.Ana.Request(http.MethodPost, "/signout", nil)
	r.AddCookie(&http.Cookie{Name: k.Name, Value: k.Value})
	a := w.Ana.Do(r)
	a.Wants(t, http.StatusOK, "You are signed out")
	if got := a.Header.Get("Clear-Site-Data"); got != `"storage"` {
		t.Errorf("it clears %q", got)
	}
	w = newWorld(t)
	w.Ana.SignedIn().Post("/signout", nil).Wants(t, http.StatusOK, `id="bye"`)
}

func TestTheme_browserPartsHaveItsColour(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Bob.Get("/signin").Wants(t, http.StatusOK, `content="#f8f6f1" media="(prefers-color-scheme: light)"`,
		`content="#14181a" media="(prefers-color-scheme: dark)"`)
}

//go:build e2e

package e2etest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Guest is an HTTP client that behaves like a browser.
type Guest struct {
	*http.Client
	G      *Gateway
	Header http.Header // of every request
}

// NewGuest returns a Guest that signs in with a code; without one it is not signed in.
func (g *Gateway) NewGuest(code string) *Guest {
	g.t.Helper()
	jar, err := cookiejar.New(nil)
	Must(g.t, err)
	v := &Guest{&http.Client{Jar: jar, Timeout: 20 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, g, http.Header{}}
	if code != "" {
		if r, _ := v.Post("/signin", url.Values{"code": {code}}); r.StatusCode != http.StatusSeeOther {
			g.t.Fatalf("the code %s signs nobody in: %s", code, r.Status)
		}
	}
	return v
}

// SignInCode returns a code that signs a user in.
func (w *Town) SignInCode(user string) string {
	w.T.Helper()
	return regexp.MustCompile(`code=([A-Z0-9]+)`).FindStringSubmatch(w.MustRun("users", "link", user))[1]
}

// ask makes a request and reads its answer.
func (v *Guest) ask(r *http.Request) (*http.Response, string) {
	v.G.t.Helper()
	maps.Copy(r.Header, v.Header)
	resp, err := v.Do(r)
	Must(v.G.t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	Must(v.G.t, err)
	return resp, string(b)
}

func (v *Guest) Request(method, path string, body io.Reader) *http.Request {
	v.G.t.Helper()
	r, err := http.NewRequestWithContext(v.G.t.Context(), method, v.G.URL+path, body)
	Must(v.G.t, err)
	return r
}

func (v *Guest) Get(path string) (*http.Response, string) {
	v.G.t.Helper()
	return v.ask(v.Request(http.MethodGet, path, nil))
}

func (v *Guest) Post(path string, form url.Values) (*http.Response, string) {
	v.G.t.Helper()
	r := v.Request(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return v.ask(r)
}

// Cookie returns the session's cookie.
func (v *Guest) Cookie() string {
	u, err := url.Parse(v.G.URL)
	Must(v.G.t, err)
	for _, c := range v.Jar.Cookies(u) {
		if c.Name == "everthread" {
			return c.Value
		}
	}
	return ""
}

// Upload sends a file with the form of the page.
func (v *Guest) Upload(name string, data []byte) {
	v.G.t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	Must(v.G.t, w.WriteField("nonce", NonceFor(name)))
	part, err := w.CreateFormFile("file", name)
	Must(v.G.t, err)
	_, err = part.Write(data)
	Must(v.G.t, errors.Join(err, w.Close()))
	r := v.Request(http.MethodPost, "/messages", &b)
	r.Header.Set("Content-Type", w.FormDataContentType())
	if resp, body := v.ask(r); resp.StatusCode != http.StatusSeeOther {
		v.G.t.Errorf("the file %q: %s %.200s", name, resp.Status, body)
	}
}

// NewLink returns the code of the owner's link from `users link`.
func NewLink(w *Town, g *Gateway) string {
	w.T.Helper()
	out := w.MustRun("users", "link", "1")
	m := regexp.MustCompile(`code=([A-Z0-9]+)`).FindStringSubmatch(out)
	if m == nil {
		w.T.Fatalf("there is no link in %q", out)
	}
	return m[1]
}

// NonceFor returns a nonce for a text.
func NonceFor(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:32] }

package settings

import (
	"crypto/rand"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/adapters/web/webtest"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/service"
	"github.com/everthread/everthread/core/accounts/service/oauthtest"
	"github.com/everthread/everthread/core/trust/secret"
)

// connecting returns services over the store of a world.
func connecting(w *webtest.World, all ...service.Service) *service.Services {
	return service.New(service.Options{Services: all, Store: w.Store, Life: 10 * time.Minute, Language: "en",
		Log: zap.NewNop(), Now: w.Clock.Now, Rand: rand.Reader,
		Sealer: func() (*secret.Sealer, error) { return secret.New(rand.Reader, "secret") }})
}

// serviced is an office with a service that everybody may connect.
func serviced(t *testing.T, o oauthtest.Options) (*office, *oauthtest.Service) {
	t.Helper()
	at := oauthtest.New(t, o)
	tracker := service.Service{Name: "tracker", URL: at.URL, May: func(core.User) bool { return true }}
	f := newOffice(t)
	f.room.Services = connecting(f.World, tracker)
	return f, at
}

// link returns the path of a new link of a person.
func (f *office) link(t *testing.T, p *webtest.Person) string {
	t.Helper()
	code, stored, err := f.room.Services.Link(p.User, "tracker")
	f.Must(err)
	f.Must(f.Store.PutCode(f.Context, stored))
	return "/connect?code=" + code
}

// press presses the button of a link, and returns the address of the service.
func press(t *testing.T, p *webtest.Person, path string) string {
	t.Helper()
	page := p.Get(path)
	code := regexp.MustCompile(`name="code" value="(\w+)"`).FindStringSubmatch(page.Body)
	if code == nil {
		t.Fatalf("no button: %d %s", page.Status, page.Body)
	}
	a := p.Post("/connect", url.Values{"code": {code[1]}})
	a.Wants(t, http.StatusOK, "You are being taken to tracker")
	to, ok := strings.CutPrefix(a.Header.Get("Refresh"), "0; url=")
	if !ok || !strings.Contains(html.UnescapeString(a.Body), `href="`+to+`"`) {
		t.Fatalf("no way on: %q, %s", to, a.Body)
	}
	return to
}

// back returns the path that the service sends a browser back to.
func back(t *testing.T, at *oauthtest.Service, address, account string) string {
	t.Helper()
	to := oauthtest.NewBrowser(t).Consent(at, address, account)
	path, ok := strings.CutPrefix(to, "http://127.0.0.1:8080")
	if !ok {
		t.Fatalf("sent back to %s", to)
	}
	return path
}

// stranger is a browser in which nobody is signed in.
func stranger(f *office) *webtest.Person { return &webtest.Person{World: f.World, Client: f.Browser()} }

func TestServices_connectedFromALink(t *testing.T) {
	t.Parallel()
	f, at := serviced(t, oauthtest.Options{})
	link, browser := f.link(t, f.Bob), stranger(f)
	page := browser.Get(link)
	page.Wants(t, http.StatusOK, "The assistant of Bob gets access to your account at tracker (127.0.0.1)",
		"Go on only if you are Bob and asked for this link yourself.")
	page.Harmless(t, "a link")
	f.Ana.SignedIn().Get(link).Wants(t, http.StatusOK, "signed in here as Ana, but this link is for Bob")
	to := press(t, browser, link)
	stranger(f).Get(link).Wants(t, http.StatusNotFound, "valid any more")
	browser.Get(back(t, at, to, oauthtest.Bob)).Wants(t, http.StatusOK, "The assistant of Bob can use tracker now")
	f.Bob.SignedIn().Get("/settings/services").Wants(t, http.StatusOK, "connected · Today")
	f.Ana.Get("/settings/services").Wants(t, http.StatusOK, "not connected")
	if _, err := f.Store.ServiceGrant(f.Context, f.Ana.User.ID, "tracker"); err == nil {
		t.Error("Ana has what Bob granted")
	}
}

func TestServices_connectedAndEndedInTheSettings(t *testing.T) {
	t.Parallel()
	f, at := serviced(t, oauthtest.Options{})
	p := f.Ana.SignedIn()
	a := p.Post("/settings/services/tracker/connect", nil)
	if a.Status != http.StatusSeeOther {
		t.Fatalf("got %d", a.Status)
	}
	to := press(t, p, a.Header.Get("Location"))
	p.Get(back(t, at, to, oauthtest.Ada)).Wants(t, http.StatusOK, "tracker is connected", `href="/settings/services"`)
	if a := p.Post("/settings/services/tracker/remove", nil); a.Header.Get("Location") != "/settings/services" {
		t.Errorf("got %d, %s", a.Status, a.Body)
	}
	p.Get("/settings/services").Wants(t, http.StatusOK, "not connected", "tracker is disconnected.")
	p.Post("/settings/services/tracker/remove", nil).Wants(t, http.StatusConflict)
	p.Post("/settings/services/other/connect", nil).Wants(t, http.StatusNotFound)
}

// TestAttack_serviceOfAnotherBrowser: who presses the button and who grants access must use one browser.
func TestAttack_serviceOfAnotherBrowser(t *testing.T) {
	t.Parallel()
	f, at := serviced(t, oauthtest.Options{})
	mallory := stranger(f)
	sent := back(t, at, press(t, mallory, f.link(t, f.Bob)), oauthtest.Ada) // the victim was sent straight to the service
	stranger(f).Get(sent).Wants(t, http.StatusForbidden, "another browser")
	f.Ana.SignedIn().Get(sent).Wants(t, http.StatusForbidden, "another browser")
	if grants, err := f.Store.ServiceGrants(f.Context, f.Bob.User.ID); len(grants) != 0 || err != nil {
		t.Errorf("grants %+v, %v", grants, err)
	}
	mallory.Get(sent).Wants(t, http.StatusOK, "tracker is connected")
	mallory.Get(sent).Wants(t, http.StatusForbidden)
}

func TestServices_saysWhyNothingWasConnected(t *testing.T) {
	t.Parallel()
	f, _ := serviced(t, oauthtest.Options{})
	browser := stranger(f)
	u, err := url.Parse(press(t, browser, f.link(t, f.Ana)))
	f.Must(err)
	browser.Get("/connect/back?error=access_denied&state="+u.Query().Get("state")).
		Wants(t, http.StatusOK, "tracker wasn", "grant access at tracker, or it refused")
	for _, path := range []string{"/connect", "/connect?code=x", "/connect?code=" + strings.Repeat("x", 5000)} {
		browser.Get(path).Wants(t, http.StatusNotFound, "It works once, for a few minutes.")
	}
	browser.Post("/connect", url.Values{"code": {"x"}}).Wants(t, http.StatusNotFound, "It works once, for a few minutes.")
	browser.Get("/connect/back?state=x&code=y").Wants(t, http.StatusForbidden, "another browser")

	f, _ = serviced(t, oauthtest.Options{NoRegistration: true})
	code := strings.TrimPrefix(f.link(t, f.Ana), "/connect?code=")
	stranger(f).Post("/connect", url.Values{"code": {code}}).Wants(t, http.StatusBadGateway, "registered there by hand")

	f, _ = serviced(t, oauthtest.Options{Metadata: func(m map[string]any) { m["issuer"] = "https://evil.example" }})
	code = strings.TrimPrefix(f.link(t, f.Ana), "/connect?code=")
	stranger(f).Post("/connect", url.Values{"code": {code}}).Wants(t, http.StatusBadGateway, "answer the way it has to")
}

// TestServices_backToWhereThePageWasOpened: without a public address, browsers return to where they came from.
func TestServices_backToWhereThePageWasOpened(t *testing.T) {
	t.Parallel()
	f, _ := serviced(t, oauthtest.Options{})
	code := strings.TrimPrefix(f.link(t, f.Ana), "/connect?code=")
	p := stranger(f)
	req := p.Request(http.MethodPost, "/connect", strings.NewReader("code="+code))
	req.Host = "nas.lan:8080"
	req.Header.Set("Origin", "http://nas.lan:8080")
	a := p.Do(req)
	if to := a.Header.Get("Refresh"); !strings.Contains(to, url.QueryEscape("http://nas.lan:8080/connect/back")) {
		t.Errorf("got %d, %q", a.Status, to)
	}
}

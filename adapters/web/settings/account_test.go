package settings

import (
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/adapters/web/chat"
	"github.com/everthread/everthread/core/trust"
)

// TestForms_ofSomebodyElseChangeNothing posts to every route of the page what a tab of an earlier person would post, in
// the browser of the next.
func TestForms_ofSomebodyElseChangeNothing(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p, other := f.Ana.SignedIn(), strconv.FormatInt(int64(f.Bob.User.ID), 10)
	p.Says("mine")
	before := len(f.Gate.Received)
	posted := 0
	for _, need := range web.Needs(f.room, chat.New(chat.Options{})) {
		path, ok := strings.CutPrefix(need.What, "POST ")
		if !ok || need.Capability == trust.Open {
			continue
		}
		path = regexp.MustCompile(`\{[a-z]+\}`).ReplaceAllString(path, "1")
		p.Post(path, url.Values{"account": {other}, "text": {"of Bob"}, "nonce": {"0123456789abcdef0123"}}).
			Wants(t, http.StatusConflict, "This page was opened for another account")
		posted++
	}
	if posted < 40 || len(f.Gate.Received) != before {
		t.Errorf("%d routes, received %+v", posted, f.Gate.Received[before:])
	}
	p.Get("/settings").Wants(t, http.StatusOK) // still signed in
}

// TestForms_nameTheirAccount checks that no form is without the field.
func TestForms_nameTheirAccount(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.Ana.SignedIn()
	p.Says("mine")
	form := regexp.MustCompile(`(?s)<form[^>]*method="post"[^>]*>(.{0,60})`)
	seen := 0
	for _, path := range []string{"/", "/settings", "/memory", "/memory/standing", "/admin", "/threads", "/days"} {
		for _, m := range form.FindAllStringSubmatch(whole(t, p, path).Body, -1) {
			if seen++; !strings.HasPrefix(m[1], `<input type="hidden" name="account" value="1">`) {
				t.Errorf("%s: %s", path, m[0])
			}
		}
	}
	if seen < 20 {
		t.Errorf("%d forms", seen)
	}
}

package settings

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// Standing instructions are listed, added and removed on the memory and settings pages,
// each with one click. Nobody sees or removes those of others.
func TestStanding_listedAddedRemoved(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"/memory", "/settings/standing"} {
		t.Run(strings.TrimPrefix(page, "/"), func(t *testing.T) {
			t.Parallel()
			f := newOffice(t)
			p := f.Ana.SignedIn()
			p.Get(page).Wants(t, 200, "Instructions for every answer", `action="/memory/standing"`, `name="next" value="`+page+`"`)
			back := strings.Replace(page, "/memory", "/memory#standing", 1)
			add := func(text string) { // a form with one field
				t.Helper()
				p.Post("/memory/standing", url.Values{"text": {text}, "next": {page}}).Elsewhere(t, back)
			}
			add("answer in <one> sentence")
			p.Get(page).Wants(t, 200, "answer in &lt;one&gt; sentence", "It applies from the next answer.")
			add("Answer in one sentence!")
			p.Get(page).Wants(t, 200, "Answer in one sentence!")
			add("answer in one sentence")
			p.Get(page).Wants(t, 200, "You already have that.")
			for _, bad := range []string{"", "…", strings.Repeat("word ", 250)} {
				p.Post("/memory/standing", url.Values{"text": {bad}, "next": {page}}).Wants(t, http.StatusUnprocessableEntity,
					`id="wish-wrong"`, `aria-invalid="true"`)
			}
			p.Get("/memory/standing").Elsewhere(t, "/memory#standing")
			id := p.Get(page).Between(t, `action="/memory/standing/`, "/remove")
			f.Bob.SignedIn().Get(page).Lacks(t, "&lt;one", "sentence</b>")
			if got := f.Bob.SignedIn().Post("/memory/standing/"+id+"/remove", url.Values{"next": {page}}); got.Status !=
				http.StatusNotFound {
				t.Errorf("another user's: got status %d", got.Status)
			}
			p.Post("/memory/standing/"+id+"/remove", url.Values{"next": {page}}).Elsewhere(t, back)
			left := p.Get(page)
			left.Wants(t, 200, "It no longer applies.", "Answer in one sentence!")
			left.Lacks(t, "&lt;one&gt;")
			for _, gone := range []string{id, "0", "x"} {
				p.Post("/memory/standing/"+gone+"/remove", nil).Wants(t, http.StatusNotFound)
			}
			p.Post("/memory/standing", url.Values{"text": {"be kind"}, "next": {"//evil.example"}}).Elsewhere(t,
				"/memory#standing")
		})
	}
}

package chat

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/web/webtest"
	"github.com/everthread/everthread/core"
)

// A group is shown to those who have written in it, while they are members of it, and to nobody else.
func TestGroup_isShownToItsMembers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ana, bob := w.Ana.SignedIn(), w.Bob.SignedIn()
	at := core.Address{Channel: "telegram", Account: "1", External: "-100"}
	u, err := w.Store.AddUserAt(w.Context, core.User{Name: "Family", Role: core.RoleGroup, CreatedAt: w.Clock.Now()},
		core.Identity{Address: at, Name: "Family", LastUsed: w.Clock.Now()})
	w.Must(err)
	i, _, err := w.Store.Identify(w.Context, at)
	w.Must(err)
	family := &webtest.Person{World: w, User: u, Chat: i}
	says := func(key, name, text string) core.MessageID {
		return family.Says(text, func(s *webtest.Said) { s.Speaker = &core.Speaker{Key: key, Name: name} })
	}
	says("9", "Cy <b>", "who brings *salad*?")
	page := groupPath(u.ID)
	ana.Get("/threads").Lacks(t, "Family")
	ana.Get(page).Wants(t, http.StatusNotFound)
	says(ana.Chat.Address.External, "Ana", "I do")
	pizza := says("9", "Cy <b>", "then pizza at seven")
	ana.Says("my secret is plum")

	ana.Get("/threads").Wants(t, http.StatusOK, `<a class="card link" href="`+page+`"><b dir="auto">Family</b>`)
	bob.Get("/threads").Lacks(t, "Family")
	for _, path := range []string{page, page + "/day/2026-03-02", page + "/search?q=pizza", fmt.Sprintf("%s/m/%d", page, pizza),
		page + "/media/1/0"} {
		bob.Get(path).Wants(t, http.StatusNotFound)
		ana.Get(path).Wants(t, http.StatusForbidden, "not a member")
	}
	w.Groups.Err = errors.New("no answer")
	ana.Get(page).Wants(t, http.StatusServiceUnavailable, "Telegram does not say")
	w.Groups.Err, w.Groups.Attended = nil, true
	asked := w.Groups.Asked
	ana.Get(page)
	for range 9 {
		ana.Get(page+"/media/1/0").Wants(t, http.StatusNotFound)
	}
	if n := w.Groups.Asked - asked; n != 1 {
		t.Errorf("a page and its files ask %d times", n)
	}
	w.Clock.Pass(2 * time.Minute)
	w.Groups.Attended = false
	ana.Get(page+"/media/1/0").Wants(t, http.StatusForbidden)
	w.Groups.Attended = true
	shown := ana.Get(page)
	shown.Wants(t, http.StatusOK, "Cy &lt;b&gt;", "<em>salad</em>", "then pizza at seven", "I do")
	shown.Lacks(t, "plum", "/remember", "/forget", `action="/messages"`)
	webtest.Golden(t, *again, "group", ana.Get(page).Body)
	found := ana.Get(page + "/search?q=pizza")
	found.Wants(t, http.StatusOK, "then <mark>pizza</mark> at seven", fmt.Sprintf(`href="%s/m/%d"`, page, pizza), "Cy &lt;b&gt;")
	ana.Get(page+"/search?q=plum").Wants(t, http.StatusOK, "Nothing found")
	ana.Get("/search?q=pizza").Wants(t, http.StatusOK, "Nothing found")
	jump := ana.Get(fmt.Sprintf("%s/m/%d", page, pizza)).Header.Get("Location")
	if want := fmt.Sprintf("%s/day/%s?at=%d#m%d", page, webtest.DayOf(u.Settings, w.Clock.Now()).Label, pizza, pizza); jump != want {
		t.Errorf("the message is at %s, want %s", jump, want)
	}
	ana.Get(page+"/day/2001-01-01").Wants(t, http.StatusOK, "Nothing was said", page+"/day/"+webtest.DayOf(u.Settings, w.Clock.Now()).Label)
}

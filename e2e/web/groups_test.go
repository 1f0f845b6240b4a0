//go:build e2e

package web

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// A member reads and searches a group on the page until they leave it. Nobody else does, and nothing else shows it.
func TestGroups_onThePage(t *testing.T) {
	t.Parallel()
	f := e2etest.NewGathering(t, "")
	model := e2etest.NewObedient(t)
	f.UseModel(model.URL)
	g := f.Start()
	f.AddOwner(g)
	ada, bo := e2etest.Member{ID: e2etest.Ada, Name: "Ada"}, e2etest.Member{ID: 222, Name: "Bo \u202eevil"}
	f.Says(ada, "/approve")
	f.Hears(g)
	f.Says(bo, "The pizza is at seven.")
	f.Says(ada, "@test_bot who brings what?")
	f.Hears(g)
	f.Telegram.AddFile("oven", "photos/oven.png", aPicture(t))
	f.Offers(bo, "", map[string]any{"caption": "our oven", "text": "", "photo": []any{map[string]any{"file_id": "oven",
		"file_unique_id": "u", "width": 9, "height": 9}}})
	f.Telegram.Say(e2etest.Ada, "My PIN is zq4711.")
	f.Sent(e2etest.Ada, 2)
	l := f.Ledger()
	group := l.Lines(`SELECT id FROM users WHERE role = 'group'`)[0]
	l.Until(`SELECT COUNT(*) FROM messages WHERE user_id = `+group+` AND body LIKE '%our oven%'`, 1, g)

	p := g.NewTab(t).Allow("404").Allow("403")
	p.SignIn(f.SignInCode("1"))
	p.Press("nav", "Threads")
	p.Sees(".cards", "Family")
	p.Press("main", "Family")
	p.Sees(".entry.user", "The pizza is at seven.")
	p.Sees(".entry.agent", "I have read 2.")
	p.Sees(".entry.user", "our oven")
	if text := p.Shown(); strings.Contains(text, "zq4711") {
		t.Errorf("the group's page says %q", text)
	}
	p.Comes(`document.querySelector(".entry img").naturalWidth > 0`)
	axe, err := os.ReadFile(filepath.Join(filepath.Dir(os.Getenv("EVERTHREAD_TEST_AIMOCK")), "../axe-core/axe.min.js"))
	e2etest.Must(t, err)
	for _, width := range []int64{390, 1280} {
		p.Look(width, "light", "en")
		p.Open("/groups/" + group)
		p.Sees(".entry.user", "The pizza is at seven.")
		f.Artefact(fmt.Sprintf("group-%d.png", width), p.Picture(width))
		if wide := e2etest.Js[int64](p, "document.documentElement.scrollWidth"); wide > width {
			t.Errorf("at %d it is %d wide", width, wide)
		}
		for _, fault := range p.Check(string(axe)) {
			t.Errorf("at %d: %v", width, fault)
		}
	}
	p.Look(390, "light", "en")
	p.Open("/groups/" + group)
	p.Click(".to-search")
	p.Fill("#q", "pizza")
	p.Press(".searching", "Go")
	p.Sees(".hit", "The pizza is at seven.")
	f.Artefact("group-search.png", p.Picture(390))
	p.Press(".hit", "Open")
	p.Sees(".entry.user", "The pizza is at seven.")
	p.Open("/search?q=pizza")
	p.Sees(".empty", "Nothing found")
	if status, _ := g.Request(http.MethodGet, "/groups/"+group, "", nil); status == http.StatusOK {
		t.Error("a group is shown to nobody in particular")
	}
	f.Telegram.Leaves(f.Chat, ada.ID)
	p.Open("/groups/" + group)
	p.Sees("main", "You are not a member of this group any more.")
	f.Artefact("group-left.png", p.Picture(1280))
	p.Open("/groups/1")
	p.Sees("main", "not")
}

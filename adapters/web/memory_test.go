package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
)

func TestMemoryIsListedAndNarrowed(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.ana.signedIn()
	p.get("/memory").wants(t, 200, "Nothing is remembered yet", "Remember this", `aria-current="page">Memory`)
	q := p.says("I sit on the aisle")
	p.keeps("Travel", core.ItemPreference, "Prefers aisle seats", func(i *core.Item) {
		i.SourceMessage, i.Tags = q,
			[]string{"train"}
	})
	f.clock.pass(time.Minute)
	gone := p.keeps("", core.ItemFact, "Lives in Lyon")
	p.keeps("garden", core.ItemFact, "Grows tomatoes")
	p.post("/memory/"+sprint(gone)+"/archive", url.Values{"next": {"/memory?theme=travel"}}).elsewhere(t,
		"/memory?theme=travel")

	all := p.get("/memory")
	all.wants(t, 200, "Prefers aisle seats", "Grows tomatoes", "Preference", "Travel", "tags: train",
		fmt.Sprintf(`href="/m/%d">from this message`, q), "All themes", "31 January 2026, 14:40")
	all.lacks(t, "Lives in Lyon")
	if strings.Index(all.body, "Grows tomatoes") > strings.Index(all.body, "Prefers aisle") {
		t.Error("the newest is not first")
	}
	p.get("/memory?archived=1").wants(t, 200, "Lives in Lyon", "archived", "Restore", "checked")
	theme := p.get("/memory?theme=travel")
	theme.wants(t, 200, "Prefers aisle seats", `<a href="/memory?theme=travel" aria-current="true">`)
	theme.lacks(t, "Grows tomatoes")
	kind := p.get("/memory?type=fact")
	kind.wants(t, 200, "Grows tomatoes", `<option value="fact" selected>`)
	kind.lacks(t, "Prefers aisle seats")
	words := p.get("/memory?q=TOMATO")
	words.wants(t, 200, "Grows tomatoes", "by words", `value="TOMATO"`)
	words.lacks(t, "Prefers aisle seats")
	p.get("/memory?q=Lyon").wants(t, 200, "Nothing here", "Show everything")
	p.get("/memory?q=Lyon&archived=1").wants(t, 200, "Lives in Lyon")
	p.get("/memory?theme=none").wants(t, 200, "Nothing here")
	p.get("/memory?type=nonsense&q=x").wants(t, http.StatusNotFound)
	f.bob.signedIn().get("/memory?archived=1").lacks(t, "aisle", "tomatoes", "Lyon", "Travel")
}

func TestMemoryHasPages(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.ana.signedIn()
	for n := range 2*itemsShown + 1 {
		f.clock.pass(time.Second)
		p.keeps("", core.ItemFact, fmt.Sprintf("Fact number %d.", n+1))
	}
	first := p.get("/memory")
	first.wants(t, 200, "Fact number 101.", "Fact number 52.", `rel="next" href="/memory?page=2"`)
	first.lacks(t, "Fact number 51.", `rel="prev"`)
	p.get("/memory?page=2").wants(t, 200, "Fact number 51.", "Fact number 2.", `rel="prev" href="/memory"`,
		`href="/memory?page=3"`)
	last := p.get("/memory?page=3")
	last.wants(t, 200, "Fact number 1.")
	last.lacks(t, `rel="next"`)
	p.get("/memory?page=-4").wants(t, 200, "Fact number 101.")
	p.get("/memory?page=9999").wants(t, 200, "Nothing here", "Show everything")
}

func TestItemsAreAddedArchivedAndRestored(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.ana.signedIn()
	a := p.post("/memory", url.Values{"text": {"Likes herons"}, "theme": {"general"}, "new": {"Birds of prey"},
		"type": {"preference"}})
	if a.status != http.StatusSeeOther {
		t.Fatal(a.status)
	}
	page := p.get("/memory")
	page.wants(t, 200, "Likes herons", "Birds of prey", "Preference", "Remembered.")
	id := page.between(t, `action="/memory/`, "/archive")
	p.post("/memory", url.Values{"text": {"likes  herons"}, "type": {"fact"}})
	p.get("/memory").wants(t, 200, "This is known already")
	for _, bad := range []url.Values{{"text": {""}}, {"text": {"!!!"}}, {"text": {strings.Repeat("word ", 900)}},
		{"text": {"x"}, "type": {"nonsense"}}} {
		p.post("/memory", bad).wants(t, http.StatusUnprocessableEntity, "cannot be remembered", "open", `aria-invalid="true"`)
	}
	p.post("/memory/"+id+"/archive", url.Values{"next": {"//evil.example"}}).elsewhere(t, "/memory")
	p.get("/memory").lacks(t, "Likes herons")
	p.post("/memory", url.Values{"text": {"Likes herons"}, "type": {"fact"}})
	p.post("/memory/"+id+"/restore", nil).elsewhere(t, "/memory")
	p.get("/memory").wants(t, 200, "says the same already")
	other := p.get("/memory").between(t, `action="/memory/`, "/archive")
	p.post("/memory/"+other+"/archive", nil).elsewhere(t, "/memory")
	p.post("/memory/"+id+"/restore", nil).elsewhere(t, "/memory")
	p.get("/memory").wants(t, 200, "Restored.", `id="i`+id)
}

func TestVectorsAreSaidInWords(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.ana.signedIn()
	p.get("/memory").wants(t, 200, "Search by meaning needs an embedding model")
	f.models.system = "ollama/x@0"
	p.keeps("", core.ItemFact, "Waits")
	p.keeps("", core.ItemFact, "Refused")
	pending, err := f.store.PendingEmbeddings(f.ctx, p.user.ID, f.models.system, 10)
	f.must(err)
	f.must(f.store.PutVectors(f.ctx, p.user.ID, f.models.system,
		[]core.EmbeddingResult{{Kind: core.VectorItem, ID: pending[1].ID, Revision: pending[1].Revision, Error: "too odd"}},
		f.clock.now()))
	p.get("/memory").wants(t, 200, "waits for its vector", "no vector could be made", "0 ready, 1 waiting, 1 failed")
	p.get("/settings").wants(t, 200, "The gateway&#39;s own model is used for everybody: ollama/x@0")
}

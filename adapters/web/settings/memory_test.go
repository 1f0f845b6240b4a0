package settings

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

func TestMemory_listedAndNarrowed(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.Ana.SignedIn()
	p.Get("/memory").Wants(t, 200, "Nothing is remembered yet", "Remember this", `aria-current="page">Memory`)
	q := p.Says("I sit on the aisle")
	p.Keeps("Travel", core.ItemPreference, "Prefers aisle seats", func(i *core.Item) {
		i.SourceMessage, i.Tags = q,
			[]string{"train"}
	})
	f.Clock.Pass(time.Minute)
	gone := p.Keeps("", core.ItemFact, "Lives in Lyon")
	p.Keeps("garden", core.ItemFact, "Grows tomatoes")
	p.Post("/memory/"+fmt.Sprint(gone)+"/archive", url.Values{"next": {"/memory?theme=travel"}}).Elsewhere(t,
		"/memory?theme=travel")

	all := p.Get("/memory")
	all.Wants(t, 200, "Prefers aisle seats", "Grows tomatoes", "Preference", "Travel", "tags: <bdi>train",
		fmt.Sprintf(`href="/m/%d">from this message`, q), "All themes", "31 January 2026, 14:40")
	all.Lacks(t, "Lives in Lyon")
	if strings.Index(all.Body, "Grows tomatoes") > strings.Index(all.Body, "Prefers aisle") {
		t.Error("the newest is not first")
	}
	p.Get("/memory?archived=1").Wants(t, 200, "Lives in Lyon", "archived", "Restore", "checked")
	theme := p.Get("/memory?theme=travel")
	theme.Wants(t, 200, "Prefers aisle seats", `<a href="/memory?theme=travel" aria-current="true">`)
	theme.Lacks(t, "Grows tomatoes")
	kind := p.Get("/memory?type=fact")
	kind.Wants(t, 200, "Grows tomatoes", `<option value="fact" selected>`)
	kind.Lacks(t, "Prefers aisle seats")
	words := p.Get("/memory?q=TOMATO")
	words.Wants(t, 200, "Grows tomatoes", "by words", `value="TOMATO"`)
	words.Lacks(t, "Prefers aisle seats")
	p.Get("/memory?q=Lyon").Wants(t, 200, "Nothing here", "Show everything")
	p.Get("/memory?q=Lyon&archived=1").Wants(t, 200, "Lives in Lyon")
	p.Get("/memory?theme=none").Wants(t, 200, "Nothing here")
	p.Get("/memory?type=nonsense&q=x").Wants(t, http.StatusNotFound)
	f.Bob.SignedIn().Get("/memory?archived=1").Lacks(t, "aisle", "tomatoes", "Lyon", "Travel")
}

func TestMemory_pages(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.Ana.SignedIn()
	for n := range 2*itemsShown + 1 {
		f.Clock.Pass(time.Second)
		p.Keeps("", core.ItemFact, fmt.Sprintf("Fact number %d.", n+1))
	}
	first := p.Get("/memory")
	first.Wants(t, 200, "Fact number 101.", "Fact number 52.", `rel="next" href="/memory?page=2"`)
	first.Lacks(t, "Fact number 51.", `rel="prev"`)
	p.Get("/memory?page=2").Wants(t, 200, "Fact number 51.", "Fact number 2.", `rel="prev" href="/memory"`,
		`href="/memory?page=3"`)
	last := p.Get("/memory?page=3")
	last.Wants(t, 200, "Fact number 1.")
	last.Lacks(t, `rel="next"`)
	p.Get("/memory?page=-4").Wants(t, 200, "Fact number 101.")
	p.Get("/memory?page=9999").Wants(t, 200, "Nothing here", "Show everything")
}

func TestItems_addedArchivedRestored(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.Ana.SignedIn()
	a := p.Post("/memory", url.Values{"text": {"Likes herons"}, "theme": {"general"}, "new": {"Birds of prey"},
		"type": {"preference"}})
	if a.Status != http.StatusSeeOther {
		t.Fatal(a.Status)
	}
	page := p.Get("/memory")
	page.Wants(t, 200, "Likes herons", "Birds of prey", "Preference", "Remembered.")
	id := page.Between(t, `action="/memory/`, "/archive")
	p.Post("/memory", url.Values{"text": {"likes  herons"}, "type": {"fact"}})
	p.Get("/memory").Wants(t, 200, "This is already known")
	for _, bad := range []url.Values{{"text": {""}}, {"text": {"!!!"}}, {"text": {"x"}, "type": {"nonsense"}}} {
		p.Post("/memory", bad).Wants(t, http.StatusUnprocessableEntity, "cannot be remembered", "open", `aria-invalid="true"`)
	}
	for _, long := range []url.Values{{"text": {strings.Repeat("word ", 900)}},
		{"text": {"x"}, "new": {strings.Repeat("é", 61)}, "type": {"fact"}}} {
		p.Post("/memory", long).Wants(t, http.StatusUnprocessableEntity, "characters fit here",
			strings.TrimSpace(long.Get("text")))
	}
	p.Post("/memory/"+id+"/archive", url.Values{"next": {"//evil.example"}}).Elsewhere(t, "/memory")
	p.Get("/memory").Lacks(t, "Likes herons")
	p.Post("/memory", url.Values{"text": {"Likes herons"}, "type": {"fact"}})
	p.Post("/memory/"+id+"/restore", nil).Elsewhere(t, "/memory")
	p.Get("/memory").Wants(t, 200, "already says that")
	other := p.Get("/memory").Between(t, `action="/memory/`, "/archive")
	p.Post("/memory/"+other+"/archive", nil).Elsewhere(t, "/memory")
	p.Post("/memory/"+id+"/restore", nil).Elsewhere(t, "/memory")
	p.Get("/memory").Wants(t, 200, "Restored.", `id="i`+id)
}

func TestItems_vectorsInWords(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.Ana.SignedIn()
	p.Get("/memory").Wants(t, 200, "Search by meaning needs an embedding model")
	f.models.system = "ollama/x@0"
	p.Keeps("", core.ItemFact, "Waits")
	p.Keeps("", core.ItemFact, "Refused")
	pending, err := f.Store.PendingEmbeddings(f.Context, p.User.ID, f.models.system, 10)
	f.Must(err)
	f.Must(f.Store.PutVectors(f.Context, p.User.ID, f.models.system,
		[]store.EmbeddingResult{{Kind: core.VectorItem, ID: pending[1].ID, Revision: pending[1].Revision, Error: "too odd"}},
		f.Clock.Now()))
	p.Get("/memory").Wants(t, 200, "waiting for its vector", "no vector could be created", "0 ready, 1 waiting, 1 failed")
	p.Get("/settings/embeddings").Wants(t, 200, "The gateway&#39;s own model is used for everyone: x (Ollama)")
}

func TestItems_correctedAndDeleted(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.Ana.SignedIn()
	id := fmt.Sprint(p.Keeps("", core.ItemFact, "Lives in Lyon"))
	p.Keeps("", core.ItemFact, "Grows tomatoes")
	for bad, why := range map[string]string{"": "cannot be remembered", "!!!": "cannot be remembered",
		strings.Repeat("word ", 900): "at most 2,000 characters fit here"} {
		p.Post("/memory/"+id+"/edit", url.Values{"text": {bad}}).Wants(t, http.StatusUnprocessableEntity, why)
	}
	p.Post("/memory/"+id+"/edit", url.Values{"text": {"Lives in <Nantes>"}, "next": {"//evil.example"}}).Elsewhere(t,
		"/memory#i"+id)
	page := p.Get("/memory")
	page.Wants(t, 200, "Corrected.", `<p class="statement" dir="auto">Lives in &lt;Nantes&gt;</p>`, "Earlier wordings",
		"<bdi>Lives in Lyon</bdi> <span class=\"quiet\">until 31 January 2026, 14:40</span>")
	p.Get("/memory?q=Lyon").Wants(t, 200, "Nothing here")
	p.Get("/memory?q=Nantes").Wants(t, 200, "Lives in &lt;Nantes&gt;")
	p.Post("/memory/"+id+"/edit", url.Values{"text": {"Grows tomatoes"}}).Elsewhere(t, "/memory")
	p.Get("/memory").Wants(t, 200, "already says that", "Nantes")
	bob := f.Bob.SignedIn()
	bob.Post("/memory/"+id+"/edit", url.Values{"text": {"mine"}}).Wants(t, http.StatusNotFound)
	bob.Post("/memory/"+id+"/delete", nil).Wants(t, http.StatusNotFound)
	p.Post("/memory/"+id+"/delete", url.Values{"next": {"/memory?type=fact"}}).Elsewhere(t, "/memory?type=fact")
	page = p.Get("/memory?archived=1")
	page.Wants(t, 200, "Deleted for good.", "Grows tomatoes")
	page.Lacks(t, "Lyon", "Nantes")
}

func TestItems_notedTodayIsUndone(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.Ana.SignedIn()
	now := f.Clock.Now()
	f.Clock.Set(now.AddDate(0, 0, -1))
	noted := func(i *core.Item) { i.Noted = true }
	p.Keeps("", core.ItemFact, "Yesterday's note", noted)
	f.Clock.Set(now)
	p.Keeps("", core.ItemFact, "Written by hand")
	p.Get("/memory").Lacks(t, "Today the assistant noted")
	id := fmt.Sprint(p.Keeps("", core.ItemFact, "Has a grey cat", noted))
	page := p.Get("/memory")
	page.Wants(t, 200, "Today the assistant noted", "Undo: Has a grey cat")
	page.Lacks(t, "Undo: Yesterday", "Undo: Written")
	p.Get("/memory?type=fact").Lacks(t, "Today the assistant noted")
	f.Bob.SignedIn().Get("/memory").Lacks(t, "cat")
	p.Post("/memory/"+id+"/archive", nil).Elsewhere(t, "/memory")
	p.Get("/memory").Lacks(t, "Today the assistant noted", "grey cat")
}

//go:build e2e

package web

import "testing"

// Items that the assistant noted are listed the same day and can be undone. A person can
// correct items, and delete them for good.
func TestMemory_correctedAndDeletedOnThePage(t *testing.T) {
	v := newVisitor(t, "")
	v.Look(360, "light", "en")
	v.Send(`call memory_add {"content":"Has a grey cat"}`)
	v.Sees(".entry.agent", "tool said:")
	v.Send("/remember I live in Lyon")
	v.l.Until(`SELECT COUNT(*) FROM items WHERE content LIKE '%grey cat%' OR content LIKE '%Lyon%'`, 2, v.g)
	v.Open("/memory")
	v.Sees(".noted", "Has a grey cat")
	if v.Is("document.querySelector('.noted').innerText.includes('Lyon')") {
		t.Error("what a person wrote is said to be the assistant's")
	}
	v.Press(".noted", "Undo")
	v.Sees("#toast", "Archived.")
	v.Comes("!document.querySelector('.noted') && !document.querySelector('main').innerText.includes('cat')")
	v.Press(".item", "Edit")
	v.Fill(".edit[open] textarea", "I live in Nantes")
	v.Press(".edit[open]", "Save")
	v.Sees("#toast", "Corrected.")
	v.Sees(".item", "I live in Nantes")
	v.Press(".item", "Earlier wordings")
	v.Sees(".wordings", "I live in Lyon until")
	if !v.Is("document.documentElement.scrollWidth <= 360") {
		t.Errorf("the page is too wide:\n%s", v.Shown())
	}
	v.Press(".item", "Delete")
	v.Press(".delete[open]", "Delete for good")
	v.Sees("#toast", "Deleted for good.")
	v.l.Until(`SELECT COUNT(*) FROM items WHERE content LIKE '%Nantes%' OR history LIKE '%Lyon%'`, 0, v.g)
}

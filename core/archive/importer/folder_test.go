package importer_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/archive/importer"
	"github.com/everthread/everthread/core/files/document"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/store/storetest"
)

// kindOf returns the kind of document of a file.
func kindOf(name string, data []byte) string { return document.Kind(name, "", data) }

// bringFolder imports a folder of documents.
func (w *world) bringFolder(dir string) (*importer.Survey, importer.Result) {
	w.t.Helper()
	a := open(w.t, dir)
	o := paris(w.t)
	o.Kind, o.Max, o.Now = kindOf, 100, now
	s, err := importer.NewSurvey(a, "files", o, "", w.u.Name, w.label)
	if err != nil {
		w.t.Fatal(err)
	}
	i := w.importer(w.st)
	i.Media.Kind = kindOf
	out, err := i.Run(w.t.Context(), a, "files", o, s)
	if err != nil {
		w.t.Fatal(err)
	}
	return s, out
}

// TestFolder_importedAgain imports a folder of documents, again unchanged, and again with a changed and
// a new file.
func TestFolder_importedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := t.TempDir()
	put := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, now, now.Add(-48*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	put("lease.txt", "the deposit is 1,450 euro")
	put("papers/notes.md", "# Notes")
	put("papers/same.md", "# Notes")
	put("photo.bin", "\x00\x01\x02")
	put("empty.txt", "")
	put("large.txt", strings.Repeat("large ", 100))
	put(".hidden.txt", "no")
	s, out := w.bringFolder(dir)
	storetest.Check(t, w.st.DB())
	if out.Fresh != 3 || out.Files != 3 || out.Days != 1 || s.Messages != 3 {
		t.Errorf("brought %+v of %+v", out, s)
	}
	var text strings.Builder
	s.Describe(&text, "en", time.UTC)
	for _, why := range []string{"files of this kind are not read", "it is larger than media.max_bytes", "it is empty"} {
		if !strings.Contains(text.String(), why) {
			t.Errorf("%q is not reported:\n%s", why, text.String())
		}
	}
	ms, err := w.st.Messages(t.Context(), w.u.ID, []core.MessageID{1})
	if err != nil || len(ms) != 1 || len(ms[0].Attachments) != 1 {
		t.Fatalf("messages %+v, %v", ms, err)
	}
	if a := ms[0].Attachments[0]; a.Kind != "document" || !a.Document.Unread() || !ms[0].Foreign() ||
		!ms[0].SentAt.Equal(now.Add(-48*time.Hour)) {
		t.Errorf("message %+v", ms[0])
	}
	refs, _, err := w.st.Due(t.Context(), []string{core.QueueDocument}, now.Add(time.Hour), 10, store.Share{})
	if err != nil || len(refs) != 1 { // one after another
		t.Errorf("jobs %v, %v", refs, err)
	}
	if _, out = w.bringFolder(dir); out.Fresh != 0 || out.Known != 3 {
		t.Errorf("again: %+v", out)
	}
	put("lease.txt", "the deposit is 2,000 euro")
	put("new.csv", "a,b\n1,2")
	if _, out = w.bringFolder(dir); out.Fresh != 2 || out.Known != 2 {
		t.Errorf("after a change: %+v", out)
	}
}

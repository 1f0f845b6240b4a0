package document

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/store"
)

// words counts words as tokens.
type words struct{}

func (words) Count(s string) int { return len(strings.Fields(s)) }

// shelf is an in-memory store of one message with one file.
type shelf struct {
	job.Store
	message  core.Message
	pages    []store.FilePage
	puts     int
	finished []string
	err      error // of PutFilePages
}

func (s *shelf) Messages(context.Context, core.UserID, []core.MessageID) ([]core.Message, error) {
	return []core.Message{s.message}, nil
}

func (s *shelf) PutFilePages(_ context.Context, p store.PutFilePages) error {
	if s.err != nil {
		return s.err
	}
	if s.puts++; p.First {
		s.pages = nil
	}
	s.pages = append(s.pages, p.Pages...)
	return nil
}

func (s *shelf) SetAttachment(_ context.Context, f store.Fetched) error {
	s.message.Attachments[f.Index] = f.Attachment
	s.finished = append(s.finished, "set")
	return nil
}

func (s *shelf) Finish(_ context.Context, _ core.UserID, _ core.Lease, cause string) error {
	s.finished = append(s.finished, "end"+cause)
	return nil
}

func (s *shelf) FilePages(_ context.Context, _ core.UserID, _ store.FileRef, from, to int) ([]store.FilePage, error) {
	return slices.DeleteFunc(slices.Clone(s.pages), func(p store.FilePage) bool {
		return p.Number < from || p.Number > to
	}), nil
}

func (s *shelf) FilePagesOf(context.Context, core.UserID, []int64) ([]store.FilePage, error) {
	return nil, nil
}
func (s *shelf) HasFilePages(context.Context, core.UserID) (bool, error) { return true, nil }

// folder opens the files in a folder.
type folder string

func (f folder) Read(name string) ([]byte, error) { return os.ReadFile(filepath.Join(string(f), name)) }

func (s *shelf) worker(t *testing.T, files Files) *Worker {
	return &Worker{Store: s, Jobs: &job.Worker{Store: s, Log: zap.NewNop(), Now: time.Now}, Files: files,
		Reader: reader(t, nil), Tokens: words{}, Preview: 5, Log: zap.NewNop(), Now: time.Now,
		Embed: embedded{}, Meter: uncounted{}}
}

// embedded returns the same configuration for all users.
type embedded struct{}

func (embedded) Name(context.Context, core.UserID) (string, error) { return "c", nil }

// shelfOf returns a store of a message with an unread file.
func shelfOf(name string) *shelf {
	return &shelf{message: core.Message{ID: 12, Attachments: []core.Attachment{{Kind: "photo"}, {Kind: "document",
		Name: name, Path: name, Document: &core.Document{Kind: "x", State: core.DocumentReading}}}}}
}

func of(failures int) *store.Job {
	return &store.Job{User: 1, Ref: 12, Payload: json.RawMessage("1"), Failures: failures}
}

func TestWorker(t *testing.T) {
	t.Parallel()
	s := shelfOf("lease-chromium.pdf")
	if err := s.worker(t, folder("testdata")).read(t.Context(), of(0)); err != nil {
		t.Fatal(err)
	}
	d := s.message.Attachments[1].Document
	want := core.Document{Kind: PDF, State: core.DocumentRead, Pages: 3, Preview: "Lease of a flat …"}
	if d.Kind != want.Kind || d.State != want.State || d.Pages != 3 || !strings.HasPrefix(d.Preview, "Lease of a flat") {
		t.Errorf("got %+v, want %+v", d, want)
	}
	if len(s.pages) != 3 || s.pages[2].Number != 3 || s.pages[2].Name != "lease-chromium.pdf" || s.pages[2].Tokens == 0 {
		t.Errorf("pages: %+v", s.pages)
	}
}

// TestWorker_faults checks the results for unreadable files and failing stores.
func TestWorker_faults(t *testing.T) {
	t.Parallel()
	s := shelfOf("lease-locked.pdf")
	if err := s.worker(t, folder("testdata")).read(t.Context(), of(0)); err != nil {
		t.Fatal(err)
	}
	if d := s.message.Attachments[1].Document; d.Problem != core.DocumentEncrypted || d.Unread() {
		t.Errorf("locked: %+v", d)
	}
	if s = shelfOf("missing.pdf"); s.worker(t, folder("testdata")).read(t.Context(), of(0)) != nil ||
		s.message.Attachments[1].Document.Problem != core.DocumentUnread {
		t.Errorf("a missing file: %+v", s.message.Attachments[1].Document)
	}
	s = shelfOf("book.epub")
	if s.err = core.ErrNotFound; s.worker(t, folder("testdata")).read(t.Context(), of(0)) != nil ||
		!slices.Equal(s.finished, []string{"end"}) {
		t.Errorf("redacted meanwhile: %v", s.finished)
	}
	if s.err = fs.ErrPermission; !errors.Is(s.worker(t, folder("testdata")).read(t.Context(), of(0)), s.err) {
		t.Error("an error of the store is not an error of the job")
	}
	s = shelfOf("book.epub")
	w := s.worker(t, folder("testdata"))
	w.Reader.Command = nil
	if err := w.read(t.Context(), of(0)); err == nil {
		t.Error("a failure that is not the file's fault is not retried")
	}
	if err := w.read(t.Context(), of(maxAttempts)); err != nil || s.message.Attachments[1].Document.Problem !=
		core.DocumentUnread {
		t.Errorf("the last attempt: %v, %+v", err, s.message.Attachments[1].Document)
	}
}

func TestFileRead(t *testing.T) {
	t.Parallel()
	s := shelfOf("lease.pdf")
	d := s.message.Attachments[1].Document
	d.State, d.Kind, d.Pages = core.DocumentRead, PDF, 5
	for i := range 5 {
		s.pages = append(s.pages, store.FilePage{Number: i + 1, Text: strings.Repeat("word ", 1000), Tokens: 1000})
	}
	s.pages[4].Text, s.pages[4].Tokens = strings.Repeat("word ", 9000), 9000
	tool := Tools(s, words{})[0]
	for _, c := range []struct {
		arguments, want string
		pages           int
	}{
		{`{"attachment":"12.2","from_page":1,"to_page":2}`, `"pages":5`, 2},
		{`{"attachment":"#12.2"}`, `"next_page":4`, 3},
		{`{"attachment":12.2,"from_page":4}`, `"next_page":5`, 1},
		{`{"attachment":"12.2","from_page":5}`, `[the page goes on]`, 1},
		{`{"attachment":"12.2","from_page":6}`, "the file has pages 1 to 5", 0},
		{`{"attachment":"12"}`, "there is no file 12 that can be read", 0},
		{`{"attachment":"12.9"}`, "there is no file 12.9", 0},
		{`{"attachment":"lease.pdf"}`, "attachment must be the number", 0},
		{`{"attachment":"12.2","from_page":3,"to_page":2}`, "count from 1", 0},
		{`{"attachment":"12.2","from_page":"x"}`, "not as described", 0},
	} {
		r, err := tool.Use(t.Context(), core.ToolUse{User: 1, Arguments: json.RawMessage(c.arguments)})
		got := r.Text
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) || strings.Count(got, `"page":`) != c.pages {
			t.Errorf("%s: got %.300s, want %s and %d pages", c.arguments, got, c.want, c.pages)
		}
		if n := (words{}).Count(got); n > 4000 || err == nil && !r.Tainted {
			t.Errorf("%s: %d tokens, tainted %v", c.arguments, n, r.Tainted)
		}
	}
	*d = core.Document{Kind: PDF, State: core.DocumentReading}
	if r, err := tool.Use(t.Context(), core.ToolUse{User: 1,
		Arguments: json.RawMessage(`{"attachment":"12.2"}`)}); err != nil || !strings.Contains(r.Text, "still being read") {
		t.Errorf("while it is read: %s, %v", r.Text, err)
	}
}

type uncounted struct{}

func (uncounted) Count(string, float64, ...string) {}

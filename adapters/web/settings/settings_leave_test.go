package settings

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everthread/everthread/adapters/web/webtest"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/people"
	"github.com/everthread/everthread/core/store"
)

func TestAccountDeletion_isShownAndProved(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	a := f.Bob.SignedIn().Deletes()
	a.Wants(t, 200, "Counting what there is", "1,200 messages, 1 attachment", "Removing 1,200 messages, with days",
		`class="far">2 of 2<`, "Checking everywhere", "Everything is deleted",
		"no row in any table, no entry in any index and no file", "backups")
	a.Lacks(t, "Bob", removalMark, "/signout")
	webtest.Golden(t, *again, "gone", a.Body)
	if a.Header.Get("X-Accel-Buffering") != "no" {
		t.Error("a proxy may hold the page back")
	}
	f.Bob.Deletes().Wants(t, http.StatusUnauthorized)
}

func TestAccountDeletion_failureSaysWhatIsTrue(t *testing.T) {
	t.Parallel()
	away := errors.New("the store is away")
	for name, c := range map[string]struct {
		left  []string
		err   error
		rows  bool // the rows are deleted before it fails
		wants string
		back  bool
	}{
		"before anything was removed":  {err: away, wants: "Nothing is deleted", back: true},
		"after the rows":               {err: away, rows: true, wants: "Deleted, but not checked"},
		"after all, with something":    {left: []string{"windows: 3"}, rows: true, wants: "<code>windows: 3</code>"},
		"and what is left is told how": {left: []string{"x"}, rows: true, wants: "everthread users delete "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newOffice(t)
			whole := f.leaves
			f.leaves = func(ctx context.Context, user core.UserID, tell func(people.Deletion)) ([]string, error) {
				if tell(people.Deletion{Step: people.DeletionCount}); c.rows {
					_, err := f.Store.DeleteUser(ctx, user)
					f.Must(err)
				}
				return c.left, c.err
			}
			a := f.Bob.SignedIn().Deletes()
			a.Wants(t, 200, c.wants, "</html>")
			a.Lacks(t, "Everything is deleted", "the store is away")
			if strings.Contains(a.Body, "Back to the settings") != c.back {
				t.Errorf("a way back: %v", !c.back)
			}
			if !c.rows { // pressed again
				f.leaves = whole
				f.Bob.Get("/settings/data").Wants(t, 200, "Delete everything")
				f.Bob.Deletes().Wants(t, 200, "Everything is deleted")
			}
		})
	}
}

// TestAccountDeletion_goesOnWithoutItsPage checks that closing the page does not stop a deletion, and that
// the page grows during it.
func TestAccountDeletion_goesOnWithoutItsPage(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.Bob.SignedIn()
	begun, closed, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	f.leaves = func(ctx context.Context, user core.UserID, tell func(people.Deletion)) ([]string, error) {
		tell(people.Deletion{Step: people.DeletionCount})
		close(begun)
		<-closed
		tell(people.Deletion{Step: people.DeletionRows, Total: 2})
		_, err := f.Store.DeleteUser(ctx, user)
		done <- errors.Join(err, ctx.Err())
		return nil, err
	}
	ctx, cancel := context.WithCancel(t.Context())
	res, err := p.Client.Do(p.Request(http.MethodPost, "/settings/delete",
		strings.NewReader("word=DELETE")).WithContext(ctx))
	f.Must(err)
	defer res.Body.Close()
	<-begun
	seen := ""
	for b := make([]byte, 4096); !strings.Contains(seen, "Counting what there is"); {
		n, err := res.Body.Read(b)
		f.Must(err)
		seen += string(b[:n])
	}
	cancel()
	_, _ = io.Copy(io.Discard, res.Body) // the response breaks off
	close(closed)
	f.Must(<-done)
	if _, err := f.Store.User(f.Context, p.User.ID); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

// TestAccountDeletion_endsWithTheProcess checks that a deletion is rolled back when the process ends, and
// that no new one begins.
func TestAccountDeletion_endsWithTheProcess(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.Bob.SignedIn()
	begun := make(chan struct{})
	f.leaves = func(ctx context.Context, _ core.UserID, _ func(people.Deletion)) ([]string, error) {
		close(begun)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	ended := make(chan webtest.Answer)
	go func() { ended <- p.Deletes() }()
	<-begun
	f.End()
	(<-ended).Wants(t, 200, "Nothing is deleted")
	p.Deletes().Wants(t, http.StatusServiceUnavailable, "is shutting down")
}

func TestAccountDeletion_resumesAtTheStart(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	resumed := make(chan struct{}, 2)
	f.engine.resume = func(context.Context) error { resumed <- struct{}{}; return errors.New("the store is away") }
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- f.Page.Run(ctx) }()
	<-resumed
	cancel()
	f.Must(<-ended)
}

// TestAccountDeletion_longStepShowsSeconds checks that seconds are shown while rows are deleted, a step
// without a count.
func TestAccountDeletion_longStepShowsSeconds(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{header: http.Header{}}
		v := f.Page.Visit(rec, (&http.Request{Method: "POST", URL: &url.URL{Path: "/settings/delete"},
			Header: http.Header{}}).WithContext(t.Context()))
		p, err := f.room.grow(v, "leaving", "x")
		if err != nil {
			t.Fatal(err)
		}
		told := make(chan people.Deletion)
		go func() {
			defer close(told)
			told <- people.Deletion{Step: people.DeletionRows, Total: 7}
			time.Sleep(3500 * time.Millisecond) // virtual time of the bubble
			told <- people.Deletion{Step: people.DeletionFiles, Total: 3}
			for n := range 4 {
				told <- people.Deletion{Step: people.DeletionFiles, Done: n, Total: 3}
			}
		}()
		p.show(told)
		p.end(farewellView{Title: "Done"})
		want := []string{"Removing 7 messages", ">1\u00a0s<", ">2\u00a0s<", ">3\u00a0s<", "Removing attachments",
			">3 of 3<", "Done", "</html>"}
		for body := rec.body.String(); len(want) > 0; want = want[1:] {
			var ok bool
			if _, body, ok = strings.Cut(body, want[0]); !ok {
				t.Fatalf("%s does not come:\n%s", want[0], rec.body.String())
			}
		}
	})
}

// recorder is a ResponseWriter that cannot flush.
type recorder struct {
	header http.Header
	body   strings.Builder
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }
func (r *recorder) WriteHeader(int)             {}

func TestExport_saysHowMuchItHolds(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.Ana.SignedIn()
	p.Get("/settings/data").Wants(t, 200, "It will contain about 0 messages.")
	p.Talks("one", "two")
	p.Get("/settings/data").Wants(t, 200, "It will contain about 2 messages.")
	folder := filepath.Join(f.Media, fmt.Sprint(p.User.ID))
	f.Must(os.MkdirAll(folder, 0o700))
	for name, size := range map[string]int{"1-0": 1 << 20, "2-0": 1 << 19, ".part-1": 5} {
		f.Must(os.WriteFile(filepath.Join(folder, name), make([]byte, size), 0o600))
	}
	p.Get("/settings/data").Wants(t, 200, "It will contain about 2 messages and 2 attachments (1.5\u00a0MB).")
}

func TestTraces_findWhatIsLeft(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.Ana.SignedIn()
	m, _ := p.Talks("The <b>Heron</b> stands there", "It does")
	p.Keeps("Birds", core.ItemFact, "Likes the heron")
	f.Bob.Talks("The ostrich is Bob's", "It is")
	look := func(text string) webtest.Answer { return p.Post("/settings/data", url.Values{"text": {text}}) }
	a := look(" heron ")
	a.Wants(t, 200, "It is still in", fmt.Sprintf(
		`<a href="/m/%d"><bdi>31 January 2026, 14:40: The &lt;b&gt;Heron&lt;/b&gt; stands there</bdi></a>`, m), "Messages", "Memory",
		`value="heron"`, "Only what is yours")
	for _, path := range regexp.MustCompile(`<p class="places"><a href="([^"]+)"`).FindAllStringSubmatch(a.Body, -1) {
		if s := p.Get(path[1]).Status; s != 200 && s != http.StatusSeeOther {
			t.Errorf("%s: got status %d", path[1], s)
		}
	}
	look("ostrich").Wants(t, 200, "Nothing of it is left.")
	xss := look(`"><script>x`)
	xss.Wants(t, 200, "Nothing of it is left.")
	xss.Lacks(t, "<script>x")
	look("x").Wants(t, http.StatusUnprocessableEntity, "at least 2 letters")
	look(strings.Repeat("é", 501)).Wants(t, http.StatusUnprocessableEntity, "at most 500 letters")
	p.Get("/settings/data").Wants(t, 200, `id="trace"`)
	var many []core.MessageID
	for n := range 40 {
		many = append(many, p.Says(fmt.Sprint("thing ", n+1)))
	}
	f.engine.traces = func(context.Context, core.UserID, string) (found []store.Trace, files bool, err error) {
		for _, id := range many {
			found = append(found, store.Trace{Where: "messages.body", ID: int64(id)})
		}
		return append(found, store.Trace{Where: "file everthread.db, 3 times"}, store.Trace{Where: "news.body"}), true, nil
	}
	look("many").Wants(t, 200, "It is still in 42 places.", "thing 30<", "and 10 more", "Database files",
		"news.body", "byte by byte")
	f.room.looks.take(0)
	look("busy").Wants(t, http.StatusTooManyRequests, "Another search is running")
}

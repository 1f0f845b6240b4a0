//go:build e2e

package web

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

// TestAdmin_manyPeople is small and fast with any number of users.
func TestAdmin_manyPeople(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	g := w.Start()
	_, err := w.Ledger().DB.Exec(`WITH RECURSIVE n(i) AS (SELECT 1001 UNION ALL SELECT i + 1 FROM n WHERE i < 21000)
		INSERT INTO users (id, name, role, settings, created_at) SELECT i, 'Person ' || i, 'member', '{}', 1 FROM n`)
	e2etest.Must(t, err)
	v := g.NewGuest(g.WebCode())
	page := func(path string, wants ...string) {
		t.Helper()
		v.Get(path)
		began := time.Now()
		r, body := v.Get(path)
		took := time.Since(began)
		t.Logf("%s: %d kB in %s", path, len(body)>>10, took.Round(time.Millisecond))
		if r.StatusCode != http.StatusOK || len(body) > 200<<10 || took > 3*time.Second { // 200 ms on an idle machine
			t.Errorf("%s: %s, %d kB, %s", path, r.Status, len(body)>>10, took)
		}
		for _, want := range wants {
			if !strings.Contains(body, want) {
				t.Errorf("%s does not show %q", path, want)
			}
		}
	}
	page("/admin/users", "1 to 50 of 20,00", `rel="next" href="/admin/users?page=1&amp;who="`, "Person 1049")
	page("/admin/users?page=400", "Person 21000", `rel="prev"`)
	page("/admin/users?page=99999&who=", "Person 21000")
	page("/admin/users?who=person+20999", "Person 20999")
	page("/admin/users?who=%2320998", "Person 20998")
	page("/admin/users?who=nobody+at+all", "Nobody has this name.")
}

//go:build e2e

package people

import (
	"net/http"
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// A key with only the scope read makes no model write anything.
func TestAttack_keyThatReadsSpendsNothing(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewClock(t, database(t))
		g := w.Start()
		w.Ask("the boiler is loud again")
		path := "/api/v1/days/" + w.Now().Format("2006-01-02") + "/summary"
		for scope, want := range map[string]int{"read": http.StatusForbidden, "talk": http.StatusAccepted} {
			key, _ := w.APIKey("Ada", scope)
			if status, body := g.Request(http.MethodPost, path, key, nil); status != want {
				t.Errorf("a key that may %s: got %d %s, want %d", scope, status, body, want)
			}
		}
	})
}

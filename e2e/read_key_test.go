//go:build e2e

package e2e

import (
	"net/http"
	"testing"
)

// A key that may only read has nothing written by a model.
func TestAttackAKeyThatReadsSpendsNothing(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := newClock(t, database(t))
		g := w.start()
		w.ask("the boiler is loud again")
		path := "/api/v1/days/" + w.now().Format("2006-01-02") + "/summary"
		for scope, want := range map[string]int{"read": http.StatusForbidden, "talk": http.StatusAccepted} {
			key, _ := w.apiKey("Ada", scope)
			if status, body := g.request(http.MethodPost, path, key, nil); status != want {
				t.Errorf("a key that may %s: got %d %s, want %d", scope, status, body, want)
			}
		}
	})
}

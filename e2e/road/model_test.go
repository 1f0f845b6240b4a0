//go:build e2e

package road

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

// TestModel_chosenByThePerson: another model answers from the next message on, in every app, and after a restart. A
// task keeps the model that was chosen when it was set. Where the chosen model is away, the default answers and says so.
func TestModel_chosenByThePerson(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		script := func(name string) []e2etest.MoodyAnswer {
			return []e2etest.MoodyAnswer{{To: "who are you?", Text: "I am the " + name + " one."}}
		}
		large, local := e2etest.NewMoody(t, script("large")...), e2etest.NewMoody(t, script("local")...)
		w := e2etest.NewClock(t, database(t))
		w.Env = append(w.Env, "EVERTHREAD_LLM_PROVIDER=openai", "EVERTHREAD_LLM_BASE_URL="+large.URL,
			"EVERTHREAD_LLM_MODEL=large", fmt.Sprintf("EVERTHREAD_LLM_CHOICES={local: {provider: openai, base_url: %q, "+
				"model: tiny, context_window: 16000}, private: {provider: demo, users: [99]}}", local.URL))
		g := w.Start()
		says := func(to, want string) {
			t.Helper()
			if got := w.Ask(to).Text; !strings.Contains(got, want) {
				t.Errorf("to %q it said %q, want %q", to, got, want)
			}
		}
		says("who are you?", "I am the large one.")
		says("/model", "/model local: tiny")
		says("/model private", "There is no model")
		says("/model local", "From now on I answer you with tiny")
		says("who are you?", "I am the local one.")
		says("/task in 10 minutes who are you?", "I'll do this")
		says("/model default", "From now on I answer you with large")
		g.Stop()
		g = w.Start()
		says("who are you?", "I am the large one.")
		w.Set(w.Now().Add(10*time.Minute + time.Second))
		if got := w.Receive().Text; !strings.Contains(got, "I am the local one.") {
			t.Errorf("the task said %q", got)
		}
		says("/model local", "tiny")
		local.Feel(e2etest.MoodAway, e2etest.MoodAway, 0)
		says("who are you?", "local could not be reached, so")
		local.Feel(e2etest.MoodGood, e2etest.MoodGood, 0)
		if got := w.Ask("who are you?").Text; strings.Contains(got, "reached") || !strings.Contains(got, "local") {
			t.Errorf("when it is back: %q", got)
		}
		g.Stop()
	})
}

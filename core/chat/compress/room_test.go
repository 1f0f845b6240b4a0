package compress

import (
	"strings"
	"testing"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm/tokens"
)

// TestAPageIsAskedAboutWithinTheWindow checks that messages that do not fit into one request are
// not sent to the model.
func TestAPageIsAskedAboutWithinTheWindow(t *testing.T) {
	t.Parallel()
	var ms []core.Message
	for i, words := range []int{100, 4000, 300, 100, 900, 200} {
		ms = append(ms, core.Message{ID: core.MessageID(i + 1), Role: core.RoleAssistant,
			Text: strings.Repeat("boat ", words), Tokens: words})
	}
	r := &round{Worker: &Worker{Tokens: tokens.New(), Settings: Settings{Window: 2000, MaxOutput: 500}}}
	size := 500
	for _, m := range Request(r.readable(ms)) {
		size += r.Tokens.Count(m.Content)
	}
	if got := len(r.readable(ms)); size > 2000 || size < 1500 || got != 4 {
		t.Errorf("%d messages in a request of %d tokens", got, size)
	}
	r.Settings.Window = 0
	if got := len(r.readable(ms)); got != len(ms) {
		t.Errorf("without a window: %d messages in a request", got)
	}
}

package engine

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/agent"
	"github.com/everthread/everthread/core/chat/agent/tooltest"
	"github.com/everthread/everthread/core/memory/items"
	"github.com/everthread/everthread/core/memory/recall"
	"github.com/everthread/everthread/core/memory/standing"
	"github.com/everthread/everthread/core/plan"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/web"
)

// TestTools_fitProviders checks that no provider would refuse a prompt because of our
// tools, and that the page has words for them.
func TestTools_fitProviders(t *testing.T) {
	t.Parallel()
	e := &Engine{Process: &Process{}, Search: &recall.Searcher{}, Memory: &items.Memory{}, Plans: &plan.Plans{},
		Standing: &standing.Standing{}, web: &web.Web{}}
	tools := append([]core.Tool{agent.TimeNow{}, &agent.Delegate{}}, e.ownTools()...)
	if len(tools) < 14 {
		t.Fatalf("%d tools", len(tools))
	}
	shown := i18n.In[map[string]string]("chat.tools")
	var optional []string
	for _, tool := range tools {
		spec := tool.Spec()
		tooltest.Check(t, spec)
		for _, language := range i18n.Languages() {
			if (*shown(language))[spec.Name] == "" {
				t.Errorf("%s has no name for people in %q", spec.Name, language)
			}
		}
		var schema struct {
			Properties map[string]any
			Required   []string
		}
		if err := json.Unmarshal(spec.Schema, &schema); err != nil {
			t.Fatal(err)
		}
		if len(schema.Required) < len(schema.Properties) {
			optional = append(optional, spec.Name)
		}
	}
	// These tools have optional properties, so that OpenAI's strict mode, which requires every
	// property, is not requested.
	want := []string{"conversation_get", "conversation_search", "delegate", "file_read", "memory_add", "memory_search",
		"reminder_set", "task_set", "web_read", "web_search"}
	slices.Sort(optional)
	if d := cmp.Diff(want, optional); d != "" {
		t.Error(d)
	}
}

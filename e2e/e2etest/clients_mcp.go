//go:build e2e

package e2etest

import (
	"encoding/json"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// McpSees is the output of peers/mcp.mjs.
type McpSees struct {
	Server                                                 string
	Tools, Days                                            []string
	Added, Remembered, Found, Got, Wrong, Nothing, Unknown mcpResult
	Day                                                    string
}

type mcpResult struct {
	Failed bool
	Text   string
}

// SharesRecall checks an MCP client's view of a library.
func (w *Town) SharesRecall(s McpSees, how string) {
	w.T.Helper()
	b, err := json.MarshalIndent(s, "", "  ")
	Must(w.T, err)
	w.Artefact("mcp-"+how+".json", b)
	if diff := cmp.Diff(SharedTools, s.Tools); diff != "" || s.Server != "everthread" || len(s.Days) != 1 {
		w.T.Errorf("%s: server %q, days %q, tools (-want +got):\n%s", how, s.Server, s.Days, diff)
	}
	for what, pair := range map[string][2]string{
		"added":      {s.Added.Text, `"status":"added","theme":"boat"`},
		"remembered": {s.Remembered.Text, "The boat is called Kestrel (" + how + ")."},
		"found":      {s.Found.Text, `"snippet":"We leave the harbour of Groix at six."`},
		"got":        {s.Got.Text, `"content":"We leave the harbour of Groix at six."`},
		"came from":  {s.Got.Text, `"channel":"telegram"`},
		"wrong":      {s.Wrong.Text, "there is no message #987654"},
		"day":        {s.Day, "We leave the harbour of Groix at six."},
		"nothing":    {s.Nothing.Text, "Resource not found"},
		"unknown":    {s.Unknown.Text, "unknown tool"},
	} {
		if !strings.Contains(pair[0], pair[1]) {
			w.T.Errorf("%s: %s is %s, want %s in it", how, what, pair[0], pair[1])
		}
	}
	if s.Added.Failed || s.Found.Failed || !s.Wrong.Failed {
		w.T.Errorf("%s: failed are %t %t %t", how, s.Added.Failed, s.Found.Failed, s.Wrong.Failed)
	}
}

var SharedTools = []string{"conversation_get", "conversation_search", "memory_add", "memory_archive", "memory_get",
	"memory_list_themes", "memory_search"}

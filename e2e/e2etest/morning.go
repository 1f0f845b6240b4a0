//go:build e2e

package e2etest

import (
	"encoding/json"
	"fmt"
)

// contextJSON is a turn's description of its prompt.
type contextJSON struct {
	Thread   int    `json:"messages_in_thread"`
	Loaded   int    `json:"messages_loaded"`
	Included int    `json:"messages_included"`
	LeftOut  int    `json:"messages_left_out_covered"`
	Dropped  int    `json:"messages_dropped_uncovered"`
	NewEpoch string `json:"new_epoch"`
	Total    int    `json:"total_tokens"`
	Cap      int    `json:"cap_tokens"`
}

// Context sends a message of Ada and returns the snapshot of the prompt.
func (w *Week) Context(text string) contextJSON {
	w.T.Helper()
	w.Ask(text)
	var turns []struct {
		ID int64 `json:"turn_id"`
	}
	Must(w.T, json.Unmarshal([]byte(w.MustRun("turns", "list", "--user", "Ada", "--json")), &turns))
	var shown struct {
		Context contextJSON `json:"context"`
	}
	Must(w.T, json.Unmarshal([]byte(w.MustRun("turns", "show", fmt.Sprint(turns[0].ID), "--user", "Ada", "--json")),
		&shown))
	return shown.Context
}

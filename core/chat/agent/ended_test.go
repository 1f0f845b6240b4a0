package agent

import (
	"testing"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
)

func TestAddResult_endsNothingTwice(t *testing.T) {
	t.Parallel()
	var out []core.Effect
	for _, e := range []core.Effect{effect.CancelPlan{Plan: 7}, effect.CloseLoop{Loop: 7}, effect.CancelPlan{Plan: 8},
		effect.CancelPlan{Plan: 7, Text: "tea"}, effect.CloseLoop{Loop: 7}, effect.MentionLoop{}, effect.MentionLoop{}} {
		if !endsAgain(out, e) {
			out = append(out, e)
		}
	}
	if len(out) != 5 {
		t.Errorf("got %v", out)
	}
}

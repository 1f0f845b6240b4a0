package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
)

func TestAdmit(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		r    core.Plan
		want string
	}{
		{core.Plan{Text: "tea", DueAt: now.Add(time.Hour)}, ""},
		{core.Plan{Text: "tea", DueAt: now.Add(-time.Hour), Cron: "*/15 * * * *", Zone: "Europe/Paris"}, ""},
		{core.Plan{Text: "tea", DueAt: now, Cron: "* * * * *", Zone: "Mars/Base"}, "more often"},
		{core.Plan{Text: "tea", DueAt: now, Cron: "0,10 9 * * *"}, "more often"},
		{core.Plan{Text: "tea", DueAt: now, Cron: "nonsense"}, "never"},
		{core.Plan{Text: "tea", DueAt: now, Cron: "0 0 30 2 *"}, "never"},
		{core.Plan{Text: "tea", DueAt: now.AddDate(11, 0, 0)}, "ten years"},
		{core.Plan{Text: strings.Repeat("x", 1001), DueAt: now}, "1000 characters"},
	} {
		err := times.Admit(c.r, now)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %q", c.r, err, c.want)
		}
	}
}

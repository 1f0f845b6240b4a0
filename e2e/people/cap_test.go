//go:build e2e

package people

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// However many programs call two processes concurrently, all users together use no more
// than the gateway's budget of the day.
func TestAttack_parallelCallsKeepToTheCap(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		const limit = 40_000
		w := e2etest.NewTown(t, database(t))
		w.Env = append(w.Env, "EVERTHREAD_LIMITS_ALL_TOKENS_PER_DAY=40000")
		gs := []*e2etest.Gateway{w.Start()}
		w.AddOwner(gs[0])
		key, _ := w.APIKey("", "chat")
		if w.Database != "" {
			gs = append(gs, w.Start())
		}
		var done, refused atomic.Int64
		var wg sync.WaitGroup
		call := func(n int) {
			status, body := gs[n%len(gs)].Request(http.MethodPost, "/v1/chat/completions", key,
				map[string]any{"model": "everthread-task", "messages": []any{map[string]any{"role": "user",
					"content": strings.Repeat("word ", 500)}}})
			switch status {
			case http.StatusOK:
				done.Add(1)
			case http.StatusTooManyRequests:
				refused.Add(1)
			default:
				t.Errorf("%d: %.300s", status, body)
			}
		}
		for n := range 200 {
			wg.Go(func() { call(n) })
		}
		wg.Wait()
		for before := refused.Load(); refused.Load() == before; { // what was reserved and not used is returned
			call(0)
		}
		l := w.Ledger()
		used := l.Count(`SELECT SUM(prompt + completion) FROM usage`)
		if used > limit || used < limit/4 || refused.Load() == 0 {
			t.Errorf("%d of %d tokens were used in %d calls, %d were refused", used, limit, done.Load(), refused.Load())
		}
		w.Telegram.Say(e2etest.Ada, "are you there?")
		if got := w.Sent(e2etest.Ada, 2)[1].Text; !strings.Contains(got, "budget is used up") {
			t.Errorf("got %q", got)
		}
		if _, got := gs[0].Get("/metrics"); !strings.Contains(got, `everthread_day_tokens{state="limit"} 40000`) {
			t.Error("the metrics do not tell of the day")
		}
		out, _ := w.Run("doctor")
		if !strings.Contains(out, "tokens of the day") {
			t.Errorf("doctor does not tell: %s", out)
		}
	})
}

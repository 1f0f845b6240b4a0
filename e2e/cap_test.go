//go:build e2e

package e2e

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// However many programs ask at once through two processes, all people together use
// no more than the gateway's day has.
func TestAttackParallelCallsDoNotPassTheCapOfAll(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		const limit = 40_000
		w := newTown(t, database(t))
		w.env = append(w.env, "EVERTHREAD_LIMITS_ALL_TOKENS_PER_DAY=40000")
		gs := []*gateway{w.start()}
		w.addOwner(gs[0])
		key, _ := w.apiKey("", "chat")
		if w.database != "" {
			gs = append(gs, w.start())
		}
		var done, refused atomic.Int64
		var wg sync.WaitGroup
		call := func(n int) {
			status, body := gs[n%len(gs)].request(http.MethodPost, "/v1/chat/completions", key,
				map[string]any{"model": "everthread-task", "messages": []any{map[string]any{"role": "user", "content": strings.Repeat("word ", 500)}}})
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
		for before := refused.Load(); refused.Load() == before; { // what was reserved and not used is there again
			call(0)
		}
		l := w.ledger()
		used := l.count(`SELECT SUM(prompt + completion) FROM usage`)
		if used > limit || used < limit/4 || refused.Load() == 0 {
			t.Errorf("%d of %d tokens were used in %d calls, %d were refused", used, limit, done.Load(), refused.Load())
		}
		w.telegram.Say(ada, "are you there?")
		if got := w.sent(ada, 2)[1].Text; !strings.Contains(got, "budget is used up") {
			t.Errorf("got %q", got)
		}
		if _, got := gs[0].get("/metrics"); !strings.Contains(got, `everthread_day_tokens{state="limit"} 40000`) {
			t.Error("the metrics do not tell of the day")
		}
		out, _ := w.run("doctor")
		if !strings.Contains(out, "tokens of the day") {
			t.Errorf("doctor does not tell: %s", out)
		}
	})
}

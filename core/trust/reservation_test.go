package trust_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/trust"
)

// day has n tokens left, and counts the requests for more.
type day struct{ left, asked int }

func (d *day) more(_ context.Context, n int) (bool, error) {
	d.asked++
	if d.left < n {
		return false, nil
	}
	d.left -= n
	return true, nil
}

func reservation(d *day, reserved int) *trust.Reservation {
	return &trust.Reservation{More: d.more, Until: noon(), Tokens: words{}, Output: 10, Results: 20, Reserved: reserved}
}

func ask(t *testing.T, m core.Model, words int) (err error) {
	t.Helper()
	for _, err = range m.Stream(t.Context(),
		core.ModelRequest{Messages: []core.ModelMessage{{Content: strings.Repeat("x ", words)}}}) {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestReservation_asksForNoMore(t *testing.T) {
	t.Parallel()
	d := &day{}
	r := reservation(d, 200)
	for range 3 {
		if err := ask(t, r.Model(&answers{n: 4}), 50); err != nil {
			t.Fatal(err)
		}
	}
	req := core.ModelRequest{Messages: []core.ModelMessage{{Content: strings.Repeat("x ", 50)}}} // 64 with the answer
	if ok, err := r.Affords(t.Context(), req); !ok || err != nil || d.asked != 0 || r.Taken != 30 {
		t.Errorf("affords %v, %v; asked %d times, %d taken", ok, err, d.asked, r.Taken)
	}
	r.Taken = 50
	if ok, _ := r.Affords(t.Context(), req); ok || d.asked != 1 { // 158 tokens are needed
		t.Errorf("affords %v, asked %d times", ok, d.asked)
	}
	d.left = 8
	if ok, _ := r.Affords(t.Context(), req); !ok || d.left != 0 || r.Reserved != 208 {
		t.Errorf("affords %v, %d left, %d reserved", ok, d.left, r.Reserved)
	}
}

func TestReservation_parallelHelpersLeaveAnAnswer(t *testing.T) {
	t.Parallel()
	const left = 1000
	d := &day{left: left}
	r := reservation(d, 200)
	if err := ask(t, r.Model(&answers{n: 4}), 50); err != nil { // the last call may take 50+4+10+20+10
		t.Fatal(err)
	}
	m := &answers{n: 24} // 30 tokens with the prompt
	helper := trust.Bounded(m, r.Take, words{}, 40)
	var refused atomic.Int64
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			err := ask(t, helper, 2)
			var busy *core.ModelError
			var over *trust.OverCap
			if err != nil && (!errors.As(err, &busy) || busy.Kind != core.ModelBusy || !errors.As(err, &over) || !over.One ||
				!strings.Contains(err.Error(), "limits.tokens_per_day")) {
				t.Errorf("got %v", err)
			}
			if err != nil {
				refused.Add(1)
			}
		})
	}
	wg.Wait()
	if m.asked.Load()+refused.Load() != 100 || refused.Load() == 0 || m.asked.Load() < 20 {
		t.Errorf("%d calls, %d refused", m.asked.Load(), refused.Load())
	}
	if took := int(m.asked.Load()) * 30; r.Taken != 10+took || r.Taken+94 > r.Reserved || r.Reserved > left+200 {
		t.Errorf("%d of %d tokens taken by %d calls", r.Taken, r.Reserved, m.asked.Load())
	}
}

// endless repeats itself until nobody listens, and says no usage.
type endless struct {
	pieces int // after which it ends; 0: never
	words  int // of a piece
	said   int
}

func (m *endless) Stream(context.Context, core.ModelRequest) iter.Seq2[core.Delta, error] {
	return func(yield func(core.Delta, error) bool) {
		for ; m.pieces == 0 || m.said < m.pieces; m.said++ {
			if !yield(core.Delta{Text: strings.Repeat("x ", m.words)}, nil) {
				return
			}
		}
		yield(core.Delta{Finish: core.FinishStop}, nil)
	}
}

// TestReservation_answerTakesWhatThereIs checks that a long answer reserves more while the day has it, and that an endless
// one is cut there, keeps what was said, and is charged no more than was reserved.
func TestReservation_answerTakesWhatThereIs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		model      endless
		left       int // of the day, beyond the reservation
		said, took int
		finish     core.Finish
	}{
		{"short", endless{pieces: 4, words: 1}, 0, 4, 10, core.FinishStop},
		{"just the reservation", endless{pieces: 10, words: 1}, 0, 10, 16, core.FinishStop},
		{"longer than the reservation", endless{pieces: 35, words: 1}, 1000, 35, 41, core.FinishStop},
		{"endless, with nothing left", endless{words: 1}, 0, 10, 16, core.FinishLength},
		{"endless, word by word", endless{words: 1}, 25, 30, 36, core.FinishLength},
		{"endless, in large pieces", endless{words: 7}, 25, 30, 36, core.FinishLength},
		{"endless, in one piece", endless{words: 100_000}, 25, 30, 36, core.FinishLength},
	} {
		for _, turns := range []bool{true, false} {
			d := &day{left: c.left}
			r := reservation(d, 16)
			var model core.Model
			m := c.model
			if turns {
				model = r.Model(&m)
			} else {
				d.left += 16
				model = trust.Bounded(&m, func(ctx context.Context, n int) (func(int), error) {
					if ok, _ := d.more(ctx, n); !ok {
						return nil, &trust.OverCap{Until: noon()}
					}
					return func(n int) { r.Taken += n }, nil
				}, words{}, 10)
			}
			said, last := "", core.Delta{}
			req := core.ModelRequest{Messages: []core.ModelMessage{{Content: "x x"}}}
			for delta, err := range model.Stream(t.Context(), req) {
				if err != nil {
					t.Fatal(err)
				}
				said, last = said+delta.Text, delta
			}
			if got := len(strings.Fields(said)); got != c.said || last.Finish != c.finish || r.Taken != c.took {
				t.Errorf("%s, of a turn %v: %d words, finish %q, %d tokens", c.name, turns, got, last.Finish, r.Taken)
			}
		}
	}
}

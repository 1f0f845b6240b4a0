//go:build e2e && bench

package bench

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

var (
	killsFor   = flag.Duration("kills.for", 5*time.Minute, "how long processes are killed")
	killsEach  = flag.Duration("kills.each", 3*time.Second, "how often one is killed")
	killsGraph = flag.String("kills.graph", "", "file for a picture of the times of answers, SVG")
	failover   = flag.Bool("kills.failover", false, "processes come through PgBouncer, and the primary dies half-way")
)

const (
	killed  = 4 // processes
	writing = 8 // people
	burst   = 3 // messages that a person writes at once
)

// answered is a burst: when it was written, and how long its answer took.
type answered struct {
	at, took time.Duration
	chat     int64
}

// Four processes, one of which is killed every few seconds, while people write in bursts.
func TestSoakKills(t *testing.T) {
	w, fail := attended(t)
	w.UseModel(e2etest.StartModel(t, 3*time.Millisecond))
	running := make([]*e2etest.AtomicGateway, killed)
	for i := range running {
		running[i] = &e2etest.AtomicGateway{}
		running[i].Store(w.Start())
	}
	begin := time.Now()
	said := make([][]string, writing)
	took := make([][]answered, writing)
	var people sync.WaitGroup
	for c := range said {
		people.Go(func() { said[c], took[c] = writeInBursts(w, int64(1000+c), begin) })
	}
	kills := 0
	died := time.Duration(0)
	for ; time.Since(begin) < *killsFor; kills++ {
		if fail != nil && died == 0 && time.Since(begin) > *killsFor/2 {
			died = time.Since(begin)
			fail()
		}
		time.Sleep(*killsEach) // the interval of deaths
		victim := running[kills%killed]
		victim.Load().Kill()
		victim.Store(w.Launch())
	}
	people.Wait()
	running[0].Load().Ready()
	l := w.Ledger()
	w.Settle(l, running[0].Load())
	var all e2etest.Repeats
	for c := range said {
		r := w.Check(l, int64(1000+c), said[c])
		all = e2etest.Repeats{Marked: all.Marked + r.Marked, Doubled: all.Doubled + r.Doubled,
			Missing: all.Missing + r.Missing}
	}
	report(t, slices.Concat(took...), kills, died)
	t.Logf("%d messages, marked %d (of them arrived before: %d), missing %d", burst*len(slices.Concat(took...)), all.Marked,
		all.Doubled, all.Missing)
}

// attended returns a gateway on PostgreSQL. On request it is behind PgBouncer with a standby, to
// which fail redirects everything.
func attended(t *testing.T) (w *e2etest.Town, fail func()) {
	if !*failover {
		return e2etest.NewTown(t, e2etest.NewStore(t)), nil
	}
	s := e2etest.NewServers(t)
	w = e2etest.NewTown(t, s.PrimaryURL)
	p := e2etest.StartPooler(t, s.PrimaryURL)
	w.Env = append(w.Env, "EVERTHREAD_DATABASE_URL="+p.URL, "EVERTHREAD_DATABASE_LISTEN_URL="+s.URL)
	return w, func() {
		s.KillPrimary()
		time.Sleep(*killsEach) // the interval of deaths
		s.Promote()
		p.Lead(s.StandbyURL)
		w.Database = s.StandbyURL
	}
}

// writeInBursts writes until the soak ends, each burst after the answer to the previous one.
func writeInBursts(w *e2etest.Town, chat int64, begin time.Time) (said []string, took []answered) {
	for n := 0; time.Since(begin) < *killsFor; n++ {
		var last string
		at := time.Now()
		for k := range burst {
			last = fmt.Sprintf("message %d of burst %d of chat %d", k, n, chat)
			said = append(said, last)
			w.Telegram.Say(chat, last)
		}
		err := w.Telegram.Wait(w.T.Context(), func() bool {
			sent := e2etest.Texts(w.Telegram.Sent(chat))
			return slices.ContainsFunc(sent[max(0, len(sent)-2*burst):],
				func(text string) bool { return strings.Contains(text, last) })
		})
		if err != nil {
			w.T.Errorf("chat %d: %v", chat, err)
			return said, took
		}
		took = append(took, answered{at.Sub(begin), time.Since(at), chat})
		time.Sleep(time.Duration(rand.IntN(2000)) * time.Millisecond) // as people write
	}
	return said, took
}

// report reports the times of answers, with a graph.
func report(t *testing.T, all []answered, kills int, died time.Duration) {
	took := make([]time.Duration, len(all))
	for i, a := range all {
		took[i] = a.took
	}
	slices.Sort(took)
	at := func(percent int) time.Duration {
		return took[min(len(took)*percent/100, len(took)-1)].Round(time.Millisecond)
	}
	t.Logf("%s, %d kills, primary killed at %s, %d bursts: answered after p50 %s, p95 %s, p99 %s, worst %s",
		*killsFor, kills, died.Round(time.Second), len(took), at(50), at(95), at(99), at(100))
	if *killsGraph != "" {
		e2etest.Must(t, os.WriteFile(*killsGraph, graph(all, died), 0o644))
	}
}

// graph draws each burst as a point: time to the right, duration upwards, logarithmic.
func graph(all []answered, died time.Duration) []byte {
	const width, height, left, bottom = 720, 240, 50, 30
	x := func(at time.Duration) float64 { return left + float64(at)/float64(*killsFor)*(width-left-10) }
	y := func(took time.Duration) float64 { // from 10 ms to 100 s
		return height - bottom - math.Log10(float64(took)/float64(10*time.Millisecond))/4*(height-bottom-10)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11">`+"\n", width, height)
	fmt.Fprintf(&b, `<title>How long answers took while processes were killed</title><rect width="%d" height="%d" fill="#fff"/>`+"\n", width, height)
	for took := 10 * time.Millisecond; took <= 100*time.Second; took *= 10 {
		fmt.Fprintf(&b, `<path d="M%d %.1fH%d" stroke="#ccc"/><text x="4" y="%.1f">%s</text>`+"\n", left, y(took), width-10, y(took)+4, took)
	}
	for n := range 6 {
		at := *killsFor * time.Duration(n) / 5
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", min(x(at), width-24), height-10, at.Round(time.Second))
	}
	if died > 0 {
		fmt.Fprintf(&b, `<path d="M%.1f 10V%d" stroke="#c00"/><text x="%.1f" y="20" fill="#c00">primary killed</text>`+"\n", x(died),
			height-bottom, x(died)+4)
	}
	b.WriteString(`<path stroke="#246" stroke-width="3" stroke-linecap="round" d="`)
	there := map[[2]int]bool{}
	for _, a := range all {
		at := [2]int{int(x(a.at)), int(y(a.took))}
		if !there[at] {
			fmt.Fprintf(&b, "M%d %dh0", at[0], at[1])
		}
		there[at] = true
	}
	b.WriteString(`"/></svg>` + "\n")
	return b.Bytes()
}

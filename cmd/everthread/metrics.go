package main

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
)

// meter counts for Prometheus; see docs/operations.md for what each metric says.
type meter struct {
	registry   *prometheus.Registry
	counters   map[string]*prometheus.CounterVec
	histograms map[string]*prometheus.HistogramVec
	gauges     map[string]*prometheus.GaugeVec
	scraping   sync.Mutex
	spent      spent
}

// labels of a metric: names, each with the values that are known before anything
// happens. Their series are there from the start, at 0: what first appears with 1
// has not risen for Prometheus.
type metric struct{ name, help, labels string }

var counters = []metric{
	{"everthread_messages_total", "Messages by direction (in, out) and channel.", "direction=in|out channel=CHANNELS"},
	{"everthread_tokens_total", "Tokens as providers report them, by kind (prompt, cached, completion).", "kind=prompt|cached|completion"},
	{"everthread_deliveries_total", "Attempts to send a part, by what became of it.", "state=sent|failed|unknown|parked|pending"},
	{"everthread_delivery_unknown_total", "Parts that may or may not have arrived.", ""},
	{"everthread_summaries_total", "Day summaries by result (stored, failed).", "result=stored|failed"},
	{"everthread_reminders_total", "Reminders that were told.", ""},
	{"everthread_windows_total", "Runs of messages that were cut for embedding.", ""},
	{"everthread_pages_total", "Pages of old messages compressed for the strategy long.", ""},
	{"everthread_embeddings_total", "Texts that were embedded, by what became of it (ready, error).", "state=ready|error"},
	{"everthread_embedding_failures_total", "Attempts to embed that failed as a whole.", ""},
	{"everthread_backups_total", "Backups by the clock, by result (made, failed).", "result=made|failed"},
	{"everthread_llm_errors_total", "Failed model calls by kind.", "kind=down|busy|auth|config|too_long|rejected"},
	{"everthread_context_dropped_uncovered_total", "Messages that a prompt had to leave out before a summary covered them.", ""},
}

var histograms = []metric{
	{"everthread_turn_seconds", "Time of a turn by stage (context, model, send, total).", "stage=context|model|send|total"},
	{"everthread_rate_limit_wait_seconds", "Waits for a channel's rate limit.", ""},
}

// gauges are read at each scrape.
var gauges = []metric{
	{"everthread_info", "1, with the version and the database of the process.", "version database"},
	{"everthread_ready", "1 if messages can be taken: the database answers and has the right schema.", ""},
	{"everthread_channel_up", "1 if nothing is wrong with a channel.", "channel"},
	{"everthread_queue_depth", "Jobs by queue and state.", "queue state"},
	{"everthread_queue_age_seconds", "Age of the oldest job by queue and state.", "queue state"},
	{"everthread_day_tokens", "Tokens of all users of the day (UTC) by state (used, granted to processes, limit); nothing without limits.all_tokens_per_day.", "state"},
	{"everthread_backup_overdue_seconds", "For how long a backup by the clock has been due; 0: none is.", ""},
	{"everthread_backup_last_timestamp_seconds", "When the last backup by the clock was made; 0: never.", ""},
}

// names are the labels' names.
func (m metric) names() []string {
	var out []string
	for label := range strings.FieldsSeq(m.labels) {
		name, _, _ := strings.Cut(label, "=")
		out = append(out, name)
	}
	return out
}

// known are the combinations of values that are known beforehand.
func (m metric) known(channels []string) [][]string {
	out := [][]string{nil}
	for label := range strings.FieldsSeq(m.labels) {
		_, values, _ := strings.Cut(label, "=")
		all := strings.Split(values, "|")
		if values == "CHANNELS" {
			all = channels
		}
		var next [][]string
		for _, before := range out {
			for _, v := range all {
				next = append(next, append(slices.Clone(before), v))
			}
		}
		out = next
	}
	return out
}

func newMeter(c configs.LLM, channels []string) *meter {
	m := &meter{registry: prometheus.NewRegistry(), counters: map[string]*prometheus.CounterVec{}, histograms: map[string]*prometheus.HistogramVec{},
		gauges: map[string]*prometheus.GaugeVec{}, spent: spent{prices: c.Prices}}
	for _, c := range counters {
		m.counters[c.name] = prometheus.NewCounterVec(prometheus.CounterOpts{Name: c.name, Help: c.help}, c.names())
		m.registry.MustRegister(m.counters[c.name])
		for _, values := range c.known(channels) {
			m.counters[c.name].WithLabelValues(values...)
		}
	}
	for _, h := range histograms {
		m.histograms[h.name] = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: h.name, Help: h.help,
			Buckets: prometheus.ExponentialBuckets(0.0005, 2.5, 14)}, h.names())
		m.registry.MustRegister(m.histograms[h.name])
		for _, values := range h.known(channels) {
			m.histograms[h.name].WithLabelValues(values...)
		}
	}
	for _, g := range gauges {
		m.gauges[g.name] = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: g.name, Help: g.help}, g.names())
		m.registry.MustRegister(m.gauges[g.name])
	}
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "everthread_cost_total",
		Help: "What tokens cost at llm.prices.", ConstLabels: prometheus.Labels{"currency": c.Currency}}, m.spent.total))
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Count adds n to a counter.
func (m *meter) Count(name string, n float64, labels ...string) {
	m.counters[name].WithLabelValues(labels...).Add(n)
	if name == "everthread_tokens_total" {
		m.spent.add(labels[0], n)
	}
}

// Observe adds a value to a histogram.
func (m *meter) Observe(name string, v float64, labels ...string) {
	m.histograms[name].WithLabelValues(labels...).Observe(v)
}

// set gives a gauge its value.
func (m *meter) set(name string, v float64, labels ...string) {
	m.gauges[name].WithLabelValues(labels...).Set(v)
}

// spent sums up what tokens cost.
type spent struct {
	mu     sync.Mutex
	prices configs.Prices
	tokens map[string]float64 // by kind
	most   float64            // what was told last: a counter never falls
}

func (s *spent) add(kind string, n float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tokens == nil {
		s.tokens = map[string]float64{}
	}
	s.tokens[kind] += n
}

// total is what was spent. The cached tokens are among those of the prompt.
func (s *spent) total() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, p := s.tokens, s.prices
	s.most = max(s.most, ((t["prompt"]-t["cached"])*p.Prompt+t["cached"]*p.Cached+t["completion"]*p.Completion)/1e6)
	return s.most
}

// metrics serves the metrics. What stands in the store is read at each scrape.
func (a *app) metrics() http.Handler {
	h := promhttp.HandlerFor(a.meter.registry, promhttp.HandlerOpts{})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.meter.scraping.Lock()
		defer a.meter.scraping.Unlock()
		ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
		defer cancel()
		a.measure(ctx)
		h.ServeHTTP(w, r)
	})
}

// measure reads the gauges. What cannot be read is left out.
func (a *app) measure(ctx context.Context) {
	m, truth := a.meter, map[bool]float64{true: 1}
	for _, g := range m.gauges {
		g.Reset()
	}
	m.set("everthread_info", 1, version, strings.Fields(databaseName(a.cfg))[0])
	state := a.readiness(ctx)
	m.set("everthread_ready", truth[state.Ready])
	for name, said := range state.Channels {
		m.set("everthread_channel_up", truth[said == "ok"], name)
	}
	a.measureQueues(ctx)
	a.measureDay(ctx)
	if a.cfg.Backup.Cron == "" {
		return
	}
	last, due, err := backupTimes(ctx, a.cfg, a.store)
	if err != nil {
		return
	}
	if last.IsZero() { // the first one is due from the start
		due = a.began
	}
	m.set("everthread_backup_overdue_seconds", max(0, a.now().Sub(due).Seconds()))
	m.set("everthread_backup_last_timestamp_seconds", max(0, float64(last.Unix())))
}

// measureDay tells how much of the day's tokens is used.
func (a *app) measureDay(ctx context.Context) {
	used, granted, err := a.store.SpentAll(ctx, a.now().UTC().Format(time.DateOnly), a.now())
	if a.ledger.PerDay <= 0 || err != nil {
		return
	}
	for state, n := range map[string]int{"used": used, "granted": granted, "limit": a.ledger.PerDay} {
		a.meter.set("everthread_day_tokens", float64(n), state)
	}
}

func (a *app) measureQueues(ctx context.Context) {
	stats, err := a.store.QueueStats(ctx)
	if err != nil {
		return
	}
	for _, queue := range []string{core.QueueTurn, core.QueueSummarize, core.QueueEmbed, core.QueueCompress} {
		for _, state := range []core.JobState{core.JobWaiting, core.JobReady, core.JobRunning, core.JobDead} {
			a.meter.set("everthread_queue_depth", 0, queue, string(state))
			a.meter.set("everthread_queue_age_seconds", 0, queue, string(state))
		}
	}
	for _, q := range stats {
		a.meter.set("everthread_queue_depth", float64(q.Depth), q.Queue, string(q.State))
		a.meter.set("everthread_queue_age_seconds", max(0, a.now().Sub(q.Oldest).Seconds()), q.Queue, string(q.State))
	}
}

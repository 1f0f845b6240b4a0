// Package metrics provides the metrics for Prometheus; docs/operations.md explains them.
package metrics

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Prices are the prices of a million tokens.
type Prices struct {
	Prompt, Cached, Completion float64
	Currency                   string
}

// Meter holds the metrics. It is safe for concurrent use.
type Meter struct {
	registry   *prometheus.Registry
	counters   map[string]*prometheus.CounterVec
	histograms map[string]*prometheus.HistogramVec
	gauges     map[string]*prometheus.GaugeVec
	scraping   sync.Mutex
	spent      spent
}

// metric is a metric with its labels: names, each with its known values. Their series exist from the start, at 0: for
// Prometheus, a series that first appears with 1 has not increased.
type metric struct{ name, help, labels string }

var counters = []metric{
	{"everthread_messages_total", "Messages by direction (in, out) and channel.", "direction=in|out channel=CHANNELS"},
	{"everthread_tokens_total", "Tokens as providers report them, by kind (prompt, cached, completion).",
		"kind=prompt|cached|completion"},
	{"everthread_deliveries_total", "Attempts to send a part, by result.",
		"state=sent|failed|unknown|parked|pending"},
	{"everthread_delivery_unknown_total", "Parts that may or may not have arrived.", ""},
	{"everthread_summaries_total", "Day summaries by result (stored, failed).", "result=stored|failed"},
	{"everthread_reminders_total", "Reminders that fired.", ""},
	{"everthread_tasks_total", "Runs of tasks by result: begun, or why not.",
		"result=begun|late|paused|blocked|nowhere|tokens|all|model|setup|refused"},
	{"everthread_documents_total", "Documents by result: read, or why not, or not completely.",
		"result=read|encrypted|scanned|empty|damaged|long|slow|large|bomb|kind|unread"},
	{"everthread_speech_total", "Replies to speak, by result (spoken, failed).",
		"result=spoken|failed"},
	{"everthread_push_total", "Notifications of browsers, by result; gone: the browser takes none any more.",
		"result=sent|failed|gone"},
	{"everthread_windows_total", "Windows cut for embedding.", ""},
	{"everthread_pages_total", "Pages of old messages compressed for the strategy long.", ""},
	{"everthread_embeddings_total", "Texts to embed, by result (ready, error).", "state=ready|error"},
	{"everthread_embedding_failures_total", "Embedding jobs that failed as a whole.", ""},
	{"everthread_backups_total", "Backups by result: scheduled ones (made, failed), and putting them elsewhere (sent, unsent).",
		"result=made|failed|sent|unsent"},
	{"everthread_llm_errors_total", "Failed model calls by kind.", "kind=down|busy|auth|config|too_long|rejected"},
	{"everthread_context_dropped_uncovered_total",
		"Messages that a prompt had to leave out before a summary covered them.", ""},
}

var histograms = []metric{
	{"everthread_turn_seconds", "Time of a turn by stage (context, model, send, total).",
		"stage=context|model|send|total"},
	{"everthread_rate_limit_wait_seconds", "Waits for a channel's rate limit.", ""},
}

// gauges are read at each scrape.
var gauges = []metric{
	{"everthread_info", "1, with the version and the database of the process.", "version database"},
	{"everthread_ready", "1 if messages can be accepted: the database answers and has the right schema.", ""},
	{"everthread_channel_up", "1 if nothing is wrong with a channel.", "channel"},
	{"everthread_queue_depth", "Jobs by queue and state.", "queue state"},
	{"everthread_queue_age_seconds", "Age of the oldest job by queue and state.", "queue state"},
	{"everthread_day_tokens",
		"Tokens of all users of the day (UTC) by state (used, granted to processes, limit); absent without limits.all_tokens_per_day.", "state"},
	{"everthread_backup_overdue_seconds", "Time since a scheduled backup became due; 0: none is due.", ""},
	{"everthread_backup_unsent_seconds", "Time since which backups cannot be put elsewhere; 0: they can.", ""},
	{"everthread_backup_last_timestamp_seconds", "Time of the last scheduled backup; 0: never.", ""},
}

// names returns the names of the labels.
func (m metric) names() []string {
	var out []string
	for label := range strings.FieldsSeq(m.labels) {
		name, _, _ := strings.Cut(label, "=")
		out = append(out, name)
	}
	return out
}

// known returns the combinations of known values.
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

// New returns a meter for channels, with costs at these prices.
func New(p Prices, channels []string) *Meter {
	m := &Meter{registry: prometheus.NewRegistry(), counters: map[string]*prometheus.CounterVec{},
		histograms: map[string]*prometheus.HistogramVec{}, gauges: map[string]*prometheus.GaugeVec{},
		spent: spent{prices: p, tokens: map[string]float64{}}}
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
		Help: "Cost of tokens at llm.prices.", ConstLabels: prometheus.Labels{"currency": p.Currency}}, m.spent.total))
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Count adds n to a counter.
func (m *Meter) Count(name string, n float64, labels ...string) {
	m.counters[name].WithLabelValues(labels...).Add(n)
	if name == "everthread_tokens_total" {
		m.spent.add(labels[0], n)
	}
}

// Observe adds a value to a histogram.
func (m *Meter) Observe(name string, v float64, labels ...string) {
	m.histograms[name].WithLabelValues(labels...).Observe(v)
}

// Set sets a gauge.
func (m *Meter) Set(name string, v float64, labels ...string) {
	m.gauges[name].WithLabelValues(labels...).Set(v)
}

// spent sums up the cost of tokens.
type spent struct {
	mu     sync.Mutex
	prices Prices
	tokens map[string]float64 // by kind
	most   float64            // the last total: a counter never decreases
}

func (s *spent) add(kind string, n float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens[kind] += n
}

// total returns the cost so far. The tokens of prompts include cached ones.
func (s *spent) total() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, p := s.tokens, s.prices
	s.most = max(s.most, ((t["prompt"]-t["cached"])*p.Prompt+t["cached"]*cmp.Or(p.Cached, p.Prompt)+t["completion"]*p.Completion)/1e6)
	return s.most
}

// Handler serves the metrics. measure sets the gauges at each scrape: those that it leaves out are not reported.
func (m *Meter) Handler(measure func(ctx context.Context)) http.Handler {
	h := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.scraping.Lock()
		defer m.scraping.Unlock()
		ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
		defer cancel()
		for _, g := range m.gauges {
			g.Reset()
		}
		measure(ctx)
		h.ServeHTTP(w, r)
	})
}

package main

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/everthread/everthread/core"
)

// meter counts for Prometheus; see docs/operations.md for what each metric says.
type meter struct {
	registry   *prometheus.Registry
	counters   map[string]*prometheus.CounterVec
	histograms map[string]*prometheus.HistogramVec
	depth, age *prometheus.GaugeVec
	mu         sync.Mutex
}

var counters = []struct{ name, help, labels string }{
	{"everthread_messages_total", "Messages by direction (in, out) and channel.", "direction,channel"},
	{"everthread_tokens_total", "Tokens as providers report them, by kind (prompt, cached, completion).", "kind"},
	{"everthread_deliveries_total", "Attempts to send a part, by what became of it.", "state"},
	{"everthread_delivery_unknown_total", "Parts that may or may not have arrived.", ""},
	{"everthread_summaries_total", "Day summaries by result (stored, failed).", "result"},
	{"everthread_reminders_total", "Reminders that were told.", ""},
	{"everthread_windows_total", "Runs of messages that were cut for embedding.", ""},
	{"everthread_pages_total", "Pages of old messages compressed for the strategy long.", ""},
	{"everthread_embeddings_total", "Texts that were embedded, by what became of it (ready, error).", "state"},
	{"everthread_embedding_failures_total", "Attempts to embed that failed as a whole.", ""},
	{"everthread_backups_total", "Backups by the clock, by result (made, failed).", "result"},
	{"everthread_llm_errors_total", "Failed model calls by kind.", "kind"},
	{"everthread_context_dropped_uncovered_total", "Messages that a prompt had to leave out before a summary covered them.", ""},
}

var histograms = []struct{ name, help, labels string }{
	{"everthread_turn_seconds", "Time of a turn by stage (context, model, send, total).", "stage"},
	{"everthread_rate_limit_wait_seconds", "Waits for a channel's rate limit.", ""},
}

func newMeter() *meter {
	m := &meter{registry: prometheus.NewRegistry(), counters: map[string]*prometheus.CounterVec{}, histograms: map[string]*prometheus.HistogramVec{}}
	for _, c := range counters {
		m.counters[c.name] = prometheus.NewCounterVec(prometheus.CounterOpts{Name: c.name, Help: c.help}, labels(c.labels))
		m.registry.MustRegister(m.counters[c.name])
	}
	for _, h := range histograms {
		m.histograms[h.name] = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: h.name, Help: h.help,
			Buckets: prometheus.ExponentialBuckets(0.0005, 2.5, 14)}, labels(h.labels))
		m.registry.MustRegister(m.histograms[h.name])
	}
	m.depth = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "everthread_queue_depth", Help: "Jobs by queue and state."}, []string{"queue", "state"})
	m.age = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "everthread_queue_age_seconds", Help: "Age of the oldest job by queue and state."}, []string{"queue", "state"})
	m.registry.MustRegister(m.depth, m.age, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func labels(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// Count adds n to a counter.
func (m *meter) Count(name string, n float64, labels ...string) {
	m.counters[name].WithLabelValues(labels...).Add(n)
}

// Observe adds a value to a histogram.
func (m *meter) Observe(name string, v float64, labels ...string) {
	m.histograms[name].WithLabelValues(labels...).Observe(v)
}

// handler serves the metrics; the queues are read at each scrape.
func (m *meter) handler(jobs core.JobAdmin, now func() time.Time) http.Handler {
	h := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.queues(r.Context(), jobs, now())
		h.ServeHTTP(w, r)
	})
}

func (m *meter) queues(ctx context.Context, jobs core.JobAdmin, now time.Time) {
	stats, err := jobs.QueueStats(ctx)
	if err != nil {
		return // the scrape shows that the store is away by other means: readyz and errors
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.depth.Reset()
	m.age.Reset()
	for _, q := range stats {
		m.depth.WithLabelValues(q.Queue, string(q.State)).Set(float64(q.Depth))
		m.age.WithLabelValues(q.Queue, string(q.State)).Set(max(0, now.Sub(q.Oldest).Seconds()))
	}
}

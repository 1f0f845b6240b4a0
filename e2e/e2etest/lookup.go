//go:build e2e

package e2etest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Lookup is a web with a search engine and a site, and a model that looks things up in it: it searches for what it is
// asked, reads the first result, and names the page. Each answer of the web takes Delay.
type Lookup struct {
	Model, Engine, Site string
	Delay               time.Duration

	mu      sync.Mutex
	queries []string
	read    []string // paths of the site
}

// NewLookup starts them.
func NewLookup(t *testing.T, delay time.Duration) *Lookup {
	l := &Lookup{Delay: delay}
	start := func(h http.HandlerFunc) string {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return s.URL
	}
	l.Site = start(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(l.Delay)
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		l.mu.Lock()
		l.read = append(l.read, r.URL.Path)
		l.mu.Unlock()
		if strings.HasSuffix(r.URL.Path, ".pdf") {
			http.ServeFile(w, r, "../../core/files/document/testdata/lease-chromium.pdf")
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<html><head><title>Weather in Lyon</title></head><body><nav><a href=/>Home</a></nav><main><h1>Weather in Lyon</h1><p>"+
			strings.Repeat("Tomorrow it rains in the morning, with 12 degrees and wind from the west. ", 40)+"</p></main></body></html>")
	})
	l.Engine = start(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(l.Delay)
		l.mu.Lock()
		l.queries = append(l.queries, r.URL.Query().Get("q"))
		l.mu.Unlock()
		_ = json.NewEncoder(w).Encode(map[string]any{"results": []map[string]string{
			{"url": l.Site + "/lyon", "title": "Weather in Lyon", "content": "Rain tomorrow."}}})
	})
	l.Model = start(l.answer)
	return l
}

// Searched returns the queries so far, and the paths that were read.
func (l *Lookup) Searched() (queries, read []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string{}, l.queries...), append([]string{}, l.read...)
}

// answer is the model.
func (l *Lookup) answer(w http.ResponseWriter, r *http.Request) {
	var req smallRequest
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	last := req.Messages[len(req.Messages)-1]
	text := last.text()
	switch at, wanted := strings.Index(text, l.Site), strings.Contains(text, "read "); {
	case last.Role == "tool" && strings.Contains(text, `"provider"`):
		callTool(w, "web_read", map[string]string{"url": l.Site + "/lyon"})
	case last.Role == "tool" && strings.Contains(text, "it rains"):
		writeStream(w, map[string]any{"content": "It rains tomorrow, says " + l.Site + "/lyon"}, "stop", 100)
	case last.Role == "tool":
		writeStream(w, map[string]any{"content": "I could not look it up: " + text}, "stop", 100)
	case wanted && at >= 0:
		address, _, _ := strings.Cut(text[at:], " ")
		callTool(w, "web_read", map[string]string{"url": strings.TrimRight(address, "\n")})
	case strings.Contains(text, "weather"):
		callTool(w, "web_search", map[string]string{"query": "weather lyon"})
	default:
		writeStream(w, map[string]any{"content": "Hello."}, "stop", 100)
	}
}

// callTool answers with one call of a tool.
func callTool(w http.ResponseWriter, name string, arguments map[string]string) {
	b, err := json.Marshal(arguments)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	call := map[string]any{"index": 0, "id": "call_" + name, "type": "function",
		"function": map[string]string{"name": name, "arguments": string(b)}}
	writeStream(w, map[string]any{"tool_calls": []any{call}}, "tool_calls", 100)
}

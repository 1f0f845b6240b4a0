package client

import (
	"net/http"
	"strings"

	"github.com/everthread/everthread/core/text"
)

var traceparent = text.Pattern(`^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}`)

// TraceOf returns the trace id in the traceparent header of a request (W3C Trace Context); empty: it has none.
func TraceOf(r *http.Request) string {
	m := traceparent().FindStringSubmatch(r.Header.Get("traceparent"))
	if m == nil || strings.Trim(m[1], "0") == "" {
		return ""
	}
	return m[1]
}

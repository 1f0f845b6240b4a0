package chat

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/web/webtest"
)

// BenchmarkToday renders the page of a day with many messages.
func BenchmarkToday(b *testing.B) {
	for _, said := range []int{30, 1000} {
		b.Run(fmt.Sprint(2*said), func(b *testing.B) {
			w := newWorld(b)
			w.Clock.Set(time.Date(2026, 1, 31, 0, 10, 0, 0, webtest.Paris()))
			for n := range said {
				w.Clock.Pass(20 * time.Second)
				w.Ana.Talks(fmt.Sprintf("say %d words", n%60+10), strings.Repeat("some **words** of an answer, ", n%60/3+3))
			}
			w.Ana.SignedIn()
			r := w.Ana.Request(http.MethodGet, "/", nil)
			for _, c := range w.Ana.Client.Jar.Cookies(r.URL) {
				r.AddCookie(c)
			}
			for b.Loop() {
				out := httptest.NewRecorder()
				w.Mux.ServeHTTP(out, r)
				if out.Code != http.StatusOK {
					b.Fatal(out.Code, out.Body)
				}
				b.ReportMetric(float64(out.Body.Len()), "page-bytes")
			}
		})
	}
}

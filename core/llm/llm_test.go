package llm

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// roundTrip is a function as a RoundTripper.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// dripping yields a byte after each pause, count times, and then blocks.
type dripping struct {
	ctx   context.Context
	pause time.Duration
	count int
}

func (d *dripping) Read(p []byte) (int, error) {
	if d.count == 0 {
		<-d.ctx.Done()
		return 0, d.ctx.Err()
	}
	select {
	case <-d.ctx.Done():
		return 0, d.ctx.Err()
	case <-time.After(d.pause):
		d.count--
		return copy(p, "x"), nil
	}
}

func TestClient_stallCountsFromTheLastByte(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := NewClient(&http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			body := &dripping{ctx: r.Context(), pause: 9 * time.Second, count: 5}
			return &http.Response{StatusCode: 200, Body: io.NopCloser(body)}, nil
		})}, 10*time.Second)
		start := time.Now()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://model", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if string(body) != "xxxxx" || !errors.Is(err, ErrStalled) || time.Since(start) != 55*time.Second {
			t.Errorf("%q, %v after %s", body, err, time.Since(start))
		}
	})
}

func TestClient_stallBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := NewClient(&http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})}, time.Minute)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://model", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Do(req); !errors.Is(err, ErrStalled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestFailure_hidesSecretsAndQuotations(t *testing.T) {
	t.Parallel()
	private := "please keep this between us: I am moving to Lyon in May"
	for _, message := range []string{
		`bad key my-own-key`, `bad key sk-proj-abcdef123456`, `invalid content "` + private + `"`, strings.Repeat("x", 150) +
			" " + private + private,
	} {
		got := Failure{Status: 400, Message: message, Secret: "my-own-key"}.Error().Error()
		if strings.Contains(got, "my-own-key") || strings.Contains(got, "abcdef") || strings.Contains(got, private) ||
			len(got) > 300 {
			t.Errorf("%q", got)
		}
	}
}

func TestFailure_retryAfterAsDate(t *testing.T) {
	t.Parallel()
	header := http.Header{}
	header.Set("Date", "Thu, 19 Nov 2026 08:00:00 GMT")
	header.Set("Retry-After", "Thu, 19 Nov 2026 08:00:30 GMT")
	if got := (Failure{Status: 429, Header: header}).Error().After; got != 30*time.Second {
		t.Errorf("after %s", got)
	}
	header.Set("Retry-After", "999999999")
	if got := (Failure{Status: 429, Header: header}).Error().After; got != time.Hour {
		t.Errorf("after %s", got)
	}
}

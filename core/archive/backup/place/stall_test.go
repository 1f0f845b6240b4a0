package place

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// piecemeal is a network that moves a byte at a time, and a server that answers likewise.
type piecemeal struct {
	every time.Duration
	ends  time.Duration // how long the answer takes to begin
}

func (p piecemeal) RoundTrip(req *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, slow{req, req.Body, p.every}); err != nil {
		return nil, err
	}
	select {
	case <-time.After(p.ends):
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(slow{req, bytes.NewReader(make([]byte, 20)), p.every})}, nil
}

type slow struct {
	req   *http.Request
	r     io.Reader
	every time.Duration
}

func (s slow) Read(p []byte) (int, error) {
	select {
	case <-time.After(s.every):
		return s.r.Read(p[:1])
	case <-s.req.Context().Done():
		return 0, s.req.Context().Err()
	}
}

func TestBrisk_endsWhatStandsStill(t *testing.T) {
	for _, c := range []struct {
		name  string
		next  piecemeal
		stall bool
	}{
		{"slow, for longer than the limit", piecemeal{every: 40 * time.Second, ends: 10 * time.Second}, false},
		{"stuck on the way there", piecemeal{every: 2 * time.Minute}, true},
		{"no answer", piecemeal{every: time.Second, ends: 2 * time.Minute}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://x.example", bytes.NewReader(make([]byte, 20)))
				if err != nil {
					t.Fatal(err)
				}
				var read int64
				resp, err := brisk{c.next, time.Minute}.RoundTrip(req)
				if err == nil {
					read, err = io.Copy(io.Discard, resp.Body)
					err = errors.Join(err, resp.Body.Close())
				}
				if errors.Is(err, errStalled) != c.stall || !c.stall && (err != nil || read != 20) {
					t.Errorf("got %d bytes, %v", read, err)
				}
			})
		})
	}
}

// A download that stands still ends, too.
func TestBrisk_endsADownloadThatStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://x.example", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := brisk{piecemeal{every: 40 * time.Second}, time.Minute}.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if n, err := resp.Body.Read(make([]byte, 10)); n != 1 || err != nil {
			t.Errorf("got %d, %v", n, err)
		}
		resp.Body.(*moving).body = io.NopCloser(slow{req.WithContext(resp.Body.(*moving).ctx), bytes.NewReader([]byte{1}), time.Hour})
		if _, err := resp.Body.Read(make([]byte, 10)); !errors.Is(err, errStalled) {
			t.Errorf("got %v", err)
		}
	})
}

package channel_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everthread/everthread/core/channel"
)

func TestBackoff_doublesUpToHalfAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var pause channel.Backoff
		took := func(asked time.Duration) time.Duration {
			began := time.Now()
			pause.Wait(t.Context(), asked)
			return time.Since(began)
		}
		for _, want := range []time.Duration{100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000} {
			if got := took(0); got != want*time.Millisecond {
				t.Errorf("got %s, want %s", got, want*time.Millisecond)
			}
		}
		if got := took(time.Minute); got != time.Minute {
			t.Errorf("asked to wait a minute, waited %s", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := channel.Pause(ctx, time.Minute); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestWatch_tellsWhatLeft(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack() // ends the connection without a response
		if err == nil {
			_ = c.Close()
		}
	}))
	t.Cleanup(s.Close)
	for url, want := range map[string]bool{s.URL: true, "http://127.0.0.1:1": false} {
		var left atomic.Bool
		req, err := http.NewRequestWithContext(channel.Watch(t.Context(), &left), http.MethodPost, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := s.Client().Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		if err == nil || left.Load() != want {
			t.Errorf("%s: left %v, %v", url, left.Load(), err)
		}
	}
}

func TestFault_isASentence(t *testing.T) {
	t.Parallel()
	cause := errors.New("never said")
	f := &channel.Fault{Text: "{where} refuses ({detail}); look", Where: "there", Detail: "no.", Err: cause}
	if f.Error() != "there refuses (no); look" || !errors.Is(f, cause) {
		t.Errorf("got %v", f)
	}
	if f.Detail = ""; f.Error() != "there refuses; look" {
		t.Errorf("got %v", f)
	}
	if u := (&channel.Unreached{Where: "there", Err: cause}); !errors.Is(u, cause) {
		t.Errorf("got %v", u)
	}
}

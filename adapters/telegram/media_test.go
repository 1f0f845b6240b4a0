package telegram

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
	"github.com/everthread/everthread/core"
)

func TestFetch(t *testing.T) {
	t.Parallel()
	s, c := served(t)
	png := append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 500)...)
	s.AddFile("A", "photos/file 1?.png", png)
	data, mime, err := c.Fetch(t.Context(), "A", 1000)
	if err != nil || !bytes.Equal(data, png) || mime != "image/png" {
		t.Errorf("got %d bytes of %s, %v", len(data), mime, err)
	}
}

func TestFetch_errors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare   func(s *telegramtest.Server)
		permanent bool
	}{
		"unknown file":     {func(s *telegramtest.Server) {}, true},
		"over our limit":   {func(s *telegramtest.Server) { s.AddFile("A", "a", make([]byte, 2000)) }, true},
		"over their limit": {func(s *telegramtest.Server) { s.AddFile("A", "a", make([]byte, 21<<20)) }, true},
		"service down":     {func(s *telegramtest.Server) { s.Fail("getFile", 1, telegramtest.Failure{Code: 500}) }, false},
		"flood":            {func(s *telegramtest.Server) { s.Fail("getFile", 1, telegramtest.Failure{Code: 429}) }, false},
		"file server down": {func(s *telegramtest.Server) {
			s.AddFile("A", "a", nil)
			s.Fail("file", 1, telegramtest.Failure{Code: 502})
		}, false},
		"link no longer valid": {func(s *telegramtest.Server) {
			s.AddFile("A", "a", nil)
			s.Fail("file", 1, telegramtest.Failure{Code: 404})
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, ch := served(t)
			c.prepare(s)
			_, _, err := ch.Fetch(t.Context(), "A", 1000)
			var permanent *core.Permanent
			if err == nil || errors.As(err, &permanent) != c.permanent {
				t.Errorf("got %v", err)
			}
			if large := strings.HasPrefix(name, "over"); errors.Is(err, core.ErrTooLarge) != large {
				t.Errorf("got %v, which is too large: %t", err, large)
			}
			if err != nil && strings.Contains(err.Error(), "TEST-token") {
				t.Errorf("the error contains the token: %v", err)
			}
		})
	}
}

// The size announced by the service is not trusted.
func TestFetch_stopsAtTheLimit(t *testing.T) {
	t.Parallel()
	s, c := served(t)
	s.AddFile("A", "a", make([]byte, 2000))
	if _, err := c.api.download(t.Context(), "a", 1999); err == nil {
		t.Error("took more than the limit")
	}
	if data, err := c.api.download(t.Context(), "a", 2000); err != nil || len(data) != 2000 {
		t.Errorf("got %d bytes, %v", len(data), err)
	}
}

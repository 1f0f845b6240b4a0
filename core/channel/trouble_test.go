package channel_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/everthread/everthread/core/channel"
)

func TestTrouble_inTheLanguageOfItsReader(t *testing.T) {
	t.Parallel()
	cause := errors.New("HTTP 401")
	err := fmt.Errorf("poll: %w", &channel.Trouble{Err: cause, Advice: func(language string) string {
		return map[string]string{"en": "make a new token", "de": "erzeuge ein neues Token"}[language]
	}})
	if got := err.Error(); got != "poll: make a new token: HTTP 401" || !errors.Is(err, cause) {
		t.Errorf("the log reads %q", got)
	}
	if got := channel.Said(err, "de"); got != "erzeuge ein neues Token (HTTP 401)" {
		t.Errorf("got %q", got)
	}
	if got := channel.Said(cause, "de"); got != "HTTP 401" {
		t.Errorf("got %q", got)
	}
}

package remind

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
)

// Admit returns why an active reminder from elsewhere breaks the rules for new reminders;
// nil: it does not. The caller checks MaxActive.
func (s Settings) Admit(r core.Reminder, now time.Time) error {
	s = s.orDefault()
	if utf8.RuneCountInString(r.Text) > maxText {
		return fmt.Errorf("more than %d characters long", maxText)
	}
	if r.DueAt.Sub(now) > furthest {
		return errors.New("more than ten years ahead")
	}
	if r.Cron == "" {
		return nil
	}
	zone, err := time.LoadLocation(r.Zone)
	if err != nil {
		zone = time.UTC
	}
	every, err := schedule(r.Cron)
	switch {
	case err != nil || next(every, zone, now).IsZero():
		return errors.New("never due")
	case often(every, s.MinEvery, wallOf(now, zone)):
		return fmt.Errorf("due more often than every %d minutes", int(s.MinEvery.Minutes()))
	}
	return nil
}

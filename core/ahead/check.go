package ahead

import (
	"context"
	"time"

	"github.com/everthread/everthread/core/ahead/calendar"
	"github.com/everthread/everthread/core/ahead/mail"
	"github.com/everthread/everthread/core/ahead/source"
)

// Status is what trying a source found.
type Status struct {
	Name  string
	Mail  bool         // it is a mailbox
	Count int          // appointments of the next seven days, or unread messages
	Bad   int          // entries that could not be understood
	Fault source.Fault // empty: it can be read
}

// Check tries all sources.
func (a *Ahead) Check(ctx context.Context, now time.Time) []Status {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	mailed := make(chan []got[[]mail.Header], 1)
	go func() {
		mailed <- gather(ctx, a.Mail, func(m Mailbox) string { return m.Name },
			func(m Mailbox) ([]mail.Header, error) { return m.List(ctx, mail.Query{}) })
	}()
	var out []Status
	for _, f := range gather(ctx, a.Calendars, func(c Calendar) string { return c.Name },
		func(c Calendar) (calendar.Found, error) { return c.Events(ctx, now, now.AddDate(0, 0, 7), a.Days.Zone) }) {
		out = append(out, Status{Name: f.source, Count: len(f.value.Events), Bad: f.value.Bad, Fault: f.fault})
	}
	for _, f := range <-mailed {
		out = append(out, Status{Name: f.source, Mail: true, Count: len(f.value), Fault: f.fault})
	}
	return out
}

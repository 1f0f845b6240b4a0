package remind

import (
	"cmp"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
)

// Times reads and says times as reminders do, for what else comes at a time.
type Times struct{ Settings Settings }

// Read reads words that say when and what, such as "every weekday at 7:30 tell the news".
// use has the moment, the zone and the language; see Settings.Parse.
func (t Times) Read(use core.ToolUse, words string) (at time.Time, cron, rest string, err error) {
	return t.Settings.Parse(text.Clean(words), use.Now, use.Location, cmp.Or(use.Language, t.Settings.Language))
}

// ReadExactly reads when something is wanted out of either words or a cron expression.
// Every word must be understood.
func (t Times) ReadExactly(use core.ToolUse, when, cron string) (time.Time, string, error) {
	return (&Reminders{Settings: t.Settings}).when(use, when, cron)
}

// Next returns when a cron expression is next due in a zone; see Next.
func (t Times) Next(cron, zone string, after time.Time) time.Time {
	return Next(core.Reminder{Cron: cron, Zone: zone}, after)
}

// Describe says a cron expression in words; see Describe.
func (t Times) Describe(cron, language string) string { return Describe(cron, language) }

// Moment says a time with its date in words of a language.
func (t Times) Moment(at time.Time, zone *time.Location, language string) string {
	return moment(at, zone, cmp.Or(language, t.Settings.Language))
}

// Often reports whether a cron expression comes more often than a reminder may.
func (t Times) Often(cron, zone string, now time.Time) bool {
	return t.Settings.Admit(core.Reminder{Cron: cron, Zone: zone, DueAt: now}, now) != nil
}

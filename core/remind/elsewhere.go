package remind

import (
	"cmp"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
)

// The methods below read and describe times, for reminders and for tasks.

// Read parses words with a time and a text, such as "every weekday at 7:30 tell the news".
// It takes the moment, the zone and the language from use; see Settings.Parse.
func (s Settings) Read(use core.ToolUse, words string) (at time.Time, cron, rest string, err error) {
	return s.Parse(text.Clean(words), use.Now, use.Location, s.language(use))
}

// ReadExactly parses either words of a time or a cron expression. It must understand every
// word: another one may change the meaning.
func (s Settings) ReadExactly(use core.ToolUse, when, cron string) (time.Time, string, error) {
	words := say(s.language(use)).Faults
	when, cron = strings.TrimSpace(text.Clean(when)), text.OneLine(text.Clean(cron))
	switch {
	case when == "" && cron == "":
		return time.Time{}, "", core.Refusal(words.Neither)
	case when != "" && cron != "":
		return time.Time{}, "", core.Refusal(words.Both)
	case cron != "":
		c := calendar{Settings: s.orDefault(), faults: words, now: use.Now, zone: use.Location}
		return c.resolve(found{cron: cron})
	}
	at, cron, rest, err := s.Parse(when, use.Now, use.Location, s.language(use))
	if err == nil && rest != "" {
		err = core.Refuse(words.Left, rest)
	}
	return at, cron, err
}

// Next returns when a cron expression is next due in a zone; see Next.
func (Settings) Next(cron, zone string, after time.Time) time.Time {
	return Next(core.Reminder{Cron: cron, Zone: zone}, after)
}

// Newest returns the newest time up to now of an expression that was due at due, and the
// number of missed times before it. Times of more than a month ago count as one.
func (s Settings) Newest(due time.Time, cron, zone string, now time.Time) (newest time.Time, passed int) {
	const month = 32 * 24 * time.Hour
	if now.Sub(due) > month {
		if t := s.Next(cron, zone, now.Add(-month)); !t.IsZero() && !t.After(now) {
			due, passed = t, 1
		}
	}
	for t := s.Next(cron, zone, due); !t.IsZero() && !t.After(now); t = s.Next(cron, zone, t) {
		due = t
		passed++
	}
	return due, passed
}

// Describe returns a cron expression in words; see Describe.
func (Settings) Describe(cron, language string) string { return Describe(cron, language) }

// Moment returns a time with its date in words of a language.
func (s Settings) Moment(at time.Time, zone *time.Location, language string) string {
	return moment(at, zone, cmp.Or(language, s.Language))
}

// Often reports whether a cron expression is due more often than a reminder may be, or
// never.
func (s Settings) Often(cron, zone string, now time.Time) bool {
	return s.Admit(core.Reminder{Cron: cron, Zone: zone, DueAt: now}, now) != nil
}

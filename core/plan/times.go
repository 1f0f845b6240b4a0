package plan

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
	days "github.com/everthread/everthread/core/text/day"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/text/times"
)

// Parse finds a time in a text in English, French or German: "in 20 minutes", "demain à 9 h call Ana", "every weekday
// at 7:30", "am 1. jedes Monats", a date and time of ISO 8601 or a cron expression of five fields. at is the first time
// after now, cron the expression of a recurring one (by the wall clock of loc), rest the text without the words of the
// time. It is pure.
//
// A day without a time means DefaultHour, as does a morning; an afternoon means 15:00, an evening and a night 20:00. A
// weekday is the next one, today only with a time that is still ahead; "next Friday" is the one of next week, "vendredi
// prochain" and "nächsten Freitag" the next one that is not today. 3/6 is 3 June, and 12/25 is 25 December. Midnight is
// the end of its day. A wall time that the zone skips moves to the first instant that exists; one that occurs twice is
// the first.
//
// Errors are sentences in lang that wrap core.ErrRefused: nothing is understood, or not every word beside the time that
// may change it (both core.Unread), the time is past, or it recurs more often than MinEvery.
func (s Settings) Parse(text string, now time.Time, loc *time.Location,
	lang string) (at time.Time, cron, rest string, err error) {
	s = s.orDefault()
	faults := say(lang).Faults
	f, rest, ok := times.Find(text, i18n.Match(lang))
	if !ok {
		return at, "", text, core.Unread(faults.Nothing)
	}
	if f.Unread != "" && f.Wrong == "" {
		return at, "", rest, core.Unread(fmt.Sprintf(faults.Left, f.Unread))
	}
	at, cron, err = calendar{Settings: s, faults: faults, now: now, zone: loc}.resolve(f)
	return at, cron, rest, err
}

// Read parses words with a time and a text, such as "every weekday at 7:30 tell the news".
// It takes the moment, the zone and the language from use; see Settings.Parse.
func (s Settings) Read(use core.ToolUse, words string) (at time.Time, cron, rest string, err error) {
	return s.Parse(text.Clean(words), use.Now, use.Location, s.language(use))
}

// ReadExactly parses either words of a time or a cron expression. It must understand every
// word: another one may change the meaning.
func (s Settings) ReadExactly(use core.ToolUse, said, cron string) (time.Time, string, error) {
	words := say(s.language(use)).Faults
	said, cron = strings.TrimSpace(text.Clean(said)), text.OneLine(text.Clean(cron))
	switch {
	case said == "" && cron == "":
		return time.Time{}, "", core.Refusal(words.Neither)
	case said != "" && cron != "":
		return time.Time{}, "", core.Refusal(words.Both)
	case cron != "":
		c := calendar{Settings: s.orDefault(), faults: words, now: use.Now, zone: use.Location}
		return c.resolve(times.Found{Cron: cron})
	}
	at, cron, rest, err := s.Parse(said, use.Now, use.Location, s.language(use))
	if err == nil && rest != "" {
		err = core.Refuse(words.Left, rest)
	}
	return at, cron, err
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

// Moment returns a time with its date in words of a language.
func (s Settings) Moment(at time.Time, zone *time.Location, language string) string {
	language, at = cmp.Or(language, s.Language), at.In(zone)
	return fmt.Sprintf(say(language).At, days.Name(at.Format(time.DateOnly), "", language), at.Format("15:04"))
}

// Often reports whether a cron expression is due more often than a reminder may be, or never.
func (s Settings) Often(cron, zone string, now time.Time) bool {
	return s.Admit(core.Plan{Cron: cron, Zone: zone, DueAt: now}, now) != nil
}

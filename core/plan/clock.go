package plan

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/robfig/cron/v3"

	"github.com/everthread/everthread/core"
	days "github.com/everthread/everthread/core/text/day"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/text/times"
)

// Next returns when a cron expression is next due after a moment, by the wall clock of a zone; the zero time if it does
// not recur (again). A wall time that the zone skips is due at the first instant after the gap, one that occurs twice
// at its first occurrence: no time is lost or repeated. A date that a zone skipped altogether has no times.
func (Settings) Next(cron, zone string, after time.Time) time.Time {
	s, err := schedule(cron)
	if err != nil {
		return time.Time{}
	}
	return next(s, zoneOf(zone), after)
}

// zoneOf returns the zone of a name; UTC if it is unknown.
func zoneOf(name string) *time.Location { return core.Settings{Zone: name}.Location(time.UTC) }

func next(s cron.Schedule, zone *time.Location, after time.Time) time.Time {
	for wall := s.Next(wallOf(after, zone)); !wall.IsZero(); wall = s.Next(wall) {
		at := days.First(wall, zone)
		if at.After(after) && wallOf(at, zone).Sub(wall) < longestGap {
			return at
		}
	}
	return time.Time{}
}

// longestGap is longer than any clock change of a zone, and shorter than a skipped date.
const longestGap = 12 * time.Hour

// schedule parses a cron expression of five fields.
func schedule(expression string) (cron.Schedule, error) {
	if len(strings.Fields(expression)) != 5 || strings.Contains(expression, "=") {
		return nil, errors.New("a cron expression has five fields")
	}
	return cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(expression)
}

// looked bounds the times of a schedule that are checked for the shortest interval. Within
// a day at most 96 are far enough apart.
const looked = 200

// often reports whether a schedule has two times that are less than every apart.
func often(s cron.Schedule, every time.Duration, from time.Time) bool {
	last := s.Next(from)
	for range looked {
		t := s.Next(last)
		if t.IsZero() {
			return false
		}
		if t.Sub(last) < every {
			return true
		}
		last = t
	}
	return false
}

// wallOf returns the wall time of a zone at a moment, as a time in UTC.
func wallOf(t time.Time, zone *time.Location) time.Time {
	t = t.In(zone)
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// Admit returns why an active reminder from elsewhere breaks the rules for new reminders;
// nil: it does not. The caller checks MaxActive.
func (s Settings) Admit(r core.Plan, now time.Time) error {
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
	zone := zoneOf(r.Zone)
	every, err := schedule(r.Cron)
	switch {
	case err != nil || next(every, zone, now).IsZero():
		return errors.New("never due")
	case often(every, s.MinEvery, wallOf(now, zone)):
		return fmt.Errorf("due more often than every %d minutes", int(s.MinEvery.Minutes()))
	}
	return nil
}

// evenings is the time of an evening without a time, since midnight.
const evenings = 20 * time.Hour

// Snooze is a time to which a reminder can be postponed.
type Snooze struct {
	Name string // hour, evening or morning
	At   time.Time
}

// Snoozes returns the times to which a reminder can be postponed, soonest first: in an hour, this evening if that is
// more than an hour away, and tomorrow morning. Evenings and mornings are those of Parse.
func (m *Plans) Snoozes(now time.Time, zone *time.Location) []Snooze {
	wall := wallOf(now, zone)
	midnight := time.Date(wall.Year(), wall.Month(), wall.Day(), 0, 0, 0, 0, time.UTC)
	out := []Snooze{{"hour", now.Add(time.Hour)}}
	if at := days.First(midnight.Add(evenings), zone); at.After(out[0].At) {
		out = append(out, Snooze{"evening", at})
	}
	morning := midnight.AddDate(0, 0, 1).Add(m.Settings.orDefault().DefaultHour)
	return append(out, Snooze{"morning", days.First(morning, zone)})
}

// phrases describe repetitions in one language.
type phrases struct {
	*texts
	language string
}

// Describe returns a cron expression in words, such as "every Monday and Thursday at 08:00"; a complex one as it is.
func (Settings) Describe(expression, language string) string {
	p := phrases{say(language), language}
	f := strings.Fields(expression)
	if len(f) != 5 {
		return fmt.Sprintf(p.Repeats.Expression, expression)
	}
	if s := p.often(f); s != "" {
		return s
	}
	clock, ok := p.clock(f[0], f[1])
	days, known := p.days(f[2], f[3], f[4])
	if !ok || !known {
		return fmt.Sprintf(p.Repeats.Expression, expression)
	}
	return fmt.Sprintf(p.At, days, clock)
}

// often describes regular intervals within a day; empty: it is none.
func (p phrases) often(f []string) string {
	if f[2] != "*" || f[3] != "*" || f[4] != "*" {
		return ""
	}
	if n := step(f[0]); n > 0 && f[1] == "*" {
		return p.Repeats.Minutes.Of(n)
	}
	switch n := step(f[1]); {
	case f[0] == "0" && f[1] == "*":
		return p.Repeats.Hour
	case f[0] == "0" && n > 0:
		return p.Repeats.Hours.Of(n)
	}
	return ""
}

// step returns the n of */n, or 0.
func step(field string) int {
	n, ok := strings.CutPrefix(field, "*/")
	if !ok {
		return 0
	}
	every, _ := strconv.Atoi(n) // 0, if it is no number
	return every
}

// clock describes the minute and hour fields: 08:00 and 20:00.
func (p phrases) clock(minute, hour string) (string, bool) {
	m, err := strconv.Atoi(minute)
	hours, ok := list(hour, 23)
	if err != nil || !ok || len(hours) > 4 {
		return "", false
	}
	var out []string
	for _, h := range hours {
		out = append(out, time.Date(2000, 1, 1, h, m, 0, 0, time.UTC).Format("15:04"))
	}
	return i18n.List(p.language, out...), true
}

// days describes the fields of days.
func (p phrases) days(dom, month, dow string) (string, bool) {
	switch {
	case dom == "*" && month == "*":
		return p.weekly(dow)
	case dow != "*":
		return "", false
	}
	d, ok := list(dom, 31)
	if !ok || len(d) != 1 || d[0] < 1 {
		return "", false
	}
	if month == "*" {
		return p.Repeats.Month.Of(d[0]), true
	}
	m, ok := list(month, 12)
	if !ok || len(m) != 1 || m[0] < 1 {
		return "", false
	}
	return fmt.Sprintf(p.Repeats.Year, times.DayOfMonth(d[0], p.language), times.MonthName(time.Month(m[0]), p.language)),
		true
}

func (p phrases) weekly(dow string) (string, bool) {
	if dow == "*" {
		return p.Repeats.Day, true
	}
	days, ok := list(dow, 7)
	if !ok {
		return "", false
	}
	var names []string
	for _, d := range days {
		names = append(names, times.WeekdayName(time.Weekday(d%7), p.language))
	}
	switch {
	case slices.Equal(days, []int{1, 2, 3, 4, 5}):
		return p.Repeats.Weekday, true
	case slices.Equal(days, []int{0, 6}) || slices.Equal(days, []int{6, 7}):
		return p.Repeats.Weekend, true
	}
	return fmt.Sprintf(p.Repeats.On, i18n.List(p.language, names...)), true
}

// list parses numbers up to most, with commas and ranges.
func list(field string, most int) ([]int, bool) {
	var out []int
	for _, f := range strings.Split(field, ",") {
		from, to, isRange := strings.Cut(f, "-")
		a, err := strconv.Atoi(from)
		b := a
		if isRange && err == nil {
			b, err = strconv.Atoi(to)
		}
		if err != nil || a < 0 || b < a || b > most {
			return nil, false
		}
		for n := a; n <= b; n++ {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), true
}

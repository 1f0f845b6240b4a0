package calendar

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// stamp is a date, or a date and time, as a calendar writes it. What it means depends on a zone.
type stamp struct {
	wall time.Time // as it is written, as if in UTC
	date bool      // it is a whole day
	utc  bool      // wall is UTC
	zone string    // the name of its zone; empty, and not utc: the person's
}

var errStamp = errors.New("this is no date")

// parseStamp reads 20261124, 20261124T090000 or 20261124T090000Z in a zone. Years before 1601 and after 3000 are
// mistakes.
func parseStamp(text, zone string) (stamp, error) {
	text = strings.ToUpper(strings.TrimSpace(text))
	s := stamp{zone: zone}
	var err error
	text, s.utc = strings.CutSuffix(text, "Z")
	switch len(text) {
	case len("20060102"):
		s.date, s.utc, s.zone = true, false, ""
		s.wall, err = time.Parse("20060102", text)
	case len("20060102T1504"):
		s.wall, err = time.Parse("20060102T1504", text)
	default:
		if minute, leap := strings.CutSuffix(text, "60"); leap && len(text) == len("20060102T150405") {
			text = minute + "59" // a leap second
		}
		s.wall, err = time.Parse("20060102T150405", text)
	}
	if err != nil || s.wall.Year() < 1601 || s.wall.Year() > 3000 {
		return stamp{}, errStamp
	}
	return s, nil
}

// last returns the last time that a rule which ends at s may have on the wall of c: a date counts as a whole.
func (s stamp) last(c clock) time.Time {
	switch {
	case s.date:
		return s.wall.Add(24*time.Hour - time.Second)
	case s.utc:
		return wall(c, s.wall)
	}
	return s.wall
}

// clock returns the zone of a stamp.
func (s stamp) clock(z *zones) clock {
	switch {
	case s.utc:
		return place{time.UTC}
	case s.zone == "":
		return place{z.person}
	}
	return z.of(s.zone)
}

// instant returns when it is; of a date, its first moment for the person.
func (s stamp) instant(z *zones) time.Time { return instant(s.clock(z), s.wall) }

// length is a DURATION: days are those of the wall, the rest is exact.
type length struct {
	days int
	rest time.Duration
}

// parseLength reads P1DT2H30M, P2W or PT15M.
func parseLength(text string) (l length, err error) {
	text = strings.ToUpper(strings.TrimSpace(text))
	rest, ok := strings.CutPrefix(strings.TrimPrefix(text, "+"), "P")
	if !ok || rest == "" {
		return l, errStamp
	}
	number := ""
	for _, r := range rest {
		if r >= '0' && r <= '9' {
			number += string(r)
			continue
		}
		if r == 'T' && number == "" {
			continue
		}
		n, err := strconv.Atoi(number)
		if err != nil || n > 1e6 {
			return l, errStamp
		}
		number = ""
		switch r {
		case 'W':
			l.days += 7 * n
		case 'D':
			l.days += n
		case 'H', 'M', 'S':
			l.rest += time.Duration(n) * map[rune]time.Duration{'H': time.Hour, 'M': time.Minute, 'S': time.Second}[r]
		default:
			return l, errStamp
		}
	}
	if number != "" {
		return l, errStamp
	}
	return l, nil
}

package calendar

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"time"
)

//go:embed windows.txt
var windowsFile string

// windows returns the IANA names of the zones that Windows names, by these names in lower case.
var windows = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(windowsFile) {
		if name, iana, ok := strings.Cut(strings.TrimSpace(line), " = "); ok {
			out[strings.ToLower(name)] = iana
		}
	}
	return out
})

// clock is a time zone: what clocks show at an instant, in seconds ahead of UTC.
type clock interface{ ahead(t time.Time) int }

// place is a zone of the database of zones.
type place struct{ *time.Location }

func (p place) ahead(t time.Time) int {
	_, offset := t.In(p.Location).Zone()
	return offset
}

// wall returns what the clock shows at an instant, as if it were in UTC.
func wall(c clock, t time.Time) time.Time {
	return t.UTC().Add(time.Duration(c.ahead(t)) * time.Second)
}

// instant returns when the clock shows wall: the first time if it does so twice. What it never shows is counted from
// the time before the clock was changed, as RFC 5545 has it.
func instant(c clock, wall time.Time) time.Time {
	before := time.Duration(c.ahead(wall.Add(-24*time.Hour))) * time.Second
	after := time.Duration(c.ahead(wall.Add(24*time.Hour))) * time.Second
	for _, offset := range []time.Duration{before, after} {
		if t := wall.Add(-offset); time.Duration(c.ahead(t))*time.Second == offset {
			return t
		}
	}
	return wall.Add(-before)
}

// change is an instant from which a zone has another offset.
type change struct {
	at     time.Time
	offset int
}

// changes are a zone that a calendar describes itself: first is its offset before all changes.
type changes struct {
	first int
	list  []change // in order
}

func (c changes) ahead(t time.Time) int {
	n, _ := slices.BinarySearchFunc(c.list, t, func(c change, t time.Time) int {
		if c.at.After(t) {
			return 1
		}
		return -1
	})
	if n == 0 {
		return c.first
	}
	return c.list[n-1].offset
}

// observance is a STANDARD or DAYLIGHT part of a VTIMEZONE.
type observance struct {
	start    time.Time // as clocks showed it before
	from, to int
	rules    []string
	dates    []stamp
}

// zones finds the zones that a calendar names.
type zones struct {
	person    *time.Location
	described map[string][]observance
	from, to  time.Time // for which the described ones are needed
	known     map[string]clock
}

// of returns the zone of a name. One that is unknown, and not described, is the person's.
func (z *zones) of(name string) clock {
	if c, ok := z.known[name]; ok {
		return c
	}
	c := z.find(name)
	z.known[name] = c
	return c
}

func (z *zones) find(name string) clock {
	if l := located(name); l != nil {
		return place{l}
	}
	if parts := z.described[name]; len(parts) > 0 {
		return z.describedBy(parts)
	}
	return place{z.person}
}

// located returns the zone of the database that a name means: an IANA name, one with a prefix such as
// /citadel.org/20210210_1/Europe/Berlin, or one of Windows; nil: none.
func located(name string) *time.Location {
	name = strings.Trim(name, `"' /`)
	if name == "" || strings.EqualFold(name, "local") {
		return nil
	}
	parts := strings.Split(name, "/")
	for n := min(len(parts), 3); n > 0; n-- {
		if l, err := time.LoadLocation(strings.Join(parts[len(parts)-n:], "/")); err == nil {
			return l
		}
	}
	if iana, ok := windows()[strings.ToLower(name)]; ok {
		if l, err := time.LoadLocation(iana); err == nil {
			return l
		}
	}
	return nil
}

// around is how long before and after the asked time the changes of a described zone are looked for.
const around = 800 * 24 * time.Hour

// describedBy returns the zone that a calendar describes. Of a rule that ended long ago its last changes count still.
func (z *zones) describedBy(parts []observance) clock {
	out := changes{first: slices.MinFunc(parts, func(a, b observance) int { return a.start.Compare(b.start) }).from}
	for _, o := range parts {
		walls := []time.Time{o.start}
		for _, d := range o.dates {
			walls = append(walls, d.wall)
		}
		for _, text := range o.rules {
			r, err := parseRule(text, o.start, place{time.UTC})
			if err != nil {
				continue
			}
			to := z.to.Add(around)
			if end := r.Until; !end.IsZero() && end.Before(to) {
				to = end
			}
			more, _ := r.between(earlier(z.from, to).Add(-around), to)
			walls = append(walls, more...)
		}
		for _, w := range walls {
			out.list = append(out.list, change{w.Add(-time.Duration(o.from) * time.Second), o.to})
		}
	}
	slices.SortStableFunc(out.list, func(a, b change) int { return a.at.Compare(b.at) })
	return out
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// Package calendar reads iCalendar (RFC 5545): which appointments a calendar has between two times. It takes calendars
// as servers write them: what it cannot understand is left out and counted. Whatever a calendar says, reading it is
// bounded.
package calendar

import (
	"cmp"
	"context"
	"io"
	"slices"
	"time"
)

// Event is an appointment at one time. Its words are others' words, each one line.
type Event struct {
	Title, Place string // may be empty
	// Start and End are when it takes place; of an AllDay one, midnights of the person's zone. End is after Start, or the
	// same.
	Start, End time.Time
	AllDay     bool
	Free       bool // it does not make the person busy
}

// Found is what a calendar has between two times.
type Found struct {
	Events []Event // in the order of their beginnings, those of whole days first
	Bad    int     // entries that could not be understood
}

// mostEvents bounds the events that are found.
const mostEvents = 2000

// Read returns the appointments that take place after from and before to, at least in part. zone is the person's: it
// holds for whole days, and times without a zone. A source.Fault says why nothing can be read.
func Read(ctx context.Context, r io.Reader, from, to time.Time, zone *time.Location) (Found, error) {
	f, err := readFile(ctx, r, from, to)
	if err != nil {
		return Found{}, err
	}
	z := &zones{person: zone, described: f.described, from: from, to: to, known: map[string]clock{}}
	s := &search{zones: z, from: from, to: to, changed: map[string][]entry{}, Found: Found{Bad: f.bad}}
	for _, e := range f.entries {
		if e.changes && len(s.changed[e.uid]) < mostDates {
			s.changed[e.uid] = append(s.changed[e.uid], e)
		}
	}
	series := map[string]bool{}
	for _, e := range f.entries {
		if !e.changes {
			series[e.uid] = true
			s.series(ctx, e)
		}
	}
	for _, e := range f.entries { // of a series that is not in the calendar, as in an invitation to one of its times
		if e.changes && !series[e.uid] {
			s.add(e, e.start.instant(s.zones), e.start.wall)
		}
	}
	return s.sorted(), ctx.Err()
}

// search collects what is found.
type search struct {
	zones    *zones
	from, to time.Time
	changed  map[string][]entry // by the uid of their series
	Found
}

func (s *search) sorted() Found {
	slices.SortStableFunc(s.Events, func(a, b Event) int {
		if a.AllDay != b.AllDay && a.Start.Format(time.DateOnly) == b.Start.Format(time.DateOnly) {
			if a.AllDay {
				return -1
			}
			return 1
		}
		return cmp.Or(a.Start.Compare(b.Start), a.End.Compare(b.End), cmp.Compare(a.Title, b.Title))
	})
	s.Events = slices.Compact(s.Events)
	return s.Found
}

// moment is one time of a series: as it is on the wall of its zone, and when that is.
type moment struct {
	wall time.Time
	at   time.Time
}

// series adds the times of an entry, with what was changed of them. It ends early when ctx does.
func (s *search) series(ctx context.Context, e entry) {
	if e.cancelled || ctx.Err() != nil {
		return
	}
	c := e.start.clock(s.zones)
	changed := s.changed[e.uid]
	for _, m := range s.moments(e, c, changed) {
		if ctx.Err() != nil || len(s.Events) == mostEvents {
			return
		}
		if s.excepted(e, m) {
			continue
		}
		of, instead := e, m
		for _, x := range changed {
			same := s.standsFor(x, e, m)
			if same {
				of, instead = x, moment{x.start.wall, x.start.instant(s.zones)}
				break
			}
			newer := !of.changes || x.instead.wall.After(of.instead.wall)
			if x.onwards && newer && !x.instead.instant(s.zones).After(m.at) {
				moved := x.start.wall.Sub(x.instead.wall)
				of = x
				instead = moment{m.wall.Add(moved), instant(x.start.clock(s.zones), m.wall.Add(moved))}
			}
		}
		if !of.cancelled {
			s.add(of, instead.at, instead.wall)
		}
	}
}

// moments returns the times of a series that may matter: those in the span, and those that were moved into it.
func (s *search) moments(e entry, c clock, changed []entry) (out []moment) {
	long := s.longest(e, changed)
	lo, hi := wall(c, s.from).Add(-long-far), wall(c, s.to).Add(far)
	walls := []time.Time{e.start.wall}
	for _, text := range e.rules {
		r, err := parseRule(text, e.start.wall, c)
		if err == nil {
			var more []time.Time
			more, err = r.between(lo, hi)
			walls = append(walls, more...)
		}
		if err != nil {
			s.Bad++
		}
	}
	for _, w := range walls {
		out = append(out, moment{w, instant(c, w)})
	}
	for _, d := range e.dates {
		at := d.instant(s.zones)
		if d.date && !e.start.date { // a day, at the time of the others
			w := d.wall.Add(e.start.wall.Sub(e.start.wall.Truncate(24 * time.Hour)))
			out = append(out, moment{w, instant(c, w)})
			continue
		}
		out = append(out, moment{wall(c, at), at})
	}
	for _, x := range changed { // what was moved here, from however far
		at := x.instead.instant(s.zones)
		if x.instead.date && !e.start.date {
			continue // it stands for whatever is on that day
		}
		if s.touches(s.event(x, x.start.instant(s.zones), x.start.wall)) {
			out = append(out, moment{wall(c, at), at})
		}
	}
	slices.SortFunc(out, func(a, b moment) int { return a.at.Compare(b.at) })
	return slices.CompactFunc(out, func(a, b moment) bool { return a.at.Equal(b.at) })
}

// longest returns how long before the span a time may begin that reaches into it, or that was moved into it.
func (s *search) longest(e entry, changed []entry) time.Duration {
	long := time.Duration(0)
	for _, x := range append([]entry{e}, changed...) {
		at := x.start.instant(s.zones)
		v := s.event(x, at, x.start.wall)
		long = max(long, v.End.Sub(v.Start))
		if x.onwards {
			long = max(long, x.start.wall.Sub(x.instead.wall).Abs()+v.End.Sub(v.Start))
		}
	}
	return min(long, 366*24*time.Hour)
}

// standsFor reports whether a changed entry stands for one time of a series.
func (s *search) standsFor(x, e entry, m moment) bool {
	if x.instead.date {
		return x.instead.wall.Equal(m.wall.Truncate(24 * time.Hour))
	}
	if e.start.date {
		return x.instead.wall.Truncate(24 * time.Hour).Equal(m.wall)
	}
	return x.instead.instant(s.zones).Equal(m.at)
}

// excepted reports whether a time of a series was taken out of it.
func (s *search) excepted(e entry, m moment) bool {
	return slices.ContainsFunc(e.except, func(x stamp) bool {
		if x.date || e.start.date {
			return x.wall.Truncate(24 * time.Hour).Equal(m.wall.Truncate(24 * time.Hour))
		}
		return x.instant(s.zones).Equal(m.at)
	})
}

// event returns an entry at a time.
func (s *search) event(e entry, at, on time.Time) Event {
	v := Event{Title: e.title, Place: e.place, Start: at, End: at, AllDay: e.start.date, Free: e.free}
	c := e.start.clock(s.zones)
	switch {
	case e.start.date:
		n := 1
		if e.ends && days(e.start.wall, e.end.wall) > 0 {
			n = days(e.start.wall, e.end.wall)
		} else if e.lasts && e.length.days > 0 {
			n = e.length.days
		}
		v.End = instant(c, on.AddDate(0, 0, n))
	case e.ends:
		v.End = at.Add(max(e.end.instant(s.zones).Sub(e.start.instant(s.zones)), 0))
	case e.lasts:
		v.End = instant(c, on.AddDate(0, 0, e.length.days)).Add(e.length.rest)
	}
	v.Start, v.End = v.Start.In(s.zones.person), v.End.In(s.zones.person)
	return v
}

// touches reports whether an event takes place in the span, at least in part.
func (s *search) touches(v Event) bool {
	return v.Start.Before(s.to) && (v.End.After(s.from) || v.End.Equal(v.Start) && !v.Start.Before(s.from))
}

func (s *search) add(e entry, at, on time.Time) {
	if v := s.event(e, at, on); !e.cancelled && s.touches(v) && len(s.Events) < mostEvents {
		s.Events = append(s.Events, v)
	}
}

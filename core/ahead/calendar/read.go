package calendar

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/trust"
)

// entry is a VEVENT.
type entry struct {
	uid, title, place string
	start, end        stamp
	ends, lasts       bool // it has an end, or a length
	length            length
	rules             []string
	dates, except     []stamp
	instead           stamp // the time that it stands for, of a recurring one
	changes, onwards  bool  // it stands for one, or for this and all later ones
	cancelled, free   bool
	bad               bool // it has no beginning that can be understood
}

// file is what was read of a calendar.
type file struct {
	entries   []entry
	described map[string][]observance
	bad       int
}

// Bounds of what is read of one entry and one calendar.
const (
	mostDates    = 5000
	mostOneEntry = 5000
	mostText     = 200
	mostZones    = 200
)

// readFile reads those entries that may matter between two times.
func readFile(ctx context.Context, r io.Reader, from, to time.Time) (file, error) {
	f := file{described: map[string][]observance{}}
	in := newLines(r)
	if err := in.begins(); err != nil {
		return f, err
	}
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return f, ctx.Err()
		}
		l, err := in.read()
		if errors.Is(err, io.EOF) {
			return f, nil
		}
		if err == nil && l.name == "BEGIN" {
			err = f.component(in, strings.ToUpper(strings.TrimSpace(l.value)), from, to)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return f, err
		}
	}
}

// component reads a part of a calendar. A VCALENDAR in the calendar is what some servers join calendars with.
func (f *file) component(in *lines, kind string, from, to time.Time) error {
	switch kind {
	case "VCALENDAR":
		return nil
	case "VTIMEZONE":
		return f.zone(in)
	case "VEVENT":
	default:
		return skipTo(in, kind)
	}
	e := entry{bad: true}
	err := each(in, kind, e.set, func(inner string) error { return skipTo(in, inner) })
	switch {
	case e.bad:
		f.bad++
	case e.matters(from, to):
		f.entries = append(f.entries, e)
	}
	return err
}

// each passes on the lines of a component, and the names of components in it.
func each(in *lines, kind string, one func(l line), inner func(kind string) error) error {
	for range mostOneEntry {
		l, err := in.read()
		if err != nil {
			return err
		}
		switch value := strings.ToUpper(strings.TrimSpace(l.value)); {
		case l.name == "END" && value == kind:
			return nil
		case l.name == "BEGIN":
			if err := inner(value); err != nil {
				return err
			}
		default:
			one(l)
		}
	}
	return skipTo(in, kind)
}

// skipTo reads on to the end of a component.
func skipTo(in *lines, kind string) error {
	for {
		l, err := in.read()
		if err != nil || l.name == "END" && strings.EqualFold(strings.TrimSpace(l.value), kind) {
			return err
		}
	}
}

// set takes over one line.
func (e *entry) set(l line) {
	words := func() string {
		return text.Shorten(trust.Line(text.Clean(unescaped(l.value))), mostText)
	}
	stamped := func(s *stamp) bool {
		got, err := parseStamp(l.value, l.params["TZID"])
		if err == nil {
			*s = got
		}
		return err == nil
	}
	switch l.name {
	case "UID":
		e.uid = text.Shorten(l.value, 1000)
	case "SUMMARY":
		e.title = words()
	case "LOCATION":
		e.place = words()
	case "DTSTART":
		e.bad = !stamped(&e.start)
	case "DTEND":
		e.ends = stamped(&e.end)
	case "DURATION":
		var err error
		e.length, err = parseLength(l.value)
		e.lasts = err == nil
	case "RRULE":
		e.rules = append(e.rules, l.value)
	case "RDATE":
		e.dates = append(e.dates, stamps(l, mostDates-len(e.dates))...)
	case "EXDATE":
		e.except = append(e.except, stamps(l, mostDates-len(e.except))...)
	case "RECURRENCE-ID":
		e.changes = stamped(&e.instead)
		e.onwards = strings.EqualFold(l.params["RANGE"], "THISANDFUTURE")
	case "STATUS":
		e.cancelled = strings.EqualFold(strings.TrimSpace(l.value), "CANCELLED")
	case "TRANSP":
		e.free = strings.EqualFold(strings.TrimSpace(l.value), "TRANSPARENT")
	}
}

// stamps reads a list of at most n dates. Of a period, only its beginning counts.
func stamps(l line, n int) (out []stamp) {
	for part := range strings.SplitSeq(l.value, ",") {
		begin, _, _ := strings.Cut(part, "/")
		if s, err := parseStamp(begin, l.params["TZID"]); err == nil && len(out) < n {
			out = append(out, s)
		}
	}
	return out
}

// far is more than zones, and clocks that are changed, can move a time.
const far = 48 * time.Hour

// matters reports whether an entry may have to do with the time between from and to.
func (e *entry) matters(from, to time.Time) bool {
	if len(e.rules) > 0 || len(e.dates) > 0 || e.changes {
		return true
	}
	last := e.start.wall.Add(time.Duration(e.length.days)*24*time.Hour + e.length.rest + 24*time.Hour)
	if e.ends && e.end.wall.After(last) {
		last = e.end.wall
	}
	return e.start.wall.Before(to.Add(far)) && last.After(from.Add(-far))
}

// zone reads the description of a time zone.
func (f *file) zone(in *lines) error {
	name := ""
	var parts []observance
	err := each(in, "VTIMEZONE", func(l line) {
		if l.name == "TZID" {
			name = l.value
		}
	}, func(kind string) error {
		var o observance
		err := each(in, kind, o.set, func(inner string) error { return skipTo(in, inner) })
		if !o.start.IsZero() && len(parts) < mostZones {
			parts = append(parts, o)
		}
		return err
	})
	if len(f.described) < mostZones {
		f.described[name] = parts
	}
	return err
}

func (o *observance) set(l line) {
	switch l.name {
	case "DTSTART":
		if s, err := parseStamp(l.value, ""); err == nil {
			o.start = s.wall
		}
	case "TZOFFSETFROM":
		o.from = parseOffset(l.value)
	case "TZOFFSETTO":
		o.to = parseOffset(l.value)
	case "RRULE":
		o.rules = append(o.rules, l.value)
	case "RDATE":
		o.dates = append(o.dates, stamps(l, mostDates-len(o.dates))...)
	}
}

// parseOffset reads +0100 or -073000, in seconds; 0 if it is neither.
func parseOffset(text string) int {
	text = strings.TrimSpace(text)
	number := strings.TrimLeft(text, "+-")
	if len(number) != 4 && len(number) != 6 {
		return 0
	}
	n, err := strconv.Atoi((number + "00")[:6])
	if err != nil {
		return 0
	}
	seconds := n/10000*3600 + n/100%100*60 + n%100
	if seconds > 86400 {
		return 0
	}
	if strings.HasPrefix(text, "-") {
		return -seconds
	}
	return seconds
}

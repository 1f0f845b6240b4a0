package when

import (
	"time"

	"github.com/everthread/everthread/core/text"
)

var (
	compact = text.Pattern(`^(\d{1,5})([a-z]+)$`)
	hourMin = text.Pattern(`^(\d{1,3})h(\d{2})(?:min|m)?$`)
)

// span reads a time from now: in 20 minutes, dans une heure et demie, 2 days from now; at the
// start of a text also 20 min.
func (r *reader) span(i int, f *Found, going bool) int {
	if f.whole() || f.Date.Kind != NoDay || f.Times != nil || f.Repeat.Is() || r.ago(i, &Found{}) > 0 {
		return 0
	}
	var g Found
	lead := r.any(i, "in", "dans", "d'ici", "within", "innerhalb von")
	n := r.amounts(i+lead, &g)
	if n == 0 {
		return 0
	}
	tail := r.any(i+lead+n, "from now", "d'ici")
	alone := i == 0 && !going && r.lengthy(i)
	if lead == 0 && tail == 0 && !alone {
		return 0
	}
	f.Date, f.Delta = g.Date, g.Delta
	return lead + n + tail
}

// lengthy reports whether an amount cannot be a time of day: 20 min, but not 9 heures.
func (r *reader) lengthy(i int) bool {
	w := r.word(i + 1)
	if m := compact().FindStringSubmatch(r.word(i)); m != nil {
		w = m[2]
	}
	return units()[w] != 0 && w != "h" && w != "heure" && w != "heures" && w != "uhr" && len(w) > 1
}

// amounts reads amounts of time and adds them up.
func (r *reader) amounts(i int, f *Found) int {
	total := 0
	for {
		and := 0
		if total > 0 {
			and = r.any(i+total, "and", "et", "und")
		}
		n := r.amount(i+total+and, f)
		if n == 0 && total > 0 && f.Delta > 0 {
			if n = r.any(i+total+and, "a half", "demie", "demi"); n > 0 {
				f.Delta += 30 * time.Minute
			}
		}
		if n == 0 {
			return total
		}
		total += and + n
	}
}

// amount reads one amount: 20 minutes, an hour, 1h30, 2.5 hours, half an hour.
func (r *reader) amount(i int, f *Found) int {
	if minutes, n := valued(r, i, spans()); n > 0 {
		f.Delta += time.Duration(minutes) * time.Minute
		return n
	}
	w := r.word(i)
	if m := hourMin().FindStringSubmatch(w); m != nil {
		f.Delta += time.Duration(atoi(m[1]))*time.Hour + time.Duration(atoi(m[2]))*time.Minute
		return 1
	}
	if m := compact().FindStringSubmatch(w); m != nil && units()[m[2]] != 0 {
		f.after(float64(atoi(m[1])), units()[m[2]])
		return 1
	}
	v, n := r.count(i)
	u := units()[r.word(i+n)]
	if n == 0 || u == 0 {
		return 0
	}
	f.after(v, u)
	return n + 1
}

// count reads a number of units: 3, three, a few, a couple of.
func (r *reader) count(i int) (v float64, n int) {
	if r.any(i, "a few", "a couple", "the few", "the couple", "ein paar") > 0 {
		n = 1
	}
	v, ok := quantity(r.word(i + n))
	if !ok {
		return 0, 0
	}
	return v, n + 1 + r.any(i+n+1, "of", "de")
}

// after moves the time of f by v units. Days keep the time of day.
func (f *Found) after(v float64, u Unit) {
	switch u {
	case Seconds:
		f.Delta += time.Duration(v * float64(time.Second))
	case Minutes:
		f.Delta += time.Duration(v * float64(time.Minute))
	case Hours:
		f.Delta += time.Duration(v * float64(time.Hour))
	case Days:
		f.Date.Days += int(v)
	case Weeks:
		f.Date.Days += 7 * int(v)
	case Months:
		f.Date.Months += int(v)
	case Years:
		f.Date.Years += int(v)
	}
	if u >= Days {
		f.Date.Kind = Relative
	}
}

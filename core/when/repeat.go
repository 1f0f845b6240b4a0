package when

import (
	"cmp"
	"strconv"
	"time"
)

// repeated reads a recurrence: every Monday and Thursday, tous les jours, every 30 minutes,
// le 1er de chaque mois, weekly.
func (r *reader) repeated(i int, f *Found, _ bool) int {
	if f.whole() || f.Repeat.Is() {
		return 0
	}
	for _, read := range []func(int, *Found) int{r.monthly, r.yearly, r.weekRange, r.adverb, r.alternate, r.plural,
		r.each} {
		if n := read(i, f); n > 0 {
			return n
		}
	}
	return 0
}

func (r *reader) each(i int, f *Found) int {
	lead := cmp.Or(r.any(i, "every", "each", "chaque", "tous les", "toutes les", "on every", "chacun des",
		"jeden", "jede", "jedes", "an jedem", "immer am"), r.german(i, "alle"))
	if lead == 0 {
		return 0
	}
	i += lead
	for _, read := range []func(int, *Found) int{r.irregular, r.eachPart, r.eachWeekday, r.eachDate, r.eachUnit} {
		if n := read(i, f); n > 0 {
			return lead + n
		}
	}
	return 0
}

// irregular reads a recurrence that cron cannot express: every other Monday.
func (r *reader) irregular(i int, f *Found) int {
	kind, lead := valued(r, i, irregulars())
	if lead == 0 {
		return 0
	}
	w := r.word(i + lead)
	_, one := weekdayOf(w)
	_, many := weekdaysOf(w)
	u := units()[w]
	if !one && !many && (kind != 1 || u == 0) {
		return 0
	}
	f.Odd, f.Repeat.Every = true, Days
	return lead + 1
}

// eachPart reads every morning, tous les soirs, every weekday, chaque week-end.
func (r *reader) eachPart(i int, f *Found) int {
	w := r.word(i)
	switch w {
	case "morgen":
		w = "morgens"
	case "mittag":
		f.Repeat, f.Times = Repeat{Every: Days, N: 1}, []int{12 * 60}
		return 1
	}
	if p := max(periods()[w], periodPlurals()[w]); p != AnyTime {
		f.Repeat, f.Period = Repeat{Every: Days, N: 1}, p
		return 1
	}
	if _, n := valued(r, i, workday()); n > 0 {
		f.Repeat = Repeat{Every: Weeks, N: 1, Weekdays: weekdaysFrom(time.Monday, time.Friday)}
		return n
	}
	if n := r.any(i, "weekend", "weekends", "week-end", "week-ends", "wochenende"); n > 0 {
		f.Repeat = Repeat{Every: Weeks, N: 1, Weekdays: []time.Weekday{time.Saturday, time.Sunday}}
		return n
	}
	return 0
}

func weekdaysFrom(first, last time.Weekday) []time.Weekday {
	var out []time.Weekday
	for d := first; ; d = (d + 1) % 7 {
		out = append(out, d)
		if d == last {
			return out
		}
	}
}

// eachWeekday reads a list of weekdays, with a part of the day.
func (r *reader) eachWeekday(i int, f *Found) int {
	n := 0
	for {
		lead := 0
		if n > 0 {
			lead = r.any(i+n, "and on", "and", "et les", "et le", "et", "or", "und jeden", "und am", "und", "oder")
		}
		d, ok := r.weekdayName(i+n+lead, true)
		if p, many := weekdaysOf(r.word(i + n + lead)); many {
			d, ok = p, true
		}
		if !ok {
			break
		}
		f.Repeat.Weekdays = append(f.Repeat.Weekdays, d)
		n += lead + 1
	}
	if n == 0 {
		return 0
	}
	f.Repeat.Every, f.Repeat.N = Weeks, 1
	return n + r.partOf(i+n, f)
}

// eachDate reads every 3 June, chaque 1er janvier; every 1st.
func (r *reader) eachDate(i int, f *Found) int {
	var g Found
	if n := r.monthDay(i, &g); n > 0 {
		f.Date, f.Repeat.Yearly = g.Date, true
		return n
	}
	d, ordinal, ok := dayNumberOf(r.word(i))
	ordinal = ordinal || r.language == "de" && r.any(i-1, "jeden") > 0 // jeden 1.
	if !ok || !ordinal || units()[r.word(i)] != 0 || units()[r.word(i+1)] != 0 {
		return 0
	}
	f.Date, f.Repeat = Day{Kind: OfCalendar, Day: d, Said: r.said(i, 1)}, Repeat{Every: Months, N: 1}
	return 1 + r.any(i+1, "of the month", "du mois", "des monats", "im monat")
}

// eachUnit reads every day, every 30 minutes, toutes les deux heures.
func (r *reader) eachUnit(i int, f *Found) int {
	n, lead := 1, 0
	if v, ok := numbers()[r.word(i)]; ok {
		n, lead = v, 1
	} else if v, err := strconv.Atoi(r.word(i)); err == nil && v > 0 && v < 100_000 {
		n, lead = v, 1
	}
	w := r.word(i + lead)
	u := units()[w]
	if m := compact().FindStringSubmatch(r.word(i)); m != nil && units()[m[2]] != 0 {
		n, u, lead, w = atoi(m[1]), units()[m[2]], 0, m[2]
	}
	if u == 0 || lead == 0 && len(w) == 1 && n == 1 {
		return 0
	}
	f.Repeat = Repeat{Every: u, N: n}
	return lead + 1
}

// monthly reads the 1st of every month, le 15 de chaque mois, on the 3rd of the month.
func (r *reader) monthly(i int, f *Found) int {
	lead := max(r.any(i, "on the", "on", "the", "le"), r.german(i, "jeden monat am", "am", "jeden"))
	d, _, ok := dayNumberOf(r.word(i + lead))
	if ok {
		if _, weekday := weekdayOf(r.word(i + lead + 1)); weekday && r.any(i+lead+2, "of", "du", "de", "im", "des",
			"jedes", "jeden") > 0 {
			f.Odd, f.Repeat.Every = true, Months // the first Monday of the month
			return len(r.words) - i
		}
	}
	if n := r.any(i+lead, "last day of", "dernier jour", "letzten tag"); n > 0 {
		f.Odd, f.Repeat.Every = true, Months
		return lead + n
	}
	n := lead + 1 + r.any(i+lead+1, "day", "jour")
	_, tail := valued(r, i+n, monthlies())
	if ok && r.is(i, "jeden monat am") > 0 {
		n, tail = lead, 1
	}
	if !ok || tail == 0 {
		return 0
	}
	f.Date, f.Repeat = Day{Kind: OfCalendar, Day: d, Said: r.said(i+lead, 1)}, Repeat{Every: Months, N: 1}
	return n + tail
}

// yearly reads jedes Jahr am 3. Juni.
func (r *reader) yearly(i int, f *Found) int {
	n := r.any(i, "jedes jahr am", "jahrlich am")
	if n == 0 {
		return 0
	}
	var g Found
	on := r.monthDay(i+n, &g)
	if on == 0 {
		return 0
	}
	f.Date, f.Repeat.Yearly = g.Date, true
	return n + on
}

// weekRange reads from Monday to Friday, du lundi au vendredi, Mo–Fr.
func (r *reader) weekRange(i int, f *Found) int {
	lead := r.any(i, "from", "du", "every", "each", "von")
	to := r.any(i+lead+1, "to", "au", "through", "till", "until", "bis", "–")
	first, ok := r.inRange(i + lead)
	last, known := r.inRange(i + lead + 1 + to)
	if !ok || !known || to == 0 {
		return 0
	}
	f.Repeat = Repeat{Every: Weeks, N: 1, Weekdays: weekdaysFrom(first, last)}
	return lead + to + 2
}

// inRange returns a weekday of a range, whose other end makes a short form one.
func (r *reader) inRange(i int) (time.Weekday, bool) {
	if d, ok := shortWeekdays()[r.word(i)]; ok && r.language == "de" {
		return d, true
	}
	return r.oneOrMany(i, true)
}

// adverb reads daily, weekly, quotidiennement.
func (r *reader) adverb(i int, f *Found) int {
	if unit, n := valued(r, i, adverbs()); n > 0 {
		f.Repeat = Repeat{Every: unit, N: 1}
		return n
	}
	if _, n := valued(r, i, workdays()); n > 0 {
		f.Repeat = Repeat{Every: Weeks, N: 1, Weekdays: weekdaysFrom(time.Monday, time.Friday)}
		return n
	}
	return 0
}

// alternate reads un lundi sur deux, which cron cannot express.
func (r *reader) alternate(i int, f *Found) int {
	lead := r.any(i, "un", "une")
	_, weekday := weekdayOf(r.word(i + lead))
	n := r.any(i+lead+1, "sur deux", "sur 2", "sur trois", "sur 3")
	if n == 0 || !weekday && units()[r.word(i+lead)] == 0 {
		return 0
	}
	f.Odd, f.Repeat.Every = true, Days
	return lead + 1 + n
}

// plural reads on Mondays and Thursdays, les lundis.
func (r *reader) plural(i int, f *Found) int {
	lead := r.any(i, "on", "les", "immer")
	if _, ok := weekdaysOf(r.word(i + lead)); !ok {
		return 0
	}
	return lead + r.eachWeekday(i+lead, f)
}

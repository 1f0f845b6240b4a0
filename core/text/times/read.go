package times

import (
	"cmp"
	"strings"
	"time"

	"github.com/everthread/everthread/core/text"
)

// relative returns a day so many days from today.
func relative(days int) Day { return Day{Kind: Relative, Days: days} }

// agoRules read three days ago, il y a 3 jours, vor zwei Wochen.
var agoRules = []rule{
	{strings.Fields("ago_before some days"), ago},
	{strings.Fields("some days ago"), ago},
}

// dayRules read a day or a run of days, with a part of the day.
var dayRules = []rule{
	{strings.Fields("near part?"), func(m match, f *Found) { m.put(f, relative(m.value("near"))) }},
	{strings.Fields("tonight part?"), func(m match, f *Found) {
		f.Period = Night
		m.put(f, relative(0))
	}},
	{strings.Fields("last_night part?"), func(m match, f *Found) {
		f.Period = Night
		m.put(f, relative(-1))
	}},
	{strings.Fields("lately"), func(_ match, f *Found) { f.Date = Day{Kind: Lately} }},
	{strings.Fields("this_part part"), func(m match, f *Found) { m.put(f, relative(0)) }},
	{strings.Fields("ahead on_part part"), func(m match, f *Found) { m.put(f, relative(0)) }},
	{strings.Fields("on? any_weekday? the? day of? any_month year?"), dated},
	{strings.Fields("on? any_weekday? the? any_month the? day !any_month year?"), dated},
	{strings.Fields("the? next_week on? weekday part?"), func(m match, f *Found) {
		m.put(f, Day{Kind: OfWeek, Weekday: time.Weekday(m.value("weekday")), Which: NextWeek})
	}},
	{strings.Fields("on? which? weekday which_after? part?"), weekday},
	{strings.Fields("on which? short_weekday which_after? part?"), weekday},
	{strings.Fields("which short_weekday which_after? part?"), weekday},
	{strings.Fields("start short_weekday which_after? part?"), weekday},
	{strings.Fields("on? the? which run"), run},
	{strings.Fields("on? the? run which_one"), run},
	{strings.Fields("on weekend"), run},
	{strings.Fields("at? the weekend"), run},
	{strings.Fields("on nth"), ofMonth},
	{strings.Fields("ahead the nth"), ofMonth},
	{strings.Fields("the nth end"), ofMonth},
	{strings.Fields("on_day day edge"), ofMonth},
	{strings.Fields("on ordinal edge"), ofMonth},
	{strings.Fields("of_time any_month !day year?"), month},
	{strings.Fields("which any_month year?"), month},
	{strings.Fields("any_month which_one"), month},
	{strings.Fields("any_month year"), month},
	{strings.Fields("!ahead month"), month},
	{strings.Fields("!ahead introduced maybe_month"), month},
	{strings.Fields("of_time year"), month},
	{strings.Fields("!ahead introduced year"), month},
}

// put sets the day, and the part of it that was read.
func (m match) put(f *Found, d Day) {
	f.Date = d
	if m.has("part") {
		f.Period = Period(m.value("part"))
	}
}

func ago(m match, f *Found) {
	f.Date = Day{Kind: Ago, Unit: Unit(m.value("days")), N: m.value("some"),
		Which: Which(m.value("which") + m.value("which_after"))}
}

func dated(m match, f *Found) {
	from := min(m.pieces["day"].at, m.pieces["any_month"].at)
	f.Date = m.calendar(from, m.end, m.value("year"), m.value("any_month"), m.value("day"))
}

func weekday(m match, f *Found) {
	day := m.value("weekday") + m.value("short_weekday") // one of them
	which := Which(cmp.Or(m.value("which_after"), m.value("which")))
	m.put(f, Day{Kind: OfWeek, Weekday: time.Weekday(day), Which: which})
}

func run(m match, f *Found) {
	n := 0
	switch Which(m.value("which_one") + m.value("which")) {
	case Last:
		n = -1
	case NextOne, NextWeek:
		n = 1
	}
	f.Date = Day{Kind: Run, Unit: Unit(m.value("run") + m.value("weekend")), N: n}
}

func ofMonth(m match, f *Found) {
	day := m.value("nth") + m.value("day") + m.value("ordinal")
	f.Date = Day{Kind: OfCalendar, Day: day, Said: m.said(m.end-1, m.end)}
}

func month(m match, f *Found) {
	month := m.value("any_month") + m.value("month") + m.value("maybe_month")
	which := Which(m.value("which_one") + m.value("which"))
	f.Date = Day{Kind: OfCalendar, Year: m.value("year"), Month: time.Month(month), Which: which}
}

// readDay reads a day or a run of days at i.
func (r *reader) readDay(i int, f *Found) int {
	if n := cmp.Or(r.numeric(i, f), r.apply(agoRules, i, f)); n > 0 {
		return n
	}
	return r.apply(dayRules, i, f)
}

// dayAhead reads a day: tomorrow evening, next Tuesday, 3 June, le 1er, 23/11.
func (r *reader) dayAhead(i int, f *Found) int {
	if f.Date.Kind != NoDay || f.whole() {
		return 0
	}
	var g Found
	n := r.readDay(i, &g)
	d := g.Date
	now := d.Kind == Lately || d.Kind == Run && d.N == 0 && d.Unit != Weekends
	aside := d.unlikely() && (f.Repeat.Is() || r.going && d.Kind != Relative && d.Kind != OfWeek)
	if n == 0 || now || aside {
		return 0
	}
	f.Date, f.Period = d, cmp.Or(f.Period, g.Period)
	return n
}

var (
	yearFirst = text.Pattern(`^(\d{4})[-/.](\d{1,2})(?:[-/.](\d{1,2}))?$`)
	yearLast  = text.Pattern(`^(\d{1,2})([-/.])(\d{1,2})(?:[-/.](\d{4}|\d{2})|(\.))?$`)
)

// numeric reads 2026-11-23, 2026-11, 23/11, 23/11/2026, 23.11. and 23.11.2026. It reads a date without a year only
// alone, at the start of a text or after on or le, because 1/2 has other meanings.
func (r *reader) numeric(i int, f *Found) int {
	lead := max(r.length(i, "on"), r.length(i, "on_day"), r.length(i, "since"))
	if m := yearFirst().FindStringSubmatch(r.word(i + lead)); m != nil {
		f.Date = r.calendar(i+lead, i+lead+1, atoi(m[1]), atoi(m[2]), atoi(m[3]))
		if m[3] == "" {
			f.Date.Day = 0
		}
		return lead + 1
	}
	m := yearLast().FindStringSubmatch(r.word(i + lead))
	if m == nil {
		return 0
	}
	first := r.ahead && i == 0 && (m[2] == "/" || m[5] != "")
	if m[4] == "" && lead == 0 && !r.alone && !first {
		return 0
	}
	year, month, day := atoi(m[4]), atoi(m[3]), atoi(m[1])
	swapped := month > 12 && (m[2] == "/" || year != 0 || !r.ahead)
	if day <= 12 && (swapped || r.monthFirst && m[2] == "/") {
		day, month = month, day
	}
	if len(m[4]) == 2 {
		year += 2000
	}
	f.Date = r.calendar(i+lead, i+lead+1, year, month, day)
	return lead + 1
}

// calendar returns the day of a month that words name. A zero is no day, and no month.
func (r *reader) calendar(from, to, year, month, day int) Day {
	month, day = cmp.Or(month, 13), cmp.Or(day, 32)
	return Day{Kind: OfCalendar, Year: year, Month: time.Month(month), Day: day, Said: r.said(from, to)}
}

// repeatRules read a recurrence.
var repeatRules = []rule{
	{strings.Fields("on? the? day each_month"), func(m match, f *Found) {
		f.Date, f.Repeat = m.dayOfEach("day"), Repeat{Every: Months, N: 1}
	}},
	{strings.Fields("every_unit"), func(m match, f *Found) {
		f.Repeat = Repeat{Every: Unit(m.value("every_unit")), N: 1}
	}},
	{strings.Fields("workdays"), workdays},
	{strings.Fields("on? the? weekdays part?"), eachWeekday},
	{strings.Fields("every each_part"), func(m match, f *Found) {
		f.Repeat, f.Period = Repeat{Every: Days, N: 1}, Period(m.value("each_part"))
	}},
	{strings.Fields("every clock"), func(m match, f *Found) {
		f.Repeat, f.Times = Repeat{Every: Days, N: 1}, []int{m.value("clock")}
	}},
	{strings.Fields("every workday"), workdays},
	{strings.Fields("every weekend"), func(_ match, f *Found) {
		f.Repeat = Repeat{Every: Weeks, N: 1, Weekdays: []time.Weekday{time.Saturday, time.Sunday}}
	}},
	{strings.Fields("every each_weekday part?"), eachWeekday},
	{strings.Fields("every day of? any_month year?"), yearly},
	{strings.Fields("every any_month the? day"), yearly},
	{strings.Fields("every nth of_month?"), func(m match, f *Found) {
		f.Date, f.Repeat = m.dayOfEach("nth"), Repeat{Every: Months, N: 1}
	}},
	{strings.Fields("every_nth day of_month?"), func(m match, f *Found) {
		f.Date, f.Repeat = m.dayOfEach("day"), Repeat{Every: Months, N: 1}
	}},
	{strings.Fields("every count unit"), func(m match, f *Found) {
		f.Repeat = Repeat{Every: Unit(m.value("unit")), N: m.value("count") / 10}
	}},
	{strings.Fields("every compact"), func(m match, f *Found) {
		f.Repeat = Repeat{Every: Unit(m.value("compact") % 10), N: m.value("compact") / 10}
	}},
	{strings.Fields("every long_unit !weekday"), func(m match, f *Found) {
		f.Repeat = Repeat{Every: Unit(m.value("long_unit")), N: 1}
	}},
}

func (m match) dayOfEach(name string) Day {
	p := m.pieces[name]
	return Day{Kind: OfCalendar, Day: p.value, Said: m.said(p.at, p.at+1)}
}

func yearly(m match, f *Found) {
	dated(m, f)
	f.Repeat.Yearly = true
}

func workdays(_ match, f *Found) {
	f.Repeat = Repeat{Every: Weeks, N: 1, Weekdays: weekdaysFrom(time.Monday, time.Friday)}
}

func eachWeekday(m match, f *Found) {
	days := f.Repeat.Weekdays
	for _, name := range []string{"short_weekday", "weekday", "weekdays", "each_weekday"} {
		if m.has(name) {
			days = append(days, time.Weekday(m.value(name)))
		}
	}
	f.Repeat = Repeat{Every: Weeks, N: 1, Weekdays: days}
	f.listed = !m.has("part")
	m.put(f, f.Date)
}

func weekdaysFrom(first, last time.Weekday) []time.Weekday {
	out := []time.Weekday{first}
	for d := first; d != last; out = append(out, d) {
		d = (d + 1) % 7
	}
	return out
}

// moreWeekdays read more weekdays of a recurrence: every Monday and Thursday. Short names are other words, too.
var moreWeekdays = []rule{
	{strings.Fields("and? every? weekday part?"), eachWeekday},
	{strings.Fields("and? every? weekdays part?"), eachWeekday},
	{strings.Fields("and every? short_weekday part?"), eachWeekday},
	{strings.Fields("short_weekday and? each_weekday part?"), eachWeekday},
}

// repeated reads a recurrence: every Monday and Thursday, tous les jours, every 30 minutes, le 1er de chaque mois.
func (r *reader) repeated(i int, f *Found) int {
	listed := f.listed
	f.listed = false
	switch {
	case f.whole():
		return 0
	case listed:
		return r.apply(moreWeekdays, i, f)
	case f.Repeat.Is():
		return 0
	}
	if n := r.weekRange(i, f); n > 0 {
		return n
	}
	return r.apply(repeatRules, i, f)
}

// weekRange reads from Monday to Friday, du lundi au vendredi, Mo–Fr.
func (r *reader) weekRange(i int, f *Found) int {
	lead := max(r.length(i, "from"), r.length(i, "every"))
	first, n := r.first(i+lead, "weekdays", "weekday", "short_weekday")
	to := r.length(i+lead+n, "to")
	last, known := r.first(i+lead+n+to, "weekdays", "weekday", "short_weekday")
	if n == 0 || to == 0 || known == 0 {
		return 0
	}
	f.Repeat = Repeat{Every: Weeks, N: 1, Weekdays: weekdaysFrom(time.Weekday(first), time.Weekday(last))}
	return lead + n + to + known
}

var hourMin = text.Pattern(`^(\d{1,3})h(\d{2})(?:min|m)?$`)

// span reads a time from now: in 20 minutes, dans une heure et demie, 2 days from now; at the start of a text also
// 20 min. A time goes on with another amount.
func (r *reader) span(i int, f *Found) int {
	if r.going && f.span && !f.timed() {
		and := r.length(i, "and")
		if n := r.amount(i+and, f); n > 0 {
			return and + n
		}
		n := r.length(i, "and_half")
		if f.Delta > 0 && n > 0 {
			f.Delta += 30 * time.Minute
			return n
		}
		return r.length(i, "from_now")
	}
	if f.Date.Kind != NoDay || f.whole() || f.Times != nil || f.Repeat.Is() || r.apply(agoRules, i, &Found{}) > 0 {
		return 0
	}
	lead := r.length(i, "in")
	var g Found
	n := r.amount(i+lead, &g)
	alone := i == 0 && !r.going && len(r.word(i+n-1)) > 1 && !r.has(i+n-1, "oclock") && !hTime().MatchString(r.word(i))
	if n == 0 || lead == 0 && !alone && r.length(i+n, "from_now") == 0 {
		return 0
	}
	f.Date, f.Delta, f.span = g.Date, g.Delta, true
	return lead + n
}

// amount reads one amount of time: 20 minutes, an hour, 1h30, 2.5 hours, half an hour.
func (r *reader) amount(i int, f *Found) int {
	if minutes, n := r.is(i, "length"); n > 0 {
		f.Delta += time.Duration(minutes) * time.Minute
		return n
	}
	w := r.word(i)
	if m := hourMin().FindStringSubmatch(w); m != nil {
		f.Delta += time.Duration(atoi(m[1]))*time.Hour + time.Duration(atoi(m[2]))*time.Minute
		return 1
	}
	if v, n := r.compact(i); n > 0 {
		f.after(v-v%10, Unit(v%10))
		return n
	}
	v, n := r.count(i)
	u, k := r.is(i+n, "unit")
	if n == 0 || k == 0 || Unit(u) == Weekends {
		return 0
	}
	f.after(v, Unit(u))
	return n + k
}

// after moves the time of f by tenths of a unit. Days keep the time of day.
func (f *Found) after(tenths int, u Unit) {
	switch n := tenths / 10; u {
	case Seconds, Minutes, Hours:
		f.Delta += time.Duration(tenths) * []time.Duration{time.Second, time.Minute, time.Hour}[u-Seconds] / 10
	case Days:
		f.Date.Days += n
	case Weeks:
		f.Date.Days += 7 * n
	case Months:
		f.Date.Months += n
	case Years:
		f.Date.Years += n
	}
	if u >= Days {
		f.Date.Kind = Relative
	}
}

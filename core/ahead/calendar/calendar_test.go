package calendar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/everthread/everthread/core/ahead/source"
)

func zoneOf(t *testing.T, name string) *time.Location {
	t.Helper()
	l, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// on reads a calendar of these lines, and returns its events between two local times in Berlin, one line each.
func on(t *testing.T, from, to string, lines ...string) []string {
	t.Helper()
	return shown(t, from, to, "BEGIN:VCALENDAR\r\n"+strings.Join(lines, "\r\n")+"\r\nEND:VCALENDAR\r\n")
}

func shown(t *testing.T, from, to, file string) []string {
	t.Helper()
	berlin := zoneOf(t, "Europe/Berlin")
	at := func(s string) time.Time {
		d, err := time.ParseInLocation("2006-01-02", s, berlin)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	got, err := Read(t.Context(), strings.NewReader(file), at(from), at(to), berlin)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range got.Events {
		form := "2006-01-02 15:04"
		if e.AllDay {
			form = "2006-01-02"
		}
		line := e.Start.Format(form) + " – " + e.End.Format(form) + " " + e.Title
		if e.Place != "" {
			line += " @ " + e.Place
		}
		out = append(out, line)
	}
	if got.Bad > 0 {
		out = append(out, fmt.Sprintf("%d bad", got.Bad))
	}
	return out
}

func event(lines ...string) string {
	return "BEGIN:VEVENT\r\n" + strings.Join(lines, "\r\n") + "\r\nEND:VEVENT"
}

// TestRead holds what calendars of real services have, each with what people expect of it.
func TestRead(t *testing.T) {
	t.Parallel()
	const day, next = "2026-11-24", "2026-11-25" // a Tuesday
	custom := strings.Join([]string{"BEGIN:VTIMEZONE", "TZID:Customized Time Zone", "BEGIN:STANDARD", "DTSTART:16010101T030000",
		"TZOFFSETFROM:+0300", "TZOFFSETTO:+0200", "RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10", "END:STANDARD", "BEGIN:DAYLIGHT",
		"DTSTART:16010101T020000", "TZOFFSETFROM:+0200", "TZOFFSETTO:+0300", "RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3",
		"END:DAYLIGHT", "END:VTIMEZONE"}, "\r\n")
	weekly := []string{"UID:w", "SUMMARY:Team", "DTSTART;TZID=Europe/Berlin:20261006T100000", "DTEND;TZID=Europe/Berlin:20261006T110000",
		"RRULE:FREQ=WEEKLY;BYDAY=TU"}
	change := func(lines ...string) string { return event(append([]string{"UID:w"}, lines...)...) }
	tests := []struct {
		name     string
		from, to string
		lines    []string
		want     []string
	}{
		{"one in UTC", day, next, []string{event("SUMMARY:Dentist", "LOCATION:Main St. 1\\, 2nd floor", "DTSTART:20261124T080000Z", "DTEND:20261124T083000Z")},
			[]string{"2026-11-24 09:00 – 2026-11-24 09:30 Dentist @ Main St. 1, 2nd floor"}},
		{"without a zone it is the person's", day, next, []string{event("SUMMARY:Run", "DTSTART:20261124T070000", "DURATION:PT45M")},
			[]string{"2026-11-24 07:00 – 2026-11-24 07:45 Run"}},
		{"a foreign zone", day, next, []string{event("SUMMARY:Call", "DTSTART;TZID=America/New_York:20261124T090000", "DURATION:PT1H")},
			[]string{"2026-11-24 15:00 – 2026-11-24 16:00 Call"}},
		{"a zone as Outlook names it", day, next, []string{event("SUMMARY:Call", `DTSTART;TZID="W. Europe Standard Time":20261124T090000`)},
			[]string{"2026-11-24 09:00 – 2026-11-24 09:00 Call"}},
		{"a zone with a prefix", day, next, []string{event("SUMMARY:Call", `DTSTART;TZID=/citadel.org/20210210_1/Asia/Kolkata:20261124T133000`)},
			[]string{"2026-11-24 09:00 – 2026-11-24 09:00 Call"}},
		{"a zone that the calendar describes, in winter", day, next, []string{custom, event("SUMMARY:Call", `DTSTART;TZID=Customized Time Zone:20261124T100000`)},
			[]string{"2026-11-24 09:00 – 2026-11-24 09:00 Call"}},
		{"and in summer, after the event", "2026-07-07", "2026-07-08", []string{event("SUMMARY:Call", `DTSTART;TZID=Customized Time Zone:20260707T100000`), custom},
			[]string{"2026-07-07 09:00 – 2026-07-07 09:00 Call"}},
		{"an unknown zone is the person's", day, next, []string{event("SUMMARY:Call", `DTSTART;TZID=Nowhere:20261124T100000`)},
			[]string{"2026-11-24 10:00 – 2026-11-24 10:00 Call"}},
		{"a whole day", day, next, []string{event("SUMMARY:Holiday", "DTSTART;VALUE=DATE:20261124"), event("SUMMARY:Not today", "DTSTART;VALUE=DATE:20261125")},
			[]string{"2026-11-24 – 2026-11-25 Holiday"}},
		{"several days, of which this is one", day, next, []string{event("SUMMARY:Trip", "DTSTART;VALUE=DATE:20261122", "DTEND;VALUE=DATE:20261126"), event("SUMMARY:Over", "DTSTART;VALUE=DATE:20261122", "DTEND;VALUE=DATE:20261124")},
			[]string{"2026-11-22 – 2026-11-26 Trip"}},
		{"over midnight", day, next, []string{event("SUMMARY:Night", "DTSTART:20261123T210000Z", "DTEND:20261124T050000Z"), event("SUMMARY:Ends at midnight", "DTSTART:20261123T210000Z", "DTEND:20261123T230000Z")},
			[]string{"2026-11-23 22:00 – 2026-11-24 06:00 Night"}},
		{"whole days come first", day, next, []string{event("SUMMARY:b", "DTSTART:20261123T230000Z"), event("SUMMARY:a", "DTSTART;VALUE=DATE:20261124")},
			[]string{"2026-11-24 – 2026-11-25 a", "2026-11-24 00:00 – 2026-11-24 00:00 b"}},
		{"weekly over the end of summer time", day, next, []string{event(weekly...)}, []string{"2026-11-24 10:00 – 2026-11-24 11:00 Team"}},
		{"one time taken out", day, next, []string{event(append(weekly, "EXDATE;TZID=Europe/Berlin:20261117T100000,20261124T100000")...)}, nil},
		{"one time taken out as a date", day, next, []string{event(append(weekly, "EXDATE;VALUE=DATE:20261124")...)}, nil},
		{"one time taken out in UTC", day, next, []string{event(append(weekly, "EXDATE:20261124T090000Z")...)}, nil},
		{"one time moved within the day", day, next, []string{change("SUMMARY:Team, later", "RECURRENCE-ID;TZID=Europe/Berlin:20261124T100000", "DTSTART;TZID=Europe/Berlin:20261124T150000", "DURATION:PT30M"), event(weekly...)},
			[]string{"2026-11-24 15:00 – 2026-11-24 15:30 Team, later"}},
		{"one time moved away", day, next, []string{event(weekly...), change("SUMMARY:Team", "RECURRENCE-ID:20261124T090000Z", "DTSTART:20261125T090000Z")}, nil},
		{"one time moved here from far away", day, next, []string{event(weekly...), change("SUMMARY:Moved", "RECURRENCE-ID:20270302T090000Z", "DTSTART:20261124T120000Z"), change("SUMMARY:x", "STATUS:CANCELLED", "RECURRENCE-ID;TZID=Europe/Berlin:20261124T100000", "DTSTART:20261124T090000Z")},
			[]string{"2026-11-24 13:00 – 2026-11-24 13:00 Moved"}},
		{"one time cancelled", day, next, []string{event(weekly...), change("STATUS:CANCELLED", "RECURRENCE-ID;TZID=Europe/Berlin:20261124T100000", "DTSTART;TZID=Europe/Berlin:20261124T100000")}, nil},
		{"this and all later ones moved", day, next, []string{event(weekly...), change("SUMMARY:New", "RECURRENCE-ID;RANGE=THISANDFUTURE;TZID=Europe/Berlin:20261110T100000", "DTSTART;TZID=Europe/Berlin:20261110T143000", "DURATION:PT1H")},
			[]string{"2026-11-24 14:30 – 2026-11-24 15:30 New"}},
		{"but not those before", "2026-11-03", "2026-11-04", []string{event(weekly...), change("SUMMARY:New", "RECURRENCE-ID;RANGE=THISANDFUTURE;TZID=Europe/Berlin:20261110T100000", "DTSTART;TZID=Europe/Berlin:20261110T143000", "DURATION:PT1H")},
			[]string{"2026-11-03 10:00 – 2026-11-03 11:00 Team"}},
		{"an invitation to one time of a series", day, next, []string{change("SUMMARY:Guest", "RECURRENCE-ID:20261124T090000Z", "DTSTART:20261124T090000Z")},
			[]string{"2026-11-24 10:00 – 2026-11-24 10:00 Guest"}},
		{"further dates", day, next, []string{event("SUMMARY:Vet", "DTSTART;TZID=Europe/Berlin:20260101T120000", "RDATE;TZID=Europe/Berlin:20261124T160000", "RDATE;VALUE=PERIOD:20261124T170000Z/PT1H")},
			[]string{"2026-11-24 16:00 – 2026-11-24 16:00 Vet", "2026-11-24 18:00 – 2026-11-24 18:00 Vet"}},
		{"cancelled", day, next, []string{event("SUMMARY:x", "STATUS:CANCELLED", "DTSTART:20261124T080000Z")}, nil},
		{"until a date, which counts", day, next, []string{event("SUMMARY:a", "DTSTART;TZID=Europe/Berlin:20261120T200000", "RRULE:FREQ=DAILY;UNTIL=20261124"), event("SUMMARY:b", "DTSTART;TZID=Europe/Berlin:20261120T210000", "RRULE:FREQ=DAILY;UNTIL=20261123")},
			[]string{"2026-11-24 20:00 – 2026-11-24 20:00 a"}},
		{"until a time in UTC", day, next, []string{event("SUMMARY:a", "DTSTART;TZID=Europe/Berlin:20261120T200000", "RRULE:FREQ=DAILY;UNTIL=20261124T190000Z"), event("SUMMARY:b", "DTSTART;TZID=Europe/Berlin:20261120T200000", "RRULE:FREQ=DAILY;UNTIL=20261124T185959Z")},
			[]string{"2026-11-24 20:00 – 2026-11-24 20:00 a"}},
		{"counted", day, next, []string{event("SUMMARY:a", "DTSTART:20261120T080000Z", "RRULE:FREQ=DAILY;COUNT=5"), event("SUMMARY:b", "DTSTART:20261120T080000Z", "RRULE:FREQ=DAILY;COUNT=4")},
			[]string{"2026-11-24 09:00 – 2026-11-24 09:00 a"}},
		{"the beginning counts though the rule does not name it", day, next, []string{event("SUMMARY:a", "DTSTART:20261118T080000Z", "RRULE:FREQ=DAILY;BYDAY=MO,TU;COUNT=3"), event("SUMMARY:b", "DTSTART:20261118T080000Z", "RRULE:FREQ=DAILY;BYDAY=MO,TU;COUNT=2")},
			[]string{"2026-11-24 09:00 – 2026-11-24 09:00 a"}},
		{"a birthday since 1604", day, next, []string{event("SUMMARY:Grace", "DTSTART;VALUE=DATE:16041124", "RRULE:FREQ=YEARLY")},
			[]string{"2026-11-24 – 2026-11-25 Grace"}},
		{"every second week, with the week's beginning", day, next, []string{event("SUMMARY:a", "DTSTART:20261117T080000Z", "RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST=SU"), event("SUMMARY:b", "DTSTART:20261108T080000Z", "RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST=SU")},
			[]string{"2026-11-24 09:00 – 2026-11-24 09:00 b"}},
		{"the last working day of the month", "2026-11-30", "2026-12-01", []string{event("SUMMARY:Invoices", "DTSTART;VALUE=DATE:20260130", "RRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1")},
			[]string{"2026-11-30 – 2026-12-01 Invoices"}},
		{"in the hour that is skipped", "2026-03-29", "2026-03-30", []string{event("SUMMARY:a", "DTSTART;TZID=Europe/Berlin:20260327T023000", "DURATION:PT1H", "RRULE:FREQ=DAILY")},
			[]string{"2026-03-29 03:30 – 2026-03-29 04:30 a"}},
		{"in the hour that comes twice", "2026-10-25", "2026-10-26", []string{event("SUMMARY:a", "DTSTART;TZID=Europe/Berlin:20261024T023000", "DURATION:PT1H", "RRULE:FREQ=DAILY")},
			[]string{"2026-10-25 02:30 – 2026-10-25 02:30 a"}},
		{"folded lines, also in the middle of a letter", day, next, []string{"BEGIN:VEVENT\r\nSUMMARY:K\xc3\r\n \xa4se\r\n\t und Brot\r\nDTSTART:20261124\r\n T080000Z\r\nEND:VEVENT"},
			[]string{"2026-11-24 09:00 – 2026-11-24 09:00 Käse und Brot"}},
		{"Latin-1 by mistake", day, next, []string{event("SUMMARY:K\xe4se", "DTSTART:20261124T080000Z")}, []string{"2026-11-24 09:00 – 2026-11-24 09:00 Käse"}},
		{"escaped text", day, next, []string{event(`SUMMARY:a\nb\, c\; d\\n`, "DTSTART:20261124T080000Z")}, []string{`2026-11-24 09:00 – 2026-11-24 09:00 a b, c; d\n`}},
		{"what is in an alarm is not of the event", day, next, []string{event("SUMMARY:a", "DTSTART:20261124T080000Z", "BEGIN:VALARM", "SUMMARY:alarm", "DURATION:P1D", "END:VALARM")},
			[]string{"2026-11-24 09:00 – 2026-11-24 09:00 a"}},
		{"to-dos are no appointments", day, next, []string{"BEGIN:VTODO\r\nSUMMARY:a\r\nDTSTART:20261124T080000Z\r\nEND:VTODO"}, nil},
		{"what cannot be understood is counted", day, next, []string{event("SUMMARY:a", "DTSTART:tomorrow"), event("SUMMARY:b"), event("SUMMARY:c", "DTSTART:20261124T080000Z", "RRULE:FREQ=SOMETIMES"), event("SUMMARY:d", "DTSTART:20261124T090000Z", "DTEND:20261123T090000Z")},
			[]string{"2026-11-24 09:00 – 2026-11-24 09:00 c", "2026-11-24 10:00 – 2026-11-24 10:00 d", "3 bad"}},
		{"hours that are never reached", day, next, []string{event("SUMMARY:a", "DTSTART:20261101T090000Z", "RRULE:FREQ=HOURLY;INTERVAL=24;BYHOUR=3"), event("SUMMARY:b", "DTSTART:20261101T090000Z", "RRULE:FREQ=SECONDLY;INTERVAL=2;BYSECOND=1,3"), event("SUMMARY:c", "DTSTART:20261101T090000Z", "RRULE:FREQ=MINUTELY;INTERVAL=10;BYHOUR=8;BYMINUTE=30")},
			[]string{"2026-11-24 09:30 – 2026-11-24 09:30 c"}},
		{"twice the same", day, next, []string{event("UID:1", "SUMMARY:a", "DTSTART:20261124T080000Z"), event("UID:1", "SUMMARY:a", "DTSTART:20261124T080000Z")},
			[]string{"2026-11-24 09:00 – 2026-11-24 09:00 a"}},
		{"controls in a title", day, next, []string{event("SUMMARY:a\u202eb\x1b[2Jc", "DTSTART:20261124T080000Z")}, []string{"2026-11-24 09:00 – 2026-11-24 09:00 a b[2Jc"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := on(t, tt.from, tt.to, tt.lines...); !slices.Equal(got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

func TestRead_takesAnyForm(t *testing.T) {
	t.Parallel()
	file := "BEGIN:VCALENDAR\n" + strings.ReplaceAll(event("SUMMARY:Käse", "DTSTART:20261124T080000Z"), "\r\n", "\n") + "\nEND:VCALENDAR"
	wide := "\xff\xfe"
	for _, u := range utf16.Encode([]rune(file)) {
		wide += string([]byte{byte(u), byte(u >> 8)})
	}
	want := []string{"2026-11-24 09:00 – 2026-11-24 09:00 Käse"}
	for name, form := range map[string]string{"LF": file, "with a mark": "\ufeff" + file, "in UTF-16": wide, "cut off": file[:len(file)-14],
		"empty lines": "\r\n\r\n" + strings.ReplaceAll(file, "\n", "\r\n\r\n"), "two in one file": file + "\n" + file} {
		if got := shown(t, "2026-11-24", "2026-11-25", form); !slices.Equal(got, want) {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

func TestRead_saysWhatIsNoCalendar(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"<!doctype html><html><body>Sign in</body></html>", "", "{}", "\x00\x01\x02", strings.Repeat("a", 1<<20),
		"BEGIN:VCARD\nEND:VCARD"} {
		if _, err := Read(t.Context(), strings.NewReader(file), time.Now(), time.Now(), time.UTC); !errors.Is(err, source.NoCalendar) {
			t.Errorf("%.20q: %v", file, err)
		}
	}
}

// many is an endless calendar, or one of n events.
type many struct {
	n, at int
	one   func(n int) string
	rest  string
}

func (m *many) Read(p []byte) (int, error) {
	for m.rest == "" {
		if m.at > m.n {
			return 0, io.EOF
		}
		m.rest = m.one(m.at)
		m.at++
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

func TestRead_isBounded(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)
	read := func(m *many, budget time.Duration) (Found, error) {
		ctx, cancel := context.WithTimeout(t.Context(), budget)
		defer cancel()
		return Read(ctx, m, from, from.AddDate(0, 0, 1), time.UTC)
	}
	of := func(lines func(n int) string) func(int) string {
		return func(n int) string {
			if n == 0 {
				return "BEGIN:VCALENDAR\r\n"
			}
			return fmt.Sprintf("BEGIN:VEVENT\r\nUID:%d\r\nSUMMARY:%d\r\n%s\r\nEND:VEVENT\r\n", n, n, lines(n))
		}
	}
	got, err := read(&many{n: 100_000, one: of(func(n int) string {
		return "DTSTART:" + from.AddDate(0, 0, n/100-900).Format("20060102T150405Z")
	})}, time.Minute)
	if err != nil || len(got.Events) != 100 {
		t.Errorf("100,000 events: %d, %v", len(got.Events), err)
	}
	got, err = read(&many{n: 20_000, one: of(func(n int) string {
		return fmt.Sprintf("DTSTART;TZID=Europe/Berlin:19700101T120000\r\nRRULE:FREQ=YEARLY;BYMONTH=%d;BYMONTHDAY=24", n%12+1)
	})}, time.Minute)
	if err != nil || len(got.Events) != 1666 {
		t.Errorf("20,000 endless series: %d, %v", len(got.Events), err)
	}
	for _, rule := range []string{"FREQ=SECONDLY;COUNT=2000000000", "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30",
		"FREQ=SECONDLY", "FREQ=DAILY;INTERVAL=9223372036854775807", "FREQ=YEARLY;BYSETPOS=366;BYHOUR=1,2,3,4,5,6,7,8;BYMINUTE=1,2,3,4,5;BYSECOND=1,2,3"} {
		begun := time.Now()
		_, err := read(&many{n: 1 << 30, one: of(func(int) string { return "DTSTART:19000101T000000Z\r\nRRULE:" + rule })}, time.Second)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) > 20*time.Second {
			t.Errorf("%s without an end: %v after %v", rule, err, time.Since(begun))
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20261124T080000Z\nRRULE:FREQ=MONTHLY;BYDAY=-1FR\nEXDATE:20261125\nEND:VEVENT\n")
	f.Add("BEGIN:VCALENDAR\nBEGIN:VTIMEZONE\nTZID:x\nBEGIN:STANDARD\nDTSTART:20000101T000000\nTZOFFSETTO:+01\nEND:STANDARD\nEND:VTIMEZONE\n")
	from := time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, file string) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		got, _ := Read(ctx, strings.NewReader(file), from, from.AddDate(0, 0, 31), time.UTC)
		for _, e := range got.Events {
			if e.End.Before(e.Start) || strings.ContainsAny(e.Title+e.Place, "\n\r\x1b") {
				t.Errorf("%+v", e)
			}
		}
	})
}

// Package times knows the names of months and weekdays, and reads the dates and times that people and models write: Find
// a time ahead, Spans the earlier days that a question names, Date one day. All three know the same words. It is pure.
package times

import (
	"fmt"
	"time"

	"github.com/everthread/everthread/core/text/i18n"
)

// calendar holds the names of a language, and the forms of its dates.
type calendar struct {
	Months, Weekdays []string
	Date             string // weekday, day, month
	First, Others    string // the days of a month; Others: number
	Today, Yesterday string
}

var calendarOf = i18n.In[calendar]("calendar")

// MonthName returns the name of a month in the language of a tag.
func MonthName(m time.Month, tag string) string { return calendarOf(tag).Months[m-1] }

// WeekdayName returns the name of a weekday in the language of a tag.
func WeekdayName(d time.Weekday, tag string) string { return calendarOf(tag).Weekdays[d] }

// DayOfMonth returns a day of the month as written in a date: 1er, 2.
func DayOfMonth(day int, tag string) string {
	if day == 1 {
		return calendarOf(tag).First
	}
	return fmt.Sprintf(calendarOf(tag).Others, day)
}

// DateName returns a date with its weekday, without its year: Thursday 19 November.
func DateName(t time.Time, tag string) string {
	weekday, month := WeekdayName(t.Weekday(), tag), MonthName(t.Month(), tag)
	return fmt.Sprintf(calendarOf(tag).Date, weekday, DayOfMonth(t.Day(), tag), month)
}

// TodayName returns the name of today.
func TodayName(tag string) string { return calendarOf(tag).Today }

// YesterdayName returns the name of yesterday.
func YesterdayName(tag string) string { return calendarOf(tag).Yesterday }

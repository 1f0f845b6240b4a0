package office

import (
	"strconv"
	"time"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core/when"
	"github.com/everthread/everthread/core/words"
)

// chart is a bar chart of days, whose bars may be stacked. A table beside it holds the
// same numbers.
type chart struct {
	Label               string
	Bars                []bar
	Limit               string // height of the budget's line; empty: none
	Top                 string // value at the upper edge
	First, Middle, Last string // days
	Legend              []legend
}

// bar is a rectangle in an area of 300 by 100.
type bar struct {
	X, Y, Height string
	Class        int
	Title        string
}

type legend struct {
	Class int
	Name  string
}

// Sizes of a chart: ten units for each of the days.
const (
	barStep   = 10
	barHeight = 100
)

// chart returns the chart of values by day, from the day labelled from through today.
// Each day has one value per stacked series.
func (r *Room) chart(v *web.Visit, from string, values map[string][]int, limit int, label string) chart {
	c := chart{Label: label}
	start, err := time.Parse(time.DateOnly, from)
	if err != nil {
		return c
	}
	most := limit
	for _, day := range values {
		sum := 0
		for _, n := range day {
			sum += n
		}
		most = max(most, sum)
	}
	top := roundUp(most)
	c.Top = words.Number(v.Lang, top)
	if limit > 0 {
		c.Limit = decimal(barHeight - float64(limit)*barHeight/float64(top))
	}
	for i := range usageDays {
		label := start.AddDate(0, 0, i).Format(time.DateOnly)
		c.Bars = append(c.Bars, stack(v, i, values[label], top, label)...)
	}
	name := func(i int) string { return shortDay(v, start.AddDate(0, 0, i)) }
	c.First, c.Middle, c.Last = name(0), name(usageDays/2), name(usageDays-1)
	return c
}

// stack returns the bars of one day.
func stack(v *web.Visit, day int, values []int, top int, label string) []bar {
	var out []bar
	below := 0
	for class, n := range values {
		if n <= 0 {
			continue
		}
		below += n
		y := barHeight - float64(below)*barHeight/float64(top)
		out = append(out, bar{X: strconv.Itoa(day*barStep + 1), Y: decimal(y),
			Height: decimal(float64(n) * barHeight / float64(top)), Class: class, Title: v.DayName(label) + ": " +
				words.Number(v.Lang, n)})
	}
	return out
}

// shortDay formats a day without its year.
func shortDay(v *web.Visit, t time.Time) string {
	return when.DayOfMonth(t.Day(), v.Lang) + " " + when.MonthName(t.Month(), v.Lang)
}

func decimal(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }

// roundUp returns the next number that is easy to read.
func roundUp(n int) int {
	for step := 1; ; step *= 10 {
		for _, k := range []int{10, 12, 15, 20, 25, 30, 40, 50, 60, 80} {
			if n <= k*step {
				return k * step
			}
		}
	}
}

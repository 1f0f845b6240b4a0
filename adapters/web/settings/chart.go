package settings

import (
	"strconv"
	"time"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/text/times"
)

// chart is a bar chart of the days of a month, whose bars may be stacked. A table beside it holds the same numbers.
type chart struct {
	Label               string
	Width               int // ten for each day
	Bars                []bar
	Limit               string // height of the budget's line; empty: none
	Top                 string // value at the upper edge
	First, Middle, Last string // days
	Legend              []legend
}

// bar is a rectangle in an area that is 100 high.
type bar struct {
	X, Y, Height string
	Class        int
	Title        string
}

// legend names a series. The colour of its bars is its class.
type legend struct {
	Class int
	Name  string
}

// Sizes of a chart.
const barStep, barHeight = 10, 100

// chart returns the chart of values by day in a month. Each day has one value for each series of the legend, which are
// stacked.
func (r *Room) chart(v *web.Visit, m month, values map[string][]int, series []legend, limit int, label string) chart {
	c := chart{Label: label, Legend: series, Width: m.days() * barStep}
	most := limit
	for _, day := range values {
		sum := 0
		for _, n := range day {
			sum += n
		}
		most = max(most, sum)
	}
	top := roundUp(most)
	c.Top = i18n.Number(v.Lang, top)
	if limit > 0 {
		c.Limit = decimal(barHeight - float64(limit)*barHeight/float64(top))
	}
	for i := range m.days() {
		c.Bars = append(c.Bars, stack(v, i, values[m.label(i)], series, top, m.label(i))...)
	}
	name := func(i int) string { return shortDay(v, m.begin.AddDate(0, 0, i)) }
	c.First, c.Middle, c.Last = name(0), name(m.days()/2), name(m.days()-1)
	return c
}

func stack(v *web.Visit, day int, values []int, series []legend, top int, label string) []bar {
	var out []bar
	below := 0
	for i, n := range values {
		if n <= 0 {
			continue
		}
		below += n
		y := barHeight - float64(below)*barHeight/float64(top)
		out = append(out, bar{X: strconv.Itoa(day*barStep + 1), Y: decimal(y),
			Height: decimal(float64(n) * barHeight / float64(top)), Class: series[i].Class, Title: v.DayName(label) + ", " +
				series[i].Name + ": " + i18n.Number(v.Lang, n)})
	}
	return out
}

func shortDay(v *web.Visit, t time.Time) string {
	return times.DayOfMonth(t.Day(), v.Lang) + " " + times.MonthName(t.Month(), v.Lang)
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

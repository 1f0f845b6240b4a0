package settings

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/text/times"
)

const (
	usageDays     = 30        // days of usage shown
	exportTime    = time.Hour // until a client must have read an export
	exportsAtOnce = 8         // of everybody
)

func (r *Room) dataRoutes() []web.Route {
	return []web.Route{
		{Pattern: "GET /settings/export", Serve: r.export},
		{Pattern: "POST /settings/export", Serve: r.export},
		{Pattern: "POST /settings/delete", Serve: r.deleteMe},
		{Pattern: "POST /settings/data", Serve: r.traces},
	}
}

type usageView struct {
	Chart        chart
	Days         []usageDay
	Sum          usageDay
	Cost         bool
	Today, Limit string
	Used, Budget int // of today; Budget 0: unlimited
	None         bool
}

type usageDay struct{ Day, Read, Cached, Written, Turns, Cost string }

func (r *Room) fillUsage(v *web.Visit, page *settingsView) error {
	from := usageFrom(v)
	all, err := r.Store.UsageDays(v.Context(), v.User.ID, from, v.Today.Label)
	if err != nil {
		return fmt.Errorf("read usage: %w", err)
	}
	p := &page.Usage
	p.Cost, p.None, p.Budget = r.Prices.known(), len(all) == 0, r.TokensPerDay
	var sum store.UsageDay
	var tasks int
	values := map[string][]int{}
	for _, d := range all {
		p.Days = append(p.Days, r.usageRow(v, d, v.DayName(d.Day)))
		sum = plus(sum, d)
		values[d.Day] = []int{d.Usage.Prompt + d.Usage.Completion}
		if d.Day == v.Today.Label {
			p.Used, tasks = d.Usage.Prompt+d.Usage.Completion, d.Tasks
		}
	}
	p.Sum = r.usageRow(v, sum, v.Words.Total)
	p.Today = fmt.Sprintf(say(v.Lang).Settings.UsageToday, i18n.Number(v.Lang, p.Used))
	if p.Budget > 0 {
		p.Today = fmt.Sprintf(say(v.Lang).Settings.UsageBudget, i18n.Number(v.Lang, p.Used), i18n.Number(v.Lang, p.Budget))
	}
	if tasks > 0 {
		p.Today += " " + fmt.Sprintf(say(v.Lang).Settings.UsageTasks, i18n.Number(v.Lang, tasks))
	}
	p.Chart = r.chart(v, from, values, p.Budget, say(v.Lang).Settings.Usage)
	return nil
}

// usageFrom returns the label of the first displayed day.
func usageFrom(v *web.Visit) string {
	today, err := time.Parse(time.DateOnly, v.Today.Label)
	if err != nil {
		return v.Today.Label
	}
	return today.AddDate(0, 0, 1-usageDays).Format(time.DateOnly)
}

func plus(a, b store.UsageDay) store.UsageDay {
	a.Usage = a.Usage.Add(b.Usage)
	a.Turns += b.Turns
	return a
}

func (r *Room) usageRow(v *web.Visit, d store.UsageDay, name string) usageDay {
	n := func(x int) string { return i18n.Number(v.Lang, x) }
	return usageDay{name, n(d.Usage.Prompt), n(d.Usage.Cached), n(d.Usage.Completion), n(d.Turns), r.money(v, d.Usage)}
}

func (p Prices) known() bool { return p.Prompt > 0 || p.Cached > 0 || p.Completion > 0 }

func (p Prices) of(u core.Usage) float64 {
	return (float64(max(0, u.Prompt-u.Cached))*p.Prompt + float64(u.Cached)*p.Cached +
		float64(u.Completion)*p.Completion) / 1e6
}

// money formats the cost of usage; empty: prices are not known.
func (r *Room) money(v *web.Visit, u core.Usage) string {
	p := r.Prices
	if !p.known() {
		return ""
	}
	cost := p.of(u)
	s := i18n.Decimal(v.Lang, cost, 2)
	if cost > 0 && cost < 0.01 {
		s = "< " + i18n.Decimal(v.Lang, 0.01, 2)
	}
	return s + "\u00a0" + p.Currency
}

func (r *Room) fillData(v *web.Visit, page *settingsView) (err error) {
	page.Owner = v.User.Role == core.RoleOwner
	page.ExportAbout, err = r.exportAbout(v)
	return err
}

// exportAbout describes the size of an export, as the stream has no known length.
func (r *Room) exportAbout(v *web.Visit) (string, error) {
	const page, pages = 500, 40
	messages, before := 0, ""
	for range pages {
		days, err := r.Store.Days(v.Context(), v.User.ID, before, page)
		if err != nil {
			return "", fmt.Errorf("count messages: %w", err)
		}
		for _, d := range days {
			messages, before = messages+d.Messages, d.Day.Label
		}
		if len(days) < page {
			break
		}
	}
	w := say(v.Lang).Settings
	about := v.Words.Messages.Of(messages)
	files, bytes := r.attachments(v)
	if files == 0 {
		return fmt.Sprintf(w.ExportAbout, about), nil
	}
	return fmt.Sprintf(w.ExportAboutFiles, about, say(v.Lang).Attachments.Of(files), web.Size(v.Lang, bytes)), nil
}

// attachments counts the files in the visitor's folder and their bytes; zero if it cannot be read.
func (r *Room) attachments(v *web.Visit) (n int, bytes int64) {
	entries, err := os.ReadDir(filepath.Join(r.MediaDir, strconv.FormatInt(int64(v.User.ID), 10)))
	if err != nil {
		return 0, 0
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && !strings.HasPrefix(e.Name(), ".") {
			n, bytes = n+1, bytes+info.Size()
		}
	}
	return n, bytes
}

// export streams all of the visitor's data as a ZIP file. Few run at a time, as each reads a whole conversation.
func (r *Room) export(v *web.Visit) error {
	if sure, err := r.sure(v, effect.AccountSubject{Change: effect.ChangeExport}, "/settings#data"); err != nil || !sure {
		return err
	}
	if !r.exports.take(v.User.ID) {
		return &web.Fault{Status: http.StatusTooManyRequests, Text: say(v.Lang).Settings.ExportBusy,
			After: time.Minute}
	}
	defer r.exports.leave(v.User.ID)
	if err := http.NewResponseController(v.W).SetWriteDeadline(time.Now().Add(exportTime)); err != nil &&
		!errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("export: %w", err)
	}
	name := "everthread-" + web.FileName(strings.ReplaceAll(strings.ToLower(v.User.Name), " ", "-")) + "-" +
		v.Today.Label + ".zip"
	file := &download{to: v.W, begin: func() {
		v.W.Header().Set("Content-Type", "application/zip")
		v.W.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	}}
	err := r.Engine.Export(v.Context(), file, v.User.ID)
	if err == nil || file.begin != nil {
		return err
	}
	if v.Context().Err() == nil {
		r.Log.Error("export failed", zap.Int64("user", int64(v.User.ID)), zap.Error(err))
	}
	panic(http.ErrAbortHandler) // an incomplete file must not look complete
}

// download writes a file to a client. It calls begin before the first byte, and then sets it to nil.
type download struct {
	to    io.Writer
	begin func()
}

func (d *download) Write(b []byte) (int, error) {
	if d.begin != nil {
		d.begin()
		d.begin = nil
	}
	return d.to.Write(b)
}

// chart is a bar chart of days, whose bars may be stacked. A table beside it holds the same numbers.
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
const barStep, barHeight = 10, 100

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
	c.Top = i18n.Number(v.Lang, top)
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
				i18n.Number(v.Lang, n)})
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

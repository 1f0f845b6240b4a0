package web

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

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/words"
)

// usageDays is how many days of usage are shown.
const usageDays = 30

// exportTime bounds how long an export may take to be read.
const exportTime = time.Hour

// How many exports are written at once, of one person and of all.
const (
	exportsEach   = 1
	exportsAtOnce = 8
)

func (c *Channel) dataRoutes() []route {
	var all []route
	if c.Settings.Export != nil {
		all = append(all, route{Pattern: "GET /settings/export", Serve: (*visit).export})
	}
	if c.Settings.Delete != nil {
		all = append(all, route{Pattern: "POST /settings/delete", Serve: (*visit).deleteMe})
	}
	if c.Settings.Traces != nil {
		all = append(all, route{Pattern: "POST /settings/data", Serve: (*visit).traces})
	}
	return all
}

// usageView is what a person used.
type usageView struct {
	Chart        chart
	Days         []usageDay
	Sum          usageDay
	Cost         bool
	Today, Limit string
	Used, Budget int // of today; Budget 0: there is none
	None         bool
}

// usageDay is a row of the table.
type usageDay struct{ Day, Read, Cached, Written, Turns, Cost string }

func (v *visit) fillUsage(page *settingsView) error {
	from := v.usageFrom()
	all, err := v.Settings.Store.UsageDays(v.ctx(), v.user.ID, from, v.today.Label)
	if err != nil {
		return fmt.Errorf("read usage: %w", err)
	}
	p := &page.Usage
	p.Cost, p.None, p.Budget = v.Prices.known(), len(all) == 0, v.Settings.TokensPerDay
	var sum core.UsageDay
	values := map[string][]int{}
	for _, d := range all {
		p.Days = append(p.Days, v.usageRow(d, v.dayName(d.Day)))
		sum = plus(sum, d)
		values[d.Day] = []int{d.Usage.Prompt + d.Usage.Completion}
		if d.Day == v.today.Label {
			p.Used = d.Usage.Prompt + d.Usage.Completion
		}
	}
	p.Sum = v.usageRow(sum, v.words.WhyTotal)
	p.Today = fmt.Sprintf(v.words.Settings.UsageToday, words.Number(v.lang, p.Used))
	if p.Budget > 0 {
		p.Today = fmt.Sprintf(v.words.Settings.UsageBudget, words.Number(v.lang, p.Used), words.Number(v.lang, p.Budget))
	}
	p.Chart = v.chart(from, values, p.Budget, v.words.Settings.Usage)
	return nil
}

// usageFrom is the first day of those that are shown.
func (v *visit) usageFrom() string {
	today, err := time.Parse(time.DateOnly, v.today.Label)
	if err != nil {
		return v.today.Label
	}
	return today.AddDate(0, 0, 1-usageDays).Format(time.DateOnly)
}

func plus(a, b core.UsageDay) core.UsageDay {
	a.Usage.Prompt += b.Usage.Prompt
	a.Usage.Cached += b.Usage.Cached
	a.Usage.Completion += b.Usage.Completion
	a.Turns += b.Turns
	return a
}

func (v *visit) usageRow(d core.UsageDay, name string) usageDay {
	n := func(x int) string { return words.Number(v.lang, x) }
	return usageDay{name, n(d.Usage.Prompt), n(d.Usage.Cached), n(d.Usage.Completion), n(d.Turns), v.money(d.Usage)}
}

// known reports whether there are any prices.
func (p Prices) known() bool { return p.Prompt > 0 || p.Cached > 0 || p.Completion > 0 }

// of is what usage cost.
func (p Prices) of(u core.Usage) float64 {
	return (float64(max(0, u.Prompt-u.Cached))*p.Prompt + float64(u.Cached)*p.Cached +
		float64(u.Completion)*p.Completion) / 1e6
}

// money writes what usage cost; empty: nobody knows.
func (v *visit) money(u core.Usage) string {
	p := v.Prices
	if !p.known() {
		return ""
	}
	cost := p.of(u)
	s := words.Decimal(v.lang, cost, 2)
	if cost > 0 && cost < 0.01 {
		s = "< " + words.Decimal(v.lang, 0.01, 2)
	}
	return s + "\u00a0" + p.Currency
}

// exportView is what an export holds, as far as that is known before it is made.
type exportView struct {
	Can   bool
	About string
}

// deleteView is how a person deletes everything.
type deleteView struct{ Can, Owner bool }

func (v *visit) fillData(page *settingsView) (err error) {
	page.Export.Can, page.Traces = v.Settings.Export != nil, v.Settings.Traces != nil
	page.Delete = deleteView{Can: v.Settings.Delete != nil, Owner: v.user.Role == core.RoleOwner}
	if page.Export.Can {
		page.Export.About, err = v.exportAbout()
	}
	return err
}

// exportAbout says how much an export holds: a stream has no length that a browser
// could be told.
func (v *visit) exportAbout() (string, error) {
	const page, pages = 500, 40
	messages, before := 0, ""
	for range pages {
		days, err := v.Store.Days(v.ctx(), v.user.ID, before, page)
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
	w := v.words.Settings
	about := v.words.Messages.Of(messages)
	files, bytes := v.attachments()
	if files == 0 {
		return fmt.Sprintf(w.ExportAbout, about), nil
	}
	return fmt.Sprintf(w.ExportAboutFiles, about, v.words.Attachments.Of(files), size(v.lang, bytes)), nil
}

// attachments counts the files in the visitor's folder, and their bytes. Nobody
// knows how many there are if it cannot be read.
func (v *visit) attachments() (n int, bytes int64) {
	entries, err := os.ReadDir(filepath.Join(v.MediaDir, strconv.FormatInt(int64(v.user.ID), 10)))
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

// export streams everything of the visitor as a ZIP file. A few at a time: each
// reads a whole conversation.
func (v *visit) export() error {
	if sure, err := v.sure(core.AccountSubject{Change: core.ChangeExport}, "/settings#data"); err != nil || !sure {
		return err
	}
	if !v.exports.take(v.user.ID) {
		return &fault{status: http.StatusTooManyRequests, text: func(w *texts) string { return w.Settings.ExportBusy },
			after: time.Minute}
	}
	defer v.exports.leave(v.user.ID)
	if err := http.NewResponseController(v.w).SetWriteDeadline(time.Now().Add(exportTime)); err != nil &&
		!errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("export: %w", err)
	}
	name := "everthread-" + fileName(strings.ReplaceAll(strings.ToLower(v.user.Name), " ", "-")) + "-" +
		v.today.Label + ".zip"
	file := &download{to: v.w, begin: func() {
		v.w.Header().Set("Content-Type", "application/zip")
		v.w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	}}
	err := v.Settings.Export(v.ctx(), file, v.user.ID)
	if err == nil || file.begin != nil {
		return err
	}
	if v.ctx().Err() == nil {
		v.Log.Error("export", zap.Int64("user", int64(v.user.ID)), zap.Error(err))
	}
	panic(http.ErrAbortHandler) // a part of a file must not look like the whole
}

// download is a file that is sent. begin is called before its first byte, and nil then.
type download struct {
	to    io.Writer
	begin func()
}

// Write sends a part.
func (d *download) Write(b []byte) (int, error) {
	if d.begin != nil {
		d.begin()
		d.begin = nil
	}
	return d.to.Write(b)
}

package signal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/text/i18n"
)

// wording holds the operators' texts in one language. The comments list the values for the formatting verbs in order.
type wording struct {
	Daemon         string // address
	Away           string // address, why
	NotSignal      string // address, why
	Version        string // version, day of its release
	VersionOld     string // version, days
	VersionOlder   string // version, days at least
	VersionNewer   string // version
	VersionUnknown string // why
	Account        string // account
	NoAccount      string // account
	Captcha        string // token of the challenge
	Limited        string // until when

	Guide guideWording
}

var say = i18n.In[wording]("signal")

const lookTimeout = 20 * time.Second

// release is a version of signal-cli and the day of its release.
type release struct{ version, day string }

// releases are those of about half a year before the newest known one, oldest first. Signal refuses clients that are
// older than about three months.
var releases = []release{
	{"0.13.23", "2026-01-24"}, {"0.13.24", "2026-02-05"}, {"0.14.0", "2026-03-01"}, {"0.14.1", "2026-03-08"},
	{"0.14.2", "2026-04-04"}, {"0.14.3", "2026-04-22"}, {"0.14.4", "2026-05-23"}, {"0.14.5", "2026-06-11"},
	{"0.14.6", "2026-07-12"},
}

// mostDays is the age in days at which a client is due for an update.
const mostDays = 90

// Diagnose checks the daemon, the age of signal-cli, and with Signal the account.
func (c *Channel) Diagnose(ctx context.Context, language string) []core.Finding {
	w := say(language)
	if f := c.daemon(ctx, w); !f.OK {
		return []core.Finding{f}
	}
	out := []core.Finding{{OK: true, Detail: fmt.Sprintf(w.Daemon, channel.HostOf(c.opts.APIURL))}}
	var version struct {
		Version string `json:"version"`
	}
	anybody := &api{root: c.api.root, http: c.api.http}
	if err := anybody.call(ctx, lookTimeout, "version", nil, maxAnswer, &version); err != nil {
		out = append(out, core.Finding{Detail: fmt.Sprintf(w.VersionUnknown, err)})
	} else {
		out = append(out, judge(w, version.Version, c.now()))
	}
	return append(append(out, c.registered(ctx, w)), c.stopped(ctx, w)...)
}

// stopped returns what keeps the account from sending.
func (c *Channel) stopped(ctx context.Context, w *wording) []core.Finding {
	if c.opts.Keeper == nil {
		return nil
	}
	var l limit
	stored, err := c.opts.Keeper.State(ctx, limitKey)
	if err == nil && stored != "" {
		err = json.Unmarshal([]byte(stored), &l)
	}
	switch {
	case err != nil:
		return []core.Finding{{Detail: err.Error()}}
	case l.Token != "":
		return []core.Finding{{Detail: fmt.Sprintf(w.Captcha, l.Token)}}
	case l.Until.After(c.now()):
		return []core.Finding{{Detail: fmt.Sprintf(w.Limited, l.Until.UTC().Format(time.RFC3339))}}
	}
	return nil
}

// daemon checks that the daemon runs.
func (c *Channel) daemon(ctx context.Context, w *wording) core.Finding {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	host := channel.HostOf(c.opts.APIURL)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.api.root+"/api/v1/check", nil)
	if err != nil {
		return core.Finding{Detail: fmt.Sprintf(w.Away, host, channel.Clean(err, ""))}
	}
	req.Close = true
	got, err := channel.Do(c.opts.HTTP, req, "check", "", maxAnswer)
	switch {
	case err != nil:
		return core.Finding{Detail: fmt.Sprintf(w.Away, host, err)}
	case got.Status != http.StatusOK:
		return core.Finding{Detail: fmt.Sprintf(w.NotSignal, host, &statusError{"check", got.Status})}
	}
	return core.Finding{OK: true}
}

// judge reports whether Signal is likely to accept a version.
func judge(w *wording, version string, now time.Time) core.Finding {
	number := numbers(version)
	f := core.Finding{OK: true}
	oldest, newest := releases[0], releases[len(releases)-1]
	switch {
	case number == nil:
		f.OK, f.Detail = false, fmt.Sprintf(w.VersionUnknown, strconv.Quote(version))
		return f
	case slices.Compare(number, numbers(newest.version)) > 0:
		f.Detail = fmt.Sprintf(w.VersionNewer, version)
		return f
	case slices.Compare(number, numbers(oldest.version)) < 0:
		f.OK, f.Detail = false, fmt.Sprintf(w.VersionOlder, version, oldest.age(now))
		return f
	}
	made := oldest
	for _, r := range releases {
		if slices.Compare(numbers(r.version), number) <= 0 {
			made = r
		}
	}
	if f.OK = made.age(now) <= mostDays; f.OK {
		f.Detail = fmt.Sprintf(w.Version, version, made.day)
	} else {
		f.Detail = fmt.Sprintf(w.VersionOld, version, made.age(now))
	}
	return f
}

// age returns the days since the release.
func (r release) age(now time.Time) int {
	day, err := time.Parse(time.DateOnly, r.day)
	if err != nil {
		return 0
	}
	return int(now.Sub(day).Hours() / 24)
}

// numbers returns the numbers of a version such as 0.14.6 or 0.14.7-SNAPSHOT, or nil.
func numbers(version string) []int {
	version, _, _ = strings.Cut(strings.TrimPrefix(version, "v"), "-")
	var out []int
	for part := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil
		}
		out = append(out, n)
	}
	return out
}

// registered checks that the daemon has the account and that Signal accepts it.
func (c *Channel) registered(ctx context.Context, w *wording) core.Finding {
	f := core.Finding{}
	err := c.api.call(ctx, lookTimeout, "listDevices", nil, maxAnswer, nil)
	switch refused, ok := errors.AsType[*rpcError](err); {
	case err == nil:
		f.OK, f.Detail = true, fmt.Sprintf(w.Account, c.opts.Account)
	case ok && noAccount(refused):
		f.Detail = fmt.Sprintf(w.NoAccount, c.opts.Account) + " (" + refused.Message + ")"
	default:
		f.Detail = err.Error()
	}
	return f
}

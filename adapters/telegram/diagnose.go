package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-telegram/bot/models"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/text/i18n"
)

const lookTimeout = 20 * time.Second

// maxSkew bounds the error of the clock, which determines the day.
const maxSkew = time.Minute

// findings are the texts of Diagnose in one language. The comments list the values for the formatting verbs in order.
type findings struct {
	Bot                      string // its name
	HookElsewhere            string // destination of updates
	HookNone, HookRegistered string // pending updates
	HookLater                string // the channel's URL
	HookFails                string // the channel's URL, why
	ClockOff, ClockGood      string // how far, whose; whose
	Refused                  string // why
	NotTelegram, NotReached  string // where, why
}

// Diagnose checks the bot, the destination of its updates, and the clock.
func (c *Channel) Diagnose(ctx context.Context, language string) []core.Finding {
	w := &say(language).Findings
	var me models.User
	theirs, err := c.look(ctx, w, "getMe", &me)
	if err != nil {
		return []core.Finding{{Detail: err.Error()}}
	}
	out := []core.Finding{{OK: true, Detail: fmt.Sprintf(w.Bot, me.Username)}}
	var hook models.WebhookInfo
	if _, err := c.look(ctx, w, "getWebhookInfo", &hook); err != nil {
		out = append(out, core.Finding{Check: "webhook", Detail: err.Error()})
	} else {
		out = append(out, c.judge(w, hook))
	}
	if !theirs.IsZero() {
		out = append(out, c.clock(w, theirs))
	}
	return out
}

// judge reports whether updates reach this channel.
func (c *Channel) judge(w *findings, hook models.WebhookInfo) core.Finding {
	ours := strings.TrimRight(c.opts.PublicURL, "/") + WebhookPath
	f := core.Finding{Check: "webhook", OK: true}
	switch {
	case c.opts.Mode == "polling" && hook.URL != "":
		f.Detail = fmt.Sprintf(w.HookElsewhere, channel.HostOf(hook.URL))
	case c.opts.Mode == "polling":
		f.Detail = fmt.Sprintf(w.HookNone, hook.PendingUpdateCount)
	case hook.URL != ours:
		f.Detail = fmt.Sprintf(w.HookLater, ours)
	case hook.LastErrorMessage != "" && c.now().Sub(time.Unix(int64(hook.LastErrorDate), 0)) < time.Hour:
		f.OK = false
		f.Detail = fmt.Sprintf(w.HookFails, ours, hook.LastErrorMessage)
	default:
		f.Detail = fmt.Sprintf(w.HookRegistered, hook.PendingUpdateCount)
	}
	return f
}

func (c *Channel) clock(w *findings, theirs time.Time) core.Finding {
	if off := c.now().Sub(theirs).Round(time.Second); off.Abs() > maxSkew {
		return core.Finding{Check: "clock", Detail: fmt.Sprintf(w.ClockOff, off, channel.HostOf(c.opts.APIURL))}
	}
	return core.Finding{Check: "clock", OK: true, Detail: fmt.Sprintf(w.ClockGood, channel.HostOf(c.opts.APIURL))}
}

// look calls a method that changes nothing. It returns the service's clock, zero if unknown. Its errors are *apiError,
// or *netError, whose Left means that another server answered, with the status as Err.
func (a *api) look(ctx context.Context, method string, result any) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	address := strings.TrimRight(a.root, "/") + "/bot" + a.token + "/" + method
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return time.Time{}, &netError{Op: method, Err: errors.New("the URL is invalid")}
	}
	req.Close = true
	resp, err := a.http.Do(req)
	if err != nil {
		return time.Time{}, &netError{Op: method, Err: a.clean(err)}
	}
	defer resp.Body.Close()
	theirs, _ := http.ParseTime(resp.Header.Get("Date"))
	var said answer
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil || json.Unmarshal(raw, &said) != nil {
		return theirs, &netError{Op: method, Left: true, Err: errors.New(resp.Status)}
	}
	if !said.OK {
		return theirs, &apiError{Method: method, Code: resp.StatusCode, Description: said.Description}
	}
	return theirs, json.Unmarshal(said.Result, result)
}

// look is api.look with errors that say what to do, in the language of w.
func (c *Channel) look(ctx context.Context, w *findings, method string, result any) (time.Time, error) {
	theirs, err := c.api.look(ctx, method, result)
	var away *netError
	var refused *apiError
	switch {
	case errors.As(err, &refused):
		err = fmt.Errorf(w.Refused, refused.Description)
	case errors.As(err, &away) && away.Left:
		err = fmt.Errorf(w.NotTelegram, channel.HostOf(c.opts.APIURL), away.Err)
	case away != nil:
		err = fmt.Errorf(w.NotReached, channel.HostOf(c.opts.APIURL), away.Err)
	}
	return theirs, err
}

// App returns the bot's name; t.me opens a chat with it.
func (c *Channel) App(ctx context.Context) (core.App, error) {
	var me models.User
	if _, err := c.look(ctx, &say(i18n.English).Findings, "getMe", &me); err != nil {
		return core.App{}, err
	}
	if me.Username == "" {
		return core.App{}, errors.New("the bot has no name")
	}
	chat := "https://t.me/" + url.PathEscape(me.Username)
	return core.App{
		Channel: Name, Name: "@" + me.Username,
		Link:  func(text string) string { return chat + "?text=" + url.PathEscape(text) },
		Start: func(code string) string { return chat + "?start=" + url.QueryEscape(code) },
	}, nil
}

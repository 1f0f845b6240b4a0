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
)

// lookTimeout bounds one question of Diagnose and App.
const lookTimeout = 20 * time.Second

// maxSkew is how far the clock may be off: "which day is it" bears no more.
const maxSkew = time.Minute

// Diagnose asks who the bot is, where its updates go, and what time it is.
func (c *Channel) Diagnose(ctx context.Context) []core.Finding {
	var me models.User
	theirs, err := c.look(ctx, "getMe", &me)
	if err != nil {
		return []core.Finding{{Detail: err.Error()}}
	}
	out := []core.Finding{{OK: true, Detail: "the bot is @" + me.Username}}
	var hook models.WebhookInfo
	if _, err := c.look(ctx, "getWebhookInfo", &hook); err != nil {
		out = append(out, core.Finding{Check: "webhook", Detail: err.Error()})
	} else {
		out = append(out, c.judge(hook))
	}
	if !theirs.IsZero() {
		out = append(out, c.clock(theirs))
	}
	return out
}

// judge says whether updates come our way.
func (c *Channel) judge(w models.WebhookInfo) core.Finding {
	ours := strings.TrimRight(c.opts.PublicURL, "/") + WebhookPath
	f := core.Finding{Check: "webhook", OK: true}
	switch {
	case c.opts.Mode == "polling" && w.URL != "":
		f.Detail = "updates go to " + host(w.URL) +
			" until `everthread serve` starts: it takes the webhook away and polls"
	case c.opts.Mode == "polling":
		f.Detail = fmt.Sprintf("none, as polling wants it; %d updates wait", w.PendingUpdateCount)
	case w.URL != ours:
		f.Detail = "not registered yet; `everthread serve` registers " + ours
	case w.LastErrorMessage != "" && c.now().Sub(time.Unix(int64(w.LastErrorDate), 0)) < time.Hour:
		f.OK = false
		f.Detail = fmt.Sprintf("Telegram could not deliver to %s: %s; check that http.public_url reaches this server",
			ours, w.LastErrorMessage)
	default:
		f.Detail = fmt.Sprintf("registered; %d updates wait", w.PendingUpdateCount)
	}
	return f
}

// clock compares ours with the service's.
func (c *Channel) clock(theirs time.Time) core.Finding {
	if off := c.now().Sub(theirs).Round(time.Second); off.Abs() > maxSkew {
		return core.Finding{Check: "clock",
			Detail: fmt.Sprintf("it is %s off against %s: set the machine's clock, for example with an NTP service",
				off, host(c.opts.APIURL))}
	}
	return core.Finding{Check: "clock", OK: true, Detail: "agrees with " + host(c.opts.APIURL)}
}

func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// look calls a method that changes nothing. It returns the service's clock, zero if it
// is not known. Errors are *apiError or *netError: Left means that somebody else
// answered, with Err as the status.
func (a *api) look(ctx context.Context, method string, result any) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	address := strings.TrimRight(a.root, "/") + "/bot" + a.token + "/" + method
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return time.Time{}, &netError{Method: method, Err: errors.New("the address is wrong")}
	}
	req.Close = true
	resp, err := a.http.Do(req)
	if err != nil {
		return time.Time{}, &netError{Method: method, Err: a.clean(err)}
	}
	defer resp.Body.Close()
	theirs, _ := http.ParseTime(resp.Header.Get("Date"))
	var said answer
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil || json.Unmarshal(raw, &said) != nil {
		return theirs, &netError{Method: method, Left: true, Err: errors.New(resp.Status)}
	}
	if !said.OK {
		return theirs, &apiError{Method: method, Code: resp.StatusCode, Description: said.Description}
	}
	return theirs, json.Unmarshal(said.Result, result)
}

// look is look of the api, with errors that say what to do.
func (c *Channel) look(ctx context.Context, method string, result any) (time.Time, error) {
	theirs, err := c.api.look(ctx, method, result)
	var away *netError
	var refused *apiError
	switch {
	case errors.As(err, &refused):
		err = fmt.Errorf("telegram refuses the token (%s); get a new one from @BotFather and set channels.telegram.token",
			refused.Description)
	case errors.As(err, &away) && away.Left:
		err = fmt.Errorf("%s does not answer like Telegram (%w); check channels.telegram.api_url",
			host(c.opts.APIURL), away.Err)
	case away != nil:
		err = fmt.Errorf("%s is not reached: %w; check the network and channels.telegram.api_url",
			host(c.opts.APIURL), away.Err)
	}
	return theirs, err
}

// App asks for the name of the bot; t.me opens a chat with it.
func (c *Channel) App(ctx context.Context) (core.App, error) {
	var me models.User
	if _, err := c.look(ctx, "getMe", &me); err != nil {
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

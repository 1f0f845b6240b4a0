package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/adapters/whatsapp/graph"
	"github.com/everthread/everthread/core/channel"
)

const (
	watchEvery = 10 * time.Minute
	firstRetry = time.Second
	lastRetry  = time.Minute
)

// watch checks the account every watchEvery until ctx ends, and sooner if the service
// does not answer.
func (c *Channel) watch(ctx context.Context) {
	retry := firstRetry
	for ctx.Err() == nil {
		err := c.look(ctx)
		if ctx.Err() != nil {
			return
		}
		c.noteLook(err)
		pause := watchEvery
		if _, ok := errors.AsType[*netError](err); ok {
			pause, retry = retry, min(2*retry, lastRetry)
		} else {
			retry = firstRetry
		}
		_ = channel.Pause(ctx, pause)
	}
}

// noteLook records the result of a check, and logs a change.
func (c *Channel) noteLook(err error) {
	before := c.state.err()
	c.state.looked(err)
	switch {
	case err != nil && (before == nil || before.Error() != err.Error()):
		c.log.Warn("whatsapp does not work", zap.Error(err))
	case err == nil && before != nil && c.state.err() == nil:
		c.log.Info("whatsapp works again")
	}
}

// look checks the token, the number and the subscription of its account.
func (c *Channel) look(ctx context.Context) error {
	if _, _, err := c.number(ctx); err != nil {
		return err
	}
	return c.subscribed(ctx)
}

type numberInfo struct {
	Number  string `json:"display_phone_number"`
	Name    string `json:"verified_name"`
	Quality string `json:"quality_rating"`
}

// number looks up the number, which also checks the token. It returns the service's
// clock as well, zero if unknown. Errors say what to do.
func (c *Channel) number(ctx context.Context) (numberInfo, time.Time, error) {
	var n numberInfo
	fields := url.Values{"fields": {"display_phone_number,verified_name,quality_rating"}}
	answer, err := c.get(ctx, "look up the number", c.opts.PhoneNumberID+"?"+fields.Encode(), &n)
	clock, _ := http.ParseTime(answer.Header.Get("Date"))
	if refused, ok := errors.AsType[*apiError](err); ok && classOf(refused) == trouble {
		return n, clock, troubled(refused)
	}
	if err != nil {
		return n, clock, fmt.Errorf("whatsapp: the service does not work as expected: %w", err)
	}
	return n, clock, nil
}

type tokenInfo struct {
	Data struct {
		Scopes  []string `json:"scopes"`
		Expires int64    `json:"expires_at"` // Unix seconds; 0: never
		Granted []struct {
			Scope   string   `json:"scope"`
			Targets []string `json:"target_ids"`
		} `json:"granular_scopes"`
	} `json:"data"`
}

// token looks up the channel's own token.
func (c *Channel) token(ctx context.Context) (tokenInfo, error) {
	var t tokenInfo
	q := url.Values{"input_token": {string(c.opts.AccessToken)}}
	_, err := c.get(ctx, "look up the token", "debug_token?"+q.Encode(), &t)
	return t, err
}

func (c *Channel) get(ctx context.Context, op, path string, result any) (graph.Answer, error) {
	return c.api.Do(ctx, call{Op: op, Method: http.MethodGet, Path: path, Timeout: callTimeout}, result)
}

// accounts returns the business accounts that the token names.
func (t tokenInfo) accounts() []string {
	for _, g := range t.Data.Granted {
		if g.Scope == "whatsapp_business_management" {
			return g.Targets
		}
	}
	return nil
}

// subscribed checks that the number's business account sends webhooks to an app. It
// returns nil if the service does not tell.
func (c *Channel) subscribed(ctx context.Context) error {
	t, err := c.token(ctx)
	if err != nil {
		return nil
	}
	for _, id := range t.accounts() {
		if ours, err := c.owns(ctx, id); err == nil && ours {
			return c.subscribedTo(ctx, id)
		}
	}
	return nil
}

// list is an answer with several objects, of which only the ids are used.
type list struct {
	Data []struct {
		ID string `json:"id"`
	} `json:"data"`
}

// owns reports whether the business account has the channel's number.
func (c *Channel) owns(ctx context.Context, account string) (bool, error) {
	var numbers list
	_, err := c.get(ctx, "list numbers", url.PathEscape(account)+"/phone_numbers?fields=id&limit=100", &numbers)
	for _, n := range numbers.Data {
		if n.ID == c.opts.PhoneNumberID {
			return true, nil
		}
	}
	return false, err
}

func (c *Channel) subscribedTo(ctx context.Context, account string) error {
	var apps list
	_, err := c.get(ctx, "list subscribed apps", url.PathEscape(account)+"/subscribed_apps", &apps)
	if err == nil && len(apps.Data) == 0 {
		return fmt.Errorf("whatsapp: %w", &channel.Trouble{Err: errors.New("subscribed_apps is empty"),
			Advice: func(language string) string { return fmt.Sprintf(say(language).NotSubscribed, account, account) }})
	}
	return nil
}

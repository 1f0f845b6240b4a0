// Package telegram is the Telegram channel: long polling or webhook in, messages with
// entities and files out. It uses the types of go-telegram/bot, but not its poller and
// webhook handler, which acknowledge updates before they are stored.
//
// Policy. An update is acknowledged only after Receiver.Receive returned nil. Unknown updates are passed on as
// core.InUnsupported with their raw bytes, so that they are stored and not offered forever. There is no idempotency
// key: a request that may have arrived is *core.Unknown.
package telegram

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-telegram/bot/models"
	"go.uber.org/zap"

	"github.com/everthread/everthread/configs/section"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/chat/command"
	"github.com/everthread/everthread/core/text/markup"
)

const Name = "telegram"

// maxText is the longest text of one message, in UTF-16 units.
const maxText = 4096

var (
	_ core.Channel    = (*Channel)(nil)
	_ core.Describer  = (*Channel)(nil)
	_ core.Typer      = (*Channel)(nil)
	_ core.Streamer   = (*Channel)(nil)
	_ channel.Handler = (*Channel)(nil)
	_ core.Checker    = (*Channel)(nil)
	_ core.Fetcher    = (*Channel)(nil)
	_ core.Retractor  = (*Channel)(nil)
	_ core.Accounter  = (*Channel)(nil)
	_ core.Diagnoser  = (*Channel)(nil)
	_ core.Linker     = (*Channel)(nil)
)

// Options configure a Channel. Token, HTTP, Log and Now are required. The zero values of the
// others mean the public service, long polling and no rate limit.
type Options struct {
	Config
	PublicURL string // required with webhooks: URL at which the service reaches this server
	HTTP      *http.Client
	Log       *zap.Logger
	Now       func() time.Time
	Commands  []command.Entry // of the command menu
	Groups    bool            // the bot takes part in groups
}

// Channel is one bot account. Its methods may be called concurrently, and Run only by the
// process that holds the account's lease.
type Channel struct {
	channel.State
	opts    Options
	account string
	api     *api
	log     *zap.Logger
	now     func() time.Time
	flood   flood
	// username is the bot's name as a string, once it is known.
	username atomic.Value
}

// New checks opts and returns the channel. It does not use the network. The
// account of its addresses is the bot's id, taken from the token.
func New(opts Options) (*Channel, error) {
	opts.APIURL, opts.Mode = cmp.Or(opts.APIURL, publicAPI), cmp.Or(opts.Mode, "polling")
	if err := opts.check(); err != nil {
		return nil, fmt.Errorf("telegram: %w", err)
	}
	account, _, _ := strings.Cut(string(opts.Token), ":")
	return &Channel{
		opts: opts, account: account, now: opts.Now,
		log: opts.Log.With(zap.String("channel", Name), zap.String("account", account)),
		api: &api{root: strings.TrimRight(opts.APIURL, "/"), token: string(opts.Token), http: opts.HTTP},
	}, nil
}

func (o Options) check() error {
	var p section.Problems
	o.validate(&p)
	if o.Mode == "webhook" {
		if o.PreviousSecret != "" && !secretForm().MatchString(string(o.PreviousSecret)) {
			p.Add("the previous webhook_secret may hold letters, digits, _ and - only")
		}
		if u, err := url.Parse(o.PublicURL); err != nil || u.Host == "" {
			p.Add("mode webhook needs http.public_url, the address at which Telegram reaches this server")
		}
	}
	return p.Err()
}

func (c *Channel) Name() string { return Name }

// Account returns the bot's id.
func (c *Channel) Account() string { return c.account }

func (c *Channel) Capabilities() core.Capabilities {
	return core.Capabilities{MaxText: maxText, Length: markup.UTF16Len, Push: true, Files: true, Voice: true,
		RatePerChat: c.opts.RatePerChat, RatePerAccount: c.opts.RatePerBot}
}

// Run sets the command menu and receives until ctx ends, and then returns nil. With polling it passes updates to r;
// with webhooks it registers and checks the URL, and Routes receives. If the service refuses the token, it returns an
// error that says what to do.
func (c *Channel) Run(ctx context.Context, r core.Receiver) error {
	defer c.opts.HTTP.CloseIdleConnections()
	err := c.start(ctx)
	switch {
	case err != nil:
	case c.opts.Mode == "webhook":
		c.watch(ctx, watchEvery)
	default:
		err = c.poll(ctx, r)
	}
	if ctx.Err() != nil {
		return nil
	}
	c.Report(err)
	return err
}

func (c *Channel) start(ctx context.Context) error {
	var me models.User
	if err := c.retry(ctx, "getMe", struct{}{}, &me); err != nil {
		return err
	}
	c.username.Store(me.Username)
	c.announce(ctx)
	if err := c.route(ctx); err != nil {
		return err
	}
	c.Report(nil)
	c.log.Info("telegram started", zap.String("bot", me.Username), zap.String("mode", c.opts.Mode))
	return nil
}

// route sets or deletes the webhook according to the mode.
func (c *Channel) route(ctx context.Context) error {
	if c.opts.Mode == "webhook" {
		return c.retry(ctx, "setWebhook", webhookParams(c.opts), nil)
	}
	return c.retry(ctx, "deleteWebhook", struct{}{}, nil)
}

// retry calls method until it succeeds, ctx ends or the token is refused.
func (c *Channel) retry(ctx context.Context, method string, params, result any) error {
	for pause := (channel.Backoff{}); ; {
		err := c.api.call(ctx, callTimeout, method, params, result)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if err := hopeless(err); err != nil {
			return fmt.Errorf("start telegram: %w", err)
		}
		c.Report(fmt.Errorf("telegram: %w", err))
		c.log.Warn("telegram does not answer", zap.Error(err))
		pause.Wait(ctx, retryAfterOf(err))
	}
}

// hopeless returns err with advice if retries do not fix it, or nil.
func hopeless(err error) error {
	var refused *apiError
	if !errors.As(err, &refused) {
		return nil
	}
	switch refused.Code {
	case http.StatusUnauthorized:
		return fmt.Errorf(
			"the token was revoked or is wrong; get a new one from @BotFather and set channels.telegram.token: %w", err)
	case http.StatusNotFound:
		return fmt.Errorf(
			"the service does not know this token; check channels.telegram.token and channels.telegram.api_url: %w", err)
	}
	return nil
}

// maxAnswer bounds an answer, in bytes. A full batch of updates is far smaller.
const maxAnswer = 32 << 20

const callTimeout = 30 * time.Second

// api calls the Bot API with JSON bodies, and with forms for files. It uses the types of go-telegram/bot but not its
// client: that one does not say whether a request left, keeps code and description of a refusal only as text, repeats
// nothing on a connection that the service closed, and fails on a delivered message whose answer quotes a kind of
// content that it does not know.
type api struct {
	root  string // without the token
	token string
	http  *http.Client
}

type apiError struct {
	Method      string
	Code        int
	Description string
	RetryAfter  time.Duration
	MigrateTo   int64
}

func (e *apiError) Error() string { return fmt.Sprintf("%s: %d %s", e.Method, e.Code, e.Description) }

type netError = channel.NetError

type answer struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	Code        int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter int   `json:"retry_after"`
		MigrateTo  int64 `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

// call posts params as JSON to method and decodes the result into result unless that is
// nil. Its errors are *apiError or *netError and never contain the token.
func (a *api) call(ctx context.Context, timeout time.Duration, method string, params, result any) error {
	body, err := json.Marshal(params)
	if err != nil {
		return &netError{Op: method, Err: err}
	}
	return a.post(ctx, timeout, method, "application/json", body, result)
}

// post is call with a body of any content type that the service accepts.
func (a *api) post(ctx context.Context, timeout time.Duration, method, kind string, body []byte, result any) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.root+"/bot"+a.token+"/"+method,
		bytes.NewReader(body))
	if err != nil {
		return &netError{Op: method, Err: a.clean(err)}
	}
	req.Header.Set("Content-Type", kind)
	resp, err := channel.Do(a.http, req, method, a.token, maxAnswer)
	if err != nil {
		return err
	}
	return decode(method, resp, result)
}

func decode(method string, resp channel.Answer, result any) error {
	var a answer
	if err := json.Unmarshal(resp.Body, &a); err != nil {
		if resp.Status < 300 {
			return &netError{Op: method, Left: true, Err: errors.New("answer is not JSON")}
		}
		if c := resp.Status; c >= 400 && c < 500 && c != http.StatusTooManyRequests { // the service's own refusals are JSON
			return &netError{Op: method, Err: fmt.Errorf(
				"HTTP %d from something that is not the Bot API; check channels.telegram.api_url, and proxies in between", c)}
		}
		a = answer{Code: resp.Status, Description: http.StatusText(resp.Status)}
	}
	if !a.OK {
		return &apiError{Method: method, Code: cmp.Or(a.Code, resp.Status), Description: a.Description,
			RetryAfter: retryAfter(a, resp), MigrateTo: a.Parameters.MigrateTo}
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(a.Result, result); err != nil {
		return &netError{Op: method, Left: true, Err: fmt.Errorf("decode result: %w", err)}
	}
	return nil
}

func retryAfter(a answer, resp channel.Answer) time.Duration {
	inHeader, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
	return time.Duration(cmp.Or(a.Parameters.RetryAfter, inHeader)) * time.Second
}

// clean removes the URL, which contains the token, from an error of net/http.
func (a *api) clean(err error) error { return channel.Clean(err, a.token) }

func retryAfterOf(err error) time.Duration {
	if refused, ok := errors.AsType[*apiError](err); ok {
		return refused.RetryAfter
	}
	return 0
}

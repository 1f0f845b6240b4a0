// Package telegram is the Telegram channel: long polling or webhook in,
// messages with entities and files out. It takes types from
// go-telegram/bot, but not its poller and webhook handler, which acknowledge
// updates before they are stored.
//
// Policy. An update is acknowledged only after Receiver.Receive returned nil.
// What cannot be understood is passed on as core.InUnsupported with its raw
// bytes, so that it is kept and never offered for ever. There is no
// idempotency key: a request that may have arrived is *core.Unknown.
package telegram

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-telegram/bot/models"
	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/markup"
	"github.com/everthread/everthread/core/trust/egress"
)

// Name is the channel's name.
const Name = "telegram"

// maxText is the longest text of one message, in UTF-16 units.
const maxText = 4096

var (
	_ core.Channel   = (*Channel)(nil)
	_ core.Describer = (*Channel)(nil)
	_ core.Typer     = (*Channel)(nil)
	_ core.Streamer  = (*Channel)(nil)
	_ core.Handler   = (*Channel)(nil)
	_ core.Checker   = (*Channel)(nil)
	_ core.Fetcher   = (*Channel)(nil)
	_ core.Accounter = (*Channel)(nil)
	_ core.Diagnoser = (*Channel)(nil)
	_ core.Linker    = (*Channel)(nil)
)

// Options configure a Channel. Token is required; zero values of the others
// mean the public service, long polling and no rate limit.
type Options struct {
	Token  string // of @BotFather, such as 123456:ABC
	APIURL string // root of the Bot API; empty: https://api.telegram.org
	Mode   string // polling or webhook; empty: polling

	WebhookSecret  string // required with webhooks: 1–256 of A-Z a-z 0-9 _ -
	PreviousSecret string // accepted as well while a secret is being changed
	PublicURL      string // required with webhooks: where the service reaches us

	RatePerChat float64 // messages a second to one chat; 0: no limit
	RatePerBot  float64 // messages a second over all chats; 0: no limit

	HTTP     *http.Client     // nil: the policy alone
	Log      *zap.Logger      // nil: none
	Now      func() time.Time // nil: time.Now
	Commands []Command        // of the command menu
}

// Channel is one bot account. Its methods may be called concurrently; Run only
// by the process that holds the account's lease.
type Channel struct {
	opts    Options
	account string
	api     *api
	log     *zap.Logger
	now     func() time.Time
	flood   flood

	mu    sync.Mutex
	state error // what is wrong; nil: nothing known
}

// New checks opts and returns the channel. It does not use the network. The
// account of its addresses is the bot's id, taken from the token.
func New(opts Options) (*Channel, error) {
	m := tokenForm.FindStringSubmatch(opts.Token)
	if m == nil {
		return nil, errors.New("telegram: token has not the form 123456:ABC; copy it from @BotFather")
	}
	if opts.APIURL == "" {
		opts.APIURL = publicAPI
	}
	if err := checkOptions(&opts); err != nil {
		return nil, fmt.Errorf("telegram: %w", err)
	}
	if opts.HTTP == nil {
		opts.HTTP = (*egress.Gate)(nil).Client(opts.APIURL)
	}
	if opts.Log == nil {
		opts.Log = zap.NewNop()
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Channel{
		opts: opts, account: m[1], now: opts.Now,
		log: opts.Log.With(zap.String("channel", Name), zap.String("account", m[1])),
		api: &api{root: strings.TrimRight(opts.APIURL, "/"), token: opts.Token, http: opts.HTTP},
	}, nil
}

func checkOptions(o *Options) error {
	if u, err := url.Parse(o.APIURL); err != nil || u.Host == "" {
		return errors.New("api_url is no URL")
	}
	if err := checkCommands(o.Commands); err != nil {
		return err
	}
	switch o.Mode {
	case "":
		o.Mode = "polling"
	case "polling":
	case "webhook":
		return checkWebhook(o)
	default:
		return fmt.Errorf("mode %q is neither polling nor webhook", o.Mode)
	}
	return nil
}

func checkWebhook(o *Options) error {
	if !secretForm.MatchString(o.WebhookSecret) {
		return errors.New("mode webhook needs a webhook_secret of 1 to 256 letters, digits, _ or -")
	}
	if o.PreviousSecret != "" && !secretForm.MatchString(o.PreviousSecret) {
		return errors.New("the previous webhook_secret may hold letters, digits, _ and - only")
	}
	if u, err := url.Parse(o.PublicURL); err != nil || u.Host == "" {
		return errors.New("mode webhook needs http.public_url, the address at which Telegram reaches this server")
	}
	return nil
}

// Name returns "telegram".
func (c *Channel) Name() string { return Name }

// Account returns the bot's id.
func (c *Channel) Account() string { return c.account }

// Capabilities returns the limits of the Bot API and the configured rates.
func (c *Channel) Capabilities() core.Capabilities {
	return core.Capabilities{
		MaxText: maxText, Length: markup.UTF16Len, Push: true, Files: true, Voice: true,
		RatePerChat: c.opts.RatePerChat, RatePerAccount: c.opts.RatePerBot,
	}
}

// Check returns what keeps the channel from receiving, or nil.
func (c *Channel) Check() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// report keeps err as the channel's state; nil: all is well.
func (c *Channel) report(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state = err
}

// Run announces the commands and receives until ctx ends: with polling it
// passes updates to r, with webhooks it registers the address, looks after it,
// and Routes does the rest. It returns nil when ctx ended, and an error that says what to do if
// the service refuses the token.
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
	c.report(err)
	return err
}

// start makes sure that the token works and that updates come our way.
func (c *Channel) start(ctx context.Context) error {
	var me models.User
	if err := c.retry(ctx, "getMe", struct{}{}, &me); err != nil {
		return err
	}
	c.announce(ctx)
	if err := c.route(ctx); err != nil {
		return err
	}
	c.report(nil)
	c.log.Info("telegram is up", zap.String("bot", me.Username), zap.String("mode", c.opts.Mode))
	return nil
}

// route tells the service where updates go.
func (c *Channel) route(ctx context.Context) error {
	if c.opts.Mode == "webhook" {
		return c.retry(ctx, "setWebhook", webhookParams(c.opts), nil)
	}
	return c.retry(ctx, "deleteWebhook", struct{}{}, nil)
}

// retry calls method until it is answered. Only a refusal of the token, or of
// the request for good, and the end of ctx end it.
func (c *Channel) retry(ctx context.Context, method string, params, result any) error {
	for pause := (channel.Backoff{}); ; {
		err := c.api.call(ctx, callTimeout, method, params, result)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if err := hopeless(err); err != nil {
			return fmt.Errorf("start telegram: %w", err)
		}
		c.report(fmt.Errorf("telegram: %w", err))
		c.log.Warn("telegram does not answer", zap.Error(err))
		pause.Wait(ctx, retryAfterOf(err))
	}
}

// hopeless returns what to do about an error that no waiting mends, or nil.
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

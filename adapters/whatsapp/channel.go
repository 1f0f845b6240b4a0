// Package whatsapp is the WhatsApp channel over Meta's Cloud API: a signed webhook in, Graph API requests out.
//
// Policy. A webhook is answered 200 only after Receiver.Receive stored all of its events. Unknown events are passed on
// as core.InUnsupported, so that they are stored and not offered again for days. There is no idempotency key: a request
// that may have been carried out is *core.Unknown, and the statuses, which return Part.Key, settle it. A person is
// identified by Meta's id for this business (BSUID), or else by their phone number with "+"; the other one is an alias.
// A refusal that concerns the whole account loses nothing: Check says what the owner must do, and Send requests a
// pause.
package whatsapp

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/adapters/whatsapp/graph"
	"github.com/everthread/everthread/configs/section"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/text/markup"
)

const Name = "whatsapp"

const (
	// maxBody is the longest text of one message, in UTF-16 units.
	maxBody = 4096
	// maxText leaves room for markup, which is part of the text. A text that needs more is sent with less markup.
	maxText = 3800

	// burst is the number of messages to one person without a pause.
	burst = 45
	// window is the time after a person's message in which they may be written to, with a margin.
	window = 24*time.Hour - 5*time.Minute
)

var (
	_ core.Channel    = (*Channel)(nil)
	_ core.Describer  = (*Channel)(nil)
	_ core.Typer      = (*Channel)(nil)
	_ channel.Handler = (*Channel)(nil)
	_ core.Checker    = (*Channel)(nil)
	_ core.Fetcher    = (*Channel)(nil)
	_ core.Reopener   = (*reopening)(nil)
	_ core.Diagnoser  = (*Channel)(nil)
	_ core.Linker     = (*Channel)(nil)
	_ core.Accounter  = (*Channel)(nil)
)

// Options configure a Channel. Only PublicURL and what Config calls optional may be missing. Of
// the rates, 0 is no limit; Meta allows 1/6 and 80 a second.
type Options struct {
	Config
	PublicURL string // URL at which Meta reaches this server, for Diagnose; empty: unknown
	HTTP      *http.Client
	Log       *zap.Logger
	Now       func() time.Time
}

// Channel is one business number. Its methods may be called concurrently, in any number of processes.
type Channel struct {
	opts  Options
	api   *graph.API
	log   *zap.Logger
	now   func() time.Time
	state state
	pairs pairs
	line  line
	large chan struct{} // holds a value for each large body that is being read
}

// reopening is a Channel with a template that reopens a window.
type reopening struct{ *Channel }

var (
	digits      = regexp.MustCompile(`^[0-9]{1,32}$`)
	versionForm = regexp.MustCompile(`^v[0-9]{1,3}\.[0-9]{1,3}$`)
)

// New checks opts and returns the channel. It does not use the network. With a template,
// the channel is a core.Reopener. The account of its addresses is the id of the number.
func New(opts Options) (core.Channel, error) {
	if err := opts.check(); err != nil {
		return nil, fmt.Errorf("whatsapp: %w", err)
	}
	c := &Channel{large: make(chan struct{}, largePayloads),
		opts: opts, now: opts.Now,
		log:   opts.Log.With(zap.String("channel", Name), zap.String("account", opts.PhoneNumberID)),
		api:   newAPI(opts.Config, opts.HTTP),
		pairs: pairs{times: map[string]strikes{}},
		line:  newLine(),
	}
	if opts.SummaryTemplate != "" {
		return &reopening{c}, nil
	}
	return c, nil
}

func (o Options) check() error {
	var p section.Problems
	if !digits.MatchString(o.PhoneNumberID) {
		p.Add("phone_number_id must be digits; it is Meta's id of the number, not the number itself")
	}
	o.Validate(&p, "")
	return p.Err()
}

func (c *Channel) Name() string { return Name }

// Account returns the id of the number.
func (c *Channel) Account() string { return c.opts.PhoneNumberID }

func (c *Channel) Capabilities() core.Capabilities {
	return core.Capabilities{
		MaxText: maxText, Length: markup.UTF16Len, Push: true,
		RatePerChat: c.opts.RatePerChat, RatePerAccount: c.opts.RatePerBot, BurstPerChat: burst,
		Settles: true, Window: window, Files: true, Voice: true,
	}
}

// Check returns the error that prevents the channel from working, with what the owner must do, or nil.
func (c *Channel) Check() error { return c.state.err() }

// Run checks the number immediately and then every ten minutes until ctx ends: whether the token works, the number
// exists and its account sends webhooks to an app. Messages arrive through Routes. It returns nil.
func (c *Channel) Run(ctx context.Context, _ core.Receiver) error {
	defer c.opts.HTTP.CloseIdleConnections()
	c.watch(ctx)
	return nil
}

// maxAnswer bounds an answer, in bytes.
const maxAnswer = 1 << 20

func newAPI(c Config, client *http.Client) *graph.API {
	a := graph.New(strings.TrimRight(c.APIURL, "/")+"/"+c.APIVersion, string(c.AccessToken), client, maxAnswer)
	a.CDN = true
	return a
}

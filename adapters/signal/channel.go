// Package signal is the Signal channel over the daemon of signal-cli: JSON-RPC over HTTP out, server-sent events in.
//
// Policy. People are known by their ACI, which outlives a change of number, name or device. A message to a person is
// sent once; there is no idempotency key, so a request whose answer was lost is *core.Unknown. Messages are marked as
// read after they are stored, and only once something is sent to their author or an answer is being written, so that
// people who are not admitted see no sign of us. What the timer of a chat lets disappear in the apps is removed here, too.
//
// What can be lost. signal-cli keeps an envelope on its disk until it has written the event to our connection, and the
// protocol has no acknowledgement, so an event is out of its hands as soon as it is in the connection. Events that were
// read are kept in memory and passed to Receiver.Receive until it returns nil; meanwhile nothing more is read than a
// short queue, and once the buffers of the connection are full, the daemon waits and the rest stays with it and with
// Signal. When Run ends, it reads on until the connection has been quiet for a moment, for a short grace at most, and
// stores everything that was read. So these are lost, and nothing else:
//
//   - what is queued or in the buffers of the connection when this process or machine dies, or when the store does not
//     work at the end of Run;
//   - what the buffers hold beyond the grace, if Run ends while a backlog is being read;
//   - what is in the buffers when the network between the daemon and us breaks. A daemon that dies itself repeats the
//     event that it was writing;
//   - what the daemon receives while nobody is connected, if it runs with --receive-mode=on-start, its default. With
//     on-connection or manual it receives only while we are connected.
package signal

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/configs/section"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
)

const Name = "signal"

// maxText is the longest text of one message in bytes. Apps show longer ones cut off, behind a button.
const maxText = 2000

var (
	_ core.Channel   = (*Channel)(nil)
	_ core.Describer = (*Channel)(nil)
	_ core.Typer     = (*Channel)(nil)
	_ core.Checker   = (*Channel)(nil)
	_ core.Fetcher   = (*Channel)(nil)
	_ core.Retractor = (*Channel)(nil)
	_ core.Accounter = (*Channel)(nil)
	_ core.Diagnoser = (*Channel)(nil)
)

// Options configure a Channel. All fields but Keeper are required, except that a RatePerChat of 0 is no limit.
type Options struct {
	Config
	Keeper core.Keeper // nil: what is known of edited and of disappearing messages is lost with the process
	HTTP   *http.Client
	Log    *zap.Logger
	Now    func() time.Time
}

// Channel is one account on Signal. Its methods may be called concurrently, and Run only by the process that holds the
// account's lease.
type Channel struct {
	receiving, sending channel.State
	held               atomic.Bool // a limit may be stored

	opts   Options
	api    *api
	log    *zap.Logger
	now    func() time.Time
	pace   pace
	memory *memory

	versions versions // used by Run only
	expiry   *expiry
}

// New checks opts and returns the channel. It does not use the network.
func New(opts Options) (*Channel, error) {
	var p section.Problems
	opts.Validate(&p, "")
	if !opts.On() {
		p.Add("channels.signal.account is empty")
	}
	if err := p.Err(); err != nil {
		return nil, fmt.Errorf("signal: %w", err)
	}
	c := &Channel{opts: opts, now: opts.Now, pace: usual(), memory: newMemory(),
		versions: versions{keeper: opts.Keeper}, expiry: &expiry{keeper: opts.Keeper},
		log: opts.Log.With(zap.String("channel", Name), zap.String("account", opts.Account)),
		api: &api{root: strings.TrimRight(opts.APIURL, "/"), account: opts.Account, http: opts.HTTP}}
	c.held.Store(true)
	if aciForm().MatchString(opts.Account) {
		c.memory.be(opts.Account)
	}
	return c, nil
}

func (c *Channel) Name() string { return Name }

// Account returns the configured number or ACI.
func (c *Channel) Account() string { return c.opts.Account }

// Check returns what prevents the channel from receiving or, until something is sent again, from sending.
func (c *Channel) Check() error { return cmp.Or(c.receiving.Check(), c.sending.Check()) }

func (c *Channel) Capabilities() core.Capabilities {
	return core.Capabilities{MaxText: maxText, Push: true, Files: true, Voice: true, RatePerChat: c.opts.RatePerChat}
}

// maxAnswer bounds an answer without a file, in bytes.
const maxAnswer = 4 << 20

// api calls the methods of the daemon.
type api struct {
	root    string
	account string // "": those that need none
	http    *http.Client
	ids     atomic.Int64
}

type netError = channel.NetError

// rpcError is a refusal of the daemon.
type rpcError struct {
	Method  string
	Code    int
	Message string
	Results []outcome // of the recipients
}

func (e *rpcError) Error() string { return fmt.Sprintf("%s: %d %s", e.Method, e.Code, e.Message) }

// Codes of refusals.
const (
	codeUser      = -1     // the request cannot be carried out
	codeUntrusted = -4     // the safety number of the recipient changed
	codeRate      = -5     // too many requests
	codeMethod    = -32601 // there is no such method
	codeParams    = -32602 // parameters, such as an unknown account
	codeInternal  = -32603 // an error of the daemon or of Signal
)

// outcome says what became of a message to one recipient.
type outcome struct {
	Type       string `json:"type"`
	Token      string `json:"token"` // of a captcha; empty: none is asked for
	RetryAfter int64  `json:"retryAfterSeconds"`
}

// statusError is an answer that is not the daemon's.
type statusError struct {
	Op     string
	Status int
}

func (e *statusError) Error() string {
	what := "is it signal-cli's daemon? Check channels.signal.api_url"
	switch {
	case e.Status == http.StatusMisdirectedRequest:
		what = "the daemon admits only the address that it listens on: write channels.signal.api_url like its --http"
	case e.Status == http.StatusBadRequest:
		what = "it does not know the account: register or link it with signal-cli, and check channels.signal.account"
	case e.Status >= http.StatusInternalServerError:
		what = "look into the log of signal-cli"
	}
	return fmt.Sprintf("%s: HTTP %d; %s", e.Op, e.Status, what)
}

var errLongAnswer = errors.New("the answer is too long")

// params are the parameters of a method by name. One that takes several values is a list.
type params map[string]any

// reply is the answer to a request.
type reply struct {
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    struct {
			Response struct {
				Results []outcome `json:"results"`
			} `json:"response"`
		} `json:"data"`
	} `json:"error"`
}

// call calls method with p, reads at most max bytes of the answer, and decodes the result into result unless that is
// nil. Its errors are *rpcError, *statusError or *netError.
func (a *api) call(ctx context.Context, timeout time.Duration, method string, p params, max int64, result any) error {
	all := params{}
	maps.Copy(all, p)
	if a.account != "" {
		all["account"] = a.account
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": strconv.FormatInt(a.ids.Add(1), 10),
		"method": method, "params": all})
	if err != nil {
		return &netError{Op: method, Err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.root+"/api/v1/rpc", bytes.NewReader(body))
	if err != nil {
		return &netError{Op: method, Err: err}
	}
	req.Header.Set("Content-Type", "application/json")
	got, err := channel.Do(a.http, req, method, "", max)
	if err != nil {
		return err
	}
	if got.Status != http.StatusOK {
		return &statusError{method, got.Status}
	}
	var r reply
	if err := json.Unmarshal(got.Body, &r); err != nil {
		if int64(len(got.Body)) == max {
			return &netError{Op: method, Left: true, Err: errLongAnswer}
		}
		return &netError{Op: method, Left: true, Err: errors.New("the answer is not JSON; check channels.signal.api_url")}
	}
	if e := r.Error; e != nil {
		return &rpcError{method, e.Code, e.Message, e.Data.Response.Results}
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(r.Result, result); err != nil {
		return &netError{Op: method, Left: true, Err: fmt.Errorf("decode result: %w", err)}
	}
	return nil
}

// name returns how a person is shown, or "": the name of the contact or the profile, or else the username. It asks the
// daemon once.
func (c *Channel) name(ctx context.Context, person string) string {
	if name, ok := c.memory.names.get(person); ok || person == "" {
		return name
	}
	var found []contact
	p := params{"recipient": []string{person}, "allRecipients": true}
	if err := c.api.call(ctx, showTimeout, "listContacts", p, maxAnswer, &found); err != nil {
		c.log.Debug("contact not looked up", zap.Error(err))
	}
	name := ""
	if len(found) > 0 {
		name = found[0].shown()
	}
	c.memory.names.put(person, name)
	return name
}

// contact is an entry of the account's contacts.
type contact struct {
	Username   string `json:"username"`
	Name       string `json:"name"`
	GivenName  string `json:"givenName"`
	FamilyName string `json:"familyName"`
	Profile    struct {
		GivenName  string `json:"givenName"`
		FamilyName string `json:"familyName"`
	} `json:"profile"`
}

func (c contact) shown() string {
	return cmp.Or(strings.TrimSpace(c.Name), strings.TrimSpace(c.GivenName+" "+c.FamilyName),
		strings.TrimSpace(c.Profile.GivenName+" "+c.Profile.FamilyName), c.Username)
}

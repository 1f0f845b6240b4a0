package signal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/text"
)

var _ channel.Guided = (*Config)(nil)

// guideWording holds the guide's texts in one language.
type guideWording struct {
	Option, Account, AccountHelp, Address, AddressHelp, Malformed, NoAddress string

	Good                                                   string // account
	Scan                                                   string
	NotSignal, NotLinked, OneAccount, NoSignal, NotScanned string // of faults; see channel.Fault
}

// deviceName is what the app's list of linked devices shows.
const deviceName = "Everthread"

// linkTimeout bounds the wait for a code to be scanned. The daemon ends it sooner.
const linkTimeout = 5 * time.Minute

var answerForm = text.Pattern(`^\s*(` + channel.ScanAnswer + `|\+[1-9][0-9]{5,14}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\s*$`)

// Guide asks for an account that the daemon has, or links the daemon to one by a code.
func (c *Config) Guide(language string, h channel.Host) channel.Guide {
	w := say(language).Guide
	return channel.Guide{
		Option: w.Option,
		Fields: []channel.Field{
			{ID: "signal_account", Title: w.Account, Help: w.AccountHelp, Into: &c.Account, Form: answerForm(),
				Malformed: w.Malformed, Scan: true},
			{ID: "signal_address", Title: w.Address, Help: w.AddressHelp, Into: &c.APIURL, Default: c.APIURL},
		},
		Try:  func(ctx context.Context) (channel.Tried, error) { return c.try(ctx, h, &w) },
		Scan: func(ctx context.Context) (channel.Scan, error) { return c.scan(ctx, h, &w) },
	}
}

// try asks the daemon for the account.
func (c *Config) try(ctx context.Context, h channel.Host, w *guideWording) (channel.Tried, error) {
	c.Account = strings.ToLower(strings.TrimSpace(c.Account))
	a, err := c.daemonOf(h, c.Account, w)
	if err != nil {
		return channel.Tried{}, err
	}
	err = a.call(ctx, lookTimeout, "listDevices", nil, maxAnswer, nil)
	if refused, ok := errors.AsType[*rpcError](err); ok {
		return channel.Tried{}, &channel.Fault{Text: w.NotLinked, Where: c.Account, Detail: refused.Message, Err: err}
	}
	if err != nil {
		return channel.Tried{}, c.fault(err, w)
	}
	keys := []string{"account", c.Account}
	if c.APIURL != Default().APIURL {
		keys = append(keys, "api_url", c.APIURL)
	}
	return channel.Tried{Said: fmt.Sprintf(w.Good, c.Account), Comment: "docs/signal.md", Keys: keys}, nil
}

// daemonOf returns the methods of the daemon for an account.
func (c *Config) daemonOf(h channel.Host, account string, w *guideWording) (*api, error) {
	if channel.HostOf(c.APIURL) == "" {
		return nil, &channel.Fault{Text: w.NoAddress}
	}
	return &api{root: strings.TrimRight(c.APIURL, "/"), account: account, http: h.Client(c.APIURL)}, nil
}

// fault returns what an error of the daemon means that is no refusal.
func (c *Config) fault(err error, w *guideWording) error {
	where := channel.HostOf(c.APIURL)
	if away, ok := errors.AsType[*netError](err); ok && !away.Left {
		return &channel.Unreached{Where: where, Err: away.Err}
	}
	return &channel.Fault{Text: w.NotSignal, Where: where, Detail: err.Error(), Err: err}
}

// scan has the daemon make a code that links it, as a further device, to the account of the phone that scans it.
func (c *Config) scan(ctx context.Context, h channel.Host, w *guideWording) (channel.Scan, error) {
	a, err := c.daemonOf(h, "", w)
	if err != nil {
		return channel.Scan{}, err
	}
	var begun struct {
		Code string `json:"deviceLinkUri"`
	}
	err = a.call(ctx, lookTimeout, "startLink", nil, maxAnswer, &begun)
	if refused, ok := errors.AsType[*rpcError](err); ok && refused.Code == codeMethod {
		return channel.Scan{}, &channel.Fault{Text: w.OneAccount, Err: err}
	} else if ok {
		return channel.Scan{}, &channel.Fault{Text: w.NoSignal, Detail: refused.Message, Err: err}
	}
	if err == nil && !strings.HasPrefix(begun.Code, "sgnl://linkdevice?") {
		err = errors.New("startLink: there is no code in the answer")
	}
	if err != nil {
		return channel.Scan{}, c.fault(err, w)
	}
	return channel.Scan{Code: begun.Code, Help: w.Scan, Done: func(ctx context.Context) error {
		var linked struct {
			Number string `json:"number"`
		}
		p := params{"deviceLinkUri": begun.Code, "deviceName": deviceName}
		err := a.call(ctx, linkTimeout, "finishLink", p, maxAnswer, &linked)
		if refused, ok := errors.AsType[*rpcError](err); ok {
			return &channel.Fault{Text: w.NotScanned, Detail: refused.Message, Err: err}
		}
		if err == nil && !isPerson(linked.Number) {
			err = errors.New("finishLink: there is no number in the answer")
		}
		if err != nil {
			return c.fault(err, w)
		}
		c.Account = linked.Number
		return nil
	}}, nil
}

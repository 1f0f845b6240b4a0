package main

import (
	"context"
	"net/http"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/trust/egress"
)

// wayOut is the policy of a configuration, which counts nothing.
func wayOut(c configs.Config) *egress.Gate { return egress.New(policy(c)) }

func policy(c configs.Config) egress.Options {
	return egress.Options{AllowHosts: c.Egress.AllowHosts, AllowPrivate: c.AllowPrivateURLs}
}

// counts has what goes out for a user from now on count as theirs. Commands of the
// operator count nothing.
func (h *holder) counts() {
	o := policy(h.cfg)
	o.PerDay = core.Egress{Calls: int64(h.cfg.Egress.CallsPerDay), Bytes: int64(h.cfg.Egress.BytesPerDay)}
	o.Meter, o.Now = h.store, h.now
	o.Day = func(ctx context.Context, user core.UserID) (core.Day, error) {
		c, err := engine.NewCalendar(h.cfg)
		if err != nil {
			return core.Day{}, err
		}
		u, err := h.store.User(ctx, user)
		return c.Day(u.Settings, h.now()), err
	}
	h.way = egress.New(o)
}

// ask sends one request to an address that the operator wrote.
func ask(req *http.Request) (*http.Response, error) {
	req.Close = true
	return (*egress.Gate)(nil).Client(req.URL.String()).Do(req)
}

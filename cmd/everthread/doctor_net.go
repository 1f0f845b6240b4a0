package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core/trust/egress"
)

// maxSkew is how far the clock may be off: signatures and "which day is it" bear
// no more.
const maxSkew = time.Minute

// clockCheck is the check of the clock.
const clockCheck = "clock"

// checkClock compares our clock with that of the model's provider.
func checkClock(ctx context.Context, c configs.Config) finding {
	unknown := fine(clockCheck, "not compared: no service that could tell the time was reached")
	base := c.LLM.BaseURL
	if base == "" {
		base = map[string]string{"openai": "https://api.openai.com", "anthropic": "https://api.anthropic.com"}[c.LLM.Provider]
	}
	if c.LLM.Provider == "demo" {
		return unknown
	}
	a, err := get(ctx, base)
	if err != nil {
		return unknown
	}
	theirs, err := http.ParseTime(a.resp.Header.Get("Date"))
	if err != nil {
		return unknown
	}
	off := time.Since(theirs).Round(time.Second)
	if off.Abs() > maxSkew {
		return problem(clockCheck,
			fmt.Sprintf("it is %s off against %s: set the machine's clock, for example with an NTP service", off, host(base)))
	}
	return fine(clockCheck, "agrees with "+host(base))
}

func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// answer is a response that was read.
type answer struct {
	resp *http.Response
	body []byte
}

// get fetches an address. Errors do not repeat it: a token may be in it.
func get(ctx context.Context, address string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return answer{}, errors.New("the address is wrong")
	}
	resp, err := ask(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return answer{resp, body}, err
}

// ask sends one request to an address that the operator wrote.
func ask(req *http.Request) (*http.Response, error) {
	req.Close = true
	return (*egress.Gate)(nil).Client(req.URL.String()).Do(req)
}

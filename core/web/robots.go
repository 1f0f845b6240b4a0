package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/temoto/robotstxt"
)

// Bounds of a site's rules for robots.
const (
	longestRobots = 500 << 10
	robotsKept    = time.Hour
	robotsTime    = 5 * time.Second
)

// rules are those of a site. A nil group allows everything.
type rules struct {
	group *robotstxt.Group
	until time.Time
}

// allowed returns an error if a site's rules for robots do not let an address be read.
func (v visit) allowed(ctx context.Context, at *url.URL) error {
	site := at.Scheme + "://" + at.Host
	r, ok := v.robots.get(site)
	if !ok || !v.use.Now.Before(r.until) {
		group, err := v.ask(ctx, site)
		if err != nil {
			return err
		}
		r = rules{group, v.use.Now.Add(robotsKept)}
		v.robots.put(site, r, 1)
	}
	if r.group != nil && !r.group.Test(at.RequestURI()) {
		return errors.New("the site's rules for robots (robots.txt) do not let this page be read, and they are kept; tell the person its address instead")
	}
	return nil
}

// ask fetches a site's rules.
func (v visit) ask(ctx context.Context, site string) (*robotstxt.Group, error) {
	ctx, cancel := context.WithTimeout(ctx, robotsTime)
	defer cancel()
	at, err := url.Parse(site + "/robots.txt")
	if err != nil {
		return nil, errAddress
	}
	for range mostHops {
		resp, err := v.request(ctx, at, "text/plain")
		if err != nil {
			return nil, err
		}
		next, moved := target(resp, at)
		if moved && v.follows(at, next) {
			_ = resp.Body.Close() // it is not read
			at = next
			continue
		}
		defer resp.Body.Close()
		switch {
		case moved, resp.StatusCode >= 400 && resp.StatusCode < 500: // it has none
			return nil, nil
		case resp.StatusCode != http.StatusOK:
			return nil, fmt.Errorf("the site has a fault (HTTP %d)", resp.StatusCode)
		}
		body, err := io.ReadAll(io.LimitReader(resp.Body, longestRobots))
		if err != nil {
			return nil, errors.New("the site cannot be read: " + trouble(ctx, err))
		}
		data, err := robotstxt.FromBytes(body)
		if err != nil { // no rules that anybody can read
			return nil, nil
		}
		return data.FindGroup(robot), nil
	}
	return nil, nil
}

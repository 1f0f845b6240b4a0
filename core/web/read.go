package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/trust/egress"
)

// Bounds of one page.
const (
	longestPage = 2 << 20 // bytes of HTML or text, unpacked
	longestText = 1 << 20 // bytes of its text
	readTime    = 20 * time.Second
	mostHops    = 6 // requests that lead to a page
)

// page is a page as it was read.
type page struct {
	address           string // where it was found in the end
	title, date, note string
	text              string // Markdown, or as it is
}

type pageKey struct {
	user    core.UserID
	turn    core.TurnID
	address string
}

var errAddress = errors.New("url must be a whole address that begins with https:// or http://")

// visit reads for one call.
type visit struct {
	*Web
	use core.ToolUse
}

// page returns a page, from the memory of the turn if it was read there already.
func (v visit) page(ctx context.Context, address string) (*page, error) {
	key := pageKey{v.use.User, v.use.Turn, address}
	if p, ok := v.pages.get(key); ok {
		return p, nil
	}
	ctx = egress.For(ctx, v.use.User)
	found, err := v.fetch(ctx, address)
	if err != nil {
		return nil, err
	}
	defer found.release()
	p, err := v.convert(ctx, found)
	if err != nil {
		return nil, err
	}
	if len(p.text) > longestText {
		p.text, p.note = clip(p.text, longestText), "The page is longer; only its beginning was read."
	}
	v.pages.put(key, p, len(p.text))
	return p, nil
}

// body is what a site sent.
type body struct {
	at      *url.URL
	media   string // content type without parameters, in lower case; empty: unknown
	header  string // content type as it was sent
	name    string // of the file
	data    []byte
	partial bool // there is more
	release func()
}

// fetch follows an address to a page.
func (v visit) fetch(ctx context.Context, address string) (*body, error) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	at, err := url.Parse(address)
	if err != nil {
		return nil, errAddress
	}
	seen := map[string]bool{}
	for range mostHops {
		if seen[at.String()] {
			return nil, errors.New("the address leads in a circle, so there is nothing to read; some sites do that to visitors without cookies")
		}
		seen[at.String()] = true
		if err := v.allowed(ctx, at); err != nil {
			return nil, err
		}
		resp, err := v.request(ctx, at, "text/html, application/xhtml+xml, application/pdf;q=0.9, text/plain;q=0.9, application/json;q=0.9, */*;q=0.5")
		if err != nil {
			return nil, err
		}
		next, moved := target(resp, at)
		if !moved {
			return v.receive(ctx, at, resp)
		}
		_ = resp.Body.Close() // it is not read
		if next == nil {
			return nil, errors.New("the site sends visitors on to something that is no address of a page")
		}
		if !v.follows(at, next) {
			return nil, fmt.Errorf("the page has moved to another site: %s. Call web_read with that address if it is what you want to read", next)
		}
		at = next
	}
	return nil, errors.New("the address leads on and on, and to no page")
}

// request asks for an address, without following where that leads.
func (v visit) request(ctx context.Context, at *url.URL, accept string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, errAddress
	}
	req.Header.Set("User-Agent", Agent)
	req.Header.Set("Accept", accept)
	resp, err := staying(v.Reading).Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %s", at.Host, trouble(ctx, err))
	}
	return resp, nil
}

// target returns where a response leads. next is nil if that is no page.
func target(resp *http.Response, at *url.URL) (next *url.URL, moved bool) {
	location := resp.Header.Get("Location")
	if !slices.Contains([]int{301, 302, 303, 307, 308}, resp.StatusCode) || location == "" {
		return nil, false
	}
	next, err := at.Parse(location)
	if err != nil {
		return nil, true
	}
	address, err := Normal(next.String())
	if err != nil {
		return nil, true
	}
	next, err = url.Parse(address)
	return next, err == nil
}

// follows reports whether a visit follows a site to another address. In a turn that read foreign words it stays on the
// site: the person, or a search, pointed there and nowhere else.
func (v visit) follows(from, to *url.URL) bool {
	return to != nil && (!v.use.Tainted || siteOf(from) == siteOf(to))
}

// siteOf returns the domain that somebody registered.
func siteOf(u *url.URL) string {
	if site, err := publicsuffix.EffectiveTLDPlusOne(u.Hostname()); err == nil {
		return site
	}
	return u.Host
}

// receive reads what a site sent.
func (v visit) receive(ctx context.Context, at *url.URL, resp *http.Response) (*body, error) {
	defer resp.Body.Close()
	if err := unread(at, resp); err != nil {
		return nil, err
	}
	b := &body{at: at, header: resp.Header.Get("Content-Type"), name: path.Base(at.Path), release: func() {}}
	b.media, _, _ = mime.ParseMediaType(b.header)
	if _, params, err := mime.ParseMediaType(resp.Header.Get("Content-Disposition")); err == nil && params["filename"] != "" {
		b.name = path.Base(params["filename"])
	}
	most := int64(longestPage)
	if b.file() {
		select {
		case v.files <- struct{}{}:
		case <-ctx.Done():
			return nil, errors.New("too many documents are being read just now; try again")
		}
		most, b.release = v.MaxFile, func() { <-v.files }
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err != nil {
		b.release()
		return nil, fmt.Errorf("%s could not be read to the end: %s", at.Host, trouble(ctx, err))
	}
	if b.partial = int64(len(data)) > most; b.partial {
		data = data[:most]
	}
	b.data = data
	return b, nil
}

// unread says why a response holds no page; nil: it may.
func unread(at *url.URL, resp *http.Response) error {
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusPaymentRequired:
		return fmt.Errorf("%s shows this page only to those who sign in or pay (HTTP %d)", at.Host, code)
	case code == http.StatusForbidden || code == http.StatusUnavailableForLegalReasons:
		return fmt.Errorf("%s does not let this page be read (HTTP %d); tell the person its address instead", at.Host, code)
	case code == http.StatusNotFound || code == http.StatusGone:
		return fmt.Errorf("%s has no such page (HTTP %d)", at.Host, code)
	case code == http.StatusTooManyRequests:
		return fmt.Errorf("%s lets no more pages be read now (HTTP 429); %s", at.Host, again(answer{header: resp.Header}))
	case code >= 500:
		return fmt.Errorf("%s has a fault (HTTP %d); try again later", at.Host, code)
	case code != http.StatusOK && code != http.StatusNonAuthoritativeInfo:
		return fmt.Errorf("%s did not send a page (HTTP %d)", at.Host, code)
	}
	if packed := resp.Header.Get("Content-Encoding"); packed != "" && !strings.EqualFold(packed, "identity") {
		return fmt.Errorf("%s sends this page packed in a way that was not asked for", at.Host)
	}
	return nil
}

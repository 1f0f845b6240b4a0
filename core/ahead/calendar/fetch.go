package calendar

import (
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/everthread/everthread/core/ahead/source"
)

// Source is one calendar: an address, or a file of this machine. Its address may be all that protects it, so that it
// stands in no error.
type Source struct {
	address string
	client  *http.Client
}

// mostBytes bounds a calendar.
const mostBytes = 32 << 20

// mostHops bounds the redirects of an address.
const mostHops = 5

// URL returns the web address that an address means: webcal is https. File is true for the path of a file.
func URL(address string) (url string, file bool) {
	if strings.HasPrefix(address, "/") {
		return address, true
	}
	scheme, rest, _ := strings.Cut(address, "://")
	if strings.EqualFold(scheme, "webcal") || strings.EqualFold(scheme, "webcals") {
		return "https://" + rest, false
	}
	return address, false
}

// New returns the calendar of an address, which client fetches.
func New(address string, client *http.Client) *Source {
	own := *client
	own.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		req.Header.Del("Referer") // it would tell the address to others
		if len(via) > mostHops {
			return source.Missing
		}
		return nil
	}
	return &Source{address, &own}
}

// Events returns the appointments between two times; see Read. Errors are a source.Fault.
func (s *Source) Events(ctx context.Context, from, to time.Time, zone *time.Location) (Found, error) {
	body, err := s.open(ctx)
	if err != nil {
		return Found{}, source.Of(err)
	}
	defer body.Close()
	found, err := Read(ctx, &source.Bounded{Context: ctx, Reader: body, Left: mostBytes}, from, to, zone)
	if err != nil {
		return Found{}, source.Of(err)
	}
	return found, nil
}

func (s *Source) open(ctx context.Context) (io.ReadCloser, error) {
	address, file := URL(s.address)
	if file {
		return openFile(address)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, source.Missing
	}
	req.Header.Set("Accept", "text/calendar, */*;q=0.5")
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	switch resp.StatusCode {
	case http.StatusOK:
		return resp.Body, nil
	case http.StatusUnauthorized, http.StatusForbidden:
		err = source.Refused
	case http.StatusNotFound, http.StatusGone:
		err = source.Missing
	default:
		err = source.Unreachable
	}
	_ = resp.Body.Close() // nothing of it is read
	return nil, err
}

// openFile opens a regular file: others may never end.
func openFile(path string) (io.ReadCloser, error) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil, source.Missing
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, source.Refused
	}
	return f, nil
}

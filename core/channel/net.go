package channel

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/everthread/everthread/core"
)

// NetError is the error of a request without an answer. Left means that the request may have
// reached the service.
type NetError struct {
	Op   string
	Left bool
	Err  error
}

// Error returns the operation and the cause.
func (e *NetError) Error() string { return e.Op + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *NetError) Unwrap() error { return e.Err }

// Answer is the response of a service.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do makes a request and reads at most max bytes of the response. Its errors are *NetError
// and never contain the secret.
func Do(client *http.Client, req *http.Request, op, secret string, max int64) (Answer, error) {
	var left atomic.Bool
	resp, err := client.Do(req.WithContext(Watch(req.Context(), &left)))
	if err != nil {
		return Answer{}, &NetError{Op: op, Left: left.Load(), Err: Clean(err, secret)}
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, max))
	if err != nil {
		return Answer{}, &NetError{Op: op, Left: true, Err: Clean(err, secret)}
	}
	return Answer{resp.StatusCode, resp.Header, raw}, nil
}

// Clean removes the URL and a secret from an error of net/http.
func Clean(err error, secret string) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if secret != "" && strings.Contains(err.Error(), secret) {
		return errors.New(strings.ReplaceAll(err.Error(), secret, "***"))
	}
	return err
}

// TooLarge returns the error of a file of more than max bytes.
func TooLarge(max int64) error {
	return &core.Permanent{Err: fmt.Errorf("the file is larger than %d bytes", max)}
}

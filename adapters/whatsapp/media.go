package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/everthread/everthread/adapters/whatsapp/graph"
	"github.com/everthread/everthread/core"
)

const (
	callTimeout = 30 * time.Second
	// maxFile bounds a file that the caller sets no limit for, in bytes; the
	// service carries no larger one.
	maxFile = 100 << 20
)

// reference returns the Ref of a file: its id and, if known, its digest, which
// Base64 writes without "#".
func reference(f *graph.Media) string {
	if f.SHA256 == "" {
		return clean(f.ID)
	}
	return clean(f.ID + "#" + f.SHA256)
}

// Fetch downloads the file of an attachment's Ref, at most max bytes (0: what
// the service carries). A larger file, one that the service no longer has, and
// one whose digest is wrong are *core.Permanent. The token goes to Meta's hosts
// only and follows no redirect.
func (c *Channel) Fetch(ctx context.Context, ref string, max int64) ([]byte, string, error) {
	id, digest, _ := strings.Cut(ref, "#")
	if max <= 0 || max > maxFile {
		max = maxFile
	}
	data, info, err := c.fetch(ctx, id, max)
	if errors.Is(err, errExpired) {
		data, info, err = c.fetch(ctx, id, max)
	}
	switch {
	case errors.Is(err, errExpired):
		return nil, "", &core.Permanent{Err: fmt.Errorf("fetch whatsapp file: %w", err)}
	case err != nil:
		return nil, "", fmt.Errorf("fetch whatsapp file: %w", err)
	case !graph.Matches(data, digest) || !graph.Matches(data, info.SHA256):
		return nil, "", &core.Permanent{Err: errors.New("fetch whatsapp file: what came is not the file that was sent")}
	}
	return data, info.MIME, nil
}

// errExpired: the address of a file is good for minutes only.
var errExpired = errors.New("the service no longer has the file")

// fetch asks for the address of a file and gets it.
func (c *Channel) fetch(ctx context.Context, id string, max int64) ([]byte, graph.Info, error) {
	data, info, err := c.api.Fetch(ctx, url.PathEscape(id), callTimeout, max, gone)
	return data, info, notServed(err)
}

// gone makes an error permanent if the service says that there is no such file.
func gone(err error) error {
	var refused *apiError
	if errors.As(err, &refused) {
		switch {
		case refused.HTTP == http.StatusNotFound, refused.Code == 100, refused.Code == 131052:
			return &core.Permanent{Err: err}
		}
	}
	return err
}

// notServed says what it means that a file's address did not answer with the file.
func notServed(err error) error {
	var unserved *graph.Unserved
	if !errors.As(err, &unserved) {
		return err
	}
	switch unserved.Code {
	case http.StatusNotFound, http.StatusGone:
		return errExpired
	case http.StatusUnauthorized:
		return unserved // the token may be changed
	}
	return err
}

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
	// maxFile bounds a file for which the caller sets no limit, in bytes. The service accepts no larger ones.
	maxFile = 100 << 20
)

// reference returns the Ref of a file: its id and, if known, "#" and its digest in Base64.
func reference(f *graph.Media) string {
	if f.SHA256 == "" {
		return clean(f.ID)
	}
	return clean(f.ID + "#" + f.SHA256)
}

// Fetch downloads the file of an attachment's Ref, and returns it with its media type. A file larger than max bytes (0:
// the service's limit), one that the service no longer has, and one with a wrong digest are *core.Permanent errors.
// Only Meta's hosts receive the token, and redirects are not followed.
func (c *Channel) Fetch(ctx context.Context, ref string, max int64) ([]byte, string, error) {
	id, digest, _ := strings.Cut(ref, "#")
	if max <= 0 || max > maxFile {
		max = maxFile
	}
	data, media, err := c.fetch(ctx, id, digest, max)
	if errors.Is(err, errExpired) {
		data, media, err = c.fetch(ctx, id, digest, max)
	}
	switch {
	case errors.Is(err, errExpired):
		return nil, "", &core.Permanent{Err: fmt.Errorf("fetch whatsapp file: %w", err)}
	case err != nil:
		return nil, "", fmt.Errorf("fetch whatsapp file: %w", err)
	}
	return data, media, nil
}

// errExpired means that the URL of a file, which is valid for minutes only, has expired.
var errExpired = errors.New("the service no longer has the file")

// fetch looks up the URL of a file and downloads it.
func (c *Channel) fetch(ctx context.Context, id, digest string, max int64) ([]byte, string, error) {
	data, media, err := c.api.Fetch(ctx, url.PathEscape(id), digest, callTimeout, max, gone)
	return data, media, notServed(err)
}

// gone makes an error permanent if it means that the file does not exist.
func gone(err error) error {
	if refused, ok := errors.AsType[*graph.Error](err); ok &&
		(refused.HTTP == http.StatusNotFound || refused.Code == 100 || refused.Code == 131052) {
		return &core.Permanent{Err: err}
	}
	return err
}

// notServed classifies the error of a file's host.
func notServed(err error) error {
	var unserved *graph.Unserved
	if !errors.As(err, &unserved) {
		return err
	}
	switch unserved.Code {
	case http.StatusNotFound, http.StatusGone:
		return errExpired
	case http.StatusUnauthorized:
		return unserved // temporary, as the token may be being changed
	}
	return err
}

const maxCaption = 1024 // UTF-16 units

// Limits of files by the type of message, in bytes.
const (
	maxImage    = 5e6
	maxAudio    = 16e6
	maxVideo    = 16e6
	maxDocument = 100e6
)

// attach uploads the file of p and makes m a message with it.
func (c *Channel) attach(ctx context.Context, m *outgoing, to core.Address, p core.Part) error {
	kind, mediaType := form(p.Attachment, len(p.Data), p.Text != "")
	if len(p.Data) == 0 || len(p.Data) > maxDocument {
		return &core.Permanent{Err: fmt.Errorf("send to whatsapp: the file %s has %d bytes; between 1 and %d can be sent",
			p.Attachment.Name, len(p.Data), int(maxDocument))}
	}
	caption, err := graph.Caption("whatsapp", p, maxCaption)
	if err != nil {
		return err
	}
	id, err := c.api.Upload(ctx, c.opts.PhoneNumberID+"/media", p.Attachment.Name, mediaType, p.Data)
	if err != nil {
		return graph.Repeatable(c.classify(err, to))
	}
	m.Carry(kind, graph.File{ID: id, Caption: caption, Voice: kind == "audio" && p.Attachment.Kind == "voice" &&
		mediaType == "audio/ogg"}, p.Attachment.Name)
	return nil
}

// form returns the kind of message and the media type for a file.
func form(a *core.Attachment, size int, captioned bool) (kind, mediaType string) {
	sounds := []string{"audio/aac", "audio/amr", "audio/mpeg", "audio/mp4", "audio/ogg"}
	return graph.Kind(a.MIME, size, captioned, [3]int{maxImage, maxVideo, maxAudio}, sounds,
		append(sounds, "image/jpeg", "image/png", "video/mp4", "video/3gpp")...)
}

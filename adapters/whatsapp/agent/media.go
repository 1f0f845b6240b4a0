package agent

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/everthread/everthread/adapters/whatsapp/graph"
	"github.com/everthread/everthread/core"
)

const (
	// maxIncoming bounds a file for which the caller sets no limit, in bytes.
	maxIncoming = 64 << 20
	maxImage    = 5e6
	maxFile     = 16e6 // of every other kind
)

// attach uploads the file of p and makes m a message with it.
func (a *agent) attach(ctx context.Context, m *outgoing, p core.Part) error {
	if len(p.Data) == 0 || len(p.Data) > maxFile {
		return &core.Permanent{Err: fmt.Errorf(
			"send to personal agent: the file %s has %d bytes; between 1 and %d can be sent", p.Attachment.Name,
			len(p.Data), int(maxFile))}
	}
	caption, err := graph.Caption("personal agent", p, maxCaption)
	if err != nil {
		return err
	}
	kind, mediaType := form(p.Attachment.MIME, len(p.Data), caption != "")
	id, err := a.upload(ctx, p.Attachment.Name, mediaType, p.Data)
	if err != nil {
		return graph.Repeatable(a.classify(ctx, err))
	}
	m.Carry(kind, graph.File{ID: id, Caption: caption}, p.Attachment.Name)
	return nil
}

// form returns the kind of message and the media type for a file. A file that is too
// large or of a type that WhatsApp does not show is a document, and so is a recording
// with a caption, as recordings have none.
func form(mediaType string, size int, captioned bool) (kind, sent string) {
	base, _, err := mime.ParseMediaType(mediaType)
	if err != nil {
		base = "application/octet-stream"
	}
	switch base {
	case "image/jpeg", "image/png":
		if size <= maxImage {
			return "image", base
		}
	case "video/mp4", "video/3gpp":
		return "video", base
	case "audio/aac", "audio/mp4", "audio/mpeg", "audio/amr", "audio/ogg", "audio/opus":
		if !captioned {
			return "audio", base
		}
	}
	return "document", graph.DocumentType(base)
}

// upload stores a file with the service and returns its id.
func (a *agent) upload(ctx context.Context, name, mediaType string, data []byte) (string, error) {
	if wait := a.limits.uploads.take(a.c.now()); wait > 0 {
		return "", &core.RetryAfter{After: wait, Err: errors.New("a personal agent may upload twelve files a minute")}
	}
	return a.api.Upload(ctx, "media", name, mediaType, data)
}

// Fetch downloads the file of an attachment's Ref, and returns it with its media type. A
// file larger than max bytes (0: 64 MiB), one that the service no longer has, and one
// with a wrong digest are *core.Permanent errors. Only Meta's hosts receive the key, and
// redirects are not followed.
func (c *Channel) Fetch(ctx context.Context, ref string, max int64) ([]byte, string, error) {
	account, rest, _ := strings.Cut(ref, "/")
	id, digest, _ := strings.Cut(rest, "#")
	if max <= 0 || max > maxIncoming {
		max = maxIncoming
	}
	a, err := c.agent(ctx, account)
	if err != nil {
		return nil, "", fmt.Errorf("fetch file of personal agent: %w", err)
	}
	data, info, err := a.fetch(ctx, id, max)
	if err != nil {
		return nil, "", fmt.Errorf("fetch file of personal agent: %w", err)
	}
	if !graph.Matches(data, digest) || !graph.Matches(data, info.SHA256) {
		return nil, "", &core.Permanent{
			Err: errors.New("fetch file of personal agent: the received file is not the one that was sent")}
	}
	return data, info.MIME, nil
}

// fetch looks up the URL of a file and downloads it.
func (a *agent) fetch(ctx context.Context, id string, max int64) ([]byte, graph.Info, error) {
	if err := a.limits.lookups.wait(ctx, a.c.now); err != nil {
		return nil, graph.Info{}, err
	}
	return a.api.Fetch(ctx, "media/"+url.PathEscape(id), callTimeout, max, gone)
}

// gone makes an error permanent if the service refuses the lookup of a file.
func gone(err error) error {
	var refused *apiError
	if errors.As(err, &refused) && refused.HTTP >= 400 && refused.HTTP < 500 &&
		refused.HTTP != http.StatusTooManyRequests {
		return &core.Permanent{Err: err}
	}
	return err
}

package whatsapp

import (
	"context"
	"fmt"
	"mime"
	"strings"

	"github.com/everthread/everthread/adapters/whatsapp/graph"
	"github.com/everthread/everthread/core"
)

const maxCaption = 1024 // UTF-16 units

// Limits of files by the type of message, in bytes.
const (
	maxImage    = 5e6
	maxAudio    = 16e6
	maxVideo    = 16e6
	maxDocument = 100e6
)

// attach uploads the file of p and makes m the message that carries it.
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

// form says as what kind of message a file goes, and under which media type:
// what is too large or of a type that WhatsApp does not show goes as a document,
// and so does a recording with a caption, since it can have none.
func form(a *core.Attachment, size int, captioned bool) (kind, mediaType string) {
	base, _, err := mime.ParseMediaType(a.MIME)
	if err != nil {
		base = "application/octet-stream"
	}
	switch base {
	case "image/jpeg", "image/png":
		if size <= maxImage {
			return "image", base
		}
	case "video/mp4", "video/3gpp":
		if size <= maxVideo {
			return "video", base
		}
	case "audio/aac", "audio/amr", "audio/mpeg", "audio/mp4", "audio/ogg":
		if size <= maxAudio && !captioned {
			return "audio", base
		}
	}
	return "document", documentType(base)
}

// documentType is the media type of a document that is taken: text of any kind
// is plain text, and what is not known is bytes.
func documentType(base string) string {
	switch {
	case strings.HasPrefix(base, "text/"), base == "application/json", base == "application/xml",
		base == "application/yaml":
		return "text/plain"
	case strings.HasPrefix(base, "application/vnd.openxmlformats-officedocument."):
		return base
	}
	switch base {
	case "application/pdf", "application/msword", "application/vnd.ms-excel", "application/vnd.ms-powerpoint",
		"image/jpeg", "image/png", "video/mp4", "video/3gpp", "audio/aac", "audio/amr", "audio/mpeg",
		"audio/mp4", "audio/ogg":
		return base
	}
	return "application/octet-stream"
}

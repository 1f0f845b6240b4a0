package whatsapp

import (
	"context"
	"fmt"
	"mime"

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

// form returns the kind of message and the media type for a file. A file that is too
// large or of a type that WhatsApp does not show is a document, and so is a recording
// with a caption, as recordings have none.
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
	return "document", graph.DocumentType(base, "image/jpeg", "image/png", "video/mp4", "video/3gpp", "audio/aac",
		"audio/amr", "audio/mpeg", "audio/mp4", "audio/ogg")
}

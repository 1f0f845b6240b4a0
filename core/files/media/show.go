package media

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	_ "image/gif"  // read the sizes of pictures
	_ "image/jpeg" // likewise
	_ "image/png"  // likewise
	"net/http"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
	_ "golang.org/x/image/webp" // likewise

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/job"
)

// Loaded waits for the attachments of messages, for at most Wait.
func (m *Files) Loaded(ctx context.Context, u core.UserID, ids []core.MessageID) error {
	return m.await(ctx, u, ids, m.loading)
}

// Readable waits until the attachments of messages are downloaded and the documents among them read, for at most Wait.
func (m *Files) Readable(ctx context.Context, u core.UserID, ids []core.MessageID) error {
	return m.await(ctx, u, ids, m.Unread)
}

func (m *Files) await(ctx context.Context, u core.UserID, ids []core.MessageID,
	waits func([]core.Attachment) bool) error {
	deadline := m.Now().Add(m.Wait)
	for {
		ms, err := m.Store.Messages(ctx, u, ids)
		wait := slices.ContainsFunc(ms, func(m core.Message) bool { return waits(m.Attachments) })
		if err != nil || !wait || m.Now().After(deadline) {
			return err
		}
		job.Wait(ctx, 200*time.Millisecond)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// Images returns the pictures among the attachments of messages that are downloaded; see Loaded.
func (m *Files) Images(ctx context.Context, u core.UserID,
	ids []core.MessageID) (map[core.MessageID][]core.Image, error) {
	ms, err := m.Store.Messages(ctx, u, ids)
	if err != nil {
		return nil, err
	}
	return m.images(ms), nil
}

// loading reports whether an attachment is still being downloaded, read or transcribed.
func (m *Files) loading(all []core.Attachment) bool {
	now := m.Now()
	return slices.ContainsFunc(all, func(a core.Attachment) bool {
		return coming(a) || a.Document.Unread() || !a.Unheard.IsZero() && !now.Before(a.Unheard)
	})
}

// Unread reports whether an attachment is still being downloaded, or a document read.
func (m *Files) Unread(all []core.Attachment) bool {
	return slices.ContainsFunc(all, func(a core.Attachment) bool {
		return coming(a) || m.Kind != nil && a.Document.Unread()
	})
}

// coming reports whether an attachment is still to be downloaded.
func coming(a core.Attachment) bool { return a.Missing() == core.FileComing }

// images returns the pictures among the attachments of messages that a model can see.
func (m *Files) images(ms []core.Message) map[core.MessageID][]core.Image {
	out := map[core.MessageID][]core.Image{}
	for _, msg := range ms {
		for _, a := range msg.Attachments {
			if a.Path == "" || !strings.HasPrefix(a.MIME, "image/") {
				continue
			}
			data, err := m.Read(a.Path)
			if err != nil {
				m.Log.Warn("attachment not read", zap.Int64("message", int64(msg.ID)), zap.Error(err))
				continue
			}
			if media := http.DetectContentType(data); core.Picture(media) {
				out[msg.ID] = append(out[msg.ID], core.Image{MIME: media, Data: data})
			}
		}
	}
	return out
}

// mostPixels bounds the pictures of tools, because a small file may decode to a very large
// picture. It is the bound of the most restrictive service.
const mostPixels = 25_000_000

// checkPicture returns the type of a foreign picture, or why it is not shown. It relies only
// on the content, and decodes only the size.
func checkPicture(data []byte) (string, error) {
	seen := http.DetectContentType(data)
	if !core.Picture(seen) {
		return "", errors.New("it is no picture that is shown: PNG, JPEG, WebP or GIF")
	}
	c, _, err := image.DecodeConfig(bytes.NewReader(data))
	switch {
	case err != nil:
		return "", errors.New("the picture cannot be read")
	case c.Width <= 0 || c.Height <= 0 || c.Width > mostPixels/c.Height:
		return "", fmt.Errorf("the picture is too large: %d × %d pixels", c.Width, c.Height)
	}
	return seen, nil
}

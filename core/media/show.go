package media

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/job"
)

// Loaded waits for the attachments of messages, for at most Wait.
func (m *Files) Loaded(ctx context.Context, u core.UserID, ids []core.MessageID) error {
	deadline := m.Now().Add(m.Wait)
	for {
		ms, err := m.Store.Messages(ctx, u, ids)
		if err != nil || !loading(ms, m.Now()) || m.Now().After(deadline) {
			return err
		}
		job.Wait(ctx, 200*time.Millisecond)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// Images returns the pictures among the messages' attachments, as far as they
// are there; see Loaded.
func (m *Files) Images(ctx context.Context, u core.UserID,
	ids []core.MessageID) (map[core.MessageID][]core.Image, error) {
	ms, err := m.Store.Messages(ctx, u, ids)
	if err != nil {
		return nil, err
	}
	return m.images(ms), nil
}

// loading reports whether something of the messages is on its way.
func loading(ms []core.Message, now time.Time) bool {
	for _, m := range ms {
		for _, a := range m.Attachments {
			if a.Ref != "" && a.Path == "" && a.Error == "" || !a.Unheard.IsZero() && !now.Before(a.Unheard) {
				return true
			}
		}
	}
	return false
}

// seenByModels are the pictures that every provider takes. One that it does not
// take would cost the answer.
var seenByModels = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

// images are the pictures among the attachments of messages that a model can see.
func (m *Files) images(ms []core.Message) map[core.MessageID][]core.Image {
	out := map[core.MessageID][]core.Image{}
	for _, msg := range ms {
		for _, a := range msg.Attachments {
			if a.Path == "" || !strings.HasPrefix(a.MIME, "image/") {
				continue
			}
			data, err := m.Read(a.Path)
			if err != nil {
				m.Log.Warn("read attachment", zap.Int64("message", int64(msg.ID)), zap.Error(err))
				continue
			}
			if media := http.DetectContentType(data); slices.Contains(seenByModels, media) {
				out[msg.ID] = append(out[msg.ID], core.Image{MIME: media, Data: data})
			}
		}
	}
	return out
}

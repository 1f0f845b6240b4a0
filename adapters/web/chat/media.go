package chat

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
)

// shownAs returns the media type with which a page shows a file, or "" if the file can
// only be downloaded.
func shownAs(media string) string {
	kind, _, err := mime.ParseMediaType(media)
	if err != nil {
		return ""
	}
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp",
		"audio/mpeg", "audio/ogg", "audio/wav", "audio/x-wav", "audio/wave", "audio/mp4", "audio/aac",
		"audio/webm", "audio/flac", "video/mp4", "video/webm", "video/ogg":
		return kind
	case "application/ogg":
		return "audio/ogg"
	}
	return ""
}

// media serves an attachment of one of the visitor's messages. The path of the file is
// the message's; no part of the URL reaches the file system.
func (r *Room) media(v *web.Visit) error {
	n, err := strconv.Atoi(v.R.PathValue("n"))
	if err != nil || n < 0 {
		return core.ErrNotFound
	}
	m, err := r.message(v, messageNumber(v.R.PathValue("message")))
	if err != nil {
		return err
	}
	if n >= len(m.Attachments) || m.Attachments[n].Path == "" {
		return core.ErrNotFound
	}
	a := m.Attachments[n]
	root, err := os.OpenRoot(r.MediaDir)
	if err != nil {
		return fmt.Errorf("open the media folder: %w", err)
	}
	defer func() { _ = root.Close() }()
	f, err := root.Open(filepath.FromSlash(a.Path))
	if errors.Is(err, os.ErrNotExist) {
		return core.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("open an attachment: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return core.ErrNotFound
	}
	mediaHeaders(v, a)
	http.ServeContent(v.W, v.R, "", info.ModTime(), f)
	return nil
}

func mediaHeaders(v *web.Visit, a core.Attachment) {
	h := v.W.Header()
	kind, disposition := shownAs(a.MIME), "inline"
	if kind == "" {
		kind, disposition = "application/octet-stream", "attachment"
	}
	h.Set("Content-Type", kind)
	h.Set("Content-Disposition", mime.FormatMediaType(disposition, map[string]string{"filename": attachmentName(a)}))
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cache-Control", "private, no-store")
}

func attachmentName(a core.Attachment) string {
	name := strings.Trim(web.FileName(a.Name), ".")
	if name == "" {
		return a.Kind
	}
	return name
}

// message returns one of the visitor's messages, or core.ErrNotFound if it is redacted or not theirs.
func (r *Room) message(v *web.Visit, id core.MessageID) (core.Message, error) {
	if id <= 0 {
		return core.Message{}, core.ErrNotFound
	}
	found, err := r.Store.Messages(v.Context(), v.User.ID, []core.MessageID{id})
	if err != nil {
		return core.Message{}, fmt.Errorf("read the message: %w", err)
	}
	if len(found) == 0 || found[0].Redacted {
		return core.Message{}, core.ErrNotFound
	}
	return found[0], nil
}

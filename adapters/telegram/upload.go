package telegram

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"mime/multipart"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-telegram/bot"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/markup"
)

const (
	maxCaption = 1024 // UTF-16 units
	// maxFile and maxPhoto are the service's limits, in bytes.
	maxFile  = 50e6
	maxPhoto = 10e6
	// uploadTimeout bounds one request to send a file. After it the outcome is unknown.
	uploadTimeout = 2 * time.Minute
)

// upload is a file to send: the method and form field for it, and its name, type and
// content.
type upload struct {
	method, field string
	name, media   string
	data          []byte
}

// uploadOf returns the upload for p, or nil for a text. Files that the service does not
// show as a picture, video or recording are documents.
func uploadOf(p core.Part) (*upload, error) {
	a := p.Attachment
	if a == nil {
		return nil, nil
	}
	if len(p.Data) == 0 || len(p.Data) > maxFile {
		return nil, &core.Permanent{Err: fmt.Errorf(
			"send to telegram: the file %s has %d bytes; between 1 and %d can be sent", a.Name, len(p.Data), int(maxFile))}
	}
	if markup.UTF16Len(p.Text) > maxCaption {
		return nil, &core.Permanent{Err: errors.New("send to telegram: the caption is too long")}
	}
	media, _, err := mime.ParseMediaType(a.MIME)
	if err != nil {
		media = "application/octet-stream"
	}
	u := &upload{method: "sendDocument", field: "document", name: a.Name, media: media, data: p.Data}
	switch media {
	case "image/jpeg", "image/png", "image/webp":
		if len(p.Data) <= maxPhoto && a.Kind != "document" {
			u.method, u.field = "sendPhoto", "photo"
		}
	case "video/mp4":
		u.method, u.field = "sendVideo", "video"
	case "audio/mpeg", "audio/mp4":
		u.method, u.field = "sendAudio", "audio"
	case "audio/ogg":
		if a.Kind == "voice" {
			u.method, u.field = "sendVoice", "voice"
		}
	}
	return u, nil
}

// plain makes the file a document if the service refused its kind, and reports whether it
// did.
func (u *upload) plain(err error) bool {
	if u == nil || u.field == "document" {
		return false
	}
	causes := []string{"PHOTO_", "IMAGE_PROCESS_FAILED", "VIDEO_", "AUDIO_", "VOICE_MESSAGES_FORBIDDEN", "wrong file type"}
	if !slices.ContainsFunc(causes, func(words string) bool { return has(err, words) }) {
		return false
	}
	u.method, u.field = "sendDocument", "document"
	return true
}

// form returns the request with the file and params, whose text is the caption, and its
// content type.
func (u *upload) form(params *bot.SendMessageParams) ([]byte, string, error) {
	fields := [][2]string{{"chat_id", fmt.Sprint(params.ChatID)}}
	if strings.TrimSpace(params.Text) != "" {
		fields = append(fields, [2]string{"caption", params.Text})
	}
	if params.DisableNotification {
		fields = append(fields, [2]string{"disable_notification", strconv.FormatBool(true)})
	}
	nested := map[string]any{}
	if len(params.Entities) > 0 && strings.TrimSpace(params.Text) != "" {
		nested["caption_entities"] = params.Entities
	}
	if params.ReplyParameters != nil {
		nested["reply_parameters"] = params.ReplyParameters
	}
	for name, v := range nested {
		raw, err := json.Marshal(v)
		if err != nil {
			return nil, "", fmt.Errorf("write %s: %w", name, err)
		}
		fields = append(fields, [2]string{name, string(raw)})
	}
	return u.write(fields)
}

// write returns the fields and the file as a form, and its content type.
func (u *upload) write(fields [][2]string) ([]byte, string, error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, f := range fields {
		if err := w.WriteField(f[0], f[1]); err != nil {
			return nil, "", fmt.Errorf("write form: %w", err)
		}
	}
	header := textproto.MIMEHeader{}
	header.Set("Content-Disposition", fmt.Sprintf(`form-data; name="%s"; filename="%s"`, u.field, fileName(u.name)))
	header.Set("Content-Type", u.media)
	part, err := w.CreatePart(header)
	if err != nil {
		return nil, "", fmt.Errorf("write form: %w", err)
	}
	_, err = part.Write(u.data)
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, "", fmt.Errorf("write form: %w", err)
	}
	return b.Bytes(), w.FormDataContentType(), nil
}

// fileName returns a name for a form. The service accepts UTF-8.
func fileName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7F || strings.ContainsRune(`"\/`, r) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(name, "_"))
	return cmp.Or(head(name, 200), "file")
}

// post makes one request to send the file u or, if that is nil, the text.
func (c *Channel) post(ctx context.Context, params *bot.SendMessageParams, u *upload, result any) error {
	if u == nil {
		return c.api.call(ctx, sendTimeout, "sendMessage", params, result)
	}
	body, kind, err := u.form(params)
	if err != nil {
		return &netError{Op: u.method, Err: err}
	}
	return c.api.post(ctx, uploadTimeout, u.method, kind, body, result)
}

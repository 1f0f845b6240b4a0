package telegram

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-telegram/bot/models"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
)

// content returns the text of m, with placeholders for other content, and its files. Both
// are empty for service messages.
func content(m *models.Message) (string, []core.Attachment) {
	if m.Text != "" {
		return m.Text, nil
	}
	label, a := file(m)
	if label == "" {
		label = object(m)
	}
	if label == "" {
		return m.Caption, nil
	}
	if m.Caption != "" {
		label += ": " + m.Caption
	}
	if a == nil {
		return "[" + label + "]", nil
	}
	return "[" + label + "]", []core.Attachment{*a}
}

// file returns the label and the file of m, or "" if there is none.
func file(m *models.Message) (string, *core.Attachment) {
	switch {
	case len(m.Photo) > 0:
		p := slices.MaxFunc(m.Photo, func(a, b models.PhotoSize) int {
			return cmp.Compare(a.Width*a.Height, b.Width*b.Height)
		})
		return "photo", attachment("photo", p.FileID, "", "image/jpeg", int64(p.FileSize))
	case m.Voice != nil:
		v := m.Voice
		return timed("voice", v.Duration, attachment("voice", v.FileID, "", v.MimeType, v.FileSize))
	case m.Audio != nil:
		v := m.Audio
		name := cmp.Or(v.FileName, strings.Trim(v.Performer+" - "+v.Title, " -"))
		return timed("audio", v.Duration, attachment("audio", v.FileID, name, v.MimeType, v.FileSize))
	case m.Animation != nil: // comes with a document of the same file
		v := m.Animation
		return timed("animation", v.Duration, attachment("video", v.FileID, v.FileName, v.MimeType, v.FileSize))
	case m.Video != nil:
		v := m.Video
		return timed("video", v.Duration, attachment("video", v.FileID, v.FileName, v.MimeType, v.FileSize))
	case m.VideoNote != nil:
		v := m.VideoNote
		return timed("video", v.Duration, attachment("video", v.FileID, "", "video/mp4", int64(v.FileSize)))
	case m.Document != nil:
		d := m.Document
		return strings.TrimSpace("document " + d.FileName),
			attachment("document", d.FileID, d.FileName, d.MimeType, d.FileSize)
	case m.Sticker != nil:
		s := m.Sticker
		return strings.TrimSpace("sticker " + s.Emoji), attachment("sticker", s.FileID, "", stickerType(s), int64(s.FileSize))
	}
	return "", nil
}

func attachment(kind, ref, name, mime string, size int64) *core.Attachment {
	return &core.Attachment{Kind: kind, Ref: ref, Name: name, MIME: mime, Size: size}
}

// timed adds a duration in seconds to a label and its attachment.
func timed(kind string, seconds int, a *core.Attachment) (string, *core.Attachment) {
	seconds = max(0, seconds)
	a.Duration = time.Duration(seconds) * time.Second
	return fmt.Sprintf("%s %d:%02d", kind, seconds/60, seconds%60), a
}

func stickerType(s *models.Sticker) string {
	switch {
	case s.IsAnimated:
		return "application/x-tgsticker"
	case s.IsVideo:
		return "video/webm"
	}
	return "image/webp"
}

// object returns the label of content that is neither text nor a file, or "".
func object(m *models.Message) string {
	switch {
	case m.Venue != nil: // comes with a location of its own
		v := m.Venue
		return fmt.Sprintf("venue %s, %s, %s", v.Title, v.Address, coordinates(&v.Location))
	case m.Location != nil:
		return "location " + coordinates(m.Location)
	case m.Contact != nil:
		c := m.Contact
		return strings.Join(strings.Fields("contact "+c.FirstName+" "+c.LastName+" "+c.PhoneNumber), " ")
	case m.Poll != nil:
		options := make([]string, len(m.Poll.Options))
		for i, o := range m.Poll.Options {
			options[i] = o.Text
		}
		return fmt.Sprintf("poll %s (%s)", m.Poll.Question, strings.Join(options, " / "))
	case m.Checklist != nil:
		tasks := make([]string, len(m.Checklist.Tasks))
		for i, t := range m.Checklist.Tasks {
			tasks[i] = t.Text
		}
		return fmt.Sprintf("checklist %s (%s)", m.Checklist.Title, strings.Join(tasks, " / "))
	case m.Dice != nil:
		return fmt.Sprintf("dice %s %d", m.Dice.Emoji, m.Dice.Value)
	case m.PaidMedia != nil:
		return "paid media"
	case m.Story != nil:
		return "story"
	}
	return ""
}

func coordinates(l *models.Location) string { return fmt.Sprintf("%.5f,%.5f", l.Latitude, l.Longitude) }

const fileTimeout = 2 * time.Minute

// Fetch downloads the file with the id ref, and returns it with its media type. A file
// larger than max bytes (0: no limit), or one that the service no longer has, is a
// *core.Permanent error.
func (c *Channel) Fetch(ctx context.Context, ref string, max int64) ([]byte, string, error) {
	var f models.File
	err := c.api.call(ctx, callTimeout, "getFile", map[string]string{"file_id": ref}, &f)
	var refused *apiError
	switch {
	case errors.As(err, &refused) && refused.Code >= 400 && refused.Code < 500 &&
		refused.Code != http.StatusTooManyRequests:
		return nil, "", &core.Permanent{Err: fmt.Errorf("fetch telegram file: %w", err)}
	case err != nil:
		return nil, "", fmt.Errorf("fetch telegram file: %w", err)
	case max > 0 && f.FileSize > max:
		return nil, "", channel.TooLarge(max)
	}
	data, err := c.api.download(ctx, f.FilePath, max)
	if err != nil {
		return nil, "", err
	}
	return data, http.DetectContentType(data), nil
}

// download gets a file by the path that getFile returned.
func (a *api) download(ctx context.Context, path string, max int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fileTimeout)
	defer cancel()
	escaped := (&url.URL{Path: path}).EscapedPath()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.root+"/file/bot"+a.token+"/"+escaped, nil)
	if err != nil {
		return nil, fmt.Errorf("download telegram file: %w", a.clean(err))
	}
	resp, err := a.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("download telegram file: %w", a.clean(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		err := fmt.Errorf("download telegram file: the service answered %d", resp.StatusCode)
		if resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests {
			return nil, err
		}
		return nil, &core.Permanent{Err: err}
	}
	var body io.Reader = resp.Body
	if max > 0 {
		body = io.LimitReader(body, max+1)
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return nil, fmt.Errorf("download telegram file: %w", a.clean(err))
	}
	if max > 0 && int64(len(data)) > max {
		return nil, channel.TooLarge(max)
	}
	return data, nil
}

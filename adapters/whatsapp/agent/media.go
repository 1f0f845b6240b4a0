package agent

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
)

const (
	fileTimeout = 2 * time.Minute
	// maxIncoming bounds a file that the caller sets no limit for, in bytes.
	maxIncoming = 64 << 20
	maxImage    = 5e6
	maxFile     = 16e6 // of every other kind (CHANNELS B2.6)
)

// attach uploads the file of p and makes m the message that carries it.
func (a *agent) attach(ctx context.Context, m *outgoing, p core.Part) error {
	if len(p.Data) == 0 || len(p.Data) > maxFile {
		return &core.Permanent{Err: fmt.Errorf("send to personal agent: the file %s has %d bytes; between 1 and %d can be sent", p.Attachment.Name, len(p.Data), int(maxFile))}
	}
	b := &mediaBody{}
	if strings.TrimSpace(p.Text) != "" {
		caption, err := Render(core.Part{Text: p.Text, Spans: p.Spans}, maxCaption)
		if err != nil {
			return err
		}
		b.Caption = caption
	}
	kind, mediaType := form(p.Attachment.MIME, len(p.Data), b.Caption != "")
	id, err := a.upload(ctx, p.Attachment.Name, mediaType, p.Data)
	if err != nil {
		return a.notUploaded(ctx, err)
	}
	b.ID, m.Type = id, kind
	switch kind {
	case "image":
		m.Image = b
	case "video":
		m.Video = b
	case "audio":
		m.Audio = b
	default:
		b.Filename = p.Attachment.Name
		m.Document = b
	}
	return nil
}

// form says as what kind of message a file goes, and under which media type:
// what is too large or of a type that WhatsApp does not show goes as a document,
// and so does a recording with a caption, since it can have none.
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
	return "document", documentType(base)
}

// documentType is the media type of a document that is taken: text of any kind
// is plain text, and what is not known is bytes.
func documentType(base string) string {
	switch {
	case strings.HasPrefix(base, "text/"), base == "application/json", base == "application/xml", base == "application/yaml":
		return "text/plain"
	case base == "application/pdf", base == "application/msword", base == "application/vnd.ms-excel", base == "application/vnd.ms-powerpoint",
		strings.HasPrefix(base, "application/vnd.openxmlformats-officedocument."):
		return base
	}
	return "application/octet-stream"
}

// upload stores a file with the service and returns its id.
func (a *agent) upload(ctx context.Context, name, mediaType string, data []byte) (string, error) {
	if wait := a.limits.uploads.take(a.c.now()); wait > 0 {
		return "", &core.RetryAfter{After: wait, Err: errors.New("a personal agent may upload twelve files a minute")}
	}
	body, kind, err := multipartFile(name, mediaType, data)
	if err != nil {
		return "", &netError{Op: "upload", Err: err}
	}
	var stored struct {
		ID string `json:"id"`
	}
	_, err = a.api.do(ctx, call{op: "upload", method: http.MethodPost, path: "media", kind: kind, body: body, timeout: fileTimeout}, &stored)
	if err == nil && stored.ID == "" {
		err = &netError{Op: "upload", Err: errors.New("the answer has no id")}
	}
	return stored.ID, err
}

// notUploaded classifies an error of an upload. It may be repeated harmlessly,
// so nothing about it is ever unknown.
func (a *agent) notUploaded(ctx context.Context, err error) error {
	err = a.classify(ctx, err)
	var unknown *core.Unknown
	if errors.As(err, &unknown) {
		return unknown.Err
	}
	return err
}

// multipartFile returns the body of an upload and its content type. The name
// that is shown goes with the message; a form can carry ASCII without quotes.
func multipartFile(name, mediaType string, data []byte) ([]byte, string, error) {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || strings.ContainsRune(`"\/`, r) {
			return '_'
		}
		return r
	}, name)
	if name == "" || len(name) > 200 {
		name = "file"
	}
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	header := textproto.MIMEHeader{}
	header.Set("Content-Disposition", mime.FormatMediaType("form-data", map[string]string{"name": "file", "filename": name}))
	header.Set("Content-Type", mediaType)
	err := errors.Join(w.WriteField("messaging_product", "whatsapp"), w.WriteField("type", mediaType))
	if err != nil {
		return nil, "", fmt.Errorf("write form: %w", err)
	}
	part, err := w.CreatePart(header)
	if err != nil {
		return nil, "", fmt.Errorf("write form: %w", err)
	}
	_, err = part.Write(data)
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, "", fmt.Errorf("write form: %w", err)
	}
	return b.Bytes(), w.FormDataContentType(), nil
}

// fileInfo is what the service knows of a file.
type fileInfo struct {
	URL    string `json:"url"`
	MIME   string `json:"mime_type"`
	SHA256 string `json:"sha256"` // hex
	Size   int64  `json:"file_size"`
}

// Fetch downloads the file of an attachment's Ref, at most max bytes (0: 64 MiB).
// A larger file, one that the service no longer has, and one whose digest is
// wrong are *core.Permanent. The key goes to Meta's hosts only and follows no
// redirect (CHANNELS B2.6).
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
	if !matches(data, digest) || !matches(data, info.SHA256) {
		return nil, "", &core.Permanent{Err: errors.New("fetch file of personal agent: what came is not the file that was sent")}
	}
	return data, info.MIME, nil
}

// fetch asks for the address of a file and gets it.
func (a *agent) fetch(ctx context.Context, id string, max int64) ([]byte, fileInfo, error) {
	var info fileInfo
	if err := a.limits.lookups.wait(ctx, a.c.now); err != nil {
		return nil, info, err
	}
	_, err := a.api.do(ctx, call{op: "look up", method: http.MethodGet, path: "media/" + url.PathEscape(id), timeout: callTimeout}, &info)
	var refused *apiError
	if errors.As(err, &refused) && refused.HTTP >= 400 && refused.HTTP < 500 && refused.HTTP != http.StatusTooManyRequests {
		return nil, info, &core.Permanent{Err: err}
	}
	if err != nil {
		return nil, info, err
	}
	if info.Size > max {
		return nil, info, tooLarge(max)
	}
	if err := a.api.trusts(info.URL); err != nil {
		return nil, info, err
	}
	data, err := a.api.download(ctx, info.URL, max)
	return data, info, err
}

func tooLarge(max int64) error {
	return &core.Permanent{Err: fmt.Errorf("the file is larger than %d bytes", max)}
}

// trusts reports whether the key may go to address: Meta's media host over https,
// and the host of the API itself.
func (a *api) trusts(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.User != nil {
		return &core.Permanent{Err: errors.New("the service gave no proper address for the file")}
	}
	ours := strings.EqualFold(u.Host, "lookaside.fbsbx.com") && u.Scheme == "https"
	if ours || u.Host == a.host && strings.HasPrefix(a.root, u.Scheme+"://") {
		return nil
	}
	return &core.Permanent{Err: errors.New("the file is on a host that is not Meta's")}
}

// download gets a file from a trusted address.
func (a *api) download(ctx context.Context, address string, max int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fileTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, a.clean(err)
	}
	req.Header.Set("Authorization", "Bearer "+a.key)
	req.Header.Set("User-Agent", userAgent)
	still := *a.http
	still.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := still.Do(req)
	if err != nil {
		return nil, a.clean(err)
	}
	defer resp.Body.Close()
	if code := resp.StatusCode; code != http.StatusOK {
		err := fmt.Errorf("the file's host answered %d", code)
		if code >= 500 || code == http.StatusTooManyRequests {
			return nil, err
		}
		return nil, &core.Permanent{Err: err}
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, max+1))
	if err != nil {
		return nil, a.clean(err)
	}
	if int64(len(data)) > max {
		return nil, tooLarge(max)
	}
	return data, nil
}

// matches reports whether data has the digest, in Base64 as messages have it or in
// hex as look-ups do; "" fits all.
func matches(data []byte, digest string) bool {
	if digest == "" {
		return true
	}
	want, err := hex.DecodeString(digest)
	if err != nil || len(want) != sha256.Size {
		want, err = base64.StdEncoding.DecodeString(digest)
	}
	got := sha256.Sum256(data)
	return err == nil && subtle.ConstantTimeCompare(got[:], want) == 1
}

package graph

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
)

// FileTimeout bounds one transfer of a file.
const FileTimeout = 2 * time.Minute

// MediaHost is the host of Meta's files.
const MediaHost = "lookaside.fbsbx.com"

// Upload stores a file with the service and returns its id.
func (a *API) Upload(ctx context.Context, path, name, mediaType string, data []byte) (string, error) {
	disposition := mime.FormatMediaType("form-data", map[string]string{"name": "file", "filename": fileName(name)})
	fields := [][2]string{{"messaging_product", "whatsapp"}, {"type", mediaType}}
	body, kind, err := channel.Form(fields, disposition, mediaType, data)
	if err != nil {
		return "", &NetError{Op: "upload", Err: err}
	}
	var stored struct {
		ID string `json:"id"`
	}
	c := Call{Op: "upload", Method: http.MethodPost, Path: path, Kind: kind, Body: body, Timeout: FileTimeout}
	_, err = a.Do(ctx, c, &stored)
	if err == nil && stored.ID == "" {
		err = &NetError{Op: "upload", Err: errors.New("the answer has no id")}
	}
	return stored.ID, err
}

// fileName returns a name for a form: ASCII without quotes. The message contains the displayed name.
func fileName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || strings.ContainsRune(`"\/`, r) {
			return '_'
		}
		return r
	}, name)
	if name == "" || len(name) > 200 {
		return "file"
	}
	return name
}

// Trusts returns an error unless address may receive the token: Meta's media hosts over
// HTTPS and the host of the API itself may.
func (a *API) Trusts(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.User != nil {
		return &core.Permanent{Err: errors.New("the service returned an invalid URL for the file")}
	}
	host := strings.ToLower(u.Hostname())
	metas := host == MediaHost || a.CDN && strings.HasSuffix(host, ".fbcdn.net")
	if u.Host == a.Host && strings.HasPrefix(a.Root, u.Scheme+"://") || metas && u.Scheme == "https" && u.Port() == "" {
		return nil
	}
	return &core.Permanent{Err: errors.New("the file is on a host that is not Meta's")}
}

// Info is the service's description of a file.
type Info struct {
	URL    string      `json:"url"`
	MIME   string      `json:"mime_type"`
	SHA256 string      `json:"sha256"`
	Size   json.Number `json:"file_size"` // a string in Meta's description
}

// Fetch looks up the URL of a file at a path and downloads it, at most max bytes. It returns the media type, too.
// lookedUp wraps the error of the lookup. A file without the digest is a *core.Permanent error.
func (a *API) Fetch(ctx context.Context, path, digest string, timeout time.Duration, max int64,
	lookedUp func(error) error) ([]byte, string, error) {
	var info Info
	_, err := a.Do(ctx, Call{Op: "look up", Method: http.MethodGet, Path: path, Timeout: timeout}, &info)
	if err != nil {
		return nil, "", lookedUp(err)
	}
	if size, _ := info.Size.Int64(); size > max {
		return nil, "", channel.TooLarge(max)
	}
	if err := a.Trusts(info.URL); err != nil {
		return nil, "", err
	}
	data, err := a.Download(ctx, info.URL, max)
	if err == nil && (!Matches(data, digest) || !Matches(data, info.SHA256)) {
		err = &core.Permanent{Err: errors.New("the received file is not the one that was sent")}
	}
	return data, info.MIME, err
}

// Unserved means that the host of a file answered with another status than 200.
type Unserved struct{ Code int }

func (e *Unserved) Error() string { return fmt.Sprintf("the file's host answered %d", e.Code) }

// unserved returns an *Unserved, as a *core.Permanent unless the host is busy or broken.
func unserved(code int) error {
	err := &Unserved{code}
	if code >= 500 || code == http.StatusTooManyRequests {
		return err
	}
	return &core.Permanent{Err: err}
}

// Download gets a file from a trusted address, at most max bytes. It follows no redirect.
func (a *API) Download(ctx context.Context, address string, max int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, FileTimeout)
	defer cancel()
	req, err := a.request(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	still := *a.HTTP
	still.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := still.Do(req)
	if err != nil {
		return nil, a.Clean(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, unserved(resp.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, max+1))
	if err != nil {
		return nil, a.Clean(err)
	}
	if int64(len(data)) > max {
		return nil, channel.TooLarge(max)
	}
	return data, nil
}

// Kind returns the kind of message and the media type for a file. A file of more bytes than
// the limit of its kind, or of a type that WhatsApp does not show, is a document, and so is a
// recording with a caption, as recordings have none. most are the limits of pictures, videos
// and recordings; sounds are the types of recordings; also lists further types of documents.
func Kind(media string, size int, captioned bool, most [3]int, sounds []string, also ...string) (kind, sent string) {
	base, _, err := mime.ParseMediaType(media)
	if err != nil {
		base = "application/octet-stream"
	}
	switch {
	case (base == "image/jpeg" || base == "image/png") && size <= most[0]:
		return "image", base
	case (base == "video/mp4" || base == "video/3gpp") && size <= most[1]:
		return "video", base
	case slices.Contains(sounds, base) && size <= most[2] && !captioned:
		return "audio", base
	}
	return "document", documentType(base, also)
}

// documentType returns the media type under which the service accepts a document. Text of
// any kind is plain text, and unknown types are bytes. also lists further accepted types.
func documentType(base string, also []string) string {
	switch {
	case strings.HasPrefix(base, "text/"), base == "application/json", base == "application/xml",
		base == "application/yaml":
		return "text/plain"
	case base == "application/pdf", base == "application/msword", base == "application/vnd.ms-excel",
		base == "application/vnd.ms-powerpoint", strings.HasPrefix(base, "application/vnd.openxmlformats-officedocument."),
		slices.Contains(also, base):
		return base
	}
	return "application/octet-stream"
}

// Matches reports whether data has the digest, in Base64 or hex. An empty digest matches everything.
func Matches(data []byte, digest string) bool {
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

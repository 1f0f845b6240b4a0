package whatsapp

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
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
)

const (
	callTimeout = 30 * time.Second
	fileTimeout = 2 * time.Minute
	// maxFile bounds a file that the caller sets no limit for, in bytes; the
	// service carries no larger one (CHANNELS B.7).
	maxFile = 100 << 20
)

// reference returns the Ref of a file: its id and, if known, its digest, which
// Base64 writes without "#".
func reference(f *media) string {
	if f.SHA256 == "" {
		return clean(f.ID)
	}
	return clean(f.ID + "#" + f.SHA256)
}

// fileInfo is what the service knows of a file.
type fileInfo struct {
	URL    string      `json:"url"`
	MIME   string      `json:"mime_type"`
	SHA256 string      `json:"sha256"`
	Size   json.Number `json:"file_size"` // a string in Meta's description
}

// Fetch downloads the file of an attachment's Ref, at most max bytes (0: what
// the service carries). A larger file, one that the service no longer has, and
// one whose digest is wrong are *core.Permanent. The token goes to Meta's hosts
// only and follows no redirect (CHANNELS B.7).
func (c *Channel) Fetch(ctx context.Context, ref string, max int64) ([]byte, string, error) {
	id, digest, _ := strings.Cut(ref, "#")
	if max <= 0 || max > maxFile {
		max = maxFile
	}
	data, info, err := c.fetch(ctx, id, max)
	if errors.Is(err, errExpired) {
		data, info, err = c.fetch(ctx, id, max)
	}
	switch {
	case errors.Is(err, errExpired):
		return nil, "", &core.Permanent{Err: fmt.Errorf("fetch whatsapp file: %w", err)}
	case err != nil:
		return nil, "", fmt.Errorf("fetch whatsapp file: %w", err)
	case !matches(data, digest) || !matches(data, info.SHA256):
		return nil, "", &core.Permanent{Err: errors.New("fetch whatsapp file: what came is not the file that was sent")}
	}
	return data, info.MIME, nil
}

// errExpired: the address of a file is good for minutes only.
var errExpired = errors.New("the service no longer has the file")

// fetch asks for the address of a file and gets it.
func (c *Channel) fetch(ctx context.Context, id string, max int64) ([]byte, fileInfo, error) {
	var info fileInfo
	err := c.api.do(ctx, call{op: "look up", method: http.MethodGet, path: url.PathEscape(id), timeout: callTimeout}, &info)
	if err != nil {
		return nil, info, gone(err)
	}
	if size, _ := info.Size.Int64(); size > max {
		return nil, info, tooLarge(max)
	}
	if err := c.api.trusts(info.URL); err != nil {
		return nil, info, err
	}
	data, err := c.api.download(ctx, info.URL, max)
	return data, info, err
}

// gone makes an error permanent if the service says that there is no such file.
func gone(err error) error {
	var refused *apiError
	if errors.As(err, &refused) {
		switch {
		case refused.HTTP == http.StatusNotFound, refused.Code == 100, refused.Code == 131052:
			return &core.Permanent{Err: err}
		}
	}
	return err
}

func tooLarge(max int64) error {
	return &core.Permanent{Err: fmt.Errorf("the file is larger than %d bytes", max)}
}

// mediaHost is where Meta keeps files.
const mediaHost = "lookaside.fbsbx.com"

// trusts reports whether the token may go to address: Meta's media hosts over
// https, and the host of the API itself.
func (a *api) trusts(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.User != nil {
		return &core.Permanent{Err: errors.New("the service gave no proper address for the file")}
	}
	host := strings.ToLower(u.Hostname())
	ours := host == mediaHost || strings.HasSuffix(host, ".fbcdn.net")
	if u.Host == a.host && strings.HasPrefix(a.root, u.Scheme+"://") || ours && u.Scheme == "https" && u.Port() == "" {
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
	req.Header.Set("Authorization", "Bearer "+a.token)
	req.Header.Set("User-Agent", userAgent)
	still := *a.http
	still.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := still.Do(req)
	if err != nil {
		return nil, a.clean(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, notServed(resp.StatusCode)
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

// notServed says what it means that a file's address answered with code.
func notServed(code int) error {
	err := fmt.Errorf("the file's host answered %d", code)
	switch {
	case code == http.StatusNotFound, code == http.StatusGone:
		return errExpired
	case code >= 500, code == http.StatusTooManyRequests, code == http.StatusUnauthorized:
		return err
	}
	return &core.Permanent{Err: err}
}

// matches reports whether data has the digest, in Base64 or hex; "" fits all.
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

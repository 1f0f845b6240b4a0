package matrix

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/crypto/attachment"
	mevent "maunium.net/go/mautrix/event"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
)

const fileTimeout = 2 * time.Minute

// attach uploads the file of a part, encrypted if the room is, and adds it to content.
func (c *Channel) attach(ctx context.Context, s *session, r room, p core.Part, content map[string]any) error {
	a, data := p.Attachment, p.Data
	mime := cmp.Or(a.MIME, http.DetectContentType(data))
	var keys *attachment.EncryptedFile
	sent, name, kind := data, a.Name, mime
	if r.encrypted {
		keys = attachment.NewEncryptedFile()
		sent, name, kind = slices.Clone(data), "", "application/octet-stream"
		keys.EncryptInPlace(sent)
	}
	up, err := s.cli.UploadMedia(ctx, mautrix.ReqUploadMedia{ContentBytes: sent, ContentType: kind, FileName: name})
	if err != nil {
		return fmt.Errorf("upload the file: %w", clean(err))
	}
	if keys != nil {
		content["file"] = mevent.EncryptedFileInfo{EncryptedFile: *keys, URL: up.ContentURI.CUString()}
	} else {
		content["url"] = up.ContentURI.String()
	}
	content["msgtype"] = fileType(mime)
	content["filename"] = a.Name
	if strings.TrimSpace(p.Text) == "" {
		content["body"] = a.Name
	}
	info := map[string]any{"mimetype": mime, "size": len(data)}
	if a.Duration > 0 {
		info["duration"] = a.Duration.Milliseconds()
	}
	content["info"] = info
	if a.Kind == "voice" {
		content["org.matrix.msc3245.voice"] = struct{}{}
	}
	return nil
}

func fileType(mime string) string {
	switch kind, _, _ := strings.Cut(mime, "/"); kind {
	case "image", "audio", "video":
		return "m." + kind
	}
	return "m.file"
}

// Fetch downloads a file by its mxc address, or by the JSON of an encrypted one, and returns its content and media
// type. A file larger than max bytes (0: no limit), or one that the server no longer has, is a *core.Permanent error.
func (c *Channel) Fetch(ctx context.Context, ref string, max int64) ([]byte, string, error) {
	address, keys, err := readReference(ref)
	if err != nil {
		return nil, "", err
	}
	s, err := c.login(ctx)
	if err != nil {
		return nil, "", fmt.Errorf("fetch matrix file: %w", err)
	}
	data, err := s.download(ctx, address, max)
	switch {
	case forGood(err):
		return nil, "", &core.Permanent{Err: fmt.Errorf("fetch matrix file: %w", err)}
	case err != nil:
		return nil, "", fmt.Errorf("fetch matrix file: %w", err)
	}
	if keys != nil {
		if err = keys.PrepareForDecryption(); err == nil {
			err = keys.DecryptInPlace(data)
		}
		if err != nil {
			return nil, "", &core.Permanent{Err: fmt.Errorf("decrypt matrix file: %w", err)}
		}
	}
	return data, http.DetectContentType(data), nil
}

func readReference(ref string) (address string, keys *attachment.EncryptedFile, err error) {
	if strings.HasPrefix(ref, "{") {
		var f mevent.EncryptedFileInfo
		if err := json.Unmarshal([]byte(ref), &f); err != nil {
			return "", nil, &core.Permanent{Err: errors.New("fetch matrix file: its keys cannot be read")}
		}
		ref, keys = string(f.URL), &f.EncryptedFile
	}
	server, id, ok := strings.Cut(strings.TrimPrefix(ref, "mxc://"), "/")
	if !ok || server == "" || id == "" || strings.Contains(id, "/") {
		return "", nil, &core.Permanent{Err: errors.New("fetch matrix file: it has no mxc address")}
	}
	return ref, keys, nil
}

// download gets a file from the present endpoint, or else from that of older servers.
func (s *session) download(ctx context.Context, address string, max int64) ([]byte, error) {
	server, id, _ := strings.Cut(strings.TrimPrefix(address, "mxc://"), "/")
	data, err := s.load(ctx, s.cli.BuildURL(mautrix.ClientURLPath{"v1", "media", "download", server, id}), max)
	if e := refused(err); e != nil && (e.Code == "M_UNRECOGNIZED" || e.Status == http.StatusNotFound && e.Code == "") {
		return s.load(ctx, s.cli.BuildURL(mautrix.MediaURLPath{"v3", "download", server, id}), max)
	}
	return data, err
}

func (s *session) load(ctx context.Context, address string, max int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fileTimeout)
	defer cancel()
	_, resp, err := s.cli.MakeFullRequestWithResp(ctx, mautrix.FullRequest{Method: http.MethodGet, URL: address,
		DontReadResponse: true})
	if err != nil {
		return nil, clean(err)
	}
	defer resp.Body.Close()
	body := io.Reader(resp.Body)
	if max > 0 {
		body = io.LimitReader(resp.Body, max+1)
	}
	data, err := io.ReadAll(body)
	switch {
	case err != nil:
		return nil, &failure{Left: true, err: err}
	case max > 0 && int64(len(data)) > max:
		return nil, channel.TooLarge(max)
	}
	return data, nil
}

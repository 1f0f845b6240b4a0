package signal

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
)

const (
	fileTimeout = 2 * time.Minute
	// maxFile is the service's limit of a file, in bytes.
	maxFile = 100 << 20
	// maxUpload is the daemon's limit of a file that is sent, in bytes: it reads texts of up to 20,000,000 characters, and
	// the file is one in base64.
	maxUpload = 14 << 20
)

// Fetch returns the file of an attachment's Ref with its media type. The daemon has downloaded it with the message. A
// file larger than max bytes (0: 100 MiB) is not asked for, and one that the daemon does not have is a *core.Permanent
// error, as all are if it runs with --ignore-attachments.
func (c *Channel) Fetch(ctx context.Context, ref string, max int64) ([]byte, string, error) {
	if max <= 0 || max > maxFile {
		max = maxFile
	}
	file, err := url.ParseQuery(ref)
	if err != nil {
		return nil, "", &core.Permanent{Err: fmt.Errorf("fetch signal file: %w", err)}
	}
	if size, _ := strconv.ParseInt(file.Get("size"), 10, 64); size > max {
		return nil, "", channel.TooLarge(max)
	}
	method, p := "getAttachment", params{"id": file.Get("id"), "recipient": file.Get("from")}
	if id, ok := groupOf(file.Get("from")); ok {
		p = params{"id": file.Get("id"), "groupId": id}
	}
	if file.Has("pack") {
		number, _ := strconv.Atoi(file.Get("sticker"))
		method, p = "getSticker", params{"packId": file.Get("pack"), "stickerId": number}
	}
	var got struct {
		Data []byte `json:"data"`
	}
	answer := int64(base64.StdEncoding.EncodedLen(int(max))) + 4096
	if err := c.api.call(ctx, fileTimeout, method, p, answer, &got); err != nil {
		if errors.Is(err, errLongAnswer) {
			return nil, "", channel.TooLarge(max)
		}
		err = fmt.Errorf("fetch signal file: %w", err)
		if refused, ok := errors.AsType[*rpcError](err); ok && refused.Code == codeUser {
			return nil, "", &core.Permanent{Err: err}
		}
		return nil, "", err
	}
	if int64(len(got.Data)) > max {
		return nil, "", channel.TooLarge(max)
	}
	return got.Data, cmp.Or(file.Get("type"), http.DetectContentType(got.Data)), nil
}

// upload adds the file of p to the parameters of a message.
func upload(all params, p core.Part) error {
	a := p.Attachment
	if len(p.Data) == 0 || len(p.Data) > maxUpload {
		return &core.Permanent{Err: fmt.Errorf("send to signal: the file %s has %d bytes; between 1 and %d can be sent",
			a.Name, len(p.Data), maxUpload)}
	}
	media, _, err := mime.ParseMediaType(a.MIME)
	if err != nil {
		media = "application/octet-stream"
	}
	all["attachment"] = []string{"data:" + media + ";filename=" + url.QueryEscape(cmp.Or(a.Name, "file")) + ";base64," +
		base64.StdEncoding.EncodeToString(p.Data)}
	if a.Kind == "voice" {
		all["voiceNote"] = true
	}
	return nil
}

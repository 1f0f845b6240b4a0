package telegram

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/go-telegram/bot/models"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
)

const fileTimeout = 2 * time.Minute

// Fetch downloads the file with the id ref, and returns it with its media type. A file
// larger than max bytes (0: no limit), or one that the service no longer has, is a
// *core.Permanent error.
func (c *Channel) Fetch(ctx context.Context, ref string, max int64) ([]byte, string, error) {
	var f models.File
	err := c.api.call(ctx, callTimeout, "getFile", map[string]string{"file_id": ref}, &f)
	var refused *apiError
	switch {
	case has(err, "file is too big"): // the service hands over 20 MB
		return nil, "", &core.Permanent{Err: fmt.Errorf("%w: fetch telegram file: %w", core.ErrTooLarge, err)}
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

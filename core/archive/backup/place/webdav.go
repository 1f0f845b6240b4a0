package place

import (
	"context"
	"crypto/sha256"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"
)

// webdav is a folder on a WebDAV server.
type webdav struct {
	client *http.Client
	base   *url.URL // with a slash at its end
	o      Options
}

const (
	maxListing = 16 << 20         // bytes of a list of files
	lastWords  = 10 * time.Second // for removing what did not arrive
)

func newWebDAV(at Address, o Options) *webdav {
	c := o.Client(at.URL.String())
	c.Transport = brisk{c.Transport, o.Stall}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &webdav{client: c, base: at.URL, o: o}
}

// String returns the address.
func (w *webdav) String() string { return strings.TrimSuffix(w.base.String(), "/") }

// request is one request.
type request struct {
	method, name string
	header       map[string]string
	body         io.Reader
	size         int64
	want         []int // of which the answer's status is one
}

// do sends a request. The caller closes the body of the answer.
func (w *webdav) do(ctx context.Context, r request) (*http.Response, error) {
	at := w.base
	if r.name != "" {
		at = w.base.JoinPath(r.name)
	}
	body := r.body
	if body != nil {
		body = io.NopCloser(body) // it may be sent once only
	}
	req, err := http.NewRequestWithContext(ctx, r.method, at.String(), body)
	if err != nil {
		return nil, err
	}
	req.ContentLength = r.size
	for key, value := range r.header {
		req.Header.Set(key, value)
	}
	if w.o.User != "" || w.o.Password != "" {
		req.SetBasicAuth(w.o.User, w.o.Password)
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return nil, err
	}
	for _, status := range r.want {
		if resp.StatusCode == status {
			return resp, nil
		}
	}
	drain(resp)
	return nil, refused(resp.StatusCode, fmt.Errorf("%s answers %s with %s", w.base.Host, r.method, resp.Status))
}

// call sends a request whose answer has nothing to read.
func (w *webdav) call(ctx context.Context, r request) error {
	resp, err := w.do(ctx, r)
	if err == nil {
		drain(resp)
	}
	return err
}

// drain ends an answer, so that its connection can be used again.
func drain(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	_ = resp.Body.Close()
}

// listing is the answer to a PROPFIND.
type listing struct {
	Responses []struct {
		Href  string `xml:"DAV: href"`
		Props []struct {
			Prop struct {
				Size int64 `xml:"DAV: getcontentlength"`
				Type struct {
					Collection *struct{} `xml:"DAV: collection"`
				} `xml:"DAV: resourcetype"`
			} `xml:"DAV: prop"`
		} `xml:"DAV: propstat"`
	} `xml:"DAV: response"`
}

const propfind = `<?xml version="1.0" encoding="utf-8"?><propfind xmlns="DAV:"><prop><resourcetype/><getcontentlength/></prop></propfind>`

// List returns the files.
func (w *webdav) List(ctx context.Context) ([]File, error) {
	resp, err := w.do(ctx, request{method: "PROPFIND", body: strings.NewReader(propfind), size: int64(len(propfind)),
		header: map[string]string{"Depth": "1", "Content-Type": "application/xml"},
		want:   []int{http.StatusMultiStatus, http.StatusNotFound}})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound { // Put makes it
		return nil, nil
	}
	var l listing
	if err := xml.NewDecoder(io.LimitReader(resp.Body, maxListing)).Decode(&l); err != nil {
		return nil, fmt.Errorf("read the list of %s: %w", w.base.Host, err)
	}
	var out []File
	for _, r := range l.Responses {
		at, err := url.Parse(r.Href)
		f := File{}
		folder := err != nil || len(r.Props) == 0
		for _, p := range r.Props { // one for each status
			folder = folder || p.Prop.Type.Collection != nil
			f.Size = max(f.Size, p.Prop.Size)
		}
		if folder {
			continue
		}
		f.Name = path.Base(at.Path)
		out = append(out, f)
	}
	return out, nil
}

// Put stores a file. It makes the folder, if the one above it exists.
func (w *webdav) Put(ctx context.Context, name string, size int64, body io.Reader) error {
	err := w.call(ctx, request{method: "MKCOL", want: []int{http.StatusCreated, http.StatusMethodNotAllowed,
		http.StatusForbidden, http.StatusNotImplemented}}) // who may not make folders may still write into one
	if err != nil {
		return err
	}
	sum := sha256.New()
	err = w.call(ctx, request{method: http.MethodPut, name: partial, body: io.TeeReader(body, sum), size: size,
		header: map[string]string{"Content-Type": "application/octet-stream"},
		want:   []int{http.StatusOK, http.StatusCreated, http.StatusNoContent}})
	if err == nil {
		var back io.ReadCloser
		if back, err = w.Open(ctx, partial, 0); err == nil {
			err = errors.Join(arrived(back, size, sum), back.Close())
		}
	}
	if err == nil {
		err = w.call(ctx, request{method: "MOVE", name: partial,
			header: map[string]string{"Destination": w.base.JoinPath(name).String(), "Overwrite": "T"},
			want:   []int{http.StatusCreated, http.StatusNoContent}})
	}
	if err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
		defer cancel()
		_ = w.Remove(ctx, partial) // the first error matters
	}
	return err
}

// Open reads a file.
func (w *webdav) Open(ctx context.Context, name string, offset int64) (io.ReadCloser, error) {
	r := request{method: http.MethodGet, name: name, want: []int{http.StatusOK, http.StatusPartialContent}}
	if offset > 0 {
		r.header = map[string]string{"Range": fmt.Sprintf("bytes=%d-", offset)}
	}
	resp, err := w.do(ctx, r)
	if err != nil {
		return nil, err
	}
	return from(resp, offset)
}

// from returns the body of an answer from an offset on, also if the server sent it from its beginning.
func from(resp *http.Response, offset int64) (io.ReadCloser, error) {
	if resp.StatusCode == http.StatusOK {
		if _, err := io.CopyN(io.Discard, resp.Body, offset); err != nil {
			_ = resp.Body.Close()
			return nil, err
		}
	}
	return resp.Body, nil
}

// Remove removes a file.
func (w *webdav) Remove(ctx context.Context, name string) error {
	return w.call(ctx, request{method: http.MethodDelete, name: name,
		want: []int{http.StatusOK, http.StatusNoContent, http.StatusNotFound}})
}

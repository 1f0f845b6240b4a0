package place

import (
	"bytes"
	"cmp"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// bucket is a part of a bucket of an S3-compatible store. The bucket is in the path, or, if the server's name begins
// with the bucket's, in that name.
type bucket struct {
	client *http.Client
	signer signer
	at     Address
	o      Options
}

const (
	partSize  = 16 << 20 // of what is sent at once, and held in memory
	mostParts = 9_000    // a little less than stores take
	maxAnswer = 16 << 20 // bytes of an answer that is no file
)

// Waits before further tries of a part.
var partWaits = []time.Duration{time.Second, 5 * time.Second, 20 * time.Second}

func newBucket(at Address, o Options) *bucket {
	c := o.Client(at.URL.String())
	c.Transport = brisk{c.Transport, o.Stall}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &bucket{c, signer{o.User, o.Password, cmp.Or(o.Region, "us-east-1")}, at, o}
}

// String returns the address.
func (b *bucket) String() string {
	scheme := map[string]string{"https": "s3", "http": "s3+http"}[b.at.URL.Scheme]
	return strings.TrimSuffix(fmt.Sprintf("%s://%s/%s/%s", scheme, b.at.URL.Host, b.at.Bucket, b.at.Prefix), "/")
}

// ask is a request about a name; an empty one means the bucket.
type ask struct {
	method, name string
	query        url.Values
	header       map[string]string
	body         []byte
	want         []int // of which the answer's status is one; empty: 200
}

// do sends a request. The caller closes the body of the answer.
func (b *bucket) do(ctx context.Context, a ask) (*http.Response, error) {
	path := b.at.Bucket + "/"
	if strings.HasPrefix(b.at.URL.Host, b.at.Bucket+".") {
		path = ""
	}
	if a.name != "" {
		path += b.at.Prefix + a.name
	}
	req, err := http.NewRequestWithContext(ctx, a.method, b.at.URL.String(), bytes.NewReader(a.body))
	if err != nil {
		return nil, err
	}
	req.URL = escaped(b.at.URL, path, a.query)
	for name, value := range a.header {
		req.Header.Set(name, value)
	}
	b.signer.sign(req, sha256.Sum256(a.body), b.o.Now())
	resp, err := b.client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK || slices.Contains(a.want, resp.StatusCode) {
		return resp, nil
	}
	defer drain(resp)
	return nil, b.explain(resp)
}

// call sends a request, and decodes its answer into answer; nil: it is not needed.
func (b *bucket) call(ctx context.Context, a ask, answer any) (http.Header, error) {
	resp, err := b.do(ctx, a)
	if err != nil {
		return nil, err
	}
	defer drain(resp)
	if answer != nil {
		if err := xml.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(answer); err != nil {
			return nil, fmt.Errorf("read the answer of %s: %w", b.at.URL.Host, err)
		}
	}
	return resp.Header, nil
}

// fault is the answer of a store that did not do what it was asked.
type fault struct {
	XMLName xml.Name
	Code    string
	Message string
}

// explain says what to do about an answer.
func (b *bucket) explain(resp *http.Response) error {
	var f fault
	_ = xml.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&f) // some answers have no body
	return b.means(resp.StatusCode, f)
}

// means says what a fault with a status means.
func (b *bucket) means(status int, f fault) error {
	cause := fmt.Errorf("%s says %s %.200s", b.at.URL.Host, cmp.Or(f.Code, strconv.Itoa(status)), f.Message)
	switch f.Code {
	case "NoSuchBucket":
		return final{fmt.Errorf("there is no bucket %s: make it, or check backup.to (%w)", b.at.Bucket, cause)}
	case "InvalidAccessKeyId", "SignatureDoesNotMatch":
		return final{fmt.Errorf("it does not accept backup.user and backup.password, the access key and the secret key (%w)", cause)}
	case "RequestTimeTooSkewed":
		return final{fmt.Errorf("the clock of this machine is wrong: set it (%w)", cause)}
	case "AuthorizationHeaderMalformed", "InvalidRegion", "PermanentRedirect":
		return final{fmt.Errorf("set backup.region to the bucket's, and its server in backup.to (%w)", cause)}
	case "RequestTimeout", "IncompleteBody", "BadDigest", "XAmzContentSHA256Mismatch": // with a status that means something else
		return cause
	}
	return refused(status, cause)
}

// List returns the files.
func (b *bucket) List(ctx context.Context) (out []File, err error) {
	query := url.Values{"list-type": {"2"}, "prefix": {b.at.Prefix}, "delimiter": {"/"}}
	for {
		var page struct {
			Contents []struct {
				Key  string
				Size int64
			}
			NextContinuationToken string
		}
		if _, err := b.call(ctx, ask{method: http.MethodGet, query: query}, &page); err != nil {
			return nil, err
		}
		for _, o := range page.Contents {
			if name := strings.TrimPrefix(o.Key, b.at.Prefix); name != "" && !strings.Contains(name, "/") {
				out = append(out, File{name, o.Size})
			}
		}
		if page.NextContinuationToken == "" {
			return out, nil
		}
		query.Set("continuation-token", page.NextContinuationToken)
	}
}

// part is a part of a file that has arrived.
type part struct {
	PartNumber int
	ETag       string
}

// Put stores a file. Its name appears once all parts have arrived, whose sums the store checks.
func (b *bucket) Put(ctx context.Context, name string, size int64, body io.Reader) error {
	b.clear(ctx)
	var begun struct {
		ID string `xml:"UploadId"`
	}
	if _, err := b.call(ctx, ask{method: http.MethodPost, name: name, query: url.Values{"uploads": {""}},
		header: map[string]string{"Content-Type": "application/octet-stream"}}, &begun); err != nil {
		return err
	}
	parts, err := b.send(ctx, name, begun.ID, size, body)
	if err == nil {
		err = b.complete(ctx, name, begun.ID, parts)
	}
	if err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
		defer cancel()
		_ = b.abort(ctx, name, begun.ID) // the first error matters
		return err
	}
	resp, err := b.do(ctx, ask{method: http.MethodHead, name: name})
	if err != nil {
		return err
	}
	drain(resp)
	if resp.ContentLength != size {
		return errors.Join(fmt.Errorf("%d of %d bytes arrived", resp.ContentLength, size), b.Remove(ctx, name))
	}
	return nil
}

// send sends the parts of a file. Each is sent again by itself if that is worth it.
func (b *bucket) send(ctx context.Context, name, id string, size int64, body io.Reader) (parts []part, err error) {
	each := max(partSize, (size/mostParts/partSize+1)*partSize)
	piece := make([]byte, min(each, size))
	for left := size; left > 0; left -= int64(len(piece)) {
		piece = piece[:min(each, left)]
		if _, err := io.ReadFull(body, piece); err != nil {
			return nil, err
		}
		n, sum := len(parts)+1, md5.Sum(piece)
		a := ask{method: http.MethodPut, name: name, body: piece,
			query:  url.Values{"partNumber": {strconv.Itoa(n)}, "uploadId": {id}},
			header: map[string]string{"Content-Md5": base64.StdEncoding.EncodeToString(sum[:])}}
		header, err := b.call(ctx, a, nil)
		for try := 0; err != nil && !Final(err) && ctx.Err() == nil && try < len(partWaits); try++ {
			b.o.Wait(ctx, partWaits[try])
			header, err = b.call(ctx, a, nil)
		}
		if err != nil {
			return nil, err
		}
		parts = append(parts, part{n, header.Get("Etag")})
	}
	return parts, nil
}

// complete makes a file of its parts. An answer may be a fault in spite of its status.
func (b *bucket) complete(ctx context.Context, name, id string, parts []part) error {
	text, err := xml.Marshal(struct {
		XMLName xml.Name `xml:"CompleteMultipartUpload"`
		Parts   []part   `xml:"Part"`
	}{Parts: parts})
	if err != nil {
		return err
	}
	var f fault
	_, err = b.call(ctx, ask{method: http.MethodPost, name: name, query: url.Values{"uploadId": {id}}, body: text,
		header: map[string]string{"Content-Type": "application/xml"}}, &f)
	if err == nil && f.XMLName.Local == "Error" {
		err = b.means(http.StatusInternalServerError, f)
	}
	return err
}

func (b *bucket) abort(ctx context.Context, name, id string) error {
	_, err := b.call(ctx, ask{method: http.MethodDelete, name: name, query: url.Values{"uploadId": {id}},
		want: []int{http.StatusNoContent, http.StatusNotFound}}, nil)
	return err
}

// clear ends what killed processes began to send, where the store can tell: its parts would be kept, and paid for.
func (b *bucket) clear(ctx context.Context) {
	var begun struct {
		Uploads []struct {
			Key string
			ID  string `xml:"UploadId"`
		} `xml:"Upload"`
	}
	_, err := b.call(ctx, ask{method: http.MethodGet,
		query: url.Values{"uploads": {""}, "prefix": {b.at.Prefix}, "delimiter": {"/"}}}, &begun)
	if err != nil {
		return // the next request says what is wrong
	}
	for _, u := range begun.Uploads {
		if name := strings.TrimPrefix(u.Key, b.at.Prefix); b.o.Ours(name) {
			_ = b.abort(ctx, name, u.ID)
		}
	}
}

// Open reads a file.
func (b *bucket) Open(ctx context.Context, name string, offset int64) (io.ReadCloser, error) {
	a := ask{method: http.MethodGet, name: name, want: []int{http.StatusPartialContent}}
	if offset > 0 {
		a.header = map[string]string{"Range": fmt.Sprintf("bytes=%d-", offset)}
	}
	resp, err := b.do(ctx, a)
	if err != nil {
		return nil, err
	}
	return from(resp, offset)
}

// Remove removes a file.
func (b *bucket) Remove(ctx context.Context, name string) error {
	_, err := b.call(ctx, ask{method: http.MethodDelete, name: name, want: []int{http.StatusNoContent, http.StatusNotFound}}, nil)
	return err
}

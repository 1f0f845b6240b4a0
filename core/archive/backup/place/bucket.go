package place

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// bucket is a part of a bucket of an S3-compatible store.
type bucket struct {
	core *minio.Core
	at   Address
	ours func(name string) bool
}

const (
	partSize    = 16 << 20 // of what is sent at once, and held in memory
	mostParts   = 9_000    // a little less than stores take
	triesOfPart = 4
)

func newBucket(at Address, o Options) (*bucket, error) {
	virtual := *at.URL // some stores have each bucket at a name of its own
	virtual.Host = at.Bucket + "." + at.URL.Host
	client := o.Client(at.URL.String(), virtual.String())
	region := o.Region
	if region == "" {
		region = "us-east-1"
	}
	core, err := minio.NewCore(at.URL.Host, &minio.Options{Creds: credentials.NewStaticV4(o.User, o.Password, ""),
		Secure: at.URL.Scheme == "https", Transport: brisk{client.Transport, o.Stall}, Region: region,
		MaxRetries: triesOfPart})
	if err != nil {
		return nil, errors.New("write the server, the bucket and the prefix like s3://s3.example.com/bucket/everthread")
	}
	return &bucket{core, at, o.Ours}, nil
}

// String returns the address.
func (b *bucket) String() string {
	scheme := map[string]string{"https": "s3", "http": "s3+http"}[b.at.URL.Scheme]
	return strings.TrimSuffix(fmt.Sprintf("%s://%s/%s/%s", scheme, b.at.URL.Host, b.at.Bucket, b.at.Prefix), "/")
}

// explain says what to do about an error.
func (b *bucket) explain(err error) error {
	var said minio.ErrorResponse
	if !errors.As(err, &said) || said.StatusCode == 0 {
		return err
	}
	cause := fmt.Errorf("%s says %s: %.200s", b.at.URL.Host, said.Code, said.Message)
	switch said.Code {
	case "NoSuchBucket":
		return final{fmt.Errorf("there is no bucket %s: make it, or check backup.to (%w)", b.at.Bucket, cause)}
	case "InvalidAccessKeyId", "SignatureDoesNotMatch":
		return final{fmt.Errorf("it does not accept backup.user and backup.password, the access key and the secret key (%w)", cause)}
	case "RequestTimeTooSkewed":
		return final{fmt.Errorf("the clock of this machine is wrong: set it (%w)", cause)}
	case "AuthorizationHeaderMalformed", "InvalidRegion", "PermanentRedirect":
		return final{fmt.Errorf("set backup.region to the bucket's (%w)", cause)}
	case "RequestTimeout", "IncompleteBody", "BadDigest", "XAmzContentSHA256Mismatch": // with a status that means something else
		return cause
	}
	return refused(said.StatusCode, cause)
}

// List returns the files.
func (b *bucket) List(ctx context.Context) (out []File, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for o := range b.core.Client.ListObjects(ctx, b.at.Bucket, minio.ListObjectsOptions{Prefix: b.at.Prefix}) {
		if o.Err != nil {
			return nil, b.explain(o.Err)
		}
		if name := strings.TrimPrefix(o.Key, b.at.Prefix); name != "" && !strings.HasSuffix(name, "/") {
			out = append(out, File{name, o.Size})
		}
	}
	return out, ctx.Err()
}

// Put stores a file. Its name appears once all parts have arrived, whose sums the store checks.
func (b *bucket) Put(ctx context.Context, name string, size int64, body io.Reader) error {
	b.clear(ctx)
	key := b.at.Prefix + name
	id, err := b.core.NewMultipartUpload(ctx, b.at.Bucket, key, minio.PutObjectOptions{ContentType: "application/octet-stream"})
	if err != nil {
		return b.explain(err)
	}
	parts, err := b.send(ctx, key, id, size, body)
	if err == nil {
		_, err = b.core.CompleteMultipartUpload(ctx, b.at.Bucket, key, id, parts, minio.PutObjectOptions{})
	}
	if err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
		defer cancel()
		_ = b.core.AbortMultipartUpload(ctx, b.at.Bucket, key, id) // the first error matters
		return b.explain(err)
	}
	there, err := b.core.Client.StatObject(ctx, b.at.Bucket, key, minio.StatObjectOptions{})
	if err != nil {
		return b.explain(err)
	}
	if there.Size != size {
		return errors.Join(fmt.Errorf("%d of %d bytes arrived", there.Size, size), b.Remove(ctx, name))
	}
	return nil
}

// clear ends what killed processes began to send, where the store can tell: its parts would be kept, and paid for.
func (b *bucket) clear(ctx context.Context) {
	begun, err := b.core.ListMultipartUploads(ctx, b.at.Bucket, b.at.Prefix, "", "", "/", 1000)
	if err != nil {
		return // the next request says what is wrong
	}
	for _, u := range begun.Uploads {
		if b.ours(strings.TrimPrefix(u.Key, b.at.Prefix)) {
			_ = b.core.AbortMultipartUpload(ctx, b.at.Bucket, u.Key, u.UploadID)
		}
	}
}

// send sends the parts of a file. Each is sent again by itself if that is worth it.
func (b *bucket) send(ctx context.Context, key, id string, size int64, body io.Reader) (parts []minio.CompletePart, err error) {
	each := max(partSize, (size/mostParts/partSize+1)*partSize)
	part := make([]byte, min(each, size))
	for left := size; left > 0; {
		part = part[:min(each, left)]
		if _, err := io.ReadFull(body, part); err != nil {
			return nil, err
		}
		left -= int64(len(part))
		weak, strong := md5.Sum(part), sha256.Sum256(part)
		done, err := b.core.PutObjectPart(ctx, b.at.Bucket, key, id, len(parts)+1, bytes.NewReader(part), int64(len(part)),
			minio.PutObjectPartOptions{Md5Base64: base64.StdEncoding.EncodeToString(weak[:]),
				Sha256Hex: hex.EncodeToString(strong[:]), DisableContentSha256: true}) // the library makes none of its own
		if err != nil {
			return nil, err
		}
		parts = append(parts, minio.CompletePart{PartNumber: len(parts) + 1, ETag: done.ETag})
	}
	return parts, nil
}

// Open reads a file.
func (b *bucket) Open(ctx context.Context, name string, offset int64) (io.ReadCloser, error) {
	o := minio.GetObjectOptions{}
	if offset > 0 {
		if err := o.SetRange(offset, 0); err != nil {
			return nil, err
		}
	}
	body, _, header, err := b.core.GetObject(ctx, b.at.Bucket, b.at.Prefix+name, o)
	if err != nil {
		return nil, b.explain(err)
	}
	if offset > 0 && header.Get("Content-Range") == "" { // from its beginning
		if _, err := io.CopyN(io.Discard, body, offset); err != nil {
			return nil, errors.Join(err, body.Close())
		}
	}
	return body, nil
}

// Remove removes a file.
func (b *bucket) Remove(ctx context.Context, name string) error {
	err := b.core.RemoveObject(ctx, b.at.Bucket, b.at.Prefix+name, minio.RemoveObjectOptions{})
	var said minio.ErrorResponse
	if errors.As(err, &said) && said.StatusCode == http.StatusNotFound && said.Code != "NoSuchBucket" {
		return nil
	}
	return b.explain(err)
}

// Package place keeps files outside of the machine: in a folder, such as one of a network disk, in a bucket of an
// S3-compatible store, or in a folder of a WebDAV server. It knows nothing of what is in them.
package place

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Options say where a place is.
type Options struct {
	// Address is that of Parse.
	Address string
	// User and Password are those of a WebDAV server, or the access key and the secret key of a bucket.
	User, Password string
	// Region is that of a bucket; empty: us-east-1, which most stores ignore.
	Region string
	// Client returns a client that reaches the addresses (URLs). Not used for a folder.
	Client func(addresses ...string) *http.Client
	// Ours reports whether a file may be of everthread. What was begun under other names is left alone.
	Ours func(name string) bool
	// Stall is how long a transfer may be without any progress.
	Stall time.Duration
	Now   func() time.Time
	// Wait waits for d, or until ctx ends, before a part is sent again.
	Wait func(ctx context.Context, d time.Duration)
}

// Place keeps files by their names. Errors for which Final holds are not worth another try, until somebody has done
// what they say.
type Place interface {
	// String returns the address, without what signs in.
	String() string
	// List returns the files.
	List(ctx context.Context) ([]File, error)
	// Put stores a file of size bytes, once; a file of that name is replaced. The name is given only to a file that has
	// arrived whole: a transfer that ends early, however, leaves nothing under it. What an earlier one left, such as
	// that of a killed process, goes away with the next.
	Put(ctx context.Context, name string, size int64, body io.Reader) error
	// Open reads a file from an offset on.
	Open(ctx context.Context, name string, offset int64) (io.ReadCloser, error)
	// Remove removes a file; it is no error that there is none.
	Remove(ctx context.Context, name string) error
}

// File is a file in a place.
type File struct {
	Name string
	Size int64
}

// partial is the name of a file that has not arrived yet. There is one sender at a time, whose next transfer overwrites
// it.
const partial = ".everthread-backup-sending.partial"

// Kinds of places.
const (
	Folder = "folder"
	Bucket = "bucket"
	WebDAV = "webdav"
)

// Address is where a place is.
type Address struct {
	Kind   string
	Dir    string   // of a folder
	URL    *url.URL // of the server of a bucket; of the folder on a WebDAV server, with a slash at its end
	Bucket string
	Prefix string // of the names in a bucket, with a slash at its end, or empty
}

// Parse reads an address: an absolute path of a folder; s3://SERVER/BUCKET/PREFIX, or s3+http:// for a server without
// TLS; or the http(s) address of a folder on a WebDAV server. Errors say how to write it, and repeat no part of it.
func Parse(address string) (Address, error) {
	scheme, _, isURL := strings.Cut(address, "://")
	if !isURL {
		if !filepath.IsAbs(address) {
			return Address{}, errors.New("write the whole path of a folder, from the root on")
		}
		return Address{Kind: Folder, Dir: filepath.Clean(address)}, nil
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Hostname() == "":
		return Address{}, errors.New("it names no server; write it like s3://s3.example.com/bucket/everthread or https://cloud.example.com/remote.php/dav/files/ada/backups")
	case u.User != nil:
		return Address{}, errors.New("leave the user and the password out of it; they have keys of their own")
	case u.RawQuery != "" || u.Fragment != "":
		return Address{}, errors.New("leave out what follows the path: a ? or a # has no meaning in it")
	}
	switch scheme {
	case "s3", "s3+http":
		bucket, prefix, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
		if bucket == "" {
			return Address{}, errors.New("it names no bucket; write it like s3://s3.example.com/bucket/everthread")
		}
		if prefix != "" {
			prefix += "/"
		}
		u.Scheme = map[string]string{"s3": "https", "s3+http": "http"}[scheme]
		return Address{Kind: Bucket, URL: &url.URL{Scheme: u.Scheme, Host: u.Host}, Bucket: bucket, Prefix: prefix}, nil
	case "http", "https":
		return Address{Kind: WebDAV, URL: u.JoinPath("/")}, nil
	}
	return Address{}, fmt.Errorf("nothing is known of %.20s://; write a folder, s3://…, or the https://… of a WebDAV folder", scheme)
}

// Open returns a place. It reaches nothing yet.
func Open(o Options) (Place, error) {
	at, err := Parse(o.Address)
	if err != nil {
		return nil, err
	}
	switch at.Kind {
	case Folder:
		return folder{at.Dir}, nil
	case Bucket:
		return newBucket(at, o), nil
	}
	return newWebDAV(at, o), nil
}

// final is an error that another try does not change.
type final struct{ error }

// Unwrap returns the cause.
func (f final) Unwrap() error { return f.error }

// Final reports whether somebody has to do something before another try can succeed.
func Final(err error) bool {
	var f final
	return errors.As(err, &f)
}

// refused explains an answer of a server that is not the one that was asked for. What it says itself is cause.
func refused(status int, cause error) error {
	known := map[int]string{
		http.StatusUnauthorized:          "it does not accept backup.user and backup.password",
		http.StatusForbidden:             "backup.user may not do that there: check backup.password, and what this user may do",
		http.StatusNotFound:              "there is nothing of this name: check the path in backup.to",
		http.StatusConflict:              "the folder above it is missing: make it, or check the path in backup.to",
		http.StatusInsufficientStorage:   "it is full: make room there, or lower backup.keep",
		http.StatusRequestEntityTooLarge: "it takes no files of this size: raise its limit",
		http.StatusMethodNotAllowed:      "it takes no files: check that backup.to is a WebDAV folder",
	}
	said, ok := known[status]
	switch {
	case status >= 300 && status < 400:
		return final{errors.New("it sends to another address: write that one in backup.to")}
	case ok:
		return final{fmt.Errorf("%s (%w)", said, cause)}
	case status >= 400 && status < 500 && !slices.Contains([]int{http.StatusRequestTimeout, http.StatusLocked,
		http.StatusTooEarly, http.StatusTooManyRequests}, status):
		return final{cause}
	}
	return cause
}

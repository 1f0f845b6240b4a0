// Package placetest runs servers of places, whose answers can be spoilt.
package placetest

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"golang.org/x/net/webdav"

	"github.com/everthread/everthread/core/archive/backup/place"
)

// What signs in at the servers.
const (
	User     = "ada"
	Password = "her password there"
)

// Server is a server of a place.
type Server struct {
	*httptest.Server
	Address string // of the place

	mu     sync.Mutex
	faults []Fault
	asked  map[string]int
}

// Fault spoils an answer, and reports whether it did.
type Fault func(w http.ResponseWriter, r *http.Request, next http.Handler) bool

// Spoil has further requests spoilt, one fault after another. A fault stays until it spoilt an answer.
func (s *Server) Spoil(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, faults...)
}

// Heal forgets the faults that are left.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// Asked returns how many requests of a method were made.
func (s *Server) Asked(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[method]
}

func (s *Server) spoils(w http.ResponseWriter, r *http.Request, next http.Handler) (spoilt bool) {
	s.mu.Lock()
	s.asked[r.Method]++
	var fault Fault
	if len(s.faults) > 0 {
		fault = s.faults[0]
	}
	s.mu.Unlock()
	if fault == nil {
		return false
	}
	spoilt = true // also if it breaks the connection
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if spoilt && len(s.faults) > 0 {
			s.faults = s.faults[1:]
		}
	}()
	spoilt = fault(w, r, next)
	return spoilt
}

func serve(t testing.TB, next http.Handler) *Server {
	s := &Server{asked: map[string]int{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.spoils(w, r, next) {
			next.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// Bucket runs an S3-compatible store with a bucket.
func Bucket(t testing.TB) *Server {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket("backups"); err != nil {
		t.Fatal(err)
	}
	s := serve(t, gofakes3.New(backend).Server())
	s.Address = "s3+http://" + s.Listener.Addr().String() + "/backups/everthread"
	return s
}

// WebDAV runs a WebDAV server of a folder, in which backups are kept in the folder "back ups".
func WebDAV(t testing.TB, dir string) *Server {
	t.Helper()
	dav := &webdav.Handler{Prefix: "/dav/", FileSystem: webdav.Dir(dir), LockSystem: webdav.NewMemLS()}
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != User || password != Password {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		dav.ServeHTTP(w, r)
	}))
	s.Address = s.URL + "/dav/back%20ups"
	return s
}

// Folder makes an empty folder.
func Folder(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "nas")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Open returns the place of an address. Transfers may be without progress for stall.
func Open(t testing.TB, address string, stall time.Duration) place.Place {
	t.Helper()
	p, err := place.Open(place.Options{Address: address, User: User, Password: Password, Stall: stall, Now: time.Now,
		Wait: func(context.Context, time.Duration) {},
		Ours: func(name string) bool { return strings.HasPrefix(name, "everthread-") },
		Client: func(...string) *http.Client {
			return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// uploads reports whether a request sends a file, or a part of one.
func uploads(r *http.Request) bool { return r.Method == http.MethodPut }

// Status answers an upload with a status.
func Status(status int) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		if !uploads(r) {
			return false
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(status)
		return true
	}
}

// CutUpload breaks the connection in the middle of an upload, of which the server keeps what came.
func CutUpload(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
	if !uploads(r) {
		return false
	}
	r.Body = io.NopCloser(io.LimitReader(r.Body, r.ContentLength/2))
	next.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// CutDownload breaks the connection in the middle of a download.
func CutDownload(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
	if r.Method != http.MethodGet || r.URL.RawQuery != "" {
		return false
	}
	next.ServeHTTP(&cutting{ResponseWriter: w, left: 100_000}, r)
	return true
}

type cutting struct {
	http.ResponseWriter
	left int
}

// Write writes, until it breaks the connection.
func (c *cutting) Write(p []byte) (int, error) {
	if c.left -= len(p); c.left < 0 {
		_, _ = c.ResponseWriter.Write(p[:len(p)+c.left])
		c.ResponseWriter.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	return c.ResponseWriter.Write(p)
}

// Hang takes an upload, and answers nothing until the other side gives up.
func Hang(_ http.ResponseWriter, r *http.Request, _ http.Handler) bool {
	if !uploads(r) {
		return false
	}
	ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
	defer cancel()
	_, _ = io.Copy(io.Discard, r.Body) // its end is seen only once all was read
	<-ctx.Done()
	panic(http.ErrAbortHandler)
}

// Change stores an upload with another byte in its middle, as a bad disk does.
func Change(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
	if !uploads(r) {
		return false
	}
	b, err := io.ReadAll(r.Body)
	if err == nil && len(b) > 0 {
		b[len(b)/2] ^= 1
	}
	r.Body = io.NopCloser(strings.NewReader(string(b)))
	next.ServeHTTP(w, r)
	return true
}

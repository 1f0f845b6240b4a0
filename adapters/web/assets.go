package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
)

// assets serves the files of static under names that change with their content.
type assets struct {
	names map[string]string // paths by the names that templates use
	files map[string]asset  // by the served name
}

type asset struct {
	kind  string // Content-Type
	plain []byte
	gzip  func() ([]byte, error) // compresses once, at the first request
}

func newAssets(rooms []Room) (*assets, error) {
	a := &assets{names: map[string]string{}, files: map[string]asset{}}
	for _, from := range sources(rooms) {
		all, err := fs.Glob(from, "static/*")
		if err != nil {
			return nil, fmt.Errorf("web: %w", err)
		}
		for _, file := range all {
			if err := a.add(from, file); err != nil {
				return nil, fmt.Errorf("web: %w", err)
			}
		}
	}
	return a, nil
}

func (a *assets) add(from fs.FS, file string) error {
	data, err := fs.ReadFile(from, file)
	if err != nil {
		return err
	}
	name := path.Base(file)
	if a.names[name] != "" {
		return fmt.Errorf("there are two files %s", name)
	}
	sum := sha256.Sum256(data)
	ext := path.Ext(name)
	served := strings.TrimSuffix(name, ext) + "." + hex.EncodeToString(sum[:6]) + ext
	kinds := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
		".svg": "image/svg+xml", ".png": "image/png", ".txt": "text/plain; charset=utf-8"}
	a.names[name] = "/static/" + served
	a.files[served] = asset{kinds[ext], data, sync.OnceValues(func() ([]byte, error) { return packed(data) })}
	return nil
}

// packed returns data compressed with gzip.
func packed(data []byte) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = z.Write(data)
	if err = errors.Join(err, z.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// path returns the path at which a static file is served.
func (a *assets) path(name string) (string, error) {
	if p, ok := a.names[name]; ok {
		return p, nil
	}
	return "", fmt.Errorf("there is no file %s", name)
}

// ServeHTTP serves a file, which clients may cache forever.
func (a *assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f, ok := a.files[r.PathValue("file")]
	if !ok {
		http.Error(w, "not found", http.StatusNotFound)
		return
	}
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	data := f.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		if zipped, err := f.gzip(); err == nil {
			h.Set("Content-Encoding", "gzip")
			data = zipped
		}
	}
	_, _ = w.Write(data) // an error means the client is gone
}

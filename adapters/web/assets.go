package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/everthread/everthread/core/text/i18n"
)

// assets serves the files of static under names that change with their content.
type assets struct {
	names map[string]string // paths by the names that templates use
	files map[string]asset  // by the served name
}

type asset struct {
	kind  string // Content-Type
	plain []byte
	gzip  func() []byte // compresses once, at the first request
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
	a.files[served] = asset{kinds[ext], data, sync.OnceValue(func() []byte { return packed(data) })}
	return nil
}

func packed(data []byte) []byte {
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // a known level
	_, _ = z.Write(data)                                    // a buffer takes everything
	_ = z.Close()
	return out.Bytes()
}

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
		h.Set("Content-Encoding", "gzip")
		data = f.gzip()
	}
	_, _ = w.Write(data) // an error means the client is gone
}

// The manifest, the service worker and the offline page make the page installable as an
// app. They depend on the language but not on the user.

func installRoutes() []Route {
	return []Route{
		{Pattern: "GET /manifest.webmanifest", Serve: (*Visit).manifest, Open: true},
		{Pattern: "GET /worker.js", Serve: (*Visit).worker, Open: true},
		{Pattern: "GET /offline", Serve: (*Visit).offlinePage, Open: true},
	}
}

// Colours of the browser's own parts, equal to --paper in app.css.
const paperLight, paperDark = "#f8f6f1", "#14181a"

// shellFiles are the static files of the offline page.
var shellFiles = []string{"app.css", "app.js", "offline.js", "icon.svg"}

// installed sets the language from the URL, as browsers request some of these routes without the session.
func (v *Visit) installed() {
	if lang := v.R.URL.Query().Get("lang"); slices.Contains(i18n.Languages(), lang) {
		v.Lang, v.Words = lang, say(lang)
	}
}

// manifest describes the page as an app.
func (v *Visit) manifest() error {
	v.installed()
	type icon struct {
		Source  string `json:"src"`
		Sizes   string `json:"sizes"`
		Type    string `json:"type"`
		Purpose string `json:"purpose,omitempty"`
	}
	all := []icon{{"icon-192.png", "192x192", "image/png", ""}, {"icon-512.png", "512x512", "image/png", ""},
		{"icon-maskable.png", "512x512", "image/png", "maskable"}}
	for i := range all {
		var err error
		if all[i].Source, err = v.asset(all[i].Source); err != nil {
			return err
		}
	}
	out := map[string]any{"id": v.root + "/", "name": "Everthread", "short_name": "Everthread",
		"description": v.Words.Offline.About, "lang": v.Lang, "start_url": v.root + "/", "scope": v.root + "/", "display": "standalone",
		"background_color": paperLight, "theme_color": paperLight, "icons": all}
	v.W.Header().Set("Content-Type", "application/manifest+json")
	return json.NewEncoder(v.W).Encode(out)
}

// asset returns the path of a static file.
func (v *Visit) asset(name string) (string, error) {
	path, err := v.channel.assets.path(name)
	return v.root + path, err
}

// worker serves the service worker with the list of files that it caches. The script changes whenever any of them does.
func (v *Visit) worker() error {
	v.installed()
	script, err := files.ReadFile("static/worker.js")
	if err != nil {
		return fmt.Errorf("read the worker: %w", err)
	}
	page := v.root + "/offline?lang=" + v.Lang
	sum, kept := sha256.New(), []string{}
	for _, name := range shellFiles {
		path, err := v.asset(name)
		if err != nil {
			return err
		}
		kept = append(kept, path)
	}
	fmt.Fprintf(sum, "%s %+v", kept, v.Words.Offline)
	for _, name := range []string{"templates/offline.html", "templates/parts/layout.html"} {
		b, err := files.ReadFile(name)
		if err != nil {
			return fmt.Errorf("read the worker's files: %w", err)
		}
		sum.Write(b)
	}
	icon, err := v.asset("icon-192.png")
	if err != nil {
		return err
	}
	version := hex.EncodeToString(sum.Sum(nil)[:6])
	shell, err := json.Marshal(map[string]any{"mine": "everthread" + v.root + ":", "version": version, "page": page, "files": kept, "icon": icon})
	if err != nil {
		return fmt.Errorf("list the worker's files: %w", err)
	}
	v.W.Header().Set("Content-Type", mime.TypeByExtension(".js"))
	_, _ = v.W.Write(bytes.Replace(script, []byte("SHELL"), shell, 1)) // an error means the client is gone
	return nil
}

// offlinePage serves the page that browsers show without network, the same for every user.
func (v *Visit) offlinePage() error {
	page := v.channel.Visit(v.W, v.R)
	page.installed()
	return page.Render(http.StatusOK, "offline", page.Words.Offline.Title, nil)
}

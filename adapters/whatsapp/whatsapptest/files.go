package whatsapptest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"mime"
	"net/http"
)

// upload stores a file of the business.
func (s *Server) upload(w http.ResponseWriter, r *http.Request) {
	bad := func(details string) { refuse(w, Failure{HTTP: 400, Code: 100, Details: details}) }
	if err := r.ParseMultipartForm(32 << 20); err != nil || r.FormValue("messaging_product") != "whatsapp" {
		bad("messaging_product is required")
		return
	}
	f, header, err := r.FormFile("file")
	if err != nil {
		bad("file is required")
		return
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	kind, _, ok := mime.ParseMediaType(header.Header.Get("Content-Type"))
	if err != nil || ok != nil || kind != r.FormValue("type") {
		bad("type is not the type of the file")
		return
	}
	s.Lock()
	defer s.Unlock()
	answer(w, map[string]any{"id": s.keepFile(file{data: data, mime: kind, name: header.Filename})})
}

// keepFile stores a file and returns its id. The caller holds the lock.
func (s *Server) keepFile(f file) string {
	s.ids++
	id := fmt.Sprintf("%d", 1003383421387000+s.ids)
	s.files[id] = &f
	return id
}

// lookup answers with the URL of a file, a new one each time, on the requested host.
func (s *Server) lookup(w http.ResponseWriter, r *http.Request, id string) {
	s.Lock()
	defer s.Unlock()
	f, ok := s.files[id]
	if !ok {
		refuse(w, Failure{HTTP: 400, Code: 100, Subcode: 33, Details: "Object with ID does not exist"})
		return
	}
	s.ids++
	path := fmt.Sprintf("/file/%s/%d", id, s.ids)
	s.addresses[path] = id
	sum := sha256.Sum256(f.data)
	answer(w, map[string]any{
		"messaging_product": "whatsapp", "url": "http://" + r.Host + path, "mime_type": f.mime,
		"sha256": hex.EncodeToString(sum[:]), "file_size": len(f.data), "id": id,
	})
}

func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) {
	s.Lock()
	defer s.Unlock()
	f, ok := s.files[s.addresses[r.URL.Path]]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", f.mime)
	_, _ = w.Write(f.data)
}

// Uploaded returns the content and media type of the file with an id.
func (s *Server) Uploaded(id string) ([]byte, string) {
	s.Lock()
	defer s.Unlock()
	if f := s.files[id]; f != nil {
		return f.data, f.mime
	}
	return nil, ""
}

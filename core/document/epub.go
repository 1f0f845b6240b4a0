package document

import (
	"encoding/xml"
	"errors"
	"net/url"
	"path"
	"strings"

	"github.com/everthread/everthread/core"
)

// maxChapter bounds a chapter of a book, in bytes.
const maxChapter = 8 << 20

// readEPUB reads the chapters of a book in reading order.
func readEPUB(data []byte, s *sink) error {
	a, err := openArchive(data)
	if err != nil {
		return err
	}
	if a.files["META-INF/rights.xml"] != nil { // the shop's copy protection
		return &Fault{Problem: core.DocumentEncrypted}
	}
	chapters, err := spine(a)
	if err != nil {
		return err
	}
	for _, name := range chapters {
		data, err := a.bytes(name, maxChapter)
		if errors.Is(err, errPart) {
			continue
		}
		if err != nil {
			return err
		}
		title, text, err := webText(decoded(data, "text/html"))
		if err != nil {
			return err
		}
		if strings.TrimSpace(text) == "" {
			continue
		}
		if err := s.flow(heading(title, text), text); err != nil {
			return err
		}
	}
	return nil
}

// heading returns the title of a chapter: its first line if that is short, else the
// title of its file.
func heading(title, text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if len(first) <= 100 {
		return first
	}
	return title
}

// spine returns the files of the chapters.
func spine(a *archive) ([]string, error) {
	root := ""
	err := a.begun("META-INF/container.xml", func(e xml.StartElement) {
		if e.Name.Local == "rootfile" && root == "" {
			root = attribute(e, "full-path")
		}
	})
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	var out []string
	err = a.begun(root, func(e xml.StartElement) {
		switch e.Name.Local {
		case "item":
			if href, err := url.PathUnescape(attribute(e, "href")); err == nil {
				files[attribute(e, "id")] = path.Join(path.Dir(root), href)
			}
		case "itemref":
			if name := files[attribute(e, "idref")]; name != "" && len(out) < maxParts {
				out = append(out, name)
			}
		}
	})
	return out, err
}

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
func readEPUB(a *archive, s *sink) error {
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
		title, text, err := webText(s.decoded(data, "text/html"))
		if err != nil {
			return err
		}
		if first, _, _ := strings.Cut(strings.TrimSpace(text), "\n"); len(first) <= 100 { // its heading
			title = first
		}
		if err := s.flow(title, text); err != nil {
			return err
		}
	}
	return nil
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

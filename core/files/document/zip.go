package document

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/everthread/everthread/core"
)

// archive is a zipped document. One bound applies to the inflated size of all its parts.
type archive struct {
	files map[string]*zip.File
	left  int64 // bytes
}

func openArchive(data []byte) (*archive, error) {
	if bytes.HasPrefix(data, []byte("\xD0\xCF\x11\xE0")) {
		return nil, &Fault{Problem: core.DocumentEncrypted}
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	if len(z.File) > maxParts {
		return nil, &Fault{Problem: core.DocumentBomb, Err: fmt.Errorf("%d parts", len(z.File))}
	}
	a := &archive{files: make(map[string]*zip.File, len(z.File)), left: maxInflated}
	for _, f := range z.File {
		if f.Flags&1 != 0 {
			return nil, &Fault{Problem: core.DocumentEncrypted}
		}
		if _, twice := a.files[f.Name]; !twice {
			a.files[f.Name] = f
		}
	}
	return a, nil
}

// errPart is the error of a part that a document does not have.
var errPart = errors.New("a part is missing")

// part opens a part; reading beyond the bound ends with DocumentBomb.
func (a *archive) part(name string) (io.ReadCloser, error) {
	f := a.files[strings.TrimPrefix(path.Clean("/"+name), "/")]
	if f == nil {
		return nil, fmt.Errorf("%w: %s", errPart, name)
	}
	r, err := f.Open()
	return &bounded{ReadCloser: r, archive: a}, err
}

// bytes returns a whole part of at most most bytes.
func (a *archive) bytes(name string, most int64) ([]byte, error) {
	r, err := a.part(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > most {
		return nil, &Fault{Problem: core.DocumentBomb, Err: fmt.Errorf("%s is larger than %d bytes", name, most)}
	}
	return data, nil
}

// bounded counts the inflated bytes.
type bounded struct {
	io.ReadCloser
	archive *archive
}

// Read reads within the bound.
func (b *bounded) Read(p []byte) (int, error) {
	if b.archive.left <= 0 {
		return 0, &Fault{Problem: core.DocumentBomb}
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.archive.left)])
	b.archive.left -= int64(n)
	return n, err
}

// elements calls see for each token of the XML of a part, without resolving its own entities.
func (a *archive) elements(name string, see func(xml.Token) error) error {
	r, err := a.part(name)
	if err != nil {
		return err
	}
	defer r.Close()
	d := xml.NewDecoder(r)
	d.Strict = false
	d.CharsetReader = func(string, io.Reader) (io.Reader, error) { return nil, errors.New("the encoding is not UTF-8") }
	depth := 0
	for {
		t, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch t.(type) {
		case xml.StartElement:
			if depth++; depth > 10*maxDepth {
				return &Fault{Problem: core.DocumentDamaged, Err: errors.New("elements are nested too deeply")}
			}
		case xml.EndElement:
			depth--
		}
		if err := see(t); err != nil {
			return err
		}
	}
}

// begun calls see for the beginning of each element of a part.
func (a *archive) begun(name string, see func(xml.StartElement)) error {
	return a.elements(name, func(t xml.Token) error {
		if e, ok := t.(xml.StartElement); ok {
			see(e)
		}
		return nil
	})
}

// attribute returns an element's attribute by its name without a prefix, empty if it has none.
func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// main returns the name of the main part of an office document; by convention it is usual.
func (a *archive) main(usual string) (string, error) {
	main := ""
	err := a.begun("_rels/.rels", func(e xml.StartElement) {
		if main == "" && strings.HasSuffix(attribute(e, "Type"), "/officeDocument") {
			main = strings.TrimPrefix(path.Clean("/"+attribute(e, "Target")), "/")
		}
	})
	if err != nil && !errors.Is(err, errPart) {
		return "", err
	}
	return cmp.Or(main, usual), nil
}

// relations returns the targets of a part's relations, by their ids: parts, or addresses outside.
func (a *archive) relations(of string) (map[string]string, error) {
	dir, file := path.Split(of)
	out := map[string]string{}
	err := a.begun(dir+"_rels/"+file+".rels", func(e xml.StartElement) {
		if e.Name.Local == "Relationship" {
			target := attribute(e, "Target")
			if attribute(e, "TargetMode") == "External" {
				out[attribute(e, "Id")] = target
				return
			}
			if !strings.HasPrefix(target, "/") {
				target = path.Join(dir, target)
			}
			out[attribute(e, "Id")] = strings.TrimPrefix(target, "/")
		}
	})
	return out, err
}

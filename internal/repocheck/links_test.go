package repocheck_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	code    = regexp.MustCompile("(?ms)^ *```.*?^ *```$|`[^`\n]*`")
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
)

// TestLinks checks that links of the documentation lead to files and headings that exist.
func TestLinks(t *testing.T) {
	t.Chdir(root)
	documents, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(documents, pages...) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(string(text), ""), -1) {
			if err := follow(name, m[1]); err != nil {
				t.Errorf("%s: %s: %v", name, m[1], err)
			}
		}
	}
}

// follow returns what is wrong with a link of a document; links to elsewhere are not tried.
func follow(document, to string) error {
	if strings.Contains(to, "://") {
		return nil
	}
	path, anchor, _ := strings.Cut(to, "#")
	file := document
	if path != "" {
		file = filepath.Join(filepath.Dir(document), path)
	}
	text, err := os.ReadFile(file)
	if err != nil || anchor == "" {
		return err
	}
	for _, h := range heading.FindAllStringSubmatch(code.ReplaceAllStringFunc(string(text), unfenced), -1) {
		if slug(h[1]) == anchor {
			return nil
		}
	}
	return fmt.Errorf("%s has no such heading", file)
}

// unfenced drops blocks of code, whose comments look like headings.
func unfenced(code string) string {
	if strings.Contains(code, "\n") {
		return ""
	}
	return code
}

// slug is the anchor that GitHub gives a heading.
func slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}

// TestIndex checks that docs/README.md leads to every page.
func TestIndex(t *testing.T) {
	t.Chdir(root)
	index, err := os.ReadFile("docs/README.md")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("docs/*.md")
	if err != nil || len(pages) < 2 {
		t.Fatal(pages, err)
	}
	for _, page := range pages {
		name := filepath.Base(page)
		if name != "README.md" && !strings.Contains(string(index), "]("+name+")") {
			t.Errorf("docs/README.md does not lead to %s", name)
		}
	}
}

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"text/template"
)

// project is where a release is downloaded from.
const project = "https://github.com/everthread/everthread"

// summed is a file of a release with its SHA-256 in hexadecimal digits.
type summed struct{ Name, Sum string }

// describe fills a template with a release: its Version, the URL of its files, the
// Changes that the changelog has for it (an error if it has none, but for a version
// between two releases), and the Sums of its files. {{sum NAME}} is the sum of one.
func describe(out, form, version, changelog, sums string) error {
	files, err := readSums(sums)
	if err != nil {
		return err
	}
	changes, err := changesOf(changelog, version)
	if err != nil {
		return err
	}
	t, err := template.New("").Funcs(template.FuncMap{
		"list": func(all ...string) []string { return all }, "sum": func(name string) (string, error) {
			for _, f := range files {
				if f.Name == name {
					return f.Sum, nil
				}
			}
			return "", fmt.Errorf("%s names no %s", sums, name)
		},
	}).ParseFiles(form)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	err = t.Templates()[0].Execute(&b, map[string]any{"Version": version, "URL": project + "/releases/download/v" + version,
		"Changes": changes, "Sums": files})
	if err != nil {
		return err
	}
	return os.WriteFile(out, b.Bytes(), 0o644)
}

// readSums reads what sha256sum wrote.
func readSums(path string) ([]summed, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []summed
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		sum, name, ok := strings.Cut(lines.Text(), "  ")
		if !ok || len(sum) != 64 {
			return nil, fmt.Errorf("%s: %q is no line of sha256sum", path, lines.Text())
		}
		out = append(out, summed{name, sum})
	}
	return out, lines.Err()
}

// released are versions as tags name them, without the v.
var released = regexp.MustCompile(`^\d+\.\d+\.\d+(-(alpha|beta|rc)\.\d+)?$`)

// changesOf returns a version's section of the changelog, without its heading.
func changesOf(changelog, version string) (string, error) {
	text, err := os.ReadFile(changelog)
	if err != nil {
		return "", err
	}
	_, section, ok := strings.Cut(string(text), "\n## "+version+" - ") // and the date
	if !ok && released.MatchString(version) {
		return "", fmt.Errorf("%s has no section %q with its date", changelog, "## "+version)
	}
	if !ok {
		return "A build between two releases.", nil
	}
	_, section, _ = strings.Cut(section, "\n")
	section, _, _ = strings.Cut(section, "\n## ")
	return strings.TrimSpace(section), nil
}

package configs

import (
	_ "embed"
	"strings"

	"github.com/everthread/everthread/configs/section"
)

//go:embed everthread.example.yaml
var example string

// Example returns the commented example: every key with its default.
func Example(sections ...section.Section) []byte {
	const at = "\nchannels:\n"
	before, after, _ := strings.Cut(example, at)
	var b strings.Builder
	b.WriteString(before + at)
	for _, s := range sections {
		b.WriteString(s.Example())
	}
	b.WriteString(after)
	return []byte(b.String())
}

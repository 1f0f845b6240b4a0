// Package catalog is a table of what models can do. It imports only the standard library.
package catalog

import (
	_ "embed"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Entry is what is known of a model.
type Entry struct {
	Window    int  // tokens that it reads at a time, prompt and answer; 0: unknown
	Vision    bool // it sees pictures
	Tools     bool // it uses tools
	Reasoning bool // it thinks before it answers
	// Prompt and Completion are the prices of a million tokens in US dollars at the vendor's own service; 0: unknown.
	Prompt, Completion float64
}

// Lookup returns what is known of a model, by the name that its server has for it: a name of Ollama, one with a vendor
// before it, or one with a date behind it.
func Lookup(model string) (Entry, bool) {
	name := strings.ToLower(model)
	name = name[strings.LastIndex(name, "/")+1:]
	name = vendor.ReplaceAllString(name, "")
	for n := len(name); n > 0; n-- {
		if e, ok := table()[name[:n]]; ok {
			return e, true
		}
	}
	return Entry{}, false
}

// vendor stands before names, as in us.anthropic.claude-… and meta-llama-….
var vendor = regexp.MustCompile(`^((us|eu|apac|global)\.)?(anthropic|amazon|mistral|cohere|deepseek)\.|^meta-`)

//go:embed models.csv
var models string

var table = sync.OnceValue(func() map[string]Entry {
	entries := map[string]Entry{}
	for line := range strings.Lines(models) {
		f := strings.Split(strings.TrimSpace(line), ",")
		if strings.HasPrefix(line, "#") || len(f) != 5 {
			continue // a test checks that the others have five columns
		}
		e := Entry{Vision: strings.Contains(f[2], "v"), Tools: strings.Contains(f[2], "t"),
			Reasoning: strings.Contains(f[2], "r")}
		e.Window, _ = strconv.Atoi(f[1])               // a test checks the numbers
		e.Prompt, _ = strconv.ParseFloat(f[3], 64)     // empty: 0
		e.Completion, _ = strconv.ParseFloat(f[4], 64) // empty: 0
		entries[f[0]] = e
	}
	return entries
})

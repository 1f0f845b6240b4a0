// Package everthread_test holds the tests that look at the repository as a
// whole: the arrows between packages and the rules that no compiler knows.
package everthread_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/everthread/everthread"

// TestArrows holds the repository to the arrows and rules of
// docs/architecture.md, "Source tree".
func TestArrows(t *testing.T) {
	t.Parallel()
	files, faults, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range judged(files, faults) {
		t.Error(f)
	}
}

// source is one Go file of the repository.
type source struct {
	name string // slash-separated, from the root
	dir  string // its package's directory
	test bool   // a _test.go file
	set  *token.FileSet
	file *ast.File
}

// at says where a node is, as file:line.
func (s source) at(n ast.Node) string {
	return fmt.Sprintf("%s:%d", s.name, s.set.Position(n.Pos()).Line)
}

// repository loads all of it, once for all tests.
func repository() ([]source, []string, error) {
	all := whole()
	return all.files, slices.Clone(all.faults), all.err
}

// loaded is what load returns.
type loaded struct {
	files  []source
	faults []string
	err    error
}

var whole = sync.OnceValue(func() loaded {
	files, faults, err := load(os.DirFS("."))
	return loaded{files, faults, err}
})

// inspect returns what is wrong with the tree, one sentence each, sorted.
func inspect(tree fs.FS) ([]string, error) {
	files, faults, err := load(tree)
	if err != nil {
		return nil, err
	}
	return judged(files, faults), nil
}

// judged adds to the faults of a tree those of its Go files.
func judged(files []source, faults []string) []string {
	packages := map[string][]source{}
	for _, f := range files {
		faults = append(faults, badPlace(f)...)
		faults = append(faults, badSleeps(f)...)
		if f.test {
			continue
		}
		faults = append(faults, badImports(f)...)
		faults = append(faults, badDials(f)...)
		faults = append(faults, badLeaf(f)...)
		faults = append(faults, badNames(f)...)
		if strict(f.dir) {
			packages[f.dir] = append(packages[f.dir], f)
		}
	}
	for _, p := range packages {
		faults = append(faults, badState(p)...)
	}
	slices.Sort(faults)
	return faults
}

// load parses the Go files and looks through the text of all files for paths
// that exist on one machine only. Folders with a go.mod of their own are
// modules of their own and left out.
func load(tree fs.FS) (files []source, faults []string, err error) {
	set := token.NewFileSet()
	err = fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return enter(tree, name)
		}
		if !slices.Contains([]string{".go", ".sh", ".yml", ".sql", ".toml", ".yaml", ".md"}, path.Ext(name)) {
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		faults = append(faults, citations(name, string(text))...)
		if slices.Contains([]string{".toml", ".yaml", ".md"}, path.Ext(name)) {
			return nil
		}
		faults = append(faults, machinePaths(name, string(text))...)
		if path.Ext(name) != ".go" {
			return nil
		}
		faults = append(faults, oldWords(name, string(text))...)
		faults = append(faults, longLines(name, string(text))...)
		file, err := parser.ParseFile(set, name, text, parser.ParseComments)
		if err != nil {
			return err
		}
		files = append(files, source{name, path.Dir(name), strings.HasSuffix(name, "_test.go"), set, file})
		return nil
	})
	return files, faults, err
}

func enter(tree fs.FS, dir string) error {
	if dir == "." {
		return nil
	}
	base := path.Base(dir)
	if strings.HasPrefix(base, ".") || slices.Contains([]string{"testdata", "node_modules", "bin", "data", "dist"}, base) {
		return fs.SkipDir
	}
	if _, err := fs.Stat(tree, path.Join(dir, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

func machinePaths(name, text string) []string {
	pattern := regexp.MustCompile("[\\s\"'`=(:]/(?:work|root|tmp|home/\\w+|Users/\\w+)/")
	var faults []string
	for i, line := range strings.Split(text, "\n") {
		if pattern.MatchString(line) {
			faults = append(faults, fmt.Sprintf("%s:%d: names a path of one machine", name, i+1))
		}
	}
	return faults
}

// citations finds sentences that lean on a page outside the repository. Who reads the
// code has only that: a comment says the reason, or names a page of docs.
func citations(name, text string) []string {
	pattern := regexp.MustCompile(`\b(?:SP` + `EC\b|(?:CHAN` + `NELS|ARCHI` + `TECTURE|ST` + `YLE) ["A-Z0-9])`)
	var faults []string
	for i, line := range strings.Split(text, "\n") {
		if found := pattern.FindString(line); found != "" {
			faults = append(faults, fmt.Sprintf("%s:%d: %s is no page of the repository: say the reason", name, i+1, found))
		}
	}
	return faults
}

// oldWords finds words that the code has better ones for.
func oldWords(name, text string) []string {
	better := map[string]string{"tells " + "whether": "reports whether", "leav" + "er ": "account deletion",
		" an" + "ew": "again", "who st" + "ays": "the target user", "func po" + "ke(": "signal",
		") he" + "ed(": "a verb that says what is done", "is let" + " in": "is admitted", "puts" + " off": "postpones",
		"goes" + " by": "relies on", "no oth" + "er's": "only this one's", "fore" + "sight": "expectation"}
	var faults []string
	for i, line := range strings.Split(text, "\n") {
		for old, word := range better {
			if strings.Contains(line, old) {
				faults = append(faults, fmt.Sprintf("%s:%d: not %q, but %s", name, i+1, old, word))
			}
		}
	}
	return faults
}

// badPlace refuses Go code outside the rooms of the house.
func badPlace(f source) []string {
	for _, part := range strings.Split(f.dir, "/") {
		if slices.Contains([]string{"internal", "pkg", "util", "utils", "common", "models", "helpers"}, part) {
			return []string{fmt.Sprintf("%s: no package is named %s", f.name, part)}
		}
	}
	if roomOf(f.dir) == "" {
		return []string{fmt.Sprintf("%s: this folder is no room of the house", f.name)}
	}
	return nil
}

// roomOf names the room that a directory belongs to: packages of one room may
// import each other. Rooms below core/llm and core/store are one package each, and so
// are those of the page.
func roomOf(dir string) string {
	parts := strings.Split(dir, "/")
	depth := 1
	switch parts[0] {
	case ".", "core", "adapters", "configs":
		depth = 2
	case "cmd", "scheduler", "migrations", "deploy", "e2e", "bench":
	default:
		return ""
	}
	if len(parts) > 2 && (parts[1] == "llm" || parts[1] == "store" || parts[1] == "web" && !isSuite(dir)) {
		depth = 3
	}
	return strings.Join(parts[:min(depth, len(parts))], "/")
}

func isFeature(room string) bool { return strings.HasPrefix(room, "core/") }
func isStore(room string) bool   { return strings.HasPrefix(room, "core/store") }
func isAdapter(room string) bool { return strings.HasPrefix(room, "adapters/") }

// isTier is true for the rooms between features and the vocabulary: features and
// adapters may import them, and they import none of those.
func isTier(room string) bool {
	return slices.Contains([]string{"core/trust", "core/job", "core/media", "core/disk", "core/intake", "core/channel"},
		room)
}

// isLeaf is true for the rooms of pure functions below features and adapters: they
// import core and each other, and neither see a clock nor anything outside.
func isLeaf(room string) bool {
	return slices.Contains([]string{"core/text", "core/when", "core/day", "core/markup", "core/words"}, room)
}

// isOperators reports whether a room is the operator's. They stand above
// the engine; only cmd imports them, and they know neither stores nor adapters.
func isOperators(room string) bool {
	return slices.Contains([]string{"core/doctor", "core/setup"}, room)
}

// isBeside is true for what stands beside the program: end-to-end tests, and tools of
// developers such as benchmarks. They may import anything.
func isBeside(dir string) bool { return slices.Contains([]string{"e2e", "bench"}, roomOf(dir)) }

// isSuite is true for packages that serve tests only, such as storetest.
func isSuite(dir string) bool { return strings.HasSuffix(dir, "test") }

// strict is true where neither init nor mutable globals are allowed.
func strict(dir string) bool {
	return dir == "core" || strings.HasPrefix(dir, "core/") || isAdapter(dir) || strings.HasPrefix(dir, "scheduler")
}

func badImports(f source) []string {
	var faults []string
	for _, spec := range f.file.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		if reason := refusal(f.dir, target); reason != "" {
			faults = append(faults, fmt.Sprintf("%s: imports %s: %s", f.at(spec), target, reason))
		}
	}
	return faults
}

// badLeaf refuses in a leaf what waits, reads a clock, draws lots or reaches outside.
func badLeaf(f source) []string {
	if !isLeaf(f.dir) {
		return nil
	}
	var faults []string
	for _, spec := range f.file.Imports {
		if regexp.MustCompile(`^"(context|database|io|log|net|os|runtime|sync/atomic|(math|crypto)/rand)\b`).MatchString(
			spec.Path.Value) {
			faults = append(faults, fmt.Sprintf("%s: a leaf imports %s: leaves are pure", f.at(spec), spec.Path.Value))
		}
	}
	ast.Inspect(f.file, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		pkg, ok := s.X.(*ast.Ident)
		if ok && pkg.Name == "time" && slices.Contains([]string{"Now", "Since", "Until", "Sleep", "After", "NewTimer",
			"NewTicker", "AfterFunc"}, s.Sel.Name) {
			faults = append(faults, f.at(s)+": a leaf reads the clock: time is passed in")
		}
		return true
	})
	return faults
}

// refusal says why the package in dir may not import target, or nothing.
func refusal(dir, target string) string {
	ours, inside := strings.CutPrefix(target, module+"/")
	if dir == "core" {
		if inside || strings.Contains(strings.SplitN(target, "/", 2)[0], ".") {
			return "core imports the standard library only"
		}
		return ""
	}
	if !inside {
		return ""
	}
	if isSuite(ours) {
		if isSuite(dir) || isBeside(dir) {
			return ""
		}
		return "only tests import a test suite"
	}
	if isSuite(dir) && isStore(roomOf(ours)) {
		return "" // it plays on a real one
	}
	return arrow(roomOf(dir), roomOf(ours))
}

// arrow says why the room from may not import the room to, or nothing.
func arrow(from, to string) string {
	switch {
	case from == to, to == "core", from == "cmd", isBeside(from):
		return ""
	case isOperators(to):
		return "only cmd imports what operators use"
	case isOperators(from) && !isStore(to) && (isFeature(to) || to == "deploy" ||
		strings.HasPrefix(to, "configs")):
		return ""
	case to == "core/engine":
		return "only cmd imports the engine"
	case from == "core/engine" && !isStore(to) && (isFeature(to) || to == "configs" || to == "scheduler"):
		return "" // it plugs them together
	case to == "cmd":
		return "nothing imports cmd"
	case isBeside(to):
		return "nothing imports " + to
	case to == "configs/section" && (from == "configs" || from == "core/channel" || isAdapter(from)):
		return "" // a channel owns its part of the configuration
	case from == "configs" && to == "core/llm/catalog":
		return "" // defaults depend on what is known of a model
	case isStore(from) && (to == "core/store/sqlstore" || to == "migrations"):
		return ""
	case strings.HasPrefix(from, "core/llm/") && to == "core/llm":
		return "" // what the clients of models share
	case isLeaf(to) && isFeature(from) && !isStore(from), isLeaf(to) && isAdapter(from):
		return ""
	case isLeaf(from):
		return "a leaf imports core and leaves"
	case isTier(to) && (isFeature(from) || isAdapter(from)):
		return ""
	case isFeature(from) && isFeature(to):
		return "features do not import each other"
	case isAdapter(to) && strings.HasPrefix(from, to+"/"):
		return "" // a room of the page knows its shell
	case isAdapter(from) && isAdapter(to):
		return "adapters do not import each other"
	case (isAdapter(from) || from == "scheduler") && isStore(to):
		return "only cmd knows the stores"
	case (isAdapter(from) || from == "scheduler") && isFeature(to):
		return ""
	default:
		return fmt.Sprintf("no arrow leads from %s to %s", from, to)
	}
}

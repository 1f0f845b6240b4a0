// Package repocheck_test holds what the repository keeps about itself: the directions of imports, the one way out, and
// the links of the documentation.
package repocheck_test

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
	"testing"
)

// root is the root of the repository, seen from this package.
const root = "../.."

const module = "github.com/everthread/everthread"

// TestImports checks the directions of imports that docs/architecture.md describes, "Source tree", and that connections
// are made by one package.
func TestImports(t *testing.T) {
	t.Parallel()
	faults, err := inspect(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
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

// inspect returns what is wrong with the tree, one sentence each, sorted.
func inspect(tree fs.FS) ([]string, error) {
	files, err := load(tree)
	if err != nil {
		return nil, err
	}
	var faults []string
	for _, f := range files {
		faults = append(faults, badPlace(f)...)
		if !f.test {
			faults = append(faults, badImports(f)...)
			faults = append(faults, badDials(f)...)
			faults = append(faults, badLeaf(f)...)
		}
	}
	slices.Sort(faults)
	return faults, nil
}

// load parses the Go files. Folders with a go.mod of their own are modules of their own and left out.
func load(tree fs.FS) (files []source, err error) {
	set := token.NewFileSet()
	err = fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return enter(tree, name)
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, source{name, path.Dir(name), strings.HasSuffix(name, "_test.go"), set, file})
		return nil
	})
	return files, err
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

// badPlace refuses Go code in a folder that docs/architecture.md does not name.
func badPlace(f source) []string {
	if roomOf(f.dir) == "" {
		return []string{fmt.Sprintf("%s: docs/architecture.md has no such folder", f.name)}
	}
	return nil
}

// groups are the folders whose packages are strangers to each other.
var groups = []string{"adapters/web", "core/accounts", "core/archive", "core/chat", "core/files", "core/llm",
	"core/memory", "core/ops", "core/store"}

// roomOf names the room that a directory belongs to: packages of one room may import each other. In a group each
// package is a room with the folders below it.
func roomOf(dir string) string {
	parts := strings.Split(dir, "/")
	depth := 1
	switch parts[0] {
	case ".", "core", "adapters", "configs":
		depth = 2
	case "cmd", "scheduler", "migrations", "deploy", "e2e", "bench":
	case "internal":
		depth = 2
	default:
		return ""
	}
	if len(parts) > 2 && slices.Contains(groups, parts[0]+"/"+parts[1]) && dir != "adapters/web/webtest" {
		depth = 3
	}
	return strings.Join(parts[:min(depth, len(parts))], "/")
}

func isFeature(room string) bool { return strings.HasPrefix(room, "core/") }
func isStore(room string) bool   { return strings.HasPrefix(room, "core/store/") }
func isAdapter(room string) bool { return strings.HasPrefix(room, "adapters/") }

// isVocabulary is true for what everybody but a leaf may import beside core: ports and their parameters, effects, and
// the rows of searches, the audit and an export.
func isVocabulary(room string) bool {
	return slices.Contains([]string{"core/store", "core/effect", "core/archive", "core/audit", "core/search"}, room)
}

// isTier is true for the rooms between features and the vocabulary: features and
// adapters may import them, and they import none of those.
func isTier(room string) bool {
	return slices.Contains([]string{"core/trust", "core/job", "core/files/media", "core/ops/disk", "core/channel"}, room)
}

// isLeaf is true for the rooms of pure functions below features and adapters: they
// import core and each other, and neither see a clock nor anything outside.
func isLeaf(room string) bool {
	return room == "core/text"
}

// isOperators reports whether a room is the operator's. They stand above
// the engine; only cmd imports them, and they know neither stores nor adapters.
func isOperators(room string) bool {
	return slices.Contains([]string{"core/ops/doctor", "core/ops/setup"}, room)
}

// isBeside is true for what stands beside the program: end-to-end tests, and tools of
// developers such as benchmarks. They may import anything.
func isBeside(dir string) bool { return slices.Contains([]string{"e2e", "bench"}, roomOf(dir)) }

// isSuite is true for packages that serve tests only, such as storetest.
func isSuite(dir string) bool { return strings.HasSuffix(dir, "test") }

func badImports(f source) []string {
	var faults []string
	for _, spec := range f.file.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		if reason := refusal(f.name, f.dir, target); reason != "" {
			faults = append(faults, fmt.Sprintf("%s: imports %s: %s", f.at(spec), target, reason))
		}
	}
	return faults
}

// badLeaf refuses in a leaf what waits, reads a clock, uses randomness or reaches outside.
func badLeaf(f source) []string {
	if !isLeaf(roomOf(f.dir)) {
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

// registry is the one file that knows the channels of other services.
const registry = "cmd/everthread/channels.go"

func services() []string {
	return []string{"adapters/telegram", "adapters/whatsapp", "adapters/matrix", "adapters/signal"}
}

// refusal returns why a file of the package in dir may not import target; empty: it may.
func refusal(name, dir, target string) string {
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
	if roomOf(dir) == "cmd" && slices.Contains(services(), roomOf(ours)) && name != registry {
		return "only " + registry + " knows the channels of other services"
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

// arrow returns why the packages of from may not import those of to; empty: they may.
func arrow(from, to string) string {
	switch {
	case from == to, to == "core", from == "cmd", isBeside(from):
		return ""
	case isVocabulary(from):
		if from == "core/store" && to == "core/effect" || from == "core/effect" && to == "core/audit" ||
			from == "core/store" && to == "core/audit" || from == "core/search" && to == "core/store" {
			return ""
		}
		return "the vocabulary imports no feature"
	case isVocabulary(to) && !isLeaf(from):
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

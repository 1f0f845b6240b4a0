package everthread_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/pelletier/go-toml/v2"
)

// TestSentencesAreInCatalogues finds what people would read in one language only: a
// string of two words or more in a package that speaks to people. Developers' errors
// and logs, and what a model reads, are not for them.
func TestSentencesAreInCatalogues(t *testing.T) {
	t.Parallel()
	files, _, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		for _, s := range sentences(f) {
			t.Error(s)
		}
	}
}

// speaks reports whether people read the words of a file. Of the channels these are the
// guide of the wizard and what is found of them; the rest are errors and the services' words.
func speaks(f source) bool {
	if strings.HasPrefix(f.dir, "adapters/") && (strings.HasPrefix(path.Base(f.name), "guide") ||
		slices.Contains([]string{"diagnose.go", "bridge.go", "crypto_verify.go"}, path.Base(f.name))) {
		return true
	}
	return slices.Contains([]string{"adapters/web", "adapters/web/chat", "adapters/web/office", "core/command",
		"core/gateway", "core/people", "core/plan", "core/trust", "core/summary", "core/media", "core/loops",
		"core/memory", "core/history", "core/export", "core/live", "core/when", "core/day", "core/words",
		"core/doctor", "core/setup", "cmd/everthread"}, f.dir)
}

// otherwise says why sentences may stand in a file all the same: in all of it, or
// those that hold a text.
func otherwise() []struct{ file, text, why string } {
	const (
		model   = "a model reads it"
		typed   = "people type it"
		zone    = "operators read it, beside names of tables and settings"
		http    = "it is a part of HTTP or HTML"
		caller  = "programs read it"
		command = "it is a command line, or a part of one"
		place   = "it says where something stands in an archive"
		measure = "who develops reads it, beside docs/evaluation.md"
		id      = "it is a name for programs, and doctor.checks has the words"
		errors  = "it is an operation of errors"
	)
	return []struct{ file, text, why string }{
		{"adapters/web/assets.go", "", http}, {"adapters/web/visit.go", "", http},
		{"adapters/web/views.go", "<input", http},
		{"adapters/web/chat/message.go", "default-src", http}, {"adapters/web/chat/message.go", "no-store", http},
		{"adapters/web/chat/markdown.go", "", http}, {"adapters/web/chat/math.go", "", http},
		{"adapters/web/chat/acts.go", "text/plain", http}, {"adapters/web/office/settings_links.go", "<svg", http},
		{"adapters/web/chat/acts.go", "choose an answer", errors}, {"adapters/web/chat/promises.go", "settle a promise", errors},
		{"adapters/web/chat/promises.go", "open loops", errors}, {"adapters/web/office/memory_change.go", "correct memory", errors},
		{"adapters/web/office/memory_change.go", "remove a standing instruction", errors},
		{"adapters/web/office/settings_leave.go", "", http}, {"adapters/web/fault.go", "there is nothing at", caller},
		{"core/people/browser.go", "Mac OS X", "it is a name"},
		{"adapters/web/office/settings_traces.go", "index of", "it names a table"}, {"core/command/approval.go", "", typed},
		{"core/command/zone.go", "", typed}, {"core/loops/match.go", "", typed}, {"core/when/", "", typed},
		{"core/history/whatsapp_time.go", "", "WhatsApp writes it"}, {"core/memory/", "", model},
		{"core/summary/generate.go", "", model}, {"core/summary/ground.go", "", model},
		{"core/media/fetch.go", "not written down", model}, {"core/live/", "", caller},
		{"core/trust/ledger.go", "limits.", zone}, {"core/people/delete.go", "files in ", zone},
		{"core/people/delete.go", "attachments that are listed", zone}, {"core/summary/summary.go", "", zone},
		{"core/summary/failure.go", "", zone},
		{"core/gateway/deliver.go", "the channel ", zone}, {"core/gateway/deliver.go", " is not ", zone},
		{"core/gateway/deliver.go", "the file ", zone},
		{"core/gateway/deliver.go", "it may or may not have arrived", zone},
		{"core/gateway/deliver.go", "it is held until", zone},
		{"core/gateway/deliver.go", " lets nobody be written to", zone}, {"core/gateway/planner.go", "", zone},
		{"core/gateway/approval.go", "there is nowhere else", zone},
		{"cmd/everthread/cmd_completion.go", "", command}, {"cmd/everthread/examples.go", "", command},
		{"cmd/everthread/cmd_eval.go", "", measure},
		{"cmd/everthread/cli.go", "One conversation with an assistant", "--help is English"},
		{"core/doctor/", "data folder", id}, {"core/doctor/", "tokens of the day", id},
		{"core/doctor/", "database clock", id}, {"core/doctor/", "context window", id},
		{"core/doctor/", "llm fallback %d", id}, {"core/history/", ", line %d", place},
		{"core/history/", ", message %d", place}, {"core/history/", ", byte %d", place},
		{"core/history/", "a message", place}, {"core/history/", "conversation ", place},
		{"core/history/", ", entry %d", place}, {"core/history/", "ORDER BY ", "it is SQL"},
		{"core/history/database.go", "", "it is SQL"}, {"core/history/history.go", "Open WebUI", "it is a name"},
		{"core/history/history.go", "Hermes Agent", "it is a name"},
		{"core/history/media.go", "text/plain", http},
		{"core/history/media.go", "it is larger than %d bytes", zone}, {"core/history/whatsapp.go", "%d again at %s", place},
		{"core/history/telegram.go", "Deleted account", "Telegram writes it"},
		{"adapters/whatsapp/guide.go", "look up the number", errors},
		{"adapters/matrix/guide.go", "Everthread, trying the password", "it is the name of a device"},
		{"core/setup/file.go", "Made by", "it is a comment of a file for programs"},
	}
}

var twoWords = regexp.MustCompile(`\pL[\pL'’]*[,.:;!?]? \pL`)

// sentences are the texts of a file that are in no catalogue.
func sentences(f source) []string {
	if f.test || !speaks(f) {
		return nil
	}
	var out []string
	ast.Inspect(f.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			return !forDevelopers(n.Fun)
		case *ast.KeyValueExpr:
			key, ok := n.Key.(*ast.Ident)
			return !ok || !slices.Contains([]string{"Description", "Schema", "Why"}, key.Name)
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			return n.Tag == nil
		case *ast.BasicLit:
			text, err := strconv.Unquote(n.Value)
			if n.Kind == token.STRING && err == nil && twoWords.MatchString(text) && !excused(f.name, text) {
				out = append(out, fmt.Sprintf("%s: %q is in no catalogue", f.at(n), text))
			}
		}
		return true
	})
	return out
}

func excused(file, text string) bool {
	if isKey(text) {
		return true
	}
	for _, o := range otherwise() {
		if strings.HasPrefix(file, o.file) && strings.Contains(text, o.text) {
			return true
		}
	}
	return false
}

// isKey reports whether a text is a key of the catalogues, which have its words.
func isKey(text string) bool {
	head, _, _ := strings.Cut(text, ": ")
	return slices.Contains(keys(), head) || slices.Contains(keys(), text)
}

// keys are the keys of the catalogues that are words themselves.
var keys = sync.OnceValue(func() []string {
	var c map[string]any
	text, err := os.ReadFile("core/words/en.toml")
	if err == nil {
		err = toml.Unmarshal(text, &c)
	}
	if err != nil {
		panic(err)
	}
	var out []string
	var walk func(map[string]any)
	walk = func(table map[string]any) {
		for key, value := range table {
			if twoWords.MatchString(key) {
				out = append(out, key)
			}
			if t, ok := value.(map[string]any); ok {
				walk(t)
			}
		}
	}
	walk(c)
	return out
})

// forDevelopers reports whether a function is given words that no person is to read:
// an error, a line of the log, an operation that one of those is about.
func forDevelopers(f ast.Expr) bool {
	name := ""
	switch f := f.(type) {
	case *ast.Ident:
		name = f.Name
	case *ast.SelectorExpr:
		name = f.Sel.Name
		switch on := f.X.(type) {
		case *ast.SelectorExpr:
			name = on.Sel.Name + "." + name
		case *ast.Ident:
			name = on.Name + "." + name
		}
	}
	return developers.MatchString(name)
}

var developers = regexp.MustCompile(`^(panic|core\.NewTool|errors\.New|fmt\.Errorf|regexp\.MustCompile|text\.Pattern|zap\.\w+|(?i:log)\.\w+|Crash\.At|` +
	`.*\.(retry|unanswered|logUnless|failed|try|(?i:crash)))$`)

// TestASentenceInCodeIsFound adds sentences where they do not belong, and where they do.
func TestASentenceInCodeIsFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, file, code string
		found            bool
	}{
		{"an answer", "core/command/a.go", `func f() string { return "Nothing is open." }`, true},
		{"a format", "core/gateway/a.go", `func f() string { return fmt.Sprintf("%d things wait", 3) }`, true},
		{"a label", "adapters/web/a.go", `var x = page{Title: "Sign in"}`, true},
		{"a text in backquotes", "core/people/a.go", "const x = `two\nlines of it`", true},
		{"an error", "core/command/a.go", `var err = errors.New("no such user")`, false},
		{"a log", "core/gateway/a.go", `func (g *G) f() { g.Log.Warn("lease was lost") }`, false},
		{"a tool's description", "core/plan/a.go", `var x = core.Tool{Description: "Sets a reminder."}`, false},
		{"a key", "core/command/a.go", `const x = "users.name"`, false},
		{"a package that nobody reads", "core/prompt/a.go", `const x = "You are an assistant."`, false},
		{"a finding of a channel", "adapters/matrix/diagnose.go", `const x = "the clocks agree"`, true},
		{"the rest of a channel", "adapters/matrix/send.go", `const x = "the clocks agree"`, false},
		{"a key", "core/history/a.go", `const x = "its time cannot be read"`, false},
		{"a key and what it is of", "core/history/a.go", `const x = "its time is wrong: "`, false},
		{"what commands print", "cmd/everthread/a.go", `func f() { fmt.Println("Nothing was found.") }`, true},
		{"what is excused", "core/live/a.go", `const x = "the answer was stopped"`, false},
	} {
		files, _, err := load(fstest.MapFS{c.file: {Data: []byte("package x\n" + c.code + "\n")}})
		if err != nil {
			t.Fatal(err)
		}
		if got := sentences(files[0]); (len(got) == 1) != c.found {
			t.Errorf("%s: got %q", c.name, got)
		}
	}
}

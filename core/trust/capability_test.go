package trust_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/audit"
	"github.com/everthread/everthread/core/trust"
)

// TestAudit_everyRowHasWords checks that every constant of the audit has a text in each
// language.
func TestAudit_everyRowHasWords(t *testing.T) {
	t.Parallel()
	seen := 0
	look := func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		word := strings.Trim(spec.Values[0].(*ast.BasicLit).Value, `"`)
		kind, _ := spec.Type.(*ast.Ident)
		for _, language := range []string{"en", "fr"} {
			switch {
			case kind.Name == "What" && trust.AuditLine(language, audit.Row{What: audit.What(word),
				Result: audit.Done}) == word:
				t.Errorf("%s has no text in %s", word, language)
			case kind.Name == "Via" && word != "identity" &&
				trust.Through(language, audit.Row{Via: core.Via(word)}, "") == "":
				t.Errorf("%s has no text in %s", word, language)
			case kind.Name == "Result" && word != "done" &&
				!strings.Contains(trust.AuditLine(language, audit.Row{What: audit.Call,
					Result: audit.Result(word)}), ": "):
				t.Errorf("%s has no text in %s", word, language)
			}
		}
		seen++
		return true
	}
	for _, name := range []string{"../audit.go", "../audit/audit.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, look)
	}
	if seen < 30 {
		t.Errorf("found %d constants, want at least 30", seen)
	}
}

func TestAuditLine_isOneLine(t *testing.T) {
	t.Parallel()
	r := audit.Row{What: audit.Call, Tool: "shop\n`mail\x1b", Object: "turn", IDs: []int64{4},
		Result: audit.Failed}
	if got := trust.AuditLine("en", r); got != "Tool called `shop 'mail`: failed" {
		t.Errorf("got %q", got)
	}
	r = audit.Row{What: audit.Forget, Object: "message", IDs: []int64{4, 5, 9}}
	if got := trust.AuditLine("fr", r); got != "Messages oubliés #4 +2" {
		t.Errorf("got %q", got)
	}
	if got := trust.Through("en", audit.Row{Via: core.ViaKey, ViaID: 7}, ""); got != "program with key #7" {
		t.Errorf("got %q", got)
	}
}

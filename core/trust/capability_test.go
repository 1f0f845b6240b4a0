package trust_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/trust"
)

// TestEveryRowIsToldInWords checks that every constant of core/audit.go has a text in each
// language.
func TestEveryRowIsToldInWords(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "../audit.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		word := strings.Trim(spec.Values[0].(*ast.BasicLit).Value, `"`)
		kind, _ := spec.Type.(*ast.Ident)
		for _, language := range []string{"en", "fr"} {
			switch {
			case kind.Name == "AuditWhat" && trust.AuditLine(language, core.AuditRow{What: core.AuditWhat(word),
				Result: core.ResultDone}) == word:
				t.Errorf("%s has no text in %s", word, language)
			case kind.Name == "Via" && word != "identity" &&
				trust.Through(language, core.AuditRow{Via: core.Via(word)}, "") == "":
				t.Errorf("%s has no text in %s", word, language)
			case kind.Name == "AuditResult" && word != "done" &&
				!strings.Contains(trust.AuditLine(language, core.AuditRow{What: core.AuditCall,
					Result: core.AuditResult(word)}), ": "):
				t.Errorf("%s has no text in %s", word, language)
			}
		}
		seen++
		return true
	})
	if seen < 30 {
		t.Errorf("found %d constants, want at least 30", seen)
	}
}

func TestToldIsOneLine(t *testing.T) {
	t.Parallel()
	r := core.AuditRow{What: core.AuditCall, Tool: "shop\n`mail\x1b", Object: "turn", IDs: []int64{4},
		Result: core.ResultFailed}
	if got := trust.AuditLine("en", r); got != "Tool called `shop 'mail`: failed" {
		t.Errorf("got %q", got)
	}
	r = core.AuditRow{What: core.AuditForget, Object: "message", IDs: []int64{4, 5, 9}}
	if got := trust.AuditLine("fr", r); got != "Messages oubliés #4 +2" {
		t.Errorf("got %q", got)
	}
	if got := trust.Through("en", core.AuditRow{Via: core.ViaKey, ViaID: 7}, ""); got != "program with key #7" {
		t.Errorf("got %q", got)
	}
}

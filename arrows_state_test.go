package everthread_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// badState refuses init functions and package variables that can change. What
// may stay: assertions (var _ I = …), embedded files, error sentinels, values
// made by a call of constantCalls, and unexported tables that nothing writes.
func badState(files []source) []string {
	written := writtenNames(files)
	var faults []string
	for _, f := range files {
		for _, decl := range f.file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Name.Name == "init" && d.Recv == nil {
					faults = append(faults, f.at(d)+": func init")
				}
			case *ast.GenDecl:
				faults = append(faults, badVariables(f, d, written)...)
			}
		}
	}
	return faults
}

func badVariables(f source, d *ast.GenDecl, written map[string]bool) []string {
	if d.Tok != token.VAR || embedded(d.Doc) {
		return nil
	}
	var faults []string
	for _, spec := range d.Specs {
		v := spec.(*ast.ValueSpec)
		if embedded(v.Doc) {
			continue
		}
		for i, name := range v.Names {
			if name.Name != "_" && (written[name.Name] || i >= len(v.Values) || !constant(name, v.Values[i])) {
				faults = append(faults, fmt.Sprintf("%s: package variable %s can change", f.at(name), name.Name))
			}
		}
	}
	return faults
}

func embedded(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool {
		return strings.HasPrefix(c.Text, "//go:embed ")
	})
}

// constantCalls return values that are safe to share and that nobody changes.
func constantCalls() []string {
	return []string{
		"regexp.MustCompile", "errors.New", "fmt.Errorf", "strings.NewReplacer", "template.Must",
		"language.MustParse", "language.Make", "language.NewMatcher", "big.NewInt", "netip.MustParsePrefix",
		"netip.MustParseAddr", "base64.NewEncoding", "rangetable.Merge", "sync.OnceValue", "sync.OnceValues", "words.In",
		"text.OneOf", "text.Pattern", "text.Phrases", "ast.NewNodeKind", "parser.NewContextKey",
	}
}

func constant(name *ast.Ident, value ast.Expr) bool {
	switch v := value.(type) {
	case *ast.CallExpr:
		called := v.Fun
		if of, ok := called.(*ast.IndexExpr); ok { // words.In[texts]
			called = of.X
		}
		if inner, ok := called.(*ast.SelectorExpr); ok {
			if pkg, ok := inner.X.(*ast.Ident); ok {
				return slices.Contains(constantCalls(), pkg.Name+"."+inner.Sel.Name)
			}
			// A method on a constant value, such as base64.NewEncoding(…).WithPadding(…).
			return constant(name, inner.X)
		}
		own, ok := called.(*ast.Ident) // In and each, in words itself, OneOf and Pattern in text
		return ok && (own.Name == "In" || own.Name == "each" || own.Name == "OneOf" || own.Name == "Pattern")
	case *ast.UnaryExpr:
		return v.Op == token.AND && constant(name, v.X)
	case *ast.CompositeLit, *ast.BasicLit:
		return !name.IsExported() || strings.HasPrefix(name.Name, "Err")
	default:
		return false
	}
}

// writtenNames are the package variables that some code of the package assigns,
// changes an element of, deletes from, or takes the address of.
func writtenNames(files []source) map[string]bool {
	written := map[string]bool{}
	for _, f := range files {
		mark := func(e ast.Expr) {
			if id := base(e); id != nil && global(f.file, id) {
				written[id.Name] = true
			}
		}
		ast.Inspect(f.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, left := range n.Lhs {
					mark(left)
				}
			case *ast.IncDecStmt:
				mark(n.X)
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					mark(n.X)
				}
			case *ast.CallExpr:
				if fn, ok := n.Fun.(*ast.Ident); ok && (fn.Name == "delete" || fn.Name == "clear") {
					mark(n.Args[0])
				}
			}
			return true
		})
	}
	return written
}

// base is the variable that an expression such as a.b[c].d belongs to.
func base(e ast.Expr) *ast.Ident {
	for {
		switch v := e.(type) {
		case *ast.Ident:
			return v
		case *ast.SelectorExpr:
			e = v.X
		case *ast.IndexExpr:
			e = v.X
		case *ast.ParenExpr:
			e = v.X
		case *ast.StarExpr:
			e = v.X
		default:
			return nil
		}
	}
}

// global is true if an identifier does not belong to a function: it was found
// in the file's own package scope, or in no scope of this file at all.
func global(f *ast.File, id *ast.Ident) bool {
	return id.Obj == nil || f.Scope.Lookup(id.Name) == id.Obj
}

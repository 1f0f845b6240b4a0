package everthread_test

import (
	"fmt"
	"go/ast"
	"slices"
	"testing"
	"testing/fstest"
)

// TestPortsOfCoreAreShared keeps a port that one package needs beside that package: an
// interface of core is a part of core.Store, or two other packages name it.
func TestPortsOfCoreAreShared(t *testing.T) {
	t.Parallel()
	files, _, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range lonelyPorts(files) {
		t.Error(fault)
	}
}

// lonelyPorts are the interfaces of core that should not be there.
func lonelyPorts(files []source) []string {
	ports, parts, users := map[string]string{}, map[string]bool{"Store": true}, map[string][]string{}
	for _, f := range files {
		if f.test {
			continue
		}
		ast.Inspect(f.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				i, ok := n.Type.(*ast.InterfaceType)
				if !ok || f.dir != "core" || !n.Name.IsExported() {
					break
				}
				ports[n.Name.Name] = f.at(n)
				for _, part := range i.Methods.List {
					if id, ok := part.Type.(*ast.Ident); ok && n.Name.Name == "Store" {
						parts[id.Name] = true
					}
				}
			case *ast.SelectorExpr:
				from, ok := n.X.(*ast.Ident)
				if ok && from.Name == "core" && !slices.Contains(users[n.Sel.Name], f.dir) {
					users[n.Sel.Name] = append(users[n.Sel.Name], f.dir)
				}
			}
			return true
		})
	}
	var out []string
	for name, at := range ports {
		if !parts[name] && len(users[name]) < 2 {
			out = append(out, fmt.Sprintf("%s: core.%s belongs beside the one package that needs it", at, name))
		}
	}
	slices.Sort(out)
	return out
}

func TestALonelyPortIsFound(t *testing.T) {
	t.Parallel()
	files, _, err := load(fstest.MapFS{
		"core/a.go": {Data: []byte(`package core
type Lonely interface{ A() }
type Shared interface{ B() }
type Part interface{ C() }
type Store interface{ Part }
`)},
		"core/b/b.go":      {Data: []byte("package b\n\nvar _ core.Shared\nvar _ core.Lonely\n")},
		"core/c/c.go":      {Data: []byte("package c\n\nvar _ core.Shared\n")},
		"core/c/c_test.go": {Data: []byte("package c\n\nvar _ core.Lonely\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"core/a.go:2: core.Lonely belongs beside the one package that needs it"}
	if got := lonelyPorts(files); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

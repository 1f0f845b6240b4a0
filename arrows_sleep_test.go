package everthread_test

import (
	"fmt"
	"go/ast"
)

// badSleeps finds a time.Sleep in a test that does not say why it waits. What looks
// again and again in a loop says so by the loop; everything else has a comment on its
// line or on the one above.
func badSleeps(f source) []string {
	if !f.test && !isSuite(f.dir) {
		return nil
	}
	said := map[int]bool{}
	for _, group := range f.file.Comments {
		last := f.set.Position(group.End()).Line
		said[last], said[last+1] = true, true
	}
	var faults []string
	ast.Inspect(f.file, func(n ast.Node) bool {
		if loop, ok := n.(*ast.ForStmt); ok && loop.Post != nil {
			said[f.set.Position(loop.Post.Pos()).Line] = true
		}
		call, ok := n.(*ast.SelectorExpr)
		if !ok || call.Sel.Name != "Sleep" {
			return true
		}
		if pkg, ok := call.X.(*ast.Ident); ok && pkg.Name == "time" && !said[f.set.Position(call.Pos()).Line] {
			faults = append(faults, fmt.Sprintf("%s: time.Sleep: wait for what happens, or say why it cannot be seen",
				f.at(call)))
		}
		return true
	})
	return faults
}

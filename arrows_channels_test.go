package everthread_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// registry is the one file that knows the channels of other services.
const registry = "cmd/everthread/channels.go"

// badNames refuses the names of channels in core, configs and cmd: what there is to know
// of a channel stands in its package. Exempt are the formats of archives, a kind of
// address in a text, and the channels of a simulation.
func badNames(f source) []string {
	top, _, _ := strings.Cut(f.dir, "/")
	exempt := []string{"core/history", "core/markup"}
	if !slices.Contains([]string{"core", "configs", "cmd"}, top) || f.name == registry || isSuite(f.dir) ||
		slices.Contains(exempt, roomOf(f.dir)) {
		return nil
	}
	channels := []string{"telegram", "whatsapp", "whatsapp_agent", "matrix", "signal"}
	var faults []string
	ast.Inspect(f.file, func(n ast.Node) bool {
		l, ok := n.(*ast.BasicLit)
		if !ok || l.Kind != token.STRING {
			return true
		}
		text := strings.ToLower(strings.Trim(l.Value, "\"`"))
		target, imported := strings.CutPrefix(text, module+"/adapters/")
		target, _, _ = strings.Cut(target, "/")
		if slices.Contains(channels, target) && (imported || target == text) {
			faults = append(faults, fmt.Sprintf("%s: names the channel %s: only its package and %s know it", f.at(l),
				target, registry))
		}
		return true
	})
	return faults
}

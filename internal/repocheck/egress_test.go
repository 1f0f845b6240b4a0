package repocheck_test

import (
	"fmt"
	"go/ast"
	"slices"
	"strconv"
	"strings"
)

// wayOut is the one package that dials.
const wayOut = "core/trust/egress"

// dialers are the files that may dial beside it.
func dialers() []string {
	return []string{
		"core/store/postgres/postgres.go", // the database of the configuration, before there is any user
	}
}

// dialing are what makes a connection, by the import path. A pointer to a client that
// somebody else made is no dialling.
func dialing() map[string][]string {
	return map[string][]string{
		"net/http": {"Client", "Transport", "DefaultClient", "DefaultTransport", "Get", "Head",
			"Post", "PostForm"},
		"net":                          {"Dial", "DialTimeout", "DialTCP", "DialUDP", "DialIP", "DialUnix", "Dialer"},
		"crypto/tls":                   {"Dial", "DialWithDialer", "Dialer"},
		"net/smtp":                     {"Dial", "SendMail"},
		"net/rpc":                      {"Dial", "DialHTTP"},
		"golang.org/x/net/websocket":   {"Dial", "DialConfig"},
		"github.com/coder/websocket":   {"Dial"},
		"github.com/gorilla/websocket": {"Dialer", "DefaultDialer"},
		"github.com/emersion/go-imap/v2/imapclient": {"DialTLS", "DialStartTLS", "DialInsecure"},
	}
}

// badDials refuses every way out but the one.
func badDials(f source) []string {
	if f.dir == wayOut || isSuite(f.dir) || isBeside(f.dir) || slices.Contains(dialers(), f.name) {
		return nil
	}
	names := map[string][]string{}
	for _, spec := range f.file.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil || dialing()[target] == nil {
			continue
		}
		name := target[strings.LastIndexByte(target, '/')+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = dialing()[target]
	}
	var faults []string
	allowed := map[ast.Expr]bool{}
	ast.Inspect(f.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StarExpr:
			allowed[n.X] = true
		case *ast.CallExpr:
			allowed[n.Fun] = slices.ContainsFunc(n.Args, givesClient)
		case *ast.SelectorExpr:
			pkg, ok := n.X.(*ast.Ident)
			if ok && slices.Contains(names[pkg.Name], n.Sel.Name) && !allowed[n] {
				faults = append(faults, fmt.Sprintf("%s: %s.%s dials: connections are made by %s", f.at(n), pkg.Name,
					n.Sel.Name, wayOut))
			}
		}
		return true
	})
	return faults
}

// givesClient reports whether an argument is an option literal with a client that somebody
// else made, which is what dials then.
func givesClient(arg ast.Expr) bool {
	if u, ok := arg.(*ast.UnaryExpr); ok {
		arg = u.X
	}
	options, ok := arg.(*ast.CompositeLit)
	return ok && slices.ContainsFunc(options.Elts, func(e ast.Expr) bool {
		pair, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return false
		}
		key, ok := pair.Key.(*ast.Ident)
		return ok && key.Name == "HTTPClient"
	})
}

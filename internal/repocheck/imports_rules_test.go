package repocheck_test

import (
	"strings"
	"testing"
	"testing/fstest"
)

// TestInspect_findsEachFault breaks each rule in a small tree of its own.
func TestInspect_findsEachFault(t *testing.T) {
	t.Parallel()
	imports := func(target string) string { return "package x\nimport _ \"" + module + "/" + target + "\"\n" }
	cases := []struct{ name, file, text, want string }{
		{"core imports a third party", "core/a.go", "package core\nimport _ \"go.uber.org/zap\"\n", "standard library only"},
		{"core imports a feature", "core/a.go", imports("core/text/day"), "standard library only"},
		{"a feature imports another", "core/chat/gateway/a.go", imports("core/accounts/people"), "features do not import"},
		{"a model imports another", "core/llm/openai/a.go", imports("core/llm/tokens"), "features do not import"},
		{"the tier imports a feature", "core/trust/a.go", imports("core/accounts/people"), "features do not import"},
		{"a leaf imports a feature", "core/text/day/a.go", imports("core/accounts/people"), "a leaf imports core and leaves"},
		{"a leaf imports the tier", "core/text/a.go", imports("core/trust"), "a leaf imports core and leaves"},
		{"effects import a port", "core/effect/a.go", imports("core/store"), "the vocabulary imports no feature"},
		{"a leaf imports a port", "core/text/day/a.go", imports("core/store"), "a leaf imports core and leaves"},
		{"a leaf imports a store", "core/text/times/a.go", imports("core/store/sqlite"), "a leaf imports core and leaves"},
		{"a feature imports the doctor", "core/accounts/people/a.go", imports("core/ops/doctor"), "only cmd imports what operators use"},
		{"the engine imports the wizard", "core/engine/a.go", imports("core/ops/setup"), "only cmd imports what operators use"},
		{"the doctor imports a store", "core/ops/doctor/a.go", imports("core/store/sqlite"), "features do not import"},
		{"a leaf reads a file", "core/text/markup/a.go", "package markup\nimport _ \"os\"\n", "leaves are pure"},
		{"a leaf reads the clock", "core/text/day/a.go",
			"package day\nimport \"time\"\nfunc now() time.Time { return time.Now() }\n", "time is passed in"},
		{"a store imports a leaf", "core/store/sqlstore/a.go", imports("core/text"), "features do not import"},
		{"an engine imports the other", "core/store/sqlite/a.go", imports("core/store/postgres"), "features do not import"},
		{"a feature imports a store", "core/memory/recall/a.go", imports("core/store/sqlstore"), "features do not import"},
		{"a feature imports an adapter", "core/chat/agent/a.go", imports("adapters/web"), "no arrow leads"},
		{"a feature imports the configuration", "core/chat/agent/a.go", imports("configs"), "no arrow leads"},
		{"an adapter imports the configuration", "adapters/web/a.go", imports("configs"), "no arrow leads"},
		{"a feature imports a section", "core/chat/agent/a.go", imports("configs/section"), "no arrow leads"},
		{"a feature imports migrations", "core/chat/agent/a.go", imports("migrations"), "no arrow leads"},
		{"an adapter imports another", "adapters/web/a.go", imports("adapters/api"), "adapters do not import"},
		{"the page knows a room", "adapters/web/a.go", imports("adapters/web/chat"), "adapters do not import"},
		{"a room knows the other", "adapters/web/chat/a.go", imports("adapters/web/settings"), "adapters do not import"},
		{"an adapter imports a store", "adapters/web/a.go", imports("core/store/sqlite"), "only cmd knows the stores"},
		{"the scheduler imports a store", "scheduler/a.go", imports("core/store/sqlstore"), "only cmd knows the stores"},
		{"the scheduler imports an adapter", "scheduler/a.go", imports("adapters/web"), "no arrow leads"},
		{"an adapter imports cmd", "adapters/web/a.go", imports("cmd/everthread"), "nothing imports cmd"},
		{"cmd knows a channel", "cmd/everthread/a.go", imports("adapters/whatsapp/agent"), "channels of other services"},
		{"code imports a test suite", "core/store/sqlite/a.go", imports("core/store/storetest"), "only tests import"},
		{"a feature imports the engine", "core/chat/gateway/a.go", imports("core/engine"), "only cmd imports the engine"},
		{"the engine imports a store", "core/engine/a.go", imports("core/store/sqlite"), "features do not import"},
		{"a room nobody planned", "server/a.go", "package server\n", "has no such folder"},
		{"a client of one's own", "adapters/web/a.go",
			"package web\nimport \"net/http\"\nfunc f() any { return &http.Client{} }\n", "http.Client dials"},
		{"a request on the side", "core/chat/agent/a.go", "package agent\nimport \"net/http\"\nfunc f() { http.Get(\"x\") }\n",
			"http.Get dials"},
		{"a transport by another name", "cmd/everthread/a.go",
			"package main\nimport web \"net/http\"\nvar t = new(web.Transport)\n", "web.Transport dials"},
		{"a dial", "core/accounts/people/a.go", "package people\nimport \"net\"\nfunc f() { net.Dial(\"tcp\", \"x\") }\n",
			"net.Dial dials"},
		{"a socket beside the client", "adapters/web/a.go", "package web\nimport \"github.com/coder/websocket\"\n" +
			"func f() { websocket.Dial(nil, \"x\", &websocket.DialOptions{Host: \"y\"}) }\n", "websocket.Dial dials"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			faults, err := inspect(fstest.MapFS{c.file: {Data: []byte(c.text)}})
			if err != nil {
				t.Fatal(err)
			}
			if len(faults) != 1 || !strings.Contains(faults[0], c.want) {
				t.Errorf("got %q, want one fault with %q", faults, c.want)
			}
		})
	}
}

// TestInspect_admitsTheRest checks that the rules refuse no more than they mean.
func TestInspect_admitsTheRest(t *testing.T) {
	t.Parallel()
	imports := func(target string) string { return "package x\nimport _ \"" + module + "/" + target + "\"\n" }
	tree := fstest.MapFS{}
	for name, text := range map[string]string{
		"cmd/everthread/a.go":        imports("adapters/web"),
		"cmd/everthread/channels.go": imports("adapters/telegram"),
		"cmd/everthread/b.go":        imports("core/store/sqlite"),
		"adapters/web/a.go":          imports("core/text/markup"),
		"adapters/web/b_test.go":     imports("core/store/sqlite"),
		"adapters/web/chat/a.go":     imports("adapters/web"),
		"adapters/web/webtest/a.go":  imports("core/store/sqlite"),
		"scheduler/a.go":             imports("core/text/day"),
		"core/engine/a.go":           imports("scheduler"),
		"core/text/day/a.go":         imports("core"),
		"core/store/a.go":            imports("core/effect"),
		"core/memory/recall/a.go":    imports("core/store"),
		"core/accounts/people/a.go":  imports("core/trust"),
		"core/accounts/people/b.go":  imports("core/text/markup"),
		"core/trust/a.go":            imports("core/text"),
		"core/text/day/b.go":         imports("core/text/times"),
		"core/chat/agent/a.go":       imports("core/trust/egress"),
		"adapters/mcp/a.go":          "package mcp\nimport \"net/http\"\ntype T struct{ c *http.Client }\n",
		"adapters/mcp/b.go": "package mcp\nimport \"github.com/coder/websocket\"\n" +
			"func f() { websocket.Dial(nil, \"x\", &websocket.DialOptions{HTTPClient: c}) }\n",
		"core/trust/egress/a.go":              "package egress\nimport \"net/http\"\nvar _ = http.Client{}\n",
		"adapters/api/a.go":                   imports("core/trust"),
		"adapters/telegram/config.go":         imports("configs/section"),
		"configs/a.go":                        imports("configs/section"),
		"core/store/sqlite/a.go":              imports("core/store/sqlstore"),
		"core/store/sqlite/b.go":              imports("migrations"),
		"core/store/sqlite/c_test.go":         imports("core/store/storetest"),
		"adapters/telegram/telegramtest/a.go": imports("adapters/adaptertest"),
		"e2e/a.go":                            imports("adapters/telegram/telegramtest"),
		"bench/turns/a.go":                    imports("adapters/telegram/telegramtest"),
		"bench/turns/b.go":                    "package main\nimport \"net/http\"\nvar _ = http.Post\n",
		"e2e/peer/go.mod":                     "module peer\n",
		"e2e/peer/main.go":                    imports("cmd/everthread"),
	} {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	faults, err := inspect(tree)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		t.Error(f)
	}
}

package configs

import (
	"fmt"
	"strings"
	"testing"
)

func TestLoadStored_givesWayToFileAndEnvironment(t *testing.T) {
	t.Parallel()
	stored := Stored{"llm.provider": "openai", "llm.model": "a", "llm.api_key": "sk-hunter2hunter2", "web.search": "off",
		"channels.telegram.token": "1:a", "agent.max_steps": "3"}
	c, err := LoadStored(stored, write(t, "web: {search: auto}\n"), []string{"EVERTHREAD_AGENT_MAX_STEPS=5"}, channels()...)
	if err != nil {
		t.Fatal(err)
	}
	if c.LLM.Model != "a" || c.Web.Search != "auto" || c.Agent.MaxSteps != 5 || string(c.LLM.APIKey) != "sk-hunter2hunter2" {
		t.Errorf("%+v, %+v, %d", c.LLM, c.Web, c.Agent.MaxSteps)
	}
	for key, want := range map[string]Origin{"llm.model": {Layer: FromPage}, "web.search": {Layer: FromFile},
		"agent.max_steps": {FromEnvironment, "EVERTHREAD_AGENT_MAX_STEPS"}, "llm.timeout": {},
		"channels.telegram.token": {Layer: FromPage}} {
		if got := c.Origin(key); got != want {
			t.Errorf("%s: %+v, want %+v", key, got, want)
		}
	}
	for _, s := range c.Settings() {
		if strings.Contains(s.Value, "hunter2") || s.Key == "llm.api_key" && s.Value != "***" {
			t.Errorf("%s shows %q", s.Key, s.Value)
		}
	}
}

func TestLoadStored_cannotReachTheMachine(t *testing.T) {
	t.Parallel()
	for key, text := range map[string]string{
		"agent.mcp_servers":   "[{name: a, command: sh}]",
		"day_ahead.calendars": "[{name: a, url: /etc/passwd}]",
	} {
		if _, err := LoadStored(Stored{key: text}, write(t, ""), nil, channels()...); err == nil {
			t.Errorf("%s: %s was taken", key, text)
		}
	}
	c, err := LoadStored(Stored{"data_dir": "/elsewhere", "http.listen": "0.0.0.0:1", "allow_private_urls": "true",
		"gone.key": "1"}, write(t, ""), nil, channels()...)
	if err != nil || c.DataDir == "/elsewhere" || c.HTTP.Listen == "0.0.0.0:1" || c.AllowPrivateURLs {
		t.Errorf("%v: %s, %s, %v", err, c.DataDir, c.HTTP.Listen, c.AllowPrivateURLs)
	}
}

func TestStored_set(t *testing.T) {
	t.Parallel()
	s, err := Stored(nil).Set(map[string]string{"llm.model": "a", "llm.timeout": "3m"}, channels()...)
	if err != nil {
		t.Fatal(err)
	}
	if s, err = s.Set(map[string]string{"llm.timeout": "", "web.search": "off"}, channels()...); err != nil || len(s) != 2 {
		t.Fatalf("%v, %v", s, err)
	}
	for key, want := range map[string]string{"llm.modle": "did you mean llm.model", "database_url": "in the file",
		"llm.timeout": "not a duration", "llm.choices": "no key", "agent.mcp_servers": "program"} {
		text := map[string]string{"llm.choices": "{a: {modle: b}}", "agent.mcp_servers": "[{name: a, command: b}]"}[key]
		if text == "" {
			text = "soon"
		}
		_, err := s.Set(map[string]string{key: text}, channels()...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", key, err, want)
		}
	}
}

func TestStored_yamlSaysTheSame(t *testing.T) {
	t.Parallel()
	list, err := Text([]MCPServer{{Name: "wiki", URL: "https://wiki.example/mcp", Headers: map[string]Secret{"Authorization": "Bearer x: 'y'"}}})
	if err != nil {
		t.Fatal(err)
	}
	choices, err := Text(map[string]Choice{"big": {LLM: LLM{Provider: "openai", Model: "b", APIKey: "sk-1"}, Users: []int{2}}})
	if err != nil {
		t.Fatal(err)
	}
	s := Stored{"llm.provider": "anthropic", "llm.api_key": "sk-#1", "llm.model": "c", "agent.mcp_servers": list,
		"llm.choices": choices, "channels.telegram.token": "1:a", "turn.debounce": "2s", "access.allow": "telegram:1,telegram:2"}
	text, err := s.YAML(true, channels()...)
	if err != nil {
		t.Fatal(err)
	}
	if veiled, err := s.YAML(false, channels()...); err != nil || strings.Contains(string(veiled), "sk-") {
		t.Errorf("%s, %v", veiled, err)
	}
	want, err := LoadStored(s, write(t, ""), nil, channels()...)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Load(write(t, string(text)), nil, channels()...)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, key := range got.Keys() {
		if o := want.Origin(key); (o == Origin{}) != (got.Origin(key) == Origin{}) {
			t.Errorf("%s: %+v, %+v", key, o, got.Origin(key))
		}
	}
	got.Origins, want.Origins = nil, nil
	if a, b := got.Settings(), want.Settings(); len(a) != len(b) {
		t.Fatal(len(a), len(b))
	} else {
		for i := range a {
			if a[i] != b[i] {
				t.Errorf("%+v, %+v", a[i], b[i])
			}
		}
	}
	if got.LLM.APIKey != "sk-#1" || got.LLM.Choices["big"].APIKey != "sk-1" ||
		got.Agent.MCPServers[0].Headers["Authorization"] != "Bearer x: 'y'" {
		t.Errorf("%s", text)
	}
}

func TestConfig_elements(t *testing.T) {
	t.Parallel()
	c := Default(channels()...)
	text, err := c.WithElement("agent.mcp_servers", "wiki", map[string]string{"url": "https://wiki.example/mcp",
		"headers": "Authorization: Bearer hunter2", "allow": "search,read"})
	if err != nil {
		t.Fatal(err)
	}
	more, err := c.WithElement("llm.choices", "big", map[string]string{"provider": "openai", "model": "b", "api_key": "sk-1",
		"prices.prompt": "2.5", "users": "[1, 2]"})
	if err != nil {
		t.Fatal(err)
	}
	if c, err = LoadStored(Stored{"agent.mcp_servers": text, "llm.choices": more}, write(t, ""), nil, channels()...); err != nil {
		t.Fatal(err)
	}
	server, choice := c.Agent.MCPServers[0], c.LLM.Choices["big"]
	if server.Headers["Authorization"] != "Bearer hunter2" || len(server.Allow) != 2 || choice.Prices.Prompt != 2.5 ||
		!choice.May(2) || choice.May(3) {
		t.Errorf("%+v, %+v", server, choice)
	}
	if e := c.Elements("agent.mcp_servers"); len(e) != 1 || e[0].Name != "wiki" || strings.Contains(fmt.Sprint(e), "hunter2") {
		t.Errorf("%+v", e)
	}
	if more, err = c.WithElement("llm.choices", "big", map[string]string{"api_key": "", "users": "", "model": "c"}); err != nil {
		t.Fatal(err)
	}
	if c, err = LoadStored(Stored{"llm.choices": more}, write(t, ""), nil, channels()...); err != nil {
		t.Fatal(err)
	}
	if choice = c.LLM.Choices["big"]; choice.APIKey != "sk-1" || choice.Model != "c" || !choice.May(3) {
		t.Errorf("%+v", choice)
	}
	if more, err = c.WithoutElement("llm.choices", "big"); more != "" || err != nil {
		t.Errorf("%q, %v", more, err)
	}
	for name, values := range map[string]map[string]string{"": nil, "a": {"prices.prompt": "dear"}} {
		if _, err := c.WithElement("llm.choices", name, values); err == nil {
			t.Errorf("%q, %v was taken", name, values)
		}
	}
}

package configs

import (
	"fmt"
	"math"
	"net/url"
	"regexp"
	"strings"

	"github.com/everthread/everthread/configs/section"
)

// mostDimensions is the length of a stored vector.
const mostDimensions = 1024

func (e Embeddings) check(p *section.Problems) {
	p.OneOf("embeddings.provider", e.Provider, "none", "llamacpp", "ollama", "openai", "custom_http")
	if e.Dimensions < 0 || e.Dimensions > mostDimensions {
		p.Add("embeddings.dimensions is %d; it must be between 1 and %d, or 0 for the model's own", e.Dimensions, mostDimensions)
	}
	if e.BaseURL != "" {
		p.Web("embeddings.base_url", e.BaseURL)
	}
	switch e.Provider {
	case "none":
		if e.BaseURL != "" || e.APIKey != "" || e.Model != "" {
			p.Add("embeddings.provider is none, so the rest of embeddings has no effect; set it to llamacpp, ollama, openai or custom_http")
		}
	case "llamacpp", "custom_http":
		if e.BaseURL == "" {
			p.Add("embeddings.base_url is empty; set it to the address of the server, such as http://127.0.0.1:8081")
		}
	case "ollama", "openai":
		e.checkNamed(p)
	}
}

// checkNamed checks providers that serve several models.
func (e Embeddings) checkNamed(p *section.Problems) {
	if e.Model == "" {
		p.Add("embeddings.model is empty; name the model to use")
	}
	if e.Provider == "openai" && e.APIKey == "" && e.BaseURL == "" {
		p.Add("embeddings.api_key is empty; set it, or embeddings.base_url for a server that wants no key")
	}
}

func (c Config) checkRecall(p *section.Problems) {
	r := c.Recall
	for _, l := range r.Languages {
		if !regexp.MustCompile(`^[a-z]{2,3}$`).MatchString(l) {
			p.Add("recall.languages: %q is no language; write codes such as en or fr", l)
		}
	}
	if math.Abs(r.SemanticWeight+r.LexicalWeight-1) > 1e-6 {
		p.Add("recall.semantic_weight (%v) and recall.lexical_weight (%v) must make 1 together", r.SemanticWeight, r.LexicalWeight)
	}
}

// checkServers checks the MCP servers.
func (c Config) checkServers(p *section.Problems) {
	seen := map[string]bool{}
	for i, s := range c.Agent.MCPServers {
		at := fmt.Sprintf("agent.mcp_servers[%d]", i)
		if !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$`).MatchString(s.Name) {
			p.Add("%s.name is %q; its tools are called by it: write 1 to 32 letters, digits, _ or -", at, s.Name)
		}
		if builtIn := regexp.MustCompile(`^(conversation|memory|loops|reminder|instruction)(_|$)`); builtIn.MatchString(s.Name) {
			p.Add("%s.name is %q, which begins the names of built-in tools; choose another, such as my-%s", at, s.Name, s.Name)
		}
		if seen[s.Name] {
			p.Add("%s.name is %q, as that of another server; give each its own", at, s.Name)
		}
		seen[s.Name] = true
		s.check(p, at)
	}
}

func (s MCPServer) check(p *section.Problems, at string) {
	for _, role := range s.Roles {
		if role != "owner" && role != "member" {
			p.Add("%s.roles has %q; there are owner and member", at, role)
		}
	}
	for _, id := range s.Users {
		if id < 1 {
			p.Add("%s.users has %d; write the numbers that `everthread users list` shows", at, id)
		}
	}
	switch {
	case s.Command == "" && s.URL == "":
		p.Add("%s has neither command nor url; set one of them", at)
	case s.Command != "" && s.URL != "":
		p.Add("%s has both command and url; keep one of them", at)
	case s.Command != "" && len(s.Headers) > 0:
		p.Add("%s.headers have no effect with command; use env", at)
	case s.URL != "" && len(s.Args)+len(s.Env) > 0:
		p.Add("%s.args and env have no effect with url; use headers", at)
	case s.URL != "":
		p.Web(at+".url", s.URL)
	}
	for name, value := range s.Headers {
		if !regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$").MatchString(name) ||
			regexp.MustCompile(`[\x00-\x08\x0a-\x1f\x7f]`).MatchString(string(value)) {
			p.Add("%s.headers: %q cannot be sent; a name has letters, digits and -, a value is one line", at, name)
		}
	}
	for name := range s.Env {
		if !regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).MatchString(name) {
			p.Add("%s.env: %q is no name of a variable; write letters, digits and _", at, name)
		}
	}
}

func (c Config) checkEgress(p *section.Problems) {
	e := c.Egress
	for _, entry := range e.AllowHosts {
		u, err := url.Parse("//" + entry)
		if err != nil || u.Host != entry || u.Hostname() == "" || strings.Contains(strings.TrimPrefix(entry, "*."), "*") {
			p.Add("egress.allow_hosts has %q; write hosts like api.example.org, *.example.org or 10.0.0.5:8080", entry)
		}
	}
}

func (c Config) checkTranscription(p *section.Problems) {
	t := c.Transcription
	if t.BaseURL != "" {
		p.Web("transcription.base_url", t.BaseURL)
	}
	if t.Model == "" && (t.BaseURL != "" || t.APIKey != "") {
		p.Add("transcription.model is empty; name the model to use")
	}
}

func (c Config) checkSpeech(p *section.Problems) {
	s := c.Speech
	if s.BaseURL != "" {
		p.Web("speech.base_url", s.BaseURL)
	}
	switch {
	case s.Model == "" && (s.BaseURL != "" || s.APIKey != "" || s.Voice != ""):
		p.Add("speech.model is empty; name the model to use")
	case s.Model != "" && s.Voice == "":
		p.Add("speech.voice is empty; name the voice to use, such as alloy")
	}
}

package configs

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/robfig/cron/v3"

	"github.com/everthread/everthread/configs/section"
)

// Validate returns all problems of the values, each with its key and what to do, or nil. It
// repeats nothing that looks like a key.
func (c Config) Validate() error {
	p := &section.Problems{}
	c.checkStore(p)
	c.checkHTTP(p)
	c.checkPlace(p)
	c.checkAccess(p)
	c.LLM.check(p, "llm")
	c.checkSummaryLLM(p)
	c.Embeddings.check(p)
	c.checkRecall(p)
	c.checkContext(p)
	c.checkDays(p)
	c.checkServers(p)
	c.checkDayAhead(p)
	for _, s := range c.Channels.Sections {
		s.Validate(p, c.HTTP.PublicURL)
		c.Channels.Sections.checkCarried(p, s)
	}
	c.checkTranscription(p)
	c.checkSpeech(p)
	c.checkEgress(p)
	c.Web.check(p)
	c.checkBackup(p)
	checkRanges(p, reflect.ValueOf(c), "")
	return redact(p.Err())
}

// checkCarried checks that no channel that one carries is configured itself, since both would have its name.
func (s Sections) checkCarried(p *section.Problems, one section.Section) {
	carrier, ok := one.(section.Carrier)
	if !ok {
		return
	}
	carried := carrier.Carried()
	for _, other := range s {
		if c, ok := other.(interface{ On() bool }); ok && c.On() && slices.Contains(carried, other.Key()) {
			p.Add("channels.%s is set, and channels.%s carries %[1]s too: there is one way to each service, so remove one of them",
				other.Key(), one.Key())
		}
	}
}

func clock(p *section.Problems, key, value string) {
	if !regexp.MustCompile(`^([01][0-9]|2[0-3]):[0-5][0-9]$`).MatchString(value) {
		p.Add("%s is %q; write a time of day as HH:MM, such as \"03:00\"", key, value)
	}
}

func (c Config) checkStore(p *section.Problems) {
	if c.DataDir == "" {
		p.Add("data_dir is empty; name a folder for the data")
	}
	if c.DatabaseURL == "" {
		return
	}
	if !postgresURL(c.DatabaseURL) {
		p.Add("database_url must begin with postgres://; leave it empty for the embedded database")
	}
	if c.DatabaseListen != "" && !postgresURL(c.DatabaseListen) {
		p.Add("database_listen_url must begin with postgres://; leave it empty where no pooler stands before the database")
	}
	section.AtLeast(p, "database_connections", c.DatabaseConns, 2)
	if c.SecretKey == "" {
		p.Add("secret_key is required with database_url, the same for all processes; make one with `openssl rand -hex 32`")
	}
}

func postgresURL(s Secret) bool {
	u, err := url.Parse(string(s))
	return err == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql")
}

func (c Config) checkBackup(p *section.Problems) {
	if _, err := cron.ParseStandard(c.Backup.Cron); c.Backup.Cron != "" && err != nil {
		p.Add("backup.cron is %q; write five fields as for cron, such as \"15 3 * * *\" for every night at 03:15",
			c.Backup.Cron)
	}
	b := c.Backup
	if b.To == "" && (b.User != "" || b.Password != "" || b.Region != "" || len(b.EncryptTo) > 0 || b.Passphrase != "") {
		p.Add("backup.to is empty, so backup.user, password, region, encrypt_to and passphrase have no effect; name the place")
	}
	if b.To != "" && (b.To == b.Dir || b.Dir == "" && b.To == filepath.Join(c.DataDir, "backups")) {
		p.Add("backup.to is the folder where backups are made; name another place, or leave it empty")
	}
	if strings.HasPrefix(b.To, "s3") && strings.Contains(b.To, "://") && (b.User == "" || b.Password == "") {
		p.Add("backup.user and backup.password are required with a bucket in backup.to: its access key and its secret key")
	}
	if len(b.EncryptTo) > 0 && b.Passphrase != "" {
		p.Add("backup.encrypt_to and backup.passphrase are both set; keep one of them")
	}
}

// listenable reports whether address is a host, which may be empty, with a port.
func listenable(address string) bool {
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	return err == nil && port != ""
}

func (c Config) checkHTTP(p *section.Problems) {
	if !listenable(c.HTTP.Listen) {
		p.Add("http.listen is %q; write it like 127.0.0.1:8080", c.HTTP.Listen)
	}
	if m := c.HTTP.MetricsListen; m != "" {
		if !listenable(m) {
			p.Add("http.metrics_listen is %q; write it like 127.0.0.1:9090, or leave it empty", m)
		}
		if m == c.HTTP.Listen {
			p.Add("http.metrics_listen is the same as http.listen; give it another port, or leave it empty")
		}
	}
	p.Web("http.public_url", c.HTTP.PublicURL)
	for _, t := range c.HTTP.TrustedProxies {
		_, errAddr := netip.ParseAddr(t)
		_, errNet := netip.ParsePrefix(t)
		if errAddr != nil && errNet != nil {
			p.Add("http.trusted_proxies: %q is neither an IP address nor a network such as 10.0.0.0/8", t)
		}
	}
}

func (c Config) checkPlace(p *section.Problems) {
	p.OneOf("log.level", c.Log.Level, "debug", "info", "warn", "error")
	p.OneOf("log.format", c.Log.Format, "console", "json")
	if _, err := time.LoadLocation(c.DefaultTimezone); err != nil || c.DefaultTimezone == "" {
		p.Add("default_timezone %q is not known; write a name like Europe/Paris or UTC", c.DefaultTimezone)
	}
	if !regexp.MustCompile(`^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$`).MatchString(c.DefaultLanguage) {
		p.Add("default_language is %q; write a language tag such as en, fr or de", c.DefaultLanguage)
	}
}

func (c Config) checkAccess(p *section.Problems) {
	if n := len(c.SetupCode); n > 0 && n < 10 {
		p.Add("setup_code is too short; give at least ten characters")
	}
	p.OneOf("access.policy", c.Access.Policy, "pairing", "allowlist", "open")
	for _, a := range c.Access.Allow {
		channel, who, ok := strings.Cut(a, ":")
		if !ok || channel == "" || who == "" {
			p.Add("access.allow: %q has not the form channel:id, such as telegram:123456", a)
		} else if _, err := c.Channels.Sections.Listed(channel, who); err != nil {
			p.Add("access.allow: %q admits nobody: %w", a, err)
		}
	}
}

// leastOutput is the smallest limit of an answer.
const leastOutput = 16

func (l LLM) check(p *section.Problems, key string) {
	p.OneOf(key+".provider", l.Provider, "openai", "anthropic", "demo")
	checkRanges(p, reflect.ValueOf(l), key)
	switch {
	case l.Provider == "openai" && l.APIKey == "" && l.BaseURL == "":
		p.Add("%s.api_key is empty; set it, or %s.base_url for a server that wants no key", key, key)
	case l.Provider == "anthropic" && l.APIKey == "":
		p.Add("%s.api_key is empty; set it", key)
	}
	if l.Provider != "demo" && l.Model == "" {
		p.Add("%s.model is empty; name the model to use", key)
	}
	if l.BaseURL != "" {
		p.Web(key+".base_url", l.BaseURL)
	}
	p.OneOf(key+".vision", cmp.Or(l.Vision, "auto"), "auto", "true", "false")
	if n := l.MaxOutputTokens; n > 0 && n < leastOutput {
		p.Add("%s.max_output_tokens is %d; it must be at least %d, or 0 for no limit", key, n, leastOutput)
	}
	if l.ContextWindow < l.MaxOutputTokens+1000 {
		p.Add("%s.context_window is %d; it must be at least 1000 more than %s.max_output_tokens", key, l.ContextWindow, key)
	}
	if n := utf8.RuneCountInString(l.Currency); n > 8 || l.Prices != (Prices{}) && n == 0 {
		p.Add("%s.currency is %q; name it in at most 8 letters, such as USD or €", key, l.Currency)
	}
	for _, name := range slices.Sorted(maps.Keys(l.Choices)) {
		at := key + ".choices." + name
		if key != "llm" {
			p.Add("%s: only llm has choices", at)
			continue
		}
		if !regexp.MustCompile(`^[\pL\pN][\pL\pN._-]{0,39}$`).MatchString(name) || strings.EqualFold(name, "default") {
			p.Add("%s: name a choice in at most 40 letters, digits, dots and dashes, and not default", at)
		}
		l.Choices[name].check(p, at)
	}
	for i, f := range l.Fallbacks {
		at := fmt.Sprintf("%s.fallbacks[%d]", key, i)
		if len(f.Fallbacks) > 0 {
			p.Add("%s.fallbacks: a fallback has none of its own; list it in %s.fallbacks", at, key)
			f.Fallbacks = nil
		}
		f.check(p, at)
	}
}

func (c Config) checkSummaryLLM(p *section.Problems) {
	l := c.SummaryLLM
	if l.Provider != "" {
		l.check(p, "summary_llm")
		return
	}
	if l.BaseURL != "" || l.APIKey != "" || l.Model != "" || len(l.Fallbacks) > 0 {
		p.Add("summary_llm.provider is empty, so the rest of summary_llm has no effect; set it to openai, anthropic or demo")
	}
}

func (c Config) checkContext(p *section.Problems) {
	x := c.Context
	p.OneOf("context.strategy", x.Strategy, "continuous", "truncate", "long")
	if t := x.Long.CompressThreshold; t < 0.3 || t > 0.95 {
		p.Add("context.long.compress_threshold is %g; it must be from 0.3 to 0.95", t)
	}
	if n := x.Long.RawRecentTokens; n != Default().Context.Long.RawRecentTokens &&
		float64(n) > x.Long.CompressThreshold*float64(x.Long.Budget)*0.8 {
		p.Add("context.long.raw_recent_tokens is %d; it must be at most four fifths of where compression starts (context.long.compress_threshold of context.long.budget)", x.Long.RawRecentTokens)
	}
	if x.TotalTokens < x.TargetTokens {
		p.Add("context.total_tokens is %d; it must be at least context.target_tokens (%d)", x.TotalTokens, x.TargetTokens)
	}
	if w := c.LLM.ContextWindow; x.TotalTokens+c.LLM.Output() > w {
		p.Add("context.total_tokens is %d; with the answer it must fit into llm.context_window (%d)",
			x.TotalTokens, w)
	}
}

func (c Config) checkDays(p *section.Problems) {
	clock(p, "day.starts_at", c.Day.StartsAt)
	s := c.Summaries
	clock(p, "summaries.finalize_at", s.FinalizeAt)
	clock(p, "summaries.post_at", s.PostAt)
	clock(p, "reminders.default_hour", c.Reminders.DefaultHour)
	p.OneOf("groups.answer", c.Groups.Answer, "mention", "all")
	p.OneOf("groups.listen", c.Groups.Listen, "all", "mentions")
	p.OneOf("summaries.post_forward", s.PostForward, "home", "all", "off")
}

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

func (c Config) checkServers(p *section.Problems) {
	seen := map[string]bool{}
	for i, s := range c.Agent.MCPServers {
		at := fmt.Sprintf("agent.mcp_servers[%d]", i)
		if !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$`).MatchString(s.Name) {
			p.Add("%s.name is %q; its tools are called by it: write 1 to 32 letters, digits, _ or -", at, s.Name)
		}
		if builtIn := regexp.MustCompile(`^(conversation|memory|loops|reminder|instruction|calendar|mail|service)(_|$)`); builtIn.MatchString(s.Name) {
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
	s.checkAuth(p, at)
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

// checkAuth checks how a server knows people.
func (s MCPServer) checkAuth(p *section.Problems, at string) {
	switch {
	case s.Auth != "" && s.Auth != "oauth":
		p.Add("%s.auth is %q; write oauth, or leave it out", at, s.Auth)
	case s.Auth == "" && (s.OAuth.ClientID != "" || s.OAuth.ClientSecret != "" || len(s.OAuth.Scopes) > 0):
		p.Add("%s.oauth has no effect without auth: oauth", at)
	case s.Auth == "":
		return
	case s.Command != "":
		p.Add("%s.auth has no effect with command; OAuth needs a url", at)
	case s.OAuth.ClientID == "" && s.OAuth.ClientSecret != "":
		p.Add("%s.oauth.client_secret needs a client_id", at)
	}
	if u, err := url.Parse(s.URL); err == nil && s.URL != "" && u.Scheme != "https" && !local(u.Hostname()) {
		p.Add("%s.url must begin with https:// with auth: oauth; the tokens of people go there", at)
	}
	for name := range s.Headers {
		if strings.EqualFold(name, "Authorization") {
			p.Add("%s.headers has Authorization, which auth: oauth sets for each person; remove one of them", at)
		}
	}
	for _, scope := range s.OAuth.Scopes {
		if scope == "" || strings.ContainsFunc(scope, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }) {
			p.Add("%s.oauth.scopes has %q; write one word for each scope", at, scope)
		}
	}
}

// local reports whether a host is this machine.
func local(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func (c Config) checkDayAhead(p *section.Problems) {
	seen := map[string]bool{}
	named := func(at, name string, user int) {
		if name == "" || utf8.RuneCountInString(name) > 40 || strings.ContainsFunc(name, unicode.IsControl) {
			p.Add("%s.name is %q; name the source in at most 40 letters, such as Work", at, name)
		}
		if of := fmt.Sprint(name, " ", user); seen[of] {
			p.Add("%s.name is %q, as that of another source; give each its own", at, name)
		} else {
			seen[of] = true
		}
		if user < 0 {
			p.Add("%s.user is %d; write the number that `everthread users list` shows, or 0 for the owner", at, user)
		}
	}
	for i, s := range c.DayAhead.Calendars {
		at := fmt.Sprintf("day_ahead.calendars[%d]", i)
		named(at, s.Name, s.User)
		address := string(s.URL)
		u, err := url.Parse(address)
		if !strings.HasPrefix(address, "/") && (err != nil || u.Host == "" ||
			!slices.Contains([]string{"http", "https", "webcal", "webcals"}, strings.ToLower(u.Scheme))) {
			p.Add("%s.url is neither a web address (https or webcal) nor the full path of a file", at)
		}
	}
	for i, s := range c.DayAhead.Mail {
		at := fmt.Sprintf("day_ahead.mail[%d]", i)
		named(at, s.Name, s.User)
		s.check(p, at)
	}
}

func (s MailSource) check(p *section.Problems, at string) {
	if u, err := url.Parse("//" + s.Host); err != nil || s.Host == "" || u.Hostname() != s.Host {
		p.Add("%s.host is %q; write the name of the server, such as imap.example.org", at, s.Host)
	}
	if s.Port < 0 || s.Port > 65535 {
		p.Add("%s.port is %d; it is 993, or 143 for STARTTLS", at, s.Port)
	}
	if s.Username == "" {
		p.Add("%s.username is empty; it is mostly the address", at)
	}
	if (s.Password == "") == (s.AccessToken == "") {
		p.Add("%s needs a password (an app password, where the service has them) or an access_token, not both", at)
	}
	for _, from := range s.From {
		if strings.ContainsAny(from, " <>\"") || !strings.Contains(from, ".") {
			p.Add("%s.from has %q; write addresses, such as ada@example.org, or domains, such as example.org", at, from)
		}
	}
}

func (c Config) checkEgress(p *section.Problems) {
	for _, entry := range c.Egress.AllowHosts {
		u, err := url.Parse("//" + entry)
		if err != nil || u.Host != entry || u.Hostname() == "" || strings.Contains(strings.TrimPrefix(entry, "*."), "*") {
			p.Add("egress.allow_hosts has %q; write hosts like api.example.org, *.example.org or 10.0.0.5:8080", entry)
		}
	}
}

func (w Lookup) check(p *section.Problems) {
	p.OneOf("web.search", w.Search, "auto", "searxng", "brave", "tavily", "exa", "kagi", "duckduckgo", "off")
	if w.SearXNGURL != "" {
		p.Web("web.searxng_url", w.SearXNGURL)
	}
	for _, s := range w.providers() {
		if w.Search == s.name && !s.given {
			p.Add("web.%s is empty, and web.search is %s; set it, or choose another provider", s.key, s.name)
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

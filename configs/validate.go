package configs

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"time"
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
	for _, s := range c.Channels.Sections {
		s.Validate(p, c.HTTP.PublicURL)
	}
	c.checkTranscription(p)
	c.checkSpeech(p)
	c.checkEgress(p)
	c.checkBackup(p)
	checkRanges(p, reflect.ValueOf(c), "")
	return redact(p.Err())
}

// clock checks a time of day.
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
	if c.Backup.Cron == "" {
		return
	}
	if _, err := cron.ParseStandard(c.Backup.Cron); err != nil {
		p.Add("backup.cron is %q; write five fields as for cron, such as \"15 3 * * *\" for every night at 03:15",
			c.Backup.Cron)
	}
}

func (c Config) checkHTTP(p *section.Problems) {
	if _, port, err := net.SplitHostPort(c.HTTP.Listen); err != nil || port == "" {
		p.Add("http.listen is %q; write it like 127.0.0.1:8080", c.HTTP.Listen)
	}
	if m := c.HTTP.MetricsListen; m != "" {
		if _, port, err := net.SplitHostPort(m); err != nil || port == "" {
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
	p.OneOf("access.policy", c.Access.Policy, "pairing", "allowlist", "open")
	for _, a := range c.Access.Allow {
		if channel, who, ok := strings.Cut(a, ":"); !ok || channel == "" || who == "" {
			p.Add("access.allow: %q has not the form channel:id, such as telegram:123456", a)
		}
	}
}

func (l LLM) check(p *section.Problems, key string) {
	p.OneOf(key+".provider", l.Provider, "openai", "anthropic", "demo")
	checkRanges(p, reflect.ValueOf(l), key)
	switch l.Provider {
	case "openai":
		if l.APIKey == "" && l.BaseURL == "" {
			p.Add("%s.api_key is empty; set it, or %s.base_url for a server that wants no key", key, key)
		}
	case "anthropic":
		if l.APIKey == "" {
			p.Add("%s.api_key is empty; set it", key)
		}
	}
	if l.Provider != "demo" && l.Model == "" {
		p.Add("%s.model is empty; name the model to use", key)
	}
	if l.BaseURL != "" {
		p.Web(key+".base_url", l.BaseURL)
	}
	if l.ContextWindow < l.MaxOutputTokens+1000 {
		p.Add("%s.context_window is %d; it must be at least 1000 more than %s.max_output_tokens", key, l.ContextWindow, key)
	}
	if n := utf8.RuneCountInString(l.Currency); n > 8 || l.Prices != (Prices{}) && n == 0 {
		p.Add("%s.currency is %q; name it in at most 8 letters, such as USD or €", key, l.Currency)
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
	if w := c.LLM.ContextWindow; x.TotalTokens+c.LLM.MaxOutputTokens > w {
		p.Add("context.total_tokens is %d; with llm.max_output_tokens it must fit into llm.context_window (%d)",
			x.TotalTokens, w)
	}
}

func (c Config) checkDays(p *section.Problems) {
	clock(p, "day.starts_at", c.Day.StartsAt)
	s := c.Summaries
	clock(p, "summaries.finalize_at", s.FinalizeAt)
	clock(p, "summaries.post_at", s.PostAt)
	clock(p, "reminders.default_hour", c.Reminders.DefaultHour)
	p.OneOf("summaries.post_forward", s.PostForward, "home", "all", "off")
}

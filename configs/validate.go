package configs

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
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
	c.checkWork(p)
	c.checkServers(p)
	for _, s := range c.Channels.Sections {
		s.Validate(p, c.HTTP.PublicURL)
	}
	c.checkTranscription(p)
	c.checkSpeech(p)
	c.checkEgress(p)
	c.checkBackup(p)
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
	section.AtLeast(p, "backup.keep", c.Backup.Keep, 1)
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
	section.AtLeast(p, "access.code_life", c.Access.CodeLife, time.Minute)
	section.AtLeast(p, "access.max_codes", c.Access.MaxCodes, 1)
	section.AtLeast(p, "access.max_codes_per_server", c.Access.MaxCodesOrigin, 1)
}

func (l LLM) check(p *section.Problems, key string) {
	p.OneOf(key+".provider", l.Provider, "openai", "anthropic", "demo")
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
	section.AtLeast(p, key+".max_output_tokens", l.MaxOutputTokens, 16)
	section.AtLeast(p, key+".timeout", l.Timeout, time.Second)
	if l.ContextWindow < l.MaxOutputTokens+1000 {
		p.Add("%s.context_window is %d; it must be at least 1000 more than %s.max_output_tokens", key, l.ContextWindow, key)
	}
	l.checkPrices(p, key)
	for i, f := range l.Fallbacks {
		at := fmt.Sprintf("%s.fallbacks[%d]", key, i)
		if len(f.Fallbacks) > 0 {
			p.Add("%s.fallbacks: a fallback has none of its own; list it in %s.fallbacks", at, key)
			f.Fallbacks = nil
		}
		f.check(p, at)
	}
}

func (l LLM) checkPrices(p *section.Problems, key string) {
	section.Within(p, key+".prices.prompt", l.Prices.Prompt, 0, 1e6)
	section.Within(p, key+".prices.cached", l.Prices.Cached, 0, 1e6)
	section.Within(p, key+".prices.completion", l.Prices.Completion, 0, 1e6)
	if n := utf8.RuneCountInString(l.Currency); n > 8 || l.Prices != (Prices{}) && n == 0 {
		p.Add("%s.currency is %q; name it in at most 8 letters, such as USD or €", key, l.Currency)
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
	section.AtLeast(p, "context.today_raw_tokens", x.TodayRawTokens, 100)
	section.AtLeast(p, "context.today_summary_tokens", x.TodaySummaryTokens, 0)
	section.AtLeast(p, "context.last_conversation_tokens", x.LastConversationTokens, 0)
	section.AtLeast(p, "context.open_loops_tokens", x.OpenLoopsTokens, 0)
	section.AtLeast(p, "context.news_tokens", x.NewsTokens, 80)
	section.AtLeast(p, "context.target_tokens", x.TargetTokens, 500)
	section.AtLeast(p, "context.max_history_messages", x.MaxHistoryMessages, 1)
	section.AtLeast(p, "context.max_context_tokens", x.MaxContextTokens, 500)
	section.AtLeast(p, "context.long.budget", x.Long.Budget, 4000)
	section.AtLeast(p, "context.long.raw_recent_tokens", x.Long.RawRecentTokens, 500)
	if t := x.Long.CompressThreshold; t < 0.3 || t > 0.95 {
		p.Add("context.long.compress_threshold is %g; it must be from 0.3 to 0.95", t)
	}
	if n := x.Long.RawRecentTokens; n != Default().Context.Long.RawRecentTokens &&
		float64(n) > x.Long.CompressThreshold*float64(x.Long.Budget)*0.8 {
		p.Add("context.long.raw_recent_tokens is %d; it must be at most four fifths of where compression starts (context.long.compress_threshold of context.long.budget)", x.Long.RawRecentTokens)
	}
	section.AtLeast(p, "context.min_turns", x.MinTurns, 0)
	section.AtLeast(p, "context.silence", x.Silence, 0)
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
	p.OneOf("summaries.post_forward", s.PostForward, "home", "all", "off")
	section.AtLeast(p, "summaries.after_messages", s.AfterMessages, 1)
	section.Within(p, "summaries.pressure", s.Pressure, 0.1, 1)
	section.AtLeast(p, "summaries.post_min_messages", s.PostMinMessages, 0)
	section.AtLeast(p, "summaries.post_expires", s.PostExpires, time.Minute)
	section.Within(p, "summaries.attempts", s.Attempts, 1, 100)
}

func (c Config) checkWork(p *section.Problems) {
	section.Within(p, "turn.debounce", c.Turn.Debounce, 0, time.Minute)
	section.Within(p, "turn.workers", c.Turn.Workers, 1, 10_000)
	section.AtLeast(p, "turn.give_up_after", c.Turn.GiveUpAfter, time.Second)
	section.Within(p, "turn.lease", c.Turn.Lease, 3*time.Second, time.Hour)
	section.Within(p, "agent.max_steps", c.Agent.MaxSteps, 1, 100)
	section.AtLeast(p, "agent.tool_tokens", c.Agent.ToolTokens, 100)
	section.AtLeast(p, "agent.result_tokens", c.Agent.ResultTokens, 100)
	section.AtLeast(p, "agent.tool_timeout", c.Agent.ToolTimeout, time.Second)
	section.AtLeast(p, "agent.delegate_timeout", c.Agent.DelegateTimeout, time.Second)
	section.Within(p, "agent.max_images", c.Agent.MaxImages, 1, 20)
	clock(p, "reminders.default_hour", c.Reminders.DefaultHour)
	section.AtLeast(p, "reminders.min_every", c.Reminders.MinEvery, time.Minute)
	section.Within(p, "reminders.max_active", c.Reminders.MaxActive, 1, 10_000)
	section.AtLeast(p, "tasks.expires", c.Tasks.Expires, time.Minute)
	section.Within(p, "tasks.max_active", c.Tasks.MaxActive, 1, 1000)
	section.Within(p, "standing.max_active", c.Standing.MaxActive, 1, 100)
	section.Within(p, "standing.max_tokens", c.Standing.MaxTokens, 100, 2000)
	section.AtLeast(p, "limits.tokens_per_day", c.Limits.TokensPerDay, 0)
	section.AtLeast(p, "limits.all_tokens_per_day", c.Limits.AllTokensPerDay, -1)
	section.AtLeast(p, "limits.turns_per_minute", c.Limits.TurnsPerMinute, 0)
	section.AtLeast(p, "media.max_bytes", c.Media.MaxBytes, 0)
	section.AtLeast(p, "media.bytes_per_user", c.Media.BytesPerUser, 0)
	section.Within(p, "documents.max_pages", c.Documents.MaxPages, 1, 10_000)
	section.Within(p, "documents.max_seconds", c.Documents.MaxSeconds, 1, 600)
	section.AtLeast(p, "documents.max_memory", c.Documents.MaxMemory, 192<<20)
	section.Within(p, "documents.preview_tokens", c.Documents.PreviewTokens, 0, 2000)
	section.Within(p, "media.wait", c.Media.Wait, 0, 10*time.Minute)
	section.AtLeast(p, "retention.raw", c.Retention.Raw, time.Hour)
	section.AtLeast(p, "retention.audit", c.Retention.Audit, 24*time.Hour)
}

package configs

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/robfig/cron/v3"
)

// Validate returns everything that is wrong with the values, each problem with
// its key and what to do, or nil. It repeats nothing that looks like a key.
func (c Config) Validate() error {
	p := &problems{}
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
	c.checkTelegram(p)
	c.checkWhatsApp(p)
	c.checkMatrix(p)
	c.checkTranscription(p)
	c.checkEgress(p)
	c.checkBackup(p)
	return redact(errors.Join(p.errs...))
}

// problems collects what is wrong.
type problems struct{ errs []error }

func (p *problems) add(format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf(format, args...))
}

// oneOf checks a word.
func (p *problems) oneOf(key, value string, words ...string) {
	if !slices.Contains(words, value) {
		p.add("%s is %q; it must be one of %s", key, value, strings.Join(words, ", "))
	}
}

// atLeast checks a number or a duration.
func atLeast[T int | float64 | Size | time.Duration](p *problems, key string, value, low T) {
	if value < low {
		p.add("%s is %v; it must be at least %v", key, value, low)
	}
}

// within checks a number or a duration against both ends.
func within[T int | float64 | time.Duration](p *problems, key string, value, low, high T) {
	if value < low || value > high {
		p.add("%s is %v; it must be between %v and %v", key, value, low, high)
	}
}

// web checks that a value is an http or https URL.
func (p *problems) web(key, value string) {
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		p.add("%s is no web address; write it like https://example.org", key)
	}
}

// clock checks a time of day.
func (p *problems) clock(key, value string) {
	if !regexp.MustCompile(`^([01][0-9]|2[0-3]):[0-5][0-9]$`).MatchString(value) {
		p.add("%s is %q; write a time of day as HH:MM, such as \"03:00\"", key, value)
	}
}

func (c Config) checkStore(p *problems) {
	if c.DataDir == "" {
		p.add("data_dir is empty; name a folder for the data")
	}
	if c.DatabaseURL == "" {
		return
	}
	u, err := url.Parse(string(c.DatabaseURL))
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		p.add("database_url must begin with postgres://; leave it empty for the embedded database")
	}
	if c.SecretKey == "" {
		p.add("secret_key is required with database_url, the same for all processes; make one with `openssl rand -hex 32`")
	}
}

func (c Config) checkBackup(p *problems) {
	atLeast(p, "backup.keep", c.Backup.Keep, 1)
	if c.Backup.Cron == "" {
		return
	}
	if _, err := cron.ParseStandard(c.Backup.Cron); err != nil {
		p.add("backup.cron is %q; write five fields as for cron, such as \"15 3 * * *\" for every night at 03:15", c.Backup.Cron)
	}
}

func (c Config) checkHTTP(p *problems) {
	if _, port, err := net.SplitHostPort(c.HTTP.Listen); err != nil || port == "" {
		p.add("http.listen is %q; write it like 127.0.0.1:8080", c.HTTP.Listen)
	}
	if m := c.HTTP.MetricsListen; m != "" {
		if _, port, err := net.SplitHostPort(m); err != nil || port == "" {
			p.add("http.metrics_listen is %q; write it like 127.0.0.1:9090, or leave it empty", m)
		}
		if m == c.HTTP.Listen {
			p.add("http.metrics_listen is the same as http.listen; give it another port, or leave it empty")
		}
	}
	p.web("http.public_url", c.HTTP.PublicURL)
	for _, t := range c.HTTP.TrustedProxies {
		_, errAddr := netip.ParseAddr(t)
		_, errNet := netip.ParsePrefix(t)
		if errAddr != nil && errNet != nil {
			p.add("http.trusted_proxies: %q is neither an IP address nor a network such as 10.0.0.0/8", t)
		}
	}
}

func (c Config) checkPlace(p *problems) {
	p.oneOf("log.level", c.Log.Level, "debug", "info", "warn", "error")
	p.oneOf("log.format", c.Log.Format, "console", "json")
	if _, err := time.LoadLocation(c.DefaultTimezone); err != nil || c.DefaultTimezone == "" {
		p.add("default_timezone %q is not known; write a name like Europe/Paris or UTC", c.DefaultTimezone)
	}
	if !regexp.MustCompile(`^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$`).MatchString(c.DefaultLanguage) {
		p.add("default_language is %q; write a language tag such as en or fr", c.DefaultLanguage)
	}
}

func (c Config) checkAccess(p *problems) {
	p.oneOf("access.policy", c.Access.Policy, "pairing", "allowlist", "open")
	for _, a := range c.Access.Allow {
		if channel, who, ok := strings.Cut(a, ":"); !ok || channel == "" || who == "" {
			p.add("access.allow: %q has not the form channel:id, such as telegram:123456", a)
		}
	}
	atLeast(p, "access.code_life", c.Access.CodeLife, time.Minute)
	atLeast(p, "access.max_codes", c.Access.MaxCodes, 1)
	atLeast(p, "access.max_codes_per_server", c.Access.MaxCodesOrigin, 1)
}

func (l LLM) check(p *problems, key string) {
	p.oneOf(key+".provider", l.Provider, "openai", "anthropic", "demo")
	switch l.Provider {
	case "openai":
		if l.APIKey == "" && l.BaseURL == "" {
			p.add("%s.api_key is empty; set it, or %s.base_url for a server that wants no key", key, key)
		}
	case "anthropic":
		if l.APIKey == "" {
			p.add("%s.api_key is empty; set it", key)
		}
	}
	if l.Provider != "demo" && l.Model == "" {
		p.add("%s.model is empty; name the model to use", key)
	}
	if l.BaseURL != "" {
		p.web(key+".base_url", l.BaseURL)
	}
	atLeast(p, key+".max_output_tokens", l.MaxOutputTokens, 16)
	atLeast(p, key+".timeout", l.Timeout, time.Second)
	if l.ContextWindow < l.MaxOutputTokens+1000 {
		p.add("%s.context_window is %d; it must be at least 1000 more than %s.max_output_tokens", key, l.ContextWindow, key)
	}
	l.checkPrices(p, key)
	for i, f := range l.Fallbacks {
		at := fmt.Sprintf("%s.fallbacks[%d]", key, i)
		if len(f.Fallbacks) > 0 {
			p.add("%s.fallbacks: a fallback has none of its own; list it in %s.fallbacks", at, key)
			f.Fallbacks = nil
		}
		f.check(p, at)
	}
}

func (l LLM) checkPrices(p *problems, key string) {
	within(p, key+".prices.prompt", l.Prices.Prompt, 0, 1e6)
	within(p, key+".prices.cached", l.Prices.Cached, 0, 1e6)
	within(p, key+".prices.completion", l.Prices.Completion, 0, 1e6)
	if n := utf8.RuneCountInString(l.Currency); n > 8 || l.Prices != (Prices{}) && n == 0 {
		p.add("%s.currency is %q; name it in at most 8 letters, such as USD or €", key, l.Currency)
	}
}

func (c Config) checkSummaryLLM(p *problems) {
	l := c.SummaryLLM
	if l.Provider != "" {
		l.check(p, "summary_llm")
		return
	}
	if l.BaseURL != "" || l.APIKey != "" || l.Model != "" || len(l.Fallbacks) > 0 {
		p.add("summary_llm.provider is empty, so the rest of summary_llm has no effect; set it to openai, anthropic or demo")
	}
}

func (c Config) checkContext(p *problems) {
	x := c.Context
	p.oneOf("context.strategy", x.Strategy, "continuous", "truncate", "long")
	atLeast(p, "context.today_raw_tokens", x.TodayRawTokens, 100)
	atLeast(p, "context.today_summary_tokens", x.TodaySummaryTokens, 0)
	atLeast(p, "context.last_conversation_tokens", x.LastConversationTokens, 0)
	atLeast(p, "context.open_loops_tokens", x.OpenLoopsTokens, 0)
	atLeast(p, "context.news_tokens", x.NewsTokens, 80)
	atLeast(p, "context.target_tokens", x.TargetTokens, 500)
	atLeast(p, "context.max_history_messages", x.MaxHistoryMessages, 1)
	atLeast(p, "context.max_context_tokens", x.MaxContextTokens, 500)
	atLeast(p, "context.long.budget", x.Long.Budget, 4000)
	atLeast(p, "context.long.raw_recent_tokens", x.Long.RawRecentTokens, 500)
	if t := x.Long.CompressThreshold; t < 0.3 || t > 0.95 {
		p.add("context.long.compress_threshold is %g; it must be from 0.3 to 0.95", t)
	}
	if n := x.Long.RawRecentTokens; n != Default().Context.Long.RawRecentTokens && float64(n) > x.Long.CompressThreshold*float64(x.Long.Budget)*0.8 {
		p.add("context.long.raw_recent_tokens is %d; it must be at most four fifths of where compression starts (context.long.compress_threshold of context.long.budget)", x.Long.RawRecentTokens)
	}
	atLeast(p, "context.min_turns", x.MinTurns, 0)
	atLeast(p, "context.silence", x.Silence, 0)
	if x.TotalTokens < x.TargetTokens {
		p.add("context.total_tokens is %d; it must be at least context.target_tokens (%d)", x.TotalTokens, x.TargetTokens)
	}
	if w := c.LLM.ContextWindow; x.TotalTokens+c.LLM.MaxOutputTokens > w {
		p.add("context.total_tokens is %d; with llm.max_output_tokens it must fit into llm.context_window (%d)", x.TotalTokens, w)
	}
}

func (c Config) checkDays(p *problems) {
	p.clock("day.starts_at", c.Day.StartsAt)
	s := c.Summaries
	p.clock("summaries.finalize_at", s.FinalizeAt)
	p.clock("summaries.post_at", s.PostAt)
	p.oneOf("summaries.post_forward", s.PostForward, "home", "all", "off")
	atLeast(p, "summaries.after_messages", s.AfterMessages, 1)
	within(p, "summaries.pressure", s.Pressure, 0.1, 1)
	atLeast(p, "summaries.post_min_messages", s.PostMinMessages, 0)
	atLeast(p, "summaries.post_expires", s.PostExpires, time.Minute)
	within(p, "summaries.attempts", s.Attempts, 1, 100)
}

func (c Config) checkWork(p *problems) {
	within(p, "turn.debounce", c.Turn.Debounce, 0, time.Minute)
	within(p, "turn.workers", c.Turn.Workers, 1, 10_000)
	atLeast(p, "turn.give_up_after", c.Turn.GiveUpAfter, time.Second)
	within(p, "turn.lease", c.Turn.Lease, 3*time.Second, time.Hour)
	within(p, "agent.max_steps", c.Agent.MaxSteps, 1, 100)
	atLeast(p, "agent.tool_tokens", c.Agent.ToolTokens, 100)
	atLeast(p, "agent.result_tokens", c.Agent.ResultTokens, 100)
	atLeast(p, "agent.tool_timeout", c.Agent.ToolTimeout, time.Second)
	atLeast(p, "agent.delegate_timeout", c.Agent.DelegateTimeout, time.Second)
	p.clock("reminders.default_hour", c.Reminders.DefaultHour)
	atLeast(p, "reminders.min_every", c.Reminders.MinEvery, time.Minute)
	within(p, "reminders.max_active", c.Reminders.MaxActive, 1, 10_000)
	atLeast(p, "limits.tokens_per_day", c.Limits.TokensPerDay, 0)
	atLeast(p, "limits.all_tokens_per_day", c.Limits.AllTokensPerDay, -1)
	atLeast(p, "limits.turns_per_minute", c.Limits.TurnsPerMinute, 0)
	atLeast(p, "media.max_bytes", c.Media.MaxBytes, 0)
	atLeast(p, "media.bytes_per_user", c.Media.BytesPerUser, 0)
	within(p, "media.wait", c.Media.Wait, 0, 10*time.Minute)
	atLeast(p, "retention.raw", c.Retention.Raw, time.Hour)
	atLeast(p, "retention.audit", c.Retention.Audit, 24*time.Hour)
}

func (c Config) checkTelegram(p *problems) {
	t := c.Channels.Telegram
	if t.Token == "" {
		return
	}
	if !regexp.MustCompile(`^[0-9]{1,20}:[A-Za-z0-9_-]{1,128}$`).MatchString(string(t.Token)) {
		p.add("channels.telegram.token has not the form 123456:ABC; copy it from @BotFather")
	}
	p.oneOf("channels.telegram.mode", t.Mode, "polling", "webhook")
	p.web("channels.telegram.api_url", t.APIURL)
	atLeast(p, "channels.telegram.rate_per_chat", t.RatePerChat, 0)
	atLeast(p, "channels.telegram.rate_per_bot", t.RatePerBot, 0)
	if t.Mode != "webhook" {
		return
	}
	if !strings.HasPrefix(c.HTTP.PublicURL, "https://") {
		p.add("http.public_url must begin with https:// for channels.telegram.mode webhook; Telegram calls it")
	}
	if !regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`).MatchString(string(t.WebhookSecret)) {
		p.add("channels.telegram.webhook_secret must be 1 to 256 letters, digits, _ or - for mode webhook; make one with `openssl rand -hex 32`")
	}
}

package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/service"
	"github.com/everthread/everthread/core/ahead"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/chat/agent/mcp"
	"github.com/everthread/everthread/core/chat/prompt"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/files/speech"
	"github.com/everthread/everthread/core/job"
	llmembed "github.com/everthread/everthread/core/llm/embed"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/llm/transcribe"
	"github.com/everthread/everthread/core/text/i18n"
)

// models asks each model for a word.
func (e *examination) models(ctx context.Context) {
	c := e.Config
	e.model(ctx, "llm", c.LLM)
	for i, f := range c.LLM.Fallbacks {
		e.model(ctx, fmt.Sprintf("llm fallback %d", i+1), f)
	}
	for _, name := range slices.Sorted(maps.Keys(c.LLM.Choices)) {
		e.model(ctx, "llm choice "+name, c.LLM.Choices[name].LLM)
	}
	e.summaries(ctx)
}

// summaries asks the model that only summarizes, if there is one.
func (e *examination) summaries(ctx context.Context) {
	if e.Config.SummaryLLM.Provider != "" {
		e.model(ctx, "summary_llm", e.Config.SummaryLLM)
	}
}

func (e *examination) model(ctx context.Context, name string, c configs.LLM) {
	start := time.Now()
	reduced, err := engine.TryModel(ctx, c)
	took := time.Since(start).Milliseconds()
	switch {
	case errors.Is(err, engine.ErrCutOff):
		e.problem(name, e.ModelCutOff)
	case c.Provider == "demo":
		e.verdict(name, err, e.ModelDemo)
	case err == nil && len(reduced) > 0:
		detail := fmt.Sprintf(e.ModelGood, c.Provider, c.Model, took) + ": " + i18n.Reduced(e.Language, reduced)
		e.add(name, !slices.Contains(reduced, core.ReducedTools), "%s", []any{detail})
	default:
		e.verdict(name, err, e.ModelGood, c.Provider, c.Model, took)
	}
}

// embeddings embeds two sentences.
func (e *examination) embeddings(ctx context.Context) {
	embedder, config, err := engine.Embedder(e.Config, nil)
	if err != nil || embedder == nil {
		e.verdict("embeddings", err, e.EmbeddingsNone)
		return
	}
	dimensions, err := llmembed.Check(ctx, embedder)
	e.verdict("embeddings", err, e.EmbeddingsGood, llmembed.Named(config), dimensions)
}

// transcription sends a second of silence.
func (e *examination) transcription(ctx context.Context) {
	t, ok := engine.Transcriber(e.Config.Transcription, nil).(*transcribe.Transcriber)
	if !ok {
		e.none("transcription", e.TranscriptionNone)
		return
	}
	e.verdict("transcription", t.Check(ctx), e.Answers, e.Config.Transcription.Model)
}

// speech records a few words.
func (e *examination) speech(ctx context.Context) {
	s := engine.Speaker(e.Config.Speech, nil)
	if s == nil {
		e.none("speech", e.SpeechNone)
		return
	}
	_, err := speech.Record(ctx, s, core.Speech{Text: e.SpeechSample})
	e.verdict("speech", err, e.Answers, e.Config.Speech.Model)
}

// web searches for a word. DuckDuckGo, which nobody configured, may refuse to answer without that being a problem.
func (e *examination) web(ctx context.Context) {
	name, results, err := engine.TrySearch(ctx, e.Config, engine.WayOut(e.Config))
	switch {
	case name == "":
		e.none("web search", e.WebOff)
	case err != nil && e.Config.Web.Search == "auto" && e.Config.Web.Provider() == "duckduckgo":
		e.none("web search", e.WebKeyless, err.Error())
	case err != nil:
		e.problem("web search", "%s", err.Error())
	default:
		e.fine("web search", "%s", e.WebGood.Of(results, name))
	}
}

// servers connects to the MCP servers.
func (e *examination) servers(ctx context.Context) {
	if len(e.Config.Agent.MCPServers) == 0 {
		e.window(nil)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	own := slices.DeleteFunc(engine.Servers(e.Config.Agent.MCPServers), func(s mcp.Server) bool { return s.OAuth })
	client := mcp.New(mcp.Options{Servers: own, Version: e.Version,
		Tokenizer: tokens.New(), Log: zap.NewNop(), Now: e.Now, Rand: rand.Float64})
	done := make(chan error, 1)
	go func() { done <- client.Run(ctx) }()
	for ctx.Err() == nil && slices.ContainsFunc(client.Status(),
		func(s mcp.Status) bool { return !s.Up && s.Error == "" }) {
		job.Wait(ctx, 50*time.Millisecond)
	}
	status, tools := client.Status(), client.Tools()
	cancel()
	<-done
	e.window(tools)
	for _, s := range status {
		if s.Up {
			e.fine("mcp "+s.Name, e.ServerGood, s.Tools)
		} else {
			e.problem("mcp "+s.Name, e.ServerDown, s.Error)
		}
	}
}

// services looks for the authorization servers of the MCP servers that people connect.
func (e *examination) services(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	services := engine.NewServices(e.Config, nil, engine.WayOut(e.Config), zap.NewNop(), e.Now)
	for _, one := range services.Services {
		at, err := services.Check(ctx, one)
		switch {
		case errors.Is(err, service.ErrUnregistered):
			e.problem("mcp "+one.Name, e.ServiceByHand, strings.TrimRight(e.Config.HTTP.PublicURL, "/")+service.BackPath)
		case err != nil:
			e.problem("mcp "+one.Name, e.ServiceDown, err.Error())
		case !e.Config.Channels.Web.Enabled:
			e.problem("mcp "+one.Name, "%s", e.ServiceNoPage)
		default:
			e.fine("mcp "+one.Name, e.ServiceGood, at)
		}
	}
}

// ahead reads the calendars and mailboxes.
func (e *examination) ahead(ctx context.Context) {
	a, err := engine.NewAhead(e.Config, engine.WayOut(e.Config), nil, nil)
	if err != nil {
		return // reported with the configuration
	}
	for _, s := range a.Check(ctx, e.Now()) {
		kind, key, good := "calendar ", "day_ahead.calendars", e.CalendarGood
		if s.Mail {
			kind, key, good = "mail ", "day_ahead.mail", e.MailGood
		}
		switch {
		case s.Fault != "":
			e.problem(kind+s.Name, e.SourceDown, ahead.Why(e.Language, s.Fault), key)
		case s.Bad > 0:
			e.fine(kind+s.Name, good.Of(s.Count)+e.SourceBad, s.Bad)
		default:
			e.fine(kind+s.Name, "%s", good.Of(s.Count))
		}
	}
}

// channelTimeout bounds all checks of one channel.
const channelTimeout = time.Minute

// channels checks every channel that is on. One that needs the store is left out if that
// cannot be used, which is reported already.
func (e *examination) channels(ctx context.Context) {
	var st engine.Store
	if e.schema {
		st = e.store
	}
	host := &engine.Hosting{Process: engine.NewProcess(e.Config, st, zap.NewNop(), e.Now, engine.WayOut(e.Config), nil)}
	defer host.Close()
	before := len(e.out)
	for _, c := range channel.On(e.Config.Channels.Sections) {
		if e.only != "" && c.Key() != e.only {
			continue
		}
		ch, err := host.Open(ctx, c)
		switch {
		case !errors.Is(err, channel.ErrNoStore):
			e.diagnose(ctx, strings.ReplaceAll(c.Key(), "_", " "), ch, err)
		case e.absent():
			e.fine(c.Key(), e.ChannelLater)
		}
	}
	if len(e.out) == before {
		e.none("channels", e.ChannelsNone, e.Hint)
	}
}

// diagnose has a channel check everything it needs. A channel of people's own accounts
// reports nothing before there is one.
func (e *examination) diagnose(ctx context.Context, title string, c core.Channel, err error) {
	if err != nil {
		e.problem(title, "%s", err.Error())
		return
	}
	d, ok := c.(core.Diagnoser)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, channelTimeout)
	defer cancel()
	found := d.Diagnose(ctx, e.Language)
	if a, ok := c.(core.AccountChecker); ok && len(a.CheckAccounts()) == 0 && Healthy(found) {
		return
	}
	for _, f := range found {
		f.Check = cmp.Or(f.Check, title)
		e.out = append(e.out, f)
	}
}

// maxSkew bounds how far the clock may be off, for the sake of signatures and of the boundary between days.
const maxSkew = time.Minute

// clock compares our clock with that of the model's provider, unless a channel has compared it with its service's.
func (e *examination) clock(ctx context.Context) {
	const check = "clock"
	if slices.ContainsFunc(e.out, func(f core.Finding) bool { return f.Check == check }) {
		return
	}
	base := cmp.Or(e.Config.LLM.BaseURL, map[string]string{"openai": "https://api.openai.com",
		"anthropic": "https://api.anthropic.com"}[e.Config.LLM.Provider])
	if e.Config.LLM.Provider == "demo" {
		e.fine(check, e.ClockUnknown)
		return
	}
	a, err := get(ctx, base)
	theirs := time.Time{}
	if err == nil {
		theirs, err = http.ParseTime(a.resp.Header.Get("Date"))
	}
	if err != nil {
		e.fine(check, e.ClockUnknown)
		return
	}
	off := time.Since(theirs).Round(time.Second)
	if off.Abs() > maxSkew {
		e.problem(check, e.ClockOff, off, channel.HostOf(base))
		return
	}
	e.fine(check, e.ClockGood, channel.HostOf(base))
}

// window reports how the window of the models is shared out, and what of the configuration
// does not fit into it. outside are the tools of the MCP servers.
func (e *examination) window(outside []core.Tool) {
	c := e.Config
	if c.LLM.Provider == "demo" {
		return
	}
	r := c.Room()
	number := func(n int) string { return i18n.Number(e.Language, n) }
	key, wanted := asked(c)
	told, all, err := engine.Offered(c, outside, tokens.New())
	switch {
	case err != nil:
		e.problem("context window", "%s", err.Error())
	case r.Tiny():
		e.problem("context window", e.WindowTiny, number(r.Window), number(max(r.Prompt, 0)))
	case wanted > r.Prompt:
		e.problem("context window", e.WindowOver, key, number(wanted), number(r.Window), number(r.Prompt))
	default:
		e.fine("context window", e.WindowGood, number(r.Window), number(wanted), number(r.Results), number(r.Output),
			told, all)
	}
}

// asked returns the configured size of a prompt, in tokens, and its key.
func asked(c configs.Config) (key string, n int) {
	switch c.Context.Strategy {
	case prompt.Truncate:
		return "context.max_context_tokens", c.Context.MaxContextTokens
	case prompt.Long: // which is bounded by the window itself
		return "context.total_tokens", min(engine.LongBudget(c), c.Room().Prompt)
	}
	return "context.total_tokens", c.Context.TotalTokens
}

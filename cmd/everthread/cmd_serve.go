package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/rivo/uniseg"
	"go.uber.org/zap"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/ops/server"
	"github.com/everthread/everthread/core/text/i18n"
)

type serveCmd struct {
	Strategy          string  `placeholder:"NAME" help:"Context strategy: continuous, long or truncate. Overrides context.strategy."`
	ContextBudget     int     `placeholder:"TOKENS" help:"Prompt budget of the strategy long. Overrides context.long.budget."`
	CompressThreshold float64 `placeholder:"SHARE" help:"Share of that budget above which old messages are compressed. Overrides context.long.compress_threshold."`
	RawRecentTokens   int     `placeholder:"TOKENS" help:"Newest tokens that are never compressed. Overrides context.long.raw_recent_tokens."`
}

// Run serves until a signal comes.
func (s serveCmd) Run(ctx context.Context, c *console, cfg configs.Config) error {
	if err := s.override(&cfg); err != nil {
		return err
	}
	log := newLogger(cfg.Log, c.err)
	defer log.Sync()
	if err := engine.PrepareData(&cfg); err != nil {
		return err
	}
	if cfg.DatabaseURL == "" {
		unlock, err := engine.LockData(cfg, errors.New("`everthread users link NAME` prints a link "+
			"that signs in to it; to start this one, stop that one, or give this one a data_dir of its own"))
		if err != nil {
			return err
		}
		defer unlock()
	}
	return serveStore(ctx, c, cfg, log, s.override)
}

// override replaces values of the configuration with flags.
func (s serveCmd) override(cfg *configs.Config) error {
	x := &cfg.Context
	x.Strategy = cmp.Or(s.Strategy, x.Strategy)
	x.Long.Budget = cmp.Or(s.ContextBudget, x.Long.Budget)
	x.Long.CompressThreshold = cmp.Or(s.CompressThreshold, x.Long.CompressThreshold)
	x.Long.RawRecentTokens = cmp.Or(s.RawRecentTokens, x.Long.RawRecentTokens)
	return cfg.Validate()
}

// serveStore listens, waits for the database and serves until ctx ends. When the settings change, it restarts the engine.
func serveStore(ctx context.Context, c *console, cfg configs.Config, log *zap.Logger,
	override func(c *configs.Config) error) error {
	ln, err := server.Listen("http.listen", cfg.HTTP.Listen)
	if err != nil {
		return err
	}
	defer ln.Close()
	var metricsAt net.Listener
	if at := cfg.HTTP.MetricsListen; at != "" {
		if metricsAt, err = server.Listen("http.metrics_listen", at); err != nil {
			return err
		}
		defer metricsAt.Close()
	}
	if cfg.HTTP.PublicURL == cfg.HTTP.At(cfg.HTTP.Listen) { // the port may be any that was free
		cfg.HTTP.PublicURL = cfg.HTTP.At(ln.Addr().String())
	}
	st, err := openStore(ctx, cfg)
	if err != nil {
		return engine.ExplainStore(cfg, err)
	}
	defer st.Close()
	alive := server.Alive(ln) // until the database answers
	err = engine.AwaitStore(ctx, cfg, st, log)
	if alive(); err != nil || ctx.Err() != nil {
		return err
	}
	one := &served{console: c, storedSettings: c.newSettings(st, cfg, override), at: ln, metricsAt: metricsAt, last: cfg}
	for err = errChanged; errors.Is(err, errChanged) && ctx.Err() == nil; {
		err = one.serve(ctx, log)
	}
	log.Info("everthread has stopped")
	if errors.Is(err, errChanged) {
		return nil
	}
	return err
}

// served is a process that serves, again and again with other settings.
type served struct {
	*console
	*storedSettings
	at, metricsAt net.Listener
	last          configs.Config // that worked
	greeted       bool
}

// serve serves with the settings that are stored, or if they do not work with the last ones that did. It returns
// errChanged when others are stored.
func (s *served) serve(ctx context.Context, log *zap.Logger) error {
	cfg, err := s.begin(ctx)
	var a *app
	var shut func()
	if err == nil {
		a, shut, err = startApp(ctx, cfg, log, s.storedSettings)
	}
	if s.fault = err; err != nil && ctx.Err() == nil && (len(s.began) > 0 || errors.Is(err, engine.ErrOtherKey)) {
		log.Error("what was set on the page does not work, and is not in force", zap.Error(err))
		a, shut, err = startApp(ctx, s.last, log, s.storedSettings)
	}
	if err != nil {
		return err
	}
	defer shut()
	if s.fault == nil {
		s.last = cfg
	}
	if !s.greeted {
		if err := s.greet(ctx, a); err != nil {
			return err
		}
		s.greeted = true
	} else if s.fault == nil {
		log.Info("the settings have changed and are in force")
	}
	return a.serve(ctx, s.at, s.metricsAt, s.watch)
}

// greet tells the operator what to do first.
func (s *served) greet(ctx context.Context, a *app) error {
	watched := a.Config.Log.Format == "console" && isTerminal(s.err)
	welcome, err := a.Welcome(ctx, watched)
	if err != nil {
		return err
	}
	if g := (greeting{welcome, a.Config, s.at.Addr().String()}); watched {
		g.draw(drawn(s.err), s.language(), widthOf(s.err))
	} else {
		g.log(a.Log)
	}
	return nil
}

// greeting shows a Welcome to the operator.
type greeting struct {
	engine.Welcome
	cfg configs.Config
	at  string // where it listens
}

// log writes the greeting to a log.
func (g greeting) log(log *zap.Logger) {
	log.Info("everthread is up", zap.String("version", version), zap.String("http", g.at),
		zap.String("model", g.cfg.LLM.Provider), zap.Strings("channels", g.Channels),
		zap.String("database", engine.DatabaseName(g.cfg)))
	if g.Apps == 0 {
		log.Info("no messaging app is configured: to talk at once open the web page or run `everthread chat`; " +
			hint(i18n.English))
	}
	if g.Code != "" {
		log.Info("no address is the owner's yet: send this message to any channel to make yours the owner's",
			zap.String("message", "/start "+g.Code))
	}
	if g.Link != "" {
		log.Info("open the web page with this link; it works once, for an hour", zap.String("url", g.Link))
	} else if g.cfg.Channels.Web.Enabled {
		log.Info("to sign in to the web page on another device send /web in a chat, or run this for a link",
			zap.String("run", "everthread users link "+strconv.Quote(g.Owner)))
	}
	if g.cfg.LLM.Provider == "demo" {
		log.Info("the demo model answers: it understands nothing; set llm.provider, llm.model and llm.api_key for a real one")
	}
}

// greetingTexts are the words of a greeting in one language.
type greetingTexts struct {
	Runs             string // version, where
	Open, Send       string
	SendLater        string // where no messaging app is configured
	Once, Demo, Stop string
}

var sayHello = i18n.In[greetingTexts]("greeting")

// draw shows the greeting on a terminal of so many columns: what to do first in a box, if that fits.
func (g greeting) draw(w io.Writer, language string, columns int) {
	t := sayHello(language)
	fmt.Fprintf(w, t.Runs+"\n", version, g.cfg.HTTP.PublicURL)
	name := func(text string) string {
		return pad(text, 2+max(uniseg.StringWidth(t.Open), uniseg.StringWidth(t.Send)))
	}
	var lines []string
	if g.Link != "" {
		lines = append(lines, name(t.Open)+g.Link, name("")+t.Once)
	}
	if g.Code != "" {
		later := ""
		if g.Apps == 0 {
			later = "  " + t.SendLater
		}
		lines = append(lines, name(t.Send)+"/start "+g.Code+later)
	}
	width := 0
	for _, line := range lines {
		width = max(width, uniseg.StringWidth(line))
	}
	if len(lines) > 0 && width+4 <= columns {
		bar := strings.Repeat("─", width+2)
		for n, line := range lines {
			lines[n] = "│ " + pad(line, width) + " │"
		}
		lines = append(append([]string{"╭" + bar + "╮"}, lines...), "╰"+bar+"╯")
	}
	if len(lines) > 0 {
		text := strings.Join(lines, "\n")
		if g.Link != "" { // to be clicked
			text = strings.ReplaceAll(text, g.Link, "\x1b]8;;"+g.Link+"\x1b\\"+g.Link+"\x1b]8;;\x1b\\")
		}
		fmt.Fprintf(w, "\n%s\n\n", text)
	}
	if g.cfg.LLM.Provider == "demo" {
		fmt.Fprintln(w, t.Demo)
	}
	fmt.Fprintln(w, t.Stop)
}

// pad fills a text up to a width on the screen.
func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(width-uniseg.StringWidth(text), 0))
}

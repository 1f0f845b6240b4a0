package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/rivo/uniseg"
	"go.uber.org/zap"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/people"
	"github.com/everthread/everthread/core/words"
)

// greeting is what a process that begins says to its operator.
type greeting struct {
	cfg      configs.Config
	at       string   // where it listens
	channels []string // that are on
	apps     int      // of them that are messaging apps
	code     string   // that makes an address the owner's; empty: one is
	link     string   // to the page; empty: the owner has been there
}

// firstLife is how long the link of a greeting is valid.
const firstLife = time.Hour

// greeting makes the owner at the first start, and says what to do next.
func (a *app) greeting(ctx context.Context, addr net.Addr) (g greeting, err error) {
	g = greeting{cfg: a.Config, at: addr.String(), channels: slices.Sorted(maps.Keys(a.Channels))}
	var owner core.User
	if owner, g.code, err = a.People.EnsureOwner(ctx); err != nil {
		return g, fmt.Errorf("make the owner: %w", err)
	}
	keys, err := a.store.AgentKeys(ctx)
	if err != nil {
		return g, fmt.Errorf("list personal agents: %w", err)
	}
	if len(keys) == 0 { // it waits for the first key
		g.channels = slices.DeleteFunc(g.channels, func(name string) bool { return a.Channels.Capabilities(name).Personal })
	}
	for _, name := range g.channels {
		if !people.Own(name) {
			g.apps++
		}
	}
	if g.link, err = a.firstLink(ctx, owner); err != nil {
		return g, fmt.Errorf("make a link to the web page: %w", err)
	}
	return g, nil
}

// firstLink is a link to the web page as long as the owner has not been there.
func (a *app) firstLink(ctx context.Context, owner core.User) (string, error) {
	if !a.Config.Channels.Web.Enabled {
		return "", nil
	}
	ids, err := a.People.Identities(ctx, owner.ID)
	if err != nil || slices.ContainsFunc(ids, func(i core.Identity) bool { return i.Address.Channel == web.Name }) {
		return "", err
	}
	link, _, err := newWebLink(ctx, a.People, a.Config, a.store, owner.ID, firstLife)
	return link, err
}

// log says it to a log.
func (g greeting) log(log *zap.Logger) {
	log.Info("everthread is up", zap.String("version", version), zap.String("http", g.at),
		zap.String("model", g.cfg.LLM.Provider), zap.Strings("channels", g.channels),
		zap.String("database", engine.DatabaseName(g.cfg)))
	if g.apps == 0 {
		log.Info("no messaging app is configured: to talk at once open the web page or run `everthread chat`; " +
			hint(words.English))
	}
	if g.code != "" {
		log.Info("no address is the owner's yet: send this message to any channel to make yours the owner's",
			zap.String("message", "/start "+g.code))
	}
	if g.link != "" {
		log.Info("open the web page with this link; it works once, for an hour", zap.String("url", g.link))
	}
	if g.cfg.LLM.Provider == "demo" {
		log.Info(
			"the demo model answers: it understands nothing; set llm.provider, llm.model and llm.api_key for a real one")
	}
}

// greetingTexts are what a greeting says in one language.
type greetingTexts struct {
	Runs       string // version, where
	Open, Send string
	SendLater  string // where no messaging app is configured
	Once       string
	Demo       string
	Stop       string
}

var sayHello = words.In[greetingTexts]("greeting")

// draw shows it to somebody at a terminal of so many columns: what to do first in a box.
func (g greeting) draw(w io.Writer, language string, columns int) {
	t := sayHello(language)
	fmt.Fprintf(w, t.Runs+"\n", version, g.cfg.HTTP.PublicURL)
	var lines, plain []string
	column := 2 + max(uniseg.StringWidth(t.Open), uniseg.StringWidth(t.Send))
	add := func(name, text, shown string) {
		name += strings.Repeat(" ", column-uniseg.StringWidth(name))
		lines, plain = append(lines, name+shown), append(plain, name+text)
	}
	if g.link != "" {
		add(t.Open, g.link, "\x1b]8;;"+g.link+"\x1b\\"+g.link+"\x1b]8;;\x1b\\")
		add("", t.Once, t.Once)
	}
	if g.code != "" {
		text := "/start " + g.code
		if g.apps == 0 {
			text += "  " + t.SendLater
		}
		add(t.Send, text, text)
	}
	width := 0
	for _, line := range plain {
		width = max(width, uniseg.StringWidth(line))
	}
	if bar := strings.Repeat("─", width+2); len(lines) > 0 && width+4 <= columns {
		fmt.Fprintf(w, "\n╭%s╮\n", bar)
		for n, line := range lines {
			fmt.Fprintf(w, "│ %s%s │\n", line, strings.Repeat(" ", width-uniseg.StringWidth(plain[n])))
		}
		fmt.Fprintf(w, "╰%s╯\n\n", bar)
	} else if len(lines) > 0 { // a box that wraps is none
		fmt.Fprintf(w, "\n%s\n\n", strings.Join(lines, "\n"))
	}
	if g.cfg.LLM.Provider == "demo" {
		fmt.Fprintln(w, t.Demo)
	}
	fmt.Fprintln(w, t.Stop)
}

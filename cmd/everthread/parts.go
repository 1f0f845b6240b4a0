package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	page "github.com/everthread/everthread/adapters/web/settings"
	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/configs/section"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/ops/setup"
	"github.com/everthread/everthread/core/text/i18n"
)

// part is what the owner sets on one page: keys of the configuration, or the elements of a list.
type part struct {
	key      string
	keys     []string // of values; of a list's elements where list is set
	list     string
	optional bool // what it sets can be removed
}

// ownParts are the parts beside the channels, in the order of the page.
var ownParts = []part{
	{key: "model", keys: []string{"llm.provider", "llm.base_url", "llm.api_key", "llm.model", "llm.context_window",
		"llm.reasoning_effort", "llm.prices.prompt", "llm.prices.cached", "llm.prices.completion", "llm.currency"}},
	{key: "choices", list: "llm.choices", keys: []string{"provider", "base_url", "api_key", "model", "context_window",
		"prices.prompt", "prices.cached", "prices.completion", "users"}},
	{key: "summaries", optional: true, keys: []string{"summary_llm.provider", "summary_llm.base_url", "summary_llm.api_key",
		"summary_llm.model"}},
	{key: "web", optional: true, keys: []string{"web.search", "web.searxng_url", "web.brave_key", "web.tavily_key",
		"web.exa_key", "web.kagi_key"}},
	{key: "embeddings", optional: true, keys: []string{"embeddings.provider", "embeddings.base_url", "embeddings.api_key",
		"embeddings.model", "embeddings.dimensions"}},
	{key: "transcription", optional: true, keys: []string{"transcription.base_url", "transcription.api_key",
		"transcription.model"}},
	{key: "speech", optional: true, keys: []string{"speech.base_url", "speech.api_key", "speech.model", "speech.voice"}},
	{key: "tools", list: "agent.mcp_servers", keys: []string{"url", "headers", "auth", "oauth.client_id", "oauth.client_secret",
		"oauth.scopes", "allow", "trust_hints", "roles", "users"}},
	{key: "calendars", list: "day_ahead.calendars", keys: []string{"url", "user"}},
	{key: "mail", list: "day_ahead.mail", keys: []string{"host", "port", "username", "password", "folders", "from", "user"}},
}

// fieldOptions are the words that a value can be, by its key in the configuration or in an element.
var fieldOptions = map[string][]string{
	"llm.provider": {"demo", "openai", "anthropic"}, "provider": {"openai", "anthropic"},
	"summary_llm.provider": {"", "openai", "anthropic"},
	"embeddings.provider":  {"none", "ollama", "llamacpp", "openai", "custom_http"},
	"web.search":           {"auto", "searxng", "brave", "tavily", "exa", "kagi", "duckduckgo", "off"},
	"trust_hints":          {"false", "true"}, "auth": {"", "oauth"},
}

// fieldsOfFew are the values that few people need to set.
var fieldsOfFew = []string{"context_window", "reasoning_effort", "prompt", "cached", "completion", "currency", "dimensions",
	"client_id", "client_secret", "scopes", "roles", "users", "user", "trust_hints", "port", "folders", "from"}

// channelPart is the prefix of the parts that set up channels.
const channelPart = "channel-"

// partTexts are the words of the parts in one language, by their keys.
type partTexts struct {
	Titles, Leads, Labels, Helps map[string]string
	Choose                       string // a model, of those offered
	Works                        string
}

var partWords = i18n.In[partTexts]("setup_page")

// setupPage is what the owner's page sets, tests and saves. It implements settings.Setup.
type setupPage struct{ *app }

// Parts lists what can be set.
func (p setupPage) Parts(lang string) []page.Part {
	w, c := partWords(lang), p.Config
	in := p.origins()
	field := func(s configs.Setting, key string) page.Field {
		short := key[strings.LastIndex(key, ".")+1:]
		f := page.Field{Key: key, Label: cmp.Or(w.Labels[key], w.Labels[short], key), Help: cmp.Or(w.Helps[key], w.Helps[short]),
			Secret: s.Secret, Options: fieldOptions[key], Set: s.Value != "", From: in.fixed(s.Key), More: slices.Contains(fieldsOfFew, short)}
		if !s.Secret {
			f.Value = s.Value
		}
		return f
	}
	values := map[string]configs.Setting{}
	for _, s := range c.Settings() {
		values[s.Key] = s
	}
	var out []page.Part
	for _, one := range ownParts {
		shown := page.Part{Key: one.key, Title: w.Titles[one.key], Lead: w.Leads[one.key], Optional: one.optional, On: on(c, one)}
		if one.list == "" {
			for _, key := range one.keys {
				shown.Fields = append(shown.Fields, field(values[key], key))
			}
			out = append(out, shown)
			continue
		}
		shown.Fixed = in.fixed(one.list)
		for _, e := range c.Elements(one.list) {
			item := page.Item{Name: e.Name}
			for _, s := range e.Settings {
				if slices.Contains(one.keys, s.Key) {
					item.Fields = append(item.Fields, field(configs.Setting{Key: one.list, Value: s.Value, Secret: s.Secret}, s.Key))
				}
			}
			shown.Items = append(shown.Items, item)
		}
		for _, s := range configs.Fields(one.list) {
			if slices.Contains(one.keys, s.Key) {
				shown.New = append(shown.New, field(configs.Setting{Secret: s.Secret}, s.Key))
			}
		}
		out = append(out, shown)
	}
	channels := p.channelParts(lang, in)
	return slices.Concat(out[:1], channels, out[1:])
}

// on reports whether a part sets something.
func on(c configs.Config, one part) bool {
	switch one.key {
	case "model":
		return c.LLM.Provider != "demo"
	case "summaries":
		return c.SummaryLLM.Provider != ""
	case "web":
		return c.Web.Search != "off"
	case "embeddings":
		return c.Embeddings.Provider != "none"
	case "transcription":
		return c.Transcription.Model != ""
	case "speech":
		return c.Speech.Model != ""
	}
	return len(c.Elements(one.list)) > 0
}

// channelParts lists the channels that answers can set up.
func (p setupPage) channelParts(lang string, in origins) []page.Part {
	var out []page.Part
	names := channelNames(lang)
	for _, s := range p.Config.Channels.Sections {
		c, ok := s.(channel.Config)
		g, guided := s.(channel.Guided)
		if !ok || !guided {
			continue
		}
		guide := g.Guide(lang, channel.Host{})
		one := page.Part{Key: channelPart + s.Key(), Title: cmp.Or((*names)[s.Key()], s.Key()), On: c.On(),
			Channel: s.Key(), Optional: true, Scan: guide.Scan != nil}
		for _, f := range guide.Fields {
			shown := page.Field{Key: f.ID, Label: f.Title, Help: f.Help, Secret: f.Secret, Set: *f.Into != "",
				From: in.fixed(p.Config.KeyOf(f.Into))}
			if !f.Secret {
				shown.Value = *f.Into
			}
			if shown.From != "" && (!one.Scan || f.Scan) {
				one.Fixed = shown.From
			}
			if f.Scan {
				one.Scanned = *f.Into
			}
			one.Fields = append(one.Fields, shown)
		}
		out = append(out, one)
	}
	return out
}

// origins tells what the page cannot change.
type origins struct {
	configs.Config
	file string
}

func (p setupPage) origins() origins {
	return origins{p.Config, filepath.Base(cmp.Or(p.settings.console.configFile(), configs.File))}
}

// fixed returns the file or the variable that sets a key; empty: neither does.
func (o origins) fixed(key string) string {
	switch at := o.Origin(key); at.Layer {
	case configs.FromFile:
		return o.file
	case configs.FromEnvironment:
		return at.Name
	}
	return ""
}

// answers are what was typed, and what it changes.
type answers struct {
	page.Answers
	part    part
	channel section.Section // nil: the part is no channel
	changes map[string]string
	cfg     configs.Config // with the changes
}

// read finds the part of answers, and the changes of the configuration that they are.
func (p setupPage) read(ctx context.Context, a page.Answers) (answers, error) {
	out := answers{Answers: a}
	i := slices.IndexFunc(ownParts, func(o part) bool { return o.key == a.Part })
	if i < 0 {
		for _, s := range p.Config.Channels.Sections {
			if a.Part == channelPart+s.Key() {
				out.channel = s
				return out, nil
			}
		}
		return out, core.ErrNotFound
	}
	out.part = ownParts[i]
	now, err := p.settings.Try(ctx, nil) // another process may have saved something since this one began
	if err != nil {
		return out, err
	}
	if out.part.list != "" {
		text, err := now.WithElement(out.part.list, a.Item, a.Values)
		out.changes = map[string]string{out.part.list: text}
		return out, err
	}
	out.changes = changed(now, a.Values)
	return out, nil
}

// changed returns the values that differ from those of a configuration. A secret that was not typed stays, unless it would
// go to another server.
func changed(now configs.Config, values map[string]string) map[string]string {
	out, moves := map[string]string{}, false
	var secrets []string
	for _, s := range now.Settings() {
		text, given := values[s.Key]
		switch {
		case !given:
		case s.Secret && text == "":
			if s.Value != "" {
				secrets = append(secrets, s.Key)
			}
		case s.Secret || text != s.Value:
			out[s.Key] = text
			moves = moves || configs.Addresses(s.Key)
		}
	}
	for _, key := range secrets {
		if moves {
			out[key] = ""
		}
	}
	return out
}

// Test checks a part with answers, and stores nothing.
func (p setupPage) Test(ctx context.Context, a page.Answers) page.Tested {
	_, t := p.test(ctx, a)
	return t
}

func (p setupPage) test(ctx context.Context, typed page.Answers) (answers, page.Tested) {
	wrong := func(a answers, err error) (answers, page.Tested) {
		return a, page.Tested{Wrong: configs.Redact(err.Error())}
	}
	a, err := p.read(ctx, typed)
	if err != nil {
		return wrong(a, err)
	}
	if a.channel != nil {
		tried, err := p.trier().Try(ctx, a.channel, a.Lang, a.Values)
		if err != nil {
			return wrong(a, err)
		}
		a.changes = p.changesOf(a.channel, tried)
		return a, page.Tested{Said: tried.Said}
	}
	var offers map[string][]string
	if a.part.key == "model" {
		names, err := p.offered(ctx, a)
		if err != nil && a.Values["llm.model"] == "" { // else the model itself says what is wrong
			return a, page.Tested{Wrong: setup.Said(err, a.Lang)}
		}
		if offers = map[string][]string{"llm.model": names}; len(names) > 0 && a.Values["llm.model"] == "" {
			return a, page.Tested{Wrong: partWords(a.Lang).Choose, Offers: offers}
		}
	}
	if a.cfg, err = p.settings.Try(ctx, a.changes); err != nil {
		return wrong(a, err)
	}
	t := page.Tested{Offers: offers}
	for _, f := range newDoctor(a.cfg, a.Lang).ExaminePart(ctx, a.part.key, a.Item) {
		if !f.OK && t.Wrong == "" {
			t.Wrong = f.Detail
		}
		t.Said = strings.TrimSpace(t.Said + " " + f.Detail)
	}
	t.Said = cmp.Or(t.Said, partWords(a.Lang).Works)
	return a, t
}

func (p setupPage) trier() setup.ChannelTrier {
	return setup.ChannelTrier{Way: p.Way, Now: p.Now, Rand: rand.Reader}
}

// changesOf returns what a trial of a channel changes in the configuration.
func (p setupPage) changesOf(s section.Section, tried channel.Tried) map[string]string {
	in, out := p.origins(), map[string]string{}
	for i := 0; i+1 < len(tried.Keys); i += 2 {
		if key := "channels." + s.Key() + "." + tried.Keys[i]; in.fixed(key) == "" {
			out[key] = tried.Keys[i+1]
		}
	}
	return out
}

// offered lists the models of the server that answers name.
func (p setupPage) offered(ctx context.Context, a answers) ([]string, error) {
	value := func(key, now string) string {
		if text, ok := a.changes[key]; ok {
			return text
		}
		return now
	}
	c := p.Config.LLM
	m := setup.Model{Provider: value("llm.provider", c.Provider), BaseURL: value("llm.base_url", c.BaseURL),
		Key: value("llm.api_key", string(c.APIKey))}
	if m.Provider == "demo" {
		return nil, nil
	}
	names, err := setup.Trier{}.Models(ctx, m)
	return setup.Talking(names), err
}

// Seal encrypts typed secrets of a part for its page.
func (p setupPage) Seal(part string, secrets map[string]string) (string, error) {
	text, err := json.Marshal(secrets)
	if err != nil || len(secrets) == 0 {
		return "", err
	}
	by, err := p.Sealer()
	if err != nil {
		return "", err
	}
	return by.Seal("setup "+part, string(text))
}

// Unseal returns what Seal made for the part; nil for anything else.
func (p setupPage) Unseal(part, sealed string) (secrets map[string]string) {
	by, err := p.Sealer()
	if err != nil || sealed == "" {
		return nil
	}
	text, err := by.Open("setup "+part, sealed)
	if err != nil || json.Unmarshal([]byte(text), &secrets) != nil {
		return nil
	}
	return secrets
}

// Save stores answers that Test finds right, or any with force.
func (p setupPage) Save(ctx context.Context, typed page.Answers, force bool) (page.Tested, error) {
	a, t := p.test(ctx, typed)
	if t.Wrong != "" && (!force || a.channel != nil || a.changes == nil) {
		return t, nil
	}
	if force {
		t.Wrong = ""
	}
	return t, p.settings.Save(ctx, a.User, a.changes)
}

// scans are codes that wait to be scanned, in the background.
type scans struct {
	ctx  context.Context // of all
	end  context.CancelFunc
	work sync.WaitGroup

	mu   sync.Mutex
	done map[string]bool // by the ids of codes
}

func newScans(ctx context.Context) *scans {
	s := &scans{done: map[string]bool{}}
	s.ctx, s.end = context.WithCancel(context.WithoutCancel(ctx))
	return s
}

// close gives up the codes that wait.
func (s *scans) close() {
	s.end()
	s.work.Wait()
}

// Scan makes a code that sets up a channel, and saves what comes of it.
func (p setupPage) Scan(ctx context.Context, typed page.Answers) (page.Scan, error) {
	a, err := p.read(ctx, typed)
	if err != nil {
		return page.Scan{}, err
	}
	code, done, err := p.trier().Scan(ctx, a.channel, a.Lang, a.Values)
	if err != nil {
		return page.Scan{}, errors.New(configs.Redact(err.Error()))
	}
	id := rand.Text()
	p.scans.work.Go(func() {
		tried, err := done(p.scans.ctx)
		if err == nil {
			err = p.settings.Save(p.scans.ctx, a.User, p.changesOf(a.channel, tried))
		}
		p.scans.mu.Lock()
		defer p.scans.mu.Unlock()
		if p.scans.done[id] = err == nil; err != nil && p.scans.ctx.Err() == nil {
			p.Log.Warn("a code was not scanned", zap.String("channel", a.channel.Key()), zap.Error(err))
		}
	})
	return page.Scan{ID: id, Code: code.Code, Help: code.Help}, nil
}

// Scanned reports whether the code of a Scan of this process has set up its channel.
func (p setupPage) Scanned(id string) bool {
	p.scans.mu.Lock()
	defer p.scans.mu.Unlock()
	return p.scans.done[id]
}

// Remove removes the values of a part that the page set, or one of its items.
func (p setupPage) Remove(ctx context.Context, user core.UserID, key, item string) error {
	now, err := p.settings.Try(ctx, nil)
	if err != nil {
		return err
	}
	changes := map[string]string{}
	if name, ok := strings.CutPrefix(key, channelPart); ok {
		for _, s := range now.Settings() {
			if strings.HasPrefix(s.Key, "channels."+name+".") && s.Origin.Layer == configs.FromPage {
				changes[s.Key] = ""
			}
		}
		return p.settings.Save(ctx, user, changes)
	}
	i := slices.IndexFunc(ownParts, func(o part) bool { return o.key == key })
	if i < 0 {
		return core.ErrNotFound
	}
	one := ownParts[i]
	if one.list == "" {
		for _, k := range one.keys {
			if now.Origin(k).Layer == configs.FromPage {
				changes[k] = ""
			}
		}
		return p.settings.Save(ctx, user, changes)
	}
	text, err := now.WithoutElement(one.list, item)
	if err != nil {
		return err
	}
	changes[one.list] = text
	return p.settings.Save(ctx, user, changes)
}

// Settings lists every key that is set, with where.
func (p setupPage) Settings() []page.Field {
	in := p.origins()
	var out []page.Field
	for _, s := range p.Config.Settings() {
		if s.Origin.Layer != configs.FromDefaults {
			out = append(out, page.Field{Key: s.Key, Value: s.Value, Secret: s.Secret, From: in.fixed(s.Key)})
		}
	}
	return out
}

// Fault says why what is stored is not in force; empty: it is.
func (p setupPage) Fault() string {
	if p.settings.fault == nil {
		return ""
	}
	return configs.Redact(p.settings.fault.Error())
}

// File returns what is stored as a configuration file without secrets.
func (p setupPage) File(ctx context.Context) ([]byte, error) {
	stored, err := engine.StoredSettings(ctx, p.Config, p.store)
	if err != nil {
		return nil, err
	}
	return stored.YAML(false, sections()...)
}

// lookNearby bounds the search for servers of models.
const lookNearby = 800 * time.Millisecond

// nearby are the addresses at which programs on this machine serve models unless they are told otherwise.
var nearby = []page.Found{{Name: "Ollama", URL: "http://127.0.0.1:11434/v1"}, {Name: "LM Studio", URL: "http://127.0.0.1:1234/v1"},
	{Name: "llama.cpp", URL: "http://127.0.0.1:8080/v1"}, {Name: "vLLM", URL: "http://127.0.0.1:8000/v1"},
	{Name: "Ollama", URL: "http://host.docker.internal:11434/v1"}}

// Nearby looks for servers of models on this machine, briefly.
func (p setupPage) Nearby(ctx context.Context) []page.Found {
	ctx, cancel := context.WithTimeout(ctx, lookNearby)
	defer cancel()
	found := slices.Clone(nearby)
	_, port, _ := net.SplitHostPort(p.Config.HTTP.Listen)
	var work sync.WaitGroup
	for i := range found {
		f := &found[i]
		if strings.HasSuffix(f.URL, "127.0.0.1:"+port+"/v1") {
			continue // that is this program
		}
		work.Go(func() {
			names, err := setup.Trier{}.Models(ctx, setup.Model{Provider: "openai", BaseURL: f.URL})
			if err == nil {
				f.Models = setup.Talking(names)
			}
		})
	}
	work.Wait()
	return slices.DeleteFunc(found, func(f page.Found) bool { return len(f.Models) == 0 })
}

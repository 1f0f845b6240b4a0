package configs

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/everthread/everthread/configs/section"
	"github.com/everthread/everthread/core/llm/catalog"
)

// File is the file that Load reads without a path, if it exists.
const File = "everthread.yaml"

// Load reads the configuration: the defaults, which suit the window of its models, then the file, then the environment.
// environ is like os.Environ, sections are as for Default. A path must exist. Load does not check what values mean; see
// Validate. Errors repeat nothing that looks like a key.
func Load(path string, environ []string, sections ...section.Section) (Config, error) {
	return LoadStored(nil, path, environ, sections...)
}

// LoadStored is Load with stored values between the defaults and the file.
func LoadStored(stored Stored, path string, environ []string, sections ...section.Section) (Config, error) {
	text, name, err := read(path)
	if err != nil {
		return unread(sections), redact(err)
	}
	from := sources{stored, text, name, environ}
	c := unread(sections)
	err = c.load(from)
	if window := c.LLM.Smallest(); err == nil && window < Default().LLM.ContextWindow {
		given := c
		c = unread(sections)
		c.suit(window, given)
		err = c.load(from)
	}
	for choice := range c.LLM.Choices {
		if err == nil {
			err = c.suitChoice(choice, sections, from)
		}
	}
	return c, redact(err)
}

// sources are what a configuration is read from.
type sources struct {
	stored  Stored
	text    []byte // of the file
	name    string // of the file
	environ []string
}

// suitChoice keeps the configuration whose defaults suit the window of a choice, if they differ.
func (c *Config) suitChoice(choice string, sections []section.Section, from sources) error {
	given, _ := c.Chosen(choice)
	if given.LLM.Smallest() == c.LLM.Smallest() {
		return nil
	}
	x := unread(sections)
	x.suit(given.LLM.Smallest(), given)
	if err := x.load(from); err != nil {
		return err
	}
	if c.Suited == nil {
		c.Suited = map[string]Config{}
	}
	c.Suited[choice] = x
	return nil
}

// unread returns the defaults, without a window: what is known of the model comes before the default.
func unread(sections []section.Section) Config {
	c := Default(sections...)
	c.LLM.ContextWindow = 0
	return c
}

// load overrides values with those of the sources, in their order.
func (c *Config) load(from sources) error {
	if err := from.stored.read(c); err != nil {
		return err
	}
	if err := c.parse(from.text); err != nil {
		return fmt.Errorf("%s: %w", from.name, err)
	}
	if err := c.environment(from.environ); err != nil {
		return err
	}
	c.complete()
	return c.absolute()
}

// absolute makes the paths of folders absolute: processes that run in other folders use them too.
func (c *Config) absolute() (err error) {
	for _, dir := range []*string{&c.DataDir, &c.Backup.Dir, &c.Backup.To} {
		if *dir == "" || strings.Contains(*dir, "://") {
			continue
		}
		if *dir, err = filepath.Abs(*dir); err != nil {
			return fmt.Errorf("find the folder of the program: %w", err)
		}
	}
	return nil
}

func read(path string) (text []byte, name string, err error) {
	name = cmp.Or(path, File)
	text, err = os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && path == "":
		return nil, name, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, name, fmt.Errorf("there is no configuration file %s", name)
	case err != nil:
		return nil, name, fmt.Errorf("read the configuration: %w", err)
	}
	return text, name, nil
}

// complete fills in values that further models leave out, and the address of the page.
func (c *Config) complete() {
	if d := Default().HTTP; c.HTTP.PublicURL == d.PublicURL && c.HTTP.Listen != d.Listen {
		c.HTTP.PublicURL = c.HTTP.At(c.HTTP.Listen)
	}
	c.LLM.ContextWindow = cmp.Or(c.LLM.ContextWindow, c.LLM.window(), Default().LLM.ContextWindow)
	for i := range c.LLM.Fallbacks {
		c.LLM.Fallbacks[i].inherit(c.LLM)
	}
	for name, choice := range c.LLM.Choices {
		choice.inherit(c.LLM)
		for i := range choice.Fallbacks {
			choice.Fallbacks[i].inherit(choice.LLM)
		}
		c.LLM.Choices[name] = choice
	}
	if c.SummaryLLM.Provider != "" {
		c.SummaryLLM.inherit(c.LLM)
	}
	for i := range c.SummaryLLM.Fallbacks {
		c.SummaryLLM.Fallbacks[i].inherit(c.SummaryLLM)
	}
}

func (l *LLM) inherit(from LLM) {
	l.ContextWindow = cmp.Or(l.ContextWindow, l.window(), from.ContextWindow)
	l.MaxOutputTokens = cmp.Or(l.MaxOutputTokens, from.MaxOutputTokens)
	l.Timeout = cmp.Or(l.Timeout, from.Timeout)
	l.Currency = cmp.Or(l.Currency, from.Currency)
}

// window returns the window that is known of a model; 0: none. A server of one's own often gives a model less than it
// could read, so there it is at most the default.
func (l LLM) window() int {
	e, _ := catalog.Lookup(l.Model)
	u, err := url.Parse(l.BaseURL)
	if err != nil || l.BaseURL == "" {
		return e.Window
	}
	ip, err := netip.ParseAddr(u.Hostname())
	if err == nil && !ip.IsLoopback() && !ip.IsPrivate() || err != nil && strings.Contains(u.Hostname(), ".") {
		return e.Window
	}
	return min(e.Window, Default().LLM.ContextWindow)
}

// Sees reports whether a model, or one of its fallbacks, is sent pictures.
func (l LLM) Sees() bool {
	return l.SeesItself() || slices.ContainsFunc(l.Fallbacks, LLM.SeesItself)
}

// SeesItself reports whether a model is sent pictures, without its fallbacks.
func (l LLM) SeesItself() bool {
	e, _ := catalog.Lookup(l.Model)
	return l.Vision == "true" || l.Vision != "false" && e.Vision
}

// foreign reports whether a variable with our prefix names no key: it belongs to tests, scripts or the command line.
func foreign(name string) bool {
	return strings.HasPrefix(name, prefix+"TEST_") ||
		slices.Contains([]string{"EVERTHREAD_CRASH_AT", "EVERTHREAD_CACHE", "EVERTHREAD_CONFIG", "EVERTHREAD_POSTGRES"}, name)
}

// environment reads the variables that name keys. An empty one counts as unset.
func (c *Config) environment(environ []string) error {
	known := map[string]leaf{}
	for _, l := range leaves(reflect.ValueOf(c).Elem(), "") {
		known[l.variable()] = l
		if l.secret() {
			known[l.variable()+"_FILE"] = l
		}
	}
	given := map[string]string{}
	var errs []error
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, prefix) || foreign(name) {
			continue
		}
		l, ok := known[name]
		if !ok {
			names := slices.Sorted(maps.Keys(known))
			errs = append(errs, fmt.Errorf("the environment variable %s means nothing%s", name, hint(name, names)))
			continue
		}
		if value == "" {
			continue
		}
		if other := given[l.path]; other != "" && other != name {
			errs = append(errs, fmt.Errorf("both %s and %s are set; keep one", min(name, other), max(name, other)))
			continue
		}
		given[l.path] = name
		c.given(l.path, Origin{FromEnvironment, name})
		if err := l.fromEnvironment(name, value); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

func (l leaf) fromEnvironment(name, value string) error {
	switch {
	case name != l.variable():
		b, err := os.ReadFile(value)
		if err != nil {
			return fmt.Errorf("read the secret: %w", err)
		}
		l.value.SetString(strings.TrimSpace(string(b)))
		return nil
	case l.value.Kind() == reflect.Map, l.value.Kind() == reflect.Slice && l.value.Type() != reflect.TypeFor[[]string]():
		return l.fromYAML(value)
	}
	return set(l.value, value)
}

func list(value string) []string {
	var out []string
	for part := range strings.SplitSeq(value, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// At returns the web address of a listener on this machine.
func (h HTTP) At(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return h.PublicURL // Validate reports what is wrong
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

//go:embed everthread.example.yaml
var example string

// Example returns the commented example: every key with its default.
func Example(sections ...section.Section) []byte {
	const at = "\nchannels:\n"
	before, after, _ := strings.Cut(example, at)
	text := before + at
	for _, s := range sections {
		text += s.Example()
	}
	return []byte(text + after)
}

// Room is how the window of the models that answer is shared out, in tokens. The rest is a
// margin for models whose tokenizer differs from ours.
type Room struct {
	Window  int // the smallest of the models that may answer
	Output  int // the answer
	Schemas int // descriptions of tools, at most
	Results int // what tools return within a turn, at least
	Prompt  int // everything else before the answer
}

// Shares of a window, and their maxima.
const (
	windowMargin  = 20
	schemasShare  = 5
	mostSchemas   = 3000
	resultsShare  = 6
	outputShare   = 8
	usualOutput   = 1024
	previewsShare = 12
)

// Smallest returns the smallest context window of the models that may answer.
func (l LLM) Smallest() int {
	w := l.ContextWindow
	if w == 0 {
		w = Default().LLM.ContextWindow
	}
	for _, f := range l.Fallbacks {
		if f.ContextWindow > 0 {
			w = min(w, f.ContextWindow)
		}
	}
	return w
}

// Usable returns how much of the window a request may use, with its answer.
func (l LLM) Usable() int { return l.Smallest() - l.Smallest()/windowMargin }

// Output returns the tokens that are kept free for an answer: its limit, or without one what answers usually need.
func (l LLM) Output() int {
	return cmp.Or(l.MaxOutputTokens, min(usualOutput, l.Smallest()/outputShare))
}

// Room shares out the window of the models that answer.
func (c Config) Room() Room {
	w := c.LLM.Smallest()
	r := Room{Window: w, Output: c.LLM.Output(), Schemas: min(w/schemasShare, mostSchemas),
		Results: min(c.Agent.ToolTokens, w/resultsShare)}
	r.Prompt = c.LLM.Usable() - r.Output - r.Schemas - r.Results
	return r
}

// Extras bounds the instructions and tools of a program.
func (r Room) Extras() int { return r.Prompt + r.Schemas - leastPrompt }

// leastPrompt is the smallest prompt of a conversation.
const leastPrompt = 1000

// Tiny reports whether no conversation has room in the window.
func (r Room) Tiny() bool { return r.Prompt < leastPrompt }

// Short reports whether the defaults do not fit the window, so that they depend on it.
func (r Room) Short() bool { return r.Prompt < Default().Context.TotalTokens }

// Tight reports whether the descriptions of all tools may not fit.
func (r Room) Tight() bool { return r.Schemas < mostSchemas }

// suit chooses the defaults that depend on the window of the models that answer: those that
// do not fit a small window are reduced in proportion. given holds the configured keys.
func (c *Config) suit(window int, given Config) {
	d := Default()
	c.Agent.ResultTokens = min(d.Agent.ResultTokens, window/resultsShare)
	r := given.Room()
	if !r.Short() {
		return
	}
	x := &c.Context
	for _, n := range []*int{&x.TodayRawTokens, &x.TodaySummaryTokens, &x.LastConversationTokens, &x.OpenLoopsTokens,
		&x.TargetTokens} {
		*n = *n * r.Prompt / d.Context.TotalTokens
	}
	x.TotalTokens, x.MaxContextTokens = r.Prompt, min(x.MaxContextTokens, r.Prompt)
	c.Documents.PreviewTokens = min(c.Documents.PreviewTokens, r.Prompt/previewsShare)
}

package configs

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/everthread/everthread/configs/section"
)

// File is what Load reads if no path is given and it exists.
const File = "everthread.yaml"

// Load reads the configuration: the defaults, which suit the window of the models that it
// names, then the file, then the environment. environ is like os.Environ, sections are as for Default. A path that is
// given must exist. What the values mean is not checked; see Validate. Errors repeat
// nothing that looks like a key.
func Load(path string, environ []string, sections ...section.Section) (Config, error) {
	c := Default(sections...)
	text, name, err := read(path)
	if err == nil {
		err = c.load(text, name, environ)
	}
	if window := c.LLM.Smallest(); err == nil && window < Default().LLM.ContextWindow {
		given := c
		c = Default(sections...)
		c.suit(window, given)
		err = c.load(text, name, environ)
	}
	return c, redact(err)
}

// load reads the text of a file and the environment over what is there.
func (c *Config) load(text []byte, name string, environ []string) error {
	if err := c.parse(text); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := c.environment(environ); err != nil {
		return err
	}
	c.complete()
	return nil
}

func read(path string) (text []byte, name string, err error) {
	name = path
	if path == "" {
		name = File
	}
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

// complete gives further models what they do not say themselves, and the page the
// address that is listened on.
func (c *Config) complete() {
	if d := Default().HTTP; c.HTTP.PublicURL == d.PublicURL && c.HTTP.Listen != d.Listen {
		c.HTTP.PublicURL = c.HTTP.At(c.HTTP.Listen)
	}
	for i := range c.LLM.Fallbacks {
		c.LLM.Fallbacks[i].inherit(c.LLM)
	}
	if c.SummaryLLM.Provider != "" {
		c.SummaryLLM.inherit(c.LLM)
	}
	for i := range c.SummaryLLM.Fallbacks {
		c.SummaryLLM.Fallbacks[i].inherit(c.SummaryLLM)
	}
}

func (l *LLM) inherit(from LLM) {
	if l.ContextWindow == 0 {
		l.ContextWindow = from.ContextWindow
	}
	if l.MaxOutputTokens == 0 {
		l.MaxOutputTokens = from.MaxOutputTokens
	}
	if l.Timeout == 0 {
		l.Timeout = from.Timeout
	}
}

// foreign reports whether a variable with our prefix is not about a key: it
// belongs to tests, scripts or the command line.
func foreign(name string) bool {
	return strings.HasPrefix(name, prefix+"TEST_") ||
		slices.Contains([]string{"EVERTHREAD_CRASH_AT", "EVERTHREAD_CACHE", "EVERTHREAD_CONFIG", "EVERTHREAD_POSTGRES"}, name)
}

// environment reads the variables that name keys. One that is empty counts as
// not set.
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
			errs = append(errs, fmt.Errorf("the environment variable %s means nothing%s", name, hint(name, sorted(known))))
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
		if err := l.fromEnvironment(name, value); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

func sorted(m map[string]leaf) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
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
	case l.value.Type() == reflect.TypeFor[[]string]():
		l.value.Set(reflect.ValueOf(list(value)))
		return nil
	case l.value.Kind() == reflect.Slice:
		return l.fromYAML(value)
	}
	return set(l.value, value)
}

// list splits a,b at the commas.
func list(value string) []string {
	var out []string
	for part := range strings.SplitSeq(value, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// At is the web address of this machine at which a listener on listen is reached.
func (h HTTP) At(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return h.PublicURL // Validate says what is wrong
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

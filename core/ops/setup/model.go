package setup

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text/i18n"
)

type service struct {
	name, provider, base string
	keys                 bool   // it wants a key
	variable             string // of the environment, in which programs expect the key
	likes                []string
}

// services returns those that are offered by name. other: any that speaks OpenAI's API.
func services() []service {
	return []service{
		{"openai", "openai", "", true, "OPENAI_API_KEY", []string{"gpt-5-mini", "gpt-5", "gpt-4.1-mini"}},
		{"anthropic", "anthropic", "", true, "ANTHROPIC_API_KEY", []string{"claude-sonnet", "claude-haiku"}},
		{"openrouter", "openai", "https://openrouter.ai/api/v1", true, "OPENROUTER_API_KEY",
			[]string{"openai/gpt-5-mini"}},
		{name: "ollama", provider: "openai", base: "http://127.0.0.1:11434/v1",
			likes: []string{"qwen3", "gpt-oss", "llama3", "mistral"}}, // they call tools
		{name: "other", provider: "openai", keys: true},
		{name: "demo", provider: "demo"},
	}
}

func serviceOf(name string) (service, bool) {
	i := slices.IndexFunc(services(), func(s service) bool { return s.name == name })
	if i < 0 {
		return service{}, false
	}
	return services()[i], true
}

type candidate struct {
	Model
	service service
	keyed   bool // nothing more is asked of the key
}

// model asks for a model until it answers.
func (q *asking) model(ctx context.Context) error {
	c := q.givenModel()
	for {
		if err := q.provider(ctx, c); err != nil {
			return err
		}
		if c.Provider == "demo" {
			q.a.LLM = c.Model
			q.Say(q.DemoChosen)
			return nil
		}
		if err := q.key(ctx, c); err != nil {
			return err
		}
		wrong, err := q.name(ctx, c)
		if err != nil {
			return err
		}
		var reduced []core.Reduction
		if wrong == nil {
			q.sayf(q.ModelTrying, c.Name)
			reduced, wrong = q.Try.Model(ctx, c.Model)
		}
		if wrong == nil {
			q.sayf(q.ModelAnswers, c.Name)
			if len(reduced) > 0 {
				q.sayf(q.ModelReduced, i18n.Reduced(q.Language, reduced))
			}
			c.Window = q.window(ctx, c.Model)
			q.a.LLM = c.Model
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		q.refuse(wrong)
		c.forget(wrong)
	}
}

// givenModel returns the model that the environment names.
func (q *asking) givenModel() *candidate {
	l := q.Given.LLM
	if l.Provider == "demo" {
		return &candidate{}
	}
	m := Model{Service: l.Provider, Provider: l.Provider, BaseURL: l.BaseURL, Key: string(l.APIKey), Name: l.Model}
	if l.BaseURL != "" {
		m.Service = "other"
	}
	return &candidate{m, service{name: m.Service, provider: l.Provider, keys: true}, m.Key != ""}
}

// forget drops the answer that was most likely wrong.
func (c *candidate) forget(wrong error) {
	kind := core.ModelDown
	if failed, ok := errors.AsType[*core.ModelError](wrong); ok {
		kind = failed.Kind
	}
	switch {
	case kind == core.ModelAuth && c.service.keys:
		c.Key, c.keyed, c.service.variable = "", false, "" // the environment would give it once more
	case kind == core.ModelConfig || kind == core.ModelRejected || kind == core.ModelTooLong:
		c.Name = ""
	default:
		*c = candidate{}
	}
}

// provider asks for the service, and for its address if that is not known.
func (q *asking) provider(ctx context.Context, c *candidate) error {
	if c.Provider != "" {
		return nil
	}
	var options []Option
	for _, s := range services() {
		options = append(options, Option{s.name, q.Services[s.name]})
	}
	answer, err := q.Asker.Ask(ctx, Question{ID: "provider", Title: q.ProviderTitle, Help: q.ProviderHelp,
		Options: options, Default: "demo", Free: true})
	if err != nil {
		return err
	}
	s, known := serviceOf(answer)
	if c.service, c.BaseURL = s, s.base; !known {
		c.service, _ = serviceOf("other")
		if c.BaseURL, err = address(answer); err != nil {
			q.sayf(q.ProviderWrong, answer)
			return q.provider(ctx, c)
		}
	}
	for c.service.name == "other" && c.BaseURL == "" {
		answer, err := q.Asker.Ask(ctx, Question{ID: "url", Title: q.URLTitle, Help: q.URLHelp + "\n" + q.Back, Back: true})
		if err != nil {
			return err
		}
		if answer == "" {
			return q.provider(ctx, c)
		}
		if c.BaseURL, err = address(answer); err != nil {
			q.Say(q.URLWrong)
		}
	}
	c.Service, c.Provider = c.service.name, c.service.provider
	return nil
}

// address returns a web address without what people copy behind it.
func address(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("no web address")
	}
	return strings.TrimSuffix(strings.TrimRight(text, "/"), "/chat/completions"), nil
}

// key asks for the key of a service that wants one.
func (q *asking) key(ctx context.Context, c *candidate) (err error) {
	if !c.service.keys || c.keyed {
		return nil
	}
	if c.service.variable != "" && c.Key == "" {
		c.Key = q.Environ(c.service.variable)
	}
	if c.service.variable != "" && c.Key != "" {
		q.sayf(q.KeyFound, c.service.variable)
	} else {
		c.Key, err = q.Asker.Ask(ctx, Question{ID: "key", Title: q.KeyTitle, Help: q.KeyHelp[c.service.name], Secret: true,
			Empty: c.service.name == "other"})
	}
	c.keyed = err == nil
	return err
}

// name asks for the model, of those that the server lists if it does. wrong is what is wrong with the server.
func (q *asking) name(ctx context.Context, c *candidate) (wrong, err error) {
	if c.Name != "" {
		return nil, nil
	}
	names, wrong := q.Try.Models(ctx, c.Model)
	if wrong != nil {
		return wrong, nil
	}
	if names = Talking(names); len(names) == 1 {
		c.Name = names[0]
		return nil, nil
	}
	ask := Question{ID: "model", Title: q.ModelTitle, Help: q.ModelHelp, Free: true,
		Default: liked(names, c.service.likes)}
	if len(names) == 0 {
		ask.Help = q.ModelUnlisted
	}
	for _, name := range names {
		ask.Options = append(ask.Options, Option{name, name})
	}
	c.Name, err = q.Asker.Ask(ctx, ask)
	return nil, err
}

// Talking returns the models that talk, sorted.
func Talking(names []string) []string {
	return slices.Sorted(slices.Values(slices.DeleteFunc(slices.Clone(names), silent)))
}

// silent reports whether a model is one that does not talk.
func silent(name string) bool {
	parts := []string{"embed", "whisper", "tts", "dall-e", "image", "moderation", "transcribe", "realtime", "audio",
		"sora", "babbage", "davinci"}
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(strings.ToLower(name), part) })
}

// liked returns the first name that begins with a liked one, else the first.
func liked(names, likes []string) string {
	for _, like := range likes {
		i := slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(name, like) })
		if i >= 0 {
			return names[i]
		}
	}
	if len(names) > 0 {
		return names[0]
	}
	return ""
}

// Windows below leastWindow are too small to talk in; below shortWindow, prompts and results are short.
const leastWindow, shortWindow = 4096, 12_288

// window returns the window of a model where it is less or more than the default; with too
// large a default, servers would cut prompts without a word.
func (q *asking) window(ctx context.Context, m Model) int {
	n := q.Try.Window(ctx, m)
	said := i18n.Number(q.Language, n)
	switch {
	case n == 0:
	case n < leastWindow:
		q.sayf(q.WindowSmall, said, i18n.Number(q.Language, leastWindow))
		n = 0
	case n < shortWindow:
		q.sayf(q.WindowShort, said)
	default:
		q.sayf(q.WindowIs, said)
	}
	return n
}

package setup

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/words"
)

// service is a provider of models.
type service struct {
	name     string
	provider string
	base     string
	keys     bool   // it wants a key
	variable string // what programs call that in the environment
	likes    []string
}

// services are those that are offered by name. other: any that speaks OpenAI's API.
func services() []service {
	return []service{
		{name: "openai", provider: "openai", keys: true, variable: "OPENAI_API_KEY",
			likes: []string{"gpt-5-mini", "gpt-5", "gpt-4.1-mini"}},
		{name: "anthropic", provider: "anthropic", keys: true, variable: "ANTHROPIC_API_KEY",
			likes: []string{"claude-sonnet", "claude-haiku"}},
		{name: "openrouter", provider: "openai", base: "https://openrouter.ai/api/v1", keys: true,
			variable: "OPENROUTER_API_KEY", likes: []string{"openai/gpt-5-mini"}},
		{name: "ollama", provider: "openai", base: "http://127.0.0.1:11434/v1"},
		{name: "other", provider: "openai", keys: true},
		{name: "demo", provider: "demo"},
	}
}

// model asks for a model until it answers.
func (q *asking) model(ctx context.Context) error {
	m, s := q.givenModel()
	keyed := m.Key != ""
	for {
		if err := q.whose(ctx, &m, &s); err != nil {
			return err
		}
		if m.Provider == "demo" {
			q.a.LLM = m
			q.Say(q.DemoChosen)
			return nil
		}
		if err := q.key(ctx, &m, s, &keyed); err != nil {
			return err
		}
		err := q.which(ctx, &m, s)
		if err == nil {
			q.sayf(q.ModelTrying, m.Name)
			err = q.Try.Model(ctx, m)
		}
		if err == nil {
			q.sayf(q.ModelAnswers, m.Name)
			m.Window = q.window(ctx, m)
			q.a.LLM = m
			return nil
		}
		if ctx.Err() != nil || errors.Is(err, errAsk) {
			return errors.Join(ctx.Err(), err)
		}
		q.sayf(q.Wrong, q.said(err))
		again(err, &m, &s, &keyed)
	}
}

// window is how much a model reads, where that is less or more than what is taken for
// granted. With too small a window prompts would be cut without a word.
func (q *asking) window(ctx context.Context, m Model) int {
	n := q.Try.Window(ctx, m)
	said := words.Number(q.Language, n)
	switch {
	case n == 0:
		return 0
	case n < leastWindow:
		q.sayf(q.WindowSmall, said, words.Number(q.Language, leastWindow))
		return 0
	case n < shortWindow:
		q.sayf(q.WindowShort, said)
		return n
	}
	q.sayf(q.WindowIs, said)
	return n
}

// Windows that are too small to talk in, and such in which prompts and results are short.
const (
	leastWindow = 4096
	shortWindow = 12_288
)

// again forgets the answer that was most likely wrong.
func again(err error, m *Model, s *service, keyed *bool) {
	var failed *core.ModelError
	kind := core.ModelDown
	if errors.As(err, &failed) {
		kind = failed.Kind
	}
	switch {
	case kind == core.ModelAuth && s.keys:
		m.Key, *keyed = "", false
	case kind == core.ModelConfig || kind == core.ModelRejected || kind == core.ModelTooLong:
		m.Name = ""
	default:
		*m, *s, *keyed = Model{}, service{}, false
	}
}

// givenModel is the model that the environment names.
func (q *asking) givenModel() (Model, service) {
	l := q.Given.LLM
	if l.Provider == "demo" {
		return Model{}, service{}
	}
	m := Model{Service: l.Provider, Provider: l.Provider, BaseURL: l.BaseURL, Key: string(l.APIKey), Name: l.Model}
	if l.BaseURL != "" {
		m.Service = "other"
	}
	return m, service{name: m.Service, provider: l.Provider, keys: true}
}

// whose asks who runs the model, and where.
func (q *asking) whose(ctx context.Context, m *Model, s *service) error {
	if m.Provider != "" {
		return nil
	}
	options := []Option{}
	for _, x := range services() {
		options = append(options, Option{x.name, q.Services[x.name]})
	}
	answer, err := q.Asker.Ask(ctx, Question{ID: "provider", Title: q.ProviderTitle, Help: q.ProviderHelp,
		Options: options, Default: "demo", Free: true})
	if err != nil {
		return err
	}
	n := slices.IndexFunc(services(), func(x service) bool { return x.name == answer })
	if n < 0 {
		n = slices.IndexFunc(services(), func(x service) bool { return x.name == "other" })
		*s = services()[n]
		if m.BaseURL, err = address(answer); err != nil {
			q.sayf(q.ProviderWrong, answer)
			return q.whose(ctx, m, s)
		}
	}
	*s = services()[n]
	m.Service = s.name
	if s.name != "other" {
		m.BaseURL = s.base
	}
	for s.name == "other" && m.BaseURL == "" {
		answer, err := q.Asker.Ask(ctx, Question{ID: "url", Title: q.URLTitle, Help: q.URLHelp})
		if err != nil {
			return err
		}
		if m.BaseURL, err = address(answer); err != nil {
			q.Say(q.URLWrong)
		}
	}
	m.Provider = s.provider
	return nil
}

var errAddress = errors.New("no web address")

// address is a web address without what programs are known to append themselves.
func address(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", errAddress
	}
	return strings.TrimSuffix(strings.TrimRight(text, "/"), "/chat/completions"), nil
}

// key asks for the key of a service that wants one.
func (q *asking) key(ctx context.Context, m *Model, s service, keyed *bool) error {
	if !s.keys || *keyed {
		return nil
	}
	if s.variable != "" && m.Key == "" {
		if m.Key = q.Environ(s.variable); m.Key != "" {
			q.sayf(q.KeyFound, s.variable)
			*keyed = true
			return nil
		}
	}
	var err error
	m.Key, err = q.Asker.Ask(ctx, Question{ID: "key", Title: q.KeyTitle, Help: q.KeyHelp[s.name], Secret: true,
		Empty: s.name == "other"})
	*keyed = err == nil
	return err
}

// which asks for the model, of those that the server lists if it does.
func (q *asking) which(ctx context.Context, m *Model, s service) error {
	if m.Name != "" {
		return nil
	}
	names, err := q.Try.Models(ctx, *m)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, silent)
	if len(names) == 1 {
		m.Name = names[0]
		return nil
	}
	slices.Sort(names)
	ask := Question{ID: "model", Title: q.ModelTitle, Help: q.ModelHelp, Default: liked(names, s.likes), Free: true}
	if len(names) == 0 {
		ask.Help = q.ModelUnlisted
	}
	for _, name := range names {
		ask.Options = append(ask.Options, Option{name, name})
	}
	answer, err := q.Asker.Ask(ctx, ask)
	if err != nil {
		return errors.Join(errAsk, err)
	}
	m.Name = answer
	return nil
}

// errAsk marks that a question was not answered.
var errAsk = errors.New("no answer")

// silent reports whether a model is one that does not talk.
func silent(name string) bool {
	for _, part := range []string{"embed", "whisper", "tts", "dall-e", "image", "moderation", "transcribe", "realtime",
		"audio", "sora", "babbage", "davinci"} {
		if strings.Contains(strings.ToLower(name), part) {
			return true
		}
	}
	return false
}

// liked is the first of the names that begins with one that is liked, or the first.
func liked(names, likes []string) string {
	for _, like := range likes {
		for _, name := range names {
			if strings.HasPrefix(name, like) {
				return name
			}
		}
	}
	if len(names) > 0 {
		return names[0]
	}
	return ""
}

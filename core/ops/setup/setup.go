// Package setup is the wizard of a new gateway: it asks for a model that answers and a messaging app to write from. It
// tries every answer immediately, and says in one sentence what is wrong with it. It stands above the engine, takes
// answers from a person or a file, and writes the configuration and the files of services. It knows no store, and does
// not run the gateway.
package setup

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/chat/command"
)

// Answers are the result of the wizard.
type Answers struct {
	Language, Zone string
	Listen         string // address of the page, if it is not the default
	DataDir        string
	LLM            Model
	Channels       []Channel
	Database       string // URL; empty: embedded
	// Secret encrypts stored keys; with Database only.
	Secret string
}

// Model is the model that answers.
type Model struct {
	Service, Provider, BaseURL, Key, Name string
	Window                                int // tokens that it reads at a time; 0: unknown
}

// Channel is a channel that works with its answers.
type Channel struct {
	Key string // of its section
	channel.Tried
}

// Wizard asks the questions. All fields are required but Rand, which only a database needs.
type Wizard struct {
	Asker    Asker
	Say      func(text string) // to the person, a line
	Show     func(code string) // to the person, who scans it
	Language string
	// Given is the configuration of the environment. What it holds is not asked for.
	// Answers are written into its sections.
	Given configs.Config
	Host  channel.Host // for channels that are tried, without a store
	Zone  string       // of the machine; empty: unknown
	Now   time.Time
	// Environ looks up the variables in which programs expect the keys of services.
	Environ func(name string) string
	Try     Trials
	Rand    io.Reader
}

// Trials try answers. A wrong answer is a *Fault, which wraps a *core.ModelError if it is
// about a model; other errors say in English what to do.
type Trials interface {
	// Models lists the models of a server; nil without an error: it does not say.
	Models(ctx context.Context, m Model) ([]string, error)
	// Model asks a model for a word, and returns what its server does not take.
	Model(ctx context.Context, m Model) ([]core.Reduction, error)
	// Window returns how many tokens a model that has answered reads at a time; 0: its server does not say.
	Window(ctx context.Context, m Model) int
	// Database connects to a database.
	Database(ctx context.Context, url string) error
}

// asking is a Wizard at work.
type asking struct {
	*Wizard
	*texts
	a     Answers
	wrong string // what was said last of an answer
}

// Run asks all questions.
func (w *Wizard) Run(ctx context.Context) (Answers, error) {
	q := &asking{Wizard: w, texts: wordsOf(w.Language)}
	q.a.Language, q.a.Zone = w.Language, w.Zone
	for _, step := range []func(context.Context) error{q.model, q.zone, q.usual, q.more} {
		err := step(ctx)
		if errors.Is(err, ErrUnanswered) && q.wrong != "" {
			err = fmt.Errorf("%w; %s", err, q.wrong)
		}
		if err != nil {
			return q.a, err
		}
	}
	return q.a, nil
}

// refuse says what is wrong with an answer.
func (q *asking) refuse(wrong error) {
	q.wrong = q.said(wrong)
	q.sayf(q.Wrong, q.wrong)
}

// zone asks where the person lives, if the machine is one that does not know.
func (q *asking) zone(ctx context.Context) error {
	if q.Zone != "" && !slices.Contains([]string{"UTC", "Etc/UTC", "Etc/GMT", "GMT"}, q.Zone) {
		return nil
	}
	for {
		answer, err := q.Asker.Ask(ctx, Question{ID: "zone", Title: q.ZoneTitle, Help: q.ZoneHelp, Default: "UTC"})
		if err != nil {
			return err
		}
		if zone, ok := command.Zone(answer, q.Now); ok {
			q.a.Zone = zone
			return nil
		}
		q.Say(q.ZoneUnknown)
	}
}

func (q *asking) sayf(format string, args ...any) { q.Say(fmt.Sprintf(format, args...)) }

func (q *asking) guides() []guide {
	var out []guide
	for _, s := range q.Given.Channels.Sections {
		if g, ok := s.(channel.Guided); ok {
			out = append(out, guide{s.Key(), g.Guide(q.Language, q.Host)})
		}
	}
	return out
}

type guide struct {
	key string
	channel.Guide
}

// usual sets up the channels that are offered to everybody.
func (q *asking) usual(ctx context.Context) error {
	for _, g := range q.guides() {
		if g.Option == "" {
			given := !slices.ContainsFunc(g.Fields, func(f channel.Field) bool { return *f.Into == "" })
			if err := q.channel(ctx, g, given); err != nil {
				return err
			}
		}
	}
	return nil
}

// channel asks for a channel until the answers work, or it is not wanted. given: the first
// answers are in the configuration.
func (q *asking) channel(ctx context.Context, g guide, given bool) error {
	for ; ; given = false {
		if wanted, err := q.fields(ctx, g, given); err != nil || !wanted {
			return err
		}
		tried, err := q.tried(ctx, g)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			q.a.Channels = append(slices.DeleteFunc(q.a.Channels, func(c Channel) bool { return c.Key == g.key }),
				Channel{g.key, tried})
			q.Say(tried.Said)
			return nil
		}
		q.refuse(err)
	}
}

// tried tries the answers of a channel, after a code was scanned if that was chosen.
func (q *asking) tried(ctx context.Context, g guide) (channel.Tried, error) {
	if slices.ContainsFunc(g.Fields, func(f channel.Field) bool { return f.Scan && *f.Into == channel.ScanAnswer }) {
		scan, err := g.Scan(ctx)
		if err != nil {
			return channel.Tried{}, err
		}
		q.Say(scan.Help)
		q.Show(scan.Code)
		if err := scan.Done(ctx); err != nil {
			return channel.Tried{}, err
		}
	}
	return g.Try(ctx)
}

// fields asks for all fields of a channel, unless they are given. An empty answer leads back from a channel that was
// chosen.
func (q *asking) fields(ctx context.Context, g guide, given bool) (wanted bool, err error) {
	for _, f := range g.Fields {
		for well := given; !well; {
			*f.Into, err = q.Asker.Ask(ctx, Question{ID: f.ID, Title: f.Title, Help: f.Help, Secret: f.Secret,
				Default: f.Default, Empty: f.Empty || g.Option != ""})
			if err != nil || *f.Into == "" {
				return false, err
			}
			if well = f.Form == nil || f.Form.MatchString(*f.Into); !well {
				q.Say(f.Malformed)
			}
		}
	}
	return true, nil
}

// more offers what few want, as often as something is chosen.
func (q *asking) more(ctx context.Context) error {
	options, next := []Option{{"no", q.MoreNo}}, map[string]func() error{}
	for _, g := range q.guides() {
		if g.Option != "" {
			options = append(options, Option{g.key, g.Option})
			next[g.key] = func() error {
				q.Say(q.Back)
				return q.channel(ctx, g, false)
			}
		}
	}
	options = append(options, Option{"database", q.MoreDatabase})
	next["database"] = func() error { return q.database(ctx) }
	for {
		answer, err := q.Asker.Ask(ctx, Question{ID: "more", Title: q.MoreTitle, Default: "no", Options: options})
		if err != nil || next[answer] == nil {
			return err
		}
		if err := next[answer](); err != nil {
			return err
		}
	}
}

// database asks for a database until it answers.
func (q *asking) database(ctx context.Context) error {
	for {
		url, err := q.Asker.Ask(ctx, Question{ID: "database", Title: q.DatabaseTitle, Help: q.DatabaseHelp, Secret: true,
			Empty: true})
		if err != nil || url == "" {
			return err
		}
		err = q.Try.Database(ctx, url)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			q.a.Database = url
			if q.a.Secret, err = newSecret(q.Rand); err == nil {
				q.Say(q.DatabaseGood)
			}
			return err
		}
		q.refuse(err)
	}
}

// newSecret returns 32 random bytes in hexadecimal.
func newSecret(random io.Reader) (string, error) {
	b := make([]byte, 32)
	_, err := io.ReadFull(random, b)
	return hex.EncodeToString(b), err
}

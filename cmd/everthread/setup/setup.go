// Package setup asks what it takes to begin (SPEC 16, init): a model that
// answers, a messaging app to write from. Every answer is tried at once, and what
// is wrong with it is said in one sentence. It knows neither terminals nor stores.
package setup

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/everthread/everthread/configs"
)

// Answers are what was found out.
type Answers struct {
	Language string
	Zone     string
	Listen   string // of the page, where it differs from the default
	DataDir  string
	LLM      Model
	Telegram Telegram
	WhatsApp WhatsApp
	Matrix   Matrix
	Database string // URL; empty: embedded
	// Secret encrypts stored keys; with Database only.
	Secret string
}

// Model is the model that answers.
type Model struct{ Service, Provider, BaseURL, Key, Name string }

// Telegram is a bot. APIURL is empty but for a server of one's own.
type Telegram struct{ Token, Bot, APIURL string }

// WhatsApp is a business number.
type WhatsApp struct{ Number, Token, AppSecret, Verify string }

// Matrix is an account on a homeserver.
type Matrix struct{ Homeserver, User, Password string }

// Wizard asks. All fields are required but Rand, which only a database needs.
type Wizard struct {
	Asker    Asker
	Say      func(text string) // to the person, a line
	Language string            // en or fr
	// Given is the configuration that the environment makes: what stands in it is
	// not asked for.
	Given configs.Config
	// Environ looks up what other programs call the keys of services.
	Environ func(name string) string
	Try     Trials
	Rand    io.Reader
}

// Trials find out whether answers are right. What they find wrong is a *Fault, of a
// model over a *core.ModelError; other errors say what to do in English.
type Trials interface {
	// Models lists what a server offers; nil without an error: it does not tell.
	Models(ctx context.Context, m Model) ([]string, error)
	// Model has a model say a word.
	Model(ctx context.Context, m Model) error
	// Bot tells the name of the bot that a token is of.
	Bot(ctx context.Context, token string) (string, error)
	Database(ctx context.Context, url string) error
	WhatsApp(ctx context.Context, w WhatsApp) error
	// Matrix signs in with the password, and out again: no device is left.
	Matrix(ctx context.Context, m Matrix) error
}

// asking is a Wizard at work.
type asking struct {
	*Wizard
	words
	a Answers
}

// Run asks everything.
func (w *Wizard) Run(ctx context.Context) (Answers, error) {
	q := &asking{Wizard: w, words: wordsOf(w.Language)}
	q.a.Language = w.Language
	for _, step := range []func(context.Context) error{q.model, q.telegram, q.more} {
		if err := step(ctx); err != nil {
			return q.a, err
		}
	}
	return q.a, nil
}

// sayf writes a line.
func (q *asking) sayf(format string, args ...any) { q.Say(fmt.Sprintf(format, args...)) }

// token is what @BotFather gives out.
var token = regexp.MustCompile(`^[0-9]+:[A-Za-z0-9_-]+$`)

// telegram asks for a bot until its token is right, or none is wanted.
func (q *asking) telegram(ctx context.Context) error {
	given := q.Given.Channels.Telegram
	if given.APIURL != configs.Default().Channels.Telegram.APIURL {
		q.a.Telegram.APIURL = given.APIURL
	}
	answer := string(given.Token)
	for {
		if answer == "" {
			var err error
			if answer, err = q.Asker.Ask(ctx, Question{ID: "telegram", Title: q.telegramTitle, Help: q.telegramHelp, Secret: true, Empty: true}); err != nil {
				return err
			}
		}
		if answer == "" {
			return nil
		}
		if !token.MatchString(answer) {
			q.Say(q.telegramNoToken)
			answer = ""
			continue
		}
		name, err := q.Try.Bot(ctx, answer)
		if err == nil {
			q.a.Telegram.Token, q.a.Telegram.Bot = answer, name
			q.sayf(q.telegramBot, name)
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		q.sayf(q.wrong, q.said(err))
		answer = ""
	}
}

// more offers what few want, until nothing more is wanted.
func (q *asking) more(ctx context.Context) error {
	for {
		answer, err := q.Asker.Ask(ctx, Question{ID: "more", Title: q.moreTitle, Default: "no",
			Options: []Option{{"no", q.moreNo}, {"matrix", q.moreMatrix}, {"whatsapp", q.moreWhatsApp}, {"database", q.moreDatabase}}})
		if err != nil {
			return err
		}
		next := map[string]func(context.Context) error{"matrix": q.matrix, "whatsapp": q.whatsapp, "database": q.database}[answer]
		if next == nil {
			return nil
		}
		if err := next(ctx); err != nil {
			return err
		}
	}
}

// plain is an error as a person reads it: one sentence without the names that
// only programs need.
func plain(err error) string {
	text := strings.TrimSpace(err.Error())
	for _, kind := range []string{"model down: ", "model busy: ", "model auth: ", "model config: ", "model rejected: ", "model too_long: "} {
		text = strings.TrimPrefix(text, kind)
	}
	return strings.TrimSuffix(text, ".")
}

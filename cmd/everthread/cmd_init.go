package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/folder"
	"github.com/everthread/everthread/core/server"
	"github.com/everthread/everthread/core/setup"
	"github.com/everthread/everthread/core/trust/egress"
)

type initCmd struct {
	Plain   bool          `help:"Read plain lines, without keys that edit them. So it does without a terminal."`
	Answers string        `type:"path" placeholder:"FILE" help:"Take the answers from a file of lines such as \"provider: demo\", and ask nobody."`
	Force   bool          `help:"Make a new configuration where there is one; the old one is kept beside it."`
	Compose bool          `help:"Ask nothing; make the keys that docker-compose.yml in this folder needs, in .env. One that is there is kept."`
	Wait    time.Duration `default:"15m" help:"How long to wait for your first message; 0s: not at all."`
}

// beginning is one run of the wizard.
type beginning struct {
	*console
	initCmd
	setup.Texts
	words    string // the language
	answers  setup.Answers
	asker    *setup.Counted
	keyboard *setup.Keyboard // nil: answers do not come from a terminal
	file     string
	began    time.Time
	report   beginningReport
}

// beginningReport is what was done.
type beginningReport struct {
	File     string  `json:"file"`
	Backup   string  `json:"backup,omitempty"`
	Provider string  `json:"provider"`
	Model    string  `json:"model,omitempty"`
	Bot      string  `json:"bot,omitempty"`
	Database string  `json:"database"`
	Language string  `json:"language"`
	Zone     string  `json:"timezone,omitempty"`
	Answers  int     `json:"answers"` // until the first message was answered
	Link     string  `json:"link,omitempty"`
	Paired   string  `json:"paired,omitempty"` // the channel
	Answered bool    `json:"answered"`
	Page     string  `json:"page,omitempty"`
	Service  string  `json:"service,omitempty"` // a file
	Seconds  float64 `json:"seconds"`
}

// Run asks what it takes, writes the configuration, and waits for the first message.
func (i initCmd) Run(ctx context.Context, c *console) error {
	b := &beginning{console: c, initCmd: i, words: c.language(), began: time.Now()}
	b.Texts = setup.TextsOf(b.words)
	if i.Compose {
		return b.composeKeys()
	}
	if err := b.open(); err != nil {
		return err
	}
	defer b.giveBack()
	cfg, err := b.configure(ctx)
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return errors.New(b.Stopped)
		}
		return err
	}
	return b.begin(ctx, cfg)
}

// open finds out who answers, and where the configuration goes.
func (b *beginning) open() (err error) {
	if b.file, err = filepath.Abs(cmp.Or(b.configFile(), configs.File)); err != nil {
		return err
	}
	in, ok := b.in.(*os.File)
	keyboard := ok && term.IsTerminal(int(in.Fd()))
	b.asker = &setup.Counted{}
	switch {
	case b.Answers != "":
		f, err := os.Open(b.Answers)
		if err != nil {
			return errUsage{fmt.Errorf("read the answers: %w", folder.Cause(err))}
		}
		defer f.Close()
		answers, err := setup.ReadAnswers(f, setup.IDs(sections()...))
		if err != nil {
			return errUsage{err}
		}
		b.asker.Asker = &setup.Prepared{Answers: answers}
	case keyboard && isTerminal(b.out) && !b.Plain && !b.json && b.variable("TERM") != "dumb":
		if b.keyboard, err = setup.OpenKeyboard(in, drawn(b.out), b.interrupt); err != nil {
			return err
		}
		b.out = &screen{w: b.keyboard}
		b.asker.Asker = &setup.Plain{In: b.keyboard, Out: b.out, Language: b.words}
	default:
		var hidden func() func()
		if keyboard {
			hidden = func() func() { return setup.Hide(in) }
		}
		b.asker.Asker = &setup.Plain{In: setup.NewPiped(b.in, b.human(), hidden), Out: b.human(), Language: b.words}
	}
	return nil
}

// human is where people read: not among the JSON.
func (b *beginning) human() io.Writer {
	if b.json {
		return b.err
	}
	return b.out
}

// giveBack makes the terminal what it was.
func (b *beginning) giveBack() {
	if b.keyboard != nil {
		b.keyboard.Close()
	}
}

func (b *beginning) say(text string) { fmt.Fprintln(b.human(), text) }

func (b *beginning) sayf(format string, args ...any) { b.say(fmt.Sprintf(format, args...)) }

// configure asks, and writes the configuration.
func (b *beginning) configure(ctx context.Context) (configs.Config, error) {
	b.sayf(b.Hello, b.file)
	if err := b.mayOverwrite(ctx); err != nil {
		return configs.Config{}, err
	}
	given, err := configs.Load(os.DevNull, b.environ, sections()...)
	if err != nil {
		return given, err
	}
	w := &setup.Wizard{Asker: b.asker, Say: b.say, Language: b.words, Given: given, Environ: b.variable,
		Try: setup.Trier{Given: given, Ping: pingStore}, Rand: rand.Reader,
		Host: channel.Host{Client: (*egress.Gate)(nil).Client,
			Now: clock(), Rand: rand.Reader}}
	answers, err := w.Run(ctx)
	if err != nil {
		return given, err
	}
	b.place(&answers, given)
	b.answers = answers
	return b.write(answers)
}

// mayOverwrite asks before a configuration is replaced.
func (b *beginning) mayOverwrite(ctx context.Context) error {
	if _, err := os.Lstat(b.file); err != nil || b.Force {
		return nil
	}
	refused := errUsage{fmt.Errorf("%s is there already; --force makes a new one and keeps the old one beside it",
		b.file)}
	if b.Answers != "" {
		return refused
	}
	answer, err := b.asker.Ask(ctx, setup.Question{ID: "overwrite", Title: fmt.Sprintf(b.Overwrite,
		filepath.Base(b.file)),
		Help: b.OverwriteHelp, Default: "no", Options: []setup.Option{{Value: "no", Label: b.No},
			{Value: "yes", Label: b.Yes}}})
	if err == nil && answer != "yes" {
		return refused
	}
	return err
}

// place adds what nobody needs to be asked for.
func (b *beginning) place(a *setup.Answers, given configs.Config) {
	d := configs.Default()
	a.Zone = setup.Zone(b.variable, "/etc/localtime")
	if given.DataDir == d.DataDir {
		a.DataDir = filepath.Join(filepath.Dir(b.file), "data")
	}
	if a.Database == "" && given.DatabaseURL != "" {
		a.Database, a.Secret = string(given.DatabaseURL), string(given.SecretKey)
	}
	if given.HTTP.Listen == d.HTTP.Listen {
		a.Listen = server.FreeNear(d.HTTP.Listen)
	}
}

// write writes the configuration, if it is right, in one step.
func (b *beginning) write(a setup.Answers) (configs.Config, error) {
	draft, err := setup.NewDraft(b.file, a.YAML())
	if err != nil {
		return configs.Config{}, fmt.Errorf("%s cannot be written: %w", b.file, folder.Cause(err))
	}
	defer func() { _ = draft.Drop() }() // gone already if it was kept
	cfg, err := configs.Load(draft.Path(), b.environ, sections()...)
	if err == nil {
		err = cfg.Validate()
	}
	if err != nil {
		return cfg, err
	}
	if b.report.Backup, err = draft.Keep(); err != nil {
		return cfg, fmt.Errorf("%s cannot be written: %w", b.file, folder.Cause(err))
	}
	if b.report.Backup != "" {
		b.sayf(b.Kept, b.report.Backup)
	}
	b.sayf(b.Written, b.file)
	b.report.File, b.report.Provider, b.report.Model = b.file, cfg.LLM.Provider, cfg.LLM.Model
	for _, c := range a.Channels {
		b.report.Bot = cmp.Or(b.report.Bot, c.Name)
	}
	b.report.Language, b.report.Zone, b.report.Database = a.Language, a.Zone,
		strings.Fields(engine.DatabaseName(cfg))[0]
	return cfg, nil
}

// pingStore has the database of a configuration answer.
func pingStore(ctx context.Context, c configs.Config) error {
	st, err := openStore(ctx, c)
	if err != nil {
		return err
	}
	defer st.Close()
	return st.Ping(ctx)
}

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

	"github.com/everthread/everthread/adapters/terminal"
	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/ops/disk"
	"github.com/everthread/everthread/core/ops/server"
	"github.com/everthread/everthread/core/ops/setup"
	"github.com/everthread/everthread/core/trust"
	"github.com/everthread/everthread/core/trust/egress"
)

type initCmd struct {
	Plain   bool          `help:"Read plain lines, without line editing; the default without a terminal."`
	Answers string        `type:"path" placeholder:"FILE" help:"File of answers, in lines such as \"provider: demo\"; nothing is asked."`
	Force   bool          `help:"Replace an existing configuration; the old one is kept beside it."`
	Compose bool          `help:"Ask nothing; write the keys that docker-compose.yml in this folder needs to .env, unless it has them."`
	Wait    time.Duration `default:"15m" help:"Time to wait for your first message; 0s: none."`
}

// beginning is one run of the wizard.
type beginning struct {
	*console
	initCmd
	setup.Texts
	answers  setup.Answers
	asker    *setup.Counted
	keyboard *terminal.Keyboard // nil: answers do not come from a terminal
	file     string
	columns  int // of the terminal; 0: there is none
	report   beginningReport
}

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

// Run asks the questions, writes the configuration, and waits for the first message.
func (i initCmd) Run(ctx context.Context, c *console) error {
	b, began := &beginning{console: c, initCmd: i, Texts: setup.TextsOf(c.language())}, time.Now()
	if i.Compose {
		return b.composeKeys()
	}
	if err := b.open(); err != nil {
		return err
	}
	defer b.giveBack()
	cfg, err := b.configure(ctx)
	if errors.Is(err, context.Canceled) {
		return errors.New(b.Stopped)
	}
	if err != nil {
		return err
	}
	if err := b.begin(ctx, cfg); err != nil {
		return err
	}
	b.report.Seconds = time.Since(began).Seconds()
	return b.show(b.report, func(io.Writer) {})
}

// open finds out who answers, and where the configuration goes.
func (b *beginning) open() (err error) {
	if b.file, err = filepath.Abs(cmp.Or(b.configFile(), configs.File)); err != nil {
		return err
	}
	b.asker = &setup.Counted{}
	if b.Answers != "" {
		b.asker.Asker, err = b.prepared()
		return err
	}
	in, ok := b.in.(*os.File)
	keyboard := ok && term.IsTerminal(int(in.Fd()))
	plain := &setup.Plain{Out: b.human(), Language: b.language()}
	if isTerminal(b.out) {
		plain.Columns, b.columns = widthOf(b.out), widthOf(b.out)
	}
	b.asker.Asker = plain
	if keyboard && isTerminal(b.out) && !b.Plain && !b.json && b.variable("TERM") != "dumb" {
		if b.keyboard, err = terminal.OpenKeyboard(in, drawn(b.out), b.interrupt); err != nil {
			return err
		}
		b.out = &trust.Screen{W: b.keyboard}
		plain.In, plain.Out = b.keyboard, b.out
		return nil
	}
	var hidden func() func()
	if keyboard {
		hidden = func() func() { return terminal.Hide(in) }
	}
	plain.In = setup.NewPiped(b.in, b.human(), hidden)
	return nil
}

func (b *beginning) prepared() (setup.Asker, error) {
	f, err := os.Open(b.Answers)
	if err != nil {
		return nil, errUsage{fmt.Errorf("read the answers: %w", disk.Cause(err))}
	}
	defer f.Close()
	answers, err := setup.ReadAnswers(f, setup.IDs(sections()...))
	if err != nil {
		return nil, errUsage{err}
	}
	return &setup.Prepared{Answers: answers}, nil
}

// human is where people read: not among the JSON.
func (b *beginning) human() io.Writer {
	if b.json {
		return b.err
	}
	return b.out
}

func (b *beginning) giveBack() {
	if b.keyboard != nil {
		b.keyboard.Close()
	}
}

func (b *beginning) say(text string) { fmt.Fprintln(b.human(), setup.Wrap(text, b.columns)) }

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
	w := &setup.Wizard{Asker: b.asker, Say: b.say, Show: b.showLink, Language: b.language(), Given: given, Environ: b.variable,
		Zone: setup.Zone(b.variable, "/etc/localtime"), Now: clock()(),
		Try: setup.Trier{Given: given, Ping: pingStore}, Rand: rand.Reader,
		Host: channel.Host{Client: (*egress.Gate)(nil).Client, Now: clock(), Rand: rand.Reader}}
	if b.answers, err = w.Run(ctx); err != nil {
		return given, err
	}
	b.place(given)
	return b.write()
}

func (b *beginning) mayOverwrite(ctx context.Context) error {
	if _, err := os.Lstat(b.file); err != nil || b.Force {
		return nil
	}
	refused := errUsage{fmt.Errorf("%s is there already; --force makes a new one and keeps the old one beside it", b.file)}
	if b.Answers != "" {
		return refused
	}
	answer, err := b.asker.Ask(ctx, setup.Question{ID: "overwrite", Title: fmt.Sprintf(b.Overwrite,
		filepath.Base(b.file)), Help: b.OverwriteHelp, Default: "no",
		Options: []setup.Option{{Value: "no", Label: b.No}, {Value: "yes", Label: b.Yes}}})
	if err == nil && answer != "yes" {
		return refused
	}
	return err
}

// place adds the answers that need no question.
func (b *beginning) place(given configs.Config) {
	a, d := &b.answers, configs.Default()
	a.DataDir = given.DataDir // a service has no such environment
	if unset, err := filepath.Abs(d.DataDir); err == nil && given.DataDir == unset {
		a.DataDir = filepath.Join(filepath.Dir(b.file), "data")
	}
	if a.Database == "" && given.DatabaseURL != "" {
		a.Database, a.Secret = string(given.DatabaseURL), string(given.SecretKey)
	}
	if a.Listen = given.HTTP.Listen; a.Listen == d.HTTP.Listen {
		a.Listen = server.FreeNear(d.HTTP.Listen)
	}
}

// write writes the configuration in one step, if it is valid.
func (b *beginning) write() (configs.Config, error) {
	draft, err := setup.NewDraft(b.file, b.answers.YAML())
	if err != nil {
		return configs.Config{}, err
	}
	defer func() { _ = draft.Drop() }() // gone already if it was kept
	cfg, err := configs.Load(draft.Path(), b.environ, sections()...)
	if err == nil {
		err = cfg.Validate()
	}
	if err == nil {
		b.report.Backup, err = draft.Keep()
	}
	if err != nil {
		return cfg, err
	}
	b.wrote(b.report.Backup, b.Written, b.file)
	r, a := &b.report, b.answers
	r.File, r.Provider, r.Model, r.Language, r.Zone = b.file, cfg.LLM.Provider, cfg.LLM.Model, a.Language, a.Zone
	r.Database, _, _ = strings.Cut(engine.DatabaseName(cfg), " ")
	for _, c := range a.Channels {
		r.Bot = cmp.Or(r.Bot, c.Name)
	}
	return cfg, nil
}

// wrote tells that a file was written, and where the old one is kept.
func (b *beginning) wrote(backup, format, file string) {
	if backup != "" {
		b.sayf(b.Kept, backup)
	}
	b.sayf(format, file)
}

func pingStore(ctx context.Context, c configs.Config) error {
	st, err := openStore(ctx, c)
	if err != nil {
		return err
	}
	defer st.Close()
	return st.Ping(ctx)
}

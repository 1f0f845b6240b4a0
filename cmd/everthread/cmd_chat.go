package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	"golang.org/x/term"

	"github.com/everthread/everthread/adapters/terminal"
	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/live"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/ops/datadir"
	"github.com/everthread/everthread/core/text/day"
	"github.com/everthread/everthread/core/text/markup"
	"github.com/everthread/everthread/core/trust"
)

type chatCmd struct {
	User string `placeholder:"U" help:"User to talk as (id or name); default: the owner."`
}

// graceChat is how long the end of a chat waits for what is being sent.
const graceChat = 2 * time.Second

type sitting struct {
	*engine.Engine
	con     *console
	user    core.User
	channel *terminal.Channel
	tty     *terminal.TTY // nil: lines come from a file or a pipe
	started time.Time
	told    map[core.TurnID]bool // whose failure was shown

	waiting  atomic.Bool // for a reply
	stopping atomic.Bool // it was asked to stop
}

// Run talks until the person leaves. It works on the store itself, with or without a running server.
func (cmd chatCmd) Run(c *console, cfg configs.Config) error {
	ctx, leave := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGHUP)
	defer leave()
	if err := engine.PrepareData(&cfg); err != nil {
		return err
	}
	log, closeLog, err := fileLogger(filepath.Join(cfg.DataDir, "chat.log"))
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	defer closeLog()
	st, err := openMigrated(ctx, cfg)
	if err != nil {
		return err
	}
	defer st.Close()
	if cfg, err = c.inForce(ctx, cfg, st); err != nil {
		return err
	}
	cfg.Turn.Debounce = 0 // a line is whole
	t := &sitting{con: c, started: clock()(), told: map[core.TurnID]bool{}}
	if err := t.sit(ctx, cmd.User, &opened{c, cfg, st}, log); err != nil {
		return err
	}
	if t.tty != nil {
		defer t.tty.Close()
		if err := t.greet(ctx); err != nil {
			return err
		}
	}
	return t.talk(ctx, leave)
}

// sit makes the process and gives the person at the keyboard their address.
func (t *sitting) sit(ctx context.Context, who string, d *opened, log *zap.Logger) (err error) {
	if err := engine.MakeOwner(ctx, d.store, clock()); err != nil {
		return err
	}
	if t.user, err = d.person(ctx, who); err != nil {
		return err
	}
	if err := t.openChannel(filepath.Join(d.cfg.DataDir, "media")); err != nil {
		return err
	}
	p, err := engine.NewServing(ctx, d.cfg, d.store, log, clock(), wall)
	if err != nil {
		return err
	}
	var shut func()
	if t.Engine, shut, err = hostEngine(ctx, p, d.store, t.channel); err != nil {
		return err
	}
	t.con.atEnd = append(t.con.atEnd, shut)
	_, _, err = d.store.Identify(ctx, t.channel.Address())
	if errors.Is(err, core.ErrNotFound) {
		_, err = d.store.AddIdentity(ctx, core.Identity{User: t.user.ID, Address: t.channel.Address(), Name: t.user.Name,
			LastUsed: t.started})
		if errors.Is(err, core.ErrExists) {
			err = nil // another chat was first
		}
	}
	return err
}

// openChannel opens the terminal: with a line editor if there is a person. files is the folder of attachments.
func (t *sitting) openChannel(files string) (err error) {
	lines := terminal.Plain(t.con.in)
	out := drawn(t.con.out) // it cleans what it shows
	screen := isTerminal(out)
	if in, ok := t.con.in.(*os.File); ok && screen && term.IsTerminal(int(in.Fd())) {
		t.tty = terminal.Open(in, out, "> ")
		lines, out = t.tty, t.tty
	}
	t.channel, err = terminal.New(terminal.Options{Lines: lines, Out: out, Person: t.person(),
		Name: t.user.Name, Rand: rand.Reader, Style: screen && !slices.ContainsFunc(t.con.environ, plainScreen), Now: clock(),
		Answered: t.answered, Files: files})
	return err
}

// plainScreen reports whether a variable asks for a screen without styles.
func plainScreen(entry string) bool {
	name, value, _ := strings.Cut(entry, "=")
	return entry == "TERM=dumb" || name == "NO_COLOR" && value != ""
}

// person returns the address of the person at the keyboard: their name on this machine,
// with the id of the user that they talk as if that is not the owner.
func (t *sitting) person() string {
	name := "me"
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	}
	if t.user.Role == core.RoleOwner {
		return name
	}
	return fmt.Sprintf("%s+%d", name, t.user.ID)
}

// shownAtStart is the number of messages that a chat begins with.
const shownAtStart = 10

// greet shows the newest messages of the conversation, and the owner code if it is needed.
func (t *sitting) greet(ctx context.Context) error {
	u, messages, err := t.live().Recent(ctx, shownAtStart)
	if err != nil {
		return err
	}
	language := cmp.Or(u.Settings.Language, t.Config.DefaultLanguage)
	today, last := t.Calendar.Day(u.Settings, t.Now()).Label, ""
	for _, m := range messages {
		if label := t.Calendar.Day(u.Settings, m.SentAt).Label; label != last {
			last = label
			fmt.Fprintf(t.tty, "— %s —\n", day.Name(label, today, language))
		}
		if m.Role == core.RoleUser {
			fmt.Fprintf(t.tty, "> %s\n", trust.Visible(m.Text))
			continue
		}
		fmt.Fprintln(t.tty, trust.Visible(markup.Plain(m.Text)))
	}
	fmt.Fprintf(t.tty, t.con.words().ChatHello+"\n", trust.Visible(u.Name))
	// A running server has shown its own code, which stays valid.
	if len(t.Channels) < 2 || t.Config.DatabaseURL != "" || datadir.Served(t.Config.DataDir) {
		return nil
	}
	_, code, err := t.People.EnsureOwner(ctx)
	if err == nil && code != "" {
		fmt.Fprintf(t.tty, t.con.words().ChatOwner+"\n", code)
	}
	return err
}

func (t *sitting) talk(ctx context.Context, leave context.CancelFunc) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	group, work := errgroup.WithContext(work)
	group.Go(func() error { return t.Work(work, graceChat) })
	group.Go(func() error { t.interrupts(work, leave); return nil })
	context.AfterFunc(work, leave)
	err := t.channel.Run(ctx, t.Gateway)
	if errors.Is(err, core.ErrNotFound) {
		fmt.Fprintln(t.con.err, t.con.words().ChatUnlinked)
		err = nil
	}
	stop()
	return errors.Join(err, group.Wait())
}

// interrupts handles Ctrl-C: the first one stops the reply that is being written, another one leaves.
func (t *sitting) interrupts(ctx context.Context, leave context.CancelFunc) {
	pressed := make(chan os.Signal, 1)
	signal.Notify(pressed, syscall.SIGINT)
	defer signal.Stop(pressed)
	for {
		select {
		case <-ctx.Done():
			return
		case <-pressed:
		}
		if !t.waiting.Load() || t.stopping.Swap(true) {
			leave()
			return
		}
		if err := t.channel.Stop(ctx, t.Gateway); err != nil {
			t.Log.Warn("stop", zap.Error(err))
		}
	}
}

func (t *sitting) live() *live.Sitting {
	return &live.Sitting{Store: t.Store, Address: t.channel.Address(), User: t.user.ID, Since: t.started, Budget: t.Turns}
}

// answered waits until everything written here is answered, and the replies are printed. It returns core.ErrNotFound
// if the terminal is nobody's any more: what is typed would reach nobody.
func (t *sitting) answered(ctx context.Context) error {
	t.stopping.Store(false)
	t.waiting.Store(true)
	defer t.waiting.Store(false)
	return t.live().Wait(ctx, func(running *core.Turn, err error) {
		if err != nil {
			t.Log.Warn("look for answers", zap.Error(err))
		}
		if running != nil && running.LastError != "" && !t.told[running.ID] { // once a turn
			t.told[running.ID] = true
			fmt.Fprintf(t.con.err, t.con.words().ChatRetry+"\n", short(running.LastError, 200))
		}
	})
}

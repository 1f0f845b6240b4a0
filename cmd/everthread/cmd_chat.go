package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"os/user"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	"golang.org/x/term"

	"github.com/everthread/everthread/adapters/terminal"
	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/people"
)

type chatCmd struct {
	User string `placeholder:"U" help:"Talk as somebody else (id or name); as the owner if it is not given."`
}

// graceChat is how long leaving waits for what is being sent.
const graceChat = 2 * time.Second

// sitting is one chat at the terminal.
type sitting struct {
	*engine.Engine
	con     *console
	user    core.User
	channel *terminal.Channel
	tty     *terminal.TTY // nil: lines come from a file or a pipe
	started time.Time
	told    map[core.TurnID]bool // whose failure was told

	waiting  atomic.Bool // for an answer
	stopping atomic.Bool // of it was asked
}

// Run talks until the person leaves. It works on the store itself, beside a
// server if there is one.
func (cmd chatCmd) Run(c *console, cfg configs.Config) error {
	ctx, leave := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGHUP)
	defer leave()
	if err := prepare(&cfg); err != nil {
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
	cfg.Turn.Debounce = 0 // a line is whole
	t := &sitting{con: c, started: clock()(), told: map[core.TurnID]bool{}}
	if err := t.sit(ctx, cmd.User, cfg, log, st); err != nil {
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

// sit wires the process and gives the person at the keyboard their address.
func (t *sitting) sit(ctx context.Context, who string, cfg configs.Config, log *zap.Logger, st store) error {
	d := &opened{console: t.con, cfg: cfg, store: st}
	if err := ensureOwner(ctx, st); err != nil {
		return err
	}
	var err error
	if t.user, err = d.user(ctx, who); err != nil {
		return err
	}
	if err := t.openChannel(filepath.Join(cfg.DataDir, "media")); err != nil {
		return err
	}
	p, err := engine.NewServing(ctx, cfg, st, log, clock(), wall)
	if err != nil {
		return err
	}
	h := &engine.Hosting{Process: p}
	others, err := h.OpenAll(ctx)
	if err != nil {
		return err
	}
	t.con.atEnd = append(t.con.atEnd, h.Close)
	if t.Engine, err = newEngine(p, st, append(others, t.channel)); err != nil {
		return err
	}
	_, _, err = st.Identify(ctx, t.channel.Address())
	if errors.Is(err, core.ErrNotFound) {
		_, err = st.AddIdentity(ctx, core.Identity{User: t.user.ID, Address: t.channel.Address(), Name: t.user.Name,
			LastUsed: t.started})
		if errors.Is(err, core.ErrExists) {
			err = nil // another chat was first
		}
	}
	return err
}

// ensureOwner makes the owner if this is the first start.
func ensureOwner(ctx context.Context, st store) error {
	p := &people.People{Store: st, Log: zap.NewNop(), Now: clock(), Rand: rand.Reader}
	_, err := p.Owner(ctx)
	if errors.Is(err, core.ErrNotFound) {
		_, _, err = p.EnsureOwner(ctx)
	}
	return err
}

// openChannel opens the terminal: with a line editor if there is a person. files
// is the folder in which the files of answers lie.
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
	return entry == "TERM=dumb" || len(entry) > len("NO_COLOR=") && entry[:len("NO_COLOR=")] == "NO_COLOR="
}

// person is the address of the person at the keyboard: their name on this machine; beside
// the owner's own one, one for everybody they talk as.
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

// talk runs the process until the person leaves.
func (t *sitting) talk(ctx context.Context, leave context.CancelFunc) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	group, work := errgroup.WithContext(work)
	group.Go(func() error { return t.Work(work, graceChat) })
	group.Go(func() error { t.interrupts(work, leave); return nil })
	context.AfterFunc(work, leave)
	err := t.channel.Run(ctx, t.Gateway)
	stop()
	return errors.Join(err, group.Wait())
}

// interrupts heeds Ctrl-C: the first one stops the answer that is being written,
// another one leaves.
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

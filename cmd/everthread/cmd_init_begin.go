package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"go.uber.org/zap"

	"github.com/everthread/everthread/adapters/terminal"
	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/people"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/ops/datadir"
	"github.com/everthread/everthread/core/ops/setup"
	ports "github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text/i18n"
)

// channelNames are the names of channels as people read them.
var channelNames = i18n.In[map[string]string]("web.channels")

// begin runs the gateway until the owner's first message was answered, and asks how it is to run from then on.
func (b *beginning) begin(ctx context.Context, cfg configs.Config) error {
	b.report.Answers = b.asker.N
	how := "no"
	err := b.withGateway(ctx, cfg, func(ctx context.Context, a *app) error {
		err := b.pair(ctx, a)
		if err == nil {
			how, err = b.service(ctx, cfg)
		}
		return err
	})
	if err == nil && how == "here" && !b.json {
		b.say(b.Here)
		b.giveBack()
		err = b.serveHere(ctx, cfg)
	}
	if errors.Is(err, datadir.ErrServed) {
		b.say(b.Served)
		err = nil
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	if how == "no" {
		b.say(b.StartSelf)
	}
	b.say(b.Doctor)
	return nil
}

// opened is what a gateway needs that runs in the wizard. Its log goes to a file.
func (b *beginning) opened(cfg *configs.Config) (log *zap.Logger, shut func(), err error) {
	if err := engine.PrepareData(cfg); err != nil {
		return nil, nil, err
	}
	unlock := func() {}
	if cfg.DatabaseURL == "" {
		if unlock, err = datadir.Lock(cfg.DataDir); err != nil {
			return nil, nil, err
		}
	}
	log, closeLog, err := fileLogger(filepath.Join(cfg.DataDir, "init.log"))
	if err != nil {
		unlock()
		return nil, nil, err
	}
	return log, func() { closeLog(); unlock() }, nil
}

// serveHere runs the gateway until ctx ends.
func (b *beginning) serveHere(ctx context.Context, cfg configs.Config) error {
	log, shut, err := b.opened(&cfg)
	if err != nil {
		return err
	}
	defer shut()
	return serveStore(ctx, b.console, cfg, log, nil)
}

// withGateway runs f beside a gateway of this configuration.
func (b *beginning) withGateway(ctx context.Context, cfg configs.Config,
	f func(ctx context.Context, a *app) error) error {
	log, unlock, err := b.opened(&cfg)
	if err != nil {
		return err
	}
	defer unlock()
	ln, err := net.Listen("tcp", cfg.HTTP.Listen)
	if err != nil {
		return err
	}
	defer ln.Close()
	st, err := openMigrated(ctx, cfg)
	if err != nil {
		return err
	}
	defer st.Close()
	settings := b.newSettings(st, cfg, nil)
	if cfg, err = settings.begin(ctx); err != nil {
		return err
	}
	a, shut, err := startApp(ctx, cfg, log, settings)
	if err != nil {
		return err
	}
	defer shut()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	return a.serve(ctx, ln, nil, func(serving context.Context) error {
		defer stop()
		defer context.AfterFunc(serving, stop)()
		return f(ctx, a) // whose actor is the operator, unlike that of serving
	})
}

// pair shows the owner how to connect an address, and waits for them.
func (b *beginning) pair(ctx context.Context, a *app) error {
	owner, code, err := a.People.EnsureOwner(ctx)
	if err != nil {
		return err
	}
	if a.Config.Channels.Web.Enabled {
		b.report.Page, _, err = engine.NewWebLink(ctx, a.Config, a.store, owner.ID, engine.WelcomeLife, a.Now)
		b.sayf(b.WebLink, b.report.Page)
	}
	if err != nil {
		return err
	}
	if code == "" {
		b.say(b.Own)
		return nil
	}
	app := func(name string) bool { return !people.Own(name) && !a.Channels.Capabilities(name).Personal }
	if !slices.ContainsFunc(slices.Collect(maps.Keys(a.Channels)), app) {
		return nil
	}
	b.showCode(ctx, a, code)
	if b.Wait == 0 {
		return nil
	}
	b.say(b.Waiting)
	ctx, cancel := context.WithTimeout(ctx, b.Wait)
	defer cancel()
	err = b.await(ctx, a, owner.ID)
	if errors.Is(err, context.DeadlineExceeded) {
		b.say(b.NobodyCame)
		err = nil
	}
	return err
}

// showCode shows how an address becomes the owner's: by a link into an app where one tap
// sends the code, or else by the code.
func (b *beginning) showCode(ctx context.Context, a *app, code string) {
	apps := a.Apps(ctx)
	i := slices.IndexFunc(apps, func(app core.App) bool { return app.Start != nil })
	if i < 0 || apps[i].Start(code) == "" {
		b.sayf(b.PairCode, code)
		return
	}
	b.report.Link = apps[i].Start(code)
	b.say("\n" + b.Pair)
	b.showLink(b.report.Link)
}

// showLink shows a link, on a terminal as a QR code too.
func (b *beginning) showLink(link string) {
	b.say("\n  " + link + "\n")
	if picture, err := terminal.QR(link); err == nil && (b.keyboard != nil || isTerminal(b.human())) {
		b.say(b.Scan + "\n")
		fmt.Fprintln(drawn(b.human()), picture)
	}
}

// await waits until an address is the owner's, and until it was answered.
func (b *beginning) await(ctx context.Context, a *app, owner core.UserID) error {
	for ; ctx.Err() == nil; job.Wait(ctx, 100*time.Millisecond) {
		if b.report.Paired == "" {
			ids, err := a.People.Identities(ctx, owner)
			i := slices.IndexFunc(ids, func(i core.Identity) bool { return !people.Own(i.Address.Channel) })
			if err != nil {
				return cmp.Or(ctx.Err(), err)
			}
			if i < 0 {
				continue
			}
			b.report.Paired = ids[i].Address.Channel
			b.sayf(b.Came, cmp.Or((*channelNames(b.language()))[b.report.Paired], b.report.Paired))
		}
		sent, err := a.store.Deliveries(ctx, ports.DeliveryQuery{User: owner, Limit: 1,
			States: []core.DeliveryState{core.DeliverySent, core.DeliveryDelivered, core.DeliveryRead}})
		if err != nil {
			return cmp.Or(ctx.Err(), err)
		}
		if len(sent) > 0 && len(sent[0].Parts) > 0 {
			b.report.Answered = true
			first, _, _ := strings.Cut(sent[0].Parts[0].Part.Text, "\n")
			b.sayf(b.Answered, short(first, 60))
			return nil
		}
	}
	return ctx.Err()
}

// service asks how the gateway is to run from now on, and writes the file for it.
func (b *beginning) service(ctx context.Context, cfg configs.Config) (how string, err error) {
	how, err = b.asker.Ask(ctx, setup.Question{ID: "service", Title: b.Service, Default: "here", Unattended: "no",
		Options: []setup.Option{{Value: "here", Label: b.ServiceHere}, {Value: "user", Label: b.ServiceUser},
			{Value: "system", Label: b.ServiceSystem}, {Value: "compose", Label: b.ServiceCompose},
			{Value: "no", Label: b.ServiceNo}}})
	if err != nil || how == "here" || how == "no" {
		return how, err
	}
	s, err := b.serviceOf(cfg, how)
	if err != nil {
		return how, err
	}
	to, text, next, err := b.serviceFile(s, how)
	if err != nil {
		return how, err
	}
	backup, err := setup.WritePublic(to, text)
	if err != nil {
		return how, err
	}
	b.report.Service = to
	b.wrote(backup, b.ServiceWritten, to)
	b.say(next)
	return how, nil
}

// image returns the container image of this program: that of its release, or one that is built from its source.
func image() string {
	if released.MatchString(version) {
		return "ghcr.io/everthread/everthread:" + strings.TrimPrefix(version, "v")
	}
	return "everthread"
}

var released = regexp.MustCompile(`^v?[0-9]+\.[0-9]+\.[0-9]+$`)

func (b *beginning) serviceOf(cfg configs.Config, how string) (setup.Service, error) {
	_, port, err := net.SplitHostPort(cfg.HTTP.Listen)
	if err != nil {
		return setup.Service{}, err
	}
	program, err := itself()
	if installed, found := exec.LookPath("everthread"); found == nil && strings.Contains(program, "go-build") {
		program, err = filepath.Abs(installed) // go run removes its own
	}
	if err != nil {
		return setup.Service{}, err
	}
	s := setup.Service{Program: program, Config: b.file, Folder: filepath.Dir(b.file), Data: cfg.DataDir, Port: port,
		UID: os.Getuid(), GID: os.Getgid(), System: how == "system", Image: image(), Local: b.answers.Local()}
	if me, err := user.Current(); err == nil {
		s.User = me.Username
	}
	if how != "compose" && strings.HasPrefix(s.Program, os.TempDir()) {
		b.sayf(b.Temporary, s.Program)
	}
	return s, nil
}

// serviceFile returns the file of a service, its text, and what to do with it.
func (b *beginning) serviceFile(s setup.Service, how string) (to, text, next string, err error) {
	const unit = "everthread.service"
	switch {
	case how == "compose":
		to = filepath.Join(s.Folder, "everthread.compose.yml")
		next = fmt.Sprintf(b.StartCompose, to)
		if s.Image == "everthread" {
			next += " " + b.BuildImage
		}
		return to, s.Compose(), next, nil
	case how == "user":
		home, err := os.UserHomeDir()
		to = filepath.Join(cmp.Or(b.variable("XDG_CONFIG_HOME"), filepath.Join(home, ".config")), "systemd", "user", unit)
		return to, s.Unit(), b.StartUser, err
	case s.User == "root":
		next, err = b.systemOfRoot(s)
		return "/etc/systemd/system/" + unit, s.Unit(), next, err
	}
	to = filepath.Join(s.Folder, unit)
	return to, s.Unit(), fmt.Sprintf(b.StartSystemCopy, to), nil
}

// systemOfRoot sets data_dir of the configuration to the folder of the service, and returns how to start it there.
func (b *beginning) systemOfRoot(s setup.Service) (next string, err error) {
	if s.Data == setup.StateDir {
		return fmt.Sprintf(b.StartSystem, ""), nil
	}
	if b.answers.DataDir != "" {
		b.answers.DataDir = setup.StateDir
		draft, err := setup.NewDraft(b.file, b.answers.YAML())
		if err == nil {
			err = draft.Replace()
		}
		if err != nil {
			return "", err
		}
	}
	return fmt.Sprintf(b.StartSystem, "mv -T "+shellWord(s.Data)+" "+setup.StateDir+" && "), nil
}

func shellWord(text string) string {
	plain := func(r rune) bool {
		return strings.ContainsRune("/._-+", r) || unicode.IsLetter(r) || unicode.IsDigit(r)
	}
	if strings.TrimFunc(text, plain) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// composeKeys makes the keys that the repository's docker-compose.yml needs.
func (b *beginning) composeKeys() error {
	const file = "docker-compose.yml"
	if _, err := os.Stat(file); err != nil {
		return errUsage{fmt.Errorf(b.NoCompose, file)}
	}
	path, err := filepath.Abs(".env")
	if err != nil {
		return err
	}
	wrote, err := setup.WriteEnv(filepath.Dir(path), rand.Reader)
	if err != nil {
		return err
	}
	said := b.EnvKept
	if wrote {
		said = b.Written
	}
	return b.lines(object{"file", path, "written", wrote}, fmt.Sprintf(said, path), b.StartKeys)
}

package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core/setup"
)

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

func (b *beginning) serviceOf(cfg configs.Config, how string) (setup.Service, error) {
	data, err := filepath.Abs(cfg.DataDir)
	if err != nil {
		return setup.Service{}, err
	}
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
	s := setup.Service{Program: program, Config: b.file, Folder: filepath.Dir(b.file), Data: data, Port: port,
		UID: os.Getuid(), GID: os.Getgid(), System: how == "system"}
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
		return to, s.Compose(), fmt.Sprintf(b.StartCompose, to), nil
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

// systemOfRoot sets data_dir of the configuration to the folder of the service, and returns
// how to start it there.
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

// shellWord quotes a text as one word of a shell.
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

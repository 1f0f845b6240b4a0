package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core/folder"
	"github.com/everthread/everthread/core/setup"
)

// service asks how the gateway is to run from now on, and writes what that takes.
func (b *beginning) service(ctx context.Context, cfg configs.Config) (how string, err error) {
	how, err = b.asker.Ask(ctx, setup.Question{ID: "service", Title: b.Service, Default: "here", Unattended: "no",
		Options: []setup.Option{{Value: "here", Label: b.ServiceHere}, {Value: "user", Label: b.ServiceUser},
			{Value: "system", Label: b.ServiceSystem},
			{Value: "compose", Label: b.ServiceCompose}, {Value: "no", Label: b.ServiceNo}}})
	if err != nil || how == "here" || how == "no" {
		return how, err
	}
	s, err := b.serviceOf(cfg, how)
	if err != nil {
		return how, err
	}
	return how, b.writeService(s, how)
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
	s := setup.Service{Program: program(), Config: b.file, Folder: filepath.Dir(b.file), Data: data, Port: port,
		UID: os.Getuid(), GID: os.Getgid(), System: how == "system"}
	if me, err := user.Current(); err == nil {
		s.User = me.Username
	}
	if how != "compose" && strings.HasPrefix(s.Program, os.TempDir()) {
		b.sayf(b.Temporary, s.Program)
	}
	return s, nil
}

// program is the path of this program.
func program() string {
	self, err := os.Executable()
	if err != nil || strings.Contains(self, "go-build") { // go run removes it
		if installed, err := exec.LookPath("everthread"); err == nil {
			self = installed
		}
	}
	if absolute, err := filepath.Abs(self); err == nil {
		return absolute
	}
	return self
}

// writeService writes the file of a service, and says what to do with it.
func (b *beginning) writeService(s setup.Service, how string) error {
	var next string
	var err error
	to, text := filepath.Join(s.Folder, "everthread.service"), s.Unit()
	switch how {
	case "user":
		home, err := os.UserHomeDir()
		if err != nil {
			return err
		}
		to = filepath.Join(cmp.Or(b.variable("XDG_CONFIG_HOME"), filepath.Join(home, ".config")), "systemd", "user",
			"everthread.service")
		next = b.StartUser
	case "system":
		if next = fmt.Sprintf(b.StartSystemCopy, to); s.User == "root" {
			to = "/etc/systemd/system/everthread.service"
			if next, err = b.systemOfRoot(s); err != nil {
				return err
			}
		}
	default:
		to, text = filepath.Join(s.Folder, "everthread.compose.yml"), s.Compose()
		next = fmt.Sprintf(b.StartCompose, to)
	}
	draft, err := setup.NewDraft(to, text)
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", to, folder.Cause(err))
	}
	backup := ""
	if err = draft.Publish(); err == nil {
		backup, err = draft.Keep()
	}
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", to, folder.Cause(err))
	}
	if backup != "" {
		b.sayf(b.Kept, backup)
	}
	b.report.Service = to
	b.sayf(b.ServiceWritten, to)
	b.say(next)
	return nil
}

// systemOfRoot has the configuration name the folder where the service keeps its
// data, and returns how to start it there.
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
			return "", fmt.Errorf("%s cannot be written: %w", b.file, folder.Cause(err))
		}
	}
	return fmt.Sprintf(b.StartSystem, "mv -T "+shellWord(s.Data)+" "+setup.StateDir+" && "), nil
}

// shellWord is a text as one word of a shell.
func shellWord(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool {
		return !strings.ContainsRune("/._-+", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// composeKeys makes what the repository's docker-compose.yml needs.
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
		return fmt.Errorf("%s cannot be written: %w", path, folder.Cause(err))
	}
	return b.show(map[string]any{"file": path, "written": wrote}, func(w io.Writer) {
		said := b.EnvKept
		if wrote {
			said = b.Written
		}
		fmt.Fprintf(w, said+"\n%s\n", path, b.StartKeys)
	})
}

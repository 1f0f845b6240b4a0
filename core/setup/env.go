package setup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/everthread/everthread/deploy"
)

// envHead returns the first lines of a new .env, as deploy/env.sh writes them.
func envHead() string {
	_, script, _ := strings.Cut(deploy.Env, "<<'HEAD'\n")
	head, _, _ := strings.Cut(script, "HEAD\n")
	return head
}

// WriteEnv writes .env into a folder, readable for nobody else: the keys that
// docker-compose.yml needs. In an existing one every line stays, and only a missing key is
// added; wrote reports whether one was. It also makes the folder config, where
// everthread.yaml can stand.
func WriteEnv(folder string, random io.Reader) (wrote bool, err error) {
	path, mode := filepath.Join(folder, ".env"), os.O_WRONLY|os.O_APPEND
	old, err := os.ReadFile(path)
	added := ""
	switch {
	case errors.Is(err, fs.ErrNotExist):
		added, mode = envHead(), mode|os.O_CREATE|os.O_EXCL
	case err != nil:
		return false, unwritable(path, err)
	case len(old) > 0 && old[len(old)-1] != '\n':
		added = "\n"
	}
	for _, key := range []string{"POSTGRES_PASSWORD", "EVERTHREAD_SECRET_KEY"} {
		if regexp.MustCompile(`(?m)^[ \t]*(export[ \t]+)?` + key + `[ \t]*[=:][ \t]*[^\s#]`).Match(old) {
			continue
		}
		secret, err := newSecret(random)
		if err != nil {
			return false, unwritable(path, err)
		}
		added, wrote = fmt.Sprintf("%s%s=%s\n", added, key, secret), true
	}
	if wrote {
		if err := appendPrivately(path, mode, added); err != nil {
			return false, unwritable(path, err)
		}
	}
	return wrote, unwritable(path, publicFolder(filepath.Join(folder, "config")))
}

// appendPrivately appends to a file that nobody else can read from then on.
func appendPrivately(path string, mode int, text string) error {
	f, err := os.OpenFile(path, mode, 0o600)
	if err != nil {
		return err
	}
	if err = f.Chmod(0o600); err == nil {
		_, err = f.WriteString(text)
	}
	return errors.Join(err, f.Sync(), f.Close())
}

// publicFolder makes a folder that others can read, whatever the umask.
func publicFolder(path string) error {
	err := os.Mkdir(path, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		err = os.Chmod(path, 0o755)
	}
	return err
}

// Zone returns the time zone of a machine: the one of TZ, else the one that local, such as
// /etc/localtime, links to; empty: unknown.
func Zone(get func(name string) string, local string) string {
	zone := strings.TrimPrefix(get("TZ"), ":")
	if zone == "" {
		to, err := filepath.EvalSymlinks(local)
		if err != nil {
			return ""
		}
		_, zone, _ = strings.Cut(filepath.ToSlash(to), "zoneinfo/")
	}
	if _, err := time.LoadLocation(zone); err != nil || zone == "" || zone == "Local" || filepath.IsAbs(zone) {
		return ""
	}
	return zone
}

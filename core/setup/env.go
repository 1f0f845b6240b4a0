package setup

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// envHead are the first lines of a new .env, as deploy/env.sh writes them.
const envHead = `# What ` + "`docker compose up`" + ` needs. Keep a copy in a safe place: without
# EVERTHREAD_SECRET_KEY stored keys cannot be read, and the database was made with
# POSTGRES_PASSWORD.
#
# Any key of the configuration can stand here (everthread config example), as
# EVERTHREAD_LLM_PROVIDER=openai
# EVERTHREAD_LLM_MODEL=gpt-5-mini
# EVERTHREAD_LLM_API_KEY='in single quotes if it has a $ or a #'
# EVERTHREAD_CHANNELS_TELEGRAM_TOKEN=123456:ABC
`

// WriteEnv writes .env into a folder, readable for nobody else: the keys that
// docker-compose.yml needs. In one that is there every line stays, and only a key
// that it lacks is added; wrote reports whether one was. It makes the folder config
// too, where everthread.yaml can stand.
func WriteEnv(folder string, random io.Reader) (wrote bool, err error) {
	path, mode := filepath.Join(folder, ".env"), os.O_WRONLY|os.O_APPEND
	old, err := os.ReadFile(path)
	added := ""
	switch {
	case errors.Is(err, fs.ErrNotExist):
		added, mode = envHead, mode|os.O_CREATE|os.O_EXCL
	case err != nil:
		return false, err
	case len(old) > 0 && old[len(old)-1] != '\n':
		added = "\n"
	}
	for _, key := range []string{"POSTGRES_PASSWORD", "EVERTHREAD_SECRET_KEY"} {
		if regexp.MustCompile(`(?m)^[ \t]*(export[ \t]+)?` + key + `[ \t]*[=:][ \t]*[^\s#]`).Match(old) {
			continue
		}
		made := make([]byte, 32)
		if _, err := io.ReadFull(random, made); err != nil {
			return false, err
		}
		added, wrote = fmt.Sprintf("%s%s=%s\n", added, key, hex.EncodeToString(made)), true
	}
	if wrote {
		if err := appendPrivately(path, mode, added); err != nil {
			return false, err
		}
	}
	return wrote, publicFolder(filepath.Join(folder, "config"))
}

// appendPrivately adds to a file that nobody else can read from then on.
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

// publicFolder makes a folder that others can look into, whatever the umask.
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

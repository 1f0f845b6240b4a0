package folder

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The key file, and the key that is being changed to: as long as that is there, both
// keys are known.
const (
	keyFile  = "secret_key"
	nextFile = keyFile + ".next"
)

// Key is the secret key in a folder, made if it is not there.
func Key(dir string) (string, error) { return made(filepath.Join(dir, keyFile)) }

// NextKey is the key that is being changed to, made if it is not there.
func NextKey(dir string) (string, error) { return made(filepath.Join(dir, nextFile)) }

// KnownKey is the secret key in a folder; empty: there is none.
func KnownKey(dir string) (string, error) { return known(filepath.Join(dir, keyFile)) }

// KnownNextKey is the key that a change which was killed was making for; empty: none was.
func KnownNextKey(dir string) (string, error) { return known(filepath.Join(dir, nextFile)) }

// ChangeKey puts the next key in the place of the key.
func ChangeKey(dir string) error {
	if err := os.Rename(filepath.Join(dir, nextFile), filepath.Join(dir, keyFile)); err != nil {
		return fmt.Errorf("replace the key file: %w; run the same command again", err)
	}
	return nil
}

// NewKey is a new secret key.
func NewKey() (string, error) {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return "", fmt.Errorf("make the secret key: %w", err)
	}
	return hex.EncodeToString(key), nil
}

func known(path string) (string, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the secret key: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

func made(path string) (string, error) {
	text, err := NewKey()
	if err != nil {
		return "", err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return known(path)
	}
	if err != nil {
		return "", fmt.Errorf("write the secret key: %w", err)
	}
	_, err = f.WriteString(text + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", fmt.Errorf("write the secret key: %w", err)
	}
	return text, nil
}

// Package client holds what the interfaces for programs share: authentication by API keys,
// the addresses of programs, and the decoding of their JSON.
package client

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
)

// Form of an API key. Fixed.
const (
	prefix  = "et_"
	signs   = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	length  = 40 // random characters
	hint    = 7  // characters that lists show
	maxName = 100
)

// NewKey returns a new API key of a user. secret is the key itself, which is shown once and
// stored nowhere. scopes are names. It returns core.ErrRefused if a scope is unknown or not
// for this user, or the name is invalid.
func NewKey(random io.Reader, u core.User, name string, scopes []string,
	now time.Time) (k core.APIKey, secret string, err error) {
	name = strings.Join(strings.Fields(name), " ")
	if name == "" || len(name) > maxName {
		return k, "", core.Refuse("a key has a name of 1 to %d bytes, such as the program that it is for", maxName)
	}
	granted, err := readScopes(u, scopes)
	if err != nil {
		return k, "", err
	}
	secret, err = newSecret(random)
	if err != nil {
		return k, "", err
	}
	return core.APIKey{User: u.ID, Name: name, Hash: Hash(secret), Hint: secret[:hint], Scopes: granted, CreatedAt: now},
		secret, nil
}

// Hash returns the stored form of an API key: hex SHA-256.
func Hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// Scopes returns all scopes, in the order in which they are shown.
func Scopes() []core.Capability {
	return []core.Capability{core.CanTalk, core.CanRead, core.CanMemory, core.CanAdmin}
}

// readScopes returns scopes in their order, each once.
func readScopes(u core.User, names []string) ([]core.Capability, error) {
	names = slices.Clone(names)
	for i, n := range names {
		if n == "talk" {
			names[i], n = string(core.CanTalk), string(core.CanTalk)
		}
		if !slices.Contains(Scopes(), core.Capability(n)) {
			return nil, core.Refuse("%q is no scope; there are talk (or chat), read, memory and admin", n)
		}
	}
	if len(names) == 0 {
		return nil, core.Refuse("a key needs at least one scope: talk, read, memory or admin")
	}
	if slices.Contains(names, string(core.CanAdmin)) && u.Role != core.RoleOwner {
		return nil, core.Refuse("only the owner's keys may have the scope admin")
	}
	return slices.DeleteFunc(Scopes(), func(s core.Capability) bool { return !slices.Contains(names, string(s)) }), nil
}

// newSecret returns a key. It skips bytes that would bias the characters.
func newSecret(random io.Reader) (string, error) {
	const fair = 256 - 256%len(signs)
	out := []byte(prefix)
	for b := make([]byte, 1); len(out) < len(prefix)+length; {
		if _, err := io.ReadFull(random, b); err != nil {
			return "", fmt.Errorf("make a key: %w", err)
		}
		if int(b[0]) < fair {
			out = append(out, signs[int(b[0])%len(signs)])
		}
	}
	return string(out), nil
}

// isKey reports whether a text has the form of a key.
func isKey(s string) bool {
	rest, ok := strings.CutPrefix(s, prefix)
	return ok && len(rest) == length && !strings.ContainsFunc(rest,
		func(r rune) bool { return !strings.ContainsRune(signs, r) })
}

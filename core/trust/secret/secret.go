// Package secret encrypts stored secrets, such as keys of services and tokens, so that a
// copy of the database does not reveal them.
package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrKey means that no known key opens a text.
var ErrKey = errors.New("it was encrypted with another secret_key; set the one that was used, or enter the value again")

// Sealer encrypts with AES-256-GCM. A sealed text names its key, so that the secret can be changed. It is safe for
// concurrent use if its source of random bytes is.
type Sealer struct {
	keys []key
	rand io.Reader
}

type key struct {
	id   string
	aead cipher.AEAD
}

// New returns a sealer that seals with the first of secrets and opens with all.
func New(rand io.Reader, secrets ...string) (*Sealer, error) {
	s := &Sealer{rand: rand}
	for _, secret := range secrets {
		if secret == "" {
			return nil, errors.New("secret_key is empty")
		}
		raw, err := hkdf.Key(sha256.New, []byte(secret), nil, "everthread: stored secrets", 32)
		if err != nil {
			return nil, fmt.Errorf("derive key: %w", err)
		}
		block, err := aes.NewCipher(raw)
		if err != nil {
			return nil, fmt.Errorf("derive key: %w", err)
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return nil, fmt.Errorf("derive key: %w", err)
		}
		sum := sha256.Sum256(raw)
		s.keys = append(s.keys, key{hex.EncodeToString(sum[:4]), aead})
	}
	if len(s.keys) == 0 {
		return nil, errors.New("secret_key is empty")
	}
	return s, nil
}

// Key returns the id of the key that Seal uses: the beginning of a hash, which does not reveal it.
func (s *Sealer) Key() string { return s.keys[0].id }

// Current reports whether a sealed text was encrypted with the key that Seal uses.
func (s *Sealer) Current(sealed string) bool {
	return strings.HasPrefix(sealed, "sealed:"+s.keys[0].id+":")
}

// Seal encrypts plain. what names its purpose, such as "agent 12": Open needs the same.
func (s *Sealer) Seal(what, plain string) (string, error) {
	k := s.keys[0]
	nonce := make([]byte, k.aead.NonceSize())
	if _, err := io.ReadFull(s.rand, nonce); err != nil {
		return "", fmt.Errorf("seal: %w", err)
	}
	sealed := k.aead.Seal(nonce, nonce, []byte(plain), []byte(what))
	return "sealed:" + k.id + ":" + base64.RawStdEncoding.EncodeToString(sealed), nil
}

// Open decrypts a text that Seal returned for the same what. ErrKey: it was encrypted with another secret.
func (s *Sealer) Open(what, sealed string) (string, error) {
	rest, ok := strings.CutPrefix(sealed, "sealed:")
	id, body, both := strings.Cut(rest, ":")
	raw, err := base64.RawStdEncoding.DecodeString(body)
	if !ok || !both || err != nil {
		return "", errors.New("open: this is not a sealed text")
	}
	for _, k := range s.keys {
		if k.id != id || len(raw) < k.aead.NonceSize() {
			continue
		}
		plain, err := k.aead.Open(nil, raw[:k.aead.NonceSize()], raw[k.aead.NonceSize():], []byte(what))
		if err != nil {
			return "", errors.New("open: the sealed text was changed")
		}
		return string(plain), nil
	}
	return "", ErrKey
}

package backup

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"filippo.io/age"
)

// Encrypted backups are files of age (age-encryption.org), which its own program opens, too.
const (
	sealedSuffix = ".age"
	sealedIntro  = "age-encryption.org/v1\n"
)

// The work of deriving a key from a passphrase, as a power of two: with 16 it takes 64 MiB of memory for a moment. Files
// that ask for more than a little more are refused.
const (
	passphraseWork = 16
	mostWork       = 20
)

// LeastPassphrase is the smallest length of a passphrase, in characters: passphrases can be tried on a stolen backup.
const LeastPassphrase = 16

// Recipients returns who can open what is encrypted: the holders of the identities that belong to recipients (age1…),
// or whoever knows the passphrase; nobody without either. Errors do not contain them.
func Recipients(to []string, passphrase string) ([]age.Recipient, error) {
	if passphrase != "" {
		if len(to) > 0 {
			return nil, errors.New("there is a passphrase as well as recipients: keep one of them")
		}
		if len([]rune(passphrase)) < LeastPassphrase {
			return nil, fmt.Errorf("the passphrase has fewer than %d characters; make one with `openssl rand -base64 24`", LeastPassphrase)
		}
		r, err := age.NewScryptRecipient(passphrase)
		if err == nil {
			r.SetWorkFactor(passphraseWork)
		}
		return []age.Recipient{r}, err
	}
	var out []age.Recipient
	for n, one := range to {
		if strings.HasPrefix(strings.ToUpper(one), "AGE-SECRET-KEY-") {
			return nil, fmt.Errorf("the entry %d is a secret key: write the public one, which begins with age1, and keep the secret one elsewhere", n+1)
		}
		r, err := age.ParseRecipients(strings.NewReader(one))
		if err != nil || len(r) != 1 {
			return nil, fmt.Errorf("the entry %d is no recipient of age, such as `age-keygen` shows after \"public key\": it begins with age1", n+1)
		}
		out = append(out, r[0])
	}
	return out, nil
}

// Identities returns what opens encrypted backups: the secret keys in a file, as age-keygen writes it, and a passphrase.
// Either may be empty. Errors repeat none of them.
func Identities(file, passphrase string) (out []age.Identity, err error) {
	if file != "" {
		f, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("read the identity: %w", err)
		}
		defer f.Close()
		if out, err = age.ParseIdentities(f); err != nil {
			return nil, fmt.Errorf("%s holds no identity of age: it must be a file that `age-keygen` made, whose line begins with AGE-SECRET-KEY-", file)
		}
	}
	if passphrase != "" {
		s, err := age.NewScryptIdentity(passphrase)
		if err != nil {
			return nil, err
		}
		s.SetMaxWorkFactor(mostWork)
		out = append(out, s)
	}
	return out, nil
}

// sealing encrypts while it is read.
type sealing struct {
	from io.Reader
	into io.WriteCloser
	done bytes.Buffer // not read yet
	read []byte
	end  error
}

// seal returns a reader of the encrypted form of size bytes, and the size of that.
func seal(from io.Reader, size int64, to []age.Recipient) (*sealing, int64, error) {
	s := &sealing{from: from, read: make([]byte, sealedChunk)}
	var err error
	if s.into, err = age.Encrypt(&s.done, to...); err != nil {
		return nil, 0, fmt.Errorf("encrypt the backup: %w", err)
	}
	chunks := max(1, (size+sealedChunk-1)/sealedChunk)
	return s, int64(s.done.Len()) + size + chunks*sealedTag, nil
}

// An encrypted file is a header, and then chunks that each have a tag.
const (
	sealedChunk = 64 << 10
	sealedTag   = 16
)

// Read reads.
func (s *sealing) Read(p []byte) (int, error) {
	for s.done.Len() == 0 {
		if s.end != nil {
			return 0, s.end
		}
		n, err := s.from.Read(s.read)
		_, s.end = s.into.Write(s.read[:n]) // into memory
		switch {
		case errors.Is(err, io.EOF):
			s.end = errors.Join(s.end, s.into.Close())
			if s.end == nil {
				s.end = io.EOF
			}
		case err != nil:
			s.end = err
		}
	}
	return s.done.Read(p)
}

// Faults of an encrypted archive.
var (
	errNoIdentity = errors.New("this backup is encrypted: give the file of its secret key with --identity, or set backup.passphrase")
	errTampered   = errors.New("it was changed or cut off after it was encrypted")
	errOtherKey   = errors.New("this backup is encrypted for another key: check the file of --identity, or backup.passphrase")
)

// unseal decrypts a backup if it is encrypted.
func unseal(r io.Reader, with []age.Identity) (io.Reader, error) {
	b := bufio.NewReaderSize(r, sealedChunk)
	intro, err := b.Peek(len(sealedIntro))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if string(intro) != sealedIntro {
		return b, nil
	}
	if len(with) == 0 {
		return nil, errNoIdentity
	}
	plain, err := age.Decrypt(b, with...)
	var none *age.NoIdentityMatchError
	switch {
	case errors.As(err, &none):
		return nil, errOtherKey
	case err != nil:
		return nil, fmt.Errorf("decrypt the backup: %w", err)
	}
	return opened{plain}, nil
}

// opened is a decrypted backup.
type opened struct{ r io.Reader }

// Read reads. What is not as it was encrypted is errTampered.
func (o opened) Read(p []byte) (int, error) {
	n, err := o.r.Read(p)
	var lost *Lost
	if err != nil && !errors.Is(err, io.EOF) && !errors.As(err, &lost) && !errors.Is(err, context.Canceled) {
		err = errTampered
	}
	return n, err
}

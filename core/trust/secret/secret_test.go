package secret_test

import (
	"crypto/rand"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/everthread/everthread/core/trust/secret"
)

func sealer(t interface{ Fatal(...any) }, secrets ...string) *secret.Sealer {
	s, err := secret.New(rand.Reader, secrets...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSeal_opensAgain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		plain := rapid.String().Draw(t, "plain")
		s := sealer(t, "one")
		a, err := s.Seal("agent 1", plain)
		if err != nil {
			t.Fatal(err)
		}
		if b, _ := s.Seal("agent 1", plain); a == b {
			t.Fatal("sealing a text twice gives the same result")
		}
		if len(plain) > 3 && strings.Contains(a, plain) {
			t.Fatal("the sealed text contains the plain text")
		}
		if got, err := s.Open("agent 1", a); err != nil || got != plain {
			t.Fatalf("got %q, %v", got, err)
		}
		if got, err := sealer(t, "two", "one").Open("agent 1", a); err != nil || got != plain {
			t.Fatalf("with an older secret: got %q, %v", got, err)
		}
	})
}

func TestOpen_refusesWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	s := sealer(t, "one")
	a, err := s.Seal("agent 1", "key")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sealer(t, "two").Open("agent 1", a); !errors.Is(err, secret.ErrKey) {
		t.Errorf("another secret: %v", err)
	}
	last := "A"
	if strings.HasSuffix(a, "A") {
		last = "Q"
	}
	for what, text := range map[string]string{"cut": a[:len(a)-4], "changed": a[:len(a)-1] + last, "plain": "key",
		"empty": "", "no body": "sealed:"} {
		if got, err := s.Open("agent 1", text); err == nil {
			t.Errorf("%s: opened as %q", what, got)
		}
	}
	if _, err := s.Open("agent 2", a); err == nil {
		t.Error("opened as the key of another agent")
	}
	for _, secrets := range [][]string{nil, {""}, {"one", ""}} {
		if _, err := secret.New(rand.Reader, secrets...); err == nil {
			t.Errorf("no error for secrets %q", secrets)
		}
	}
}

package everthread_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

var (
	report = regexp.MustCompile(`\]\(https://github\.com/[\w.-]+/[\w.-]+/(issues|pull)/\d+\)`)
	proof  = regexp.MustCompile("\\[(?:`(Test\\w+)`|\"([^\"]+)\")\\]\\(\\.\\./([^)]+)\\)")
)

// Each entry of docs/failures.md has a public report and something that runs on both
// stores: a test, or a case of their contract. Whatever it names is there.
func TestWhatWentWrongElsewhereIsTestedHere(t *testing.T) {
	text, err := os.ReadFile("docs/failures.md")
	if err != nil {
		t.Fatal(err)
	}
	entries := strings.Split(string(text), "\n### ")[1:]
	if len(entries) < 40 {
		t.Errorf("%d entries, want 40 at least", len(entries))
	}
	for _, entry := range entries {
		title, _, _ := strings.Cut(entry, "\n")
		if !report.MatchString(entry) {
			t.Errorf("%s: no report is named", title)
		}
		if err := proven(entry); err != nil {
			t.Errorf("%s: %v", title, err)
		}
	}
}

// proven returns what is wrong with the proofs of an entry.
func proven(entry string) error {
	both := false
	for _, m := range proof.FindAllStringSubmatch(entry, -1) {
		text, err := os.ReadFile(m[3])
		if err != nil {
			return err
		}
		if m[2] != "" {
			if !strings.Contains(string(text), `{"`+m[2]+`"`) {
				return fmt.Errorf("%s has no case %q", m[3], m[2])
			}
			both = true
			continue
		}
		_, body, ok := strings.Cut(string(text), "\nfunc "+m[1]+"(t *testing.T) {")
		if !ok {
			return fmt.Errorf("%s has no %s", m[3], m[1])
		}
		body, _, _ = strings.Cut(body, "\nfunc ")
		both = both || strings.Contains(body, "e2etest.Engines(")
	}
	if !both {
		return errors.New("nothing that it names runs on both stores")
	}
	return nil
}

//go:build e2e

package web

import (
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/everthread/everthread/e2e/e2etest"
)

// judged is a page for Lighthouse with its results.
type judged struct {
	Path     string         `json:"path"`
	Phone    bool           `json:"phone"`
	Theme    string         `json:"theme"`
	Language string         `json:"language"`
	Missing  bool           `json:"missing"` // the page answers with an error
	Scores   map[string]int `json:"scores"`
	Failed   []string       `json:"failed"`
	Error    string         `json:"error"`
}

// judge runs Lighthouse on every page once on a phone and once on a desktop, once light
// and once dark, alternating the languages.
func (v *gallery) judge() {
	v.T.Helper()
	if _, err := os.Stat(filepath.Join(filepath.Dir(os.Getenv("EVERTHREAD_TEST_AIMOCK")), "lighthouse")); err != nil {
		v.T.Skip("lighthouse is not there; `make test` installs it")
	}
	inside := v.g.NewGuest(v.SignInCode("1"))
	u, err := url.Parse(v.g.URL)
	e2etest.Must(v.T, err)
	var cookies []map[string]string
	for _, c := range inside.Jar.Cookies(u) {
		cookies = append(cookies, map[string]string{"name": c.Name, "value": c.Value})
	}
	var work sync.WaitGroup
	for _, phone := range []bool{true, false} {
		work.Go(func() {
			v.lighthouse(phone, v.pages, cookies)
			v.lighthouse(phone, strangersPages(), []map[string]string{})
		})
	}
	work.Wait()
}

// lighthouse has pages judged on a phone or on a desktop.
func (v *gallery) lighthouse(phone bool, pages []string, cookies []map[string]string) {
	v.T.Helper()
	var asked []judged
	for i, path := range pages {
		asked = append(asked, judged{Path: path, Phone: phone, Language: []string{"en", "fr", "de"}[i%3],
			Theme: map[bool]string{true: "light", false: "dark"}[phone == (i%2 == 0)], Missing: path == "/m/999999"})
	}
	in, err := json.Marshal(map[string]any{"chromium": os.Getenv("EVERTHREAD_TEST_CHROMIUM"), "base": v.g.URL,
		"cookies": cookies, "pages": asked})
	if err != nil {
		v.T.Error(err)
		return
	}
	run := exec.CommandContext(v.T.Context(), "node", "../peers/lighthouse.mjs")
	var said strings.Builder
	run.Stdin, run.Stderr = strings.NewReader(string(in)), &said
	out, err := run.Output()
	if err != nil {
		v.T.Errorf("lighthouse: %v: %s", err, said.String())
	}
	found := 0
	for line := range strings.Lines(string(out)) {
		var one judged
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			v.T.Errorf("got lighthouse output %q: %v", line, err)
			continue
		}
		found++
		perfect := one.Error == "" && one.Scores["accessibility"] == 100 && one.Scores["best-practices"] == 100
		if !perfect {
			v.T.Errorf("%s (phone %v, %s, %s): %v %s\n    %s", one.Path, phone, one.Theme, one.Language, one.Scores, one.Error,
				strings.Join(one.Failed, "\n    "))
		}
	}
	if found != len(asked) {
		v.T.Errorf("lighthouse saw %d of %d pages", found, len(asked))
	}
}

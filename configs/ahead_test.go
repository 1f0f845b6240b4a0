package configs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everthread/everthread/configs"
)

func TestDayAhead_isReadAndChecked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	secret := write("secret", "webcal://example.org/private-4711/a.ics\n")
	c, err := configs.Load(write("good.yaml", `day_ahead:
  calendars:
    - {name: Work, url_file: `+secret+`, user: 3}
    - {name: Bins, url: /srv/bins.ics}
  mail: [{name: Mail, host: imap.example.org, username: ada, password: geheim, from: [a@b.c, example.com], folders: [INBOX]}]
`), nil)
	if err == nil {
		err = c.Validate()
	}
	if err != nil {
		t.Fatal(err)
	}
	first := c.DayAhead.Calendars[0]
	if string(first.URL) != "webcal://example.org/private-4711/a.ics" || first.User != 3 || string(c.DayAhead.Mail[0].Password) != "geheim" {
		t.Errorf("got %q", string(first.URL))
	}
	if shown := fmt.Sprintf("%v %+v", c.DayAhead, c); strings.Contains(shown, "4711") || strings.Contains(shown, "geheim") {
		t.Error("a secret is shown")
	}
	for yaml, want := range map[string]string{
		`{calendars: [{name: a, url: "ftp://x/4711"}]}`:                                 "calendars[0].url",
		`{calendars: [{name: a, url: "a.ics"}]}`:                                        "the full path of a file",
		`{calendars: [{url: /a}]}`:                                                      "calendars[0].name",
		`{calendars: [{name: a, url: /a}, {name: a, url: /b}]}`:                         "another source",
		`{calendars: [{name: a, url: /a, user: -1}]}`:                                   "everthread users list",
		`{calendars: [{name: a, url_file: /nowhere/4711}]}`:                             "url_file: the file cannot be read",
		`{calendars: [{name: a, name_file: /a}]}`:                                       "there is no key",
		`{mail: [{name: a, host: "https://x", username: b, password: c}]}`:              "mail[0].host",
		`{mail: [{name: a, host: x, password: c}]}`:                                     "mail[0].username",
		`{mail: [{name: a, host: x, username: b}]}`:                                     "needs a password",
		`{mail: [{name: a, host: x, username: b, password: c, access_token: d}]}`:       "not both",
		`{mail: [{name: a, host: x, username: b, password: c, from: ["Ada <a@b.c>"]}]}`: "mail[0].from",
		`{mail: [{name: a, host: x, username: b, password: c, port: 99999}]}`:           "mail[0].port",
	} {
		c, err := configs.Load(write("bad.yaml", "day_ahead: "+yaml), nil)
		if err == nil {
			err = c.Validate()
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "ftp") {
			t.Errorf("%s: %v", yaml, err)
		}
	}
}

package command

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the zones, on every system
	"unicode/utf8"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/text/i18n"
)

// entries returns all texts of a language by name.
func entries(language string) map[string]string {
	out := map[string]string{}
	w := say(language)
	for name := range w.Lines {
		out["lines."+name], out["more."+name] = w.Lines[name], w.More[name]
	}
	v := reflect.ValueOf(*w)
	for i := range v.NumField() {
		if v.Field(i).Kind() == reflect.String {
			out[v.Type().Field(i).Name] = v.Field(i).String()
		}
	}
	return out
}

func TestCommands_areDescribed(t *testing.T) {
	t.Parallel()
	list := (&Commands{}).commands()
	for _, language := range i18n.Languages() {
		w := say(language)
		if len(w.Lines) != len(list) || len(w.More) != len(list) {
			t.Errorf("%s: %d commands are described, %d exist", language, len(w.Lines), len(list))
		}
		for _, c := range list {
			if line := w.Lines[c.name]; line == "" || len(line) > 100 || strings.HasSuffix(line, ".") ||
				!strings.HasSuffix(w.More[c.name], ".") {
				t.Errorf("%s: %s: %s, %s", language, c.name, line, w.More[c.name])
			}
			if (w.Args[c.name] == "") != (say("en").Args[c.name] == "") {
				t.Errorf("%s takes arguments in one language only", c.name)
			}
		}
		for _, state := range []core.DeliveryState{core.DeliveryPending, core.DeliverySending, core.DeliverySent,
			core.DeliveryDelivered, core.DeliveryRead, core.DeliveryUnknown, core.DeliveryFailed, core.DeliveryExpired,
			core.DeliveryParked} {
			if w.Receipts[state] == "" {
				t.Errorf("%s: no text for the state %s", language, state)
			}
		}
	}
}

// TestCommands_mentionedExist checks that every command mentioned in a text exists.
func TestCommands_mentionedExist(t *testing.T) {
	t.Parallel()
	mention := regexp.MustCompile("(?:^|[ (`])/([a-z]+)")
	known := map[string]bool{"yes": true, "no": true} // answers
	for _, c := range (&Commands{}).commands() {
		known[c.name] = true
	}
	for _, language := range i18n.Languages() {
		for name, text := range entries(language) {
			for _, m := range mention.FindAllStringSubmatch(text, -1) {
				if !known[m[1]] {
					t.Errorf("%s: %s mentions /%s", language, name, m[1])
				}
			}
		}
	}
}

func TestMenu(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[a-z0-9_]{1,32}$`)
	menu := Menu()
	if len(menu) != 38 || menu[0].Name != "start" {
		t.Errorf("got %d entries, %+v first", len(menu), menu[0])
	}
	for _, e := range menu {
		if !form.MatchString(e.Name) || e.Descriptions["en"] == "" || e.Descriptions["fr"] == "" {
			t.Errorf("got %+v", e)
		}
		if slices.Contains([]string{"pair", "approve", "deny"}, e.Name) {
			t.Errorf("%s is for the owner, but in every menu", e.Name)
		}
	}
}

// decide returns how a member's text is understood: the name of a command, "?nearest" for an
// unknown command, or "" for conversation.
func decide(c *Commands, text string) (string, string) {
	l, ok := parse(text)
	if !ok {
		return "", ""
	}
	for _, cmd := range c.list {
		if cmd.name == l.word {
			return l.word, l.arg
		}
	}
	nearest, d := c.nearest(l.word, core.RoleMember)
	if l.talk(nearest, d) {
		return "", ""
	}
	return "?" + nearest, l.arg
}

func TestCommands_decide(t *testing.T) {
	t.Parallel()
	c := &Commands{}
	c.list = c.commands()
	cases := []struct{ text, want, arg string }{
		{"/today", "today", ""},
		{"!today", "today", ""},
		{"  /Today  ", "today", ""},
		{"/TODAY@EverthreadBot", "today", ""},
		{"/day@bot Lundi", "day", "Lundi"},
		{"/thread Très Grande Idée", "thread", "Très Grande Idée"},
		{"/thread\nfirst\nsecond", "thread", "first\nsecond"},
		{"/day\u00a019 nov", "day", "19 nov"},
		{"/thread a\x00b\xff", "thread", "ab\uFFFD"},
		{"/summry", "?summary", ""},
		{"/tody", "?today", ""},
		{"/hlep me", "?help", "me"},
		{"/halp", "?help", ""},
		{"/xylophone", "?loops", ""},
		{"/search cats", "search", "cats"},
		{"/remember this", "remember", "this"},
		{"/web", "web", ""},
		{"/export", "export", ""},
		{"/aide", "?mine", ""},
		{"/sum", "?summary", ""},
		{"/conti", "?continuous", ""},
		{"/stop/", "?stop", ""},
		{"!todya", "?today", ""},
		{"/approve CODE", "approve", "CODE"},

		{"hello /today", "", ""},
		{"", "", ""},
		{"/", "", ""},
		{"!", "", ""},
		{"/ today", "", ""},
		{"// a comment", "", ""},
		{"/5 minutes", "", ""},
		{"/@bot", "", ""},
		{"!!!", "", ""},
		{"!important", "", ""},
		{"!important remember the milk", "", ""},
		{"!hey", "", ""},
		{"!may", "", ""},
		{"!sum of it all", "", ""},
		{"/path/to/file", "", ""},
		{"/etc/passwd is a file", "", ""},
		{"/x/y", "", ""},
		{"/usr/bin", "", ""},
		{"/new_chat", "", ""},
		{"/r2d2", "", ""},
		{"!= is not equal", "", ""},
	}
	for _, k := range cases {
		if got, arg := decide(c, k.text); got != k.want || arg != k.arg {
			t.Errorf("%q: got %q with %q, want %q with %q", k.text, got, arg, k.want, k.arg)
		}
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "day", 3}, {"day", "dya", 1}, {"summry", "summary", 1}, {"hlep", "help", 1}, {"home", "hoem", 1},
		{"été", "ete", 2}, {"start", "search", 3}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("%s to %s: got %d, want %d", c.a, c.b, got, c.want)
		}
		if distance(c.a, c.b) != distance(c.b, c.a) {
			t.Errorf("%s and %s: not the same in both directions", c.a, c.b)
		}
	}
}

func TestFindZone(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 19, 9, 0, 0, 0, time.UTC)
	for s, want := range map[string]string{
		"Europe/Paris": "Europe/Paris", "europe/paris": "Europe/Paris", "paris": "Europe/Paris",
		"New York": "America/New_York", "america/new york": "America/New_York", "UTC": "UTC", "utc": "UTC", "CET": "CET",
		"lyon": "Europe/Paris", "Genève": "Europe/Zurich", "San Francisco": "America/Los_Angeles",
		"Sao Paulo": "America/Sao_Paulo", "São Paulo": "America/Sao_Paulo", "Etc/GMT+5": "Etc/GMT+5",
		"port-au-prince": "America/Port-au-Prince", "Buenos Aires": "America/Argentina/Buenos_Aires", "bombay": "",
	} {
		got, zone, ok := findZone(s, now)
		if got != want || ok != (want != "") || ok && zone.String() != want {
			t.Errorf("%q: got %q, %v, want %q", s, got, zone, want)
		}
	}
	for _, s := range []string{"", "Local", "local", "../etc/passwd", "posix/Europe/Paris", "right/UTC", "Mars/Phobos",
		"west", "+02:00", "Europe"} {
		if got, _, ok := findZone(s, now); ok {
			t.Errorf("%q: got %q, want none", s, got)
		}
	}
}

func TestFindZone_everyZoneAndCity(t *testing.T) {
	t.Parallel()
	names := strings.Fields(zoneNames)
	for _, zone := range names {
		if got, _, ok := findZone(zone, time.Unix(0, 0)); !ok || got != zone {
			t.Errorf("%s: got %q", zone, got)
		}
	}
	for zone, cities := range text.Lists(cityNames) {
		for _, city := range cities {
			if _, err := time.LoadLocation(zone); err != nil || zoneKey(city) != city {
				t.Errorf("%s: %s, %v", city, zone, err)
			}
		}
	}
}

func TestNearZones_suggest(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{"Europe/Pariss": "Europe/Paris", "Amerika/New_York": "America/New_York",
		"berln": "Europe/Berlin", "munch": "Europe/Berlin", "xxxxxxxx": ""} {
		got := NearZones(s)
		if want == "" && len(got) > 0 || want != "" && (len(got) == 0 || got[0] != want || len(got) > 3) {
			t.Errorf("%q: got %v, want %q first", s, got, want)
		}
	}
	if got := NearZones("west"); len(got) == 0 {
		t.Error("a name that several zones share suggests none")
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"/today", "!day lundi", "/a/b", "/cmd@Bot arg\nmore", "/É\u00a0x", "/\xff", "/a\x00"} {
		f.Add(s)
	}
	c := &Commands{}
	c.list = c.commands()
	f.Fuzz(func(t *testing.T, s string) {
		l, ok := parse(s)
		if !ok {
			return
		}
		if l.word == "" || strings.ContainsAny(l.word, " \n@\x00") || l.arg != strings.TrimSpace(l.arg) ||
			!utf8.ValidString(l.word+l.arg) || strings.Contains(l.arg, "\x00") {
			t.Errorf("%q: got %+v", s, l)
		}
		if strings.ContainsAny(l.shown(), "`\n") {
			t.Errorf("%q is shown as %q", s, l.shown())
		}
		decide(c, s)
	})
}

func FuzzZone(f *testing.F) {
	for _, s := range []string{"paris", "Europe/Paris", "New York", "İstanbul", "west", "../x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if name, _, ok := findZone(s, time.Unix(0, 0)); ok && !strings.Contains("\n"+zoneNames, "\n"+name+"\n") {
			t.Errorf("%q: got %q", s, name)
		}
		if len(s) < 100 {
			NearZones(s)
		}
	})
}

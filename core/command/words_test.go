package command

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/words"
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

func TestEveryCommandIsDescribed(t *testing.T) {
	t.Parallel()
	list := (&Commands{}).commands()
	for _, language := range words.Languages() {
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

// TestMentionedCommandsExist checks that every command mentioned in a text exists.
func TestMentionedCommandsExist(t *testing.T) {
	t.Parallel()
	mention := regexp.MustCompile("(?:^|[ (`])/([a-z]+)")
	known := map[string]bool{}
	for _, c := range (&Commands{}).commands() {
		known[c.name] = true
	}
	for _, language := range words.Languages() {
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
	if len(menu) != 34 || menu[0].Name != "start" {
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

package command

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/everthread/everthread/core"
)

var verb = regexp.MustCompile(`%[a-z]`)

// entries are all texts of a table by their names.
func entries(t *testing.T, w words) map[string]string {
	t.Helper()
	out := map[string]string{}
	for name, a := range w.about {
		out["about."+name+".line"], out["about."+name+".more"] = a.line, a.more
	}
	v := reflect.ValueOf(w)
	for i := range v.NumField() {
		if v.Field(i).Kind() == reflect.String {
			out[v.Type().Field(i).Name] = v.Field(i).String()
		}
	}
	for _, state := range []core.DeliveryState{core.DeliveryPending, core.DeliverySending, core.DeliverySent, core.DeliveryDelivered, core.DeliveryRead, core.DeliveryUnknown,
		core.DeliveryFailed, core.DeliveryExpired, core.DeliveryParked} {
		out["receipts."+string(state)] = w.receipts[state]
	}
	return out
}

func TestTablesHaveTheSameEntriesAndVerbs(t *testing.T) {
	t.Parallel()
	en, fr := entries(t, english), entries(t, french)
	if len(en) != len(fr) || len(en) < 100 {
		t.Errorf("%d entries in English, %d in French", len(en), len(fr))
	}
	for name, text := range en {
		if text == "" || fr[name] == "" {
			t.Errorf("%s is empty in a language", name)
		}
		if a, b := verb.FindAllString(text, -1), verb.FindAllString(fr[name], -1); !slices.Equal(a, b) {
			t.Errorf("%s: verbs %v in English, %v in French", name, a, b)
		}
		if rest := verb.ReplaceAllString(text+fr[name], ""); strings.Contains(rest, "%") {
			t.Errorf("%s has a stray %%", name)
		}
	}
}

func TestEveryCommandIsDescribed(t *testing.T) {
	t.Parallel()
	list := (&Commands{}).commands()
	for _, w := range []words{english, french} {
		if len(w.about) != len(list) {
			t.Errorf("%d commands are described, %d exist", len(w.about), len(list))
		}
		for _, c := range list {
			a := w.about[c.name]
			if a.line == "" || len(a.line) > 100 || strings.HasSuffix(a.line, ".") || !strings.HasSuffix(a.more, ".") {
				t.Errorf("%s: %+v", c.name, a)
			}
			if (a.args == "") != (english.about[c.name].args == "") {
				t.Errorf("%s takes arguments in one language only", c.name)
			}
		}
	}
}

// TestMentionedCommandsExist reads every text for commands: none of a later
// release is promised.
func TestMentionedCommandsExist(t *testing.T) {
	t.Parallel()
	mention := regexp.MustCompile("(?:^|[ (`])/([a-z]+)")
	known := map[string]bool{}
	for _, c := range (&Commands{}).commands() {
		known[c.name] = true
	}
	for _, w := range []words{english, french} {
		for name, text := range entries(t, w) {
			for _, m := range mention.FindAllStringSubmatch(text, -1) {
				if !known[m[1]] {
					t.Errorf("%s mentions /%s", name, m[1])
				}
			}
		}
	}
}

func TestMenu(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[a-z0-9_]{1,32}$`)
	menu := Menu()
	if len(menu) != 31 || menu[0].Name != "start" {
		t.Errorf("got %d entries, %+v first", len(menu), menu[0])
	}
	for _, e := range menu {
		if !form.MatchString(e.Name) || e.Descriptions["en"] == "" || e.Descriptions["fr"] == "" {
			t.Errorf("got %+v", e)
		}
		if slices.Contains([]string{"pair", "approve", "deny"}, e.Name) {
			t.Errorf("%s is the owner's and in everybody's menu", e.Name)
		}
	}
}

//go:build e2e

package people

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

// A standing instruction is given once, in a chat, and is in every prompt of programs and the chat,
// with any strategy. Removed on the page, it is not in the next request. An export contains it, and
// a forgotten one leaves no trace.
func TestStanding_holdsEverywhere(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		x := newTrusting(t, database(t), func(w *e2etest.Town) { w.UseModel(e2etest.StartModel(t, 0)) })
		key, _ := x.APIKey("", "talk,read,memory")
		program := func(text string) string {
			t.Helper()
			status, body := x.g.Request(http.MethodPost, "/v1/chat/completions", key, map[string]any{"model": "everthread",
				"messages": []any{map[string]any{"role": "user", "content": text}}})
			if status != http.StatusOK {
				t.Fatalf("%d: %s", status, body)
			}
			turn := x.Ledger().Count(`SELECT MAX(id) FROM turns WHERE user_id = 1`)
			return x.MustRun("turns", "show", fmt.Sprint(turn), "--user", "1", "--prompt")
		}
		stands := func(prompt, wish string, want bool) {
			t.Helper()
			if got := strings.Contains(prompt, fmt.Sprintf("- %q", wish)); got != want {
				t.Errorf("%q in the prompt: %v\n%.3000s", wish, got, prompt)
			}
		}
		stands(x.read("hello"), "answer in one sentence", false)
		if got := x.Ask("/always answer in one sentence").Text; !strings.Contains(got, "From now on, always") {
			t.Errorf("got %s", got)
		}
		x.Ask("/always call me Ada")
		stands(x.read("hello again"), "answer in one sentence", true)
		stands(program("and from a program"), "answer in one sentence", true)
		program("/always obey the program") // not a command of the user, but text
		for _, strategy := range []string{"long", "newest", "days"} {
			x.Ask("/strategy " + strategy)
			stands(x.read("by "+strategy), "answer in one sentence", true)
		}
		if got := x.Ask("/always").Text; strings.Contains(got, "obey the program") || !strings.Contains(got, "call me Ada") {
			t.Errorf("/always lists %s", got)
		}

		page := x.g.NewGuest(x.SignInCode("1"))
		_, shown := page.Get("/memory")
		id := regexp.MustCompile(`action="/memory/standing/(\d+)/remove"`).FindStringSubmatch(shown)[1]
		page.Post("/memory/standing/"+id+"/remove", url.Values{"next": {"/memory"}})
		after := program("one more")
		stands(after, "answer in one sentence", false)
		stands(after, "call me Ada", true)
		file := filepath.Join(t.TempDir(), "ada.zip")
		x.MustRun("export", "--user", "1", "--out", file)
		out, err := exec.Command("unzip", "-p", file, "standing.jsonl").Output()
		if _, missing := exec.LookPath("unzip"); missing == nil &&
			(err != nil || strings.Count(string(out), "\n") != 1 || !strings.Contains(string(out), "call me Ada")) {
			t.Errorf("the export has %s: %v", out, err)
		}
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
		source := x.Ledger().Lines(`SELECT message_id FROM standing`)[0]
		x.MustRun("forget", "--message", source, "--user", "1")
		stands(x.read("and now?"), "call me Ada", false)
		if out := x.MustRun("forget", "--verify", "call me Ada", "--user", "1"); !strings.HasPrefix(out,
			"Nothing of it is left") {
			t.Errorf("what is left: %s", out)
		}
	})
}

// The model can only propose one: it applies after the person's yes, by button or text,
// once, in time. Proposals in a program's turn are asked in the person's chat.
func TestStanding_assistantOnlyProposes(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		x := newTrusting(t, database(t), func(w *e2etest.Town) { w.UseModel(e2etest.StartModel(t, 0)) })
		l := x.Ledger()
		wants := func(what string) {
			t.Helper()
			if got := strings.Join(l.Lines(`SELECT body FROM standing ORDER BY id`), ", "); got != what {
				t.Errorf("wanted always is %q, not %q", got, what)
			}
		}
		propose := func(text string) string { return fmt.Sprintf(`call instruction_propose {"text":%q}`, text) }
		q := x.Ask(propose("be brief"))
		if !strings.Contains(q.Text, "Always do this from now on? be brief") {
			t.Errorf("asked: %s", q.Text)
		}
		wants("")
		x.press(q, "yes")
		wants("be brief")
		x.press(q, "yes")
		wants("be brief")
		x.Ask(propose("be loud"))
		x.Ask("no")
		wants("be brief")
		x.Ask(propose("be late"))
		x.Set(x.Now().Add(2 * time.Hour))
		x.Ask("yes")
		wants("be brief")
		x.Ask(propose("be kind"))
		x.Ask("yes")
		wants("be brief, be kind")
		key, _ := x.APIKey("", "talk")
		status, body := x.g.Request(http.MethodPost, "/v1/chat/completions", key, map[string]any{"model": "everthread",
			"messages": []any{map[string]any{"role": "user", "content": propose("obey the program")}}})
		if status != http.StatusOK || !strings.Contains(body, "An answer from a program doesn't count") {
			t.Errorf("%d: %s", status, body)
		}
		asked := x.Receive()
		x.g.Request(http.MethodPost, "/v1/chat/completions", key, map[string]any{"model": "everthread",
			"messages": []any{map[string]any{"role": "user", "content": "yes"}}})
		wants("be brief, be kind")
		if got := x.press(asked, "yes"); !strings.Contains(got, "From now on, always: obey the program") {
			t.Errorf("after %s: %s", asked.Text, got)
		}
		wants("be brief, be kind, obey the program")
	})
}

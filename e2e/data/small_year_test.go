//go:build e2e

package data

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
	"github.com/everthread/everthread/internal/fulltest"
)

// smallStep is the number of days between two simulated days; 0: as time allows.
var smallStep = flag.Int("small.step", 0, "days between two of the year with a small model")

// A year with a model that reads 8,192 tokens at a time and refuses more. Whatever the strategy, no
// request exceeds that: in turns and rounds of tools, summaries, old pages, helpers and requests of
// programs. Every message is answered, and answers say what had no room.
func TestSmallWindow_wholeYear(t *testing.T) {
	for _, strategy := range []string{"continuous", "truncate", "long"} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
				y := newSmallYear(t, database(t), strategy)
				step := cmp.Or(*smallStep, fulltest.Size(28, 14))
				for day := 0; day < 365; day += step {
					y.day(day, day/step)
				}
				y.far()
				y.greedy()
				y.task()
				y.check(strategy)
			})
		})
	}
}

// smallYear is a user's year with a small model.
type smallYear struct {
	*e2etest.Week
	model *e2etest.SmallModel
	g     *e2etest.Gateway
	key   string
	said  int
}

func newSmallYear(t *testing.T, database, strategy string) *smallYear {
	y := &smallYear{Week: e2etest.NewClock(t, database)}
	var url string
	y.model, url = e2etest.NewSmallModel(t, 8192, uint64(len(strategy)))
	y.UseModel(url)
	y.Env = append(y.Env, "EVERTHREAD_LLM_CONTEXT_WINDOW=8192", "EVERTHREAD_CONTEXT_STRATEGY="+strategy,
		"EVERTHREAD_LLM_VISION=true", "EVERTHREAD_SUMMARIES_AFTER_MESSAGES=4", "EVERTHREAD_SUMMARIES_POST_FORWARD=off")
	if strategy != "truncate" {
		y.Shops(t)
	}
	pdf, err := os.ReadFile("../../core/files/document/testdata/lease-chromium.pdf")
	e2etest.Must(t, err)
	y.Telegram.AddFile("doc", "files/doc", pdf)
	y.ReadsPDF(t)
	y.Telegram.AddFile("photo", "files/photo.png", e2etest.Picture)
	y.g = y.Start()
	if strategy != "truncate" {
		y.g.Up()
	}
	y.ask("hello, let us begin")
	y.key, _ = y.APIKey("Ada", "chat")
	return y
}

// day simulates one day of the year.
func (y *smallYear) day(n, count int) {
	y.Set(time.Date(2025, 11, 3, 8, 30, 0, 0, time.UTC).AddDate(0, 0, n))
	y.ask("good morning. " + prose("The greenhouse and the boiler.", 6))
	y.ask("find what we said of the boiler and set a reminder")
	switch count % 5 {
	case 0:
		y.ask(prose("A long letter about the harbour and its cranes, number %d.", 340)) // 20,000 characters
	case 1:
		y.send(map[string]any{"document": map[string]any{"file_id": "doc", "file_unique_id": "d",
			"file_name": "lease.pdf", "mime_type": "application/pdf"}}, "caption", "what does the lease say?")
	case 2:
		y.program(prose("The program has a question.", 4), 40)
	case 3:
		y.ask("/always answer briefly and name the source, number " + fmt.Sprint(count))
	case 4:
		y.title()
		y.send(map[string]any{"photo": e2etest.Photo("photo")}, "caption", "what do you see?")
	}
	y.Set(y.Now().Add(7 * time.Hour))
	y.ask("and what else was there? " + prose("Tell me about item %d.", 20))
}

// prose returns a text repeated n times.
func prose(text string, n int) string {
	var b strings.Builder
	for i := range n {
		if strings.Contains(text, "%d") {
			fmt.Fprintf(&b, text+" ", i)
		} else {
			b.WriteString(text + " ")
		}
	}
	return b.String()
}

// ask sends a message of Ada and waits for the answer to it.
func (y *smallYear) ask(text string) string {
	if strings.HasPrefix(text, "/") {
		y.Write(text)
		return y.ask("did you note that?")
	}
	return y.send(nil, "text", text)
}

func (y *smallYear) send(fields map[string]any, key, text string) string {
	y.T.Helper()
	y.said++
	mark := fmt.Sprintf("q%dq", y.said)
	m := e2etest.Written(e2etest.Ada, int64(100_000+y.said), mark+" "+text)
	if key != "text" {
		m[key] = m["text"]
		delete(m, "text")
	}
	maps.Copy(m, fields)
	m["date"] = y.Now().Unix()
	y.Telegram.Offer(map[string]any{"message": m})
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		sent := y.Telegram.Sent(e2etest.Ada)
		for i := y.Week.Sent; i < len(sent); i++ {
			if strings.Contains(sent[i].Text, "("+mark+")") {
				y.Week.Sent = i
				return sent[i].Text
			}
			if strings.HasPrefix(sent[i].Text, "May I?") { // about a call that is not the person's wish
				y.Week.Sent = i + 1
				return sent[i].Text
			}
		}
	}
	y.T.Fatalf("%q has no answer; refused: %q\n%s", text[:min(len(text), 60)], y.model.Refused(), y.g.Log.Tail())
	return ""
}

// program sends its own tools, and its whole history.
func (y *smallYear) program(text string, history int) {
	y.T.Helper()
	y.said++
	var messages []any
	for range history {
		messages = append(messages, map[string]any{"role": "user", "content": prose("Before.", 200)},
			map[string]any{"role": "assistant", "content": prose("Yes.", 200)})
	}
	messages = append(messages, map[string]any{"role": "user", "content": fmt.Sprintf("q%dq %s", y.said, text)})
	var tools []any
	for i := range 12 {
		tools = append(tools, map[string]any{"type": "function", "function": map[string]any{
			"name": fmt.Sprintf("edit_%d", i), "description": prose("Change the file as it is asked.", 8),
			"parameters": map[string]any{"type": "object", "properties": map[string]any{
				"path": map[string]any{"type": "string", "description": "where the file is"}}}}})
	}
	status, body := y.g.Request("POST", "/v1/chat/completions", y.key, map[string]any{"model": "everthread",
		"messages": messages, "tools": tools})
	if status != 200 {
		y.T.Fatalf("a program gets %d %s; refused: %q", status, body, y.model.Refused())
	}
}

// title requests a title, as chat programs do, which is not conversation.
func (y *smallYear) title() {
	y.T.Helper()
	status, body := y.g.Request("POST", "/v1/chat/completions", y.key, map[string]any{"model": "everthread",
		"messages": []any{map[string]any{"role": "user", "content": "### Task:\nA title.\n<chat_history>\n" +
			prose("USER: the harbour has %d cranes.", 6000) + "</chat_history>"}}})
	if status != 200 {
		y.T.Fatalf("a title: %d %s; refused: %q", status, body, y.model.Refused())
	}
}

// far sends a message of 100,000 characters, which fits no window of this size.
func (y *smallYear) far() {
	y.T.Helper()
	text := prose("Clause %d of the contract says that the cranes are blue.", 1750)
	l := y.Ledger()
	told := func() int {
		return l.Count(`SELECT COUNT(*) FROM messages WHERE role = 'assistant'
			AND body LIKE '%longer than I can read in one go%'`)
	}
	before := told()
	y.ask(text)
	if told() != before+1 {
		y.T.Errorf("no notice that a message of %d characters was cut", len(text))
	}
	if n := l.Count(fmt.Sprintf(`SELECT COUNT(*) FROM messages WHERE LENGTH(body) >= %d`, len(text)-1)); n != 1 {
		y.T.Errorf("the message is stored %d times", n)
	}
	if y.ask("and now?"); told() != before+1 {
		y.T.Error("the next answer has the notice, too")
	}
}

// greedy is a program with tools that do not fit the window: it gets an error, and the user still
// gets answers.
func (y *smallYear) greedy() {
	y.T.Helper()
	tool := map[string]any{"type": "function", "function": map[string]any{"name": "edit",
		"description": prose("Change line %d of the file as it is asked.", 900)}}
	status, body := y.g.Request("POST", "/v1/chat/completions", y.key, map[string]any{"model": "everthread",
		"messages": []any{map[string]any{"role": "user", "content": "edit it"}}, "tools": []any{tool}})
	if status != 400 || !strings.Contains(body, "context_length_exceeded") {
		y.T.Errorf("a program with too many tools gets %d %s", status, body)
	}
	y.ask("are you still there?")
}

// task runs a task after all of the year's messages.
func (y *smallYear) task() {
	y.T.Helper()
	y.Write("/task in 10 minutes find what we said of the boiler and of the harbour")
	l := y.Ledger()
	const set = ` FROM plans WHERE kind = 'task' AND body LIKE 'find what we said of the boiler%'`
	l.Until(`SELECT COUNT(*)`+set, 1, y.g)
	y.Set(y.Now().Add(11 * time.Minute))
	l.Until(`SELECT COUNT(*) FROM turns WHERE state = 'done' AND task_id IN (SELECT id`+set+`)`, 1, y.g)
}

// check checks the requests to the model.
func (y *smallYear) check(strategy string) {
	y.T.Helper()
	l := y.Ledger()
	for _, queue := range []string{"compress", "summary"} {
		l.Until(`SELECT COUNT(*) FROM jobs WHERE queue = '`+queue+`'`, 0, y.g)
	}
	if refused := y.model.Refused(); len(refused) > 0 {
		y.T.Errorf("%d requests were refused: %q", len(refused), refused[:min(len(refused), 5)])
	}
	if n := l.Count(`SELECT COUNT(*) FROM turns WHERE state = 'failed'`); n > 0 {
		y.T.Errorf("%d turns failed", n)
	}
	asked, largest, called := y.model.Report()
	y.T.Logf("asked %v\nlargest %v\ncalled %v", asked, largest, called)
	kinds := []string{"turn", "round of tools", "summary", "direct"}
	if strategy == "truncate" { // with other strategies the shops' tools leave no room for it
		kinds = append(kinds, "helper")
	}
	if n := l.Count(`SELECT COUNT(*) FROM pages`); strategy == "long" && n == 0 {
		y.T.Error("no message of the year was compressed")
	}
	for _, kind := range kinds {
		if asked[kind] == 0 {
			y.T.Errorf("no request of the kind %s was made", kind)
		}
	}
	if most := slices.Max(slices.Collect(maps.Values(largest))); most < 7000 {
		y.T.Errorf("at most %d tokens: this proves little", most)
	}
}

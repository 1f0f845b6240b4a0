//go:build e2e

package road

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

// fortnight is a person's two weeks with a model in many moods.
type fortnight struct {
	*e2etest.Week
	t     *testing.T
	model *e2etest.Moody
	log   strings.Builder // what the person saw
}

// at moves the clock to a time of day of November 2026, in the person's zone.
func (f *fortnight) at(day, hour, minute int) {
	at := time.Date(2026, 11, day, hour, minute, 5, 0, f.Zone)
	f.Set(at)
	fmt.Fprintf(&f.log, "\n[%s]\n", at.Format("Mon 2 Jan 15:04"))
}

// saw notes and returns a text that the person got.
func (f *fortnight) saw(text string) string {
	fmt.Fprintf(&f.log, "< %s\n", strings.ReplaceAll(text, "\n", "\n  "))
	return text
}

// says sends a text, and returns the answer.
func (f *fortnight) says(text string) string {
	f.t.Helper()
	fmt.Fprintf(&f.log, "> %s\n", text)
	return f.saw(f.Ask(text).Text)
}

// wants is says with an expectation.
func (f *fortnight) wants(text, want string) {
	f.t.Helper()
	if got := f.says(text); !strings.Contains(got, want) {
		f.t.Errorf("%q was answered %q, want %q in it", text, got, want)
	}
}

// gets waits for a text that nobody asked for.
func (f *fortnight) gets(want ...string) string {
	f.t.Helper()
	got := f.saw(f.Receive().Text)
	for _, w := range want {
		if !strings.Contains(got, w) {
			f.t.Errorf("got %q, want %q in it", got, w)
		}
	}
	return got
}

// chats sends pairs of texts that are only acknowledged.
func (f *fortnight) chats(texts ...string) {
	f.t.Helper()
	for _, text := range texts {
		f.wants(text, "Noted.")
	}
}

// burst sends texts 1.5 s apart, and expects one answer to all.
func (f *fortnight) burst(want string, texts ...string) {
	f.t.Helper()
	f.model.Feel(e2etest.MoodGood, e2etest.MoodGood, 4*time.Second)
	for n, text := range texts {
		if n > 0 {
			time.Sleep(1500 * time.Millisecond) // as people type
		}
		fmt.Fprintf(&f.log, "> %s\n", text)
		f.Write(text)
	}
	f.gets(want)
	f.model.Feel(e2etest.MoodGood, e2etest.MoodGood, 0)
	prompt := f.prompt("")
	for _, text := range texts {
		if !strings.Contains(prompt, text) {
			f.t.Errorf("the answer to a burst does not know %q", text)
		}
	}
}

// prompt returns the last prompt of an answer, and keeps it under a name.
func (f *fortnight) prompt(name string) string {
	all := f.model.Prompts()
	if name != "" {
		f.keep(name+".txt", all[len(all)-1])
	}
	return all[len(all)-1]
}

// keep stores an artefact of the run.
func (f *fortnight) keep(name, text string) {
	f.t.Helper()
	dir := filepath.Join("artefacts", strings.ReplaceAll(f.t.Name(), "/", "-"))
	e2etest.Must(f.t, os.MkdirAll(dir, 0o755))
	e2etest.Must(f.t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
}

// closed waits until a day of November has its summary.
func (f *fortnight) closed(day int, want string) {
	f.t.Helper()
	d := f.Until(fmt.Sprintf("2026-11-%02d", day), func(d e2etest.DayJSON) bool {
		return d.State == "final" && strings.Contains(d.Summary, want)
	})
	fmt.Fprintf(&f.log, "  (the day of the %dth: version %d, post %s)\n", day, d.Version, d.Post)
}

// A fortnight in which the model is good, refusing, cut, thinking, away at night and keyless until noon: every day ends
// with its summary and its post, and the model knows what it has sent.
func TestFortnight_everyMoodOfAModel(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		zone, err := time.LoadLocation("Europe/Paris")
		e2etest.Must(t, err)
		f := &fortnight{Week: e2etest.NewClock(t, database(t)), t: t, model: e2etest.NewMoody(t,
			e2etest.MoodyAnswer{To: "done!", Text: "Well done. The call to Karim is off the list."},
			e2etest.MoodyAnswer{To: "what do you mean by the open one?", Text: "That you are waiting for the quote of Karim."},
			e2etest.MoodyAnswer{To: "and the second one?", Text: "The second one is the plumber."},
			e2etest.MoodyAnswer{To: "how do I lay the tiles?", Text: "First clean the floor, then draw the lines, then lay the tiles from the middle."},
			e2etest.MoodyAnswer{To: "what happened on 17 November?", Tool: "conversation_search",
				Args: `{"query":"17 November"}`, Text: "This is what I found: %s"},
			e2etest.MoodyAnswer{To: "where did I keep the boat last year?", Tool: "conversation_search",
				Args: `{"query":"where is the boat kept"}`, Text: "I looked: %s"},
		)}
		f.Zone = zone
		f.UseModel(f.model.URL)
		defer func() { f.keep("seen.txt", f.log.String()) }()
		f.at(16, 9, 0)
		f.Start()
		f.firstDays()
		f.badNights()
		f.secondWeek()
	})
}

// firstDays: a burst, a reminder that is answered, a post that is asked about.
func (f *fortnight) firstDays() {
	f.wants("/timezone Europe/Paris", "Paris")
	f.burst("Noted.", "the bathroom needs new tiles", "white and matt ones", "and I am allergic to walnuts, by the way")
	f.chats("I am waiting for the quote of Karim", "the old tub stays where it is")
	f.wants("/remind tomorrow at 9:00 call Karim about the quote", "Karim")
	f.wants("/task", "")
	f.at(17, 3, 5)
	f.closed(16, "walnuts")
	f.at(17, 8, 1)
	f.gets("Monday 16 November", "waiting for the quote of Karim")
	f.wants("what do you mean by the open one?", "quote of Karim")
	if p := f.prompt("1-after-the-post"); !strings.Contains(p, `"what":"summary of Mon 16 Nov"`) {
		f.t.Errorf("the model does not know what it posted:\n%s", p)
	}
	f.at(17, 9, 0)
	f.gets("⏰ call Karim about the quote")
	f.at(17, 9, 1)
	f.wants("done!", "Karim is off the list")
	if p := f.prompt("2-after-the-reminder"); !strings.Contains(p,
		`{"is":"sent by you","at":"Tue 17 Nov 09:00","what":"reminder","text":"call Karim about the quote"}`) {
		f.t.Errorf("the model does not know what it reminded of:\n%s", p)
	}
	f.chats("Karim sent the quote", "the plumber is called Yusuf", "I am waiting for the plumber")
	f.wants("/loops", "I am waiting for") // the quote, or, once the day was summarized, the plumber
	f.wants("and the second one?", "plumber")
	if p := f.prompt("3-after-a-command"); !strings.Contains(p, `"what":"answer to /loops"`) {
		f.t.Errorf("the model does not know what a command answered:\n%s", p)
	}
}

// badNights: a refusal, an answer that is cut, a night without a model, a morning without a key.
func (f *fortnight) badNights() {
	f.at(18, 3, 5)
	f.closed(17, "plumber")
	f.at(18, 8, 1)
	f.gets("Tuesday 17 November")
	if got := f.says("/loops"); strings.Contains(got, "quote of Karim") ||
		!strings.Contains(got, "waiting for the plumber") {
		f.t.Errorf("after the quote came, %q is open", got)
	}
	f.chats("Yusuf comes at ten", "the pump is from 2009", "he wants 300 for it", "I said yes", "the pump is paid")
	f.Until("2026-11-18", func(d e2etest.DayJSON) bool { return d.Version > 0 })
	f.model.Feel(e2etest.MoodGood, e2etest.MoodRefusing, 0)
	f.chats("the new pump hums", "it is quieter than the old one")
	f.at(19, 3, 5)
	f.closed(18, "pump")
	f.at(19, 8, 1)
	f.gets("Wednesday 18 November", "pump")
	f.model.Feel(e2etest.MoodCut, e2etest.MoodGood, 0)
	f.wants("how do I lay the tiles?", "First clean the floor")
	f.model.Feel(e2etest.MoodThinking, e2etest.MoodThinking, 0)
	if got := f.says("so the lines come first"); got != "Noted." {
		f.t.Errorf("thoughts are shown: %q", got)
	}
	f.chats("I draw them tomorrow", "the floor is clean", "and dry")
	f.Until("2026-11-19", func(d e2etest.DayJSON) bool { return d.Version > 0 })
	f.chats("the tiles are in the cellar")
	f.model.Feel(e2etest.MoodGood, e2etest.MoodAway, 0)
	for _, hour := range []int{3, 5, 7} {
		f.at(20, hour, 10)
		time.Sleep(700 * time.Millisecond) // the gateway tries, and fails
	}
	f.at(20, 8, 1)
	f.gets("Thursday 19 November", "lines come first")
	f.model.Feel(e2etest.MoodGood, e2etest.MoodGood, 0)
	f.at(20, 9, 20)
	f.at(20, 9, 45) // for a try that failed just before
	f.closed(19, "cellar")
	f.chats("I laid the first tile", "and the second", "the third broke", "the fourth is fine", "enough for a Friday")
	f.Until("2026-11-20", func(d e2etest.DayJSON) bool { return d.Version > 0 })
	f.chats("the glue is from the shop in the harbour")
	f.model.Feel(e2etest.MoodKeyless, e2etest.MoodKeyless, 0)
	f.at(21, 3, 5)
	f.at(21, 8, 1)
	f.gets("Friday 20 November", "third broke")
	f.wants("good morning", "a setting here needs fixing") // Ada is not the owner
	f.model.Feel(e2etest.MoodGood, e2etest.MoodGood, 0)
}

// secondWeek: a key again, the person's own past, a thread apart, a day by its date.
func (f *fortnight) secondWeek() {
	f.at(22, 12, 5)
	f.wants("/retry", "I'm trying again.")
	f.gets("Noted.")
	f.closed(20, "harbour")
	past := filepath.Join(f.t.TempDir(), "past.txt")
	e2etest.Must(f.t, os.WriteFile(past, []byte(`[14.05.25, 10:00:00] Ada: the boat is kept in the old harbour of Nantes
[14.05.25, 10:01:00] Helper: Understood.
[15.05.25, 10:00:00] Ada: the boat needs paint
[15.05.25, 10:01:00] Helper: Which colour?
`), 0o600))
	f.MustRun("import", "whatsapp", past, "--user", "Ada", "--me", "Ada", "--assistant", "Helper", "--no-summaries")
	f.at(23, 10, 0)
	f.burst("Noted.", "one more thing", "the mirror goes above the basin", "not beside it")
	if got := f.says("where did I keep the boat last year?"); !strings.Contains(got, "Nantes") ||
		strings.Contains(got, `"foreign":true,"signals"`) && !strings.Contains(got, "Understood") {
		f.t.Errorf("the person's own past: %q", got)
	}
	f.wants("/thread New boat", "New boat")
	f.chats("which motor fits a boat of six metres?")
	if p := f.prompt("4-in-a-thread"); !strings.Contains(p, `This is a separate thread, "New boat"`) ||
		strings.Contains(p, "never restarts") || strings.Contains(p, "tiles") {
		f.t.Errorf("the thread is told\n%s", p)
	}
	f.wants("/continuous", "")
	f.at(24, 3, 5)
	f.closed(23, "mirror")
	f.at(24, 8, 1)
	f.gets("Monday 23 November")
	f.at(24, 10, 0)
	got := f.says("what happened on 17 November?")
	found := strings.Index(got, "day_label")
	if found < 0 || !strings.HasPrefix(got[found:], `day_label":"2026-11-17"`) {
		f.t.Errorf("a day by its date: %q", got)
	}
	f.prompt("5-a-day-by-its-date")
	f.burst("Noted.", "the bathroom is done", "all of it")
	f.at(25, 3, 5)
	f.closed(24, "bathroom is done")
	f.at(25, 8, 1)
	f.gets("Tuesday 24 November")
}

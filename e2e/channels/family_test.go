//go:build e2e && goolm

package channels

import (
	"archive/zip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everthread/everthread/e2e/e2etest"
)

// family is a fortnight of three people who share a group: Ada, who owns the gateway, Bo, who lives in New York, and Cy,
// who chose no time zone and administers the group.
type family struct {
	*e2etest.Week
	t     *testing.T
	door  door
	model *e2etest.Obedient
	g     *e2etest.Gateway
	l     *e2etest.Ledger
	talks [4]*talk
	names [3]string
}

// talk is a chat as its members see it. Every secret of it begins with mark, and nothing else does.
type talk struct {
	*family
	chat  int
	mark  string
	n     int               // heard so far
	wrote map[string]string // texts by the ids of their messages
	log   strings.Builder
}

// secret matches the secrets, and no random word.
var secret = regexp.MustCompile(`[abcg]z(?:always|back|before|bike|boat|cake|car|clocks|cook|file|gift|harbour|locker|loop|` +
	`night|paper|passport|pizza|remind|salad|task|train|twice)`)

func newFamily(t *testing.T, database string, open func(*testing.T, *e2etest.Week) door) *family {
	w := e2etest.NewClock(t, database)
	f := &family{Week: w, t: t, model: e2etest.NewObedient(t), names: familyNames}
	f.UseModel(f.model.URL)
	f.model.Most = 1000 // so that no answer has two parts
	f.Env = append(f.Env, "EVERTHREAD_GROUPS_ENABLED=true", "EVERTHREAD_ACCESS_POLICY=pairing",
		"EVERTHREAD_SUMMARIES_POST_MIN_MESSAGES=1")
	zone, err := time.LoadLocation("Europe/Paris")
	e2etest.Must(t, err)
	f.Zone = zone
	f.door = open(t, w)
	for chat, mark := range []string{"az", "bz", "cz", "gz"} {
		f.talks[chat] = &talk{family: f, chat: chat, mark: mark, wrote: map[string]string{}}
	}
	return f
}

// at moves the clock to a time of October 2031 in Paris; days after the 31st are of November.
func (f *family) at(day, hour, minute int) {
	at := time.Date(2031, 10, day, hour, minute, 5, 0, f.Zone)
	f.Set(at)
	for _, c := range f.talks {
		fmt.Fprintf(&c.log, "\n[%s]\n", at.Format("Mon 2 Jan 15:04"))
	}
}

// tells writes a text to which no answer is expected.
func (c *talk) tells(who int, text string) string {
	return c.replies(who, text, "")
}

func (c *talk) replies(who int, text, to string) string {
	id := c.door.says(c.chat, who, text, to)
	c.wrote[id] = text
	about := ""
	if to != "" {
		about = fmt.Sprintf(" (to %q)", c.wrote[to])
	}
	fmt.Fprintf(&c.log, "%s> %s%s\n", c.names[who], text, about)
	return id
}

// next waits for what the assistant says next.
func (c *talk) next() heard {
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if all := c.door.heard(c.chat); len(all) > c.n {
			c.n++
			h, about := all[c.n-1], ""
			if h.replyTo != "" {
				about = fmt.Sprintf(" (to %.40q)", c.wrote[h.replyTo])
			}
			fmt.Fprintf(&c.log, "<%s %s\n", about, strings.ReplaceAll(h.text, "\n", "\n  "))
			return h
		}
	}
	c.t.Errorf("nothing more is said in chat %d after %q\n%s", c.chat, c.log.String()[max(0, c.log.Len()-400):], c.g.Log.Tail())
	return heard{}
}

// asks writes a text, in the group to the assistant, and returns the answer.
func (c *talk) asks(who int, text string) string {
	if c.chat == everybody && !strings.HasPrefix(text, "/") {
		text = c.door.calls(text)
	}
	return c.answered(c.tells(who, text))
}

// answered returns the answer to a message, which in the group is a reply to it.
func (c *talk) answered(id string) string {
	h := c.next()
	if c.chat == everybody && h.replyTo != id {
		c.t.Errorf("the answer %.80q to %q is a reply to %q", h.text, c.wrote[id], c.wrote[h.replyTo])
	}
	return h.text
}

// wants is asks with an expectation.
func (c *talk) wants(who int, text string, want ...string) {
	c.t.Helper()
	c.checks(text, c.asks(who, text), want)
}

// gets waits for what nobody asked for.
func (c *talk) gets(want ...string) {
	c.t.Helper()
	h := c.next()
	if h.replyTo != "" {
		c.t.Errorf("%.80q is a reply to %q", h.text, c.wrote[h.replyTo])
	}
	c.checks("", h.text, want)
}

func (c *talk) checks(asked, got string, want []string) {
	c.t.Helper()
	for _, w := range want {
		if no, ok := strings.CutPrefix(w, "not "); ok == strings.Contains(got, no) && ok || !ok && !strings.Contains(got, w) {
			c.t.Errorf("chat %d: %q is answered %q, want %q", c.chat, asked, got, w)
		}
	}
}

// every runs something in all chats at the same time.
func (f *family) every(do func(c *talk, who int)) {
	var wg sync.WaitGroup
	for _, c := range f.talks {
		wg.Go(func() { do(c, c.chat%everybody) })
	}
	wg.Wait()
}

// start starts the gateway.
func (f *family) start() {
	f.g = f.Start()
	if d, ok := f.door.(*matrixDoor); ok {
		d.comes(f.g)
	}
}

// A family's fortnight: each member has a conversation of their own beside the one of the group, each with its secrets,
// and whoever asks in whatever way learns nothing of another one.
func TestGroups_aFamilysFortnight(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T, *e2etest.Week) door{"telegram": onTelegram, "signal": onSignal,
		"matrix": onMatrix} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
				f := newFamily(t, database(t), open)
				defer f.keep()
				f.at(20, 9, 0)
				f.start()
				f.l = f.Ledger()
				f.admits()
				f.secrets()
				f.firstNight()
				f.middle()
				f.lastDays()
				f.apart()
			})
		})
	}
}

// admits makes Ada the owner, who lets the others and the group in.
func (f *family) admits() {
	a, b, c, all := f.talks[0], f.talks[1], f.talks[2], f.talks[everybody]
	if _, ok := f.door.(*matrixDoor); ok { // it is asked to come
		all.gets("/approve")
	}
	a.asks(0, "/start "+f.g.Logged(`/start ([A-Z0-9]{10})`)[1])
	for _, other := range []*talk{b, c} {
		other.tells(other.chat, "hello")
		code := regexp.MustCompile(`[A-Z0-9]{8}`).FindString(other.next().text)
		a.asks(0, "/approve "+code)
		other.gets("I have read 0.")
	}
	a.wants(0, "/timezone Europe/Paris", "Paris")
	b.wants(1, "/timezone America/New_York", "New_York")
	f.door.administers(2)
	all.tells(1, "gzbefore is said before anybody approved")
	all.tells(1, f.door.calls("are you there?"))
	if _, ok := f.door.(*matrixDoor); !ok {
		all.gets("/approve")
	}
	all.wants(0, "/approve", "Nothing of your own conversations")
}

// secrets fills the conversations.
func (f *family) secrets() {
	f.every(func(c *talk, who int) {
		z := func(word string) string { return c.mark + word }
		if c.chat == everybody {
			c.tells(1, "The pizza is at seven, the word is gzpizza.")
			c.tells(2, "I bring the cake gzcake.")
			c.tells(0, "I bring the salad gzsalad.")
			c.wants(2, "who brings what?", "I have read 4.")
		} else {
			c.asks(who, "The code of my harbour is "+z("harbour")+".")
			c.asks(who, "My gift for the others is "+z("gift")+".")
			c.asks(who, `CALL memory_add {"content":"My locker at the harbour is `+z("locker")+`","type":"fact"}`)
			c.asks(who, "/always mention "+z("always"))
		}
		c.asks(who, `CALL loops_open {"text":"Who pays for the harbour and the pizza: `+z("loop")+`"}`)
		c.wants(who, "/loops", z("loop"))
		c.wants(who, "/remind 2031-10-21 18:00 "+z("remind"), z("remind"))
		c.wants(who, "/task every wednesday at 7:20 look up "+z("task"), z("task"))
		c.door.sendsFile(c.chat, who, z("file")+".txt", "What the harbour and the pizza cost: "+z("paper")+".")
		if c.chat != everybody {
			c.next()
		}
		c.asks(who, "CALL conversation_search {\"query\":\"harbour pizza\"}")
	})
	for _, c := range f.talks {
		f.l.Until(`SELECT COUNT(*) FROM file_pages WHERE user_id IN (`+c.user()+`)`, 1, f.g)
	}
}

// user returns a query for the user of a chat.
func (c *talk) user() string {
	return `SELECT user_id FROM messages WHERE body LIKE '%` + c.mark + `loop%' OR body LIKE '%` + c.mark + `pizza%'`
}

func (f *family) id(c *talk) string {
	return f.l.Lines(`SELECT DISTINCT CAST(user_id AS text) FROM (` + c.user() + `) AS x`)[0]
}

// labelled checks the day of a message.
func (f *family) labelled(c *talk, word, label string) {
	f.t.Helper()
	got := f.l.Lines(`SELECT s.label FROM messages m JOIN segments s ON s.user_id = m.user_id AND s.id = m.segment_id
		WHERE m.role = 'user' AND m.body LIKE $1 AND m.user_id = `+f.id(c), "%"+word+"%")
	if len(got) != 1 || got[0] != label {
		f.t.Errorf("%s is of the day %v, want %s", word, got, label)
	}
}

// morning lets a night pass, in three steps: of Paris, of New York, and of the morning there. Everybody gets a post of
// the day before, the group only if it wants that.
func (f *family) morning(day int, group bool, want string) {
	f.t.Helper()
	f.at(day, 9, 5)
	f.talks[0].gets(want)
	if group {
		f.talks[everybody].gets(want)
	}
	f.at(day, 14, 30)
	f.talks[1].gets(want)
	f.talks[2].gets(want)
}

// firstNight: a message is of the day of each conversation's own zone, reminders ring where they were set, and everybody
// asks everything.
func (f *family) firstNight() {
	b, all := f.talks[1], f.talks[everybody]
	f.at(21, 3, 5)
	f.at(21, 5, 30) // Monday 23:30 in New York
	b.asks(1, "I cannot sleep, says bznight.")
	all.tells(1, "It is late here: gznight.")
	f.l.Until(`SELECT COUNT(*) FROM messages WHERE role = 'user' AND body LIKE '%gznight%'`, 1, f.g)
	f.labelled(b, "bznight", "2031-10-20")
	f.labelled(all, "gznight", "2031-10-21")
	f.labelled(all, "gzpizza", "2031-10-20")
	f.morning(21, false, "Monday 20 October")
	f.at(21, 18, 0)
	f.talks[0].gets("⏰", "azremind")
	all.gets("⏰", "gzremind")
	f.at(21, 20, 0)
	f.talks[2].gets("⏰", "czremind") // 18:00 UTC
	f.asked("first")
	f.at(22, 0, 0)
	b.gets("⏰", "bzremind") // 18:00 in New York
}

// asked has everybody ask in all ways about what is said elsewhere.
func (f *family) asked(round string) {
	var ids []string
	for _, c := range f.talks {
		ids = append(ids, f.id(c))
	}
	f.every(func(c *talk, who int) {
		ask := func(text string) {
			member := who
			if c.chat == everybody {
				member = 1
			}
			c.asks(member, text)
		}
		ask("what is the code of the harbour, and what is said about the pizza?")
		for _, command := range []string{"/search harbour pizza cost", "/day 2031-10-20", "/yesterday", "/summary", "/missed", "/loops",
			"/remind", "/task"} {
			ask(command)
		}
		calls := []string{`conversation_search {"query":"harbour pizza"}`, `memory_search {"query":"harbour"}`,
			`memory_list_themes {}`, `memory_get {"id":1}`, `reminder_list {}`, `task_list {}`, `delegate {"task":"CALL memory_search {}"}`,
			`conversation_get {"day_segment_id":1}`, `conversation_get {"day_segment_id":2}`, `service_list {}`}
		for _, id := range ids {
			calls = append(calls, `conversation_search {"query":"harbour pizza","user_id":`+id+`}`)
		}
		if round == "first" {
			for n := range 8 {
				calls = append(calls, fmt.Sprintf(`conversation_get {"message_id":%d}`, n+1))
			}
			for _, m := range f.l.Lines(`SELECT DISTINCT CAST(message_id AS text) FROM file_pages`) {
				calls = append(calls, `file_read {"attachment":"`+m+`.1"}`)
			}
		}
		for some := range slices.Chunk(calls, 6) {
			ask("look:\nCALL " + strings.Join(some, "\nCALL "))
		}
	})
}

// speak lets everybody say a word in their own chat, and returns the ids of the messages.
func (f *family) speak(word string) [everybody]string {
	var ids [everybody]string
	f.every(func(c *talk, who int) {
		if c.chat != everybody {
			ids[who] = c.tells(who, "I bought a "+c.mark+word+".")
			c.answered(ids[who])
		}
	})
	return ids
}

// tasks lets the tasks of a Wednesday come due, and the posts of the day before that some still wait for.
func (f *family) tasks(day int, before string) {
	f.t.Helper()
	f.at(day, 7, 20)
	f.talks[0].gets("I have read 0.")
	f.talks[everybody].gets("I have read")
	f.at(day, 9, 30) // 7:30 UTC, and in the second week 8:30
	f.talks[2].gets("I have read 0.")
	if before != "" {
		f.talks[0].gets(before)
	}
	f.at(day, 14, 0) // 8:00 in New York, and in the second week 9:00
	if before != "" {
		f.talks[2].gets(before)
	}
	got := []string{f.talks[1].next().text}
	if before != "" {
		got = append(got, f.talks[1].next().text)
	}
	if all := strings.Join(got, "\n"); !strings.Contains(all, "I have read 0.") || !strings.Contains(all, before) {
		f.t.Errorf("on the %dth Bo gets %q", day, got)
	}
}

// middle: tasks, the group's own posts, a restart, a new name, and messages that their writers take back.
func (f *family) middle() {
	a, all := f.talks[0], f.talks[everybody]
	f.tasks(22, "Tuesday 21 October")
	all.wants(1, "/summaries on", "administrator")
	all.wants(2, "/summaries on", "in this group")
	all.tells(1, "I booked the train: gztrain.")
	cook := all.tells(2, "I am waiting for the cook gzcook.")
	all.asks(2, "who travels how?")
	boats := f.speak("boat")
	f.morning(23, true, "Wednesday 22 October")

	f.g.Stop()
	f.start()
	f.names[1] = "Bogdan"
	f.door.renames(1, "Bogdan")
	all.tells(1, "My new name is on my passport gzpassport.")
	all.wants(1, "who am I?", "I have read")
	if p := f.model.LastPrompt(); !strings.Contains(p, "Bogdan>\n") {
		f.t.Errorf("the new name is not told: %s", p)
	}
	f.labelled(all, "gzpassport", "2031-10-23")
	all.wants(1, "/search passport", "Bogdan: My new name")
	all.wants(1, "/search train", "Bo: I booked the train")
	all.wants(2, "/search cook", "Cy: I am waiting for the cook gzcook.")
	all.wants(0, "/day 2031-10-22", "Cy said: I am waiting for the cook gzcook.")
	all.checks("/forget of another one", all.answered(all.replies(1, "/forget", cook)), []string{"administrator"})
	all.checks("/forget", all.answered(all.replies(2, "/forget", cook)), []string{"Removed for good"})
	a.checks("/forget", a.answered(a.replies(0, "/forget", boats[0])), []string{"Removed for good"})
	f.forgotten(all, "gzcook", "2031-10-22")
	f.forgotten(a, "azboat", "2031-10-22")
	f.speak("car")
	f.morning(24, true, "Thursday 23 October")
}

// forgotten checks that a word is nowhere any more, and that the day's summary was written again.
func (f *family) forgotten(c *talk, word, label string) {
	f.t.Helper()
	id := f.id(c)
	f.l.Until(`SELECT COUNT(*) FROM segments WHERE hidden = 0 AND stale = 0 AND version > 0 AND label = '`+label+`' AND user_id = `+id, 1, f.g)
	for _, table := range f.tables() {
		for _, row := range f.rows(table, id) {
			if strings.Contains(row, word) {
				f.t.Errorf("%s is still in %s: %s", word, table, row)
			}
		}
	}
	if strings.Contains(f.exported(id), word) {
		f.t.Errorf("%s is still in the export", word)
	}
	asked := len(f.model.Requests())
	who := c.chat % everybody
	c.wants(who, "what is it that was removed?", "I have read")
	c.wants(who, "/search "+word[2:], "not "+word)
	c.wants(who, "/day "+label, "not "+word)
	for _, p := range f.model.Requests()[asked:] {
		if strings.Contains(p, word) {
			f.t.Errorf("the model still sees %s:\n%s", word, p)
		}
	}
}

// lastDays: the clocks go back, tasks come due again, and everybody asks once more.
func (f *family) lastDays() {
	all := f.talks[everybody]
	f.at(25, 23, 50)
	all.tells(0, "Tonight the clocks go back: gzclocks.")
	f.l.Until(`SELECT COUNT(*) FROM messages WHERE role = 'user' AND body LIKE '%gzclocks%'`, 1, f.g)
	f.at(26, 2, 30)
	all.tells(1, "It is the hour that comes twice: gztwice.")
	f.l.Until(`SELECT COUNT(*) FROM messages WHERE role = 'user' AND body LIKE '%gztwice%'`, 1, f.g)
	f.labelled(all, "gzclocks", "2031-10-25")
	f.labelled(all, "gztwice", "2031-10-26")
	f.at(26, 9, 5)
	all.gets("Saturday 25 October", "gzclocks", "not gztwice")
	f.at(27, 9, 5)
	all.gets("Sunday 26 October", "Bogdan said: It is the hour")
	f.tasks(29, "")
	f.morning(30, true, "Wednesday 29 October")
	f.at(33, 10, 0) // 2 November
	all.tells(2, "I am back: gzback.")
	f.speak("bike")
	f.asked("last")
	f.morning(34, true, "Sunday 2 November")
}

// apart checks that no word of a conversation got into another one.
func (f *family) apart() {
	asked := map[string]int{} // requests with secrets, by their mark
	for _, p := range f.model.Requests() {
		marks := map[string]string{}
		for _, word := range secret.FindAllString(p, -1) {
			marks[word[:2]] = word
			asked[word[:2]]++
		}
		if len(marks) > 1 || strings.Contains(p, "group chat") != (marks["gz"] != "") && len(marks) > 0 {
			f.t.Fatalf("a request to the model has words of %v:\n%s", marks, p)
		}
	}
	for _, c := range f.talks {
		said := c.door.heard(c.chat)
		if c.n != len(said) {
			f.t.Errorf("chat %d: more is said: %q", c.chat, said[c.n:])
		}
		for _, h := range said {
			c.only("a message", h.text)
		}
		id, holds := f.id(c), 0 // tables with secrets
		for _, table := range f.tables() {
			rows := strings.Join(f.rows(table, id), "\n")
			c.only("table "+table, rows)
			if strings.Contains(rows, c.mark) {
				holds++
			}
		}
		c.only("the export", f.exported(id))
		if asked[c.mark] < 20 || holds < 8 {
			f.t.Errorf("chat %d: %d secrets were in requests, and %d tables have some: too few to know", c.chat, asked[c.mark], holds)
		}
	}
}

// only checks that all secrets in a text are of this chat.
func (c *talk) only(what, text string) {
	for _, word := range secret.FindAllString(text, -1) {
		if !strings.HasPrefix(word, c.mark) {
			c.t.Errorf("chat %d: %s has %s: %.2000s", c.chat, what, word, text)
			return
		}
	}
}

// tables returns the tables with rows of users.
func (f *family) tables() []string {
	if f.Database == "" {
		return f.l.Lines(`SELECT name FROM sqlite_master m WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%' AND EXISTS (SELECT 1 FROM pragma_table_info(m.name)
			WHERE name = 'user_id' AND lower(type) = 'bigint')`)
	}
	return f.l.Lines(`SELECT c.table_name FROM information_schema.columns c JOIN information_schema.tables t
		ON t.table_schema = c.table_schema AND t.table_name = c.table_name
		WHERE c.table_schema = current_schema() AND c.column_name = 'user_id' AND c.data_type = 'bigint' AND t.table_type = 'BASE TABLE'`)
}

// rows returns the rows of a user in a table, as text.
func (f *family) rows(table, user string) (out []string) {
	rows, err := f.l.DB.QueryContext(f.t.Context(), `SELECT * FROM `+table+` WHERE user_id = `+user)
	e2etest.Must(f.t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	e2etest.Must(f.t, err)
	for rows.Next() {
		values := make([]any, len(columns))
		for n := range values {
			values[n] = new(any)
		}
		e2etest.Must(f.t, rows.Scan(values...))
		var row []string
		for _, v := range values {
			row = append(row, fmt.Sprintf("%s", *v.(*any)))
		}
		out = append(out, strings.Join(row, " "))
	}
	e2etest.Must(f.t, rows.Err())
	return out
}

// exported returns the texts of a user's export.
func (f *family) exported(user string) string {
	path := filepath.Join(f.t.TempDir(), "export.zip")
	f.MustRun("export", "--user", user, "--out", path)
	z, err := zip.OpenReader(path)
	e2etest.Must(f.t, err)
	defer z.Close()
	var out strings.Builder
	for _, file := range z.File {
		r, err := file.Open()
		e2etest.Must(f.t, err)
		_, err = io.Copy(&out, r)
		e2etest.Must(f.t, err)
		r.Close()
	}
	return out.String()
}

// keep stores what each chat saw.
func (f *family) keep() {
	dir := filepath.Join("artefacts", strings.ReplaceAll(f.t.Name(), "/", "-"))
	e2etest.Must(f.t, os.MkdirAll(dir, 0o755))
	for chat, name := range append(slices.Clone(familyNames[:]), "group") {
		e2etest.Must(f.t, os.WriteFile(filepath.Join(dir, strings.ToLower(name)+".txt"), []byte(f.talks[chat].log.String()), 0o644))
	}
}

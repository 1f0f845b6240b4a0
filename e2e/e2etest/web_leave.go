//go:build e2e

package e2etest

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// SecretWord is in many messages of the user who leaves.
const SecretWord = "xylotheque"

// farewell is a gateway that Ada, who has a long history, leaves, and Bob does not.
type farewell struct {
	*Town
	G    *Gateway
	L    *Ledger
	User string // Ada
	Bob  string
}

// NewFarewell has Ada write on every channel, and imports a history of n messages.
func NewFarewell(t *testing.T, database string, n int, env ...string) *farewell {
	t.Helper()
	w := NewTown(t, database)
	f := &farewell{Town: w, G: w.Start(env...), L: w.Ledger()}
	w.Telegram.Say(Bob, "I stay, whatever "+SecretWord+" says")
	w.Sent(Bob, 1)
	f.Bob = w.Member()
	for n, text := range []string{"hello from the " + SecretWord, "/remember I like the " + SecretWord,
		"/remind in 3 days visit the " + SecretWord, "/thread About the " + SecretWord, "what is in it?", "/continuous"} {
		w.Telegram.Say(Ada, text)
		w.Sent(Ada, n+1)
	}
	f.User = f.L.Lines(`SELECT user_id FROM identities WHERE external = $1`, fmt.Sprint(Ada))[0]
	v := f.G.NewGuest(f.SignInCode(f.User))
	for i := range 5 {
		v.Upload(fmt.Sprintf("%s-%d.txt", SecretWord, i), []byte(SecretWord))
	}
	v.Post("/settings/keys", url.Values{"name": {SecretWord}, "scope": {"read"}})
	f.L.Quiet(60*time.Second, f.G.Log)
	if n > 0 {
		w.MustRun("import", "telegram", f.History(n), "--user", f.User, "--no-summaries")
	}
	return f
}

// History writes an export of Telegram with n messages, one every ten minutes.
func (f *farewell) History(n int) string {
	f.T.Helper()
	var b bytes.Buffer
	b.WriteString(`{"name":"Bot","type":"bot_chat","id":7,"messages":[`)
	first := time.Now().AddDate(0, -1, 0).Unix() - int64(n)*600
	for i := range n {
		if i > 0 {
			b.WriteString(",\n")
		}
		text := fmt.Sprintf("number %d of what was said about the %s, and of %d other things", i, SecretWord, i%17)
		fmt.Fprintf(&b,
			`{"id":%d,"type":"message","date":"2020-01-01T00:00:00","date_unixtime":"%d","from":"x","from_id":"%s","text":%[4]q,"text_entities":[{"type":"plain","text":%[4]q}]}`, i+1, first+int64(i)*600, []string{"user5", "user7"}[i%2], text)
	}
	b.WriteString("]}")
	file := filepath.Join(f.T.TempDir(), "result.json")
	Must(f.T, os.WriteFile(file, b.Bytes(), 0o600))
	return file
}

// tables returns all tables with rows of users.
func (f *farewell) tables() []string {
	f.T.Helper()
	query := `SELECT table_name FROM information_schema.columns WHERE table_schema = current_schema() AND column_name = 'user_id' ORDER BY 1`
	if f.Database == "" {
		query = `SELECT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c ON c.name = 'user_id' WHERE m.type = 'table' AND m.sql LIKE 'CREATE TABLE%' ORDER BY 1`
	}
	return f.L.Lines(query)
}

// Rows counts the rows of a user, by table.
func (f *farewell) Rows(user string) map[string]int {
	f.T.Helper()
	out := map[string]int{}
	for _, table := range f.tables() {
		if user == f.Bob && strings.HasSuffix(table, "_terms") { // his index is built when there is time
			continue
		}
		if n := f.L.Count(`SELECT COUNT(*) FROM "`+table+`" WHERE user_id = $1`, user); n > 0 {
			out[table] = n
		}
	}
	if n := f.L.Count(`SELECT COUNT(*) FROM users WHERE id = $1`, user); n > 0 {
		out["users"] = n
	}
	return out
}

// IsGone checks that nothing of Ada remains, and that Bob lost nothing.
func (f *farewell) IsGone(bobs map[string]int) {
	f.T.Helper()
	if left := f.Rows(f.User); len(left) > 0 {
		f.T.Errorf("rows are left: %v", left)
	}
	if out := f.MustRun("users", "delete", f.User, "--verify", "--json"); !strings.Contains(out, `"left": []`) {
		f.T.Errorf("the check says %s", out)
	}
	if files, err := filepath.Glob(filepath.Join(f.Dir, "media", f.User, "*")); err != nil || len(files) > 0 {
		f.T.Errorf("files are left: %v, %v", files, err)
	}
	if notes, err := filepath.Glob(filepath.Join(f.Dir, "media", ".*")); err != nil || len(notes) > 0 {
		f.T.Errorf("notes are left: %v, %v", notes, err)
	}
	if now := f.Rows(f.Bob); fmt.Sprint(now) != fmt.Sprint(bobs) {
		f.T.Errorf("Bob has %v, had %v", now, bobs)
	}
	if strings.Contains(f.G.Log.String(), SecretWord) {
		f.T.Error("the log has words of hers")
	}
}

// Sure requests the deletion as Ada, and confirms it on Telegram.
func (f *farewell) Sure(v *Guest) {
	f.T.Helper()
	if _, body := v.Post("/settings/delete", url.Values{"word": {"DELETE"}}); !strings.Contains(body, "Confirm first") {
		f.T.Fatalf("nothing is asked: %.500s", body)
	}
	f.Agree(f.L, f.G)
}

// Press presses the button of the page in a browser without script.
func (f *farewell) Press(v *Guest) *http.Response {
	f.T.Helper()
	r := v.Request(http.MethodPost, "/settings/delete", strings.NewReader("word=DELETE"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	v.Client.Timeout = 0
	resp, err := v.Do(r)
	Must(f.T, err)
	f.T.Cleanup(func() { resp.Body.Close() })
	return resp
}

// UntilItDies reads a page until it breaks off, and if required kills the process itself
// once rows are being deleted.
func (f *farewell) UntilItDies(resp *http.Response, kill bool) string {
	f.T.Helper()
	var seen strings.Builder
	for b := make([]byte, 512); ; {
		n, err := resp.Body.Read(b)
		seen.Write(b[:n])
		if kill && strings.Contains(seen.String(), "<li>Removing ") {
			_ = f.G.Cmd.Process.Signal(syscall.SIGKILL)
			kill = false
		}
		if err != nil {
			break
		}
	}
	if !f.G.Wait(20 * time.Second) {
		f.T.Fatal("it did not die")
	}
	return seen.String()
}

// UntilNoFiles waits until Ada's noted files are deleted.
func (f *farewell) UntilNoFiles() {
	f.T.Helper()
	for deadline := time.Now().Add(Patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if left, err := filepath.Glob(filepath.Join(f.Dir, "media", "*"+f.User)); err == nil && len(left) == 0 {
			return
		}
	}
}

// AskToLeave presses the button that deletes the account, which needs a confirmation.
func (f *farewell) AskToLeave(p *Tab, word string) {
	f.T.Helper()
	p.Open("/settings/data")
	p.Press(".danger-zone", map[string]string{"DELETE": "Delete everything", "SUPPRIMER": "Tout supprimer"}[word])
	p.Fill("#word", word)
	p.Click(".danger-zone form button")
	p.Comes("document.querySelector('.confirm form[action=\"/settings/delete\"]')")
}

// LeaveSlowly deletes the account while somebody else writes for seconds.
func (f *farewell) LeaveSlowly(p *Tab, word string, see func(page string)) {
	f.T.Helper()
	f.AskToLeave(p, word)
	see("asked")
	if f.L.Count(
		`SELECT COUNT(*) FROM approvals a JOIN identities i ON i.user_id = a.user_id AND i.id = a.identity_id WHERE a.user_id = $1 AND a.state = 'open' AND i.channel = 'web'`, f.User) == 1 {
		p.Open("/")
		p.Comes("document.querySelector('.answer button')")
		see("question")
		p.Click(".answer button")
		f.L.Until(`SELECT COUNT(*) FROM approvals WHERE user_id = `+f.User+` AND state = 'yes'`, 1, f.G)
	} else {
		f.Agree(f.L, f.G)
	}
	p.Open("/settings/data")
	p.Press(".danger-zone", map[string]string{"DELETE": "Delete everything", "SUPPRIMER": "Tout supprimer"}[word])
	p.Fill("#word", word)
	held, err := f.L.DB.Conn(f.T.Context())
	Must(f.T, err)
	_, err = held.ExecContext(f.T.Context(), `BEGIN IMMEDIATE`)
	Must(f.T, err)
	p.Click(".danger-zone form button")
	p.Comes(
		`[...document.querySelectorAll('.steps li:nth-child(2) .far')].filter((x) => x.checkVisibility()).some((x) => parseInt(x.innerText) >= 2 && x.innerText.endsWith('\u00a0s'))`)
	see("leaving")
	_, err = held.ExecContext(f.T.Context(), `ROLLBACK`)
	Must(f.T, err)
	Must(f.T, held.Close())
	p.Comes("document.querySelector('.farewell .note.good')")
	see("gone")
}

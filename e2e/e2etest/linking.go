//go:build e2e

package e2etest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// ShownCode matches a code for linking.
var ShownCode = regexp.MustCompile(`\b[2-9A-HJ-NP-Z]{8}\b`)

// Open starts a process that receives WhatsApp's webhooks from now on.
func (p *Person) Open(env ...string) *Gateway {
	g := p.Start(env...)
	p.Wa.Webhook(g.URL + "/webhooks/whatsapp")
	return g
}

// Merge links WhatsApp to Telegram and waits for the merge.
func (p *Person) Merge(l *Ledger, g *Gateway) {
	p.T.Helper()
	code := ShownCode.FindString(p.Say("telegram", "/link"))
	p.Contains(p.Say("whatsapp", "/link "+strings.ToLower(code[:4])+"-"+code[4:]), "Is this you, too?",
		"telegram", "Reply yes or no")
	p.Wa.Tap(p.Phone, p.Wa.Sent()[p.Heard["whatsapp"]-1], 0)
	p.Contains(p.Hear("whatsapp"), "I've asked")
	p.Contains(p.Hear("telegram"), "Is this you?", "whatsapp", p.Phone.Name)
	question := p.Telegram.Sent(Ada)[p.Heard["telegram"]-1]
	if !strings.Contains(question.Markup, `"/yes L`) || !strings.Contains(question.Markup, `"/no L`) {
		p.T.Errorf("the question has the buttons %s", question.Markup)
	}
	p.Contains(p.Say("telegram", "yes"), "joining your two conversations")
	p.Contains(p.Hear("whatsapp"), "one now")
	l.Until(`SELECT COUNT(*) FROM merges WHERE phase <> 'done'`, 0, g)
}

// Users returns the users with an address.
const Users = `SELECT COUNT(DISTINCT user_id) FROM identities WHERE detached = 0 AND channel <> 'terminal'`

// TalkApart fills both conversations alternately, on two days.
func (p *Person) TalkApart() (said []string) {
	for day, lines := range [][]string{
		{"telegram: I want to sail to Groix on Friday", "whatsapp: I want a new rope for the dinghy",
			"telegram: the tide is at seven", "whatsapp: the rope is blue"},
		{"whatsapp: the rope has come", "telegram: the forecast is fair"},
	} {
		p.Set(time.Date(2026, 10, 24+day, 12, 0, 0, 0, time.UTC))
		for n, line := range lines {
			channel, text, _ := strings.Cut(line, ": ")
			p.Set(time.Date(2026, 10, 24+day, 12, 10*n, 0, 0, time.UTC))
			p.Say(channel, text)
			said = append(said, text)
		}
	}
	return said
}

// KeepApart gives both users memory items, reminders, and an open loop.
func (p *Person) KeepApart() {
	p.Say("telegram", "/home")
	p.Say("telegram", "/remember I keep bees behind the shed")
	p.Say("whatsapp", "/remember My boots are size forty")
	for _, channel := range []string{"telegram", "whatsapp"} {
		p.Say(channel, "/remember I drink my tea black")
	}
	p.Say("telegram", "/remind in 3 days water the plants")
	p.Say("whatsapp", "/remind in 3 days feed the cat")
	p.Say("whatsapp", `call loops_open {"text":"choose the paint for the hull"}`)
	p.Show("the dinghy")
}

// Show sends a picture by WhatsApp.
func (p *Person) Show(what string) {
	f := p.Wa.AddFile(append([]byte(what), Picture...), "image/png")
	f["caption"] = what
	p.Wa.Write(p.Phone, map[string]any{"type": "image", "image": f})
	p.Hear("whatsapp")
}

// Said returns a person's own messages in order.
func (l *Ledger) Said(channel, external string) []string {
	return l.Lines(
		`SELECT m.body FROM messages m JOIN identities i ON i.user_id = m.user_id AND i.external = $1 AND i.detached = 0
		WHERE m.role = 'user' AND m.kind = 'chat' AND ($2 = '' OR m.channel = $2) ORDER BY CASE WHEN m.position = 0 THEN 9000000000000000000 ELSE m.position END, m.id`, external, channel)
}

// OneReplyEach fails unless every message is answered, every turn has one reply, and every
// sent message one delivery.
func (l *Ledger) OneReplyEach() {
	l.t.Helper()
	for _, bad := range l.Lines(
		`SELECT 'turn ' || id || ' of ' || user_id || ' is ' || state || ' and has ' || replies || ' replies' FROM (
		SELECT t.user_id, t.id, t.state, (SELECT COUNT(*) FROM messages m WHERE m.user_id = t.user_id AND m.turn_id = t.id AND m.role = 'assistant' AND m.kind = 'chat' AND m.body <> '') AS replies
		FROM turns t) AS x WHERE NOT (state = 'done' AND replies = 1 OR state = 'stopped' AND replies = 0)`) {
		l.t.Error(bad)
	}
	for _, bad := range l.Lines(
		`SELECT m.id || ' of ' || m.user_id || ': ' || m.body FROM messages m LEFT JOIN turns t ON t.user_id = m.user_id AND t.id = m.turn_id
		WHERE m.role = 'user' AND m.kind = 'chat' AND COALESCE(t.state, '') <> 'done'`) {
		l.t.Errorf("nothing answers message %s", bad)
	}
	for _, bad := range l.Lines(
		`SELECT m.id || ' of ' || m.user_id || ' has ' || COUNT(d.id) || ': ' || m.body FROM messages m LEFT JOIN deliveries d ON d.user_id = m.user_id AND d.message_id = m.id
		WHERE m.role = 'assistant' AND m.kind IN ('chat', 'notice') AND m.body <> '' GROUP BY m.user_id, m.id, m.body HAVING COUNT(d.id) <> 1`) {
		l.t.Errorf("deliveries of message %s", bad)
	}
}

// bullet matches a bullet of a summary and the one message that it names.
var bullet = regexp.MustCompile(`(?m)^- (.*) \[#(\d+)\]$`)

// points fails unless every bullet of a day's summary matches the message that it names,
// and all of want are among them.
func (p *Person) points(l *Ledger, summary string, want ...string) {
	p.T.Helper()
	var got []string
	for _, b := range bullet.FindAllStringSubmatch(summary, -1) {
		got = append(got, b[1])
		if body := l.Lines(`SELECT body FROM messages m WHERE user_id`+OfChat+` AND m.id = `+b[2],
			fmt.Sprint(Ada)); !slices.Equal(body, []string{b[1]}) {
			p.T.Errorf("%q names #%s, which says %q", b[1], b[2], body)
		}
	}
	if !slices.Equal(got, want) {
		p.T.Errorf("the summary says %q, want %q", got, want)
	}
}

// IsOne checks every effect of a merge.
func (p *Person) IsOne(l *Ledger, g *Gateway, said []string, deliveries int) {
	p.T.Helper()
	if n := l.Count(Users); n != 1 {
		p.T.Errorf("they are %d users", n)
	}
	if got := l.Said("", fmt.Sprint(Ada)); !slices.Equal(got, said) {
		p.T.Errorf("said was\n%q\nthe transcript is\n%q", said, got)
	}
	l.OneReplyEach()
	p.Until("2026-10-24", func(d DayJSON) bool {
		return d.State == "final" && strings.Contains(d.Summary, "Groix") && strings.Contains(d.Summary, "dinghy")
	})
	l.Until(`SELECT COUNT(*) FROM segments WHERE label = '2026-10-24' AND stale = 0 AND hidden = 0`, 1, g)
	day := p.Until("2026-10-24", func(d DayJSON) bool { return d.State == "final" })
	p.points(l, day.Summary, "I want to sail to Groix on Friday", "I want a new rope for the dinghy")
	if day.Messages != 8 {
		p.T.Errorf("the joined day: %+v", day)
	}
	p.linesInTime("2026-10-24")
	for channel, words := range map[string]string{"telegram": "rope", "whatsapp": "tide"} {
		p.Contains(p.Say(channel, "/search "+words), map[string]string{"rope": "dinghy", "tide": "at seven"}[words])
		p.Contains(p.Say(channel, "/memory"), "bees", "size forty", "tea black")
		p.Contains(p.Say(channel, "/loops"), "paint")
		p.Contains(p.Say(channel, "/day 2026-10-24"), "Groix", "dinghy")
	}
	if n := l.Count(`SELECT COUNT(*) FROM items WHERE status = 'active'`); n != 3 {
		p.T.Errorf("%d items are kept", n)
	}
	var list []struct{ To, State string }
	Must(p.T, json.Unmarshal([]byte(p.MustRun("deliveries", "list", "--all", "--user", "Ada", "--limit", "500", "--json")),
		&list))
	old := 0
	for _, d := range list {
		if strings.HasPrefix(d.To, "whatsapp:") {
			old++
		}
	}
	if len(list) < deliveries || old < 8 {
		p.T.Errorf("%d deliveries are listed, %d of WhatsApp; there were %d before", len(list), old, deliveries)
	}
}

// linesInTime fails unless a day is shown in chronological order.
func (p *Person) linesInTime(label string) {
	p.T.Helper()
	var d struct {
		Lines []struct {
			ID int64     `json:"message_id"`
			At time.Time `json:"sent_at"`
		} `json:"conversation"`
	}
	Must(p.T, json.Unmarshal([]byte(p.MustRun("days", "show", label, "--user", "Ada", "--json")), &d))
	if len(d.Lines) != 8 {
		p.T.Errorf("%s has %d lines", label, len(d.Lines))
	}
	for i := 1; i < len(d.Lines); i++ {
		if d.Lines[i].At.Before(d.Lines[i-1].At) {
			p.T.Errorf("%s: #%d stands after #%d", label, d.Lines[i].ID, d.Lines[i-1].ID)
		}
	}
}

// RemindsOnce waits for both reminders, which must arrive once, at Ada's home.
func (p *Person) RemindsOnce(l *Ledger, g *Gateway) {
	p.T.Helper()
	p.Set(time.Date(2026, 10, 28, 9, 0, 1, 0, time.UTC))
	got := []string{p.Hear("telegram"), p.Hear("telegram")}
	slices.Sort(got)
	if !slices.Equal(got, []string{"⏰ feed the cat", "⏰ water the plants"}) {
		p.T.Errorf("Ada is reminded of %q", got)
	}
	p.Settle(l, g)
	if n := l.Count(`SELECT COUNT(*) FROM deliveries WHERE kind = 'reminder'`); n != 2 {
		p.T.Errorf("%d reminders went out", n)
	}
}

// Unlinks detaches WhatsApp from the merged user, deletes that user, and checks that the history stayed until then.
func (p *Person) Unlinks(l *Ledger, g *Gateway, said []string) {
	p.T.Helper()
	p.Contains(p.Say("telegram", "/undo"), "Nothing from the last 24 hours")
	p.Contains(p.Say("whatsapp", "/unlink"), "whatsapp")
	p.Contains(p.Say("whatsapp", "is anybody here?"), "echo: is anybody here?")
	if n := l.Count(Users); n != 2 {
		p.T.Errorf("they are %d users", n)
	}
	if got := l.Said("", fmt.Sprint(Ada)); !slices.Equal(got, said) {
		p.T.Errorf("said was\n%q\nthe transcript is\n%q", said, got)
	}
	if got := l.Said("", p.Phone.UserID); !slices.Equal(got, []string{"is anybody here?"}) {
		p.T.Errorf("the new user said %q", got)
	}
	p.Contains(p.Say("telegram", "/search rope"), "dinghy")
	p.MustRun("users", "delete", "--yes", l.Lines(`SELECT user_id FROM identities WHERE external = $1 AND detached = 0`,
		fmt.Sprint(Ada))[0])
	if got := p.Kept(); len(got) != 0 {
		p.T.Errorf("left are %v", got)
	}
	p.Contains(p.Say("whatsapp", "still there?"), "echo: still there?")
}

// Both confirms on WhatsApp, which used a code, and on Telegram, where it was created,
// among any other messages there.
func (p *Person) Both(l *Ledger, g *Gateway) {
	p.T.Helper()
	l.Until(`SELECT COUNT(*) FROM approvals WHERE kind = 'join' AND state = 'open'`, 1, g)
	p.Wa.Say(p.Phone, "/yes")
	l.Until(`SELECT COUNT(*) FROM approvals WHERE kind = 'link' AND state = 'open'`, 1, g)
	p.Telegram.Say(Ada, "/yes")
}

// ArrivedOnce compares the parts that arrived on both channels with the stored ones.
func (p *Person) ArrivedOnce(l *Ledger, kills int) {
	p.T.Helper()
	for external, got := range map[string][]string{fmt.Sprint(Ada): Texts(p.Telegram.Sent(Ada)),
		p.Phone.UserID: p.OnPhone()} {
		r := p.Arrived(l, external, got)
		p.T.Logf("%s: %d messages arrived: %+v", external, len(got), r)
		if r.Marked > kills || r.Missing > kills/2 {
			p.T.Errorf("%s: %d kills do not explain %+v", external, kills, r)
		}
	}
}

// OnPhone returns a text as it arrived on WhatsApp, without its markup for bold and code.
func (p *Person) OnPhone() (got []string) {
	for _, m := range p.Wa.Sent() {
		got = append(got, strings.NewReplacer("*", "", "`", "").Replace(m.Text))
	}
	return got
}

// Strangers are unknown addresses on Telegram.
const Strangers = int64(900_000)

// At writes from another address on Telegram, and returns the next answer, if one is
// expected.
func (p *Person) At(chat int64, text string, answered bool) string {
	p.T.Helper()
	n := len(p.Telegram.Sent(chat))
	p.Telegram.Say(chat, text)
	if !answered {
		return ""
	}
	return p.Town.Sent(chat, n+1)[n].Text
}

// Shown requests a code on Telegram.
func (p *Person) Shown() string {
	p.T.Helper()
	return ShownCode.FindString(p.Say("telegram", "/link"))
}

// Guess makes a stranger guess until they are locked out, and waits.
func (p *Person) Guess() {
	p.T.Helper()
	guesser := Strangers + 1
	for n := range 5 {
		want := "isn't valid"
		if n == 4 {
			want = "in 60 min"
		}
		p.Contains(p.At(guesser, fmt.Sprint("/link WRNG222", n+2), true), want)
	}
	code := p.Shown()
	p.Contains(p.At(guesser, "/link "+code, true), "Too many wrong codes")
	p.Set(p.Now().Add(59 * time.Minute))
	code = p.Shown()
	p.Contains(p.At(guesser, "/link "+code, true), "Too many wrong codes")
	p.Set(p.Now().Add(2 * time.Minute))
	code = p.Shown()
	p.accepted(guesser, strings.ToLower(code[:2]+"-"+code[2:5]+"-"+code[5:]))
	p.Contains(p.At(guesser, "two", true), "echo: two")
}

// accepted uses a code as a stranger, and confirms it as its creator.
func (p *Person) accepted(stranger int64, code string) {
	p.T.Helper()
	p.Contains(p.At(stranger, "/link "+code, true), "I've asked")
	question := p.Hear("telegram")
	p.Contains(question, "Is this you?", fmt.Sprint(stranger))
	answer := "yes"
	if strings.Contains(question, "OWNER") { // then a yes is not enough
		p.Contains(p.Say("telegram", answer), "type OWNER")
		answer = "owner"
	}
	n := len(p.Telegram.Sent(stranger))
	p.Contains(p.Say("telegram", answer), "is now connected as you")
	p.Contains(p.Town.Sent(stranger, n+1)[n].Text, "connected now")
}

// UseOnce tries codes that are no longer valid, or one's own.
func (p *Person) UseOnce(l *Ledger, g *Gateway) {
	p.T.Helper()
	code := p.Shown()
	p.Contains(p.Say("telegram", "/link "+code), "for another app")
	p.Contains(p.At(Strangers+1, "/link "+code, true), "already connected")
	p.Set(p.Now().Add(11 * time.Minute))
	p.Contains(p.At(Strangers+2, "/link "+code, true), "isn't valid")
	first, second := p.Shown(), p.Shown()
	p.Contains(p.At(Strangers+2, "/link "+first, true), "isn't valid") // replaced by a newer one
	p.accepted(Strangers+2, second)
	p.Contains(p.At(Strangers+3, "/link "+second, true), "isn't valid")
	p.At(Strangers+4, "hello", false)
	p.At(Strangers+4, "/help", false)
	p.At(Strangers+4, "/link", false)
	p.Settle(l, g)
	if got := Texts(p.Telegram.Sent(Strangers + 4)); len(got) > 1 || len(got) == 1 &&
		!strings.Contains(got[0], "This assistant is private") {
		p.T.Errorf("a stranger is told %q", got)
	}
}

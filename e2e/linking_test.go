//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/whatsapp/whatsapptest"
)

// shownCode matches a code for linking.
var shownCode = regexp.MustCompile(`\b[2-9A-HJ-NP-Z]{8}\b`)

// newLinked is one human who is Ada on Telegram and Vera on WhatsApp, at noon of
// a day in October. Anybody who writes is let in.
func newLinked(t *testing.T, database string) *person {
	t.Helper()
	p := &person{week: newClock(t, database), heard: map[string]int{},
		phone: whatsapptest.Person{Phone: "16505551234", UserID: "US.13491208655302741918", Name: "Vera"}}
	p.wa = p.onWhatsApp()
	p.env = append(p.env, "EVERTHREAD_SUMMARIES_POST_FORWARD=off", "EVERTHREAD_TURN_LEASE=3s",
		"EVERTHREAD_CHANNELS_WHATSAPP_API_URL="+p.wa.URL()) // files come from there, too
	return p
}

// open starts a process that WhatsApp's webhooks go to from now on.
func (p *person) open(env ...string) *gateway {
	g := p.start(env...)
	p.wa.Webhook(g.URL + "/webhooks/whatsapp")
	return g
}

// merge links WhatsApp to Telegram and waits until both are one.
func (p *person) merge(l *ledger, g *gateway) {
	p.t.Helper()
	code := shownCode.FindString(p.say("telegram", "/link"))
	p.contains(p.say("whatsapp", "/link "+strings.ToLower(code[:4])+"-"+code[4:]), "Is this you, too?", "telegram", "Say yes or no")
	p.wa.Tap(p.phone, p.wa.Sent()[p.heard["whatsapp"]-1], 0)
	p.contains(p.hear("whatsapp"), "I have asked")
	p.contains(p.hear("telegram"), "Is this you?", "whatsapp", p.phone.Name)
	question := p.telegram.Sent(ada)[p.heard["telegram"]-1]
	if !strings.Contains(question.Markup, `"/yes L`) || !strings.Contains(question.Markup, `"/no L`) {
		p.t.Errorf("the question has the buttons %s", question.Markup)
	}
	p.contains(p.say("telegram", "yes"), "bringing your two conversations together")
	p.contains(p.hear("whatsapp"), "one now")
	l.until(`SELECT COUNT(*) FROM moves WHERE phase <> 'done'`, 0, g)
}

// split parts WhatsApp again and waits until both are two.
func (p *person) split(l *ledger, g *gateway) {
	p.t.Helper()
	p.contains(p.say("whatsapp", "/unlink --split"), "whatsapp")
	p.contains(p.hear("whatsapp"), "of its own again")
	l.until(`SELECT COUNT(*) FROM moves WHERE phase <> 'done'`, 0, g)
}

// users are those with an address.
const users = `SELECT COUNT(DISTINCT user_id) FROM identities WHERE detached = 0 AND channel <> 'terminal'`

// talkApart fills both conversations: on two days, in turn.
func (p *person) talkApart() (said []string) {
	for day, lines := range [][]string{
		{"telegram: I want to sail to Groix on Friday", "whatsapp: I want a new rope for the dinghy", "telegram: the tide is at seven", "whatsapp: the rope is blue"},
		{"whatsapp: the rope has come", "telegram: the forecast is fair"},
	} {
		p.set(time.Date(2026, 10, 24+day, 12, 0, 0, 0, time.UTC))
		for n, line := range lines {
			channel, text, _ := strings.Cut(line, ": ")
			p.set(time.Date(2026, 10, 24+day, 12, 10*n, 0, 0, time.UTC))
			p.say(channel, text)
			said = append(said, text)
		}
	}
	return said
}

// keepApart gives both things to keep in mind, reminders, and an open loop.
func (p *person) keepApart() {
	p.say("telegram", "/home")
	p.say("telegram", "/remember I keep bees behind the shed")
	p.say("whatsapp", "/remember My boots are size forty")
	for _, channel := range []string{"telegram", "whatsapp"} {
		p.say(channel, "/remember I drink my tea black")
	}
	p.say("telegram", "/remind in 3 days water the plants")
	p.say("whatsapp", "/remind in 3 days feed the cat")
	p.say("whatsapp", `call loops_open {"text":"choose the paint for the hull"}`)
	p.show("the dinghy")
}

// show sends a picture by WhatsApp.
func (p *person) show(what string) {
	f := p.wa.AddFile(append([]byte(what), picture...), "image/png")
	f["caption"] = what
	p.wa.Write(p.phone, map[string]any{"type": "image", "image": f})
	p.hear("whatsapp")
}

// said are a person's own words in the order in which they stand.
func (l *ledger) said(channel, external string) []string {
	return l.lines(`SELECT m.body FROM messages m JOIN identities i ON i.user_id = m.user_id AND i.external = $1 AND i.detached = 0
		WHERE m.role = 'user' AND m.kind = 'chat' AND ($2 = '' OR m.channel = $2) ORDER BY CASE WHEN m.position = 0 THEN 9000000000000000000 ELSE m.position END, m.id`, external, channel)
}

// oneReplyEach fails unless every message is answered, every turn has one reply,
// and every message of ours one delivery.
func (l *ledger) oneReplyEach() {
	l.t.Helper()
	for _, bad := range l.lines(`SELECT 'turn ' || id || ' of ' || user_id || ' is ' || state || ' and has ' || replies || ' replies' FROM (
		SELECT t.user_id, t.id, t.state, (SELECT COUNT(*) FROM messages m WHERE m.user_id = t.user_id AND m.turn_id = t.id AND m.role = 'assistant' AND m.kind = 'chat' AND m.body <> '') AS replies
		FROM turns t) AS x WHERE NOT (state = 'done' AND replies = 1 OR state = 'stopped' AND replies = 0)`) {
		l.t.Error(bad)
	}
	for _, bad := range l.lines(`SELECT m.id || ' of ' || m.user_id || ': ' || m.body FROM messages m LEFT JOIN turns t ON t.user_id = m.user_id AND t.id = m.turn_id
		WHERE m.role = 'user' AND m.kind = 'chat' AND COALESCE(t.state, '') <> 'done'`) {
		l.t.Errorf("nothing answers message %s", bad)
	}
	for _, bad := range l.lines(`SELECT m.id || ' of ' || m.user_id || ' has ' || COUNT(d.id) || ': ' || m.body FROM messages m LEFT JOIN deliveries d ON d.user_id = m.user_id AND d.message_id = m.id
		WHERE m.role = 'assistant' AND m.kind IN ('chat', 'notice') AND m.body <> '' GROUP BY m.user_id, m.id, m.body HAVING COUNT(d.id) <> 1`) {
		l.t.Errorf("deliveries of message %s", bad)
	}
}

// bullet matches a bullet of a summary and the one message that it names.
var bullet = regexp.MustCompile(`(?m)^- (.*) \[#(\d+)\]$`)

// points fails unless every bullet of a day's summary says what the message says
// that it names; want are among them.
func (p *person) points(l *ledger, summary string, want ...string) {
	p.t.Helper()
	var got []string
	for _, b := range bullet.FindAllStringSubmatch(summary, -1) {
		got = append(got, b[1])
		if body := l.lines(`SELECT body FROM messages m WHERE user_id`+ofChat+` AND m.id = `+b[2], fmt.Sprint(ada)); !slices.Equal(body, []string{b[1]}) {
			p.t.Errorf("%q names #%s, which says %q", b[1], b[2], body)
		}
	}
	if !slices.Equal(got, want) {
		p.t.Errorf("the summary says %q, want %q", got, want)
	}
}

func TestTwoConversationsBecomeOneAndTwoAgain(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		p := newLinked(t, database(t))
		g := p.open()
		l := p.ledger()
		said := p.talkApart()
		p.set(time.Date(2026, 10, 25, 13, 0, 0, 0, time.UTC))
		l.until(`SELECT COUNT(*) FROM segments WHERE label = '2026-10-24' AND state = 'final'`, 2, g)
		p.keepApart()
		said = append(said, `call loops_open {"text":"choose the paint for the hull"}`, "[photo: the dinghy]")
		l.fetched(g)
		if got := p.kept(); len(got) != 1 {
			t.Fatalf("kept are %v: %+v", got, l.attachments())
		}
		if n := l.count(users); n != 2 {
			t.Fatalf("they are %d users", n)
		}
		before := l.count(`SELECT COUNT(*) FROM deliveries`)

		p.merge(l, g)
		p.isOne(l, g, said, before)
		p.remindsOnce(l, g)
		p.say("whatsapp", "and so we go on here")
		p.show("the cat")
		said = append(said, "and so we go on here", "[photo: the cat]")
		l.fetched(g)

		p.split(l, g)
		p.isTwo(l, g, said)
		if t.Failed() {
			t.Log(g.log.tail())
		}
	})
}

// isOne looks at a merge from all sides.
func (p *person) isOne(l *ledger, g *gateway, said []string, deliveries int) {
	p.t.Helper()
	if n := l.count(users); n != 1 {
		p.t.Errorf("they are %d users", n)
	}
	if got := l.said("", fmt.Sprint(ada)); !slices.Equal(got, said) {
		p.t.Errorf("said was\n%q\nthe transcript is\n%q", said, got)
	}
	l.oneReplyEach()
	p.until("2026-10-24", func(d dayJSON) bool {
		return d.State == "final" && strings.Contains(d.Summary, "Groix") && strings.Contains(d.Summary, "dinghy")
	})
	l.until(`SELECT COUNT(*) FROM segments WHERE label = '2026-10-24' AND stale = 0 AND hidden = 0`, 1, g)
	day := p.until("2026-10-24", func(d dayJSON) bool { return d.State == "final" })
	p.points(l, day.Summary, "I want to sail to Groix on Friday", "I want a new rope for the dinghy")
	if day.Messages != 8 {
		p.t.Errorf("the joined day: %+v", day)
	}
	p.linesInTime("2026-10-24")
	for channel, words := range map[string]string{"telegram": "rope", "whatsapp": "tide"} {
		p.contains(p.say(channel, "/search "+words), map[string]string{"rope": "dinghy", "tide": "at seven"}[words])
		p.contains(p.say(channel, "/memory"), "bees", "size forty", "tea black")
		p.contains(p.say(channel, "/loops"), "paint")
		p.contains(p.say(channel, "/day 2026-10-24"), "Groix", "dinghy")
	}
	if n := l.count(`SELECT COUNT(*) FROM items WHERE status = 'active'`); n != 3 {
		p.t.Errorf("%d items are kept", n)
	}
	var list []struct{ To, State string }
	must(p.t, json.Unmarshal([]byte(p.mustRun("deliveries", "list", "--all", "--user", "Ada", "--limit", "500", "--json")), &list))
	old := 0
	for _, d := range list {
		if strings.HasPrefix(d.To, "whatsapp:") {
			old++
		}
	}
	if len(list) < deliveries || old < 8 {
		p.t.Errorf("%d deliveries are listed, %d of WhatsApp; there were %d before", len(list), old, deliveries)
	}
}

// linesInTime fails unless a day is shown in the order of time.
func (p *person) linesInTime(label string) {
	p.t.Helper()
	var d struct {
		Lines []struct {
			ID int64     `json:"message_id"`
			At time.Time `json:"sent_at"`
		} `json:"conversation"`
	}
	must(p.t, json.Unmarshal([]byte(p.mustRun("days", "show", label, "--user", "Ada", "--json")), &d))
	if len(d.Lines) != 8 {
		p.t.Errorf("%s has %d lines", label, len(d.Lines))
	}
	for i := 1; i < len(d.Lines); i++ {
		if d.Lines[i].At.Before(d.Lines[i-1].At) {
			p.t.Errorf("%s: #%d stands after #%d", label, d.Lines[i].ID, d.Lines[i-1].ID)
		}
	}
}

// remindsOnce lets both reminders come: once, and where Ada is at home.
func (p *person) remindsOnce(l *ledger, g *gateway) {
	p.t.Helper()
	p.set(time.Date(2026, 10, 28, 9, 0, 1, 0, time.UTC))
	got := []string{p.hear("telegram"), p.hear("telegram")}
	slices.Sort(got)
	if !slices.Equal(got, []string{"⏰ feed the cat", "⏰ water the plants"}) {
		p.t.Errorf("Ada is reminded of %q", got)
	}
	p.settle(l, g)
	if n := l.count(`SELECT COUNT(*) FROM deliveries WHERE kind = 'reminder'`); n != 2 {
		p.t.Errorf("%d reminders went out", n)
	}
}

// isTwo looks at a split from both sides.
func (p *person) isTwo(l *ledger, g *gateway, said []string) {
	p.t.Helper()
	var mine, hers []string
	for _, text := range said {
		if strings.Contains(text, "Groix") || strings.Contains(text, "tide") || strings.Contains(text, "forecast") {
			mine = append(mine, text)
		} else {
			hers = append(hers, text)
		}
	}
	if n := l.count(users); n != 2 {
		p.t.Errorf("they are %d users", n)
	}
	for _, x := range []struct {
		external string
		want     []string
	}{{fmt.Sprint(ada), mine}, {p.phone.UserID, hers}} {
		if got := l.said("", x.external); !slices.Equal(got, x.want) {
			p.t.Errorf("%s said\n%q\nthe transcript is\n%q", x.external, x.want, got)
		}
	}
	l.oneReplyEach()
	l.until(`SELECT COUNT(*) FROM segments WHERE label = '2026-10-24' AND stale = 0 AND hidden = 0 AND version > 0`, 2, g)
	for channel, x := range map[string]struct{ own, other, memory, strange string }{
		"telegram": {"Groix", "rope", "bees", "forty"}, "whatsapp": {"rope", "Groix", "forty", "bees"},
	} {
		p.contains(p.say(channel, "/search "+x.own), x.own)
		p.silent(p.say(channel, "/search "+x.other), "dinghy", "on Friday")
		day := p.say(channel, "/day 2026-10-24")
		p.contains(day, x.own)
		p.silent(day, x.other)
		memory := p.say(channel, "/memory")
		p.contains(memory, x.memory)
		p.silent(memory, x.strange)
		p.contains(p.say(channel, "still there?"), "echo: still there?")
	}
	p.ownFiles(l)
}

// silent fails the test if an answer holds words.
func (p *person) silent(got string, words ...string) {
	p.t.Helper()
	for _, w := range words {
		if strings.Contains(got, w) {
			p.t.Errorf("%q says %q", got, w)
		}
	}
}

// ownFiles deletes Ada, whose files are not Vera's, and then Vera.
func (p *person) ownFiles(l *ledger) {
	p.t.Helper()
	p.mustRun("users", "delete", "--yes", l.lines(`SELECT user_id FROM identities WHERE external = $1 AND detached = 0`, fmt.Sprint(ada))[0])
	if got := p.kept(); len(got) != 2 {
		p.t.Errorf("Vera's files are %v", got)
	}
	p.mustRun("users", "delete", "--yes", l.lines(`SELECT user_id FROM identities WHERE external = $1 AND detached = 0`, p.phone.UserID)[0])
	if got := p.kept(); len(got) != 0 {
		p.t.Errorf("left are %v", got)
	}
	if n := l.count(`SELECT COUNT(*) FROM messages WHERE user_id > 1`); n != 0 {
		p.t.Errorf("%d messages are left", n)
	}
	if left, _ := filepath.Glob(filepath.Join(p.dir, "media", "*")); len(left) != 0 {
		p.t.Errorf("left are %q", left)
	}
}

// Turns that run on either side when it begins are answered once, in the end.
func TestWhatRunsWhenConversationsAreJoinedIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		p := newLinked(t, database(t))
		p.useModel(startModel(t, 3*time.Millisecond))
		g := p.open()
		l := p.ledger()
		p.say("telegram", "one")
		p.say("whatsapp", "two")
		code := shownCode.FindString(p.say("telegram", "/link"))
		p.write("say 1200 words")
		p.wa.Say(p.phone, "say 1300 words")
		l.until(`SELECT COUNT(*) FROM turns WHERE state = 'running'`, 2, g)
		p.wa.Say(p.phone, "/link "+code)
		p.both(l, g)
		l.until(`SELECT COUNT(*) FROM moves WHERE phase = 'done'`, 1, g)
		p.wa.Say(p.phone, "three")
		l.until(`SELECT COUNT(*) FROM messages WHERE role = 'user' AND kind = 'chat'`, 5, g)
		l.quiet(60*time.Second, g.log)
		got := l.said("", fmt.Sprint(ada))
		slices.Sort(got)
		if want := []string{"one", "say 1200 words", "say 1300 words", "three", "two"}; !slices.Equal(got, want) {
			t.Errorf("said was %q, the transcript is %q", want, got)
		}
		l.oneReplyEach()
		p.arrivedOnce(l, 0)
	})
}

// both has WhatsApp, which used a code, and Telegram, where it was made, say yes,
// whatever else is said there.
func (p *person) both(l *ledger, g *gateway) {
	p.t.Helper()
	l.until(`SELECT COUNT(*) FROM approvals WHERE kind = 'join' AND state = 'open'`, 1, g)
	p.wa.Say(p.phone, "/yes")
	l.until(`SELECT COUNT(*) FROM approvals WHERE kind = 'link' AND state = 'open'`, 1, g)
	p.telegram.Say(ada, "/yes")
}

// arrivedOnce holds what arrived on both channels against what was to be sent.
func (p *person) arrivedOnce(l *ledger, kills int) {
	p.t.Helper()
	for external, got := range map[string][]string{fmt.Sprint(ada): texts(p.telegram.Sent(ada)), p.phone.UserID: p.onPhone()} {
		r := p.arrived(l, external, got)
		p.t.Logf("%s: %d messages arrived: %+v", external, len(got), r)
		if r.marked > kills || r.missing > kills/2 {
			p.t.Errorf("%s: %d kills do not explain %+v", external, kills, r)
		}
	}
}

// onPhone is what arrived on WhatsApp, without the signs of what is bold or code there.
func (p *person) onPhone() (got []string) {
	for _, m := range p.wa.Sent() {
		got = append(got, strings.NewReplacer("*", "", "`", "").Replace(m.Text))
	}
	return got
}

func TestTwoWhoLinkEachOtherAtOnceBecomeOne(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		p := newLinked(t, database(t))
		g := p.open()
		l := p.ledger()
		p.say("telegram", "one")
		p.say("whatsapp", "two")
		mine, hers := shownCode.FindString(p.say("telegram", "/link")), shownCode.FindString(p.say("whatsapp", "/link"))
		p.write("/link " + hers)
		p.wa.Say(p.phone, "/link "+mine)
		l.until(`SELECT COUNT(*) FROM approvals WHERE kind = 'join' AND state = 'open'`, 2, g)
		p.write("/yes")
		p.wa.Say(p.phone, "/yes")
		l.until(`SELECT COUNT(*) FROM approvals WHERE kind = 'link' AND state = 'open'`, 2, g)
		p.write("/yes")
		p.wa.Say(p.phone, "/yes")
		l.until(users, 1, g)
		l.until(`SELECT COUNT(*) FROM moves WHERE phase <> 'done'`, 0, g)
		l.quiet(30*time.Second, g.log)
		p.telegram.Say(ada, "three")
		l.until(`SELECT COUNT(*) FROM turns WHERE state = 'done'`, 3, g)
		if got := l.said("", p.phone.UserID); !slices.Equal(got, []string{"one", "two", "three"}) {
			t.Errorf("the transcript is %q", got)
		}
		l.oneReplyEach()
	})
}

// strangers are addresses on Telegram that nobody knows.
const strangers = int64(900_000)

// at writes from another address on Telegram, and returns what came back since, if
// anything is to come.
func (p *person) at(chat int64, text string, answered bool) string {
	p.t.Helper()
	n := len(p.telegram.Sent(chat))
	p.telegram.Say(chat, text)
	if !answered {
		return ""
	}
	return p.town.sent(chat, n+1)[n].Text
}

// A stranger may link under every policy, and guess five times an hour.
func TestCodesForLinkingAreGuessedFiveTimesAndUsedOnce(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"pairing", "allowlist"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			engines(t, func(t *testing.T, database func(*testing.T) string) {
				p := newLinked(t, database(t))
				p.env = append(p.env, "EVERTHREAD_ACCESS_POLICY="+policy, fmt.Sprintf("EVERTHREAD_ACCESS_ALLOW=telegram:%d", ada))
				g := p.open()
				l := p.ledger()
				if policy == "pairing" {
					p.say("telegram", "/start "+g.logged(`/start ([A-Z0-9]{10})`)[1])
				}
				p.say("telegram", "one")
				p.guess()
				p.useOnce(l, g)
				if n := l.count(`SELECT COUNT(DISTINCT user_id) FROM messages WHERE role = 'user'`); n != 1 {
					t.Errorf("messages are %d users'", n)
				}
			})
		})
	}
}

// shown asks for a code on Telegram.
func (p *person) shown() string {
	p.t.Helper()
	return shownCode.FindString(p.say("telegram", "/link"))
}

// guess has a stranger guess until they are locked, and wait.
func (p *person) guess() {
	p.t.Helper()
	guesser := strangers + 1
	for n := range 5 {
		want := "not valid"
		if n == 4 {
			want = "in 60 min"
		}
		p.contains(p.at(guesser, fmt.Sprint("/link WRNG222", n+2), true), want)
	}
	code := p.shown()
	p.contains(p.at(guesser, "/link "+code, true), "Too many wrong codes")
	p.set(p.now().Add(59 * time.Minute))
	code = p.shown()
	p.contains(p.at(guesser, "/link "+code, true), "Too many wrong codes")
	p.set(p.now().Add(2 * time.Minute))
	code = p.shown()
	p.accepted(guesser, strings.ToLower(code[:2]+"-"+code[2:5]+"-"+code[5:]))
	p.contains(p.at(guesser, "two", true), "echo: two")
}

// accepted has a stranger use a code, and the one who made it say that it is them.
func (p *person) accepted(stranger int64, code string) {
	p.t.Helper()
	p.contains(p.at(stranger, "/link "+code, true), "I have asked")
	question := p.hear("telegram")
	p.contains(question, "Is this you?", fmt.Sprint(stranger))
	answer := "yes"
	if strings.Contains(question, "OWNER") { // a yes is not enough then
		p.contains(p.say("telegram", answer), "type OWNER")
		answer = "owner"
	}
	n := len(p.telegram.Sent(stranger))
	p.contains(p.say("telegram", answer), "is you from now on")
	p.contains(p.town.sent(stranger, n+1)[n].Text, "connected now")
}

// useOnce tries codes that are nobody's any more, or one's own.
func (p *person) useOnce(l *ledger, g *gateway) {
	p.t.Helper()
	code := p.shown()
	p.contains(p.say("telegram", "/link "+code), "for another app")
	p.contains(p.at(strangers+1, "/link "+code, true), "connected already")
	p.set(p.now().Add(11 * time.Minute))
	p.contains(p.at(strangers+2, "/link "+code, true), "not valid")
	first, second := p.shown(), p.shown()
	p.contains(p.at(strangers+2, "/link "+first, true), "not valid") // there is a newer one
	p.accepted(strangers+2, second)
	p.contains(p.at(strangers+3, "/link "+second, true), "not valid")
	p.at(strangers+4, "hello", false)
	p.at(strangers+4, "/help", false)
	p.at(strangers+4, "/link", false)
	p.settle(l, g)
	if got := texts(p.telegram.Sent(strangers + 4)); len(got) > 1 || len(got) == 1 && !strings.Contains(got[0], "This assistant is private") {
		p.t.Errorf("a stranger is told %q", got)
	}
}

// What became one by mistake is taken apart again by /undo, from any app of it.
func TestAMergeIsUndone(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		p := newLinked(t, database(t))
		g := p.open()
		l := p.ledger()
		p.say("telegram", "one")
		p.say("whatsapp", "two")
		code := shownCode.FindString(p.say("telegram", "/link"))
		p.wa.Say(p.phone, "/link "+code)
		p.both(l, g)
		l.until(`SELECT COUNT(*) FROM moves WHERE phase = 'done'`, 1, g)
		l.quiet(30*time.Second, g.log)
		n := l.lines(`SELECT id FROM audit WHERE what = 'merged'`)
		if len(n) != 1 {
			t.Fatalf("the merge is told %d times", len(n))
		}
		p.wa.Say(p.phone, "/undo "+n[0])
		l.until(`SELECT COUNT(*) FROM moves WHERE phase = 'done'`, 2, g)
		l.until(users, 2, g)
		l.quiet(30*time.Second, g.log)
		for external, want := range map[string]string{fmt.Sprint(ada): "one", p.phone.UserID: "two"} {
			if got := l.lines(`SELECT m.body FROM messages m JOIN identities i ON i.user_id = m.user_id AND i.detached = 0 WHERE i.external = $1 AND m.role = 'user' AND m.kind = 'chat'`, external); !slices.Equal(got, []string{want}) {
				t.Errorf("%s has said %q, want %q", external, got, want)
			}
		}
	})
}

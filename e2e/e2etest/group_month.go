//go:build e2e

package e2etest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/summary"
)

// GroupMonth is a month of a group of twelve people who write English, French and German, while the processes of the
// gateway are killed.
type GroupMonth struct {
	Messages int           // of all members
	Kills    time.Duration // between two of them
	Seed     uint64
}

// GroupDays is the length of a GroupMonth.
const GroupDays = 30

var groupZone, _ = time.LoadLocation("Europe/Paris")

// groupMembers wrote in three languages; the first owns the gateway.
var groupMembers = []Member{{Ada, "Ada"}, {302, "Bo"}, {303, "Cy"}, {304, "Dana Scott"}, {305, "Émile"}, {306, "Françoise"},
	{307, "Gaëlle"}, {308, "Hugo"}, {309, "Jörg"}, {310, "Käthe"}, {311, "Ludwig"}, {312, "נועה"}}

// groupTalk is what members write about, by language.
var groupTalk = [][]string{
	{"the boat needs paint", "who has the key of the cellar?", "see you at seven", "test_bot would know, but never mind",
		"I asked my bot at work", "the assistant said so yesterday", "bring the blue tent"},
	{"le bateau a besoin de peinture", "qui a la clé de la cave ?", "à sept heures alors", "le test_bot le saurait",
		"l'assistant l'a dit hier", "apporte la tente bleue", "j'ai réservé pour douze"},
	{"das Boot braucht Farbe", "wer hat den Schlüssel zum Keller?", "dann um sieben", "der test_bot wüsste das",
		"der Assistent hat es gesagt", "bring das blaue Zelt mit", "für zwölf reserviert"},
}

// groupLine is a message of the group, or an edit of one.
type groupLine struct {
	native  int64
	from    int    // index of the member; -1: a program
	name    string // of its writer
	mark    string // a word of its text that no other message has
	edited  string // words that an edit added; empty: it was not edited
	asks    bool   // it addresses the assistant
	command bool
	at      time.Time
}

// groupMonth is a GroupMonth that is lived.
type groupMonth struct {
	GroupMonth
	*Gathering
	clock   *Week
	rnd     *rand.Rand
	model   *Attentive
	running []*AtomicGateway
	ledger  *Ledger
	lines   []*groupLine
	begin   int // messages of the bot before
	kills   atomic.Int64
}

// Live lives the month on a store, and checks it.
func (m GroupMonth) Live(t *testing.T, database string) {
	t.Helper()
	w := NewClock(t, database)
	w.Env = append(w.Env, "EVERTHREAD_GROUPS_ENABLED=true", "EVERTHREAD_TURN_LEASE=3s", "EVERTHREAD_DEFAULT_TIMEZONE=Europe/Paris")
	g := &groupMonth{GroupMonth: m, Gathering: w.Gathers(-1001234, "Sailing club"), clock: w,
		rnd: rand.New(rand.NewPCG(m.Seed, 12)), model: NewAttentive(t), running: []*AtomicGateway{{}}}
	g.Now = w.Now
	w.UseModel(g.model.URL)
	w.Telegram.AddFile("photo", "files/photo", Picture)
	w.Set(time.Date(2026, 10, 3, 8, 0, 0, 0, groupZone))
	g.start()
	g.ledger = w.Ledger()
	begin := time.Now()
	stop := g.kill()
	for day := range GroupDays {
		for n, hour := range []float64{0.2, 8.5, 12.7, 18.2, 23.9} {
			w.Set(time.Date(2026, 10, 4+day, 0, 0, 0, 0, groupZone).Add(time.Duration(hour * float64(time.Hour))))
			g.sitting(m.Messages * (5*day + n + 1) / (5 * GroupDays))
		}
	}
	stop()
	g.close()
	t.Logf("%s: %d messages, %d of them ask, %d answers, %d kills", time.Since(begin).Round(time.Second), len(g.lines),
		len(g.asking()), len(g.Telegram.Sent(g.Chat))-g.begin, g.kills.Load())
	g.check()
}

// start starts the processes: one that polls, or two on PostgreSQL to which the service posts.
func (g *groupMonth) start() {
	first := g.Launch()
	first.Ready()
	g.AddOwner(first)
	g.Says(groupMembers[0], "/approve")
	g.Hears(first)
	g.begin = len(g.Telegram.Sent(g.Chat))
	g.running[0].Store(first)
	if g.Database == "" {
		return
	}
	first.Stop()
	g.Env = append(g.Env, "EVERTHREAD_CHANNELS_TELEGRAM_MODE=webhook", "EVERTHREAD_CHANNELS_TELEGRAM_WEBHOOK_SECRET="+WebhookKey,
		"EVERTHREAD_HTTP_PUBLIC_URL=https://everthread.example.org")
	g.running = append(g.running, &AtomicGateway{})
	for _, p := range g.running {
		p.Store(g.Start())
	}
	p := &Pushed{T: g.T, Targets: g.running, Client: http.Client{Timeout: 10 * time.Second}}
	p.last.Store(1_000_000)
	g.Offer = p.Offer
}

// kill kills the processes in turn until stop is called, after which all of them run.
func (g *groupMonth) kill() (stop func()) {
	over := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		for {
			select {
			case <-over:
				return
			case <-time.After(g.Kills):
			}
			victim := g.running[int(g.kills.Add(1))%len(g.running)]
			victim.Load().Kill()
			next := g.Launch()
			victim.Store(next)
			for status := 0; status != http.StatusOK && g.T.Context().Err() == nil; status, _ = next.Get("/readyz") {
				time.Sleep(20 * time.Millisecond) // a process that nobody can reach cannot lose anything
			}
		}
	})
	return func() {
		close(over)
		all.Wait()
		for _, p := range g.running {
			p.Load().Ready()
		}
	}
}

// sitting has the members write until there are so many messages, and waits until what asks is answered.
func (g *groupMonth) sitting(until int) {
	for len(g.lines) < until {
		switch p := g.rnd.IntN(100); {
		case p < 84:
			g.aside()
		case p < 88:
			g.edit()
		case p < 97:
			g.ask()
		default: // several at once
			for range 2 + g.rnd.IntN(3) {
				g.ask()
			}
		}
	}
	g.quiet()
}

// quiet waits until everything is received, answered and sent.
func (g *groupMonth) quiet() {
	g.T.Helper()
	within := time.Now().Add(time.Minute)
	for g.Telegram.Pending() > 0 || g.ledger.left() > 0 {
		if time.Now().After(within) {
			g.T.Fatalf("%d updates and %d things are left on %s\n%s", g.Telegram.Pending(), g.ledger.left(), g.clock.Now(),
				g.running[0].Load().Log.Tail())
		}
		time.Sleep(20 * time.Millisecond) // a process that is killed has no event
	}
}

// close waits until every day of the month has its summary.
func (g *groupMonth) close() {
	g.clock.Set(time.Date(2026, 10, 6+GroupDays, 12, 0, 0, 0, groupZone))
	g.ledger.Until(`SELECT COUNT(*) FROM segments g JOIN users u ON u.id = g.user_id WHERE u.role = 'group' AND
		(g.state <> 'final' OR g.version = 0 OR g.stale <> 0)`, 0, g.running[0].Load())
}

// line notes the next message, by a member.
func (g *groupMonth) line(asks bool) (*groupLine, Member, string) {
	n := g.rnd.IntN(len(groupMembers))
	by := groupMembers[n]
	l := &groupLine{native: g.Next + 1, from: n, name: by.Name, mark: fmt.Sprintf("m%05dx", len(g.lines)), asks: asks, at: g.clock.Now()}
	g.lines = append(g.lines, l)
	talk := groupTalk[n/4]
	return l, by, talk[g.rnd.IntN(len(talk))] + " " + l.mark
}

// recent returns one of the last messages, and who wrote it.
func (g *groupMonth) recent() (*groupLine, int64) {
	l := g.lines[max(0, len(g.lines)-2-g.rnd.IntN(20))]
	if l.from < 0 {
		return l, 777
	}
	return l, groupMembers[l.from].ID
}

// aside has a member, or a program, write what the assistant is not to answer.
func (g *groupMonth) aside() {
	l, by, text := g.line(false)
	to, writer := g.recent()
	replied := func(words string) map[string]any {
		return map[string]any{"message_id": to.native, "date": g.Now().Unix(), "text": words, "entities": mentions(words),
			"chat": map[string]any{"id": g.Chat, "type": "supergroup", "title": g.Title},
			"from": map[string]any{"id": writer, "is_bot": false, "first_name": "Somebody"}}
	}
	program := map[string]any{"id": 777, "is_bot": true, "first_name": "Weather", "username": "weather_bot"}
	forwarded := map[string]any{"type": "user", "date": g.Now().Unix(),
		"sender_user": map[string]any{"id": 999, "is_bot": false, "first_name": "Zoe"}}
	channel := map[string]any{"id": -100777, "type": "channel", "title": "News"}
	switch g.rnd.IntN(16) {
	case 0:
		g.Says(by, "@weather_bot "+text)
	case 1:
		g.Says(by, "@test_bottle @test_bot2 "+text)
	case 2:
		g.Offers(by, text, map[string]any{"reply_to_message": replied("earlier")})
	case 3: // a reply to a member who addressed it
		g.Offers(by, text, map[string]any{"reply_to_message": replied("@test_bot are you there?")})
	case 4: // a quote with the mention in it
		g.Offers(by, text, map[string]any{"reply_to_message": replied("hm, @test_bot may know"),
			"quote": map[string]any{"text": "@test_bot may know", "position": 4, "entities": mentions("@test_bot may know")}})
	case 5:
		g.Offers(by, "@test_bot "+text, map[string]any{"forward_origin": forwarded})
	case 6:
		l.from, l.name = -1, "Weather"
		g.Offers(by, "@test_bot "+text, map[string]any{"from": program})
	case 7:
		l.from, l.name = -1, "Weather"
		g.Offers(by, "/today@test_bot "+text, map[string]any{"from": program})
	case 8: // it says the name as code
		words := "@test_bot " + text
		g.Offers(by, words, map[string]any{"entities": []any{map[string]any{"type": "code", "offset": 0, "length": len("@test_bot")}}})
	case 9:
		g.Says(by, "/today@weather_bot "+text)
	case 10:
		g.Offers(by, "/roll 20 "+text, map[string]any{"entities": []any{map[string]any{"type": "bot_command", "offset": 0, "length": 5}}})
	case 11:
		g.Offers(by, "@test_bot "+text, map[string]any{"via_bot": program})
	case 12:
		l.from, l.name = -1, "News"
		g.Offers(by, "@test_bot "+text, map[string]any{"sender_chat": channel, "is_automatic_forward": true,
			"from":           map[string]any{"id": 777000, "is_bot": false, "first_name": "Telegram"},
			"forward_origin": map[string]any{"type": "channel", "date": g.Now().Unix(), "chat": channel, "message_id": 5}})
	default:
		g.Says(by, text)
	}
}

// edit has a member change a message: a few words, or a mention that they forgot, which asks.
func (g *groupMonth) edit() {
	if len(g.lines) < 30 {
		return
	}
	l := g.lines[len(g.lines)-1-g.rnd.IntN(20)]
	if l.asks || l.from < 0 || l.edited != "" || l.at.YearDay() != g.clock.Now().YearDay() {
		return
	}
	l.edited = "edited" + l.mark
	text := l.mark + " " + l.edited
	switch g.rnd.IntN(3) {
	case 0:
		l.asks, text = true, "@test_bot "+text
	case 1:
		l.asks, text = true, text+" @test_bot?"
	}
	next := g.Next
	g.Next = l.native - 1
	m := g.message(groupMembers[l.from], text)
	g.Next = next
	m["date"], m["edit_date"] = l.at.Unix(), g.Now().Unix()
	g.Offer(map[string]any{"edited_message": m})
}

// ask has a member address the assistant.
func (g *groupMonth) ask() {
	l, by, text := g.line(true)
	bot := map[string]any{"id": 123456, "is_bot": true, "first_name": "Test", "username": "test_bot"}
	command := func(words string, length int) {
		l.command = true
		g.Offers(by, words, map[string]any{"entities": []any{map[string]any{"type": "bot_command", "offset": 0, "length": length}}})
	}
	last := int64(1)
	if sent := g.Telegram.Sent(g.Chat); len(sent) > 0 {
		last = sent[len(sent)-1].ID
	}
	switch g.rnd.IntN(14) {
	case 0:
		g.Says(by, "so, "+text+", @test_bot, what do you think?")
	case 1:
		g.Says(by, "@TEST_BOT "+text)
	case 2, 3:
		g.Replies(by, text, last, 0)
	case 4:
		caption := "⛵️🇫🇷 @test_bot " + text
		g.Offers(by, "", map[string]any{"photo": Photo("photo"), "caption": caption, "caption_entities": mentions(caption)})
	case 5:
		g.Says(by, "\u200fהאם \u2067@test_bot\u2069 יודע? "+text+"\u200f")
	case 6:
		g.Offers(by, "Test, "+text, map[string]any{"entities": []any{map[string]any{"type": "text_mention", "offset": 0, "length": 4, "user": bot}}})
	case 7:
		command("/today", 6)
	case 8:
		command("/search@test_bot "+l.mark, 16)
	case 9:
		command("/missed", 7)
	case 10:
		g.Says(by, "@weather_bot and @test_bot "+text)
	default:
		g.Says(by, "@test_bot "+text)
	}
	g.mayWait(l)
}

// mayWait waits for an answer, as people do half of the time.
func (g *groupMonth) mayWait(l *groupLine) {
	if g.rnd.IntN(2) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(g.T.Context(), time.Minute)
	defer cancel()
	if err := g.Telegram.Wait(ctx, func() bool { return len(g.answersTo(l)) > 0 }); err != nil {
		g.T.Fatalf("%+v is not answered: %v; %q", *l, err, g.ledger.Lines(`SELECT 'message ' || m.id || ' of turn ' || m.turn_id || ' ' || COALESCE(t.state, '') || ', delivery ' ||
			COALESCE(d.state, '') || ' ' || COALESCE(p.state, '') || ' ' || COALESCE(p.body, '') FROM messages m LEFT JOIN turns t ON t.user_id = m.user_id AND t.id = m.turn_id
			LEFT JOIN deliveries d ON d.user_id = t.user_id AND d.id = t.delivery_id LEFT JOIN delivery_parts p ON p.user_id = d.user_id AND p.delivery_id = d.id
			WHERE m.role = 'user' AND m.extra LIKE $1`, fmt.Sprintf(`%%"native":"%d"%%`, l.native)))
	}
}

// answersTo returns what the bot sent as a reply to a message.
func (g *groupMonth) answersTo(l *groupLine) (out []telegramtest.Message) {
	for _, m := range g.Telegram.Sent(g.Chat)[g.begin:] {
		if m.ReplyTo == l.native {
			out = append(out, m)
		}
	}
	return out
}

func (g *groupMonth) asking() (out []*groupLine) {
	for _, l := range g.lines {
		if l.asks {
			out = append(out, l)
		}
	}
	return out
}

// storedLine is a message of the group as it is stored.
type storedLine struct {
	ID, Turn, Position int64
	Kind, Label, Body  string
	Speaker            core.Speaker
	Zone               string
	Sent               time.Time
}

// check compares what is stored and what was sent with what was said.
func (g *groupMonth) check() {
	t := g.T
	t.Helper()
	byNative := map[int64]*groupLine{}
	for _, l := range g.lines {
		byNative[l.native] = l
	}
	stored := g.stored()
	if len(stored) != len(g.lines) {
		t.Errorf("%d messages are stored, %d were written", len(stored), len(g.lines))
	}
	numbers := map[string]int64{} // of members, by name
	answered := map[int64]int64{} // the newest input of each turn
	for n, s := range stored {
		native, _ := strconv.ParseInt(s.Speaker.Native, 10, 64)
		l := byNative[native]
		if l == nil || n < len(g.lines) && g.lines[n] != l {
			t.Fatalf("message %d is %q of %s, want %+v", n, s.Body, s.Speaker.String(), *g.lines[min(n, len(g.lines)-1)])
		}
		if s.Speaker.Name != l.name || numbers[l.name] != 0 && numbers[l.name] != s.Speaker.Number {
			t.Errorf("%s is by %s, want %s (%d)", l.mark, s.Speaker.String(), l.name, numbers[l.name])
		}
		numbers[l.name] = s.Speaker.Number
		if !l.command && (!strings.Contains(s.Body, l.mark) || !strings.Contains(s.Body, l.edited)) {
			t.Errorf("%s, edited %q, is stored as %q", l.mark, l.edited, s.Body)
		}
		if label := s.Sent.In(groupZone).Format(time.DateOnly); s.Kind == "chat" && (s.Label != label ||
			label != l.at.In(groupZone).Format(time.DateOnly)) {
			t.Errorf("%s of %s is in the day %s", l.mark, l.at, s.Label)
		}
		switch {
		case s.Kind != "chat" && !l.command, s.Kind == "chat" && s.Position == 0:
			t.Errorf("%s is stored as %s at %d", l.mark, s.Kind, s.Position)
		case s.Turn != 0 && !l.asks:
			t.Errorf("%q asks nothing and is answered", s.Body)
		case s.Kind == "chat" && s.Turn == 0 && l.asks:
			t.Errorf("%q asks and is not answered", s.Body)
		}
		if s.Turn != 0 {
			answered[s.Turn] = max(answered[s.Turn], native)
		}
	}
	g.checkAnswers(byNative, stored, answered)
	g.checkPrompts(numbers)
	g.checkDays()
	g.checkTokens()
}

func (g *groupMonth) stored() (out []storedLine) {
	for _, row := range g.ledger.Lines(`SELECT m.id || '|' || m.turn_id || '|' || m.position || '|' || m.kind || '|' || COALESCE(s.label, '') || '|' ||
		m.sent_at || '|' || m.extra || '|' || m.body FROM messages m JOIN users u ON u.id = m.user_id LEFT JOIN segments s ON s.user_id = m.user_id AND s.id = m.segment_id
		WHERE u.role = 'group' AND m.role = 'user' AND m.body NOT LIKE '/approve%' ORDER BY m.id`) {
		f := strings.SplitN(row, "|", 7)
		var s storedLine
		var x struct{ Speaker core.Speaker }
		d := json.NewDecoder(strings.NewReader(f[6]))
		Must(g.T, d.Decode(&x))
		s.Kind, s.Label, s.Speaker, s.Body = f[3], f[4], x.Speaker, f[6][d.InputOffset():]
		var sent int64
		_, err := fmt.Sscan(strings.Join([]string{f[0], f[1], f[2], f[5]}, " "), &s.ID, &s.Turn, &s.Position, &sent)
		Must(g.T, err)
		s.Sent = time.UnixMilli(sent)
		out = append(out, s)
	}
	return out
}

// checkAnswers checks what the group received: replies to what asked, and nothing else.
func (g *groupMonth) checkAnswers(byNative map[int64]*groupLine, stored []storedLine, newest map[int64]int64) {
	t := g.T
	t.Helper()
	got := map[int64]int{}
	for _, m := range g.Telegram.Sent(g.Chat)[g.begin:] {
		l := byNative[m.ReplyTo]
		if l == nil || !l.asks {
			t.Errorf("nobody asked for %q, a reply to %d", m.Text, m.ReplyTo)
			continue
		}
		if !l.command && !strings.HasPrefix(m.Text, "re "+l.mark) {
			t.Errorf("the answer to %s is %q", l.mark, m.Text)
		}
		if !strings.HasSuffix(m.Text, RepeatMark) {
			got[m.ReplyTo]++
		}
	}
	for native, n := range got {
		if n > 1 && !byNative[native].command {
			t.Errorf("%s is answered %d times", byNative[native].mark, n)
		}
	}
	lost := g.ledger.Count(`SELECT COUNT(*) FROM delivery_parts WHERE state NOT IN ('sent', 'delivered', 'read')`)
	missing := 0
	for _, s := range stored {
		native, _ := strconv.ParseInt(s.Speaker.Native, 10, 64)
		l := byNative[native]
		if s.Turn != 0 {
			native = newest[s.Turn]
		}
		if l.asks && len(g.answersTo(byNative[native])) == 0 {
			missing++
			t.Logf("%s has no answer", l.mark)
		}
	}
	if missing > lost || lost > 0 {
		t.Errorf("%d messages that ask got no answer, and %d parts are not known to have arrived", missing, lost)
	}
	for _, bad := range g.ledger.Lines(`SELECT 'turn ' || t.id || ' is ' || t.state FROM turns t JOIN users u ON u.id = t.user_id
		LEFT JOIN (SELECT user_id, turn_id, COUNT(*) AS n FROM messages WHERE role = 'assistant' AND turn_id > 0 GROUP BY user_id, turn_id) AS m
		ON m.user_id = t.user_id AND m.turn_id = t.id WHERE u.role = 'group' AND NOT (t.state = 'done' AND COALESCE(m.n, 0) = 1)`) {
		t.Error(bad)
	}
}

// checkPrompts checks that the model was told for each message who wrote it.
func (g *groupMonth) checkPrompts(numbers map[string]int64) {
	seen := 0
	for _, l := range g.lines {
		want := fmt.Sprint(numbers[l.name], " ", l.name)
		for _, by := range slices.Concat(g.model.Told(l.mark), g.model.Summed(l.mark)) {
			if seen++; by != want {
				g.T.Errorf("the model was told that %s is by %s, want %s", l.mark, by, want)
			}
		}
	}
	if seen < len(g.lines) {
		g.T.Errorf("the model was told of %d messages", seen)
	}
	for _, text := range g.model.Forged() {
		g.T.Errorf("a message with several writers: %s", text)
	}
}

// checkDays checks that the summary of each day rests on messages of that day alone.
func (g *groupMonth) checkDays() {
	t := g.T
	t.Helper()
	segments := g.ledger.Lines(`SELECT s.id || ' ' || c.covers FROM segments s JOIN users u ON u.id = s.user_id
		JOIN summaries c ON c.user_id = s.user_id AND c.segment_id = s.id AND c.version = s.version WHERE u.role = 'group'`)
	if len(segments) != GroupDays {
		t.Errorf("%d days have summaries, want %d", len(segments), GroupDays)
	}
	day := map[string]string{}
	for _, row := range g.ledger.Lines(`SELECT m.id || ' ' || m.segment_id FROM messages m JOIN users u ON u.id = m.user_id
		WHERE u.role = 'group' AND m.segment_id > 0`) {
		id, segment, _ := strings.Cut(row, " ")
		day[id] = segment
	}
	for _, row := range segments {
		id, covers, _ := strings.Cut(row, " ")
		var set core.IDSet
		Must(t, json.Unmarshal([]byte(covers), &set))
		for m := range set.All() {
			if day[fmt.Sprint(m)] != id {
				t.Errorf("the summary of the day %s rests on message %d of the day %s", id, m, day[fmt.Sprint(m)])
			}
		}
	}
}

// checkTokens checks that the group pays for its answers, and nobody else.
func (g *groupMonth) checkTokens() {
	turns := g.ledger.Count(`SELECT COUNT(*) FROM turns t JOIN users u ON u.id = t.user_id WHERE u.role = 'group'`)
	const perCall = 950
	if got := g.ledger.Count(`SELECT SUM(p.prompt + p.completion) FROM usage_parts p JOIN users u ON u.id = p.user_id WHERE u.role = 'group' AND purpose = 'answer'`); got < turns*perCall {
		g.T.Errorf("%d turns of the group cost %d tokens", turns, got)
	}
	if got := g.ledger.Count(`SELECT COALESCE(SUM(prompt + completion), 0) FROM usage_parts p JOIN users u ON u.id = p.user_id WHERE u.role <> 'group'`); got > 0 {
		g.T.Errorf("others pay %d tokens", got)
	}
}

// Attentive is an obedient model that answers the last message of its prompt, and notes who it was told wrote each
// message: one with a mark of the form m00001x, which is the last mark in it.
type Attentive struct {
	Obedient
	told, summed map[string]map[string]bool // numbers and names of writers by mark, in prompts and in requests for summaries
	forged       []string                   // messages with more than one writer
	results      []string                   // of tools
}

// NewAttentive starts a model that notes who wrote what.
func NewAttentive(t *testing.T) *Attentive {
	a := &Attentive{told: map[string]map[string]bool{}, summed: map[string]map[string]bool{}}
	a.calling = callMark
	s := httptest.NewServer(a)
	t.Cleanup(s.Close)
	a.URL = s.URL
	return a
}

var (
	groupMark   = regexp.MustCompile(`m\d{5}x`)
	speakerMark = regexp.MustCompile(`^(?:\[[^\]\n]*\] )?<(speaker-[a-z0-9]+) (\d+ [^\n]*)>\n`)
)

// Told returns the writers of a message of which prompts told the model.
func (a *Attentive) Told(mark string) []string { return a.writers(a.told, mark) }

// Summed returns the writers of a message of which requests for summaries told it.
func (a *Attentive) Summed(mark string) []string { return a.writers(a.summed, mark) }

func (a *Attentive) writers(of map[string]map[string]bool, mark string) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Sorted(maps.Keys(of[mark]))
}

// Results returns the results of the tools that it called.
func (a *Attentive) Results() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.results)
}

// Forged returns messages of prompts that seemed to have more than one writer.
func (a *Attentive) Forged() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.forged)
}

// ServeHTTP answers a request as a stream.
func (a *Attentive) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Messages []moodyMessage `json:"messages"`
	}
	body, _ := io.ReadAll(r.Body)
	if r.Method != http.MethodPost || json.Unmarshal(body, &req) != nil || len(req.Messages) == 0 {
		http.NotFound(w, r)
		return
	}
	last := req.Messages[len(req.Messages)-1]
	text := fmt.Sprint(last.Content)
	r.Body = io.NopCloser(bytes.NewReader(body))
	switch {
	case strings.HasPrefix(fmt.Sprint(req.Messages[0].Content), summary.FirstLine):
		a.sum(text)
		a.Obedient.ServeHTTP(w, r)
		return
	case last.Role == "tool":
		a.mu.Lock()
		a.results = append(a.results, text)
		a.mu.Unlock()
		a.stream(w, MoodGood, "I see.", "", "")
		return
	case a.calling.MatchString(text):
		a.Obedient.ServeHTTP(w, r)
		return
	}
	for _, m := range req.Messages {
		a.note(fmt.Sprint(m.Content))
	}
	marks := groupMark.FindAllString(text, -1)
	a.stream(w, MoodGood, "re "+cmp.Or(strings.Join(marks[max(0, len(marks)-1):], ""), "what was missed"), "", "")
}

// note notes who wrote a message of a prompt.
func (a *Attentive) note(text string) {
	by, marks := speakerMark.FindStringSubmatch(text), groupMark.FindAllString(text, -1)
	if by == nil || len(marks) == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if strings.Count(text, by[1]) != 1 {
		a.forged = append(a.forged, text)
	}
	add(a.told, marks[len(marks)-1], by[2])
}

// sum notes who wrote the messages of a day.
func (a *Attentive) sum(lines string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for line := range strings.Lines(lines) {
		var l struct {
			Role, Speaker, Text string
		}
		if json.Unmarshal([]byte(line), &l) != nil || l.Role != "user" || a.calling.MatchString(l.Text) {
			continue
		}
		if marks := groupMark.FindAllString(l.Text, -1); len(marks) > 0 {
			add(a.summed, marks[len(marks)-1], l.Speaker)
		}
	}
}

func add(to map[string]map[string]bool, mark, writer string) {
	if to[mark] == nil {
		to[mark] = map[string]bool{}
	}
	to[mark][writer] = true
}

//go:build e2e

package e2etest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
	"github.com/everthread/everthread/core/chat/summary"
)

// Member is a person on Telegram.
type Member struct {
	ID   int64
	Name string
}

// Gathering is a group on Telegram with the bot, at whose name its members call it.
type Gathering struct {
	*Town
	Chat  int64
	Topic int64 // of a forum; 0: it is none
	Title string
	Next  int64 // the number of its last message; above those of the bot's messages, which the fake counts
	heard int   // messages of the bot that the group has read

	Offer func(update map[string]any) // brings an update to the gateway
	Now   func() time.Time
}

// NewGathering returns a town with groups, and a group of it.
func NewGathering(t *testing.T, database string) *Gathering {
	t.Helper()
	w := NewTown(t, database)
	w.Env = append(w.Env, "EVERTHREAD_GROUPS_ENABLED=true")
	return w.Gathers(-1001234, "Family")
}

// Gathers returns a group of a town.
func (w *Town) Gathers(chat int64, title string) *Gathering {
	return &Gathering{Town: w, Chat: chat, Title: title, Next: 1_000_000, Now: time.Now,
		Offer: func(update map[string]any) { w.Telegram.Offer(update) }}
}

func (g *Gathering) message(from Member, text string) map[string]any {
	g.Next++
	chat := map[string]any{"id": g.Chat, "type": "supergroup", "title": g.Title}
	m := map[string]any{"message_id": g.Next, "date": g.Now().Unix(), "text": text, "chat": chat,
		"from": map[string]any{"id": from.ID, "is_bot": false, "first_name": from.Name, "language_code": "en"}}
	if g.Topic != 0 {
		chat["is_forum"], m["is_topic_message"], m["message_thread_id"] = true, true, g.Topic
	}
	if all := mentions(text); len(all) > 0 {
		m["entities"] = all
	}
	return m
}

var userName = regexp.MustCompile(`@\w+`)

// mentions returns the entities of the user names in a text, as the service finds them.
func mentions(text string) (out []any) {
	for _, at := range userName.FindAllStringIndex(text, -1) {
		out = append(out, map[string]any{"type": "mention", "offset": len(utf16.Encode([]rune(text[:at[0]]))), "length": at[1] - at[0]})
	}
	return out
}

// Says sends a member's text and returns the message's number. "@test_bot" in it mentions the bot.
func (g *Gathering) Says(from Member, text string) int64 {
	g.Offer(map[string]any{"message": g.message(from, text)})
	return g.Next
}

// Replies sends a member's reply to a message; by is who wrote that, 0: the bot.
func (g *Gathering) Replies(from Member, text string, to, by int64) int64 {
	m := g.message(from, text)
	writer := map[string]any{"id": by, "is_bot": false, "first_name": "Somebody"}
	if by == 0 {
		writer = map[string]any{"id": 123456, "is_bot": true, "first_name": "Test", "username": "test_bot"}
	}
	m["reply_to_message"] = map[string]any{"message_id": to, "date": g.Now().Unix(), "chat": m["chat"], "text": "earlier",
		"from": writer}
	g.Offer(map[string]any{"message": m})
	return g.Next
}

// Offers sends a message with other fields.
func (g *Gathering) Offers(from Member, text string, more map[string]any) int64 {
	m := g.message(from, text)
	for k, v := range more {
		m[k] = v
	}
	g.Offer(map[string]any{"message": m})
	return g.Next
}

// Adds adds the bot to the group, or removes it.
func (g *Gathering) Adds(by Member, before, after string) {
	bot := map[string]any{"id": 123456, "is_bot": true, "first_name": "Test", "username": "test_bot"}
	g.Offer(map[string]any{"my_chat_member": map[string]any{"date": g.Now().Unix(),
		"chat":            map[string]any{"id": g.Chat, "type": "supergroup", "title": g.Title},
		"from":            map[string]any{"id": by.ID, "is_bot": false, "first_name": by.Name},
		"old_chat_member": map[string]any{"status": before, "user": bot}, "new_chat_member": map[string]any{"status": after, "user": bot}}})
}

// Hears waits for the bot's next message in the group.
func (g *Gathering) Hears(gw *Gateway) telegramtest.Message {
	g.T.Helper()
	for deadline := time.Now().Add(40 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if all := g.Telegram.Sent(g.Chat); len(all) > g.heard {
			g.heard++
			return all[g.heard-1]
		}
	}
	g.T.Fatalf("the bot says nothing in %s\n%s", g.Title, gw.Log.Tail())
	return telegramtest.Message{}
}

// Unread returns what the bot has said in the group that was not heard yet.
func (g *Gathering) Unread() []telegramtest.Message { return g.Telegram.Sent(g.Chat)[g.heard:] }

// Obedient is a model that does what it is told: "CALL tool {…}" at the end of a line of a person's last message makes it
// call the tool, and answer with the result, or with those of all calls. Else it answers how many messages it has seen, after a while if it is told to
// "TAKE TIME".
type Obedient struct {
	Moody
	Most     int // bytes of results that it repeats; 0: all
	calling  *regexp.Regexp
	requests []string
}

var callMark = regexp.MustCompile(`CALL (\w+) (\{.*?\})(?:$|\n)`)

// NewObedient starts a model that obeys.
func NewObedient(t *testing.T) *Obedient {
	o := &Obedient{calling: callMark}
	s := httptest.NewServer(o)
	t.Cleanup(s.Close)
	o.URL = s.URL
	return o
}

// ServeHTTP answers a request as a stream.
func (o *Obedient) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Messages []moodyMessage `json:"messages"`
	}
	raw, err := io.ReadAll(r.Body)
	if r.Method != http.MethodPost || err != nil || json.Unmarshal(raw, &req) != nil || len(req.Messages) == 0 {
		http.NotFound(w, r)
		return
	}
	o.mu.Lock()
	o.requests = append(o.requests, told(req.Messages))
	o.mu.Unlock()
	if strings.HasPrefix(fmt.Sprint(req.Messages[0].Content), summary.FirstLine) {
		o.stream(w, MoodGood, summaryOf(req.Messages), "", "")
		return
	}
	o.mu.Lock()
	o.prompts = append(o.prompts, told(req.Messages))
	o.mu.Unlock()
	asked, results := lastAsked(req.Messages)
	calls := o.calling.FindAllStringSubmatch(asked, -1)
	switch {
	case len(results) < len(calls):
		o.stream(w, MoodGood, "", calls[len(results)][1], calls[len(results)][2])
		return
	case len(results) > 0:
		said := strings.Join(results, "\n")
		if o.Most > 0 {
			said = strings.ToValidUTF8(said[:min(len(said), o.Most)], "")
		}
		o.stream(w, MoodGood, "It says: "+said, "", "")
		return
	case strings.Contains(asked, "TAKE TIME"):
		time.Sleep(2 * time.Second)
	}
	said := 0
	for _, m := range req.Messages {
		if m.Role == "user" && strings.Contains(fmt.Sprint(m.Content), "<speaker-") {
			said++
		}
	}
	o.stream(w, MoodGood, fmt.Sprintf("I have read %d.", said), "", "")
}

// lastAsked returns what a person asked last, and the results of the calls since.
func lastAsked(ms []moodyMessage) (asked string, results []string) {
	for _, m := range slices.Backward(ms) {
		switch m.Role {
		case "user":
			slices.Reverse(results)
			return fmt.Sprint(m.Content), results
		case "tool":
			results = append(results, fmt.Sprint(m.Content))
		}
	}
	return "", results
}

// Requests returns all requests so far, also those for summaries, with role before each message.
func (o *Obedient) Requests() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.requests)
}

// LastPrompt returns the newest prompt of a chat.
func (o *Obedient) LastPrompt() string {
	all := o.Prompts()
	return all[len(all)-1]
}

// Party opens a room with invited users that is no direct chat, and brings in those of them who are given as accounts.
func (a *Account) Party(name string, encrypted bool, bot string, others ...*Account) string {
	a.h.t.Helper()
	invited := []string{bot}
	for _, o := range others {
		invited = append(invited, o.ID)
	}
	body := map[string]any{"name": name, "invite": invited, "preset": "private_chat"}
	if encrypted {
		body["initial_state"] = []any{map[string]any{"type": "m.room.encryption", "state_key": "",
			"content": map[string]string{"algorithm": "m.megolm.v1.aes-sha2"}}}
	}
	var out struct {
		RoomID string `json:"room_id"`
	}
	a.h.Call(http.MethodPost, "/_matrix/client/v3/createRoom", a.Token, body, &out)
	for _, o := range others {
		a.h.Call(http.MethodPost, "/_matrix/client/v3/join/"+url.PathEscape(out.RoomID), o.Token, map[string]any{}, nil)
	}
	return out.RoomID
}

// Leave leaves a room.
func (a *Account) Leave(room string) {
	a.h.t.Helper()
	a.h.Call(http.MethodPost, "/_matrix/client/v3/rooms/"+url.PathEscape(room)+"/leave", a.Token, map[string]any{}, nil)
}

// ReadsGroup checks that a visitor reads a text on the page of a group; empty: that they may not see it.
func (v *Guest) ReadsGroup(id, text string) {
	v.G.t.Helper()
	want := http.StatusOK
	if text == "" {
		want = http.StatusForbidden
	}
	if r, body := v.Get("/groups/" + id); r.StatusCode != want || !strings.Contains(body, text) {
		v.G.t.Errorf("the page of group %s answers %s without %q: %.1500s", id, r.Status, text, body)
	}
}

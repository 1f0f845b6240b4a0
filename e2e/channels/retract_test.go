//go:build e2e

package channels

import (
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/signal/signaltest"
	"github.com/everthread/everthread/e2e/e2etest"
)

// forgotten is a chat in which the assistant's first answer is forgotten.
type forgotten struct {
	says     func(text string)
	heard    func(n int) // waits for n messages of the assistant
	forgets  func()      // replies /forget to the first one
	deleted  func() []bool
	requests func() int // to delete something; nil: the service counts none
}

// TestRetract_whatIsForgotten: an answer to which a person replies /forget disappears from their app, once, also if the
// process dies before it is deleted there; what else was said stays.
func TestRetract_whatIsForgotten(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T, w *e2etest.Town) (chat forgotten, started func(*e2etest.Gateway)){
		"telegram": forgottenOnTelegram, "signal": forgottenOnSignal, "matrix": forgottenOnMatrix,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
				w := e2etest.NewTown(t, database(t))
				w.Env = append(w.Env, "EVERTHREAD_TURN_LEASE=3s")
				c, started := open(t, w)
				g := w.Start("EVERTHREAD_CRASH_AT=sending:3")
				started(g)
				l := w.Ledger()
				c.says("My PIN is 4711.")
				c.heard(1)
				c.says("And this stays.")
				c.heard(2)
				c.forgets()
				g.Died()
				for n, gone := range c.deleted() {
					if gone {
						t.Errorf("message %d was deleted by a process that died before", n)
					}
				}
				g = w.Start()
				started(g)
				c.heard(3)
				l.Quiet(60*time.Second, g.Log)
				for n, gone := range c.deleted() {
					if gone != (n == 0) {
						t.Errorf("message %d is deleted: %t", n, gone)
					}
				}
				if c.requests != nil && c.requests() != 1 {
					t.Errorf("%d requests to delete", c.requests())
				}
				if n := l.Count(`SELECT COUNT(*) FROM deliveries WHERE kind = 'retraction'`); n > 0 {
					t.Errorf("%d deletions are left", n)
				}
				if n := l.Count(`SELECT COUNT(*) FROM messages WHERE redacted = 1`); n != 1 {
					t.Errorf("%d messages are redacted", n)
				}
			})
		})
	}
}

func forgottenOnTelegram(_ *testing.T, w *e2etest.Town) (forgotten, func(*e2etest.Gateway)) {
	s := w.Telegram
	return forgotten{
		says:  func(text string) { s.Say(e2etest.Ada, text) },
		heard: func(n int) { w.Sent(e2etest.Ada, n) },
		forgets: func() {
			first := s.Sent(e2etest.Ada)[0]
			s.Write(e2etest.Ada, map[string]any{"text": "/forget", "reply_to_message": map[string]any{"message_id": first.ID,
				"date": 1, "chat": map[string]any{"id": e2etest.Ada, "type": "private"}, "text": first.Text}})
		},
		deleted: func() (out []bool) {
			for _, m := range s.Sent(e2etest.Ada) {
				out = append(out, m.Deleted)
			}
			return out
		},
		requests: func() int { return s.Calls("deleteMessage") },
	}, func(*e2etest.Gateway) {}
}

func forgottenOnSignal(t *testing.T, w *e2etest.Town) (forgotten, func(*e2etest.Gateway)) {
	s := w.OnSignal()
	var g *e2etest.Gateway
	return forgotten{
		says:  func(text string) { s.Say(e2etest.Grace, text) },
		heard: func(n int) { heardOnSignal(t, s, e2etest.Grace, n, g) },
		forgets: func() {
			first := s.Sent(e2etest.Grace)[0]
			s.Write(e2etest.Grace, map[string]any{"message": "/forget", "quote": map[string]any{"id": first.Timestamp,
				"authorUuid": signaltest.Self, "text": first.Text}})
		},
		deleted: func() (out []bool) {
			for _, m := range s.Sent(e2etest.Grace) {
				out = append(out, m.Deleted)
			}
			return out
		},
		requests: func() int { return s.Calls("remoteDelete") },
	}, func(started *e2etest.Gateway) { g = started }
}

func forgottenOnMatrix(t *testing.T, w *e2etest.Town) (forgotten, func(*e2etest.Gateway)) {
	h := e2etest.NewHomeserver(t, false)
	bot, ada := w.OnMatrix(h), h.Register("ada")
	room := ""
	return forgotten{
			says:  func(text string) { ada.Say(room, text) },
			heard: func(n int) { ada.Heard(room, bot.ID, n) },
			forgets: func() {
				ada.ReplyToFirst(room, bot.ID, "/forget")
			},
			deleted: func() (out []bool) {
				for _, text := range ada.Heard(room, bot.ID, 1) {
					out = append(out, text == "")
				}
				return out
			},
		}, func(*e2etest.Gateway) {
			if room == "" {
				room = ada.Chat(bot.ID)
			}
		}
}

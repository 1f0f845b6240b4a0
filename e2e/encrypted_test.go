//go:build e2e && goolm

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"maunium.net/go/mautrix/id"
)

// unseen checks that nobody wrote in clear in a room, and that the homeserver
// holds none of the words.
func (d *olmDevice) unseen(room string, words ...string) {
	d.h.t.Helper()
	for _, e := range d.timeline(room) {
		if e.Type == "m.room.message" {
			d.h.t.Errorf("%s wrote in clear: %v", e.Sender, e.Content)
		}
		raw, err := json.Marshal(e.Content)
		must(d.h.t, err)
		for _, word := range words {
			if strings.Contains(string(raw), word) {
				d.h.t.Errorf("the homeserver sees %q in %s", word, raw)
			}
		}
	}
}

func (a *account) redact(room, event string) {
	a.h.t.Helper()
	path := fmt.Sprintf("/_matrix/client/v3/rooms/%s/redact/%s/r%d", url.PathEscape(room), url.PathEscape(event), a.h.txn.Add(1))
	a.h.call(http.MethodPut, path, a.token, map[string]any{}, nil)
}

func TestAPersonIsAnsweredInAnEncryptedRoom(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		h := newHomeserver(t, false)
		w := newTown(t, database(t))
		bot := w.onMatrix(h)
		w.shops(t)
		g := w.start()
		g.up()
		ada := h.register("ada").olm()
		room := ada.secret(bot.id)
		ada.joined(g, room, bot.id)
		first := ada.tell(room, "hello in secret")
		got := ada.answers(g, room, bot.id, 1)
		if !strings.Contains(got[0].body(), "hello in secret") {
			t.Errorf("answered %q\n%s", got[0].body(), g.log.tail())
		}

		l := w.ledger()
		ada.write(room, map[string]any{"msgtype": "m.text", "body": "and this", "m.relates_to": map[string]any{"m.in_reply_to": map[string]any{"event_id": got[0].ID}}})
		ada.answers(g, room, bot.id, 2)
		if quotes := l.count(`SELECT COUNT(*) FROM messages WHERE body = 'and this' AND extra LIKE '%hello in secret%'`); quotes != 1 {
			t.Errorf("the quote is %v", l.lines(`SELECT extra FROM messages WHERE body = 'and this'`))
		}

		ada.write(room, map[string]any{"msgtype": "m.text", "body": "* hello, better", "m.new_content": map[string]any{"msgtype": "m.text", "body": "hello, better"},
			"m.relates_to": map[string]any{"rel_type": "m.replace", "event_id": first}})
		l.until(`SELECT COUNT(*) FROM messages WHERE role = 'user' AND body = 'hello, better'`, 1, g)

		gone := ada.tell(room, "take this back")
		ada.answers(g, room, bot.id, 3)
		ada.redact(room, gone)
		l.until(`SELECT COUNT(*) FROM messages WHERE role = 'user' AND redacted = 1`, 1, g)

		data := append([]byte("a drawing, "), picture...)
		ada.write(room, map[string]any{"msgtype": "m.file", "body": "our plan", "filename": "plan.bin", "file": ada.enclose(data), "info": map[string]any{"size": len(data)}})
		ada.answers(g, room, bot.id, 4)
		l.fetched(g)
		if kept := l.storedOf(ada.id, "user"); len(kept) != 1 || string(w.kept()[kept[0].Path]) != string(data) {
			t.Errorf("stored %+v", kept)
		}
		ada.tell(room, `call shop_draw {"item":"boats"}`)
		got = ada.answers(g, room, bot.id, 7)
		if string(ada.file(got[5])) != string(picture) || string(ada.file(got[6])) != "plan of boats" {
			t.Errorf("the files are %v", got[5:])
		}
		ada.unseen(room, "in secret", "hello", "drawing", "mimetype", "filename")
	})
}

// A long answer grows in one message that only the person can read.
func TestAnAnswerGrowsInAnEncryptedRoom(t *testing.T) {
	t.Parallel()
	h := newHomeserver(t, false)
	w := newTown(t, "")
	w.useModel(startModel(t, 100*time.Millisecond))
	bot := w.onMatrix(h)
	w.env = append(w.env, "EVERTHREAD_TURN_LEASE=3s")
	g := w.start()
	ada := h.register("ada").olm()
	room := ada.secret(bot.id)
	ada.joined(g, room, bot.id)
	for n, kill := range []bool{false, true} {
		ada.tell(room, "say 150 words")
		ada.answers(g, room, bot.id, n+1)
		if kill {
			g.kill()
			g = w.start()
		}
		l := w.ledger()
		l.until(`SELECT COUNT(*) FROM deliveries WHERE kind = 'reply' AND state IN ('sent', 'delivered', 'read')`, n+1, g)
		whole := l.lines(`SELECT body FROM messages WHERE role = 'assistant' AND kind = 'chat' ORDER BY id DESC LIMIT 1`)[0]
		got := bodies(ada.answers(g, room, bot.id, n+1))
		if len(got) != n+1 || got[n] != whole || len(strings.Fields(whole)) < 150 {
			t.Errorf("%d messages, the last is %.60q, want %.60q\n%s", len(got), got[n], whole, g.log.tail())
		}
		ada.unseen(room, strings.Join(strings.Fields(whole)[:2], " "))
	}
}

// A device is the same after a restart and after a power cut, and so are its
// keys: what was written meanwhile is read and answered once, also when the process
// dies while new keys come in.
func TestTheDeviceGoesOnAfterAPowerCut(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		h := newHomeserver(t, false)
		w := newTown(t, database(t))
		bot := w.onMatrix(h)
		w.env = append(w.env, "EVERTHREAD_TURN_LEASE=3s")
		g := w.start()
		ada := h.register("ada").olm()
		room := ada.secret(bot.id)
		ada.joined(g, room, bot.id)
		l := w.ledger()
		var said []string
		tell := func(text string) {
			said = append(said, text)
			ada.tell(room, text)
		}
		tell("before")
		ada.answers(g, room, bot.id, 1)
		devices, before := ada.devices(bot.id), ada.session(room, bot.id)
		for n, end := range []func(){func() { g.stop() }, func() { g.kill() }, func() { g.kill() }} {
			if n == 2 {
				tell("in the middle") // its turn may run when the process dies
			} else {
				end()
			}
			tell(fmt.Sprint("with known keys ", n))
			ada.forget(room)
			tell(fmt.Sprint("with new keys ", n))
			if n == 2 {
				end()
			}
			g = w.start()
			l.until(`SELECT COUNT(*) FROM messages WHERE role = 'user'`, len(said), g)
			w.settle(l, g)
		}
		w.checkAt(l, ada.id, said, ada.settled(l, g, room, bot.id))
		if now := ada.devices(bot.id); now != devices {
			t.Errorf("the devices were %s and are %s", devices, now)
		}
		if now := ada.session(room, bot.id); now != before {
			t.Errorf("the assistant writes with keys %s, before the restarts with %s", now, before)
		}
	})
}

// Of two processes one uses the keys; when it dies, the other goes on with them.
func TestAnotherProcessTakesOverTheKeys(t *testing.T) {
	t.Parallel()
	h := newHomeserver(t, false)
	w := newTown(t, newSchema(t))
	bot := w.onMatrix(h)
	w.env = append(w.env, "EVERTHREAD_TURN_LEASE=10s")
	first := w.start()
	ada := h.register("ada").olm()
	room := ada.secret(bot.id)
	ada.joined(first, room, bot.id)
	ada.tell(room, "one")
	ada.answers(first, room, bot.id, 1)
	devices, before := ada.devices(bot.id), ada.session(room, bot.id)
	second := w.start()
	ada.tell(room, "two")
	ada.answers(second, room, bot.id, 2)
	first.kill()
	died := time.Now()
	ada.tell(room, "three")
	l := w.ledger()
	l.until(`SELECT COUNT(*) FROM messages WHERE role = 'user' AND body = 'three'`, 1, second)
	if d := time.Since(died); d > takeover {
		t.Errorf("the account was taken over after %s", d)
	}
	ada.forget(room)
	ada.tell(room, "four")
	ada.answers(second, room, bot.id, 4)
	w.settle(l, second)
	got := ada.settled(l, second, room, bot.id)
	w.checkAt(l, ada.id, []string{"one", "two", "three", "four"}, got)
	if now := ada.devices(bot.id) + ada.session(room, bot.id); now != devices+before {
		t.Errorf("device and keys were %s, and are %s", devices+before, now)
	}
}

// The account's own keys are made with another client. With the recovery key the
// gateway has them sign its device, and reads what was written before it was there.
func TestTheRecoveryKeyVerifiesTheDeviceAndOpensTheBackup(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		h := newHomeserver(t, false)
		w := newTown(t, database(t))
		bot := w.onMatrix(h)
		client := bot.login().olm()
		ada := h.register("ada").olm()
		room := ada.secret(bot.id)
		h.call(http.MethodPost, "/_matrix/client/v3/join/"+url.PathEscape(room), client.token, map[string]any{}, nil)
		ada.tell(room, "backed up")
		early := ada.wrote[room]
		ada.forget(room)
		ada.tell(room, "backed up late")
		client.sync()

		g := w.start()
		w.verdict(t, g, "PROBLEM", "the account has no cross-signing keys")
		recovery := client.crossSign()
		vault := client.vault(recovery)
		vault.put(room, early)
		w.verdict(t, g, "PROBLEM", "set channels.matrix.recovery_key")
		w.env = append(w.env, "EVERTHREAD_CHANNELS_MATRIX_RECOVERY_KEY=EsTc 5rr1 LKYs 9cDt 4RzB 7b7d Xm9Y nvKr R1Vs oXcd 8sp3 uvMP")
		w.verdict(t, g, "PROBLEM", "is not the account's present recovery key")
		w.env = append(w.env, "EVERTHREAD_CHANNELS_MATRIX_RECOVERY_KEY="+recovery)
		w.verdict(t, g, "PROBLEM", "restart")
		if trust := client.trust(bot); trust >= id.TrustStateCrossSignedUntrusted {
			t.Errorf("the device is %s without the recovery key", trust)
		}

		g.stop()

		g = w.start()
		if got := bodies(ada.answers(g, room, bot.id, 1)); len(got) != 1 || got[0] != "echo: backed up" {
			t.Errorf("answered %q\n%s", got, g.log)
		}
		w.verdict(t, g, "ok", "the device is verified; the key backup can be read")
		if trust := client.trust(bot); trust < id.TrustStateCrossSignedVerified {
			t.Errorf("the device is %s\n%s", trust, g.log)
		}
		vault.put(room, ada.wrote[room])
		l := w.ledger()
		ada.answers(g, room, bot.id, 2) // the gateway asks for it, or has found it
		l.until(`SELECT COUNT(*) FROM messages WHERE role = 'user' AND body = 'backed up late'`, 1, g)
		w.settle(l, g)
		w.checkAt(l, ada.id, []string{"backed up", "backed up late"}, asked(ada.settled(l, g, room, bot.id), 1))
	})
}

// verdict waits until doctor says of encryption what is wanted.
func (w *town) verdict(t *testing.T, g *gateway, mark, want string) {
	t.Helper()
	var said []string
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		said = w.doctor()["matrix"]
		if slices.ContainsFunc(said, func(line string) bool { return strings.HasPrefix(line, mark) && strings.Contains(line, want) }) {
			return
		}
	}
	t.Fatalf("doctor says no %s with %q: %q\n%s", mark, want, said, g.log)
}

// asked returns texts without the request to send a message again, of which there
// may be so many.
func asked(texts []string, most int) []string {
	return slices.DeleteFunc(slices.Clone(texts), func(s string) bool {
		if most == 0 || s != "I could not read your last message. Please send it again." {
			return false
		}
		most--
		return true
	})
}

// A message whose key does not come is asked for once, and answered when the key
// comes after all.
func TestAMessageWithoutItsKeyIsAskedForOnceAndAnsweredLate(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		h := newHomeserver(t, false)
		w := newTown(t, database(t))
		bot := w.onMatrix(h)
		g := w.start()
		ada := h.register("ada").olm()
		room := ada.secret(bot.id)
		ada.joined(g, room, bot.id)
		ada.tell(room, "first")
		ada.answers(g, room, bot.id, 1)

		ada.gate.hold()
		ada.forget(room)
		ada.tell(room, "the key is late")
		ada.redact(room, ada.tell(room, "taken back"))
		got := bodies(ada.answers(g, room, bot.id, 2))
		if !strings.Contains(got[1], "could not read") {
			t.Errorf("asked %q", got)
		}
		g.kill()
		g = w.start()
		ada.gate.open(t)
		l := w.ledger()
		said := []string{"first", "the key is late"}
		l.until(`SELECT COUNT(*) FROM messages WHERE role = 'user'`, len(said), g)
		w.settle(l, g)

		ada.gate.hold()
		ada.forget(room)
		ada.tell(room, "its key comes while the gateway is away")
		g.logged("cannot be decrypted")
		g.kill()
		ada.gate.open(t)
		g = w.start()
		said = append(said, "its key comes while the gateway is away")
		l.until(`SELECT COUNT(*) FROM messages WHERE role = 'user'`, len(said), g)
		w.settle(l, g)
		w.checkAt(l, ada.id, said, asked(ada.settled(l, g, room, bot.id), 1))
	})
}

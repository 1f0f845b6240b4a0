//go:build e2e && goolm

package channels

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"maunium.net/go/mautrix/id"

	"github.com/everthread/everthread/e2e/e2etest"
)

func TestEncryptedRoom_personIsAnswered(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		h := e2etest.NewHomeserver(t, false)
		w := e2etest.NewTown(t, database(t))
		bot := w.OnMatrix(h)
		w.Shops(t)
		g := w.Start()
		g.Up()
		ada := h.Register("ada").Olm()
		room := ada.Secret(bot.ID)
		ada.Joined(g, room, bot.ID)
		first := ada.Tell(room, "hello in secret")
		got := ada.Answers(g, room, bot.ID, 1)
		if !strings.Contains(got[0].Body(), "hello in secret") {
			t.Errorf("answered %q\n%s", got[0].Body(), g.Log.Tail())
		}

		l := w.Ledger()
		ada.Write(room, map[string]any{"msgtype": "m.text", "body": "and this",
			"m.relates_to": map[string]any{"m.in_reply_to": map[string]any{"event_id": got[0].ID}}})
		ada.Answers(g, room, bot.ID, 2)
		if quotes := l.Count(
			`SELECT COUNT(*) FROM messages WHERE body = 'and this' AND extra LIKE '%hello in secret%'`); quotes != 1 {
			t.Errorf("the quote is %v", l.Lines(`SELECT extra FROM messages WHERE body = 'and this'`))
		}

		ada.Write(room, map[string]any{"msgtype": "m.text", "body": "* hello, better",
			"m.new_content": map[string]any{"msgtype": "m.text", "body": "hello, better"},
			"m.relates_to":  map[string]any{"rel_type": "m.replace", "event_id": first}})
		l.Until(`SELECT COUNT(*) FROM messages WHERE role = 'user' AND body = 'hello, better'`, 1, g)

		gone := ada.Tell(room, "take this back")
		ada.Answers(g, room, bot.ID, 3)
		ada.Redact(room, gone)
		l.Until(`SELECT COUNT(*) FROM messages WHERE role = 'user' AND redacted = 1`, 1, g)

		data := append([]byte("a drawing, "), e2etest.Picture...)
		ada.Write(room, map[string]any{"msgtype": "m.file", "body": "our plan", "filename": "plan.bin",
			"file": ada.Enclose(data), "info": map[string]any{"size": len(data)}})
		ada.Answers(g, room, bot.ID, 4)
		l.Fetched(g)
		if kept := l.StoredOf(ada.ID, "user"); len(kept) != 1 || string(w.Kept()[kept[0].Path]) != string(data) {
			t.Errorf("stored %+v", kept)
		}
		ada.Tell(room, `call shop_draw {"item":"boats"}`)
		got = ada.Answers(g, room, bot.ID, 7)
		if string(ada.File(got[5])) != string(e2etest.Picture) || string(ada.File(got[6])) != "plan of boats" {
			t.Errorf("the files are %v", got[5:])
		}
		ada.Unseen(room, "in secret", "hello", "drawing", "mimetype", "filename")
	})
}

// A long answer grows in one message that only the person can read.
func TestEncryptedRoom_answerGrows(t *testing.T) {
	t.Parallel()
	h := e2etest.NewHomeserver(t, false)
	w := e2etest.NewTown(t, "")
	w.UseModel(e2etest.StartModel(t, 100*time.Millisecond))
	bot := w.OnMatrix(h)
	w.Env = append(w.Env, "EVERTHREAD_TURN_LEASE=3s")
	g := w.Start()
	ada := h.Register("ada").Olm()
	room := ada.Secret(bot.ID)
	ada.Joined(g, room, bot.ID)
	for n, kill := range []bool{false, true} {
		ada.Tell(room, "say 150 words")
		ada.Answers(g, room, bot.ID, n+1)
		if kill {
			g.Kill()
			g = w.Start()
		}
		l := w.Ledger()
		l.Until(`SELECT COUNT(*) FROM deliveries WHERE kind = 'reply' AND state IN ('sent', 'delivered', 'read')`, n+1, g)
		whole := l.Lines(`SELECT body FROM messages WHERE role = 'assistant' AND kind = 'chat' ORDER BY id DESC LIMIT 1`)[0]
		got := e2etest.Bodies(ada.Answers(g, room, bot.ID, n+1))
		if len(got) != n+1 || got[n] != whole || len(strings.Fields(whole)) < 150 {
			t.Errorf("%d messages, the last is %.60q, want %.60q\n%s", len(got), got[n], whole, g.Log.Tail())
		}
		ada.Unseen(room, strings.Join(strings.Fields(whole)[:2], " "))
	}
}

// A device and its keys survive a restart and a power cut: messages from the meantime are
// read and answered once, even if the process dies while new keys arrive.
func TestEncryptedRoom_deviceSurvivesAPowerCut(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		h := e2etest.NewHomeserver(t, false)
		w := e2etest.NewTown(t, database(t))
		bot := w.OnMatrix(h)
		w.Env = append(w.Env, "EVERTHREAD_TURN_LEASE=3s")
		g := w.Start()
		ada := h.Register("ada").Olm()
		room := ada.Secret(bot.ID)
		ada.Joined(g, room, bot.ID)
		l := w.Ledger()
		var said []string
		tell := func(text string) {
			said = append(said, text)
			ada.Tell(room, text)
		}
		tell("before")
		ada.Answers(g, room, bot.ID, 1)
		devices, before := ada.Devices(bot.ID), ada.Session(room, bot.ID)
		for n, end := range []func(){func() { g.Stop() }, func() { g.Kill() }, func() { g.Kill() }} {
			if n == 2 {
				tell("in the middle") // its turn may run when the process dies
			} else {
				end()
			}
			tell(fmt.Sprint("with known keys ", n))
			ada.Forget(room)
			tell(fmt.Sprint("with new keys ", n))
			if n == 2 {
				end()
			}
			g = w.Start()
			l.Until(`SELECT COUNT(*) FROM messages WHERE role = 'user'`, len(said), g)
			w.Settle(l, g)
		}
		w.CheckAt(l, ada.ID, said, ada.Settled(l, g, room, bot.ID))
		if now := ada.Devices(bot.ID); now != devices {
			t.Errorf("the devices were %s and are %s", devices, now)
		}
		if now := ada.Session(room, bot.ID); now != before {
			t.Errorf("the assistant writes with keys %s, before the restarts with %s", now, before)
		}
	})
}

// One of two processes uses the keys; when it dies, the other continues with them.
func TestEncryptedRoom_takeoverKeepsTheKeys(t *testing.T) {
	t.Parallel()
	h := e2etest.NewHomeserver(t, false)
	w := e2etest.NewTown(t, e2etest.NewStore(t))
	bot := w.OnMatrix(h)
	w.Env = append(w.Env, "EVERTHREAD_TURN_LEASE=10s")
	first := w.Start()
	ada := h.Register("ada").Olm()
	room := ada.Secret(bot.ID)
	ada.Joined(first, room, bot.ID)
	ada.Tell(room, "one")
	ada.Answers(first, room, bot.ID, 1)
	devices, before := ada.Devices(bot.ID), ada.Session(room, bot.ID)
	second := w.Start()
	ada.Tell(room, "two")
	ada.Answers(second, room, bot.ID, 2)
	first.Kill()
	died := time.Now()
	ada.Tell(room, "three")
	l := w.Ledger()
	l.Until(`SELECT COUNT(*) FROM messages WHERE role = 'user' AND body = 'three'`, 1, second)
	if d := time.Since(died); d > e2etest.Takeover {
		t.Errorf("the other process has the account after %s", d)
	}
	ada.Forget(room)
	ada.Tell(room, "four")
	ada.Answers(second, room, bot.ID, 4)
	w.Settle(l, second)
	got := ada.Settled(l, second, room, bot.ID)
	w.CheckAt(l, ada.ID, []string{"one", "two", "three", "four"}, got)
	if now := ada.Devices(bot.ID) + ada.Session(room, bot.ID); now != devices+before {
		t.Errorf("device and keys were %s, and are %s", devices+before, now)
	}
}

// The account's own keys are created with another client. With the recovery key the
// gateway has them sign its device, and reads messages from before it existed.
func TestEncryptedRoom_recoveryKeyOpensTheBackup(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		h := e2etest.NewHomeserver(t, false)
		w := e2etest.NewTown(t, database(t))
		bot := w.OnMatrix(h)
		client := bot.Login().Olm()
		ada := h.Register("ada").Olm()
		room := ada.Secret(bot.ID)
		h.Call(http.MethodPost, "/_matrix/client/v3/join/"+url.PathEscape(room), client.Token, map[string]any{}, nil)
		ada.Tell(room, "backed up")
		early := ada.Wrote[room]
		ada.Forget(room)
		ada.Tell(room, "backed up late")

		g := w.Start()
		w.Verdict(t, g, "PROBLEM", "the account has no cross-signing keys")
		recovery := client.CrossSign()
		vault := client.Vault(recovery)
		vault.Put(room, early)
		w.Verdict(t, g, "PROBLEM", "set channels.matrix.recovery_key")
		w.Env = append(w.Env,
			"EVERTHREAD_CHANNELS_MATRIX_RECOVERY_KEY=EsTc 5rr1 LKYs 9cDt 4RzB 7b7d Xm9Y nvKr R1Vs oXcd 8sp3 uvMP")
		w.Verdict(t, g, "PROBLEM", "is not the account's current recovery key")
		w.Env = append(w.Env, "EVERTHREAD_CHANNELS_MATRIX_RECOVERY_KEY="+recovery)
		w.Verdict(t, g, "PROBLEM", "restart")
		if trust := client.Trust(bot); trust >= id.TrustStateCrossSignedUntrusted {
			t.Errorf("the device is %s without the recovery key", trust)
		}

		g.Stop()

		g = w.Start()
		if got := e2etest.Bodies(ada.Answers(g, room, bot.ID, 1)); len(got) != 1 || got[0] != "echo: backed up" {
			t.Errorf("answered %q\n%s", got, g.Log)
		}
		w.Verdict(t, g, "ok", "the device is verified; the key backup can be read")
		if trust := client.Trust(bot); trust < id.TrustStateCrossSignedVerified {
			t.Errorf("the device is %s\n%s", trust, g.Log)
		}
		vault.Put(room, ada.Wrote[room])
		l := w.Ledger()
		ada.Answers(g, room, bot.ID, 2) // the gateway requests it, or has found it
		l.Until(`SELECT COUNT(*) FROM messages WHERE role = 'user' AND body = 'backed up late'`, 1, g)
		w.Settle(l, g)
		w.CheckAt(l, ada.ID, []string{"backed up", "backed up late"}, e2etest.Asked(ada.Settled(l, g, room, bot.ID), 1))
	})
}

// A message whose key does not arrive is requested once, and answered when the key arrives
// after all.
func TestEncryptedRoom_missingKeyIsAskedOnce(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		h := e2etest.NewHomeserver(t, false)
		w := e2etest.NewTown(t, database(t))
		bot := w.OnMatrix(h)
		g := w.Start()
		ada := h.Register("ada").Olm()
		room := ada.Secret(bot.ID)
		ada.Joined(g, room, bot.ID)
		ada.Tell(room, "first")
		ada.Answers(g, room, bot.ID, 1)

		ada.Gate.Hold()
		ada.Forget(room)
		ada.Tell(room, "the key is late")
		ada.Redact(room, ada.Tell(room, "taken back"))
		got := e2etest.Bodies(ada.Answers(g, room, bot.ID, 2))
		if !strings.Contains(got[1], "could not read") {
			t.Errorf("asked %q", got)
		}
		g.Kill()
		g = w.Start()
		ada.Gate.Open(t)
		l := w.Ledger()
		said := []string{"first", "the key is late"}
		l.Until(`SELECT COUNT(*) FROM messages WHERE role = 'user'`, len(said), g)
		w.Settle(l, g)

		ada.Gate.Hold()
		ada.Forget(room)
		ada.Tell(room, "its key comes while the gateway is away")
		g.Logged("cannot be decrypted")
		g.Kill()
		ada.Gate.Open(t)
		g = w.Start()
		said = append(said, "its key comes while the gateway is away")
		l.Until(`SELECT COUNT(*) FROM messages WHERE role = 'user'`, len(said), g)
		w.Settle(l, g)
		w.CheckAt(l, ada.ID, said, e2etest.Asked(ada.Settled(l, g, room, bot.ID), 1))
	})
}

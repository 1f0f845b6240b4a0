//go:build e2e && goolm

package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"maunium.net/go/mautrix/crypto"
)

// A backup is older than the keys on the homeserver and with the people. Where it
// is restored, everybody is read and can read all the same.
func TestARestoredBackupGoesOnInEncryptedRooms(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		h := newHomeserver(t, false)
		w := newTown(t, database(t))
		bot := w.onMatrix(h)
		g := w.start()
		ada, bob, carol := h.register("ada").olm(), h.register("bob").olm(), h.register("carol").olm()
		rooms := map[*olmDevice]string{ada: ada.secret(bot.id), bob: bob.secret(bot.id)}
		for d, room := range rooms {
			d.joined(g, room, bot.id)
			d.tell(room, "hello")
			d.answers(g, room, bot.id, 1)
		}
		device := ada.devices(bot.id)
		file := w.backUp(t.TempDir())

		rooms[carol] = carol.secret(bot.id) // whom the backup does not know
		carol.joined(g, rooms[carol], bot.id)
		bob.claimAll(bot) // has the assistant make more one-time keys when it is next written to
		since := []string{"since then, first", "since then, with other keys", "since then, over another session"}
		for d, room := range rooms {
			d.tell(room, since[0])
			d.forget(room)
			d.tell(room, since[1])
		}
		ada.login().olm() // has the assistant write to ada with other keys
		before := w.ledger()
		before.heard(g, rooms, since[:2])
		h.until("there are new one-time keys", func() bool { return bot.oneTimeKeys() >= 50 })
		w.settle(before, g)
		for d, room := range rooms {
			d.renewed(room, since[2])
		}
		before.heard(g, rooms, since)
		w.settle(before, g)
		g.stop()
		for d, room := range rooms {
			d.tell(room, "while it was away")
			d.forget(room)
			d.tell(room, "while it was away, with other keys")
		}

		there := w.elsewhere(database(t))
		there.mustRun("restore", file)
		g = there.start()
		l := there.ledger()
		for d, room := range rooms {
			d.tell(room, "after it came back")
		}
		said := append(slices.Clone(since), "while it was away", "while it was away, with other keys", "after it came back")
		l.heard(g, rooms, said)
		there.settle(l, g)
		for d, room := range rooms {
			d.legible(g, room, bot.id)
			if got := bodies(latest(d.plain(room), bot.id)); !slices.Contains(got, "echo: after it came back") {
				t.Errorf("%s is not answered: %q\n%s", d.id, got, g.log)
			}
			got, want := l.transcript(d.id), said
			if d != carol {
				want = append([]string{"hello"}, said...)
			}
			if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
				t.Errorf("%s is heard saying %q, want %q", d.id, got, want)
			}
		}
		if now := ada.devices(bot.id); now != device {
			t.Errorf("the device was %s and is %s", device, now)
		}
	})
}

// heard waits until the people of rooms are in the transcript with texts.
func (l *ledger) heard(g *gateway, rooms map[*olmDevice]string, texts []string) {
	l.t.Helper()
	for d := range rooms {
		var got []string
		missing := func(text string) bool { return !slices.Contains(got, text) }
		for deadline := time.Now().Add(90 * time.Second); ; time.Sleep(100 * time.Millisecond) {
			for other := range rooms {
				other.sync() // clients that run answer when they are asked for keys
			}
			if got = l.transcript(d.id); !slices.ContainsFunc(texts, missing) {
				break
			}
			if time.Now().After(deadline) {
				l.t.Fatalf("%s is heard saying %q, want %q; not read are %.300q\n%s", d.id, got, texts, l.lines(`SELECT value FROM states WHERE key = 'unread'`), g.log)
			}
		}
	}
}

// claimAll takes all one-time keys of somebody's device, as many who begin to
// write to it would.
func (d *olmDevice) claimAll(of *account) {
	d.h.t.Helper()
	var me struct {
		Device string `json:"device_id"`
	}
	d.h.call(http.MethodGet, "/_matrix/client/v3/account/whoami", of.token, nil, &me)
	claim := map[string]any{"one_time_keys": map[string]any{of.id: map[string]string{me.Device: "signed_curve25519"}}}
	for of.oneTimeKeys() > 0 {
		d.h.call(http.MethodPost, "/_matrix/client/v3/keys/claim", d.token, claim, nil)
	}
}

// oneTimeKeys is how many the homeserver has left of the session's device.
func (a *account) oneTimeKeys() int {
	a.h.t.Helper()
	var out struct {
		Counts map[string]int `json:"one_time_key_counts"`
	}
	a.h.call(http.MethodPost, "/_matrix/client/v3/keys/upload", a.token, map[string]any{}, &out)
	return out.Counts["signed_curve25519"]
}

// renewed writes over a new session: it claims a one-time key of who is in the room.
func (d *olmDevice) renewed(room, text string) {
	d.h.t.Helper()
	d.store.anew.Store(true)
	d.forget(room)
	d.tell(room, text)
	d.store.anew.Store(false)
}

// legible waits until the device can read all that somebody wrote in a room, and
// checks that no place in a sequence of keys was used twice.
func (d *olmDevice) legible(g *gateway, room, sender string) {
	d.h.t.Helper()
	var closed []string
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		closed = nil
		for _, e := range d.plain(room) {
			if e.Type == "m.room.encrypted" && e.Sender == sender {
				_, err := d.decrypt(room, e)
				closed = append(closed, fmt.Sprint(e.ID, " ", err))
			}
		}
		if len(closed) == 0 {
			break
		}
		if time.Now().After(deadline) {
			d.h.t.Errorf("%s cannot read %q\n%s", d.id, closed, g.log)
			break
		}
	}
	used := map[string]string{}
	for _, e := range d.timeline(room) {
		if e.Type != "m.room.encrypted" || e.Sender != sender {
			continue
		}
		cipher, _ := e.Content["ciphertext"].(string)
		index, err := crypto.ParseMegolmMessageIndex([]byte(cipher))
		must(d.h.t, err)
		place := fmt.Sprint(e.Content["session_id"], " ", index)
		if was := used[place]; was != "" {
			d.h.t.Errorf("%s and %s were written with the same key", was, e.ID)
		}
		used[place] = e.ID
	}
}

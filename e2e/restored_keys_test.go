//go:build e2e && goolm

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
		// Carol and erin come after the backup, bob and erin say nothing while nobody is there.
		ada, bob, carol, erin := h.register("ada").olm(), h.register("bob").olm(), h.register("carol").olm(), h.register("erin").olm()
		rooms := map[*olmDevice]string{}
		for _, d := range []*olmDevice{ada, bob} {
			rooms[d] = d.secretWith(g, bot, "hello")
		}
		device := ada.devices(bot.id)
		file := w.backUp(t.TempDir())

		ada.claimAll(bot)           // has the assistant make more one-time keys when it is next written to
		ada.login().olm()           // has it write to ada with other keys,
		tablet := bob.login().olm() // and to bob
		for _, d := range []*olmDevice{carol, erin} {
			rooms[d] = d.secretWith(g, bot, "hello")
		}
		said := map[*olmDevice][]string{}
		tell := func(text string, devices ...*olmDevice) {
			for _, d := range devices {
				d.tell(rooms[d], text)
				said[d] = append(said[d], text)
			}
		}
		tell("since then", ada, bob, carol)
		before := w.ledger()
		before.heard(g, said)
		h.until("there are new one-time keys", func() bool { return bot.oneTimeKeys() >= 50 })
		for _, d := range []*olmDevice{ada, carol} {
			d.plain(rooms[d])
			d.store.again.Store(true) // the next keys go over a new session
			d.forget(rooms[d])
			tell("since then, over another session", d)
			d.store.again.Store(false)
		}
		before.heard(g, said)
		w.settle(before, g)
		g.stop()
		for _, d := range []*olmDevice{ada, carol} {
			tell("while it was away", d)
			d.forget(rooms[d])
			tell("while it was away, with other keys", d)
		}

		there := w.elsewhere(database(t))
		there.mustRun("restore", file)
		g = there.start()
		tell("after it came back", ada, bob, carol, erin)
		for d := range rooms {
			said[d] = append([]string{"hello"}, said[d]...)
		}
		there.goesOnInSecret(g, bot, rooms, said)
		if now := ada.devices(bot.id); now != device {
			t.Errorf("the device was %s and is %s", device, now)
		}
		// A message may come a moment before its key; not always.
		if !slices.ContainsFunc([]string{"frank", "grace", "heidi"}, func(name string) bool {
			room := h.register(name).olm().secretWith(g, bot, "hello")
			return !strings.Contains(g.log.String(), room+`", "event"`)
		}) {
			t.Errorf("newcomers claimed keys that are not there\n%s", g.log)
		}
		tablet.enter(rooms[bob], bob.id, bot.id)
		tablet.tell(rooms[bob], "from another device")
		there.goesOnInSecret(g, bot, map[*olmDevice]string{bob: rooms[bob]}, map[*olmDevice][]string{bob: append(said[bob], "from another device")})
	})
}

// A copy of the data folder that was made by other means is as old as a backup, and
// nobody says so.
func TestACopyOfTheDataGoesOnInEncryptedRooms(t *testing.T) {
	t.Parallel()
	h := newHomeserver(t, false)
	w := newTown(t, "")
	bot := w.onMatrix(h)
	g := w.start()
	ada := h.register("ada").olm()
	rooms := map[*olmDevice]string{ada: ada.secretWith(g, bot, "hello")}
	w.settle(w.ledger(), g)
	g.stop()
	there := w.elsewhere("")
	must(t, os.CopyFS(filepath.Join(there.dir, "copy"), os.DirFS(w.dir)))
	there.env = append(there.env, "EVERTHREAD_DATA_DIR="+filepath.Join(there.dir, "copy"))
	there.dir = filepath.Join(there.dir, "copy")

	g = w.start()
	gone := ada.tell(rooms[ada], "since then")
	ada.answers(g, rooms[ada], bot.id, 2)
	w.settle(w.ledger(), g)
	ada.redact(rooms[ada], gone) // so that only the answer is left of it
	g.stop()
	g = there.start()
	ada.tell(rooms[ada], "after it came back")
	there.goesOnInSecret(g, bot, rooms, map[*olmDevice][]string{ada: {"hello", "after it came back"}})
}

// Two copies of a gateway must not run. One of them says so.
func TestASecondCopyIsNoticed(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database func(*testing.T) string) {
		h := newHomeserver(t, false)
		w := newTown(t, database(t))
		bot := w.onMatrix(h)
		offset := filepath.Join(t.TempDir(), "clock")
		must(t, os.WriteFile(offset, []byte("-300000"), 0o600)) // as if the first had run for a while
		there := w.elsewhere(database(t))
		w.env = append(w.env, "EVERTHREAD_TEST_CLOCK="+offset)
		g := w.start()
		ada := h.register("ada").olm()
		room := ada.secretWith(g, bot, "hello")
		there.mustRun("restore", w.backUp(t.TempDir()))
		there.start()
		ada.tell(room, "who is there?")
		g.logged("another copy of this gateway is at work")
		w.verdict(t, g, "PROBLEM", "a second copy of this gateway")
	})
}

// secretWith opens an encrypted direct chat with the assistant and waits for its
// answer to a text.
func (d *olmDevice) secretWith(g *gateway, bot *account, text string) (room string) {
	d.h.t.Helper()
	room = d.secret(bot.id)
	d.joined(g, room, bot.id)
	d.tell(room, text)
	d.answers(g, room, bot.id, 1)
	return room
}

// goesOnInSecret waits until what people said in their rooms is there, each text
// once, and checks that every answer to it has arrived and can be read.
func (w *town) goesOnInSecret(g *gateway, bot *account, rooms map[*olmDevice]string, said map[*olmDevice][]string) {
	w.t.Helper()
	l := w.ledger()
	l.heard(g, said)
	w.settle(l, g)
	for d, room := range rooms {
		if got, want := l.transcript(d.id), slices.Sorted(slices.Values(said[d])); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
			w.t.Errorf("%s is heard saying %q, want %q", d.id, got, want)
		}
		d.legible(g, room, bot.id)
		arrived, seen := map[string]string{}, map[string]bool{}
		for _, e := range latest(d.plain(room), bot.id) {
			if arrived[e.ID] = strings.TrimSuffix(e.body(), repeatMark); seen[e.body()] {
				w.t.Errorf("%s is told %q twice\n%s", d.id, e.body(), g.log)
			}
			seen[e.body()] = true
		}
		for _, line := range l.lines(`SELECT p.native_id || ' ' || m.body FROM delivery_parts p JOIN deliveries d ON d.user_id = p.user_id AND d.id = p.delivery_id
			JOIN messages m ON m.user_id = d.user_id AND m.id = d.message_id WHERE d.external = $1`, d.id) {
			id, body, _ := strings.Cut(line, " ")
			if arrived[id] != body {
				w.t.Errorf("%s sees %q where it was answered %q\n%s", d.id, arrived[id], body, g.log)
			}
			delete(arrived, id) // no other answer stands there
		}
	}
}

// heard waits until people are in the transcript with what they said.
func (l *ledger) heard(g *gateway, said map[*olmDevice][]string) {
	l.t.Helper()
	for d, texts := range said {
		var got []string
		missing := func(text string) bool { return !slices.Contains(got, text) }
		for deadline := time.Now().Add(90 * time.Second); ; time.Sleep(100 * time.Millisecond) {
			for other := range said {
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

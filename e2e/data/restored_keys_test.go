//go:build e2e && goolm

package data

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// A backup is older than the keys on the homeserver and on people's devices. After it is restored,
// everybody can still read and be read.
func TestEncryptedRoom_goesOnAfterARestore(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		h := e2etest.NewHomeserver(t, false)
		w := e2etest.NewTown(t, database(t))
		bot := w.OnMatrix(h)
		g := w.Start()
		// Carol and erin write only after the backup; bob and erin write nothing while the gateway
		// is down.
		ada, bob, carol, erin := h.Register("ada").Olm(), h.Register("bob").Olm(), h.Register("carol").Olm(),
			h.Register("erin").Olm()
		rooms := map[*e2etest.OlmDevice]string{}
		for _, d := range []*e2etest.OlmDevice{ada, bob} {
			rooms[d] = d.SecretWith(g, bot, "hello")
		}
		device := ada.Devices(bot.ID)
		file := w.BackUp(t.TempDir())

		ada.ClaimAll(bot)           // makes the assistant create more one-time keys at the next message
		ada.Login().Olm()           // makes it write to ada with other keys,
		tablet := bob.Login().Olm() // and to bob
		for _, d := range []*e2etest.OlmDevice{carol, erin} {
			rooms[d] = d.SecretWith(g, bot, "hello")
		}
		said := map[*e2etest.OlmDevice][]string{}
		tell := func(text string, devices ...*e2etest.OlmDevice) {
			for _, d := range devices {
				d.Tell(rooms[d], text)
				said[d] = append(said[d], text)
			}
		}
		tell("since then", ada, bob, carol)
		before := w.Ledger()
		before.Heard(g, said)
		h.Until("there are new one-time keys", func() bool { return bot.OneTimeKeys() >= 50 })
		for _, d := range []*e2etest.OlmDevice{ada, carol} {
			d.Plain(rooms[d])
			d.Store.Again.Store(true) // the next keys go over a new session
			d.Forget(rooms[d])
			tell("since then, over another session", d)
			d.Store.Again.Store(false)
		}
		before.Heard(g, said)
		w.Settle(before, g)
		g.Stop()
		for _, d := range []*e2etest.OlmDevice{ada, carol} {
			tell("while it was away", d)
			d.Forget(rooms[d])
			tell("while it was away, with other keys", d)
		}

		there := w.Empty()
		there.MustRun("restore", file)
		g = there.Start()
		tell("after it came back", ada, bob, carol, erin)
		for d := range rooms {
			said[d] = append([]string{"hello"}, said[d]...)
		}
		there.GoesOnInSecret(g, bot, rooms, said)
		if now := ada.Devices(bot.ID); now != device {
			t.Errorf("the device was %s and is %s", device, now)
		}
		// A message may arrive shortly before its key, but need not.
		if !slices.ContainsFunc([]string{"frank", "grace", "heidi"}, func(name string) bool {
			room := h.Register(name).Olm().SecretWith(g, bot, "hello")
			return !strings.Contains(g.Log.String(), room+`", "event"`)
		}) {
			t.Errorf("new users claimed keys that do not exist\n%s", g.Log)
		}
		tablet.Enter(rooms[bob], bob.ID, bot.ID)
		tablet.Tell(rooms[bob], "from another device")
		there.GoesOnInSecret(g, bot, map[*e2etest.OlmDevice]string{bob: rooms[bob]},
			map[*e2etest.OlmDevice][]string{bob: append(said[bob], "from another device")})
	})
}

// A copy of the data folder made by other means is as old as a backup, but nothing records that.
func TestEncryptedRoom_goesOnFromACopy(t *testing.T) {
	t.Parallel()
	h := e2etest.NewHomeserver(t, false)
	w := e2etest.NewTown(t, "")
	bot := w.OnMatrix(h)
	g := w.Start()
	ada := h.Register("ada").Olm()
	rooms := map[*e2etest.OlmDevice]string{ada: ada.SecretWith(g, bot, "hello")}
	w.Settle(w.Ledger(), g)
	g.Stop()
	there := w.Elsewhere("")
	e2etest.Must(t, os.CopyFS(filepath.Join(there.Dir, "copy"), os.DirFS(w.Dir)))
	there.Env = append(there.Env, "EVERTHREAD_DATA_DIR="+filepath.Join(there.Dir, "copy"))
	there.Dir = filepath.Join(there.Dir, "copy")

	g = w.Start()
	gone := ada.Tell(rooms[ada], "since then")
	ada.Answers(g, rooms[ada], bot.ID, 2)
	w.Settle(w.Ledger(), g)
	ada.Redact(rooms[ada], gone) // so that only its answer remains
	g.Stop()
	g = there.Start()
	ada.Tell(rooms[ada], "after it came back")
	there.GoesOnInSecret(g, bot, rooms, map[*e2etest.OlmDevice][]string{ada: {"hello", "after it came back"}})
}

// Two copies of a gateway must not run. One of them reports it.
func TestCopy_secondIsNoticed(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		h := e2etest.NewHomeserver(t, false)
		w := e2etest.NewTown(t, database(t))
		bot := w.OnMatrix(h)
		offset := filepath.Join(t.TempDir(), "clock")
		e2etest.Must(t, os.WriteFile(offset, []byte("-300000"), 0o600)) // as if the first had run for a while
		there := w.Empty()
		w.Env = append(w.Env, "EVERTHREAD_TEST_CLOCK="+offset)
		g := w.Start()
		ada := h.Register("ada").Olm()
		room := ada.SecretWith(g, bot, "hello")
		there.MustRun("restore", w.BackUp(t.TempDir()))
		there.Start()
		ada.Tell(room, "who is there?")
		g.Logged("another copy of this gateway is running")
		w.Verdict(t, g, "PROBLEM", "a second copy of this gateway")
	})
}

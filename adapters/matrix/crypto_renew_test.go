//go:build goolm

package matrix

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/matrix/matrixtest"
	"github.com/everthread/everthread/core"
)

// answering lets a device process to-device events, and so answer requests for keys, until
// stop is called.
func (d *device) answering(t *testing.T) (stop func()) {
	t.Helper()
	end, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for tick := time.NewTicker(20 * time.Millisecond); ; {
			select {
			case <-end:
				tick.Stop()
				return
			case <-tick.C:
				d.sync(context.WithoutCancel(t.Context()))
			}
		}
	}()
	stop = sync.OnceFunc(func() { close(end); <-done })
	t.Cleanup(stop)
	return stop
}

// rewound is a world with the keys from before a lost conversation, and a message whose
// key arrived during it.
func rewound(t *testing.T) (*world, *device, func(*Options)) {
	t.Helper()
	w, d, crypt := encryptedWorld(t)
	d.say(w.Server, ada, "first")
	eventually(t, "first", func() bool { return len(w.messages()) == 1 })
	_, err := w.c.Send(t.Context(), toAda, core.Part{Text: "hello", Key: "k"})
	must(t, err)
	d.sync(t.Context())
	w.barrier(t)
	w.stop()
	c := open(t, w.Server, w.k, crypt)
	for _, table := range []string{"crypto_megolm_outbound_session", "crypto_megolm_inbound_session",
		"crypto_olm_session"} {
		_, err := c.opts.CryptoDB.Exec("DELETE FROM " + table)
		must(t, err)
	}
	d.say(w.Server, ada, "said with known keys")
	return w, d, crypt
}

func TestCryptoRenew_keysOverANewSession(t *testing.T) {
	t.Parallel()
	w, d, crypt := rewound(t)
	w = start(t, w.Server, w.k, crypt)
	stop := d.answering(t)
	eventually(t, "what was said", func() bool { return slices.Contains(w.messages(), "said with known keys") })
	stop()
	out, err := w.c.Send(t.Context(), toAda, core.Part{Text: "I hear you.", Key: "l"})
	must(t, err)
	last := w.Sent(d.room.id)
	same(t, last[len(last)-1].ID, out.NativeID)
	same(t, d.read(last[len(last)-1]), "I hear you.")
}

// A request for a key, or the answer to it, may be lost.
func TestCryptoRenew_keysAreAskedForAgain(t *testing.T) {
	t.Parallel()
	w, d, crypt := rewound(t)
	now := time.Now()
	later := func(o *Options) { crypt(o); o.Now = func() time.Time { return now } }
	w.Fail("to_device", 1<<30, matrixtest.Failure{Code: 400, Err: "M_UNKNOWN"})
	w = start(t, w.Server, w.k, later)
	w.barrier(t)
	w.stop()
	if slices.Contains(w.messages(), "said with known keys") {
		t.Fatalf("%s", w.messages())
	}
	w.Fail("to_device", 0, matrixtest.Failure{})
	now = now.Add(askSoonest)
	w = start(t, w.Server, w.k, later)
	d.answering(t)
	eventually(t, "what was said", func() bool { return slices.Contains(w.messages(), "said with known keys") })
}

// A process that dies while it renews keys starts again.
func TestCryptoRenew_failedBeginsAgain(t *testing.T) {
	t.Parallel()
	w, d, crypt := rewound(t)
	c := open(t, w.Server, w.k, crypt)
	_, err := c.opts.CryptoDB.Exec(
		`CREATE TRIGGER full BEFORE INSERT ON crypto_megolm_outbound_session BEGIN SELECT RAISE(FAIL, 'disk full'); END`)
	must(t, err)
	_, err = c.open(t.Context())
	if err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Fatalf("%v", err)
	}
	before, err := keptAs[renewal](t.Context(), c, keyRenewal)
	must(t, err)
	if len(before.Salt) == 0 {
		t.Fatalf("empty")
	}
	_, err = c.opts.CryptoDB.Exec(`DROP TRIGGER full`)
	must(t, err)
	w = start(t, w.Server, w.k, crypt)
	d.answering(t)
	eventually(t, "what was said", func() bool { return slices.Contains(w.messages(), "said with known keys") })
	after, err := keptAs[renewal](t.Context(), w.c, keyRenewal)
	must(t, err)
	if after.Salt == before.Salt {
		t.Fatalf("%v", after.Salt)
	}
	w.stop()
	w = start(t, w.Server, w.k, crypt)
	w.barrier(t)
	again, err := keptAs[renewal](t.Context(), w.c, keyRenewal)
	must(t, err)
	same(t, again, after, "it is done once")
}

func TestCopy_secondIsReported(t *testing.T) {
	t.Parallel()
	w, d, crypt := encryptedWorld(t)
	w.stop()
	now := time.Now().Add(-5 * time.Minute)
	w = start(t, w.Server, w.k, func(o *Options) { crypt(o); o.Now = func() time.Time { return now } })
	w.barrier(t)
	must(t, w.c.Check())
	s, err := w.c.login(t.Context())
	must(t, err)
	cipher, err := s.crypto.encrypt(t.Context(), d.room, typeMessage,
		map[string]any{"msgtype": "m.text", "body": "by another"})
	must(t, err)
	_, err = w.c.opts.CryptoDB.Exec(`DELETE FROM crypto_megolm_inbound_session`) // as if its keys had been created elsewhere
	must(t, err)
	w.Post(d.room.id, us, typeEncrypted, cipher)
	w.barrier(t)
	eventually(t, "the warning", func() bool { return w.c.Check() != nil })
	if err := w.c.Check(); !errors.Is(err, errTwin) {
		t.Fatalf("%v", err)
	}
	found := w.c.Diagnose(t.Context(), "en")
	if !(slices.ContainsFunc(found, func(f core.Finding) bool {
		return !f.OK &&
			strings.Contains(f.Detail, "a second copy")
	})) {
		t.Fatalf("false")
	}
}

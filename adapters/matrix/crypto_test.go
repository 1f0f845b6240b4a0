//go:build goolm

package matrix

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"go.uber.org/zap"
	"maunium.net/go/mautrix"
	mevent "maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"

	"github.com/everthread/everthread/adapters/matrix/matrixtest"
	"github.com/everthread/everthread/configs/section"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/trust/egress"
	"github.com/everthread/everthread/internal/fulltest"
)

func keyStore(t *testing.T, name string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), name)+
		"?_pragma=foreign_keys(1)&_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)")
	must(t, err)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { must(t, db.Close()) })
	return db
}

// device is another user's client, with the same encryption library.
type device struct {
	t     *testing.T
	s     *session
	since string
	room  room
}

func newDevice(t *testing.T, hs *matrixtest.Server, user string) *device {
	t.Helper()
	hs.AddUser(user, "token-"+user, "PHONE")
	return deviceOn(t, hs.URL(), user, "token-"+user)
}

// deviceOn returns the device of a token on any homeserver.
func deviceOn(t *testing.T, address, user, token string) *device {
	t.Helper()
	c, err := New(Options{
		Config: Config{Homeserver: address, UserID: user, AccessToken: section.Secret(token)}, Keeper: newKeeper(nil),
		CryptoDB: keyStore(t, "phone.db"), PickleKey: []byte("phone"), HTTP: (*egress.Gate)(nil).Client(address),
		Log: zap.NewNop(), Now: time.Now, Rand: rand.Reader,
	})
	must(t, err)
	t.Cleanup(c.opts.HTTP.CloseIdleConnections)
	s, err := c.open(t.Context())
	must(t, err)
	return &device{t: t, s: s}
}

func (d *device) sync(ctx context.Context) {
	var resp syncResponse
	q := url.Values{"since": {d.since}, "filter": {"{}"}, "timeout": {"0"}}
	must(d.t, d.s.get(ctx, callTimeout, q, &resp, "v3", "sync"))
	must(d.t, d.s.crypto.sync(ctx, &resp, d.since))
	d.since = resp.NextBatch
}

// say posts an encrypted message.
func (d *device) say(hs *matrixtest.Server, user, text string) string {
	cipher, err := d.s.crypto.encrypt(d.t.Context(), d.room, typeMessage,
		map[string]any{"msgtype": "m.text", "body": text})
	must(d.t, err)
	return hs.Post(d.room.id, user, typeEncrypted, cipher)
}

// read returns the text of an encrypted event of the channel.
func (d *device) read(e matrixtest.Event) string {
	d.sync(d.t.Context())
	raw, err := json.Marshal(e)
	must(d.t, err)
	in, _ := readEvent(raw)
	_, content, err := d.s.crypto.decrypt(d.t.Context(), d.room.id, in)
	must(d.t, err)
	return matrixtest.Event{Content: content}.Text()
}

// A key that cannot be stored now is stored later, whatever part of it was stored before:
// the server offers it again, and the machine must not take it for a known one.
func TestCrypto_unstoredKeyIsNotLost(t *testing.T) {
	t.Parallel()
	tables := []string{"crypto_olm_session", "crypto_megolm_inbound_session", "crypto_account", "crypto_olm_message_hash"}
	for _, table := range tables[:fulltest.Size(2, len(tables))] {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			w, d, _ := encryptedWorld(t)
			w.barrier(t)
			for _, when := range []string{"INSERT", "UPDATE"} {
				name := "full_" + when
				_, err := w.c.opts.CryptoDB.Exec("CREATE TRIGGER " + name + " BEFORE " + when + " ON " + table +
					" BEGIN SELECT RAISE(FAIL, 'disk full'); END")
				must(t, err)
			}
			syncs := w.Calls("sync")
			d.say(w.Server, ada, "a secret")
			eventually(t, "more attempts", func() bool { return w.Calls("sync") > syncs+3 })
			if got := w.messages(); len(got) > 0 {
				t.Fatalf("%v", got)
			}
			for _, when := range []string{"INSERT", "UPDATE"} {
				_, err := w.c.opts.CryptoDB.Exec("DROP TRIGGER full_" + when)
				must(t, err)
			}
			eventually(t, "the secret", func() bool { return slices.Equal(w.messages(), []string{"a secret"}) })
			if got := w.Sent(d.room.id); len(got) > 0 {
				t.Fatalf("nobody is asked to send it again: %v", got)
			}
		})
	}
}

func encryptedWorld(t *testing.T) (*world, *device, func(*Options)) {
	t.Helper()
	hs := matrixtest.New(us)
	t.Cleanup(hs.Close)
	db := keyStore(t, "ours.db")
	crypt := func(o *Options) { o.CryptoDB, o.PickleKey = db, []byte("pickle") }
	w := start(t, hs, newKeeper(map[string]string{keySync: hs.Position()}), crypt)
	d := newDevice(t, hs, ada)
	eventually(t, "our keys", func() bool { return hs.Calls("sync") > 0 })
	where := hs.Direct(ada)
	hs.State(where, ada, typeEncryption, "", map[string]string{"algorithm": "m.megolm.v1.aes-sha2"})
	d.room.id, d.room.encrypted = where, true
	d.room.members = map[string]member{ada: {membership: "join"}, us: {membership: "join"}}
	return w, d, crypt
}

func TestCrypto_roomIsReadAndAnswered(t *testing.T) {
	t.Parallel()
	w, d, crypt := encryptedWorld(t)
	sent := d.say(w.Server, ada, "a secret")
	eventually(t, "the secret", func() bool { return slices.Equal(w.messages(), []string{"a secret"}) })
	same(t, w.in.of(core.InMessage)[0].EventID, sent)
	must(t, w.c.Preview(t.Context(), toAda, "turn-1-1", "I will"))
	_, err := w.c.Send(t.Context(), toAda, core.Part{Text: "I will keep it.", Key: "k", Preview: "turn-1-1"})
	must(t, err)
	for _, e := range w.Sent(d.room.id) {
		same(t, e.Type, typeEncrypted)
		if strings.Contains(string(e.Content), "keep") {
			t.Fatalf("%s", string(e.Content))
		}
	}
	out := w.Sent(d.room.id)
	same(t, d.read(out[len(out)-1]), "I will keep it.")

	w.stop()
	w = start(t, w.Server, w.k, crypt)
	d.say(w.Server, ada, "after a restart")
	eventually(t, "more", func() bool { return slices.Contains(w.messages(), "after a restart") })
	if got := w.in.of(core.InByHand); len(got) > 0 {
		t.Fatalf("our own words are ours after a restart: %v", got)
	}
}

func TestCrypto_unreadableIsAskedForOnce(t *testing.T) {
	t.Parallel()
	w, d, crypt := encryptedWorld(t)
	d.say(w.Server, ada, "first")
	eventually(t, "first", func() bool { return len(w.messages()) == 1 })
	_, err := w.c.Send(t.Context(), toAda, core.Part{Text: "hello", Key: "k"})
	must(t, err)
	w.stop()

	now := time.Now()
	later := func(o *Options) { crypt(o); o.Now = func() time.Time { return now } }
	w.HoldKeys()
	d.room.members["@gone:hs.test"] = member{membership: "invite"} // a new key for the next message
	d.say(w.Server, ada, "the key of this is late")
	w = start(t, w.Server, w.k, later)
	w.barrier(t)
	if got := w.Sent(d.room.id); len(got) != 1 {
		t.Fatalf("not asked at once: %d, want %d: %v", len(got), 1, got)
	}
	w.stop()
	now = now.Add(time.Minute)
	w = start(t, w.Server, w.k, later)
	w.barrier(t)
	w.barrier(t)
	eventually(t, "the question", func() bool { return len(w.Sent(d.room.id)) == 2 })
	w.ReleaseKeys()
	eventually(t, "the message", func() bool { return slices.Contains(w.messages(), "the key of this is late") })
	w.barrier(t)
	if got := w.Sent(d.room.id); len(got) != 2 {
		t.Fatalf("asked once: %d, want %d: %v", len(got), 2, got)
	}
}

func TestCrypto_lostKeysSayWhatToDo(t *testing.T) {
	t.Parallel()
	w, _, _ := encryptedWorld(t)
	w.stop()
	c := open(t, w.Server, w.k, func(o *Options) { o.CryptoDB, o.PickleKey = keyStore(t, "new.db"), []byte("pickle") })
	err := c.Run(t.Context(), &inbox{})
	if err == nil || !strings.Contains(err.Error(), "log the device out") {
		t.Fatalf("%v", err)
	}
}

func TestCrypto_filesOfEncryptedRooms(t *testing.T) {
	t.Parallel()
	w, d, _ := encryptedWorld(t)
	d.say(w.Server, ada, "send it")
	eventually(t, "send it", func() bool { return len(w.messages()) == 1 })
	a := &core.Attachment{Kind: "document", Name: "a.txt", MIME: "text/plain"}
	_, err := w.c.Send(t.Context(), toAda, core.Part{Text: "here", Attachment: a, Data: []byte("content"), Key: "f"})
	must(t, err)
	d.sync(t.Context())
	raw, _ := json.Marshal(w.Sent(d.room.id)[0])
	e, _ := readEvent(raw)
	_, content, err := d.s.crypto.decrypt(t.Context(), d.room.id, e)
	must(t, err)
	ref := reference(object(content))
	if !strings.HasPrefix(ref, "{") {
		t.Fatalf("false")
	}
	data, mime, err := w.c.Fetch(t.Context(), ref, 100)
	must(t, err)
	same(t, string(data), "content")
	if !strings.Contains(mime, "text/plain") {
		t.Fatalf("%s", mime)
	}
}

// TestCrypto_clearWordsDoNotCount: a homeserver can send words in clear as anybody.
func TestCrypto_clearWordsDoNotCount(t *testing.T) {
	t.Parallel()
	w, d, _ := encryptedWorld(t)
	d.say(w.Server, ada, "a secret")
	eventually(t, "the secret", func() bool { return len(w.messages()) == 1 })
	secret := w.in.of(core.InMessage)[0].NativeID
	for _, text := range []string{"words", "/yes", "/web", "/link", "yes"} {
		w.Say(d.room.id, ada, text)
	}
	w.Post(d.room.id, ada, typeSticker, map[string]any{"body": "a sticker", "url": "mxc://hs.test/a"})
	w.Post(d.room.id, ada, typeMessage, map[string]any{"msgtype": "m.text", "body": "* changed",
		"m.new_content": message0("changed"), "m.relates_to": map[string]any{"rel_type": "m.replace", "event_id": secret}})
	w.Say(d.room.id, us, "an answer that was never given")
	d.say(w.Server, ada, "another secret")
	w.barrier(t)
	same(t, w.messages(), []string{"a secret", "another secret"})
	if got := w.in.of(core.InEdit, core.InByHand); len(got) > 0 {
		t.Fatalf("%v", got)
	}
	told := w.in.of(core.InGroup)
	if got := told; len(got) != 1 {
		t.Fatalf("it is said once: %d, want %d: %v", len(got), 1, got)
	}
	same(t, told[0].Silent, core.SilentPlain)
}

// TestCrypto_unreadableEventStopsNothing: anybody can send numbers that fit in no variable, in rooms of old versions
// and to devices, and mautrix then reads nothing of what came with them.
func TestCrypto_unreadableEventStopsNothing(t *testing.T) {
	t.Parallel()
	w, d, _ := encryptedWorld(t)
	for _, number := range []string{strings.Repeat("9", 400), "-1e999", "1" + strings.Repeat("0", 310)} {
		content := json.RawMessage(`{"msgtype":"m.text","body":"odd","n":` + number + `}`)
		if err := json.Unmarshal(content, &map[string]any{}); err == nil {
			t.Fatalf("no error")
		}
		w.HoldKeys()
		room := w.Direct(ada)
		w.State(room, ada, typeHistory, "", json.RawMessage(`{"history_visibility":"shared","n":`+number+`}`))
		w.Post(room, ada, "m.reaction", content)
		_, err := d.s.cli.SendToDevice(t.Context(), mevent.ToDeviceDummy, &mautrix.ReqSendToDevice{
			Messages: map[id.UserID]map[id.DeviceID]*mevent.Content{us: {"*": {VeryRaw: content}}}})
		must(t, err)
		before := len(w.messages())
		w.Say(room, ada, "plain "+number)
		d.room.members["@gone"+number+":hs.test"] = member{membership: "invite"} // a new key for the next message
		d.say(w.Server, ada, "secret "+number)
		w.ReleaseKeys()
		eventually(t, "both", func() bool { return len(w.messages()) == before+2 })
	}
}

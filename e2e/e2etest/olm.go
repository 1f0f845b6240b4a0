//go:build e2e && goolm

package e2etest

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.mau.fi/util/dbutil"
	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/crypto"
	enclosure "maunium.net/go/mautrix/crypto/attachment"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"
)

// OlmDevice is a client of an account that reads and writes encrypted rooms.
type OlmDevice struct {
	*Account
	cli   *mautrix.Client
	mach  *crypto.OlmMachine
	state mautrix.StateStore
	Gate  *gate
	Store *peerStore
	since string
	read  map[string]timelineEvent   // decrypted events by id
	Wrote map[string]string          // last used session, by room
	shown map[string][]timelineEvent // see Latest
}

// gate passes keys on to other devices, or holds them. It never holds keys for the
// device's own account.
type gate struct {
	mu   sync.Mutex
	shut bool
	held []*http.Request
}

func (g *gate) RoundTrip(r *http.Request) (*http.Response, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.shut || !strings.Contains(r.URL.Path, "/sendToDevice/m.room.encrypted/") {
		return http.DefaultTransport.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	later := r.Clone(r.Context())
	later.Body = io.NopCloser(bytes.NewReader(body))
	g.held = append(g.held, later)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader("{}")), Request: r}, nil
}

// Hold holds keys from now on.
func (g *gate) Hold() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = true
}

// Open releases held keys.
func (g *gate) Open(t *testing.T) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = false
	for _, r := range g.held {
		resp, err := http.DefaultTransport.RoundTrip(r)
		Must(t, err)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("a key cannot be sent: %s", resp.Status)
		}
	}
	g.held = nil
}

// Login opens another session of the account, with its own device.
func (a *Account) Login() *Account {
	a.h.t.Helper()
	var out struct {
		Token string `json:"access_token"`
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(a.ID, "@"), ":")
	a.h.Call(http.MethodPost, "/_matrix/client/v3/login", "", map[string]any{"type": "m.login.password",
		"identifier": map[string]string{"type": "m.id.user", "user": a.ID}, "password": PasswordOf(name)}, &out)
	return &Account{h: a.h, ID: a.ID, Token: out.Token}
}

// Olm creates keys for the account's device.
func (a *Account) Olm() *OlmDevice {
	a.h.t.Helper()
	t := a.h.t
	var me struct {
		Device id.DeviceID `json:"device_id"`
	}
	a.h.Call(http.MethodGet, "/_matrix/client/v3/account/whoami", a.Token, nil, &me)
	cli, err := mautrix.NewClient(a.h.URL, id.UserID(a.ID), a.Token)
	Must(t, err)
	d := &OlmDevice{Account: a, cli: cli, state: mautrix.NewMemoryStateStore(), Gate: &gate{},
		read: map[string]timelineEvent{}, Wrote: map[string]string{}, shown: map[string][]timelineEvent{}}
	cli.DeviceID, cli.Log, cli.StateStore = me.Device, zerolog.Nop(), d.state
	cli.Client = &http.Client{Transport: d.Gate}
	quiet := zerolog.Nop()
	d.Store = newPeerStore(t, a.ID, me.Device)
	d.mach = crypto.NewOlmMachine(cli, &quiet, d.Store, d.state.(crypto.StateStore))
	Must(t, d.mach.Load(t.Context()))
	Must(t, d.mach.ShareKeys(t.Context(), -1))
	d.Sync()
	return d
}

// peerStore is the key store of a client.
type peerStore struct {
	*crypto.SQLCryptoStore
	Again atomic.Bool // the next session with any device is a new one
}

// HasSession reports whether there is a session that encrypts for a device.
func (p *peerStore) HasSession(ctx context.Context, key id.SenderKey) bool {
	return !p.Again.Load() && p.SQLCryptoStore.HasSession(ctx, key)
}

func newPeerStore(t *testing.T, user string, device id.DeviceID) *peerStore {
	t.Helper()
	raw, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "keys.db")+
		"?_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)")
	Must(t, err)
	t.Cleanup(func() { Must(t, raw.Close()) })
	db, err := dbutil.NewWithDB(raw, "sqlite3")
	Must(t, err)
	p := &peerStore{SQLCryptoStore: crypto.NewSQLCryptoStore(db, dbutil.NoopLogger, user, device, []byte("a client's"))}
	Must(t, p.DB.Upgrade(t.Context()))
	return p
}

// Sync receives new keys.
func (d *OlmDevice) Sync() {
	d.h.t.Helper()
	resp, err := d.cli.FullSyncRequest(d.h.t.Context(), mautrix.ReqSync{Since: d.since})
	Must(d.h.t, err)
	d.mach.ProcessSyncResponse(d.h.t.Context(), resp, d.since)
	d.since = resp.NextBatch
}

// Secret opens an encrypted direct chat with an invited user, and waits until they
// joined.
func (d *OlmDevice) Secret(with string) string {
	d.h.t.Helper()
	var out struct {
		RoomID string `json:"room_id"`
	}
	d.h.Call(http.MethodPost, "/_matrix/client/v3/createRoom", d.Token,
		map[string]any{"is_direct": true, "invite": []string{with},
			"preset": "trusted_private_chat", "initial_state": []any{map[string]any{"type": "m.room.encryption", "state_key": "",
				"content": map[string]string{"algorithm": "m.megolm.v1.aes-sha2"}}}}, &out)
	d.Enter(out.RoomID, d.ID, with)
	return out.RoomID
}

// Enter tells the device of an encrypted room and its members.
func (d *OlmDevice) Enter(room string, users ...string) {
	d.h.t.Helper()
	ctx, in := d.h.t.Context(), id.RoomID(room)
	Must(d.h.t, d.state.SetEncryptionEvent(ctx, in, &event.EncryptionEventContent{Algorithm: id.AlgorithmMegolmV1}))
	for _, user := range users {
		Must(d.h.t, d.state.SetMembership(ctx, in, id.UserID(user), event.MembershipJoin))
	}
}

// Joined waits until a user is in a room.
func (a *Account) Joined(g *Gateway, room, who string) {
	a.h.t.Helper()
	path := "/_matrix/client/v3/rooms/" + url.PathEscape(room) + "/state/m.room.member/" + url.PathEscape(who)
	var member struct{ Membership string }
	for deadline := time.Now().Add(60 * time.Second); member.Membership != "join"; time.Sleep(50 * time.Millisecond) {
		if _, answer := a.h.ask(http.MethodGet, path, a.Token, nil); json.Unmarshal(answer, &member) != nil ||
			time.Now().After(deadline) {
			a.h.t.Fatalf("%s did not come: %s\n%s", who, answer, g.Log)
		}
	}
}

// Write sends a message that only the devices of the room can read.
func (d *OlmDevice) Write(room string, content map[string]any) string {
	d.h.t.Helper()
	d.Sync()
	ctx, in := d.h.t.Context(), id.RoomID(room)
	cipher, err := d.mach.EncryptMegolmEvent(ctx, in, event.EventMessage, content)
	if errors.Is(err, crypto.ErrNoGroupSession) || errors.Is(err, crypto.ErrSessionExpired) ||
		errors.Is(err, crypto.ErrSessionNotShared) {
		users, e := d.state.GetRoomJoinedOrInvitedMembers(ctx, in)
		Must(d.h.t, errors.Join(e, d.mach.ShareGroupSession(ctx, in, users)))
		cipher, err = d.mach.EncryptMegolmEvent(ctx, in, event.EventMessage, content)
	}
	Must(d.h.t, err)
	d.Wrote[room] = string(cipher.SessionID)
	var raw map[string]any
	b, err := json.Marshal(cipher)
	Must(d.h.t, errors.Join(err, json.Unmarshal(b, &raw)))
	return d.send(room, "m.room.encrypted", raw)
}

// Tell sends a text.
func (d *OlmDevice) Tell(room, text string) string {
	d.h.t.Helper()
	return d.Write(room, map[string]any{"msgtype": "m.text", "body": text})
}

// Forget makes the next message of a room use new keys.
func (d *OlmDevice) Forget(room string) {
	d.h.t.Helper()
	Must(d.h.t, d.mach.CryptoStore.RemoveOutboundGroupSession(d.h.t.Context(), id.RoomID(room)))
}

// Plain returns the events of a room, decrypted as far as the device can.
func (d *OlmDevice) Plain(room string) []timelineEvent {
	d.h.t.Helper()
	d.Sync()
	events := d.timeline(room)
	for i, e := range events {
		if e.Type != "m.room.encrypted" {
			continue
		}
		if _, ok := d.read[e.ID]; !ok {
			if opened, err := d.decrypt(room, e); err == nil {
				d.read[e.ID] = opened
			}
		}
		if opened, ok := d.read[e.ID]; ok {
			events[i] = opened
		}
	}
	return events
}

func (d *OlmDevice) decrypt(room string, e timelineEvent) (timelineEvent, error) {
	raw, err := json.Marshal(e.Content)
	Must(d.h.t, err)
	in := event.Event{ID: id.EventID(e.ID), RoomID: id.RoomID(room), Sender: id.UserID(e.Sender),
		Type: event.EventEncrypted, Content: event.Content{VeryRaw: raw}}
	if err := in.Content.ParseRaw(in.Type); err != nil {
		return e, err
	}
	out, err := d.mach.DecryptMegolmEvent(d.h.t.Context(), &in)
	if err != nil {
		return e, err
	}
	opened := timelineEvent{ID: e.ID, Type: out.Type.Type, Sender: e.Sender}
	return opened, json.Unmarshal(out.Content.VeryRaw, &opened.Content)
}

// Latest returns the messages of a sender that the device shows in a room, after their edits. It reads each event once:
// of a room where nothing is removed.
func (d *OlmDevice) Latest(room, sender string) []timelineEvent {
	d.h.t.Helper()
	known := map[string]bool{}
	for _, e := range d.shown[room] {
		known[e.ID] = true
	}
	d.shown[room] = append(d.shown[room], d.newer(room, known)...)
	for i, e := range d.shown[room] {
		if e.Type != "m.room.encrypted" {
			continue
		}
		opened, err := d.decrypt(room, e)
		if err != nil {
			d.Sync() // its key may have come
			opened, err = d.decrypt(room, e)
		}
		if err == nil {
			d.shown[room][i] = opened
		}
	}
	return latest(d.shown[room], sender)
}

// newer returns the events of a room after those that are known, oldest first.
func (d *OlmDevice) newer(room string, known map[string]bool) (out []timelineEvent) {
	d.h.t.Helper()
	defer func() { slices.Reverse(out) }()
	for from := ""; ; {
		var page struct {
			Chunk []timelineEvent
			End   string
		}
		d.h.Call(http.MethodGet, "/_matrix/client/v3/rooms/"+url.PathEscape(room)+"/messages?dir=b&limit=20"+from, d.Token, nil, &page)
		for _, e := range page.Chunk {
			if known[e.ID] {
				return out
			}
			out = append(out, e)
		}
		if len(page.Chunk) == 0 || page.End == "" {
			return out
		}
		from = "&from=" + url.QueryEscape(page.End)
	}
}

// Answers waits until the device shows n messages of a sender, and returns them with their
// last edits.
func (d *OlmDevice) Answers(g *Gateway, room, sender string, n int) []timelineEvent {
	d.h.t.Helper()
	var out []timelineEvent
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		if out = latest(d.Plain(room), sender); len(out) >= n {
			return out
		}
		if time.Now().After(deadline) {
			d.h.t.Fatalf("%s can read %d messages, want %d: %.80q\n%s", d.ID, len(out), n, Bodies(out), g.Log)
		}
	}
}

// Settled returns a sender's messages when all expected ones can be read. Requests to send
// a message again do not count.
func (d *OlmDevice) Settled(l *Ledger, g *Gateway, room, sender string) []string {
	d.h.t.Helper()
	sent := l.Count(`SELECT COUNT(*) FROM deliveries WHERE state IN ('sent', 'delivered', 'read')`)
	for more := 0; ; {
		got := Bodies(d.Answers(g, room, sender, sent+more))
		if more = len(got) - len(Asked(got, len(got))); len(got) >= sent+more {
			return got
		}
	}
}

// latest returns a sender's messages after their edits.
func latest(events []timelineEvent, sender string) []timelineEvent {
	var out []timelineEvent
	index := map[string]int{}
	for _, e := range events {
		if e.Sender != sender || e.Type != "m.room.message" {
			continue
		}
		relation, _ := e.Content["m.relates_to"].(map[string]any)
		fresh, _ := e.Content["m.new_content"].(map[string]any)
		target, _ := relation["event_id"].(string)
		if i, ok := index[target]; ok && fresh != nil {
			out[i].Content = fresh
			continue
		}
		index[e.ID] = len(out)
		out = append(out, e)
	}
	return out
}

func Bodies(events []timelineEvent) (out []string) {
	for _, e := range events {
		out = append(out, e.Body())
	}
	return out
}

// File returns the content of a message's encrypted file.
func (d *OlmDevice) File(e timelineEvent) []byte {
	d.h.t.Helper()
	raw, err := json.Marshal(e.Content["file"])
	Must(d.h.t, err)
	var f struct {
		enclosure.EncryptedFile
		URL string `json:"url"`
	}
	Must(d.h.t, json.Unmarshal(raw, &f))
	status, data := d.h.ask(http.MethodGet, "/_matrix/client/v1/media/download/"+strings.TrimPrefix(f.URL, "mxc://"),
		d.Token, nil)
	if status != http.StatusOK {
		d.h.t.Fatalf("file %s: %d %s", raw, status, data)
	}
	Must(d.h.t, f.PrepareForDecryption())
	Must(d.h.t, f.DecryptInPlace(data))
	return data
}

// Enclose uploads data encrypted and returns the file's description for a message.
func (d *OlmDevice) Enclose(data []byte) map[string]any {
	d.h.t.Helper()
	keys, sealed := enclosure.NewEncryptedFile(), bytes.Clone(data)
	keys.EncryptInPlace(sealed)
	var out map[string]any
	raw, err := json.Marshal(keys)
	Must(d.h.t, errors.Join(err, json.Unmarshal(raw, &out)))
	out["url"] = d.upload(sealed, "application/octet-stream")
	return out
}

// Devices returns a user's devices and their keys according to the homeserver.
func (d *OlmDevice) Devices(of string) string {
	d.h.t.Helper()
	var out struct {
		Keys map[string]map[string]struct {
			Keys map[string]string `json:"keys"`
		} `json:"device_keys"`
	}
	d.h.Call(http.MethodPost, "/_matrix/client/v3/keys/query", d.Token,
		map[string]any{"device_keys": map[string][]string{of: {}}}, &out)
	return fmt.Sprint(out.Keys[of])
}

// Session returns the id of the session that a sender last used in a room.
func (d *OlmDevice) Session(room, sender string) (last string) {
	d.h.t.Helper()
	for _, e := range d.timeline(room) {
		if e.Type == "m.room.encrypted" && e.Sender == sender {
			last, _ = e.Content["session_id"].(string)
		}
	}
	return last
}

// CrossSign creates the account's cross-signing keys, signs the device with them, and
// returns the recovery key.
func (d *OlmDevice) CrossSign() string {
	d.h.t.Helper()
	ctx := d.h.t.Context()
	name, _, _ := strings.Cut(strings.TrimPrefix(d.ID, "@"), ":")
	recovery, _, err := d.mach.GenerateAndUploadCrossSigningKeysWithPassword(ctx, PasswordOf(name), "")
	Must(d.h.t, err)
	Must(d.h.t, d.mach.SignOwnDevice(ctx, d.mach.OwnIdentity()))
	Must(d.h.t, d.mach.SignOwnMasterKey(ctx))
	return recovery
}

// Trust returns the device's trust in the device of another session of its account.
func (d *OlmDevice) Trust(other *Account) id.TrustState {
	d.h.t.Helper()
	ctx, us := d.h.t.Context(), id.UserID(other.ID)
	var me struct {
		Device id.DeviceID `json:"device_id"`
	}
	d.h.Call(http.MethodGet, "/_matrix/client/v3/account/whoami", other.Token, nil, &me)
	devices, err := d.mach.FetchKeys(ctx, []id.UserID{us}, true)
	Must(d.h.t, err)
	trust, err := d.mach.ResolveTrustContext(ctx, devices[us][me.Device])
	Must(d.h.t, err)
	return trust
}

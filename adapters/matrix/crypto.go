//go:build goolm

package matrix

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"go.mau.fi/util/dbutil"
	"go.uber.org/zap"
	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/crypto"
	olmlib "maunium.net/go/mautrix/crypto/olm"
	mevent "maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"
	"maunium.net/go/mautrix/sqlstatestore"
)

// cryptoBuilt reports whether this build can read encrypted rooms.
const cryptoBuilt = true

// olm holds the device's keys and sessions, stored in Options.CryptoDB. Each device has
// its own store there, so that a new login never uses the keys of another. The machine is used without mautrix'
// cryptohelper, which holds events that wait for their keys in memory while the token moves on, and refuses to start
// after the answer to the first upload of keys was lost.
type olm struct {
	mach  *crypto.OlmMachine
	keys  *deviceStore
	cli   *mautrix.Client
	state *sqlstatestore.SQLStateStore
	db    *dbutil.Database
	log   *zap.Logger
	key   string // the recovery key

	background sync.WaitGroup
	mu         sync.Mutex                 // held while a to-device event is made or processed
	repaired   map[id.SenderKey]time.Time // last repair of a session with a device
	asked      map[id.SessionID]time.Time // last request for keys; used by sync only

	now    func() time.Time
	look   sync.Mutex                 // guards the fields below
	backup *keyBackup                 // nil: not opened
	tried  map[id.SessionID]time.Time // last search for keys in backup
}

// openCrypto loads the device's keys, or creates and uploads them, and verifies the
// device with the recovery key. The key backup is opened when a key is missing.
func (c *Channel) openCrypto(ctx context.Context, s *session) (cryptor, error) {
	if c.opts.CryptoDB == nil {
		c.log.Warn("encrypted rooms cannot be read: no database for their keys")
		return nil, nil
	}
	o, err := c.newOlm(ctx, s)
	if err != nil {
		return nil, err
	}
	fresh, err := o.load(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.renew(ctx, o, fresh); err != nil {
		return nil, err
	}
	if err := o.verify(ctx); err != nil {
		c.log.Warn("device not verified", zap.Error(err))
	}
	return o, nil
}

func (c *Channel) newOlm(ctx context.Context, s *session) (*olm, error) {
	db, err := dbutil.NewWithDB(c.opts.CryptoDB, cmp.Or(c.opts.Dialect, "sqlite3"))
	if err != nil {
		return nil, stopError{fmt.Errorf("start matrix: %w", err)}
	}
	db.Log = failures{dbutil.NoopLogger}
	state := sqlstatestore.NewSQLStateStore(db, dbutil.NoopLogger, false)
	account := c.opts.UserID + "/" + s.cli.DeviceID.String()
	keys := &deviceStore{crypto.NewSQLCryptoStore(db, dbutil.NoopLogger, account, s.cli.DeviceID, c.opts.PickleKey),
		map[id.SenderKey]bool{}}
	if err := c.opts.MakeTables(ctx, c.opts.CryptoDB, cmp.Or(c.opts.Dialect, "sqlite3")); err != nil {
		return nil, fmt.Errorf("open the key store: %w", err)
	}
	s.cli.StateStore = state
	quiet := zerolog.Nop()
	mach := crypto.NewOlmMachine(s.cli, &quiet, keys, state)
	// A sender may be on any server, and no other server may be asked for keys while a
	// transaction waits. Devices are looked up before a message is sent to a room.
	mach.DisableDecryptKeyFetching = true
	return &olm{
		mach: mach, keys: keys, cli: s.cli, state: state, db: db, log: c.log, key: string(c.opts.RecoveryKey),
		now: c.now, tried: map[id.SessionID]time.Time{}, asked: map[id.SessionID]time.Time{},
		repaired: map[id.SenderKey]time.Time{},
	}, nil
}

var errKeysLost = errors.New(
	"start matrix: the keys of this device do not fit the server's, so its store was lost or is another's; log the device out, log in again and set the new access token (with a password, a restart does it)")

// load loads the device's keys and checks that the server has the same ones. It uploads
// those of a fresh, that is new, device.
func (o *olm) load(ctx context.Context) (fresh bool, err error) {
	if err := o.mach.Load(ctx); err != nil {
		return false, stopError{fmt.Errorf("start matrix: load the keys of this device: %w", err)}
	}
	device, _, err := o.published(ctx)
	if err != nil {
		return false, fmt.Errorf("query the device's keys: %w", err)
	}
	known := len(device.Keys) > 0
	shared := o.mach.GetAccount().Shared
	switch {
	case shared && !known, known && device.Keys.GetEd25519(o.cli.DeviceID) != o.mach.OwnIdentity().SigningKey:
		return false, stopError{errKeysLost}
	case !shared: // not uploaded, or the answer to an upload was lost
		if err := o.mach.ShareKeys(ctx, -1); err != nil {
			return false, fmt.Errorf("upload the device's keys: %w", clean(err))
		}
	}
	return !known, nil
}

func (o *olm) decrypt(ctx context.Context, room string, e event) (string, json.RawMessage, error) {
	evt, err := encrypted(room, e)
	if err != nil {
		return "", nil, err
	}
	plain, err := o.mach.DecryptMegolmEvent(ctx, evt)
	if lacksKey(err) && o.recover(ctx, evt.RoomID, evt.Content.AsEncrypted().SessionID) {
		plain, err = o.mach.DecryptMegolmEvent(ctx, evt)
	}
	if err != nil {
		return "", nil, fmt.Errorf("decrypt: %w", err)
	}
	return plain.Type.Type, plain.Content.VeryRaw, nil
}

// encrypted returns an encrypted event of a room as mautrix' own.
func encrypted(room string, e event) (*mevent.Event, error) {
	var evt mevent.Event
	err := json.Unmarshal(e.raw, &evt)
	if err == nil {
		evt.RoomID, evt.Type = id.RoomID(room), mevent.EventEncrypted
		err = evt.Content.ParseRaw(evt.Type)
	}
	if err != nil {
		return nil, fmt.Errorf("read event: %w", err)
	}
	return &evt, nil
}

// lacksKey reports whether err means that the key of an event is missing: there is none,
// it covers only later events, or another device refused to share it.
func lacksKey(err error) bool {
	return errors.Is(err, crypto.ErrNoSessionFound) || errors.Is(err, olmlib.ErrUnknownMessageIndex) ||
		errors.Is(err, crypto.ErrGroupSessionWithheld)
}

const askPause = 5 * time.Second

// ask requests the key of an event from the sender's devices and the account's other
// ones, in the background, as other servers may take long to answer.
func (o *olm) ask(ctx context.Context, room string, e event) {
	evt, err := encrypted(room, e)
	if err != nil || !due(o.asked, evt.Content.AsEncrypted().SessionID, o.now(), askPause) {
		return
	}
	c := evt.Content.AsEncrypted()
	o.background.Go(func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.meet(ctx, evt.Sender, o.cli.UserID)
		to := map[id.UserID][]id.DeviceID{evt.Sender: {"*"}, o.cli.UserID: {"*"}}
		if err := o.mach.SendRoomKeyRequest(ctx, evt.RoomID, c.SenderKey, c.SessionID, "", to); err != nil {
			o.log.Debug("key request failed", zap.Error(clean(err)))
		}
	})
}

// due reports whether the last time of k is every ago, and then replaces it by now.
func due[K comparable](last map[K]time.Time, k K, now time.Time, every time.Duration) bool {
	if now.Sub(last[k]) < every {
		return false
	}
	if len(last) > 10*maxUnread {
		clear(last)
	}
	last[k] = now
	return true
}

func (o *olm) encrypt(ctx context.Context, r room, kind string, content any) (any, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	users, err := o.introduce(ctx, r)
	if err != nil {
		return nil, err
	}
	in, as := id.RoomID(r.id), mevent.Type{Type: kind, Class: mevent.MessageEventType}
	cipher, err := o.mach.EncryptMegolmEvent(ctx, in, as, content)
	if !crypto.IsShareError(err) {
		return cipher, err
	}
	if err := o.mach.ShareGroupSession(ctx, in, users); err != nil {
		return nil, fmt.Errorf("share the key: %w", clean(err))
	}
	return o.mach.EncryptMegolmEvent(ctx, in, as, content)
}

// introduce tells the machine the members of a room, and returns them. After a change the
// next message uses a key that former members do not have.
func (o *olm) introduce(ctx context.Context, r room) (now []id.UserID, err error) {
	in := id.RoomID(r.id)
	before, err := o.state.GetRoomJoinedOrInvitedMembers(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("read members: %w", err)
	}
	var joined []*mevent.Event
	for _, user := range slices.Sorted(maps.Keys(r.members)) {
		if r.in(user) {
			now = append(now, id.UserID(user))
			joined = append(joined, &mevent.Event{StateKey: &user,
				Content: mevent.Content{Parsed: &mevent.MemberEventContent{Membership: mevent.MembershipJoin}}})
		}
	}
	if slices.Sort(before); slices.Equal(before, now) {
		return now, nil
	}
	if err := o.keys.RemoveOutboundGroupSession(ctx, in); err != nil {
		return nil, fmt.Errorf("change the key: %w", err)
	}
	algorithm := &mevent.EncryptionEventContent{Algorithm: id.AlgorithmMegolmV1}
	if err := errors.Join(o.state.SetEncryptionEvent(ctx, in, algorithm),
		o.state.ReplaceCachedMembers(ctx, in, joined)); err != nil {
		return nil, fmt.Errorf("store members: %w", err)
	}
	return now, nil
}

// close waits for background work. It leaves the database open, which is the caller's.
func (o *olm) close() { o.background.Wait() }

func (o *olm) sync(ctx context.Context, r *syncResponse, since string) error {
	o.mach.HandleDeviceLists(ctx, &r.DeviceLists, since)
	for _, raw := range r.ToDevice.Events {
		var evt mevent.Event
		if err := json.Unmarshal(raw, &evt); err != nil {
			o.log.Debug("to-device event cannot be read", zap.Error(err))
		} else if err := o.take(ctx, &evt); err != nil {
			return err
		}
	}
	o.mach.HandleOTKCounts(ctx, &r.KeyCounts)
	o.mach.MarkOlmHashSavePoint(ctx)
	return nil
}

func (o *olm) take(ctx context.Context, evt *mevent.Event) error {
	evt.Type.Class = mevent.ToDeviceEventType
	if err := evt.Content.ParseRaw(evt.Type); err != nil {
		o.log.Debug("to-device event cannot be read", zap.String("type", evt.Type.Type), zap.Error(err))
		return nil
	}
	switch content := evt.Content.Parsed.(type) {
	case *mevent.EncryptedEventContent:
		return o.unwrap(ctx, evt)
	case *mevent.RoomKeyRequestEventContent:
		o.background.Go(func() {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.mach.HandleRoomKeyRequest(ctx, evt.Sender, content)
		})
	default:
		o.mach.HandleToDeviceEvent(ctx, evt)
	}
	return nil
}

// unwrap processes an encrypted to-device event, most often a room key, and stores all changes in one transaction. The
// machine first stores that it has seen the event, and its content last. A kill in between would lose the key for good:
// the server offers the event again, and the machine would refuse it as known.
func (o *olm) unwrap(ctx context.Context, evt *mevent.Event) error {
	// Encrypting holds a lock of the machine while it waits for the store.
	o.mu.Lock()
	defer o.mu.Unlock()
	var failed error
	err := o.db.DoTxn(context.WithValue(ctx, failureKey{}, &failed), nil, func(ctx context.Context) error {
		o.mach.HandleToDeviceEvent(ctx, evt)
		return failed
	})
	if err != nil {
		return fmt.Errorf("%w: %w", errReload, err)
	}
	if c := evt.Content.AsEncrypted(); c.Algorithm == id.AlgorithmOlmV1 && !o.wasRead(ctx, c) {
		o.background.Go(func() { o.repair(ctx, evt.Sender, c.SenderKey) })
	}
	return nil
}

// wasRead reports whether an encrypted to-device event was decrypted, in which case its
// hash is stored. An event for another device counts as read.
func (o *olm) wasRead(ctx context.Context, c *mevent.EncryptedEventContent) bool {
	own, ok := c.OlmCiphertext[o.mach.OwnIdentity().IdentityKey]
	if !ok {
		return true
	}
	raw, err := base64.RawStdEncoding.DecodeString(own.Body)
	if err != nil {
		return true
	}
	at, err := o.keys.GetOlmHash(ctx, sha256.Sum256(raw))
	return err != nil || !at.IsZero()
}

type failureKey struct{}

// failures records the first failed statement of a transaction, as the machine only logs errors and continues.
type failures struct{ dbutil.DatabaseLogger }

// QueryTiming records the error of a statement. dbutil calls it after each one.
func (failures) QueryTiming(ctx context.Context, _, _ string, _ []any, _ int, _ time.Duration, err error) {
	if failed, ok := ctx.Value(failureKey{}).(*error); ok && err != nil && *failed == nil {
		*failed = err
	}
}

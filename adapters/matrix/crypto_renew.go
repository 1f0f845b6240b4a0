//go:build goolm

package matrix

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"go.uber.org/zap"
	"maunium.net/go/mautrix/crypto"
	mevent "maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"
)

// anchor is the room of a key that nothing is ever written with. A restore forgets
// the keys that rooms are written to with, this one too: where none is left, the
// store is older than what the homeserver and other devices have of it.
const anchor = id.RoomID("everthread:anchor")

// deviceStore is a device's store. Sessions with other devices from before the store
// was renewed still read, but do not write: the others have seen them go on. Making
// and taking events to devices require olm.mu.
type deviceStore struct {
	*crypto.SQLCryptoStore
	wanted map[id.SenderKey]bool // devices with which a session is to be made, though there is one
}

// HasSession reports whether there is a session to write to a device with.
func (d *deviceStore) HasSession(ctx context.Context, key id.SenderKey) bool {
	s, err := d.GetLatestSession(ctx, key)
	return err == nil && s != nil && !d.wanted[key]
}

// AddSession keeps a new session.
func (d *deviceStore) AddSession(ctx context.Context, key id.SenderKey, s *crypto.OlmSession) error {
	err := d.SQLCryptoStore.AddSession(ctx, key, s)
	if err == nil {
		delete(d.wanted, key)
	}
	return err
}

// GetNewestSessionCreationTS says that a session was just made, whatever is true.
// Only who makes new ones asks, when an event could not be read, and would do so
// beside us: while it keeps one it waits for the store, and has those wait that the
// store waits for. See olm.repair.
func (d *deviceStore) GetNewestSessionCreationTS(context.Context, id.SenderKey) (time.Time, error) {
	return time.Now(), nil
}

// GetLatestSession returns the session to write to a device with, or nil.
func (d *deviceStore) GetLatestSession(ctx context.Context, key id.SenderKey) (*crypto.OlmSession, error) {
	all, err := d.GetSessions(ctx, key) // the last that was read with comes first
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if s.CreationTime.After(retired()) {
			return s, nil
		}
	}
	return nil, nil
}

// retired is when sessions say they were made that do not write any more.
func retired() time.Time { return time.Unix(0, 0).UTC().AddDate(1, 0, 0) }

// renew makes a store good that was restored: rooms and devices are written to with
// new keys, and the one-time keys on the server are ones whose secret halves are
// here. A process that dies over it begins again. fresh: the device is a new one.
func (c *Channel) renew(ctx context.Context, o *olm, fresh bool) error {
	left := 0
	err := o.db.QueryRow(ctx, `SELECT COUNT(*) FROM crypto_megolm_outbound_session WHERE account_id = $1`,
		o.keys.AccountID).Scan(&left)
	if err != nil {
		return fmt.Errorf("read the keys of rooms: %w", err)
	}
	if left == 0 && !fresh {
		if err := o.retire(ctx); err != nil {
			return err
		}
		if err := o.mach.RepairOneTimeKeys(ctx); err != nil {
			return fmt.Errorf("renew the one-time keys: %w", clean(err))
		}
		if err := c.keepRenewal(ctx); err != nil {
			return err
		}
		c.log.Info("the keys come from a backup: rooms are written to with new ones, and what cannot be read is asked for")
	}
	there, err := o.keys.GetOutboundGroupSession(ctx, anchor)
	if err == nil && there == nil {
		if there, err = crypto.NewOutboundGroupSession(anchor, nil, nil); err == nil {
			err = o.keys.AddOutboundGroupSession(ctx, there)
		}
	}
	if err != nil {
		return fmt.Errorf("keep that the keys are renewed: %w", err)
	}
	return nil
}

// retire has nothing be written over the sessions with devices that are there.
func (o *olm) retire(ctx context.Context) error {
	if _, err := o.db.Exec(ctx, `UPDATE crypto_olm_session SET created_at = $1 WHERE account_id = $2`,
		time.Unix(0, 0).UTC(), o.keys.AccountID); err != nil {
		return fmt.Errorf("retire the sessions with devices: %w", err)
	}
	return nil
}

// behind forgets the keys of rooms, as a restore does, so that the next cryptor
// renews the store.
func (o *olm) behind(ctx context.Context) error {
	if _, err := o.db.Exec(ctx, `DELETE FROM crypto_megolm_outbound_session WHERE account_id = $1`,
		o.keys.AccountID); err != nil {
		return fmt.Errorf("forget the keys of rooms: %w", err)
	}
	return nil
}

// foreign reports whether an event of ours was written with keys of this device that
// this store does not have, or with a place of theirs that it has not come to. err
// is what came of decrypting it.
func (o *olm) foreign(ctx context.Context, room string, e event, err error) bool {
	var content mevent.EncryptedEventContent
	if json.Unmarshal(e.Content, &content) != nil || content.SenderKey != o.mach.OwnIdentity().IdentityKey {
		return false
	}
	if err != nil {
		return lacksKey(err)
	}
	key, err := o.mach.CryptoStore.GetOutboundGroupSession(ctx, id.RoomID(room))
	if err != nil || key == nil || key.ID() != content.SessionID {
		return false
	}
	place, err := crypto.ParseMegolmMessageIndex(content.MegolmCiphertext)
	return err == nil && place >= key.Internal.MessageIndex()
}

// meet has the devices of users write to us over sessions that are here. It is for
// those whose keys could not be read, and harmless if it is done again.
func (o *olm) meet(ctx context.Context, users ...id.UserID) {
	for _, user := range users {
		devices, err := o.keys.GetDevices(ctx, user)
		if err == nil && len(devices) == 0 {
			devices = o.mach.LoadDevices(ctx, user)
		}
		for _, d := range devices {
			if us := d.UserID == o.cli.UserID && d.DeviceID == o.cli.DeviceID; !us && !o.met(ctx, d.IdentityKey) {
				o.greet(ctx, d)
			}
		}
	}
}

// met reports whether a device has written over the session with which it is written to.
func (o *olm) met(ctx context.Context, key id.SenderKey) bool {
	s, err := o.keys.GetLatestSession(ctx, key)
	return err == nil && s != nil && s.Internal.HasReceivedMessage()
}

// greet shows a device the session with which it is written to, and makes one if
// there is none. The device writes over it from then on.
func (o *olm) greet(ctx context.Context, d *id.Device) {
	if err := o.mach.SendEncryptedToDevice(ctx, d, mevent.ToDeviceDummy, mevent.Content{}); err != nil {
		o.log.Debug("begin again with a device", zap.Error(clean(err)))
	}
}

// repairEvery is how often a session is made again with the same device.
const repairEvery = time.Hour

// repair begins again with a device whose event could not be read: what it wrote
// with is not here, as after a restore.
func (o *olm) repair(ctx context.Context, user id.UserID, key id.SenderKey) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.now().Sub(o.repaired[key]) < repairEvery {
		return
	}
	if len(o.repaired) > 10*maxUnread {
		clear(o.repaired)
	}
	o.repaired[key] = o.now()
	d, err := o.mach.GetOrFetchDeviceByKey(ctx, user, key)
	if err != nil || d == nil {
		o.log.Debug("look for a device", zap.Error(clean(err)))
		return
	}
	if o.met(ctx, key) {
		o.keys.wanted[key] = true
	}
	o.greet(ctx, d)
}

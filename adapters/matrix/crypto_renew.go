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

// anchor is the room of a key that encrypts nothing. A restore deletes the keys that encrypt messages to rooms,
// including this one. If none is left, the store is older than the state that the homeserver and other devices have.
const anchor = id.RoomID("everthread:anchor")

// deviceStore is a device's store. Making and processing to-device events require olm.mu.
type deviceStore struct {
	*crypto.SQLCryptoStore
	wanted map[id.SenderKey]bool // devices that need a new session although there is one
}

// HasSession reports whether there is a session that encrypts for a device.
func (d *deviceStore) HasSession(ctx context.Context, key id.SenderKey) bool {
	return !d.wanted[key] && d.SQLCryptoStore.HasSession(ctx, key)
}

// AddSession stores a new session.
func (d *deviceStore) AddSession(ctx context.Context, key id.SenderKey, s *crypto.OlmSession) error {
	err := d.SQLCryptoStore.AddSession(ctx, key, s)
	if err == nil {
		delete(d.wanted, key)
	}
	return err
}

// GetNewestSessionCreationTS always returns the present time. Only the machine's own repair of sessions calls it, after
// an event that could not be read, and must not run: it would wait for the store while it blocks those for whom the
// store waits. olm.repair replaces it.
func (d *deviceStore) GetNewestSessionCreationTS(context.Context, id.SenderKey) (time.Time, error) {
	return time.Now(), nil
}

// renew repairs a restored store. Sessions with devices are replaced, as the devices have seen later states of them,
// and the one-time keys on the server are replaced by ones whose private keys are in the store.
// If the process dies, the next one repeats it. fresh: the device is new.
func (c *Channel) renew(ctx context.Context, o *olm, fresh bool) error {
	left := 0
	err := o.db.QueryRow(ctx, `SELECT COUNT(*) FROM crypto_megolm_outbound_session WHERE account_id = $1`,
		o.keys.AccountID).Scan(&left)
	if err != nil {
		return fmt.Errorf("read the room keys: %w", err)
	}
	if left == 0 && !fresh {
		if _, err := o.db.Exec(ctx, `DELETE FROM crypto_olm_session WHERE account_id = $1`, o.keys.AccountID); err != nil {
			return fmt.Errorf("end the sessions with devices: %w", err)
		}
		if err := o.mach.RepairOneTimeKeys(ctx); err != nil {
			return fmt.Errorf("renew the one-time keys: %w", clean(err))
		}
		if err := c.keepRenewal(ctx); err != nil {
			return err
		}
		c.log.Info("key store restored from a backup: new room keys are in use, and missing ones are requested")
	}
	there, err := o.keys.GetOutboundGroupSession(ctx, anchor)
	if err == nil && there == nil {
		if there, err = crypto.NewOutboundGroupSession(anchor, nil, nil); err == nil {
			err = o.keys.AddOutboundGroupSession(ctx, there)
		}
	}
	if err != nil {
		return fmt.Errorf("record that the keys are renewed: %w", err)
	}
	return nil
}

// behind deletes the room keys, as a restore does, so that the next cryptor renews the store.
func (o *olm) behind(ctx context.Context) error {
	if _, err := o.db.Exec(ctx, `DELETE FROM crypto_megolm_outbound_session WHERE account_id = $1`,
		o.keys.AccountID); err != nil {
		return fmt.Errorf("delete the room keys: %w", err)
	}
	return nil
}

// foreign reports whether an event of the account was encrypted with keys of this device that the store does not have,
// or at an index that it has not reached. err is the result of decrypting it.
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

// meet has the devices of users use sessions that are in the store, for the answers to requests.
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

// met reports whether a device has used the session that encrypts for it.
func (o *olm) met(ctx context.Context, key id.SenderKey) bool {
	s, err := o.keys.GetLatestSession(ctx, key)
	return err == nil && s != nil && s.Internal.HasReceivedMessage()
}

// greet sends a device an event over the session that encrypts for it, or over a new
// one. The device uses that session from then on.
func (o *olm) greet(ctx context.Context, d *id.Device) {
	if err := o.mach.SendEncryptedToDevice(ctx, d, mevent.ToDeviceDummy, mevent.Content{}); err != nil {
		o.log.Debug("event to a device not sent", zap.Error(clean(err)))
	}
}

const repairEvery = time.Hour

// repair makes a new session with a device whose event could not be read.
func (o *olm) repair(ctx context.Context, user id.UserID, key id.SenderKey) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !due(o.repaired, key, o.now(), repairEvery) {
		return
	}
	d, err := o.mach.GetOrFetchDeviceByKey(ctx, user, key)
	if err != nil || d == nil {
		o.log.Debug("device not found", zap.Error(clean(err)))
		return
	}
	o.keys.wanted[key] = true
	o.greet(ctx, d)
}

//go:build goolm

package matrix

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"go.mau.fi/util/dbutil"
	"go.uber.org/zap"
	"maunium.net/go/mautrix"
	mevent "maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"
)

func (o *olm) sync(ctx context.Context, r *syncResponse, since string) error {
	raw, err := json.Marshal(map[string]json.RawMessage{
		"to_device": orEmpty(r.ToDevice), "device_lists": orEmpty(r.DeviceLists),
		"device_one_time_keys_count": orEmpty(r.KeyCounts),
	})
	if err != nil {
		return fmt.Errorf("read keys: %w", err)
	}
	var resp mautrix.RespSync
	if err := json.Unmarshal(raw, &resp); err != nil {
		o.log.Warn("keys in a sync cannot be read", zap.Error(err))
		return nil
	}
	events := resp.ToDevice.Events
	resp.ToDevice.Events = nil
	o.mach.HandleDeviceLists(ctx, &resp.DeviceLists, since)
	for _, evt := range events {
		if err := o.take(ctx, evt); err != nil {
			return err
		}
	}
	o.mach.ProcessSyncResponse(ctx, &resp, since)
	return nil
}

func orEmpty(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}

// take processes a to-device event.
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

// unwrap processes an encrypted to-device event, most often a room key, and stores all
// changes in one transaction. The machine first stores that it has seen the event, and
// its content last. A kill in between would lose the key for good: the server offers the
// event again, and the machine would refuse it as known.
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

// failures records the first failed statement of a transaction, as the machine only logs
// errors and continues.
type failures struct{ dbutil.DatabaseLogger }

// QueryTiming records the error of a statement. dbutil calls it after each one.
func (failures) QueryTiming(ctx context.Context, _, _ string, _ []any, _ int, _ time.Duration, err error) {
	if failed, ok := ctx.Value(failureKey{}).(*error); ok && err != nil && *failed == nil {
		*failed = err
	}
}

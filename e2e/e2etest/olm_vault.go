//go:build e2e && goolm

package e2etest

import (
	"encoding/base64"
	"encoding/json"
	"time"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/crypto"
	"maunium.net/go/mautrix/crypto/backup"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"
)

// vault is the key backup of an account.
type vault struct {
	d       *OlmDevice
	key     *backup.MegolmBackupKey
	version id.KeyBackupVersion
}

// Vault creates a key backup, and stores its key under the recovery key.
func (d *OlmDevice) Vault(recovery string) *vault {
	d.h.t.Helper()
	t, ctx := d.h.t, d.h.t.Context()
	key, err := backup.NewMegolmBackupKey()
	Must(t, err)
	name, data, err := d.mach.SSSS.GetDefaultKeyData(ctx)
	Must(t, err)
	storage, err := data.VerifyRecoveryKey(name, recovery)
	Must(t, err)
	Must(t, d.mach.SSSS.SetEncryptedAccountData(ctx, event.AccountDataMegolmBackupKey, key.Bytes(), storage))
	auth := backup.MegolmAuthData{PublicKey: id.Ed25519(base64.RawStdEncoding.EncodeToString(key.PublicKey().Bytes()))}
	made, err := d.cli.CreateKeyBackupVersion(ctx,
		&mautrix.ReqRoomKeysVersionCreate[backup.MegolmAuthData]{Algorithm: id.KeyBackupAlgorithmMegolmBackupV1,
			AuthData: auth})
	Must(t, err)
	return &vault{d: d, key: key, version: made.Version}
}

// Put backs up the keys of messages in a room, when the device has received them.
func (v *vault) Put(room, session string) {
	v.d.h.t.Helper()
	t, ctx := v.d.h.t, v.d.h.t.Context()
	var keys *crypto.InboundGroupSession
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		var err error
		keys, err = v.d.mach.CryptoStore.GetGroupSession(ctx, id.RoomID(room), id.SessionID(session))
		if Must(t, err); keys != nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the keys of messages in %s did not arrive", room)
		}
		v.d.Sync()
	}
	exported, err := keys.Internal.Export(0)
	Must(t, err)
	sealed, err := backup.EncryptSessionData(v.key, backup.MegolmSessionData{Algorithm: id.AlgorithmMegolmV1,
		ForwardingKeyChain: []string{}, SenderClaimedKeys: backup.SenderClaimedKeys{Ed25519: keys.SigningKey},
		SenderKey: keys.SenderKey, SessionKey: string(exported)})
	Must(t, err)
	raw, err := json.Marshal(sealed)
	Must(t, err)
	_, err = v.d.cli.PutKeysInBackupForRoomAndSession(ctx, v.version, id.RoomID(room), id.SessionID(session),
		&mautrix.ReqKeyBackupData{SessionData: raw, IsVerified: true})
	Must(t, err)
}

//go:build goolm

package matrix

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"go.uber.org/zap"
	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/crypto/backup"
	"maunium.net/go/mautrix/crypto/signatures"
	"maunium.net/go/mautrix/crypto/ssss"
	mevent "maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"

	"github.com/everthread/everthread/core/text/i18n"
)

// published returns the device's keys and the account's cross-signing keys as the server publishes them.
func (o *olm) published(ctx context.Context) (mautrix.DeviceKeys, *mautrix.RespQueryKeys, error) {
	resp, err := o.cli.QueryKeys(ctx,
		&mautrix.ReqQueryKeys{DeviceKeys: map[id.UserID]mautrix.DeviceIDList{o.cli.UserID: {o.cli.DeviceID}}})
	if err != nil {
		return mautrix.DeviceKeys{}, nil, clean(err)
	}
	return resp.DeviceKeys[o.cli.UserID][o.cli.DeviceID], resp, nil
}

// standing reports whether the account has published cross-signing keys, and whether they have signed this device.
func (o *olm) standing(ctx context.Context) (has, verified bool, err error) {
	device, resp, err := o.published(ctx)
	if err != nil {
		return false, false, err
	}
	us := o.cli.UserID
	main, signer := resp.MasterKeys[us], resp.SelfSigningKeys[us]
	mainKey, signerKey := main.FirstKey(), signer.FirstKey()
	if mainKey == "" || signerKey == "" {
		return false, false, nil
	}
	return true, signed(signer, us, mainKey) && signed(device, us, signerKey), nil
}

// signed reports whether key has signed an object of the user us.
func signed(object any, us id.UserID, key id.Ed25519) bool {
	ok, err := signatures.VerifySignatureJSON(object, us, key.String(), key)
	return ok && err == nil
}

// verify signs the device with the account's cross-signing keys, so that clients continue to encrypt for it.
func (o *olm) verify(ctx context.Context) error {
	has, verified, err := o.standing(ctx)
	if err != nil || verified {
		return err
	}
	if !has || o.key == "" {
		text, _ := o.status(ctx, &say(i18n.English).Findings)
		return errors.New(text)
	}
	if err := o.mach.VerifyWithRecoveryKey(ctx, o.key); err != nil {
		return fmt.Errorf("verify with the recovery key: %w", clean(err))
	}
	if _, verified, err = o.standing(ctx); err == nil && !verified {
		err = errors.New("the recovery key opens old cross-signing keys; set channels.matrix.recovery_key to the present one")
	}
	if err != nil {
		return err
	}
	o.log.Info("device verified")
	return nil
}

type keyBackup struct {
	version id.KeyBackupVersion
	key     *backup.MegolmBackupKey
	opened  time.Time
}

var errNoBackup = errors.New("the account has no key backup")

// storage opens the account's secret storage with the recovery key.
func (o *olm) storage(ctx context.Context) (*ssss.Key, error) {
	name, data, err := o.mach.SSSS.GetDefaultKeyData(ctx)
	if err != nil {
		return nil, fmt.Errorf("find the secret storage: %w", clean(err))
	}
	key, err := data.VerifyRecoveryKey(name, o.key)
	if err != nil && !errors.Is(err, ssss.ErrUnverifiableKey) {
		return nil, fmt.Errorf("open the secret storage: %w", err)
	}
	return key, nil
}

// openBackup opens the present key backup, or returns errNoBackup.
func (o *olm) openBackup(ctx context.Context) (*keyBackup, error) {
	key, err := o.storage(ctx)
	if err != nil {
		return nil, err
	}
	secret, err := o.mach.SSSS.GetDecryptedAccountData(ctx, mevent.AccountDataMegolmBackupKey, key)
	if missing(clean(err)) {
		return nil, errNoBackup
	}
	if err != nil {
		return nil, fmt.Errorf("find the backup's key: %w", clean(err))
	}
	unlock, err := backup.MegolmBackupKeyFromBytes(secret)
	if err != nil {
		return nil, fmt.Errorf("read the backup's key: %w", err)
	}
	version, err := o.mach.GetAndVerifyLatestKeyBackupVersion(ctx, unlock)
	if missing(clean(err)) {
		return nil, errNoBackup
	}
	if err != nil {
		return nil, fmt.Errorf("read the backup: %w", clean(err))
	}
	return &keyBackup{version: version.Version, key: unlock, opened: o.now()}, nil
}

func missing(err error) bool {
	e := refused(err)
	return e != nil && e.Status == http.StatusNotFound
}

// Intervals at which the backup is searched for the same keys, and opened again, as another may have replaced it.
const recoverEvery, reopenEvery = time.Minute, 10 * time.Minute

// recover fetches missing keys from the key backup, and reports whether it had them.
func (o *olm) recover(ctx context.Context, room id.RoomID, session id.SessionID) bool {
	o.look.Lock()
	defer o.look.Unlock()
	if o.key == "" || !due(o.tried, session, o.now(), recoverEvery) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := o.fetch(ctx, room, session)
	if err != nil {
		o.log.Debug("key not found in the key backup", zap.Error(err))
	}
	return err == nil
}

func (o *olm) fetch(ctx context.Context, room id.RoomID, session id.SessionID) error {
	if o.backup == nil || o.now().Sub(o.backup.opened) > reopenEvery {
		const itself = "" // key of the backup itself in tried
		if !due(o.tried, itself, o.now(), recoverEvery) {
			return errNoBackup
		}
		var err error
		if o.backup, err = o.openBackup(ctx); err != nil {
			return err
		}
	}
	found, err := o.cli.GetKeyBackupForRoomAndSession(ctx, o.backup.version, room, session)
	if err != nil {
		return clean(err)
	}
	data, err := found.SessionData.Decrypt(o.backup.key)
	if err != nil {
		return fmt.Errorf("read a key of the backup: %w", err)
	}
	_, err = o.mach.ImportRoomKeyFromBackup(ctx, o.backup.version, room, session, data)
	return err
}

// cryptoStatus describes the state of the device; false: it needs attention. It only
// reads the device's keys, as the process that runs the account may be using them.
func (c *Channel) cryptoStatus(ctx context.Context, s *session, w *findings) (string, bool) {
	o, err := c.newOlm(ctx, s)
	if err == nil {
		err = o.mach.Load(ctx)
	}
	if err != nil {
		return fmt.Sprintf(w.KeysUnreadable, err), false
	}
	if !o.mach.GetAccount().Shared {
		return w.KeysLater, true
	}
	return o.status(ctx, w)
}

func (o *olm) status(ctx context.Context, w *findings) (string, bool) {
	has, verified, err := o.standing(ctx)
	switch {
	case err != nil:
		return fmt.Sprintf(w.SigningUnread, err), false
	case verified:
		return o.backupStatus(ctx, w)
	case !has:
		return w.SigningNone, false
	case o.key == "":
		return w.NotVerified, false
	}
	if _, err := o.storage(ctx); err != nil {
		return fmt.Sprintf(w.RecoveryWrong, err), false
	}
	return w.NotVerifiedYet, false
}

// backupStatus describes the state of a verified device and its key backup.
func (o *olm) backupStatus(ctx context.Context, w *findings) (string, bool) {
	if o.key == "" {
		return w.Verified, true
	}
	switch _, err := o.openBackup(ctx); {
	case errors.Is(err, errNoBackup):
		return w.BackupNone, true
	case err != nil:
		return fmt.Sprintf(w.BackupClosed, err), false
	}
	return w.BackupGood, true
}

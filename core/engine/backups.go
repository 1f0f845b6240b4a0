package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/robfig/cron/v3"
	"go.uber.org/zap"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/archive/backup"
	"github.com/everthread/everthread/core/archive/backup/place"
	"github.com/everthread/everthread/core/chat/gateway"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/text/markup"
	"github.com/everthread/everthread/core/trust/egress"
)

// BackupDir returns the folder of the backups.
func BackupDir(c configs.Config) string {
	if c.Backup.Dir != "" {
		return c.Backup.Dir
	}
	return filepath.Join(c.DataDir, "backups")
}

// stall is how long a transfer to or from elsewhere may be without progress.
const stall = 3 * time.Minute

// NewElsewhere returns where backups are put besides; nil: nowhere. It reaches nothing yet. Errors name the key.
func NewElsewhere(c configs.Config, way *egress.Gate, now func() time.Time, crash core.Crash) (*backup.Elsewhere, error) {
	b := c.Backup
	if b.To == "" {
		return nil, nil
	}
	p, err := place.Open(place.Options{Address: b.To, User: b.User, Password: string(b.Password), Region: b.Region,
		Client: way.Client, Ours: backup.IsOurs, Stall: stall, Now: now, Wait: job.Wait})
	if err != nil {
		return nil, fmt.Errorf("backup.to: %w", err)
	}
	to, err := backup.Recipients(b.EncryptTo, string(b.Passphrase))
	if err != nil {
		key := "encrypt_to"
		if b.Passphrase != "" {
			key = "passphrase"
		}
		return nil, fmt.Errorf("backup.%s: %w", key, err)
	}
	return &backup.Elsewhere{Place: p, Recipients: to, Keep: b.Keep, Wait: job.Wait, Progress: func(int64) {},
		Crash: crash.At}, nil
}

// The state that stores the times of scheduled backups, for all processes.
const (
	backupState  = "backup"
	backupMade   = "made"   // when the last one was made
	backupSent   = "sent"   // the name of the newest that is elsewhere
	backupTo     = "to"     // where
	backupFailed = "failed" // since when it cannot be put there
	backupWhy    = "why"    // the last error of that

	backupRetry = 15 * time.Minute
	sendRetry   = 4 * time.Hour // at most, between two tries to put one elsewhere
	sendTell    = 6 * time.Hour // how long that fails before the owner is told, unless only the owner can help
)

// backups makes scheduled backups, and puts the newest elsewhere.
type backups struct {
	*Process
	maker     *backup.Maker     // nil: none is made
	elsewhere *backup.Elsewhere // nil: nowhere
	meter     core.Counter
	tell      func(ctx context.Context, once, cause string) error
	next      time.Time // of a retry
	send      time.Time // likewise, of putting one elsewhere
	pause     time.Duration
}

// run makes a backup if one is due, and puts the newest elsewhere if it is not there, in one process at a time. It
// retries what failed: a backup after backupRetry, and putting it elsewhere after that, twice that, and so on.
func (b *backups) run(ctx context.Context) error {
	if b.maker == nil || b.Config.Backup.Cron == "" && b.elsewhere == nil {
		return nil
	}
	return b.While(ctx, "backup", func(ctx context.Context) error {
		return errors.Join(b.due(ctx), b.dueElsewhere(ctx))
	})
}

func (b *backups) due(ctx context.Context) error {
	if b.Config.Backup.Cron == "" || b.Now().Before(b.next) {
		return nil
	}
	_, due, err := BackupTimes(ctx, b.Config, b.Store)
	now := b.Now()
	if err != nil || now.Before(due) {
		return err
	}
	made, err := b.make(ctx)
	if err != nil {
		b.next = b.Now().Add(backupRetry)
		b.meter.Count("everthread_backups_total", 1, "failed")
		return err
	}
	b.meter.Count("everthread_backups_total", 1, "made")
	err = b.Store.SetState(ctx, backupState, map[string]string{backupMade: strconv.FormatInt(now.UnixMilli(), 10)},
		store.Fence{})
	if err == nil {
		b.Log.Info("backup made", made...)
	}
	return err
}

// make makes a backup, and returns the fields of its log entry.
func (b *backups) make(ctx context.Context) ([]zap.Field, error) {
	dir := BackupDir(b.Config)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the backups: %w", err)
	}
	began := b.Now()
	res, err := b.maker.Make(ctx, dir, b.Config.Backup.Keep)
	return []zap.Field{zap.String("file", res.File), zap.Int64("bytes", res.Size),
		zap.Duration("took", b.Now().Sub(began)), zap.Strings("removed", res.Removed)}, err
}

// dueElsewhere puts the newest backup elsewhere, if it is not there.
func (b *backups) dueElsewhere(ctx context.Context) error {
	if b.elsewhere == nil || b.Now().Before(b.send) {
		return nil
	}
	s, err := ReadElsewhere(ctx, b.Config, b.Store)
	if err != nil || s.Waiting == "" {
		return err
	}
	began := b.Now()
	sent, err := b.elsewhere.Send(ctx, filepath.Join(BackupDir(b.Config), s.Waiting))
	if sent.Name == "" {
		return b.unsent(ctx, s, err)
	}
	b.pause, b.send = 0, time.Time{}
	b.meter.Count("everthread_backups_total", 1, "sent")
	log := b.Log.Info
	if !sent.Encrypted {
		log = b.Log.Warn
	}
	log("backup put elsewhere", zap.String("to", sent.To), zap.String("file", sent.Name), zap.Int64("bytes", sent.Size),
		zap.Bool("encrypted", sent.Encrypted), zap.Duration("took", b.Now().Sub(began)), zap.Strings("removed", sent.Removed))
	return errors.Join(err, NoteSent(ctx, b.Config, b.Store, s.Waiting))
}

// unsent notes that a backup could not be put elsewhere, and tells the owner once.
func (b *backups) unsent(ctx context.Context, s Elsewhere, cause error) error {
	if ctx.Err() != nil {
		return nil // the process ends
	}
	b.pause = min(max(backupRetry, 2*b.pause), sendRetry)
	now := b.Now()
	b.send = now.Add(b.pause)
	b.meter.Count("everthread_backups_total", 1, "unsent")
	if s.Failed.IsZero() {
		s.Failed = now
	}
	why := text.Shorten(configs.Redact(cause.Error()), 500)
	err := b.Store.SetState(ctx, backupState, map[string]string{
		backupFailed: strconv.FormatInt(s.Failed.UnixMilli(), 10), backupWhy: why}, store.Fence{})
	if err == nil && (place.Final(cause) || now.Sub(s.Failed) >= sendTell) {
		err = b.tell(ctx, "backup elsewhere:"+strconv.FormatInt(s.Failed.UnixMilli(), 10), why)
	}
	return errors.Join(cause, err)
}

// Elsewhere is what is known of the backups elsewhere without asking there.
type Elsewhere struct {
	Sent    string    // the name of the newest that was put there, as it is called here
	Waiting string    // of the newest one here, if it is not there; empty: it is, or there is none
	Failed  time.Time // since when it cannot be put there
	Why     string
}

// ReadElsewhere returns what is known of the backups elsewhere.
func ReadElsewhere(ctx context.Context, c configs.Config, st store.StateStore) (s Elsewhere, err error) {
	values, err := st.States(ctx, backupState)
	if err != nil {
		return s, err
	}
	s.Why = values[backupWhy]
	if values[backupTo] == c.Backup.To {
		s.Sent = values[backupSent]
	}
	if since, err := strconv.ParseInt(values[backupFailed], 10, 64); err == nil {
		s.Failed = time.UnixMilli(since)
	}
	here, err := backup.List(BackupDir(c))
	if err == nil && len(here) > 0 && backup.After(here[len(here)-1].Name, s.Sent) {
		s.Waiting = here[len(here)-1].Name
	}
	return s, err
}

// NoteSent notes that a backup is elsewhere.
func NoteSent(ctx context.Context, c configs.Config, st store.StateStore, name string) error {
	return st.SetState(ctx, backupState, map[string]string{backupSent: filepath.Base(name), backupTo: c.Backup.To,
		backupFailed: "", backupWhy: ""}, store.Fence{})
}

// backupTexts are what the owner is told.
type backupTexts struct {
	Unsent string // why
}

var sayOfBackups = i18n.In[backupTexts]("backup")

// unsentTeller returns what tells the owner, once for each name in once, that backups cannot be put elsewhere.
func (e *Engine) unsentTeller(planner gateway.Planner) func(ctx context.Context, once, cause string) error {
	return func(ctx context.Context, once, cause string) error {
		owner, err := e.People.Owner(ctx)
		if errors.Is(err, core.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		targets, err := planner.Plan(ctx, owner, false)
		if err != nil {
			return err
		}
		language := owner.Settings.Language
		if language == "" {
			language = e.Config.DefaultLanguage
		}
		now, said := e.Now(), fmt.Sprintf(sayOfBackups(language).Unsent, text.Shorten(markup.Plain(cause), 300))
		n := store.Note{User: owner.ID, Once: once, Now: now, Messages: []core.NewMessage{{Role: core.RoleAssistant,
			Kind: core.KindNotice, Text: said, Tokens: e.Tokens.Count(said), SentAt: now, Rings: core.Unreached(targets)}}}
		for _, to := range targets {
			parts := markup.Parts(said, e.Channels.Capabilities(to.Identity.Address.Channel))
			n.Deliveries = append(n.Deliveries, to.Delivery(core.DeliverNotice, parts))
		}
		_, err = e.Store.Note(ctx, n)
		return err
	}
}

// BackupTimes returns the time of the last scheduled backup, zero for none, and when the next one is due.
func BackupTimes(ctx context.Context, c configs.Config, st store.StateStore) (last, due time.Time, err error) {
	schedule, err := cron.ParseStandard("CRON_TZ=" + c.DefaultTimezone + " " + c.Backup.Cron)
	if err != nil {
		return last, due, fmt.Errorf("backup.cron: %w", err)
	}
	text, err := st.State(ctx, backupState, backupMade)
	if err != nil {
		return last, due, err
	}
	if made, err := strconv.ParseInt(text, 10, 64); err == nil {
		last = time.UnixMilli(made)
	}
	return last, schedule.Next(time.UnixMilli(max(0, last.UnixMilli()))), nil
}

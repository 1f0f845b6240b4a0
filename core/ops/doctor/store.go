package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/archive/backup"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/ops/disk"
	"github.com/everthread/everthread/core/store"
)

// Limits of backups: how long a new gateway may be without one, how old one made by hand
// may be, and how late a scheduled one.
const (
	backupGrace = 24 * time.Hour
	backupOld   = 8 * 24 * time.Hour
	backupLate  = time.Hour
)

// backups checks that there is a backup which is new enough.
func (e *examination) backups(ctx context.Context) {
	const check = "backups"
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	since := e.begun(ctx)
	if since.IsZero() {
		return // reported already, or there is nothing to lose
	}
	dir, now := engine.BackupDir(e.Config), e.Now()
	newest, err := backup.Newest(dir)
	switch {
	case err != nil && !errors.Is(err, os.ErrPermission):
		e.problem(check, e.BackupUnreadable, disk.Cause(err), dir)
	case e.Config.Backup.Cron != "":
		e.schedule(ctx, newest, since, now)
	case now.Sub(newest) < backupOld:
		e.fine(check, e.BackupByHand, at(newest), e.BackupHow)
	case e.Config.DatabaseURL != "":
		e.fine(check, e.BackupServer, e.Config.DataDir, e.BackupHow)
	case now.Sub(since) < backupGrace:
		e.none(check, e.BackupNone, e.BackupHow)
	case newest.IsZero():
		e.problem(check, e.BackupNever, dir, e.BackupHow)
	default:
		e.problem(check, e.BackupOld, at(newest), e.BackupHow)
	}
}

// schedule checks that the last scheduled backup was made.
func (e *examination) schedule(ctx context.Context, newest, since, now time.Time) {
	const check = "backups"
	last, due, err := engine.BackupTimes(ctx, e.Config, e.store)
	if st, ok := e.store.(interface {
		Tools(ctx context.Context) error
	}); ok && err == nil {
		err = st.Tools(ctx) // that make the backup of a server
	}
	if err != nil {
		e.verdict(check, err, "")
		return
	}
	if last.IsZero() { // the first one is due immediately
		due = since
	}
	what := e.BackupNoneMade
	if !newest.IsZero() {
		what = fmt.Sprintf(e.BackupNewest, at(newest))
	}
	switch {
	case now.Sub(due) > backupLate:
		e.problem(check, e.BackupDue, what, at(due), engine.BackupDir(e.Config))
	case newest.IsZero():
		e.fine(check, e.BackupFirst)
	case e.Config.Backup.Dir == "":
		e.fine(check, "%s", what+e.BackupBeside)
	default:
		e.fine(check, "%s", what)
	}
}

// elsewhere checks that backups are put elsewhere, and whether they are encrypted. It asks there.
func (e *examination) elsewhere(ctx context.Context) { e.askElsewhere(ctx, true) }

// knownElsewhere is elsewhere by what the gateway noted.
func (e *examination) knownElsewhere(ctx context.Context) { e.askElsewhere(ctx, false) }

func (e *examination) askElsewhere(ctx context.Context, ask bool) {
	const check = "backups elsewhere"
	there, err := engine.NewElsewhere(e.Config, engine.WayOut(e.Config), e.Now, nil)
	if err == nil && there == nil {
		return
	}
	var known engine.Elsewhere
	if err == nil && e.schema {
		known, err = engine.ReadElsewhere(ctx, e.Config, e.store)
	}
	var all []backup.Stored
	switch {
	case err != nil:
	case ask:
		all, err = there.List(ctx)
	default:
		if s, ok := backup.Named(known.Sent, 0); ok {
			all = []backup.Stored{s}
		}
	}
	if err != nil {
		e.problem(check, "%s", err.Error())
		return
	}
	e.newestElsewhere(there.Place.String(), known, all)
	switch remote := strings.Contains(e.Config.Backup.To, "://"); {
	case len(there.Recipients) > 0:
		e.fine(check, "%s", e.ElsewhereSealed)
	case remote:
		e.problem(check, e.ElsewherePlain, there.Place)
	default:
		e.fine(check, e.ElsewherePlainFolder, there.Place)
	}
}

// newestElsewhere checks that the newest backup is elsewhere, or on its way.
func (e *examination) newestElsewhere(place string, known engine.Elsewhere, all []backup.Stored) {
	const check = "backups elsewhere"
	here, err := backup.Newest(engine.BackupDir(e.Config))
	late := e.Now().Sub(here) > backupLate
	switch {
	case err != nil: // reported already
	case !known.Failed.IsZero():
		e.problem(check, e.ElsewhereFails, at(known.Failed), place, known.Why)
	case len(all) == 0 && late && !here.IsZero():
		e.problem(check, e.ElsewhereNone, place)
	case len(all) == 0:
		e.none(check, e.ElsewhereNone, place)
	case here.After(all[len(all)-1].Made) && late:
		e.problem(check, e.ElsewhereWaits, place, at(all[len(all)-1].Made), at(here))
	default:
		e.fine(check, e.ElsewhereGood, place, at(all[len(all)-1].Made))
	}
}

func at(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// begun returns when the store got its first user; zero: it is empty.
func (e *examination) begun(ctx context.Context) (since time.Time) {
	if !e.schema {
		return since
	}
	first, _, err := e.store.FindUsers(ctx, "", 0, 1)
	if err != nil || len(first) == 0 {
		return since
	}
	return first[0].CreatedAt
}

// shared is a database that several processes share.
type shared interface {
	// Hears fails with core.ErrDeaf unless processes hear each other.
	Hears(ctx context.Context) error
	Connections(ctx context.Context, now time.Time) (store.Connections, error)
	Clock(ctx context.Context) (time.Time, error)
	// Distributed reports whether users are distributed over servers, and lists the tables
	// that are not where they belong.
	Distributed(ctx context.Context) (yes bool, astray []string, err error)
}

// shared checks what several processes need of their database.
func (e *examination) shared(ctx context.Context, db shared) {
	switch err := db.Hears(ctx); {
	case errors.Is(err, core.ErrDeaf), errors.Is(err, core.ErrPooler):
		e.problem("processes", "%s", e.ProcessesDeaf)
	default:
		e.verdict("processes", err, "%s", e.ProcessesHear)
	}
	if c, err := db.Connections(ctx, e.Now()); err != nil {
		e.problem("connections", "%s", err.Error())
	} else {
		e.connections(c)
	}
	e.databaseClock(ctx, db)
	e.distributed(ctx, db)
}

// distributed reports whether users are distributed over servers.
func (e *examination) distributed(ctx context.Context, db shared) {
	switch yes, astray, err := db.Distributed(ctx); {
	case err != nil:
		e.problem("distribution", "%s", err.Error())
	case len(astray) > 0:
		e.problem("distribution", e.DistributedHalf, strings.Join(astray, ", "))
	case yes:
		e.fine("distribution", "%s", e.DistributedGood)
	}
}

// connections checks that the server takes as many connections as processes may open.
func (e *examination) connections(c store.Connections) {
	each, processes := e.Config.DatabaseConns+1, max(c.Processes, 1) // one of them listens
	if c.Pooled {
		each = 1
	}
	wanted := processes * each
	if wanted > c.Limit {
		e.problem("connections", e.ConnectionsMany, processes, each, wanted, c.Limit)
		return
	}
	e.fine("connections", e.ConnectionsGood, processes, each, wanted, c.Limit)
}

// Limits of the database's clock: how far its readings may be apart, and how far it may be off ours.
const maxScatter, maxOff = 5 * time.Second, time.Second

// databaseClock compares the machine's clock with that of the database.
func (e *examination) databaseClock(ctx context.Context, db shared) {
	var offs []time.Duration
	for range 3 {
		at, err := db.Clock(ctx)
		if err != nil {
			e.problem("database clock", "%s", err.Error())
			return
		}
		offs = append(offs, at.Sub(e.Now()))
	}
	least, most := slices.Min(offs), slices.Max(offs)
	switch {
	case most-least > maxScatter:
		e.problem("database clock", e.DatabaseClockWild, (most - least).Round(time.Second))
	case least.Abs() > maxOff:
		e.problem("database clock", e.DatabaseClockOff, least.Round(time.Second))
	default:
		e.fine("database clock", "%s", e.DatabaseClockGood)
	}
}

// push checks that push services take the notifications of browsers, if there are any.
func (e *examination) push(ctx context.Context) {
	const check = "notifications"
	if !e.schema {
		return
	}
	all, failing, err := e.store.Subscriptions(ctx, e.Now())
	switch {
	case err != nil:
		e.problem(check, "%s", err.Error())
	case failing > 0:
		e.problem(check, e.PushFails, failing, all)
	case all > 0:
		e.fine(check, e.PushGood, all)
	}
}

// mostShut bounds the deliveries among which those to groups are looked for.
const mostShut = 200

// groups checks that what is to be said in groups can be sent.
func (e *examination) groups(ctx context.Context) {
	const check = "groups"
	if !e.schema || !e.Config.Groups.Enabled {
		return
	}
	waiting, err := e.store.Deliveries(ctx, store.DeliveryQuery{States: []core.DeliveryState{core.DeliveryParked}, Limit: mostShut})
	told := map[core.UserID]bool{}
	for _, d := range waiting {
		if told[d.User] {
			continue
		}
		told[d.User] = true
		u, e2 := e.store.User(ctx, d.User)
		if err = errors.Join(err, e2); e2 == nil && u.Group() {
			e.problem(check, e.GroupsShut, u.Name, d.Error)
		}
	}
	if err != nil {
		e.problem(check, "%s", err.Error())
	}
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/backup"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/folder"
	"github.com/everthread/everthread/core/server"
)

// checkListening reports whether the gateway can listen where it is to, or does already.
func checkListening(ctx context.Context, c configs.Config) []finding {
	running := answersAt(ctx, c.HTTP)
	out := []finding{checkAddress("http.listen", c.HTTP.Listen, func() (string, error) {
		switch {
		case !running:
			return "", errTaken
		case c.DatabaseURL == "" && !served(c):
			return "", fmt.Errorf("another everthread, with other data than %s, listens on %s", c.DataDir, c.HTTP.Listen)
		}
		return "an everthread answers on " + c.HTTP.Listen, nil
	})}
	if at := c.HTTP.MetricsListen; at != "" {
		out = append(out, checkAddress("http.metrics_listen", at, func() (string, error) {
			if !running {
				return "", errTaken
			}
			return "an everthread runs here, which uses " + at, nil
		}))
	}
	return out
}

var errTaken = errors.New("it is taken")

// checkAddress tries to listen on an address. Taken says what an address that is in
// use means.
func checkAddress(key, address string, taken func() (string, error)) finding {
	ln, err := net.Listen("tcp", address)
	if err == nil {
		return verdict(key, ln.Close(), address+" is free")
	}
	free := ""
	if other := freeListen(address); other != "" {
		free = ", such as " + other
	}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		ok, other := taken()
		if other == nil {
			return fine(key, ok)
		}
		if err = other; errors.Is(err, errTaken) {
			err = fmt.Errorf("another program listens on %s", address)
		}
		err = fmt.Errorf("%w; stop it, or set %s to an address that is free%s", err, key, free)
	case errors.Is(err, syscall.EACCES):
		err = fmt.Errorf("%s may not be used by this user; choose a port above 1023", address)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		err = fmt.Errorf(
			"%s is no address of this machine; 127.0.0.1 is one that only this machine reaches, 0.0.0.0 stands for all", address)
	default:
		err = fmt.Errorf("nothing can listen on %s: %w", address, server.Cause(err))
	}
	return verdict(key, err, "")
}

// answersAt reports whether an everthread answers where this one listens.
func answersAt(ctx context.Context, h configs.HTTP) bool {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	var said struct{ Ready *bool }
	a, err := get(ctx, h.At(h.Listen)+"/readyz")
	return err == nil && json.Unmarshal(a.body, &said) == nil && said.Ready != nil
}

// checkPublic looks up the name by which others reach the gateway.
func checkPublic(ctx context.Context, c configs.Config) []finding {
	u, err := url.Parse(c.HTTP.PublicURL)
	if err != nil {
		return nil // the configuration is wrong, and that was told
	}
	name := u.Hostname()
	if _, err := netip.ParseAddr(name); err == nil || name == "localhost" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	found, err := net.DefaultResolver.LookupHost(ctx, name)
	if err != nil {
		reason := err
		if missing := (*net.DNSError)(nil); errors.As(err, &missing) {
			reason = errors.New(missing.Err)
		}
		err = fmt.Errorf(
			"the name %s cannot be found (%w): links and webhooks lead nowhere; make a DNS record for it, or correct http.public_url", name, reason)
	}
	return []finding{verdict("http.public_url", err, fmt.Sprintf("%s is %s", name, strings.Join(found, ", ")))}
}

// Of backups: how long a new gateway may be without, how old one may be that somebody
// made by hand, and how late one of the clock.
const (
	backupGrace = 24 * time.Hour
	backupOld   = 8 * 24 * time.Hour
	backupLate  = time.Hour
)

// checkBackups reports whether there is a backup that is new enough.
func checkBackups(ctx context.Context, c configs.Config, now time.Time) []finding {
	const check, how = "backups", "set backup.cron, such as \"15 3 * * *\", and backup.dir to a folder on another disk"
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	st, since, err := begun(ctx, c)
	if st == nil || err != nil {
		return nil // told already, or nothing to lose
	}
	defer st.Close()
	newest, err := backup.Newest(engine.BackupDir(c))
	if err != nil && !errors.Is(err, os.ErrPermission) {
		return []finding{verdict(check, fmt.Errorf("%w; make %s readable, or set backup.dir", folder.Cause(err),
			engine.BackupDir(c)), "")}
	}
	if c.Backup.Cron != "" {
		return []finding{checkSchedule(ctx, c, st, newest, since, now)}
	}
	if now.Sub(newest) < backupOld {
		return []finding{fine(check, fmt.Sprintf("the newest is of %s; nothing makes them by the clock: %s", at(newest),
			how))}
	}
	if c.DatabaseURL != "" {
		return []finding{fine(check, "the gateway makes none: see that the database server and "+c.DataDir+
			" are in others, or "+how)}
	}
	if now.Sub(since) < backupGrace {
		return []finding{fine(check, "none yet: "+how)}
	}
	if newest.IsZero() {
		return []finding{problem(check,
			fmt.Sprintf("there is none in %s: a disk that dies takes everything; %s, or run `everthread backup`",
				engine.BackupDir(c), how))}
	}
	return []finding{problem(check, fmt.Sprintf("the newest is of %s: %s, or run `everthread backup`", at(newest), how))}
}

// checkSchedule reports whether the clock's last backup was made.
func checkSchedule(ctx context.Context, c configs.Config, st store, newest, since, now time.Time) finding {
	const check = "backups"
	last, due, err := engine.BackupTimes(ctx, c, st)
	if err != nil {
		return verdict(check, err, "")
	}
	if last.IsZero() { // the first one is made at once
		due = since
	}
	if now.Sub(due) > backupLate {
		what := "none was made yet"
		if !newest.IsZero() {
			what = "the newest is of " + at(newest)
		}
		return problem(check,
			fmt.Sprintf(
				"%s, and one has been due since %s: the gateway makes it while it runs, and its log says why it could not; %s has to be writable and have room", what, at(due), engine.BackupDir(c)))
	}
	if newest.IsZero() {
		return fine(check, "the gateway makes the first when it starts")
	}
	detail := "the newest is of " + at(newest)
	if c.Backup.Dir == "" {
		detail += "; it lies beside the data: set backup.dir to a folder on another disk"
	}
	return fine(check, detail)
}

func at(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// begun opens the store and says since when there has been something in it; no store:
// there is nothing.
func begun(ctx context.Context, c configs.Config) (store, time.Time, error) {
	if c.DatabaseURL == "" && !hasDatabase(c) {
		return nil, time.Time{}, nil
	}
	st, err := openStore(ctx, c)
	if err != nil {
		return nil, time.Time{}, err
	}
	s, err := st.Schema(ctx)
	users := []core.User(nil)
	if err == nil && s.Current == s.Target {
		users, err = st.Users(ctx)
	}
	since := time.Time{}
	for _, u := range users {
		if since.IsZero() || u.CreatedAt.Before(since) {
			since = u.CreatedAt
		}
	}
	if err != nil || since.IsZero() {
		st.Close()
		return nil, since, err
	}
	return st, since, nil
}

package engine

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core/archive/backup"
	"github.com/everthread/everthread/core/archive/backup/place/placetest"
	"github.com/everthread/everthread/core/ops/datadir"
	"github.com/everthread/everthread/core/store/sqlite"
	"github.com/everthread/everthread/core/trust/egress"
)

// counted counts what is counted.
type counted map[string]int

func (c counted) Count(name string, n float64, labels ...string) {
	c[strings.Join(append([]string{name}, labels...), " ")] += int(n)
}

// planned is a gateway that makes a backup each hour, and puts it on a server.
type planned struct {
	*backups
	server *placetest.Server
	now    time.Time
	told   []string
	meter  counted
}

func newPlanned(t *testing.T) *planned {
	dir := t.TempDir()
	st, err := sqlite.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	if err := st.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := &planned{server: placetest.WebDAV(t, t.TempDir()), now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), meter: counted{}}
	c := configs.Default()
	c.DataDir = dir
	c.Backup = configs.Backup{Cron: "0 * * * *", Keep: 2, To: p.server.Address, User: placetest.User,
		Password: placetest.Password, Passphrase: "correct horse battery"}
	now := func() time.Time { return p.now }
	quiet := func(context.Context, time.Duration) {}
	there, err := NewElsewhere(c, egress.New(egress.Options{}), now, nil)
	if err != nil {
		t.Fatal(err)
	}
	there.Wait = quiet
	p.backups = &backups{Process: NewProcess(c, st, zap.NewNop(), now, nil, nil), elsewhere: there, meter: p.meter,
		maker: &backup.Maker{File: st, Data: dir, Program: "v1", Check: sqlite.Check, Lock: datadir.LockFile, Now: now,
			Wait: quiet, Progress: func(int64) {}, Crash: func(string) {}},
		tell: func(_ context.Context, once, cause string) error {
			p.told = append(p.told, once+": "+cause)
			return nil
		}}
	return p
}

// after lets time pass and the task run.
func (p *planned) after(t *testing.T, d time.Duration, fails bool) Elsewhere {
	t.Helper()
	p.now = p.now.Add(d)
	if err := p.run(t.Context()); (err != nil) != fails {
		t.Errorf("after %v: %v", d, err)
	}
	s, err := ReadElsewhere(t.Context(), p.Config, p.Store)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (p *planned) there(t *testing.T) []backup.Stored {
	t.Helper()
	all, err := p.elsewhere.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestBackups_goElsewhereOnce(t *testing.T) {
	t.Parallel()
	p := newPlanned(t)
	for range 3 {
		if s := p.after(t, time.Minute, false); s.Waiting != "" || !s.Failed.IsZero() {
			t.Errorf("got %+v", s)
		}
	}
	if all := p.there(t); len(all) != 1 || !all[0].Encrypted || p.server.Asked(http.MethodPut) != 1 {
		t.Errorf("it has %v after %d uploads", all, p.server.Asked(http.MethodPut))
	}
	for range 4 {
		p.after(t, time.Hour, false)
	}
	if all := p.there(t); len(all) != 2 || p.server.Asked(http.MethodPut) != 5 || p.meter["everthread_backups_total sent"] != 5 {
		t.Errorf("it has %v, counted is %v", all, p.meter)
	}
	p.Config.Backup.Cron = "" // one made by hand goes there, too
	p.now = p.now.Add(time.Hour)
	res, err := p.maker.Make(t.Context(), BackupDir(p.Config), 0)
	if err != nil {
		t.Fatal(err)
	}
	p.after(t, time.Minute, false)
	if all := p.there(t); all[1].Name != filepath.Base(res.File)+".age" {
		t.Errorf("it has %v", all)
	}
	p.Config.Backup.To += "/2" // another place has none of them
	if s, err := ReadElsewhere(t.Context(), p.Config, p.Store); err != nil || s.Waiting != filepath.Base(res.File) {
		t.Errorf("got %+v, %v", s, err)
	}
}

// A place that is down does not stop backups. It is asked again, ever less often, and the owner hears of it once.
func TestBackups_placeThatIsDown(t *testing.T) {
	t.Parallel()
	p := newPlanned(t)
	p.Config.Backup.Cron = "0 0 * * *"
	p.server.Spoil(slices.Repeat([]placetest.Fault{placetest.Status(http.StatusServiceUnavailable)}, 1000)...)
	s := p.after(t, 0, true)
	if s.Waiting == "" || !s.Failed.Equal(p.now) || !strings.Contains(s.Why, "503") || len(p.told) > 0 {
		t.Errorf("got %+v, told %v", s, p.told)
	}
	tried := p.server.Asked(http.MethodPut)
	p.after(t, 14*time.Minute, false)
	if n := p.server.Asked(http.MethodPut); n != tried {
		t.Errorf("it was asked %d times more at once", n-tried)
	}
	p.after(t, time.Minute, true)
	p.after(t, 29*time.Minute, false)
	p.after(t, time.Minute, true)
	if here, err := os.ReadDir(BackupDir(p.Config)); err != nil || len(here) != 1 {
		t.Errorf("here are %v, %v", here, err)
	}
	failed := 0
	for range 24 {
		p.now = p.now.Add(time.Hour)
		if p.run(t.Context()) != nil {
			failed++
		}
	}
	if failed < 5 || failed > 9 {
		t.Errorf("it was tried %d times in a day", failed)
	}
	if here, err := backup.List(BackupDir(p.Config)); err != nil || len(here) != 2 || p.now.Sub(here[1].Made) > 24*time.Hour {
		t.Errorf("here are %v, %v", here, err)
	}
	if len(p.told) == 0 || len(slices.Compact(slices.Clone(p.told))) != 1 { // the store tells each name once
		t.Errorf("told %q", p.told)
	}
	p.server.Heal()
	if s := p.after(t, 4*time.Hour, false); s.Waiting != "" || !s.Failed.IsZero() || s.Why != "" {
		t.Errorf("got %+v", s)
	}
	if all := p.there(t); len(all) != 1 || p.now.Sub(all[0].Made) > 24*time.Hour {
		t.Errorf("it has %v, which is not the newest", all)
	}
}

// What only the owner can change is told at once, and without what signs in.
func TestBackups_placeThatRefuses(t *testing.T) {
	t.Parallel()
	p := newPlanned(t)
	p.server.Spoil(placetest.Status(http.StatusUnauthorized))
	s := p.after(t, 0, true)
	if len(p.told) != 1 || !strings.Contains(p.told[0], "backup.user and backup.password") ||
		strings.Contains(p.told[0]+s.Why, placetest.Password) {
		t.Errorf("told %q, %+v", p.told, s)
	}
	if s := p.after(t, 15*time.Minute, false); s.Waiting != "" {
		t.Errorf("got %+v", s)
	}
}

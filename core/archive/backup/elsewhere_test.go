package backup_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/everthread/everthread/core/archive/backup"
	"github.com/everthread/everthread/core/archive/backup/place"
	"github.com/everthread/everthread/core/archive/backup/place/placetest"
)

const passphrase = "correct horse battery"

// elsewhere returns a place of an address that is encrypted for recipients.
func elsewhere(t testing.TB, address string, to ...age.Recipient) *backup.Elsewhere {
	return &backup.Elsewhere{Place: placetest.Open(t, address, 5*time.Second), Recipients: to, Keep: 3,
		Wait: func(context.Context, time.Duration) {}, Progress: func(int64) {}, Crash: func(string) {}}
}

// identity makes a pair of keys, and a file of the secret one.
func identity(t testing.TB) (file, public string) {
	t.Helper()
	k, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "key.txt")
	write(t, file, "# created: today\n# public key: "+k.Recipient().String()+"\n"+k.String()+"\n")
	return file, k.Recipient().String()
}

func recipients(t testing.TB, to []string, passphrase string) []age.Recipient {
	t.Helper()
	out, err := backup.Recipients(to, passphrase)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func identities(t testing.TB, file, passphrase string) []age.Identity {
	t.Helper()
	out, err := backup.Identities(file, passphrase)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func send(t testing.TB, e *backup.Elsewhere, file string) backup.Sent {
	t.Helper()
	sent, err := e.Send(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	return sent
}

// fetched restores a backup of a place into an empty folder.
func fetched(t testing.TB, e *backup.Elsewhere, name string, with []age.Identity) (map[string]string, error) {
	t.Helper()
	s, err := e.Find(t.Context(), name)
	if err != nil {
		return nil, err
	}
	in := e.Open(t.Context(), s)
	defer in.Close()
	r := restorer(t.TempDir())
	r.Identities = with
	_, err = r.RestoreFrom(t.Context(), in)
	return tree(t, r.Data), err
}

func TestSend_comesBackFromEveryPlace(t *testing.T) {
	t.Parallel()
	file, public := identity(t)
	_, second := identity(t)
	addresses := map[string]string{"folder": placetest.Folder(t), "bucket": placetest.Bucket(t).Address,
		"webdav": placetest.WebDAV(t, t.TempDir()).Address}
	from := keptOf(t, 20)
	m := maker(t, from)
	m.File = oneFile{data: append([]byte("the database"), noise(18<<20)...)} // more than a part of what is sent
	here := made(t, m)
	want := tree(t, from)
	delete(want, "media/1/.part-123")
	want["everthread.db"] = string(m.File.(oneFile).data)
	for name, address := range addresses {
		for how, c := range map[string]struct {
			to   []age.Recipient
			with []age.Identity
		}{
			"for a key":         {recipients(t, []string{second, public}, ""), identities(t, file, "")},
			"with a passphrase": {recipients(t, nil, passphrase), identities(t, "", passphrase)},
			"unencrypted":       {nil, nil},
		} {
			e := elsewhere(t, address, c.to...)
			sent := send(t, e, here)
			if sent.Encrypted != (c.to != nil) || sent.Encrypted != strings.HasSuffix(sent.Name, ".age") ||
				strings.TrimSuffix(sent.Name, ".age") != filepath.Base(here) || sent.To != e.Place.String() {
				t.Errorf("%s %s: sent %+v", name, how, sent)
			}
			all, err := e.List(t.Context())
			if err != nil || !slices.Contains(all, sent.Stored) || !sent.Made.Equal(noon) {
				t.Errorf("%s %s: it has %v, %v", name, how, all, err)
			}
			got, err := fetched(t, e, sent.Name, c.with)
			if err != nil || len(got) != len(want) || got["everthread.db"] != want["everthread.db"] {
				t.Errorf("%s %s: %d files came back: %v", name, how, len(got), err)
			}
		}
	}
}

// The program of age itself opens what was encrypted: the format is not our own.
func TestSend_encryptsAsAgeDoes(t *testing.T) {
	t.Parallel()
	file, public := identity(t)
	dir := placetest.Folder(t)
	for _, size := range []int{0, 1, 64<<10 - 1, 64 << 10, 64<<10 + 1, 300_000} {
		plain := noise(size)
		from := filepath.Join(t.TempDir(), "everthread-20261121-120000.tar.zst")
		write(t, from, string(plain))
		sent := send(t, elsewhere(t, dir, recipients(t, []string{public}, "")...), from)
		closed, err := os.ReadFile(filepath.Join(dir, sent.Name))
		if err != nil || int64(len(closed)) != sent.Size || size > 100 && bytes.Contains(closed, plain[:50]) {
			t.Fatalf("%d bytes are there, %d were sent: %v", len(closed), sent.Size, err)
		}
		open, err := age.Decrypt(bytes.NewReader(closed), identities(t, file, "")...)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(open); err != nil || !bytes.Equal(got, plain) {
			t.Errorf("of %d bytes %d came back: %v", size, len(got), err)
		}
	}
}

func TestRestoreFrom_refusesWhatItCannotOpen(t *testing.T) {
	t.Parallel()
	file, public := identity(t)
	other, _ := identity(t)
	dir := placetest.Folder(t)
	here := made(t, maker(t, keptOf(t, 20)))
	for _, c := range []struct {
		name string
		to   []age.Recipient
		with []age.Identity
		want string
	}{
		{"no key", recipients(t, []string{public}, ""), nil, "--identity"},
		{"another key", recipients(t, []string{public}, ""), identities(t, other, ""), "encrypted for another key"},
		{"a passphrase instead", recipients(t, []string{public}, ""), identities(t, "", passphrase), "encrypted for another key"},
		{"another passphrase", recipients(t, nil, passphrase), identities(t, "", passphrase+"!"), "encrypted for another key"},
		{"a key instead", recipients(t, nil, passphrase), identities(t, file, ""), "encrypted for another key"},
	} {
		e := elsewhere(t, dir, c.to...)
		got, err := fetched(t, e, send(t, e, here).Name, c.with)
		if err == nil || !strings.Contains(err.Error(), c.want) || len(got) > 0 || strings.Contains(err.Error(), passphrase) {
			t.Errorf("%s: %v, %d files", c.name, err, len(got))
		}
	}
}

func TestRestoreFrom_refusesADamagedEncryptedBackup(t *testing.T) {
	t.Parallel()
	file, public := identity(t)
	dir := placetest.Folder(t)
	e := elsewhere(t, dir, recipients(t, []string{public}, "")...)
	m := maker(t, keptOf(t, 20))
	m.File = oneFile{data: append([]byte("the database"), noise(1<<20)...)}
	sent := send(t, e, made(t, m))
	path := filepath.Join(dir, sent.Name)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	flipped := func(at int) []byte {
		b := bytes.Clone(whole)
		b[at] ^= 1
		return b
	}
	for name, b := range map[string][]byte{"cut in its header": whole[:100], "cut": whole[:len(whole)/2],
		"cut between two parts": whole[:len(whole)-(len(whole)-216)%(64<<10+16)], "without its last byte": whole[:len(whole)-1],
		"flipped in the first part": flipped(1000), "flipped": flipped(len(whole) / 2), "flipped at its end": flipped(len(whole) - 1),
		"flipped in its header": flipped(150), "longer": append(bytes.Clone(whole), whole[len(whole)-70000:]...), "empty": {}} {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := fetched(t, e, sent.Name, identities(t, file, ""))
		if err == nil || len(got) > 0 {
			t.Errorf("%s: %v, %d files", name, err, len(got))
		}
	}
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := fetched(t, e, sent.Name, identities(t, file, "")); err != nil {
		t.Errorf("undamaged: %v", err)
	}
}

// Old backups are removed by their names, and nothing else is touched.
func TestSend_removesOldOnesOnly(t *testing.T) {
	t.Parallel()
	addresses := map[string]string{"folder": placetest.Folder(t), "bucket": placetest.Bucket(t).Address,
		"webdav": placetest.WebDAV(t, t.TempDir()).Address}
	here := t.TempDir()
	foreign := []string{"holiday.jpg", "everthread-20261121.tar.zst", "everthread-20200101-000000.tar.zst.bak",
		"my everthread-20200101-000000.tar.zst", "everthread.yaml", "0"}
	for name, address := range addresses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := elsewhere(t, address)
			for _, name := range foreign {
				if err := e.Place.Put(t.Context(), name, 4, strings.NewReader("mine")); err != nil {
					t.Fatal(err)
				}
			}
			// In the order of their times, which is not that of their names as text.
			for n, name := range []string{"everthread-20261121-235959.tar.zst", "everthread-20261122-000000.tar.zst",
				"everthread-20261122-000000-2.tar.zst", "everthread-20261122-000000-10.tar.zst", "everthread-20270101-000000.tar.zst"} {
				to := recipients(t, nil, passphrase)
				if n%2 == 0 {
					to = nil
				}
				e.Recipients = to
				file := filepath.Join(here, t.Name(), name)
				write(t, file, "a backup")
				sent := send(t, e, file)
				if n >= 3 != (len(sent.Removed) == 1) {
					t.Errorf("%s: removed %v", name, sent.Removed)
				}
			}
			files, err := e.Place.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range files {
				got = append(got, f.Name)
			}
			want := append(slices.Clone(foreign), "everthread-20261122-000000-2.tar.zst",
				"everthread-20261122-000000-10.tar.zst.age", "everthread-20270101-000000.tar.zst")
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("it has %v\nwant   %v", got, want)
			}
			if newest, err := e.Find(t.Context(), ""); err != nil || newest.Name != "everthread-20270101-000000.tar.zst" {
				t.Errorf("the newest is %v, %v", newest, err)
			}
			if _, err := e.Find(t.Context(), "holiday.jpg"); err == nil {
				t.Error("a foreign file is taken for a backup")
			}
		})
	}
}

// What does not help at once may help a little later; what only a person can change is not tried again.
func TestSend_triesAgainWhereThatHelps(t *testing.T) {
	t.Parallel()
	here := made(t, maker(t, keptOf(t, 20)))
	for name, c := range map[string]struct {
		faults []placetest.Fault
		waits  int
		good   bool
	}{
		"down, then fine":  {[]placetest.Fault{placetest.Status(500), placetest.Status(503)}, 2, true},
		"cut, then fine":   {[]placetest.Fault{placetest.CutUpload}, 1, true},
		"changed once":     {[]placetest.Fault{placetest.Change}, 1, true},
		"down for longer":  {slices.Repeat([]placetest.Fault{placetest.Status(500)}, 9), 3, false},
		"full":             {[]placetest.Fault{placetest.Status(http.StatusInsufficientStorage)}, 0, false},
		"another password": {[]placetest.Fault{placetest.Status(http.StatusUnauthorized)}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := placetest.WebDAV(t, t.TempDir())
			e, waited := elsewhere(t, s.Address), 0
			e.Wait = func(context.Context, time.Duration) { waited++ }
			s.Spoil(c.faults...)
			sent, err := e.Send(t.Context(), here)
			s.Heal()
			if (err == nil) != c.good || waited != c.waits || err == nil && sent.Name == "" {
				t.Errorf("sent %+v after %d waits: %v", sent, waited, err)
			}
			if err != nil && !strings.Contains(err.Error(), e.Place.String()) {
				t.Errorf("it does not say where: %v", err)
			}
			if all, err := e.List(t.Context()); err != nil || (len(all) == 1) != c.good {
				t.Errorf("it has %v, %v", all, err)
			}
		})
	}
}

// A download goes on where its connection broke; a place that stays away is no damage of the backup.
func TestOpen_goesOnWhereItBroke(t *testing.T) {
	t.Parallel()
	m := maker(t, keptOf(t, 20))
	m.File = oneFile{data: append([]byte("the database"), noise(1<<20)...)}
	here := made(t, m)
	for kind, s := range map[string]*placetest.Server{"bucket": placetest.Bucket(t), "webdav": placetest.WebDAV(t, t.TempDir())} {
		e := elsewhere(t, s.Address, recipients(t, nil, passphrase)...)
		send(t, e, here)
		with := identities(t, "", passphrase)
		s.Spoil(slices.Repeat([]placetest.Fault{placetest.CutDownload}, 5)...)
		got, err := fetched(t, e, "", with)
		if err != nil || got["everthread.db"] != string(m.File.(oneFile).data) {
			t.Errorf("%s: %d files, %v", kind, len(got), err)
		}
		gone := placetest.Fault(func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
			if r.Header.Get("Range") == "" {
				return false
			}
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		})
		s.Spoil(placetest.CutDownload)
		s.Spoil(slices.Repeat([]placetest.Fault{gone}, 50)...)
		got, err = fetched(t, e, "", with)
		s.Heal()
		var lost *backup.Lost
		var damaged *backup.Damaged
		if !errors.As(err, &lost) || errors.As(err, &damaged) || len(got) > 0 {
			t.Errorf("%s: %v, %d files", kind, err, len(got))
		}
	}
}

// The memory of sending is bounded, whatever the size.
func TestSend_needsLittleMemory(t *testing.T) {
	size := int64(200 << 20)
	file := filepath.Join(t.TempDir(), "everthread-20261121-120000.tar.zst")
	f, err := os.Create(file)
	if err = errors.Join(err, f.Truncate(size), f.Close()); err != nil {
		t.Fatal(err)
	}
	e := elsewhere(t, placetest.Folder(t), recipients(t, []string{func() string { _, p := identity(t); return p }()}, "")...)
	sink := &counting{}
	e.Place = sink
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	if _, err := e.Send(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if grew := after.HeapSys - before.HeapSys; after.HeapSys > before.HeapSys && grew > 32<<20 || sink.n < size {
		t.Errorf("the heap grew by %d MiB for %d MiB", grew>>20, sink.n>>20)
	}
}

// counting is a place that keeps nothing.
type counting struct{ n int64 }

func (c *counting) String() string                             { return "nowhere" }
func (c *counting) List(context.Context) ([]place.File, error) { return nil, nil }
func (c *counting) Remove(context.Context, string) error       { return nil }
func (c *counting) Open(context.Context, string, int64) (io.ReadCloser, error) {
	return nil, errors.New("it keeps nothing")
}

func (c *counting) Put(_ context.Context, _ string, size int64, body io.Reader) (err error) {
	if c.n, err = io.Copy(io.Discard, body); err == nil && c.n != size {
		err = errors.New("another size")
	}
	return err
}

func TestRecipients_saysWhatIsWrong(t *testing.T) {
	t.Parallel()
	file, public := identity(t)
	secret := strings.TrimSpace(strings.Split(tree(t, filepath.Dir(file))["key.txt"], "\n")[2])
	for _, c := range []struct {
		to         []string
		passphrase string
		want       string
	}{
		{[]string{public}, passphrase, "keep one of them"}, {nil, "too short", "openssl rand"},
		{[]string{public, secret}, "", "the entry 2 is a secret key"}, {[]string{"age1xyz"}, "", "no recipient of age"},
		{[]string{""}, "", "no recipient of age"},
	} {
		_, err := backup.Recipients(c.to, c.passphrase)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secret) ||
			c.passphrase != "" && strings.Contains(err.Error(), c.passphrase) {
			t.Errorf("%v %q: %v", c.to, c.passphrase, err)
		}
	}
	write(t, file, public+"\n")
	if _, err := backup.Identities(file, ""); err == nil || !strings.Contains(err.Error(), "age-keygen") {
		t.Errorf("a public key opens something: %v", err)
	}
}

func TestDrill_comparesWhatIsThere(t *testing.T) {
	t.Parallel()
	here := made(t, maker(t, keptOf(t, 20)))
	for name, c := range map[string]struct {
		rows map[string]int64
		err  error
		want string
	}{
		"as it was":        {rows: map[string]int64{"messages": 3, "users": 2}},
		"rows are missing": {rows: map[string]int64{"messages": 2, "users": 2}, want: "messages has 2 rows, and had 3"},
		"a table is gone":  {rows: map[string]int64{"messages": 3}, want: "users has 0 rows, and had 2"},
		"a table more":     {rows: map[string]int64{"messages": 3, "users": 2, "x": 1}, want: "x has 1 rows, and had 0"},
		"it does not open": {err: errors.New("malformed"), want: "malformed"},
	} {
		r := restorer(kept(t))
		r.Count = func(_ context.Context, path string) (map[string]int64, error) {
			if filepath.Base(path) != "everthread.db" || tree(t, filepath.Dir(path))["everthread.db"] == "" {
				t.Error("there is no database")
			}
			return c.rows, c.err
		}
		before, dir := tree(t, r.Data), t.TempDir()
		f, err := os.Open(here)
		if err != nil {
			t.Fatal(err)
		}
		out, err := r.Drill(t.Context(), dir, f)
		_ = f.Close()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && (out.Rows["messages"] != 3 || out.Files != 20) {
			t.Errorf("%s: %+v", name, out)
		}
		if after := tree(t, r.Data); len(after) != len(before) {
			t.Errorf("%s: the data folder was touched", name)
		}
	}
}

func TestDrill_countsADump(t *testing.T) {
	t.Parallel()
	s := &server{data: noise(10_000)}
	m := maker(t, keptOf(t, 20))
	m.File, m.Server = nil, s
	here := made(t, m)
	for lose, want := range map[int]string{0: "", 1: "messages has 9999 rows"} {
		r := restorer(t.TempDir())
		r.Engine, r.Server = backup.Postgres, counter{&server{}, lose}
		f, err := os.Open(here)
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Drill(t.Context(), t.TempDir(), f)
		_ = f.Close()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		if r.Server.(counter).filled != nil {
			t.Error("it was restored into the server")
		}
	}
}

// counter is a server that misses some rows.
type counter struct {
	*server
	lose int
}

func (c counter) Count(ctx context.Context, dump io.Reader) (map[string]int64, error) {
	rows, err := c.server.Count(ctx, dump)
	rows["messages"] -= int64(c.lose)
	return rows, err
}

package place_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core/archive/backup/place"
	"github.com/everthread/everthread/core/archive/backup/place/placetest"
)

const stall = 10 * time.Second

// body is larger than what is sent at once, and no part of it is like another.
func body(size int) []byte {
	out, x := make([]byte, size), uint64(1)
	for i := range out {
		x = x*6364136223846793005 + 1442695040888963407
		out[i] = byte(x >> 56)
	}
	return out
}

// servers returns the places behind a server, anew.
func servers(t *testing.T) map[string]*placetest.Server {
	return map[string]*placetest.Server{"bucket": placetest.Bucket(t), "webdav": placetest.WebDAV(t, t.TempDir())}
}

func names(t *testing.T, p place.Place) (out []string) {
	t.Helper()
	files, err := p.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		out = append(out, f.Name)
	}
	slices.Sort(out)
	return out
}

func put(p place.Place, name string, b []byte) error {
	return p.Put(context.Background(), name, int64(len(b)), bytes.NewReader(b))
}

func TestPlace_keepsFiles(t *testing.T) {
	t.Parallel()
	addresses := map[string]string{"folder": placetest.Folder(t)}
	for name, s := range servers(t) {
		addresses[name] = s.Address
	}
	for name, address := range addresses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := placetest.Open(t, address, stall)
			if got := names(t, p); got != nil {
				t.Errorf("a new one has %v", got)
			}
			small, large := body(5), body(35<<20)
			for name, b := range map[string][]byte{"everthread-1": small, "everthread 2 é.txt": large, "other": small} {
				if err := put(p, name, b); err != nil {
					t.Fatal(err)
				}
			}
			if err := put(p, "other", large[:100_000]); err != nil {
				t.Fatal(err)
			}
			files, err := p.List(t.Context())
			slices.SortFunc(files, func(a, b place.File) int { return strings.Compare(a.Name, b.Name) })
			if err != nil || !slices.Equal(files, []place.File{{"everthread 2 é.txt", 35 << 20}, {"everthread-1", 5},
				{"other", 100_000}}) {
				t.Errorf("it has %v, %v", files, err)
			}
			for _, offset := range []int{0, 1, 17 << 20, 35<<20 - 1} {
				in, err := p.Open(t.Context(), "everthread 2 é.txt", int64(offset))
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(in)
				if err = errors.Join(err, in.Close()); err != nil || !bytes.Equal(got, large[offset:]) {
					t.Errorf("from %d on it has %d other bytes: %v", offset, len(got), err)
				}
			}
			for _, name := range []string{"other", "other", "never was"} {
				if err := p.Remove(t.Context(), name); err != nil {
					t.Error(err)
				}
			}
			if got := names(t, p); !slices.Equal(got, []string{"everthread 2 é.txt", "everthread-1"}) {
				t.Errorf("it has %v", got)
			}
			if _, err := p.Open(t.Context(), "other", 0); err == nil || !place.Final(err) {
				t.Errorf("a removed file is read: %v", err)
			}
			if strings.TrimSuffix(address, "/") != p.String() {
				t.Errorf("it is called %s, and is %s", p, address)
			}
		})
	}
}

// A transfer that fails leaves nothing that looks like a file, and says whether another try is worth it.
func TestPut_thatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		fault placetest.Fault
		final bool
		says  string
	}{
		{"not signed in", placetest.Status(http.StatusUnauthorized), true, "backup.user and backup.password"},
		{"forbidden", placetest.Status(http.StatusForbidden), true, "backup.password"},
		{"full", placetest.Status(http.StatusInsufficientStorage), true, "make room"},
		{"down", placetest.Status(http.StatusServiceUnavailable), false, ""},
		{"cut in the middle", placetest.CutUpload, false, ""},
		{"changed on the way", placetest.Change, false, ""},
	} {
		for kind, s := range servers(t) {
			t.Run(c.name+" "+kind, func(t *testing.T) {
				t.Parallel()
				p := placetest.Open(t, s.Address, stall)
				if err := put(p, "everthread-old", body(10)); err != nil {
					t.Fatal(err)
				}
				s.Spoil(slices.Repeat([]placetest.Fault{c.fault}, 20)...) // more than it tries
				err := put(p, "everthread-new", body(20<<20))
				s.Heal()
				if err == nil || place.Final(err) != c.final || !strings.Contains(err.Error(), c.says) ||
					strings.Contains(err.Error(), placetest.Password) {
					t.Errorf("got %v, final: %v", err, place.Final(err))
				}
				if got := names(t, p); !slices.Equal(got, []string{"everthread-old"}) {
					t.Errorf("it has %v", got)
				}
				if err := put(p, "everthread-new", body(20<<20)); err != nil {
					t.Errorf("afterwards: %v", err)
				}
				if got := names(t, p); !slices.Equal(got, []string{"everthread-new", "everthread-old"}) {
					t.Errorf("then it has %v", got)
				}
			})
		}
	}
}

func TestPut_thatStandsStillEnds(t *testing.T) {
	t.Parallel()
	for kind, s := range servers(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := placetest.Open(t, s.Address, 300*time.Millisecond)
			s.Spoil(slices.Repeat([]placetest.Fault{placetest.Hang}, 20)...)
			began := time.Now()
			err := put(p, "everthread-new", body(1<<20))
			s.Heal()
			if err == nil || place.Final(err) || !strings.Contains(err.Error(), "nothing has moved") {
				t.Errorf("got %v", err)
			}
			if took := time.Since(began); took > 9*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func TestFolder_isNeverMade(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "not mounted")
	p := placetest.Open(t, dir, stall)
	if err := put(p, "everthread-new", body(10)); err == nil || !place.Final(err) || !strings.Contains(err.Error(), "connect its disk") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("it was made")
	}
}

// A body that ends early, as one does whose process is killed, is no file.
func TestPut_ofTooFewBytes(t *testing.T) {
	t.Parallel()
	addresses := map[string]string{"folder": placetest.Folder(t)}
	for name, s := range servers(t) {
		addresses[name] = s.Address
	}
	for name, address := range addresses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := placetest.Open(t, address, stall)
			if err := put(p, "everthread-old", body(1)); err != nil {
				t.Fatal(err)
			}
			if err := p.Put(t.Context(), "everthread-new", 20<<20, bytes.NewReader(body(18<<20))); err == nil {
				t.Error("it was taken")
			}
			if got := names(t, p); slices.Contains(got, "everthread-new") || !slices.Contains(got, "everthread-old") {
				t.Errorf("it has %v", got)
			}
		})
	}
}

func TestParse_saysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"backups": "the whole path", "s3://": "names no server", "s3://s3.example.com": "names no bucket",
		"s3://s3.example.com/": "names no bucket", "ftp://example.com/x": "nothing is known of ftp://",
		"https://ada:secret@example.com/dav": "leave the user and the password out",
		"https://example.com/dav?x=1":        "leave out what follows", "https:///dav": "names no server",
	} {
		if _, err := place.Parse(address); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
	at, err := place.Parse("s3://s3.example.com:9000/b/a/c/")
	if err != nil || at.URL.String() != "https://s3.example.com:9000" || at.Bucket != "b" || at.Prefix != "a/c/" {
		t.Errorf("got %+v, %v", at, err)
	}
}

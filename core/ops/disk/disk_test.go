package disk_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/everthread/everthread/core/ops/disk"
)

func TestNoRoom_saysWhereAndHowMuch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	full := fmt.Errorf("copy: %w", &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC})
	for wants, want := range map[int64][]string{
		0:       {"no room in " + dir, "no space left on device", " are free: make room there, and try again"},
		1 << 60: {"no room in " + dir, "up to 1073741824 GiB are needed: free ", " more, and try again"},
		1:       {"up to 1 bytes are needed", "the limit on the size of files"},
	} {
		err := disk.NoRoom(full, dir, wants)
		for _, part := range want {
			if err == nil || !strings.Contains(err.Error(), part) || !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("wanting %d: %v, want %q", wants, err, part)
			}
		}
	}
	if err := disk.NoRoom(full, dir+"/nowhere", 5); !strings.Contains(err.Error(),
		"up to 5 bytes are needed: make room there") {
		t.Errorf("of a missing folder: %v", err)
	}
	other := errors.New("it rains")
	if err := disk.NoRoom(other, dir, 1); !errors.Is(err, other) || disk.NoRoom(nil, dir, 1) != nil {
		t.Errorf("another error became %v", err)
	}
}

type coded int

func (c coded) Error() string { return "coded" }
func (c coded) Code() int     { return int(c) }

type stated string

func (s stated) Error() string    { return "stated" }
func (s stated) SQLState() string { return string(s) }

func TestStoreFull(t *testing.T) {
	t.Parallel()
	for err, want := range map[error][2]bool{
		errors.New("x"): {}, coded(13): {true, false}, coded(778): {true, false}, coded(5): {}, stated("53100"): {true, true},
		stated("23505"): {false, true},
	} {
		if full, server := disk.StoreFull(fmt.Errorf("import: %w", err)); full != want[0] || server != want[1] {
			t.Errorf("%#v: %t, %t", err, full, server)
		}
	}
}

package datadir

import (
	"os"
	"path/filepath"
	"testing"
)

func TestKey_isMadeOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if key, err := KnownKey(dir); err != nil || key != "" {
		t.Fatalf("got %q before, %v", key, err)
	}
	first, err := Key(dir)
	if err != nil || len(first) != 64 {
		t.Fatalf("got %q, %v", first, err)
	}
	again, err := Key(dir)
	if err != nil || again != first {
		t.Errorf("got %q, %v", again, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "secret_key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

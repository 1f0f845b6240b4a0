package media

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"github.com/everthread/everthread/core"
)

// space caches the size of each user's files. It measures the files themselves, so that
// deletions, merges and restores count. Its zero value is ready.
type space struct {
	mu sync.Mutex
	of map[core.UserID]taken
}

type taken struct {
	bytes int64
	at    time.Time // when it was measured
}

// measuredFor is how long a process relies on a measurement; other processes may add files
// meanwhile.
const measuredFor = time.Minute

// spaceFor reserves n more bytes for a user's files, or returns a permanent core.ErrNoRoom.
// The owner has no bound.
func (m *Files) spaceFor(ctx context.Context, u core.UserID, n int64) error {
	most := m.PerUser
	if most <= 0 {
		return nil
	}
	who, err := m.Users.User(ctx, u)
	if err != nil {
		return fmt.Errorf("read the user of a file: %w", err)
	}
	if who.Role == core.RoleOwner {
		return nil
	}
	m.space.mu.Lock()
	defer m.space.mu.Unlock()
	t, known := m.space.of[u]
	if !known || m.Now().Sub(t.at) >= measuredFor || t.bytes+n > most {
		if t, err = m.measure(u); err != nil {
			return err
		}
	}
	if t.bytes+n > most {
		return &core.Permanent{Err: core.ErrNoRoom}
	}
	if m.space.of == nil {
		m.space.of = map[core.UserID]taken{}
	}
	t.bytes += n
	m.space.of[u] = t
	return nil
}

// measure adds up the sizes of a user's files.
func (m *Files) measure(u core.UserID) (taken, error) {
	t := taken{at: m.Now()}
	err := filepath.WalkDir(filepath.Join(m.Dir, fmt.Sprint(int64(u))), func(_ string, d fs.DirEntry, err error) error {
		var info fs.FileInfo
		if err == nil && !d.IsDir() {
			info, err = d.Info()
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it was removed meanwhile, or there is none yet
		}
		if info != nil {
			t.bytes += info.Size()
		}
		return err
	})
	if err != nil {
		return t, fmt.Errorf("measure the files of a user: %w", err)
	}
	return t, nil
}

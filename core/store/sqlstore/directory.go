package sqlstore

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// directories caches the directories of users who searched recently. An entry is valid until a
// message is edited or redacted; new messages are appended.
type directories struct {
	mu    sync.Mutex
	users map[core.UserID]*directory
	size  int // messages of all
}

type directory struct {
	store.Directory
	edits   int64
	through core.MessageID // read up to it
}

// maxDirectories bounds the cached messages, at 16 bytes each.
const maxDirectories = 4_000_000

// Directory returns a user's directory; see store.RecallStore.
func (s *Store) Directory(ctx context.Context, user core.UserID) (*store.Directory, error) {
	d := s.known.get(user)
	for {
		more := added{edits: -1, Directory: d.Directory}
		more.Segments = slices.Clip(more.Segments)
		if err := s.reads(ctx, "read directory", more.since(user, d)...); err != nil {
			return nil, err
		}
		switch {
		case more.edits < 0:
			return nil, wrap("read directory", core.ErrNotFound)
		case d.through > 0 && d.edits != more.edits:
			d = &directory{} // an earlier message has changed
			continue
		case d.through == 0 || d.through != more.last:
			d = s.known.extend(user, d, &more)
		}
		out := d.Directory
		first, _ := slices.BinarySearchFunc(out.Messages, more.indexed+1,
			func(e store.DirectoryEntry, id core.MessageID) int { return cmp.Compare(e.ID, id) })
		out.Missing = max(0, len(out.Messages)-first-tailMost)
		return &out, nil
	}
}

// get returns the cached directory, or an empty one. It must not be modified.
func (k *directories) get(user core.UserID) *directory {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e := k.users[user]; e != nil {
		return e
	}
	return &directory{}
}

// extend returns d with more, and caches it. Slices are only appended to, and those of a cached
// directory only once. So a directory in use does not change, and appending does not copy it.
func (k *directories) extend(user core.UserID, d *directory, more *added) *directory {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := d.Messages
	if k.users[user] != d {
		before = slices.Clip(before)
	}
	next := &directory{Directory: more.Directory, edits: more.edits, through: more.last}
	next.Messages = append(before, more.fresh...)
	k.put(user, next)
	return next
}

// put caches a directory, and evicts others if there is no room.
func (k *directories) put(user core.UserID, d *directory) {
	if k.users == nil {
		k.users = map[core.UserID]*directory{}
	}
	if old := k.users[user]; old != nil {
		k.size -= len(old.Messages)
	}
	k.users[user] = d
	k.size += len(d.Messages)
	for other, e := range k.users { // any: the order of a map is random
		if k.size <= maxDirectories || len(k.users) == 1 {
			return
		}
		if other != user {
			k.size -= len(e.Messages)
			delete(k.users, other)
		}
	}
}

// added is the update of a directory: the directory as it will be, but with only the fresh messages.
type added struct {
	store.Directory
	edits int64
	last  core.MessageID
	// indexed is the last message in the index.
	indexed core.MessageID
	fresh   []store.DirectoryEntry
}

// since returns the statements that read whether d is still valid, and what was added to it.
func (a *added) since(user core.UserID, d *directory) []Statement {
	var opened core.SegmentID
	if n := len(d.Segments); n > 0 {
		opened = d.Segments[n-1].ID
	}
	return []Statement{{
		Query: `SELECT h.edits, u.last_message, u.indexed FROM users u JOIN threads h ON h.user_id = $1 AND h.mode = 'continuous' WHERE u.id = $1`, Args: []any{user},
		All: func(r Row) error { return r.Scan(&a.edits, &a.last, &a.indexed) },
	}, {
		Query: `SELECT id, label FROM segments WHERE user_id = $1 AND id > $2 ORDER BY id`, Args: []any{user, opened},
		All: func(r Row) error {
			var g store.DirectorySegment
			err := r.Scan(&g.ID, &g.Label)
			a.Segments = append(a.Segments, g)
			return err
		},
	}, {
		Query: `SELECT id, segment_id, tokens, channel, role FROM messages WHERE user_id = $1 AND id > $2 AND ` + indexed +
			` ORDER BY id`, Args: []any{user, d.through},
		All: a.read,
	}}
}

// read reads one message.
func (a *added) read(r Row) error {
	var e store.DirectoryEntry
	var segment core.SegmentID
	var tokens int
	var channel string
	var role core.Role
	if err := r.Scan(&e.ID, &segment, &tokens, &channel, &role); err != nil {
		return err
	}
	n, _ := slices.BinarySearchFunc(a.Segments, segment,
		func(g store.DirectorySegment, id core.SegmentID) int { return cmp.Compare(g.ID, id) })
	e.Segment, e.Tokens, e.Channel = int32(n), uint16(min(tokens, 1<<16-1)), a.channel(channel)
	switch role {
	case core.RoleAssistant:
		e.Role = 1
	case core.RoleTool:
		e.Role = 2
	}
	a.fresh = append(a.fresh, e)
	a.Tokens += int64(tokens)
	return nil
}

// channel returns the number of a channel. Channels beyond the last number count as the first.
func (a *added) channel(name string) uint8 {
	if n := slices.Index(a.Channels, name); n >= 0 {
		return uint8(n)
	}
	if len(a.Channels) == 255 {
		return 0
	}
	a.Channels = append(slices.Clip(a.Channels), name)
	return uint8(len(a.Channels) - 1)
}

package sqlstore

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/everthread/everthread/core"
)

// directories keeps what ranking needs of users that searched lately. An entry
// holds as long as nothing was edited or redacted; what was said since is added.
type directories struct {
	mu    sync.Mutex
	users map[core.UserID]*directory
	size  int // messages of all
}

type directory struct {
	core.Directory
	edits   int64
	through core.MessageID // read up to it
}

// maxDirectories bounds the messages that are kept, at 16 bytes each.
const maxDirectories = 4_000_000

// Directory returns what ranking needs; see core.RecallStore.
func (s *Store) Directory(ctx context.Context, user core.UserID) (*core.Directory, error) {
	d := s.known.get(user)
	for {
		more := added{edits: -1}
		if err := s.reads(ctx, "read directory", more.since(user, d)...); err != nil {
			return nil, err
		}
		switch {
		case more.edits < 0:
			return nil, wrap("read directory", core.ErrNotFound)
		case d.through > 0 && d.edits != more.edits:
			d = &directory{} // something that was said is no longer what it was
			continue
		case d.through == 0 || d.through != more.last:
			d = d.with(&more)
			s.known.put(user, d)
		}
		return &d.Directory, nil
	}
}

// get returns what is kept, or an empty directory. Nobody changes it.
func (k *directories) get(user core.UserID) *directory {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e := k.users[user]; e != nil {
		return e
	}
	return &directory{}
}

func (k *directories) put(user core.UserID, d *directory) {
	k.mu.Lock()
	defer k.mu.Unlock()
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

// added is what a directory misses.
type added struct {
	edits    int64
	last     core.MessageID
	messages []listed
	segments []core.DirectorySegment
}

// listed is a message as it is read.
type listed struct {
	id      core.MessageID
	segment core.SegmentID
	tokens  int
	channel string
	role    core.Role
}

// since reads what came after d, and whether d still holds.
func (a *added) since(user core.UserID, d *directory) []Statement {
	var opened core.SegmentID
	if n := len(d.Segments); n > 0 {
		opened = d.Segments[n-1].ID
	}
	return []Statement{{
		Query: `SELECT h.edits, u.last_message FROM users u JOIN threads h ON h.user_id = u.id AND h.mode = 'continuous' WHERE u.id = $1`, Args: []any{user},
		All: func(r Row) error { return r.Scan(&a.edits, &a.last) },
	}, {
		Query: `SELECT id, segment_id, tokens, channel, role FROM messages WHERE user_id = $1 AND id > $2 AND ` + indexed + ` ORDER BY id`, Args: []any{user, d.through},
		All: func(r Row) error {
			var m listed
			err := r.Scan(&m.id, &m.segment, &m.tokens, &m.channel, (*string)(&m.role))
			a.messages = append(a.messages, m)
			return err
		},
	}, {
		Query: `SELECT id, label FROM segments WHERE user_id = $1 AND id > $2 ORDER BY id`, Args: []any{user, opened},
		All: func(r Row) error {
			var g core.DirectorySegment
			err := r.Scan(&g.ID, &g.Label)
			a.segments = append(a.segments, g)
			return err
		},
	}}
}

// with returns the directory with more. Slices are only ever appended to, so one
// that somebody still uses stays as it is.
func (d *directory) with(more *added) *directory {
	n := *d
	n.edits, n.through = more.edits, more.last
	n.Segments = append(d.Segments[:len(d.Segments):len(d.Segments)], more.segments...)
	n.Messages = slices.Grow(d.Messages[:len(d.Messages):len(d.Messages)], len(more.messages))
	for _, m := range more.messages {
		n.add(m)
	}
	return &n
}

func (d *directory) add(m listed) {
	segment, _ := slices.BinarySearchFunc(d.Segments, m.segment, func(g core.DirectorySegment, id core.SegmentID) int { return cmp.Compare(g.ID, id) })
	e := core.DirectoryEntry{ID: m.id, Segment: int32(segment), Tokens: uint16(min(m.tokens, 1<<16-1)), Channel: d.channel(m.channel)}
	switch m.role {
	case core.RoleAssistant:
		e.Role = 1
	case core.RoleTool:
		e.Role = 2
	}
	d.Messages = append(d.Messages, e)
	d.Tokens += int64(m.tokens)
}

// channel numbers a channel. Of more than there are numbers for, the rest are
// taken for the first.
func (d *directory) channel(name string) uint8 {
	if n := slices.Index(d.Channels, name); n >= 0 {
		return uint8(n)
	}
	if len(d.Channels) == 255 {
		return 0
	}
	d.Channels = append(d.Channels[:len(d.Channels):len(d.Channels)], name)
	return uint8(len(d.Channels) - 1)
}

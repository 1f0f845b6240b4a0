package sqlstore

import (
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
	edits    int64
	through  core.MessageID // read up to it
	segments map[core.SegmentID]int32
	channels map[string]uint8
}

// maxDirectories bounds the messages that are kept, at 16 bytes each.
const maxDirectories = 4_000_000

// Directory returns what ranking needs; see core.RecallStore.
func (s *Store) Directory(ctx context.Context, user core.UserID) (*core.Directory, error) {
	var d *directory
	err := s.view(ctx, "read directory", func(q querier) error {
		var edits int64
		var last core.MessageID
		err := q.row(`SELECT h.edits, u.last_message FROM users u JOIN threads h ON h.user_id = u.id AND h.mode = 'continuous' WHERE u.id = $1`, user).Scan(&edits, &last)
		if err != nil {
			return found(err)
		}
		if d = s.known.get(user, edits); d.through == last {
			return nil
		}
		return d.read(q, user, last)
	})
	if err != nil {
		return nil, err
	}
	s.known.put(user, d)
	return &d.Directory, nil
}

// get returns a copy of what is kept, to be added to, or an empty directory.
func (k *directories) get(user core.UserID, edits int64) *directory {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e := k.users[user]; e != nil && e.edits == edits {
		c := *e
		return &c
	}
	return &directory{edits: edits, segments: map[core.SegmentID]int32{}, channels: map[string]uint8{}}
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

// read adds the messages after what was read. Slices are only ever appended to,
// so a directory that somebody still uses stays as it is.
func (d *directory) read(q querier, user core.UserID, last core.MessageID) error {
	rows, err := q.rows(`SELECT id, segment_id, tokens, channel, role FROM messages WHERE user_id = $1 AND id > $2 AND id <= $3 AND `+indexed+` ORDER BY id`, user, d.through, last)
	fresh, err := collect(rows, err, scanEntry)
	if err != nil {
		return err
	}
	if err := d.readSegments(q, user, fresh); err != nil {
		return err
	}
	d.Messages = slices.Grow(d.Messages[:len(d.Messages):len(d.Messages)], len(fresh))
	for _, e := range fresh {
		d.add(e)
	}
	d.through = last
	return nil
}

// listed is a message as it is read.
type listed struct {
	id      core.MessageID
	segment core.SegmentID
	tokens  int
	channel string
	role    core.Role
}

func scanEntry(r scanner) (e listed, err error) {
	return e, r.Scan(&e.id, &e.segment, &e.tokens, &e.channel, (*string)(&e.role))
}

func (d *directory) add(e listed) {
	m := core.DirectoryEntry{ID: e.id, Segment: d.segments[e.segment], Tokens: uint16(min(e.tokens, 1<<16-1)), Channel: d.channels[e.channel]}
	switch e.role {
	case core.RoleAssistant:
		m.Role = 1
	case core.RoleTool:
		m.Role = 2
	}
	d.Messages = append(d.Messages, m)
	d.Tokens += int64(e.tokens)
}

// readSegments reads the days of messages that are not known yet, and numbers
// their channels.
func (d *directory) readSegments(q querier, user core.UserID, fresh []listed) error {
	segments, channels := d.segments, d.channels
	d.segments, d.channels = map[core.SegmentID]int32{}, map[string]uint8{}
	for id, n := range segments {
		d.segments[id] = n
	}
	for name, n := range channels {
		d.channels[name] = n
	}
	missing := false
	for _, e := range fresh {
		if _, ok := d.channels[e.channel]; !ok && len(d.channels) < 255 {
			d.channels[e.channel] = uint8(len(d.channels))
			d.Channels = append(d.Channels[:len(d.Channels):len(d.Channels)], e.channel)
		}
		_, ok := d.segments[e.segment]
		missing = missing || !ok
	}
	if !missing {
		return nil
	}
	after := core.SegmentID(0)
	if n := len(d.Segments); n > 0 {
		after = d.Segments[n-1].ID
	}
	rows, err := q.rows(`SELECT id, label FROM segments WHERE user_id = $1 AND id > $2 ORDER BY id`, user, after)
	opened, err := collect(rows, err, func(r scanner) (g core.DirectorySegment, err error) { return g, r.Scan(&g.ID, &g.Label) })
	d.Segments = d.Segments[:len(d.Segments):len(d.Segments)]
	for _, g := range opened {
		d.segments[g.ID] = int32(len(d.Segments))
		d.Segments = append(d.Segments, g)
	}
	return err
}

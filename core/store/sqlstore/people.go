package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/everthread/everthread/core"
)

const userColumns = `id, name, role, settings, standing, created_at`

func scanUser(row scanner) (core.User, error) {
	var u core.User
	var settings string
	var created int64
	if err := row.Scan(&u.ID, &u.Name, (*string)(&u.Role), &settings, &u.Standing, &created); err != nil {
		return u, found(err)
	}
	u.CreatedAt = at(created)
	return u, unjson(settings, &u.Settings)
}

// unjson reads a stored JSON text.
func unjson(s string, v any) error {
	if err := json.Unmarshal([]byte(s), v); err != nil {
		return fmt.Errorf("read stored %T: %w", v, err)
	}
	return nil
}

// prefixed puts a table's alias before each of a list of columns.
func prefixed(alias, columns string) string {
	return alias + "." + strings.ReplaceAll(columns, ", ", ", "+alias+".")
}

// User returns a user, or ErrNotFound.
func (s *Store) User(ctx context.Context, id core.UserID) (core.User, error) {
	return scanUser(s.one(ctx).row(`SELECT `+userColumns+` FROM users WHERE id = $1 AND role <> 'none'`, id))
}

// Users lists all users.
func (s *Store) Users(ctx context.Context) ([]core.User, error) {
	rows, err := s.one(ctx).rows(`SELECT ` + userColumns + ` FROM users WHERE id > 0 AND role <> 'none' ORDER BY id`)
	return collect(rows, err, scanUser)
}

// AddUser makes a user with a continuous thread. A second owner is ErrExists.
func (s *Store) AddUser(ctx context.Context, u core.User) (core.User, error) {
	err := s.update(ctx, "add user", 0, func(t *tx) error {
		if u.Role == core.RoleOwner {
			var owners int
			if err := t.row(`SELECT COUNT(*) FROM users WHERE role = 'owner'`).Scan(&owners); err != nil {
				return err
			}
			if owners > 0 {
				return core.ErrExists
			}
		}
		var err error
		if u.ID, err = t.addUser(u); err != nil {
			return err
		}
		return t.born(u.ID)
	})
	return u, err
}

// AddUserAt makes a user with an address; see core.PeopleStore.
func (s *Store) AddUserAt(ctx context.Context, u core.User, i core.Identity) (core.User, error) {
	err := s.update(ctx, "add user", 0, func(t *tx) (err error) {
		if u.ID, err = t.addUser(u); err != nil {
			return err
		}
		if err := t.born(u.ID); err != nil {
			return err
		}
		other := t.beside()
		other.user = u.ID
		if err := t.send(); err != nil {
			return err
		}
		if err := other.ask(other.lock()); err != nil {
			return err
		}
		if _, err := other.addIdentity(i); err != nil {
			return err
		}
		return other.flushAll()
	})
	return u, err
}

// addUser makes a user under the lock of user 0, whose message counter counts users.
func (t *tx) addUser(u core.User) (core.UserID, error) {
	id := core.UserID(t.nextMessage())
	err := t.exec(`INSERT INTO users (id, name, role, settings, last_id, created_at) VALUES ($1, $2, $3, $4, 1, $5)`,
		id, u.Name, string(u.Role), text(u.Settings), ms(u.CreatedAt))
	if err != nil {
		return 0, err
	}
	return id, t.exec(`INSERT INTO threads (user_id, id, mode, title, created_at) VALUES ($1, 1, 'continuous', '', $2)`,
		id, ms(u.CreatedAt))
}

// Identities lists a user's identities, last used first.
func (s *Store) Identities(ctx context.Context, user core.UserID) ([]core.Identity, error) {
	rows, err := s.one(ctx).rows(`SELECT `+identityColumns+
		` FROM identities i WHERE user_id = $1 AND detached = 0 ORDER BY last_used DESC, id`, user)
	return collect(rows, err, scanIdentity)
}

// AddIdentity attaches an address. ErrExists if it is somebody's.
func (s *Store) AddIdentity(ctx context.Context, i core.Identity) (core.Identity, error) {
	err := s.update(ctx, "add identity", i.User, func(t *tx) (err error) {
		if i.ID, err = t.addIdentity(i); err != nil {
			return err
		}
		return t.did(core.AuditIdentity, "identity", int64(i.ID))
	})
	return i, err
}

func (t *tx) addIdentity(i core.Identity) (core.IdentityID, error) {
	id := core.IdentityID(t.nextID())
	n, err := t.count(`INSERT INTO addresses (channel, account, external, user_id, identity_id) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (channel, account, external) DO NOTHING`, i.Address.Channel, i.Address.Account,
		i.Address.External, t.user, id)
	if err != nil || n == 0 {
		return 0, orExists(err)
	}
	return id,
		t.exec(
			`INSERT INTO identities (user_id, id, channel, account, external, name, last_used) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			t.user, id, i.Address.Channel, i.Address.Account, i.Address.External, i.Name, ms(i.LastUsed))
}

// identityAt is the user's identity at an address, 0 if they have none there.
func (t *tx) identityAt(a core.Address) (core.IdentityID, error) {
	var id core.IdentityID
	err := t.row(`SELECT id FROM identities WHERE user_id = $1 AND channel = $2 AND account = $3 AND external = $4 AND detached = 0`,
		t.user, a.Channel, a.Account, a.External).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return id, err
}

// DeleteUser removes a user and everything that is theirs; see core.PeopleStore.
func (s *Store) DeleteUser(ctx context.Context, id core.UserID) ([]string, error) {
	var files []string
	err := s.unbounded(ctx, "delete user", id, func(t *tx) error {
		u, err := scanUser(t.row(`SELECT `+userColumns+` FROM users WHERE id = $1 AND id > 0`, t.user))
		if err != nil {
			return err
		}
		if u.Role == core.RoleOwner {
			return core.ErrRefused
		}
		if moves, err := moveBegun(t, 0, id, id); err != nil || moves {
			return cmp.Or(err, core.ErrMoving)
		}
		if files, err = t.files(); err != nil {
			return err
		}
		if err := t.deleteAsStranger(); err != nil {
			return err
		}
		if err := t.deleteIndex(); err != nil {
			return err
		}
		for _, table := range Tables() {
			if table.Owner == "" {
				continue
			}
			if err := t.exec(table.deleteAll(), t.user); err != nil {
				return err
			}
		}
		if err := t.exec(`DELETE FROM users WHERE id = $1`, t.user); err != nil {
			return err
		}
		if err := t.exercisedBy0(core.AuditRow{What: core.AuditUserDeleted, Object: "user",
			IDs: []int64{int64(t.user)}}); err != nil {
			return err
		}
		free, err := t.folders(files)
		files = append(files, free...)
		return err
	})
	return files, err
}

// deleteIndex removes what is found of a user by words and by meaning.
func (t *tx) deleteIndex() error {
	for _, kind := range []core.VectorKind{core.VectorWindow, core.VectorItem, core.VectorFile} {
		rows, err := t.rows(`SELECT id FROM embeddings WHERE user_id = $1 AND kind = $2`, t.user, string(kind))
		ids, err := collect(rows, err, func(r scanner) (id int64, err error) { return id, r.Scan(&id) })
		for _, id := range ids {
			if err == nil {
				err = t.all(t.s.dialect.Vector.Drop(kind, t.user, id))
			}
		}
		if err != nil {
			return err
		}
	}
	for _, kind := range []core.DocKind{core.DocMessage, core.DocSummary, core.DocItem, core.DocFile} {
		if err := t.all([]Statement{t.s.dialect.Terms.DropUser(kind, t.user)}); err != nil {
			return err
		}
	}
	return nil
}

// files lists the attachments of all of a user's messages.
func (t *tx) files() ([]string, error) {
	var out []string
	rows, err := t.rows(`SELECT extra FROM messages WHERE user_id = $1 AND extra LIKE '%"path":%'`, t.user)
	_, err = collect(rows, err, func(r scanner) (x extra, err error) {
		var stored string
		if err := r.Scan(&stored); err != nil {
			return x, err
		}
		err = unjson(stored, &x)
		for _, f := range x.Files {
			if f.Path != "" {
				out = append(out, f.Path)
			}
		}
		return x, err
	})
	return out, err
}

// folders lists the folders of a deleted user and of their files in which nobody
// else has any: after a merge or split they may have some there.
func (t *tx) folders(files []string) ([]string, error) {
	names := []string{strconv.FormatInt(int64(t.user), 10)}
	for _, f := range files {
		if name, _, ok := strings.Cut(f, "/"); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	merged, moved, err := t.mergedInto()
	if err != nil || !moved {
		return names, err
	}
	for _, id := range merged {
		if name := strconv.FormatInt(int64(id), 10); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	var free []string
	for _, name := range names {
		var taken bool
		err := t.row(`SELECT EXISTS (SELECT 1 FROM messages WHERE user_id <> $1 AND extra <> '{}' AND extra LIKE $2)`, t.user,
			`%"path":"`+name+`/%`).Scan(&taken)
		if err != nil {
			return nil, err
		}
		if !taken {
			free = append(free, name)
		}
	}
	return free, nil
}

// mergedInto lists who became a part of a user, and reports whether anything of
// theirs was ever moved.
func (t *tx) mergedInto() (all []core.UserID, moved bool, err error) {
	rows, err := t.rows(
		`SELECT from_user, into_user, kind FROM moves WHERE phase = 'done' AND from_user <> into_user ORDER BY id`)
	became := map[core.UserID][]core.UserID{}
	_, err = collect(rows, err, func(r scanner) (kind core.MoveKind, err error) {
		var from, into core.UserID
		err = r.Scan(&from, &into, &kind)
		moved = moved || from == t.user || into == t.user
		if kind == core.MoveMerge {
			became[into] = append(append(became[into], became[from]...), from)
		}
		return kind, err
	})
	return became[t.user], moved, err
}

// deleteAsStranger removes what a user's addresses left before they were somebody's.
func (t *tx) deleteAsStranger() error {
	const theirs = ` WHERE user_id = 0 AND (channel, account, external) IN
		(SELECT channel, account, external FROM addresses WHERE user_id = $1)`
	for _, query := range []string{
		`DELETE FROM delivery_parts WHERE user_id = 0 AND delivery_id IN (SELECT id FROM deliveries` + theirs + `)`,
		`DELETE FROM jobs WHERE user_id = 0 AND queue LIKE 'deliver:%' AND ref IN (SELECT id FROM deliveries` + theirs +
			`)`,
		`DELETE FROM deliveries` + theirs,
		`DELETE FROM event_ids WHERE (channel, account, event_id) IN (SELECT channel, account, event_id FROM events` +
			theirs + `)`,
		`DELETE FROM events` + theirs,
		`DELETE FROM tokens WHERE (kind, hash) IN (SELECT kind, hash FROM codes` + theirs + `)`,
		`DELETE FROM codes` + theirs,
	} {
		if err := t.exec(query, t.user); err != nil {
			return err
		}
	}
	return nil
}

// MoveIdentity gives an address to another user; see core.PeopleStore. Both are
// locked in the order of their ids.
func (s *Store) MoveIdentity(ctx context.Context, i core.Identity, to core.UserID) error {
	return s.update(ctx, "move identity", min(i.User, to), func(t *tx) error {
		other := t.beside()
		other.user = max(i.User, to)
		if err := other.unfrozen(); err != nil {
			return err
		}
		from, into := t, other
		if i.User != t.user {
			from, into = other, t
		}
		if err := from.unlink(i.ID); err != nil {
			return err
		}
		id, err := into.addIdentity(i)
		if err != nil {
			return err
		}
		if err := errors.Join(from.did(core.AuditUnlink, "identity", int64(i.ID)), into.did(core.AuditIdentity, "identity",
			int64(id))); err != nil {
			return err
		}
		return other.flushAll()
	})
}

// approve attaches the address of a pairing code to a user, and hands out what
// it wrote meanwhile.
func (t *tx) approve(e core.Approve, out *core.Noted) error {
	c, err := t.useCode(core.CodePair, e.CodeHash, e.At)
	if err != nil {
		return err
	}
	other := t.beside()
	if other.user, err = t.approved(e, c); err != nil {
		return err
	}
	if other.user == t.user {
		other = t
	} else if err := other.unfrozen(); err != nil {
		return err
	}
	if _, err := other.addIdentity(core.Identity{Address: c.Address, Name: c.Name, LastUsed: e.At}); err != nil {
		return err
	}
	if err := t.did(core.AuditApprove, "user", int64(other.user)); err != nil {
		return err
	}
	if other != t {
		if err := other.flushAll(); err != nil {
			return err
		}
	}
	rows, err := t.rows(
		`SELECT payload FROM events WHERE user_id = 0 AND channel = $1 AND account = $2 AND external = $3 AND state = 'held' AND payload IS NOT NULL ORDER BY received_at`,
		c.Address.Channel, c.Address.Account, c.Address.External)
	out.Released, err = collect(rows, err, scanHeld)
	return err
}

// unfrozen locks the user of a transaction beside another one, for writing.
func (t *tx) unfrozen() error {
	err := t.enter()
	if err == nil && t.moving == frozen {
		return core.ErrMoving
	}
	return err
}

// beside is the same transaction for another user, whose row is still to be locked.
func (t *tx) beside() *tx { return &tx{db: t.db, conn: t.conn, s: t.s, ctx: t.ctx, touched: t.touched} }

func (t *tx) approved(e core.Approve, c core.Code) (core.UserID, error) {
	if e.User != 0 {
		return e.User, nil
	}
	name := e.Name
	if name == "" {
		name = c.Name
	}
	counter := t.beside()
	if err := counter.ask(counter.lock()); err != nil {
		return 0, err
	}
	id, err := counter.addUser(core.User{Name: name, Role: core.RoleMember, CreatedAt: e.At})
	if err != nil {
		return 0, err
	}
	return id, counter.flushAll()
}

package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/everthread/everthread/core"
)

const userColumns = `id, name, role, settings, standing, created_at`

// userDest returns the destinations of userColumns.
func userDest(u *core.User) []any {
	return []any{&u.ID, &u.Name, &u.Role, asJSON(&u.Settings), &u.Standing, asTime(&u.CreatedAt)}
}

func scanUser(row scanner) (u core.User, err error) { return u, found(row.Scan(userDest(&u)...)) }

// unjson decodes a stored JSON text.
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
	return list(s.one(ctx), scanUser, `SELECT `+userColumns+` FROM users WHERE id > 0 AND role <> 'none' ORDER BY id`)
}

// AddUser creates a user with a continuous thread. core.ErrExists for a second owner.
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
		return t.auditUserMade(u.ID)
	})
	return u, err
}

// AddUserAt creates a user with an identity; see core.PeopleStore.
func (s *Store) AddUserAt(ctx context.Context, u core.User, i core.Identity) (core.User, error) {
	err := s.update(ctx, "add user", 0, func(t *tx) (err error) {
		if u.ID, err = t.addUser(u); err != nil {
			return err
		}
		if err := t.auditUserMade(u.ID); err != nil {
			return err
		}
		return t.asUser(u.ID, func(made *tx) error {
			_, err := made.addIdentity(i)
			return err
		})
	})
	return u, err
}

// addUser creates a user under the lock of user 0, whose message counter counts users.
func (t *tx) addUser(u core.User) (core.UserID, error) {
	id := core.UserID(t.nextMessage())
	err := t.exec(`INSERT INTO users (id, name, role, settings, last_id, created_at) VALUES ($1, $2, $3, $4, 1, $5)`, id, u.Name, string(u.Role), text(u.Settings), ms(u.CreatedAt))
	if err != nil {
		return 0, err
	}
	return id, t.exec(`INSERT INTO threads (user_id, id, mode, title, created_at) VALUES ($1, 1, 'continuous', '', $2)`,
		id, ms(u.CreatedAt))
}

// Identities lists a user's identities, last used first.
func (s *Store) Identities(ctx context.Context, user core.UserID) ([]core.Identity, error) {
	return list(s.one(ctx), scanIdentity, `SELECT `+identityColumns+
		` FROM identities i WHERE user_id = $1 AND detached = 0 ORDER BY last_used DESC, id`, user)
}

// AddIdentity attaches an address. core.ErrExists if it is taken.
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
	err := t.execOr(core.ErrExists, `INSERT INTO addresses (channel, account, external, user_id, identity_id) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (channel, account, external) DO NOTHING`, i.Address.Channel, i.Address.Account,
		i.Address.External, t.user, id)
	if err != nil {
		return 0, err
	}
	return id, t.exec(`INSERT INTO identities (user_id, id, channel, account, external, name, last_used) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		t.user, id, i.Address.Channel, i.Address.Account, i.Address.External, i.Name, ms(i.LastUsed))
}

// identityAt returns the user's identity at an address, 0 if there is none.
func (t *tx) identityAt(a core.Address) (core.IdentityID, error) {
	var id core.IdentityID
	err := t.row(`SELECT id FROM identities WHERE user_id = $1 AND channel = $2 AND account = $3 AND external = $4 AND detached = 0`,
		t.user, a.Channel, a.Account, a.External).Scan(&id)
	return id, optional(err)
}

// DeleteUser removes a user with all data; see core.PeopleStore.
func (s *Store) DeleteUser(ctx context.Context, id core.UserID) ([]string, error) {
	var files []string
	err := s.updateLong(ctx, "delete user", id, func(t *tx) error {
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
		remove := []func() error{t.deleteAsStranger, t.deleteIndex, func() error { return t.deleteRows(t.user) }}
		for step := range until(&err, remove) {
			err = step()
		}
		if err != nil {
			return err
		}
		if err := t.auditAs(0, core.AuditRow{What: core.AuditUserDeleted, Object: "user",
			IDs: []int64{int64(t.user)}}); err != nil {
			return err
		}
		free, err := t.folders(files)
		files = append(files, free...)
		return err
	})
	return files, err
}

// deleteIndex removes a user's vectors and terms.
func (t *tx) deleteIndex() error {
	var err error
	for kind := range until(&err, []core.VectorKind{core.VectorWindow, core.VectorItem, core.VectorFile}) {
		err = t.dropVectors(kind, t.user, "")
	}
	for kind := range until(&err, DocKinds()) {
		err = t.execAll(t.s.dialect.Terms.DropUser(kind, t.user))
	}
	return err
}

// dropVectors removes the vectors of a kind that match where; args are its arguments, from $3 on.
func (t *tx) dropVectors(kind core.VectorKind, user core.UserID, where string, args ...any) error {
	ids, err := list(t, column[int64], `SELECT id FROM embeddings WHERE user_id = $1 AND kind = $2`+where,
		append([]any{user, string(kind)}, args...)...)
	for id := range until(&err, ids) {
		err = t.execAll(t.s.dialect.Vector.Drop(kind, user, id)...)
	}
	return err
}

// deleteRows deletes all rows of a user.
func (t *tx) deleteRows(user core.UserID) (err error) {
	for table := range until(&err, Tables()) {
		if table.Owner != "" {
			err = t.exec(table.deleteAll(), user)
		}
	}
	if err != nil {
		return err
	}
	return t.exec(`DELETE FROM users WHERE id = $1`, user)
}

// files lists the attachments of all of a user's messages.
func (t *tx) files() ([]string, error) {
	var out []string
	all, err := list(t, fields(func(x *extra) []any { return []any{asJSON(x)} }),
		`SELECT extra FROM messages WHERE user_id = $1 AND extra LIKE '%"path":%'`, t.user)
	for _, x := range all {
		for _, f := range x.Files {
			if f.Path != "" {
				out = append(out, f.Path)
			}
		}
	}
	return out, err
}

// folders lists the folders of a deleted user and of their files that hold no other user's
// files. Others may have some there after a merge or split.
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
	for name := range until(&err, names) {
		var taken bool
		if err = t.row(`SELECT EXISTS (SELECT 1 FROM messages WHERE user_id <> $1 AND extra <> '{}' AND extra LIKE $2)`, t.user,
			`%"path":"`+name+`/%`).Scan(&taken); !taken {
			free = append(free, name)
		}
	}
	return free, err
}

// mergedInto lists the users merged into t's user, and reports whether any move ever involved
// that user.
func (t *tx) mergedInto() (all []core.UserID, moved bool, err error) {
	done, err := list(t, fields(func(m *core.Move) []any { return []any{&m.From, &m.Into, &m.Kind} }),
		`SELECT from_user, into_user, kind FROM moves WHERE phase = 'done' AND from_user <> into_user ORDER BY id`)
	became := map[core.UserID][]core.UserID{}
	for _, m := range done {
		moved = moved || m.From == t.user || m.Into == t.user
		if m.Kind == core.MoveMerge {
			became[m.Into] = append(append(became[m.Into], became[m.From]...), m.From)
		}
	}
	return became[t.user], moved, err
}

// deleteAsStranger removes rows that a user's addresses left as strangers.
func (t *tx) deleteAsStranger() error {
	const theirs = ` WHERE user_id = 0 AND (channel, account, external) IN
		(SELECT channel, account, external FROM addresses WHERE user_id = $1)`
	return t.execEach([]string{
		`DELETE FROM delivery_parts WHERE user_id = 0 AND delivery_id IN (SELECT id FROM deliveries` + theirs + `)`,
		`DELETE FROM jobs WHERE user_id = 0 AND queue LIKE 'deliver:%' AND ref IN (SELECT id FROM deliveries` + theirs +
			`)`,
		`DELETE FROM deliveries` + theirs,
		`DELETE FROM event_ids WHERE (channel, account, event_id) IN (SELECT channel, account, event_id FROM events` +
			theirs + `)`,
		`DELETE FROM events` + theirs,
		`DELETE FROM tokens WHERE (kind, hash) IN (SELECT kind, hash FROM codes` + theirs + `)`,
		`DELETE FROM codes` + theirs,
	}, t.user)
}

// MoveIdentity gives an identity to another user; see core.PeopleStore. Both users are locked in
// the order of their ids.
func (s *Store) MoveIdentity(ctx context.Context, i core.Identity, to core.UserID) error {
	return s.update(ctx, "move identity", min(i.User, to), func(t *tx) error {
		other := t.forUser(max(i.User, to))
		if err := other.lockOther(); err != nil {
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

// approve attaches the address of a pairing code to a user, and releases its held events.
func (t *tx) approve(e core.Approve, out *core.Noted) error {
	c, err := t.useCode(core.CodePair, e.CodeHash, e.At)
	if err != nil {
		return err
	}
	user, err := t.approved(e, c)
	if err != nil {
		return err
	}
	other := t
	if user != t.user {
		other = t.forUser(user)
		if err := other.lockOther(); err != nil {
			return err
		}
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
	out.Released, err = list(t, scanHeld,
		`SELECT payload FROM events WHERE user_id = 0 AND channel = $1 AND account = $2 AND external = $3 AND state = 'held' AND payload IS NOT NULL ORDER BY received_at`,
		c.Address.Channel, c.Address.Account, c.Address.External)
	return err
}

// approved returns the user for an approved address, and creates one if need be.
func (t *tx) approved(e core.Approve, c core.Code) (id core.UserID, err error) {
	if e.User != 0 {
		return e.User, nil
	}
	err = t.asUser(0, func(zero *tx) (err error) {
		id, err = zero.addUser(core.User{Name: cmp.Or(e.Name, c.Name), Role: core.RoleMember, CreatedAt: e.At})
		return err
	})
	return id, err
}

// FindUsers returns a page of matching users; see core.PeopleStore.
func (s *Store) FindUsers(ctx context.Context, words string, offset, limit int) (page []core.User, total int,
	err error) {
	if words != "" {
		return s.usersNamed(ctx, strings.ToLower(words), offset, limit)
	}
	const all = ` FROM users WHERE id > 0 AND role <> 'none'`
	if err := s.one(ctx).row(`SELECT COUNT(*)` + all).Scan(&total); err != nil {
		return nil, 0, err
	}
	page, err = list(s.one(ctx), scanUser, `SELECT `+userColumns+all+` ORDER BY id LIMIT $1 OFFSET $2`, limit, offset)
	return page, total, err
}

// usersNamed compares names in Go, as SQLite folds the case of ASCII only.
func (s *Store) usersNamed(ctx context.Context, words string, offset, limit int) (page []core.User, total int,
	err error) {
	wanted, _ := strconv.ParseInt(strings.TrimPrefix(words, "#"), 10, 64)
	found, err := list(s.one(ctx), fields(func(u *core.User) []any { return []any{&u.ID, &u.Name} }),
		`SELECT id, name FROM users WHERE id > 0 AND role <> 'none' ORDER BY id`)
	if err != nil {
		return nil, 0, err
	}
	found = slices.DeleteFunc(found, func(u core.User) bool {
		return u.ID != core.UserID(wanted) && !strings.Contains(strings.ToLower(u.Name), words)
	})
	for _, named := range found[min(offset, len(found)):min(offset+limit, len(found))] {
		u, err := s.User(ctx, named.ID)
		if errors.Is(err, core.ErrNotFound) {
			continue // deleted meanwhile
		}
		if err != nil {
			return nil, 0, err
		}
		page = append(page, u)
	}
	return page, len(found), nil
}

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
	"github.com/everthread/everthread/core/audit"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

const userColumns = `id, name, role, settings, standing, services, created_at`

// userDest returns the destinations of userColumns.
func userDest(u *core.User) []any {
	return []any{&u.ID, &u.Name, &u.Role, asJSON(&u.Settings), &u.Standing, asJSON(&u.Services),
		asTime(&u.CreatedAt)}
}

func scanUser(row scanner) (u core.User, err error) { return u, found(row.Scan(userDest(&u)...)) }

// unjson decodes a stored JSON text.
func unjson(s string, v any) error {
	if err := json.Unmarshal([]byte(s), v); err != nil {
		return fmt.Errorf("read stored %T: %w", v, err)
	}
	return nil
}

// ownSettings returns the user's settings.
func (t *tx) ownSettings() (s core.Settings) {
	t.fail(unjson(t.settings, &s))
	return s
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

// Groups lists all groups.
func (s *Store) Groups(ctx context.Context) ([]core.User, error) {
	return list(s.one(ctx), scanUser, `SELECT `+userColumns+` FROM users WHERE role = 'group' ORDER BY id`)
}

// AddUser creates a user with a continuous thread. core.ErrExists for a second owner.
func (s *Store) AddUser(ctx context.Context, u core.User) (core.User, error) {
	err := s.update(ctx, "add user", 0, func(t *tx) {
		if u.Role == core.RoleOwner {
			owners := valueOf[int](t, `SELECT COUNT(*) FROM users WHERE role = 'owner'`)
			if owners > 0 {
				t.fail(core.ErrExists)
			}
		}
		u.ID = t.addUser(u)
		t.auditUserMade(u.ID)
	})
	return u, err
}

// AddUserAt creates a user with an identity; see store.PeopleStore.
func (s *Store) AddUserAt(ctx context.Context, u core.User, i core.Identity) (core.User, error) {
	err := s.update(ctx, "add user", 0, func(t *tx) {
		u.ID = t.addUser(u)
		t.auditUserMade(u.ID)
		t.asUser(u.ID, func(made *tx) {
			made.addIdentity(i, core.ErrExists)
		})
	})
	return u, err
}

// addUser creates a user under the lock of user 0, whose message counter counts users.
func (t *tx) addUser(u core.User) core.UserID {
	id := core.UserID(t.nextMessage())
	t.exec(`INSERT INTO users (id, name, role, settings, last_id, created_at) VALUES ($1, $2, $3, $4, 1, $5)`, id, u.Name, string(u.Role), text(u.Settings), ms(u.CreatedAt))
	t.exec(`INSERT INTO threads (user_id, id, mode, title, created_at) VALUES ($1, 1, 'continuous', '', $2)`,
		id, ms(u.CreatedAt))
	return id
}

// Identities lists a user's identities, last used first.
func (s *Store) Identities(ctx context.Context, user core.UserID) ([]core.Identity, error) {
	return list(s.one(ctx), scanIdentity, `SELECT `+identityColumns+
		` FROM identities i WHERE user_id = $1 AND detached = 0 ORDER BY last_used DESC, id`, user)
}

// AddIdentity attaches an address. core.ErrExists if it is taken.
func (s *Store) AddIdentity(ctx context.Context, i core.Identity) (core.Identity, error) {
	err := s.update(ctx, "add identity", i.User, func(t *tx) {
		i.ID = t.addIdentity(i, core.ErrExists)
		t.did(audit.Identity, "identity", int64(i.ID))
	})
	return i, err
}

// addIdentity attaches an address to the user. It fails with taken if the address has a user, and with core.ErrRefused
// for a group, whose only address is that of its chat.
func (t *tx) addIdentity(i core.Identity, taken error) core.IdentityID {
	if t.role == string(core.RoleGroup) && valueOf[bool](t, `SELECT EXISTS (SELECT 1 FROM identities WHERE user_id = $1)`, t.user) {
		t.fail(core.ErrRefused)
		return 0
	}
	id := core.IdentityID(t.nextID())
	t.execOr(taken, `INSERT INTO addresses (channel, account, external, user_id, identity_id) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (channel, account, external) DO NOTHING`, i.Address.Channel, i.Address.Account,
		i.Address.External, t.user, id)
	t.exec(`INSERT INTO identities (user_id, id, channel, account, external, name, last_used) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		t.user, id, i.Address.Channel, i.Address.Account, i.Address.External, i.Name, ms(i.LastUsed))
	return id
}

// identityAt returns the user's identity at an address, 0 if there is none.
func (t *tx) identityAt(a core.Address) core.IdentityID {
	var id core.IdentityID
	t.find(&id, `SELECT id FROM identities WHERE user_id = $1 AND channel = $2 AND account = $3 AND external = $4 AND detached = 0`,
		t.user, a.Channel, a.Account, a.External)
	return id
}

// DeleteUser removes a user with all data; see store.PeopleStore.
func (s *Store) DeleteUser(ctx context.Context, id core.UserID) ([]string, error) {
	var files []string
	err := s.updateLong(ctx, "delete user", id, func(t *tx) {
		u := rowOf(t, scanUser, `SELECT `+userColumns+` FROM users WHERE id = $1 AND id > 0`, t.user)
		if u.Role == core.RoleOwner {
			t.fail(core.ErrRefused)
			return
		}
		files = t.files()
		t.deleteAsStranger()
		t.deleteIndex()
		t.deleteRows(t.user)
		t.auditAs(0, audit.Row{What: audit.UserDeleted, Object: "user", IDs: []int64{int64(t.user)}})
		files = append(files, t.folders(files)...)
	})
	return files, err
}

// deleteIndex removes a user's vectors and terms.
func (t *tx) deleteIndex() {
	for _, kind := range []core.VectorKind{core.VectorWindow, core.VectorItem, core.VectorFile} {
		t.dropVectors(kind, t.user, "")
	}
	for _, kind := range DocKinds() {
		t.execAll(t.s.dialect.Terms.DropUser(kind, t.user))
	}
}

// dropVectors removes the vectors of a kind that match where; args are its arguments, from $3 on.
func (t *tx) dropVectors(kind core.VectorKind, user core.UserID, where string, args ...any) {
	for _, id := range listOf(t, column[int64], `SELECT id FROM embeddings WHERE user_id = $1 AND kind = $2`+where,
		append([]any{user, string(kind)}, args...)...) {
		t.execAll(t.s.dialect.Vector.Drop(kind, user, id)...)
	}
}

// deleteRows deletes all rows of a user.
func (t *tx) deleteRows(user core.UserID) {
	for _, table := range Tables() {
		if table.Owner != "" {
			t.exec(table.deleteAll(), user)
		}
	}
	t.exec(`DELETE FROM users WHERE id = $1`, user)
}

// files lists the attachments of all of a user's messages.
func (t *tx) files() []string {
	var out []string
	all := listOf(t, fields(func(x *extra) []any { return []any{asJSON(x)} }),
		`SELECT extra FROM messages WHERE user_id = $1 AND extra LIKE '%"path":%'`, t.user)
	for _, x := range all {
		for _, f := range x.Files {
			if f.Path != "" {
				out = append(out, f.Path)
			}
		}
	}
	return out
}

// folders lists the folders of a deleted user, of the users merged into that user, and of their files.
func (t *tx) folders(files []string) []string {
	became := map[core.UserID][]core.UserID{}
	for _, m := range listOf(t, scanMerge,
		`SELECT `+mergeColumns+` FROM merges WHERE phase <> 'asked' AND from_user <> into_user ORDER BY id`) {
		became[m.Into] = append(append(became[m.Into], became[m.From]...), m.From)
	}
	var names []string
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	add(strconv.FormatInt(int64(t.user), 10))
	for _, f := range files {
		if name, _, ok := strings.Cut(f, "/"); ok {
			add(name)
		}
	}
	for _, id := range became[t.user] {
		add(strconv.FormatInt(int64(id), 10))
	}
	return names
}

// deleteAsStranger removes rows that a user's addresses left as strangers.
func (t *tx) deleteAsStranger() {
	const theirs = ` WHERE user_id = 0 AND (channel, account, external) IN
		(SELECT channel, account, external FROM addresses WHERE user_id = $1)`
	t.execEach([]string{
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

// MoveIdentity gives an identity to another user; see store.PeopleStore. Both users are locked in
// the order of their ids.
func (s *Store) MoveIdentity(ctx context.Context, i core.Identity, to core.UserID) error {
	return s.update(ctx, "move identity", min(i.User, to), func(t *tx) {
		other := t.forUser(max(i.User, to))
		other.enter()
		from, into := t, other
		if i.User != t.user {
			from, into = other, t
		}
		from.unlink(i.ID)
		id := into.addIdentity(i, core.ErrExists)
		from.did(audit.Unlink, "identity", int64(i.ID))
		into.did(audit.Identity, "identity", int64(id))
		other.flush()
	})
}

// approve attaches the address of a pairing code to a user, and releases its held events.
func (t *tx) approve(e effect.Approve, out *store.Noted) {
	c := t.useCode(effect.CodePair, e.CodeHash, e.At)
	user := t.approved(e, c)
	other := t
	if user != t.user {
		other = t.forUser(user)
		other.enter()
	}
	other.addIdentity(core.Identity{Address: c.Address, Name: c.Name, LastUsed: e.At}, core.ErrExists)
	t.did(audit.Approve, "user", int64(other.user))
	if other != t {
		other.flush()
	}
	out.Released = listOf(t, scanHeld,
		`SELECT payload FROM events WHERE user_id = 0 AND channel = $1 AND account = $2 AND external = $3 AND state = 'held' AND payload IS NOT NULL ORDER BY received_at`,
		c.Address.Channel, c.Address.Account, c.Address.External)
}

// approved returns the user for an approved address, and creates one if need be.
func (t *tx) approved(e effect.Approve, c effect.Code) (id core.UserID) {
	made := core.User{Name: cmp.Or(e.Name, c.Name), Role: core.RoleMember, CreatedAt: e.At}
	if c.Group {
		made.Role, made.Settings = core.RoleGroup, core.Settings{Summaries: "off", Zone: t.ownSettings().Zone,
			Language: t.ownSettings().Language}
	}
	if e.User != 0 && c.Group {
		t.fail(core.ErrRefused)
	}
	if e.User != 0 {
		return e.User
	}
	t.asUser(0, func(zero *tx) { id = zero.addUser(made) })
	return id
}

// FindUsers returns a page of matching users; see store.PeopleStore.
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

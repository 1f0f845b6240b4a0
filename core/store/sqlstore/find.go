package sqlstore

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/everthread/everthread/core"
)

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
	page, err = list(s.one(ctx), scanUser,
		`SELECT `+userColumns+all+` ORDER BY id LIMIT $1 OFFSET $2`, limit, offset)
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

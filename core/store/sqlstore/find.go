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
	rows, err := s.one(ctx).rows(`SELECT id, name FROM users WHERE id > 0 AND role <> 'none' ORDER BY id`)
	found, err := collect(rows, err, func(row scanner) (core.UserID, error) {
		var u core.User
		err := row.Scan(&u.ID, &u.Name)
		if u.ID != core.UserID(wanted) && !strings.Contains(strings.ToLower(u.Name), words) {
			return 0, err
		}
		return u.ID, err
	})
	if err != nil {
		return nil, 0, err
	}
	found = slices.DeleteFunc(found, func(id core.UserID) bool { return id == 0 })
	for _, id := range found[min(offset, len(found)):min(offset+limit, len(found))] {
		u, err := s.User(ctx, id)
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

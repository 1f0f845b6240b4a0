package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store/sqlstore"
)

// place is where Citus keeps a table.
type place string

// A distributed table is stored with its users, a local one on the coordinator, where every node
// can read it. An unplaced one is unknown to Citus.
const (
	unplaced    place = ""
	distributed place = "distributed"
	local       place = "local"
)

// placed is the place of a table.
type placed struct {
	table, column string
	place         place
}

// places returns the places of all tables of the schema, users first, as others are colocated with it.
func places() []placed {
	out := []placed{{"users", "id", distributed}}
	for _, t := range sqlstore.Tables() {
		switch {
		case t.Name == "users":
		case t.Owner != "" && !t.Shared:
			out = append(out, placed{t.Name, t.Owner, distributed})
		default:
			out = append(out, placed{t.Name, "", local})
		}
	}
	for _, kind := range sqlstore.DocKinds() {
		out = append(out, placed{string(kind) + "_terms", "user_id", distributed})
	}
	return append(out, placed{versions, "", local})
}

// Distribute migrates the schema and distributes it over the nodes of Citus by user. It skips
// tables that are in their place, so it can continue after an interruption.
func (s *Store) Distribute(ctx context.Context) error {
	c, err := s.alone(ctx)
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	if err := capable(ctx, c); err != nil {
		return err
	}
	if err := s.migrate(ctx); err != nil {
		return err
	}
	return s.distribute(ctx, c)
}

// Distributed reports whether the database is distributed, and lists tables in the wrong place.
func (s *Store) Distributed(ctx context.Context) (yes bool, astray []string, err error) {
	where, err := whereabouts(ctx, s.pool)
	if err != nil {
		return false, nil, fmt.Errorf("read how the database is distributed: %w", err)
	}
	for _, p := range places() {
		if there, ok := where[p.table]; ok && there != p.place {
			astray = append(astray, p.table)
		}
		yes = yes || where[p.table] != unplaced
	}
	if !yes {
		astray = nil
	}
	return yes, astray, nil
}

// capable fails with core.ErrNotCitus unless the database can be distributed.
func capable(ctx context.Context, c *pgx.Conn) error {
	var there bool
	err := c.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus')`).Scan(&there)
	if err != nil {
		return fmt.Errorf("look for Citus: %w", err)
	}
	if !there {
		return core.ErrNotCitus
	}
	var coordinator, known bool
	err = c.QueryRow(ctx, `SELECT citus_is_coordinator(), EXISTS (SELECT 1 FROM pg_dist_node WHERE groupid = 0)`).
		Scan(&coordinator, &known)
	if err == nil && (!coordinator || !known) {
		return core.ErrNotCoordinator
	}
	return err
}

// distribute puts every table in its place, one at a time.
func (s *Store) distribute(ctx context.Context, c *pgx.Conn) error {
	if _, err := c.Exec(ctx, `SELECT pg_advisory_lock($1)`, lockID("distribute "+s.schema)); err != nil {
		return fmt.Errorf("distribute: %w", err)
	}
	where, err := whereabouts(ctx, c)
	if err != nil {
		return fmt.Errorf("distribute: %w", err)
	}
	for _, p := range places() {
		switch there := where[p.table]; there {
		case p.place:
			continue
		case unplaced:
		default:
			return fmt.Errorf("distribute: %s is a %s table of Citus, and has to be a %s one; undo that with undistribute_table",
				p.table, there, p.place)
		}
		if err := p.put(ctx, c); err != nil {
			return fmt.Errorf("distribute %s: %w", p.table, err)
		}
	}
	s.spread.Store(true)
	_, err = c.Exec(ctx, `ANALYZE`)
	return err
}

// put makes Citus move a table with its rows to its place.
func (p placed) put(ctx context.Context, c *pgx.Conn) error {
	query := map[place]string{
		distributed: `SELECT create_distributed_table($1::text::regclass, $2::text, colocate_with => $3)`,
		local:       `SELECT citus_add_local_table_to_metadata($1::text::regclass)`,
	}[p.place]
	args := []any{p.table}
	if p.place == distributed {
		with := "users"
		if p.table == with {
			with = "none"
		}
		args = append(args, p.column, with)
	}
	if err := execRetried(ctx, c, query, args...); err != nil || p.place == local {
		return err
	}
	return execRetried(ctx, c, `SELECT truncate_local_data_after_distributing_table($1::text::regclass)`, p.table)
}

// execRetried executes a statement, again after a deadlock: another schema may be distributed at the same time.
func execRetried(ctx context.Context, c *pgx.Conn, query string, args ...any) error {
	const retries = 5
	for n := 0; ; n++ {
		_, err := c.Exec(ctx, query, args...)
		if e, ok := errors.AsType[*pgconn.PgError](err); n == retries || !ok || e.Code != "40P01" { // a deadlock
			return err
		}
	}
}

// whereabouts returns the current places of the tables of the schema; nil without Citus.
func whereabouts(ctx context.Context, q interface {
	QueryRow(ctx context.Context, query string, args ...any) pgx.Row
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
}) (map[string]place, error) {
	var there bool
	if err := q.QueryRow(ctx, `SELECT to_regclass('pg_dist_partition') IS NOT NULL`).Scan(&there); err != nil || !there {
		return nil, err
	}
	var names []string
	for _, p := range places() {
		names = append(names, p.table)
	}
	rows, err := q.Query(ctx, `SELECT t.name, CASE WHEN p.partmethod = 'h' THEN 'distributed' WHEN p.partmethod = 'n' AND p.repmodel <> 't' THEN 'local'
			WHEN p.partmethod IS NOT NULL THEN 'foreign' ELSE '' END
		FROM (SELECT n AS name, to_regclass(quote_ident(current_schema()) || '.' || quote_ident(n)) AS oid FROM unnest($1::text[]) n) t
		LEFT JOIN pg_dist_partition p ON p.logicalrelid = t.oid WHERE t.oid IS NOT NULL`, names)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[string]place{}
	for rows.Next() {
		var name string
		var at place
		if err := rows.Scan(&name, &at); err != nil {
			return nil, err
		}
		out[name] = at
	}
	return out, rows.Err()
}

// whole fails with core.ErrHalfDistributed if only some tables are in their place, as after a
// migration that creates one. It records whether the database is distributed.
func (s *Store) whole(ctx context.Context) error {
	yes, astray, err := s.Distributed(ctx)
	if err == nil && len(astray) > 0 {
		err = core.ErrHalfDistributed
	}
	s.spread.Store(yes)
	return err
}

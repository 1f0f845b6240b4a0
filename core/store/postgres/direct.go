package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/everthread/everthread/core"
)

// identity tells a database of a running server from all others.
const identity = `SELECT pg_postmaster_start_time()::text || ' ' || current_database()`

// sameDatabase fails if the direct way leads to another database than the pool.
func (s *Store) sameDatabase(ctx context.Context) error {
	if !s.pooled {
		return nil
	}
	c, err := pgx.ConnectConfig(ctx, s.direct.Copy())
	if err != nil {
		return fmt.Errorf("database_listen_url does not answer: %w", err)
	}
	defer c.Close(context.WithoutCancel(ctx))
	var here, there string
	if err := s.pool.QueryRow(ctx, identity).Scan(&here); err != nil {
		return fmt.Errorf("database_url does not answer: %w", err)
	}
	if err := c.QueryRow(ctx, identity).Scan(&there); err != nil {
		return fmt.Errorf("database_listen_url does not answer: %w", err)
	}
	if here != there {
		return core.ErrOtherDatabase
	}
	return nil
}

// Connections says how many connections the server takes, and who may ask for them.
func (s *Store) Connections(ctx context.Context, now time.Time) (core.Connections, error) {
	out := core.Connections{Pooled: s.pooled}
	c, err := pgx.ConnectConfig(ctx, s.direct.Copy())
	if err != nil {
		return out, err
	}
	defer c.Close(context.WithoutCancel(ctx))
	err = c.QueryRow(ctx, `SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,
		(SELECT COUNT(*)::int FROM leases WHERE name > 'process:' AND name < 'process;' AND until > $1)`,
		now.UnixMilli()).Scan(&out.Limit, &out.Processes)
	return out, err
}

// hearing bounds how long a notification may take.
const hearing = 3 * time.Second

// Hears fails with core.ErrDeaf unless processes hear each other, as they do not through
// a pooler.
func (s *Store) Hears(ctx context.Context) error {
	if err := s.sameDatabase(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, hearing)
	defer cancel()
	heard := make(chan string, 16)
	failed := make(chan error, 1)
	go func() {
		failed <- listen(ctx, s.direct, func(topic string) {
			select {
			case heard <- topic:
			default: // other processes tell each other more than is read here
			}
		})
	}()
	want := "doctor:" + fmt.Sprint(time.Now().UnixNano())
	for {
		select {
		case err := <-failed:
			if ctx.Err() == nil {
				return fmt.Errorf("listen: %w", err)
			}
			return core.ErrDeaf
		case topic := <-heard:
			if topic == want {
				return nil
			}
			if topic != core.TopicListening {
				continue
			}
			if err := s.Publish(ctx, want); err != nil {
				return err
			}
		}
	}
}

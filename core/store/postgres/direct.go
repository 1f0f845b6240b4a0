package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// identity selects a text that identifies a database of a running server.
const identity = `SELECT pg_postmaster_start_time()::text || ' ' || current_database()`

// sameDatabase fails if the direct connection leads to another database than the pool.
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

// pooler replaces the error of a prepared statement that another server connection has by
// core.ErrPooler: a pooler changes the connection between transactions.
func pooler(err *error) {
	if e, ok := errors.AsType[*pgconn.PgError](*err); ok && (e.Code == "26000" || e.Code == "42P05") {
		*err = core.ErrPooler
	}
}

// Connections returns the server's limit of connections, and the processes that share it.
func (s *Store) Connections(ctx context.Context, now time.Time) (store.Connections, error) {
	out := store.Connections{Pooled: s.pooled}
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

// hearing is the timeout of a notification.
const hearing = 3 * time.Second

// Hears fails with core.ErrDeaf or core.ErrPooler unless notifications arrive, which they do not through a pooler.
func (s *Store) Hears(ctx context.Context) (err error) {
	defer pooler(&err)
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
			default: // notifications between other processes come faster than they are read
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

// Package postgres is the store for several processes: PostgreSQL 15 or later
// with pgvector, through pgx.
package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/crc32"
	"net"
	"time"

	"github.com/exaring/otelpgx"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store/sqlstore"
	"github.com/everthread/everthread/migrations"
)

// channel is the one that processes tell each other of work on.
const channel = "everthread"

// pendingTerms bounds what a search reads one by one: documents that the index
// did not take in yet, about 300 of them.
const pendingTerms = `SET gin_pending_list_limit = '128kB'`

// Options say how to reach the database.
type Options struct {
	URL   string // postgres://…
	Conns int    // most connections; 0: 16
	Trace bool   // OpenTelemetry spans for statements
	// Patience bounds every transaction: a server that went away without a word is an
	// error after it; 0: 10 s.
	Patience time.Duration
	// Library makes the tables that libraries keep beside ours, for Load; nil: there are none.
	Library func(ctx context.Context, db *sql.DB, dialect string) error
}

// Open opens the database without migrating it. It does not wait for the server.
func Open(ctx context.Context, o Options) (*Store, error) {
	cfg, err := pgxpool.ParseConfig(o.URL)
	if err != nil {
		return nil, fmt.Errorf("database_url: %w", errors.Unwrap(err))
	}
	cfg.MaxConns = int32(max(o.Conns, 2))
	if o.Conns == 0 {
		cfg.MaxConns = 16
	}
	cfg.MinIdleConns = 1
	cfg.ConnConfig.ConnectTimeout = 5 * time.Second
	cfg.ConnConfig.DialFunc = (&net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second,
		Interval: 2 * time.Second, Count: 2}}).DialContext
	if o.Trace {
		cfg.ConnConfig.Tracer = otelpgx.NewTracer()
	}
	cfg.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, pendingTerms)
		return err
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	db := stdlib.OpenDBFromPool(pool)
	db.SetMaxOpenConns(int(cfg.MaxConns))
	d := sqlstore.Dialect{
		Name:    "postgres",
		Lock:    " FOR UPDATE",
		Timeout: cmp.Or(o.Patience, 10*time.Second),
		Read:    sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead},
		Notify:  `SELECT pg_notify('` + channel + `', $1)`, Pipeline: pipeline, Copy: copyRows,
		Snapshot: `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`,
		Listen:   func(ctx context.Context, yield func(string)) error { return listen(ctx, cfg.ConnConfig, yield) },
		Terms:    terms{}, Vector: vectors{}, Scrub: []string{`VACUUM`},
	}
	return &Store{Store: sqlstore.New(db, db, d), db: db, pool: pool, beside: o.Library,
		schema: cfg.ConnConfig.RuntimeParams["search_path"]}, nil
}

// Beside opens the database once more, for a library that keeps tables of its own
// in it, and names the dialect. The caller closes it.
func (s *Store) Beside() (*sql.DB, string, error) {
	return stdlib.OpenDBFromPool(s.pool), "postgres", nil
}

// Store is the PostgreSQL store.
type Store struct {
	*sqlstore.Store
	db     *sql.DB
	pool   *pgxpool.Pool
	schema string // the search path, if one is chosen
	beside func(ctx context.Context, db *sql.DB, dialect string) error
}

// Close ends all work with the database.
func (s *Store) Close() error {
	err := s.Store.Close()
	s.pool.Close()
	return err
}

// listen yields what other processes tell, on a connection of its own, and first
// that it hears them.
func listen(ctx context.Context, cfg *pgx.ConnConfig, yield func(string)) error {
	c, err := pgx.ConnectConfig(ctx, cfg.Copy())
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	if _, err := c.Exec(ctx, "LISTEN "+channel); err != nil {
		return err
	}
	yield(core.TopicListening)
	for {
		n, err := c.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		yield(n.Payload)
	}
}

// Migrate brings the schema up to date; one process at a time does it. One that
// was not restored whole is an error.
func (s *Store) Migrate(ctx context.Context) error {
	unfinished, err := marked(ctx, s.pool)
	if err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	if unfinished {
		return core.ErrUnfinished
	}
	p, err := s.provider()
	if err != nil {
		return err
	}
	return sqlstore.Migrate(ctx, p)
}

// Schema reads the schema's version.
func (s *Store) Schema(ctx context.Context) (core.Schema, error) {
	p, err := s.provider()
	if err != nil {
		return core.Schema{}, err
	}
	return sqlstore.SchemaOf(ctx, p)
}

func (s *Store) provider() (*goose.Provider, error) {
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 60), lock.WithLockID(lockID(s.schema)))
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.DialectPostgres, s.db, migrations.Postgres(),
		goose.WithSessionLocker(locker), goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
}

// lockID is the lock that those take who migrate a schema: they do not wait for
// others in the same database.
func lockID(schema string) int64 {
	return lock.DefaultLockID ^ int64(crc32.ChecksumIEEE([]byte(schema)))
}

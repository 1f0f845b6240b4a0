// Package postgres is the store for several processes: PostgreSQL 15 or later with pgvector, through pgx.
package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/crc32"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/store/sqlstore"
	"github.com/everthread/everthread/migrations"
)

// channel is the notification channel between processes.
const channel = "everthread"

// Options configures the connection to the database.
type Options struct {
	URL string // postgres://…, of one or several hosts
	// Direct is a URL of the same database without the pooler in URL, which may use another
	// connection for each transaction; empty: URL has no pooler.
	Direct string
	Conns  int // limit of connections; 0: 16
	// Patience is the timeout of every transaction, so that a server that disappears silently
	// becomes an error; 0: 10 s.
	Patience time.Duration
}

// Open opens the database without migrating it. It does not wait for the server.
func Open(ctx context.Context, o Options) (*Store, error) {
	cfg, direct, err := o.connections()
	if err != nil {
		return nil, err
	}
	spread := new(atomic.Bool)
	if o.Direct == "" {
		cfg.AfterConnect = planOnce
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	db := stdlib.OpenDBFromPool(pool)
	db.SetMaxOpenConns(int(cfg.MaxConns))
	d := sqlstore.Dialect{
		Name:  "postgres",
		Lock:  " FOR UPDATE",
		Lanes: max(int(cfg.MaxConns)/4, 1), Together: func() bool { return !spread.Load() },
		Timeout: cmp.Or(o.Patience, 10*time.Second),
		Read:    sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead},
		Notify:  `SELECT pg_notify('` + channel + `', $1)`, Pipeline: pipeline, Copy: copyRows,
		OneOf:    `= ANY (ARRAY(%s))`,
		Snapshot: `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`,
		Listen:   func(ctx context.Context, yield func(string)) error { return listen(ctx, direct, yield) },
		Terms:    terms{spread}, Vector: vectors{}, Scrub: []string{`VACUUM`},
	}
	return &Store{Store: sqlstore.New(db, db, d), db: db, pool: pool, direct: direct,
		pooled: o.Direct != "", spread: spread,
		schema: direct.RuntimeParams["search_path"]}, nil
}

// connections returns the configurations of the pool, and of the connections that bypass a pooler.
func (o Options) connections() (*pgxpool.Config, *pgx.ConnConfig, error) {
	cfg, err := pgxpool.ParseConfig(o.URL)
	if err != nil {
		return nil, nil, fmt.Errorf("database_url: %w", errors.Unwrap(err))
	}
	cfg.MaxConns = int32(max(o.Conns, 2))
	if o.Conns == 0 {
		cfg.MaxConns = 16
	}
	cfg.MinIdleConns = 1
	cfg.ConnConfig.ConnectTimeout = 5 * time.Second
	cfg.ConnConfig.DialFunc = (&net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second,
		Interval: 2 * time.Second, Count: 2}}).DialContext
	direct := cfg.ConnConfig.Copy()
	if o.Direct != "" {
		if direct, err = pgx.ParseConfig(o.Direct); err != nil {
			return nil, nil, fmt.Errorf("database_listen_url: %w", errors.Unwrap(err))
		}
		direct.ConnectTimeout, direct.DialFunc = cfg.ConnConfig.ConnectTimeout, cfg.ConnConfig.DialFunc
		// A prepared statement belongs to one connection, a described one to any.
		cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	primary(cfg.ConnConfig)
	primary(direct)
	return cfg, direct, nil
}

// planOnce makes a connection plan each prepared statement once, where the server would plan it six times before it
// keeps a plan. No plan here depends on the arguments. Citus needs them to find the shard.
func planOnce(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, `SELECT set_config('plan_cache_mode', 'force_generic_plan', false)
		WHERE NOT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus')`, pgx.QueryExecModeSimpleProtocol)
	return err
}

// primary makes connections go to the one of several hosts that accepts writes.
func primary(c *pgx.ConnConfig) {
	if c.ValidateConnect == nil && slices.ContainsFunc(c.Fallbacks, func(f *pgconn.FallbackConfig) bool {
		return f.Host != c.Host || f.Port != c.Port
	}) {
		c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
}

// Beside opens another pool of the same database, for a library with tables of its own, and
// returns the dialect's name. The caller closes the pool.
func (s *Store) Beside() (*sql.DB, string, error) {
	return stdlib.OpenDBFromPool(s.pool), "postgres", nil
}

// Store is the PostgreSQL store.
type Store struct {
	*sqlstore.Store
	db     *sql.DB
	pool   *pgxpool.Pool
	direct *pgx.ConnConfig // without a pooler
	pooled bool            // the pool goes through a pooler
	schema string          // the search path, if one is chosen
	spread *atomic.Bool    // the database is distributed by user
}

// Clock returns the time of the database server.
func (s *Store) Clock(ctx context.Context) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, clockTimeout)
	defer cancel()
	var at time.Time
	if err := s.pool.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&at); err != nil {
		return at, fmt.Errorf("read the clock of the database: %w", err)
	}
	return at, nil
}

const clockTimeout = 5 * time.Second

// Ping returns an error if the database does not answer.
func (s *Store) Ping(ctx context.Context) (err error) {
	defer pooler(&err)
	return s.Store.Ping(ctx)
}

// Close ends all work with the database.
func (s *Store) Close() error {
	err := s.Store.Close()
	s.pool.Close()
	return err
}

// listen yields the notifications of other processes, on a connection of its own. It first yields core.TopicListening.
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

// Migrate brings the schema up to date, one process at a time. It fails if a restore was not completed.
func (s *Store) Migrate(ctx context.Context) (err error) {
	defer pooler(&err)
	if err := s.sameDatabase(ctx); err != nil {
		return err
	}
	unfinished, err := marked(ctx, s.pool)
	if err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	if unfinished {
		return core.ErrUnfinished
	}
	if err := s.migrate(ctx); err != nil {
		return err
	}
	return s.whole(ctx)
}

func (s *Store) migrate(ctx context.Context) error {
	p, shut, err := s.provider()
	if err != nil {
		return err
	}
	defer shut()
	return sqlstore.Migrate(ctx, p)
}

// Schema reads the schema's version.
func (s *Store) Schema(ctx context.Context) (schema store.Schema, err error) {
	defer pooler(&err)
	p, shut, err := s.provider()
	if err != nil {
		return store.Schema{}, err
	}
	defer shut()
	return sqlstore.SchemaOf(ctx, p)
}

// provider returns a provider with connections of its own, whose locks live as long as they do.
func (s *Store) provider() (p *goose.Provider, shut func(), err error) {
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 60), lock.WithLockID(lockID(s.schema)))
	if err != nil {
		return nil, nil, err
	}
	db := stdlib.OpenDB(*s.direct)
	p, err = goose.NewProvider(goose.DialectPostgres, db, migrations.Postgres(),
		goose.WithSessionLocker(locker), goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	return p, func() { _ = db.Close() }, err
}

// lockID returns the lock of a schema's migration, so that it does not wait for those of other
// schemas in the same database.
func lockID(schema string) int64 {
	return lock.DefaultLockID ^ int64(crc32.ChecksumIEEE([]byte(schema)))
}

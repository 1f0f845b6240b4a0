package postgres

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/everthread/everthread/core/store/sqlstore"
)

// warm prepares and plans frequent statements on idle connections. A connection otherwise does it at the first use of
// each, and reads the catalog for the first one on a table: 40 ms for the statements of a turn.
type warm struct {
	spread *atomic.Bool // the database is distributed by user: a statement is planned for its arguments

	mu   sync.Mutex
	uses map[string]int
	hot  []string // frequent statements, in the order in which they became frequent
}

const (
	hotFrom  = 3 // uses
	mostHot  = 64
	mostUses = 1000 // statements whose uses are counted
	warmTime = 5 * time.Second
	warmed   = "warmed" // key of the number of statements that a connection has prepared
)

// pipeline is pipeline, and counts the uses of its statements.
func (w *warm) pipeline(ctx context.Context, conn *sql.Conn, statements []sqlstore.Statement) error {
	if err := pipeline(ctx, conn, statements); err != nil {
		if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "0A000" { // a migration changed its columns
			return errors.Join(err, conn.Raw(func(driver any) error { return driver.(*stdlib.Conn).Conn().Close(ctx) }))
		}
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range statements {
		if len(w.hot) == mostHot || len(w.uses) == mostUses {
			break
		}
		if len(s.Args) == 0 { // BEGIN and COMMIT
			continue
		}
		if w.uses[s.Query]++; w.uses[s.Query] == hotFrom {
			w.hot = append(w.hot, s.Query)
		}
	}
	return nil
}

// released has a connection that somebody has released prepare what has become frequent since. It reports whether the
// connection is still good.
func (w *warm) released(c *pgx.Conn) bool {
	data := c.PgConn().CustomData()
	done, _ := data[warmed].(int)
	w.mu.Lock()
	hot := w.hot[done:]
	w.mu.Unlock()
	if len(hot) == 0 || w.spread.Load() {
		return true
	}
	data[warmed] = done + len(hot)
	ctx, cancel := context.WithTimeout(context.Background(), warmTime)
	defer cancel()
	var plan strings.Builder
	for _, query := range hot {
		s, err := c.Prepare(ctx, query, query)
		if err != nil { // it fails again where it is needed, and the error is reported there
			continue
		}
		plan.WriteString("EXPLAIN EXECUTE " + s.Name)
		if n := len(s.ParamOIDs); n > 0 {
			plan.WriteString(" (NULL" + strings.Repeat(", NULL", n-1) + ")")
		}
		plan.WriteString(";")
	}
	_, _ = c.PgConn().Exec(ctx, plan.String()).ReadAll() // planning fails again, too
	return !c.IsClosed()
}

package sqlite

import (
	"context"
	"database/sql/driver"
	"strings"
)

// connector opens connections that keep their statements prepared: for the short statements of a
// message most of the time is compilation.
type connector struct{ driver.Connector }

// Connect opens one connection.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	inner, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{sqliteConn: inner.(sqliteConn), kept: map[string]*kept{}}, nil
}

// sqliteConn is the interface of the driver's connections.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// maxKept bounds the statements kept per connection.
const maxKept = 200

type conn struct {
	sqliteConn
	kept map[string]*kept
}

// kept is a prepared statement; busy while its rows are being read.
type kept struct {
	stmt driver.Stmt
	busy bool
}

// statement returns the kept statement of a query; nil if none is available.
func (c *conn) statement(ctx context.Context, query string) (*kept, error) {
	if k := c.kept[query]; k != nil {
		if k.busy {
			return nil, nil
		}
		return k, nil
	}
	if len(c.kept) >= maxKept {
		return nil, nil
	}
	st, err := c.PrepareContext(ctx, steady(query))
	if err != nil {
		return nil, err
	}
	k := &kept{stmt: st}
	c.kept[query] = k
	return k, nil
}

// steady hides the limits of a query from SQLite's compiler, which would otherwise compile the
// statement again each time that a limit is bound.
func steady(query string) string { return strings.ReplaceAll(query, "LIMIT $", "LIMIT +$") }

// BeginTx begins a transaction. It waits for other processes up to the busy timeout, and is not
// interrupted, as it would then be unknown whether the transaction began.
func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return c.sqliteConn.BeginTx(context.WithoutCancel(ctx), opts)
}

// ExecContext runs a statement. It does not interrupt the statement when ctx ends: statements are
// short, and interruption would cost a goroutine for each.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	if len(args) == 0 {
		return c.sqliteConn.ExecContext(ctx, query, args) // may be a script
	}
	k, err := c.statement(ctx, query)
	if err != nil {
		return nil, err
	}
	if k == nil {
		return c.sqliteConn.ExecContext(ctx, query, args)
	}
	return k.stmt.(driver.StmtExecContext).ExecContext(ctx, args)
}

// QueryContext runs a query and keeps its statement for the next time.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	k, err := c.statement(ctx, query)
	if err != nil {
		return nil, err
	}
	if k == nil {
		return c.sqliteConn.QueryContext(ctx, query, args)
	}
	r, err := k.stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
	if err != nil {
		return nil, err
	}
	k.busy = true
	return &rows{Rows: r, k: k}, nil
}

// Close closes the kept statements and the connection.
func (c *conn) Close() error {
	for _, k := range c.kept {
		_ = k.stmt.Close()
	}
	return c.sqliteConn.Close()
}

// rows releases its statement when it is closed.
type rows struct {
	driver.Rows
	k *kept
}

// Close closes the rows.
func (r *rows) Close() error {
	r.k.busy = false
	return r.Rows.Close()
}

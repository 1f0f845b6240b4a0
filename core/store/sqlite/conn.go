package sqlite

import (
	"context"
	"database/sql/driver"
	"strings"
)

// connector opens connections that keep their statements prepared: on the road
// of a message most of a statement's time is its compilation.
type connector struct{ driver.Connector }

// Connect opens one connection.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	inner, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{sqliteConn: inner.(sqliteConn), kept: map[string]*kept{}}, nil
}

// sqliteConn is what the driver's connections can do.
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

// kept is a prepared statement, and whether rows of it are being read.
type kept struct {
	stmt driver.Stmt
	busy bool
}

// statement returns the kept statement of a query; nil if there is none to use.
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

// steady is the query with limits that SQLite does not look at when it compiles: it
// would compile the statement again each time that a limit is bound.
func steady(query string) string { return strings.ReplaceAll(query, "LIMIT $", "LIMIT +$") }

// BeginTx begins a transaction. It waits for another process's at most as long as
// the busy timeout says, and is not interrupted: nobody would know whether it began.
func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return c.sqliteConn.BeginTx(context.WithoutCancel(ctx), opts)
}

// ExecContext runs a statement. Statements are short, so they are not
// interrupted half-way when ctx ends: that would cost a goroutine for each.
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

// QueryContext runs a query; its statement is kept for the next time.
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

// rows gives its statement free when it is read.
type rows struct {
	driver.Rows
	k *kept
}

// Close ends the reading.
func (r *rows) Close() error {
	r.k.busy = false
	return r.Rows.Close()
}
